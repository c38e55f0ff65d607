"""LLM-List, built anew: functions that a model proposes, validated in the jail."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import msgspec

from truegrade.datasets.executions import ExecutionRow, NotRecorded, RecordedCalls, RecordedCase, Refused, record
from truegrade.datasets.identity import free_names, identity, without_docstrings
from truegrade.errors import UserError
from truegrade.extraction.blocks import fenced_blocks
from truegrade.extraction.parsing import Literal, parse_literal
from truegrade.extraction.programs import extract_program
from truegrade.extraction.thinking import Weight, final_channel
from truegrade.files import syntax
from truegrade.grading.executor import Executor
from truegrade.prompts import render

# ----- LLM-List: functions that a model thinks of, with inputs it proposes and what the jail says they return.
# The way of akshsgaur/code-reasoning-repro@6c43fa8 scripts/make_llm_list.py: headers first, then a program for
# each, then literal inputs, asked for again if they do not fit. The prompts are ours. A row is kept only if every
# call returns the same literal twice, in processes with different hash seeds, and not all calls return the same.
#
# Every outcome goes to a journal as soon as it is known; a build that was stopped goes on from there.

# -------------------- What a model proposes, read and checked: headers, programs, inputs. Nothing is run here.


MAX_INPUT_CHARS = 300
"""Longer argument lists are not asked about."""

_HEADER = re.compile(r"def\s+([A-Za-z_]\w*)\s*\(([^)]*)\)[^:]*:?\s*")


class Idea(msgspec.Struct, frozen=True):
    """A function that a model thought of."""

    header: str
    """``def name(a, b):``."""
    description: str

    @property
    def name(self) -> str:
        """Name of the function."""
        return self.header[4 : self.header.index("(")]


def read_ideas(reply: str) -> list[Idea]:
    """The headers of a reply that can be used; what cannot be read is left out."""
    for text in _candidates(reply, "["):
        try:
            items = json.loads(text)
        except (ValueError, RecursionError):
            continue
        ideas = [_idea(item) for item in items if isinstance(item, dict)] if isinstance(items, list) else []
        if any(ideas):
            return [idea for idea in ideas if idea is not None]
    return []


def read_program(reply: str, idea: Idea) -> str:
    """The function of a reply, laid out anew without docstrings and comments; ends with a newline.

    Raises:
        NotRecorded: there is none, or it holds more than functions, imports and constants.
    """
    code = extract_program(reply, idea.name).value
    if code is None:
        raise NotRecorded("the reply holds no such function")
    try:
        tree = without_docstrings(syntax.parse(code))
        missing = free_names(code)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise NotRecorded(f"the reply holds no Python: {error}") from None
    if missing:
        raise NotRecorded(f"the program reads {', '.join(missing)}, which it does not define")
    allowed = ast.FunctionDef | ast.Import | ast.ImportFrom | ast.Assign
    if not all(isinstance(node, allowed) for node in tree.body):
        raise NotRecorded("the program holds more than functions, imports and constants")
    return ast.unparse(tree) + "\n"


def read_inputs(reply: str, program: str, function: str, wanted: int) -> list[RecordedCase]:
    """The first ``wanted`` argument lists of a reply that fit the function.

    Raises:
        NotRecorded: there are fewer.
    """
    arity = _arities(program, function)
    for text in _candidates(reply, "[("):
        read = parse_literal(text)
        if not isinstance(read, Literal) or not isinstance(read.value, list | tuple):
            continue
        calls = {repr(call): call for call in read.value if isinstance(call, list | tuple) and len(call) in arity}
        short = [RecordedCase(args=tuple(call)) for text, call in calls.items() if len(text) <= MAX_INPUT_CHARS]
        if len(short) >= wanted:
            return short[:wanted]
    raise NotRecorded(f"the reply holds no list of {wanted} different argument lists")


def _candidates(reply: str, opening: str) -> Iterator[str]:
    """Where a bracketed value may stand: fenced blocks, the whole reply, from the first bracket to the last."""
    text = final_channel(
        reply, lambda passage: Weight.ANSWER if any(bracket in passage for bracket in opening) else Weight.NOTHING
    ).text
    yield from (fence.code for fence in reversed(fenced_blocks(text)))
    yield text
    starts = [index for bracket in opening if (index := text.find(bracket)) >= 0]
    if starts:
        yield text[min(starts) : max(text.rfind("]"), text.rfind(")")) + 1]


def _idea(item: dict[str, Any]) -> Idea | None:
    header, description = item.get("header"), item.get("description")
    if not isinstance(header, str) or not isinstance(description, str):
        return None
    found = _HEADER.fullmatch(header.strip())
    if found is None or not found[2].strip():
        return None
    return Idea(f"def {found[1]}({found[2].strip()}):", " ".join(description.split()))


def _arities(program: str, function: str) -> range:
    """How many arguments the function takes."""
    for node in syntax.parse(program).body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            arguments = node.args
            if arguments.vararg or arguments.kwonlyargs or not (arguments.args or arguments.posonlyargs):
                break
            most = len(arguments.args) + len(arguments.posonlyargs)
            return range(max(1, most - len(arguments.defaults)), most + 1)
    raise NotRecorded("the function takes other than plain parameters")


Ask = Callable[[str], str]
"""Puts a question to a model and returns its reply; safe to call from several threads."""


class LlmListOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to build."""

    size: int = 100
    inputs: int = 3
    """Cases of a program."""
    batch: int = 20
    """Functions to think of in one request."""
    tries: int = 3
    """Requests for the inputs of one program, at most."""


class JournalEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of the journal: ideas that came, or what became of one."""

    ideas: tuple[Idea, ...] = ()
    name: str = ""
    """Of the function whose outcome this is; empty for a line of ideas."""
    row: ExecutionRow | None = None
    """Numbered only in the end."""
    why: str = ""
    """Why there is no row."""


class IdeaJournal(Protocol):
    """Takes entries durably; safe to call from several threads."""

    def append(self, record: JournalEntry) -> None:
        """Keep one more."""


def build(
    options: LlmListOptions,
    ask: Ask,
    executor: Executor,
    witness: Executor,
    *,
    journal: IdeaJournal,
    earlier: Iterable[JournalEntry] = (),
    model: str = "",
    connections: int = 4,
) -> Iterator[ExecutionRow | Refused]:
    """Rows, and why there is none where a proposal fails, in the order of the model's ideas.

    Args:
        options: what to build.
        ask: the model.
        executor: runs the programs.
        witness: runs them again; give its programs another hash seed.
        journal: where entries go.
        earlier: what a journal holds already.
        model: its name, for the rows.
        connections: ideas worked on at once; those under way are lost if the build is killed.

    Raises:
        UserError: the model keeps giving no usable ideas.
        ModelError: it does not answer; the journal keeps what came before.
    """
    ideas: dict[str, Idea] = {}
    outcomes: dict[str, JournalEntry] = {}
    for entry in earlier:
        ideas.update({idea.name: idea for idea in entry.ideas})
        if entry.name:
            outcomes[entry.name] = entry
    seen: set[str] = set()
    made, begun = 0, 0

    def work(idea: Idea) -> JournalEntry:
        entry = outcomes.get(idea.name)
        if entry is None:
            entry = _outcome(idea, options, ask, executor, witness, model)
            journal.append(entry)
        return entry

    with ThreadPoolExecutor(connections, thread_name_prefix="llm-list") as pool:
        while made < options.size:
            if begun == len(ideas):
                ideas.update(_more_ideas(ideas, options, ask, journal))
            wave = list(ideas.values())[begun : begun + min(connections, options.size - made)]
            begun += len(wave)
            for entry in pool.map(work, wave):
                if entry.row is None:
                    yield Refused(entry.name, entry.why)
                elif (key := identity(entry.row.code)) in seen:
                    yield Refused(entry.name, "is the same program as an earlier one")
                else:
                    seen.add(key)
                    yield msgspec.structs.replace(entry.row, id=f"llm_list_{made}")
                    made += 1


def _more_ideas(
    known: dict[str, Idea], options: LlmListOptions, ask: Ask, journal: IdeaJournal
) -> dict[str, Idea]:
    """New headers by name, at least one."""
    headers = "\n".join(idea.header for idea in known.values()) or "(none)"
    for _ in range(options.tries):
        reply = ask(render("llm_list.ideas", count=str(options.batch), known=headers))
        fresh = {idea.name: idea for idea in read_ideas(reply) if idea.name not in known}
        if fresh:
            journal.append(JournalEntry(ideas=tuple(fresh.values())))
            return fresh
    raise UserError(
        f"the model gave no new functions in {options.tries} replies, after {len(known)}; ask another model,"
        " or for fewer with `size`"
    )


def _outcome(
    idea: Idea, options: LlmListOptions, ask: Ask, executor: Executor, witness: Executor, model: str
) -> JournalEntry:
    try:
        program = read_program(
            ask(render("llm_list.program", header=idea.header, description=idea.description)), idea
        )
        recorded = _recorded(idea, program, options, ask, executor, witness)
    except NotRecorded as refusal:
        return JournalEntry(name=idea.name, why=str(refusal))
    row = ExecutionRow(
        id=idea.name,
        function_name=idea.name,
        code=program,
        input=recorded.calls,
        output=recorded.outputs,
        correct_condition=recorded.conditions,
        description=idea.description,
        metadata={"source": "truegrade llm-list", "model": model, "header": idea.header},
    )
    return JournalEntry(name=idea.name, row=row)


def _recorded(
    idea: Idea, program: str, options: LlmListOptions, ask: Ask, executor: Executor, witness: Executor
) -> RecordedCalls:
    """Ask for inputs until there are some that the program answers in different ways."""
    question = render("llm_list.inputs", program=program.rstrip(), function=idea.name, count=str(options.inputs))
    refusal = NotRecorded("no inputs were asked for")
    for _ in range(options.tries):
        try:
            cases = read_inputs(ask(question), program, idea.name, options.inputs)
            recorded = record(executor, witness, program, idea.name, cases)
            if len(set(recorded.outputs)) > 1:
                return recorded
            refusal = NotRecorded("it returns the same for every input proposed")
        except NotRecorded as error:
            refusal = error
    raise refusal
