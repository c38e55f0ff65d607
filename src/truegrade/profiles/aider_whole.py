"""Aider's benchmark in its edit format ``whole``: its words, what it takes out of a reply, how it runs tests.

Aider-AI/aider@5dc9490 ``benchmark/benchmark.py``, ``benchmark/prompts.py``, ``aider/coders/base_coder.py``
format_chat_chunks, ``aider/coders/wholefile_prompts.py``, ``aider/coders/wholefile_coder.py`` get_edits: the
messages for a model that has no settings of its own there (a system message, the example as messages, the reminder
behind the last message), in the locale of the benchmark's container, where Aider asks to reply in English. Not
reproduced: settings of single models, further questions inside one try (after an edit that flake8 objects to, or a
file that could not be written), and other files that a reply writes, which Aider shows from then on. A fence is
three backticks: Aider takes another where the file holds a line that begins so, as no file made of blocks does.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Literal

import msgspec

from truegrade import prompts
from truegrade.errors import UserError
from truegrade.grading.executor import Executor
from truegrade.grading.trials import PytestRun, run_pytest
from truegrade.records import Message, Problem, Prompt, SuiteTask

BENCHMARKS = ("polyglot-python",)
TIMEOUT_S = 180.0
"""``run_unit_tests``: seconds that all tests of an exercise have together."""
SOURCE = "Aider-AI/aider@5dc9490"
FENCE = "```"
_LONGEST_NAME = 250
_TIMING = re.compile(r"\bin \d+\.\d+s\b")
_SWITCHED = "I switched to a new code base. Please don't consider the above files or try to edit them any longer."


class Chat(msgspec.Struct, frozen=True, kw_only=True):
    """What was said about one file so far, in Aider's two parts: before and behind the message with the file."""

    file: str
    content: str
    """Of the file now."""
    done: tuple[Message, ...] = ()
    current: tuple[Message, ...] = ()

    def prompt(self) -> Prompt:
        """The messages to send; the last of `current` is the user's."""
        reminder = prompts.render("aider.whole.reminder")
        files = prompts.render("aider.files", file=self.file, content=self.content)
        last = self.current[-1]
        messages = (
            Message(role="system", content=f"{prompts.render('aider.whole.system')}\n{reminder}"),
            *_turns("Change the greeting to be more casual", prompts.render("aider.whole.example")),
            *_turns(_SWITCHED, "Ok."),
            *self.done,
            *_turns(files, "Ok, any changes I propose will be to those files."),
            *self.current[:-1],
            Message(role="user", content=f"{last.content}\n\n{reminder}"),
        )
        return Prompt(messages=messages, source=f"aider.whole: {SOURCE}")

    def failed(self, reply: str, output: str) -> Chat:
        """The chat after a reply whose program failed: the file edited, and the output of its tests sent.

        Args:
            reply: what the model said.
            output: what the tests printed, as `cleaned` gives it.
        """
        said = Message(role="assistant", content=reply.strip())
        words = prompts.render("aider.failures", errors="\n".join(output.splitlines()), file=self.file)
        asked = Message(role="user", content=words)
        if not listings(reply, self.file):
            return msgspec.structs.replace(self, current=(*self.current, said, asked))
        edited = whole_file(reply, self.file)
        return Chat(
            file=self.file,
            content=self.content if edited is None else edited.replace("\r\n", "\n").replace("\r", "\n"),
            done=(*self.done, *self.current, said, *_turns("I updated the files.", "Ok.")),
            current=(asked,),
        )


def first_chat(instructions: str, file: str, starter: str) -> Chat:
    """The chat that begins with an exercise.

    Args:
        instructions: its texts.
        file: name of the file to fill in.
        starter: what that file holds.
    """
    words = prompts.render("aider.task", instructions=instructions, file=file)
    return Chat(file=file, content=starter, current=(Message(role="user", content=words),))


def cleaned(output: str) -> str:
    """What the tests printed, without the seconds they took (``benchmark.py`` cleanup_test_output)."""
    return _TIMING.sub("", output)


def _turns(user: str, assistant: str) -> tuple[Message, Message]:
    return Message(role="user", content=user), Message(role="assistant", content=assistant)


# ------------------------------------------------------------------------------------------------- replies


class Listing(msgspec.Struct, kw_only=True):
    """One fenced block of a reply, and the file that it is taken for."""

    name: str
    by: Literal["line", "mention", "default"]
    """The line in front of the fence; a mention in backticks before it; or that there is one file only."""
    lines: list[str]


def whole_file(reply: str, file: str) -> str | None:
    """What a reply makes the file hold; None if no block is taken for it.

    A block that the line in front of it names goes before one that was only mentioned, and that before a block
    without a name; of equals the first counts.
    """
    for by in ("line", "mention", "default"):
        for listing in listings(reply, file):
            if listing.name == file and listing.by == by:
                return "".join(listing.lines)
    return None


def listings(reply: str, file: str) -> list[Listing]:
    """The blocks of a reply in order, the last closed or not; in a chat about one file each has a name."""
    found: list[Listing] = []
    inside, mentioned = False, False
    before = ""
    for line in reply.strip().splitlines(keepends=True):
        if line.startswith(FENCE):
            if inside:
                mentioned = False
            else:
                found.append(_begun(before, file, mentioned=mentioned))
            inside = not inside
        elif inside:
            found[-1].lines.append(line)
        else:
            mentioned = mentioned or any(word.rstrip(".:,;!") == f"`{file}`" for word in line.split())
        before = line
    return found


def _begun(before: str, file: str, *, mentioned: bool) -> Listing:
    name = before.strip().strip("*").rstrip(":").strip("`").lstrip("#").strip()
    if len(name) > _LONGEST_NAME:
        name = ""
    if name and PurePosixPath(name).name == file:
        name = file
    if name:
        return Listing(name=name, by="line", lines=[])
    return Listing(name=file, by="mention" if mentioned else "default", lines=[])


# --------------------------------------------------------------------------------------------------- tests


def run_tests(problem: Problem, program: str, executor: Executor, *, timeout_s: float = TIMEOUT_S) -> PytestRun:
    """Run an exercise's tests on a program as Aider does.

    Args:
        problem: an exercise.
        program: what its file holds.
        executor: lets the program import `truegrade.grading.trials.PACKAGES`.
        timeout_s: CPU seconds, and wall seconds, of all tests together.

    Raises:
        UserError: the problem has no suite of tests, or pytest is not installed.
    """
    if not isinstance(problem.task, SuiteTask):
        raise UserError(f"{problem.id} of {problem.benchmark!r} has no unit tests that pytest could run")
    folder = problem.id.rpartition("/")[2]
    return run_pytest(problem.task, program, executor, folder=folder, cpu_s=timeout_s, wall_s=timeout_s)
