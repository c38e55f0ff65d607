"""Graders that are commands, named ``cmd:./judge {program} {tests}``."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

from truegrade.assay.targets.calls import Call, ProbeQuestion
from truegrade.assay.targets.readings import DIED, TEXT, Reading, no_verdict
from truegrade.assay.targets.surroundings import PATH, check_folder, environment, shown_with
from truegrade.errors import UserError

CANNOT_RUN, NOT_FOUND = 126, 127
"""Exit statuses by which a shell says that there was no command to run."""


class CommandProgram:
    """A command for the host to run, once a probe.

    Args:
        spec: as the user named it.
        words: of the command.
        call: ``exit-code`` or ``plain``.
        jailed: whether it runs in the jail.

    Raises:
        UserError: there is no such command, or it has no place for the program.
    """

    step = "run"

    def __init__(self, spec: str, words: list[str], call: Call, *, jailed: bool) -> None:
        self._spec, self._call = spec, call
        if not call.command:
            raise UserError(f"`call`: {call.name} is no way to run a command; take exit-code or plain")
        if not any("{program}" in word for word in words):
            raise UserError(f"`grader`: {spec}: put {{program}} where the path of the program belongs")
        self.shown: tuple[str, ...] = ()
        self._words = self._absolute(words, jailed=jailed)
        self.settings: dict[str, Any] = {
            "path": [],
            "environment": environment(jailed=jailed),
            "folder": "",
            "grader": None,
            "adapter": None,
        }

    def _absolute(self, words: list[str], *, jailed: bool) -> list[str]:
        """The words with paths that hold from any folder; what they lead to is shown."""
        shown: dict[str, None] = {}
        made = []
        for number, word in enumerate(words):
            path = Path(word)
            if path.is_file() and (number or "/" in word):
                shown.update(dict.fromkeys(shown_with(path.resolve())))
                made.append(str(path.resolve()))
            elif path.is_dir() and "/" in word:
                check_folder(path.resolve())
                shown[str(path.resolve())] = None
                made.append(str(path.resolve()))
            else:
                made.append(word)
        shown.update(dict.fromkeys(self._command(made[0], jailed=jailed)))
        self.shown = tuple(shown)
        return made

    def _command(self, word: str, *, jailed: bool) -> list[str]:
        """What the jail has to show for the command itself."""
        path = shutil.which(word, path=None if not jailed else f"{PATH}:{os.environ.get('PATH', '')}")
        if path is None:
            raise UserError(f"`grader`: {self._spec}: there is no command {word!r}; check the path and its mode")
        with Path(path).open("rb") as file:
            head = file.readline(200)
        if not head.startswith(b"#!"):
            return [path]
        interpreter = head[2:].decode("utf-8", "replace").split()
        if interpreter[:1] and not Path(interpreter[0]).exists():
            raise UserError(f"`grader`: {self._spec}: its first line names {interpreter[0]}, which is not there")
        named = [shutil.which(one, path=f"{PATH}:{os.environ.get('PATH', '')}") for one in interpreter]
        return [path, *(one for one in named if one is not None and one != sys.executable)]

    def payload(self, asked: ProbeQuestion) -> dict[str, Any]:
        """The words, and the two files."""
        source = isinstance(asked.tests, str)
        tests = asked.tests if source else json.dumps(asked.tests)
        files = {
            "program": ["solution.py", asked.program],
            "tests": ["test_solution.py" if source else "tests.json", tests],
        }
        return {"words": self._words, "files": files}

    def reading(self, value: Any) -> Reading:
        """Exit status 0 is passed; or the last line of its stdout says it."""
        status, last = value["status"], value["last"]
        if status in {CANNOT_RUN, NOT_FOUND} or status < 0:
            return Reading(None, None, no_verdict(DIED, f"exit status {status}: {last}"))
        if self._call.name == "exit-code":
            return Reading(status == 0, float(status == 0), f"exit status {status}")
        if status != 0:
            return Reading(None, None, no_verdict(DIED, f"exit status {status}: {last}"))
        line = value["said"].splitlines()[-1] if value["said"] else ""
        try:
            return self._call.reading(json.loads(line.lower()))
        except (ValueError, RecursionError):
            return Reading(None, None, no_verdict(TEXT, line))

    def unusable(self, why: str) -> UserError:
        """The error that says so."""
        return UserError(f"`grader`: {self._spec}: {why}; correct it")


def words_of_command(spec: str) -> list[str]:
    """The words behind ``cmd:``.

    Raises:
        UserError: quotes are open, or there is none.
    """
    try:
        words = shlex.split(spec.removeprefix("cmd:"))
    except ValueError as error:
        raise UserError(f"`grader`: {spec}: {error}") from None
    if not words:
        raise UserError(f"`grader`: {spec}: name a command, 'cmd:./judge {{program}} {{tests}}'")
    return words
