"""`edit`: an agent that works on a function in its tree by calls, and the tree that it is given.

The tree is what stands before every answer (`packing`), so it holds no copy of what is asked for, no tests, and
nothing of a disk; the function stands in it as the prompt shows it. Only its file can be changed, and what is
handed in is the function out of that file, with what was added at the file's top level.
"""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, ClassVar

import msgspec

from truegrade import prompts
from truegrade.agents.session import AgentInfo, AgentRule, Session
from truegrade.agents.steps import AgentTrial, SettledStep, VisibleProblem, tried_once
from truegrade.apps.repository.functions import ParsedModule, undecorated
from truegrade.apps.repository.packing import Package, loading_text, place_in, unpacked, without_function
from truegrade.apps.repository.problems import FOR_METHODS
from truegrade.apps.repository.source import RepositoryFile
from truegrade.errors import UserError
from truegrade.extraction.blocks import fenced_blocks
from truegrade.extraction.parsing import MAX_SOURCE_CHARS, quietly, unix_newlines
from truegrade.extraction.thinking import final_channel
from truegrade.files import syntax
from truegrade.grading.executor import Executor
from truegrade.models.base import Reply
from truegrade.records import Message, Prompt, Reason
from truegrade.records.config import AgentConfig

_TURNS, _MOST_TURNS = 30, 200
_MOST_SHOWN = 10_000
"""Characters of what a call shows."""
_CPU_S = 5.0
_CALL = "call"
"""Language of the block that holds a call."""
_CALLS = "list, read, search, replace, run, submit"
_SEARCH, _DIVIDER, _REPLACE = "<<<<<<< SEARCH\n", "=======\n", ">>>>>>> REPLACE"
MAX_LINE_DIGITS = 9
"""Of the number of a line; more are part of the file's name."""
_RUN = """\
_loading, _code, _run, _space = {loading!r}, {code!r}, exec, globals()
_code = compile(_code, "snippet.py", "exec")
_run(_loading, _space)
_run(_code, _space)
"""
"""No line that a traceback may show holds more than names, and the module may have its own `compile`."""


# --------------------------------------------------------------------------------- the tree of a problem


class Workspace:
    """The tree of a problem and the file in it that can be changed.

    Args:
        problem: a row of `problems`.

    Raises:
        ValueError: it is none.
    """

    def __init__(self, problem: VisibleProblem) -> None:
        self._modules, self._own = unpacked(problem.prefix)
        self.path, _, without = self._modules[self._own]
        self.name = problem.id.removeprefix(f"{self._own}.").rpartition("/")[0]
        words, _, rest = problem.text.partition("\n\n```python\n")
        self.words = words.partition(FOR_METHODS)[0]
        self.content = rest.rpartition("\n```")[0] + "\n"
        tree = _tree(self.content)
        if ast.unparse(without_function(tree, self.name)) != without:  # the prompt shows less of a large file
            whole = _tree(without)
            owner, number = place_in(tree, self.name)
            other, place = place_in(whole, self.name)
            other.body[place] = owner.body[number]
            self.content = ast.unparse(whole) + "\n"

    @cached_property
    def _loaded(self) -> dict[str, Any]:
        """The modules that its own one loads: those that only tests import are left out."""
        files = [
            RepositoryFile(path=path, dotted=name, text=text, is_package=package, is_generated=False)
            for name, (path, package, text) in self._modules.items()
        ]
        return {name: self._modules[name] for name in Package(list(map(ParsedModule, files))).closure(self._own)}

    def files(self, edited: str) -> dict[str, str]:
        """The texts of all files by path."""
        texts = {path: text for path, _, text in self._loaded.values() if path}
        return dict(sorted({**texts, self.path: edited}.items()))

    def program(self, edited: str, code: str) -> str:
        """A script that runs code among the names of the edited module."""
        modules = {**self._loaded, self._own: (*self._loaded[self._own][:2], edited)}
        return _RUN.format(loading=loading_text(modules, self._own, ""), code=code)

    def answer(self, edited: str) -> str:
        """What is handed in: see `function`; the whole file where it holds none."""
        try:
            return self.function(edited)
        except (SyntaxError, ValueError, RecursionError):
            return edited

    def function(self, edited: str) -> str:
        """The function out of the file, a method as a plain one, and what is new at the file's top level.

        Raises:
            SyntaxError, ValueError, RecursionError: it cannot be read, or holds none.
        """
        tree, top = _tree(edited), self.name.partition(".")[0]
        owner, number = place_in(tree, self.name)
        before = {ast.dump(node) for node in _tree(self.content).body}
        kept: list[ast.stmt] = []
        for node in tree.body:
            if getattr(node, "name", "") == top:
                kept.append(node if owner is tree else undecorated(owner.body[number]))
            elif ast.dump(node) not in before:
                kept.append(node)
        return ast.unparse(ast.Module(kept, [])) + "\n"


def workspace_of(problem: VisibleProblem) -> Workspace | None:
    """The tree of a problem that the app made; None for any other."""
    try:
        return Workspace(problem)
    except (ValueError, SyntaxError, LookupError, TypeError):
        return None


def _tree(text: str) -> ast.Module:
    with quietly():
        return syntax.parse(text)


# ----------------------------------------------------------------------------------------------- calls


def _called(text: str) -> tuple[str, str, str]:
    """The call of a reply: its name, the rest of its line, and the lines behind; no name where there is none."""
    fences = fenced_blocks(text) if len(text) <= MAX_SOURCE_CHARS else ()
    blocks = [fence.code for fence in fences if fence.language == _CALL]
    first, _, body = (blocks[0] if len(blocks) == 1 else "").partition("\n")
    name, _, rest = first.strip().partition(" ")
    return name, rest.strip(), body


def _done(space: Workspace, edited: str, call: tuple[str, str, str]) -> tuple[str, str]:
    """The file behind a call that runs nothing, and what is told."""
    name, rest, body = call
    files = space.files(edited)
    if name == "list":
        return edited, "\n".join(files)
    if name == "read":
        return edited, _lines(files, rest)
    if name == "search":
        lines = ((path, *line) for path, text in files.items() for line in enumerate(text.splitlines(), 1))
        found = [f"{path}:{number}: {line}" for path, number, line in lines if rest in line]
        return edited, "\n".join(found) or "no line holds it"
    if name == "replace":
        return _replaced(space, edited, rest, body)
    most = f"a reply has at most {MAX_SOURCE_CHARS:,} characters"
    return edited, f"error: give one block that begins with ```{_CALL}, and in it one of {_CALLS}; {most}"


def _lines(files: Mapping[str, str], rest: str) -> str:
    path, numbers = lines_asked(rest)
    if path not in files:
        return f"error: no file `{rest}`; the call list names them"
    lines = [f"{number:5} {line}" for number, line in enumerate(files[path].splitlines(), 1)]
    first, last = [*numbers, *(1, len(lines))[len(numbers) :]]
    shown = lines[max(first - 1, 0) : last]
    return "\n".join(shown) or f"error: the file has {len(lines)} lines"


def lines_asked(rest: str) -> tuple[str, list[int]]:
    """Of what follows ``read``: the file, and at most two numbers of lines."""
    numbers: list[int] = []
    while len(numbers) < 2:
        before, *last = rest.rsplit(None, 1) or [""]
        if not last or not last[0].isdecimal() or len(last[0]) > MAX_LINE_DIGITS:
            break
        rest, numbers = before, [int(last[0]), *numbers]
    return rest, numbers


def search_and_replace(body: str) -> tuple[str, str] | None:
    """The lines to look for, of which there is one, and those to put there; None where the markers are not there.

    The first divider that ends lines to look for is the one, and the last line that is not blank is the end.
    """
    divider, end = body.find(f"\n{_DIVIDER}", len(_SEARCH)) + 1, len(body.rstrip()) - len(_REPLACE)
    wanted = divider + len(_DIVIDER)
    if not (body.startswith(_SEARCH) and divider > 0 and wanted <= end):
        return None
    ends = body[end - 1 :].startswith(f"\n{_REPLACE}")
    return (body[len(_SEARCH) : divider], body[wanted:end]) if ends else None


def _replaced(space: Workspace, edited: str, path: str, body: str) -> tuple[str, str]:
    if path != space.path:
        return edited, f"refused: only {space.path} can be changed"
    if (parts := search_and_replace(body)) is None:
        return edited, "error: replace needs a SEARCH part that is not empty, =======, and a REPLACE part"
    whole, old = f"\n{edited}", f"\n{parts[0]}"
    if (count := whole.count(old)) != 1:
        return edited, f"error: these lines stand {count} times in {path}; give lines that stand there once"
    made = whole.replace(old, f"\n{parts[1]}")[1:]
    try:
        space.function(made)
    except (SyntaxError, ValueError, RecursionError) as error:
        return edited, f"refused: the file would be no Python with `{space.name}`: {error}"
    return made, "done"


def _cut(text: str) -> str:
    rest = len(text) - _MOST_SHOWN
    return text if rest <= 0 else f"{text[:_MOST_SHOWN]}\n... {rest:,} more characters"


# ----------------------------------------------------------------------------------------------- agent


INFO = AgentInfo(
    name="edit",
    version="1",
    summary=f"edits one file of a repository by calls: {_CALLS}",
    covers=("write, repair and complete of data build repository",),
    args={"turns": f"replies of the model, at most; from 1 to {_MOST_TURNS}"},
    defaults={"default": {"turns": _TURNS}},
    rules=tuple(
        AgentRule(text, "ours")
        for text in (
            "the tree holds the modules that the function's own loads; no tests, no reference, nothing of a disk",
            "refused is a change of another file, and one that leaves no readable function",
            f"code runs in the sandbox, {_CPU_S:g} s of CPU each time",
            "handed in, also without the call submit: the function, and what is new at the top level of its file",
        )
    ),
)


class EditAgent:
    """The agent with its settings.

    Args:
        args: ``turns``, an integer.

    Raises:
        UserError: an argument is not known or does not fit.
    """

    info: ClassVar[AgentInfo] = INFO

    variant: str = "default"
    label: str = "result of an agent that reads, edits and runs code; not pass@1 of the model"
    scores_shots: tuple[str, ...] = ()

    def __init__(self, args: Mapping[str, Any]) -> None:
        INFO.refuse_unknown_arguments(args)
        turns = args.get("turns", _TURNS)
        if type(turns) is not int or not 1 <= turns <= _MOST_TURNS:
            raise UserError(f"`agent_args` turns={turns}: give a whole number from 1 to {_MOST_TURNS}")
        self.turns: int = turns
        self.config = AgentConfig(name=INFO.name, version=INFO.version, args={"turns": turns})

    def render_prompt(self, problem: VisibleProblem, shown_tests: Sequence[str]) -> Prompt:
        """The first question; see `truegrade.agents.session.Agent`."""
        space = _workspace(problem)
        words = {"file": space.path, "name": space.name, "words": space.words, "turns": str(self.turns)}
        message = Message(role="user", content=prompts.render("edit.user", **words).strip())
        return Prompt(messages=(message,), source="ours: edit")

    async def answer(self, session: Session, executor: Executor) -> Reply:
        """Do what the model calls for until it submits; see `truegrade.agents.session.Agent`."""
        space = _workspace(session.problem)
        prompt, edited = session.first, space.content
        for turn in range(1, self.turns + 1):
            asked = await session.ask("programmer", turn, 0, prompt)
            if asked.reply.text is None:
                return session.give_up()
            text = final_channel(unix_newlines(asked.reply.text)).text.strip()
            call = _called(text)
            if call[0] == "submit":
                break
            if call[0] == "run":
                told = await _ran(session, turn, partial(space.program, edited, call[2]), executor)
            else:
                edited, told = _done(space, edited, call)
            told = f"{_cut(told)}\n\n({self.turns - turn} replies left)"
            said = (Message(role="assistant", content=text or "..."), Message(role="user", content=told))
            prompt = msgspec.structs.replace(prompt, messages=(*prompt.messages, *said))
        reply = session.settle(SettledStep(accepted=True, round=turn, index=0), asked)
        return msgspec.structs.replace(reply, text=space.answer(edited), form="program")


def _workspace(problem: VisibleProblem) -> Workspace:
    space = workspace_of(problem)
    if space is None:
        made = "the problems of kind write, repair and complete that `truegrade data build repository` makes"
        raise UserError(f"agent 'edit' has no tree for {problem.id}; it works on {made}")
    return space


async def _ran(session: Session, turn: int, program: Callable[[], str], executor: Executor) -> str:
    """What running a program shows; kept in the store, since a second run may show something else."""
    tried = session.tried(turn)
    if tried is None:
        outcome = await asyncio.to_thread(lambda: executor.script(program(), cpu_s=_CPU_S))
        shown = _cut(outcome.stdout + outcome.stderr).rstrip("\n")
        ended = "" if outcome.status == Reason.PASSED else f"[{outcome.status}] {outcome.detail}"
        output = "\n".join(filter(None, (shown, ended))) or "(nothing was printed)"
        trial = AgentTrial(test="a snippet", status=outcome.status, cpu_s=outcome.cpu_s, output=output)
        tried = tried_once(trial, accepted=False, level=executor.level)
        session.conclude(turn, tried)
    return tried.candidates[0].trials[0].output
