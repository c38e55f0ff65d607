"""Rows of execution-reasoning data sets: a program, its calls, what they return, and its mutant.

The schema is that of the published sets (akshsgaur/code-reasoning-repro@6c43fa8, data sets DSL-List and LeetCode
431-467), so that their files and ours are read by the same code.
"""

from __future__ import annotations

import cmath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, Any, Literal

import msgspec

from truegrade.datasets.download import cache_folder, read_content, sha256
from truegrade.datasets.rows import Rows, parse_rows
from truegrade.errors import UserError
from truegrade.extraction import parsing
from truegrade.grading.executor import Executor
from truegrade.sandbox.outcome import CallResult
from truegrade.store.manifest import write_atomically

Texts = str | tuple[str, ...]
"""One text, or one per case."""
MAX_OUTPUT_CHARS = 1000
"""Longer values are no answer that a model could be asked for."""


class MutationInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a mutant was made and chosen."""

    mutation_type: str
    """Name of the operator, e.g. ``relational``."""
    mutation_id: str | int
    """Stable within a program: the same source gives the same id."""
    coverage_similarity: float | None = None
    """Jaccard similarity of executed lines with the original's; 1 means the same path."""
    arc_similarity: float | None = None
    """The same of executed (line, next line) pairs."""
    discriminating: tuple[int, ...] | None = None
    """Cases on which the two programs return different values."""
    span: tuple[int, int, int, int] | None = None
    """Line, column, end line, end column of the changed code; lines from 1, columns in bytes from 0."""
    change: str | None = None
    """Old and new code, ``a + b -> a - b``."""


class Preserved(msgspec.Struct, frozen=True, kw_only=True):
    """A rewriting of the program that means the same."""

    rewriting: str
    """Name of the rule, e.g. ``rename``."""
    code: str


Natural = Annotated[int, msgspec.Meta(ge=1)]


class RecordedState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a program holds, or has done, inside one of its calls; asked for beside what the call returns."""

    case: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Number of the call, from 0."""
    line: Natural
    """Of ``code``, from 1."""
    variable: str = ""
    """Whose value is asked for, directly after the line has run; empty where it is asked how often the line runs,
    0 for a branch that is not taken."""
    time: Natural = 1
    """How often it has run then during the call, in whatever frames."""
    value: str
    """A literal."""
    mutated: str | None = None
    """The same of ``mutated_code``; None where that has no such value."""


class ExecutionRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One program and its cases."""

    id: str | int
    function_name: str
    code: str
    input: Texts
    """The call, ``f(1, 2)``, or only what stands between its parentheses."""
    output: Texts
    """``repr`` of what it returns."""
    correct_condition: Texts | None = None
    """``call == value``."""
    mutated_code: str | None = None
    mutated_output: Texts | None = None
    has_mutation: bool | None = None
    mutation_info: MutationInfo | None = None
    preserved: tuple[Preserved, ...] = ()
    states: tuple[RecordedState, ...] = ()
    question_id: str | int | None = None
    """Rows that share a question are one cluster."""
    difficulty: str | int | None = None
    contest_id: str | int | None = None
    contest_date: str | None = None
    submission_id: str | int | None = None
    description: str | None = None
    dsl: str | None = None
    arity: int | None = None
    depth: int | None = None
    metrics: dict[str, Any] | None = None
    """Covariates such as lines of code, executed steps, loop depth."""
    metadata: dict[str, Any] | None = None
    """Where the row comes from."""


# ---------------- Read rows of execution reasoning from any file that holds them: ours and the published sets.
# Shapes (akshsgaur/code-reasoning-repro@6c43fa8): DSL-List and LeetCode rows, which are `ExecutionRow` as they
# are, also as concatenated pretty-printed objects; LLM-List rows, which hold ``header``, ``inputs`` and
# ``outputs``; and CRUXEval's (facebookresearch/cruxeval ``data/cruxeval.jsonl``), which do not name their
# function, ``f``.


Rendering = Literal["stored", "repr"]
"""How the argument texts of an LLM-List row are written into the call: ``stored`` joins them as they are
(src/models/bedrock_claude_llm_list), ``repr`` writes each literal as Python does
(src/models/llm_list/gpt_oss_llm_list_final.ipynb)."""

_CRUXEVAL = "f"
_DEFINED = re.compile(r"^(?:async\s+)?def\s+(\w+)", re.MULTILINE)
_HEADER = re.compile(r"\s*(?:async\s+)?def\s+(\w+)")


def read_executions(path: Path, rendering: Rendering = "stored") -> Rows[ExecutionRow]:
    """The rows of a file, in its order.

    Raises:
        UserError: the file cannot be read.
        BadRecord: a row has neither schema; names line and field.
    """
    content = read_content(path)
    rows = parse_rows(path, content, ExecutionRow, lambda value: as_execution_row(value, rendering))
    return Rows(rows=rows, dataset_sha256=sha256(content), source=str(path))


def as_execution_row(value: Any, rendering: Rendering = "stored") -> Any:
    """The fields of an `ExecutionRow` out of a decoded row of LLM-List or CRUXEval; any other value as it is."""
    if not isinstance(value, dict):
        return value
    if not {"header", "inputs"} <= value.keys():
        name = None if "function_name" in value else _one_function(str(value.get("code")))
        return {**value, "function_name": name} if name else value
    named = _HEADER.match(str(value["header"]))
    fields = {key: item for key, item in value.items() if key not in {"header", "inputs", "outputs"}}
    if "outputs" in value:
        fields["output"] = value["outputs"]
    if named is None:
        return fields
    calls = [_call(named[1], arguments, rendering) for arguments in _listed(value["inputs"])]
    return {**fields, "function_name": named[1], "input": calls}


def _one_function(code: str) -> str | None:
    """The function that a program is about, where it defines one of that name or only one."""
    names = _DEFINED.findall(code)
    return _CRUXEVAL if _CRUXEVAL in names else names[0] if len(names) == 1 else None


def _call(function: str, arguments: Any, rendering: Rendering) -> str:
    texts = [_written(str(text), rendering) for text in _listed(arguments)]
    return f"{function}({', '.join(texts)})"


def _written(text: str, rendering: Rendering) -> str:
    if rendering == "stored":
        return text
    literal = parsing.parse_literal(text)
    return repr(literal.value) if isinstance(literal, parsing.Literal) else text.strip()


def _listed(value: Any) -> list[Any]:
    """A list as it is; one text counts as a list of one."""
    return value if isinstance(value, list) else [value]


# ------------------------ What a program returns, as the jail saw it: the one source of every recorded output.


# A call with keywords: executors pass arguments by position only.
_ADAPTER = "\n\ndef _truegrade_call(args, kwargs):\n    return {function}(*args, **kwargs)\n"
_SHOWN_CHARS = 120


class RecordedCase(msgspec.Struct, frozen=True):
    """The arguments of one call."""

    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}


class Returned(msgspec.Struct, frozen=True):
    """What one call gave: the literal it returned, or why there is none."""

    text: str | None
    why: str = ""
    """Empty if there is a literal."""


class RecordedCalls(msgspec.Struct, frozen=True):
    """The calls of one row and what they return, ready to be stored."""

    calls: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def conditions(self) -> tuple[str, ...]:
        """``call == value`` of each case."""
        return tuple(f"{call} == {output}" for call, output in zip(self.calls, self.outputs, strict=True))


class NotRecorded(Exception):
    """A program that makes no item; the message says why."""


class Refused(msgspec.Struct, frozen=True):
    """What a builder reports instead of a row."""

    name: str
    """Of what was refused."""
    why: str
    """A sentence; what is particular to this one stands behind its first colon."""


def run_cases(
    executor: Executor,
    program: str,
    function: str,
    cases: Sequence[RecordedCase],
    max_chars: int = MAX_OUTPUT_CHARS,
) -> tuple[Returned, ...]:
    """Call the function with each case, in order, in one process; one answer per case, never an exception.

    Args:
        executor: where the program runs.
        program: source that defines ``function``.
        function: its name.
        cases: arguments, plain values only.
        max_chars: longest literal that is recorded.
    """
    given: list[Returned] = []

    def keep(_: int, result: CallResult) -> bool:
        if result.error is not None:
            given.append(Returned(None, f"raised {result.error[:_SHOWN_CHARS]}"))
        else:
            text = literal_text(result.value, max_chars)
            why = "" if text is not None else "returned something that is no literal, or is too long"
            given.append(Returned(text, why))
        return True

    adapted = program + _ADAPTER.format(function=function)
    outcome = executor.call(adapted, "_truegrade_call", [(case.args, case.kwargs) for case in cases], keep)
    missing = Returned(None, f"{outcome.status}: {outcome.detail[:_SHOWN_CHARS]}")
    return tuple(given) + (missing,) * (len(cases) - len(given))


def record(
    executor: Executor, witness: Executor, program: str, function: str, cases: Sequence[RecordedCase]
) -> RecordedCalls:
    """Record what a program returns, if it returns the same again.

    The witness runs the cases in reverse order, in another process. With another hash seed it betrays the order
    of a set, and in any case the clock, chance, and state that one call leaves to the next.

    Raises:
        NotRecorded: a call failed, returned no literal, or returned something else to the witness.
    """
    calls = [call_text(function, case.args, case.kwargs) for case in cases]
    first = run_cases(executor, program, function, cases)
    again = run_cases(witness, program, function, cases[::-1])[::-1]
    outputs = []
    for call, one, other in zip(calls, first, again, strict=True):
        if call is None:
            raise NotRecorded("an argument is no literal, or is too long")
        if one.text is None:
            raise NotRecorded(f"a call returns no literal: {call} {one.why}")
        if one.text != other.text:
            raise NotRecorded(f"it is not deterministic: {call} gives {one.text}, then {other.text or other.why}")
        outputs.append(one.text)
    return RecordedCalls(tuple(call for call in calls if call is not None), tuple(outputs))


# ----- Where a data set that is built on this machine lies, so that its benchmark finds it without ``--data``.


def built_path(name: str, variant: str = "") -> Path:
    """The file of a built data set in the cache; nothing says that it exists.

    Args:
        name: of the set.
        variant: what it was built with besides the defaults; a file of its own for each.
    """
    return cache_folder() / "built" / f"{name}{variant and '-'}{variant}.jsonl"


def built_variants(name: str) -> list[str]:
    """The variants of a data set that were built, in order; the one of the defaults is not among them."""
    files = (cache_folder() / "built").glob(f"{name}-*.jsonl")
    return sorted(file.stem.removeprefix(f"{name}-") for file in files)


# ------------ Files of execution rows: JSON Lines, keys in the order of the schema, whole or not there at all.


def encode_rows(rows: Iterable[ExecutionRow]) -> bytes:
    """The bytes of a file of rows; the same rows give the same bytes."""
    return b"".join(msgspec.json.encode(row) + b"\n" for row in rows)


def write_rows(path: Path, rows: Iterable[ExecutionRow]) -> str:
    """Write a file of rows; return its sha256.

    Raises:
        UserError: the place cannot be written.
    """
    content = encode_rows(rows)
    write_content(path, content)
    return sha256(content)


def write_content(path: Path, content: bytes) -> None:
    """Write a file that gets its name once it is complete and on the disk.

    Raises:
        UserError: the place cannot be written.
    """
    with _refusing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content)


def prepare(path: Path) -> None:
    """Make a file's folder and try to write there, before long work is done for it.

    Raises:
        UserError: the place cannot be written.
    """
    with _refusing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=path.parent):
            pass


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror or error}; choose another `out`") from None


def read_rows(path: Path) -> tuple[ExecutionRow, ...]:
    """The rows of a file.

    Raises:
        BadRecord: names file, line and field.
        UserError: it cannot be read.
    """
    return parse_rows(path, read_content(path), ExecutionRow, as_execution_row)


# --------------------------------------------------- Values as the text of one literal, the same in every process.


def literal_text(value: object, max_chars: int = MAX_OUTPUT_CHARS) -> str | None:
    """What ``repr`` writes, with the elements of sets in sorted order; None if that is no literal.

    No literal: objects of other than the built-in types, nan and infinities, values that contain themselves or
    are nested too deeply, and text longer than ``max_chars``.
    """
    try:
        text = written(value, _leaf)
    except (_NoLiteral, ValueError, RecursionError):  # ValueError: an integer of more than 4,300 digits
        return None
    if len(text) > max_chars or not isinstance(parsing.parse_literal(text), parsing.Literal):
        return None
    return text


def call_text(function: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """``f(1, k=2)``; None if an argument is no literal."""
    texts = [literal_text(value) for value in (*args, *kwargs.values())]
    if None in texts:
        return None
    names = [""] * len(args) + [f"{name}=" for name in kwargs]
    return f"{function}({', '.join(f'{name}{text}' for name, text in zip(names, texts, strict=True))})"


class _NoLiteral(Exception):
    """A part of the value cannot be written."""


def written(value: Any, leaf: Callable[[Any], str]) -> str:
    """Lists, tuples, sets and dictionaries as ``repr`` writes them; the order of sets no hash seed decides.

    Args:
        value: whole.
        leaf: writes every other value.
    """
    kind = type(value)
    if kind is dict:
        return f"{{{', '.join([f'{written(key, leaf)}: {written(item, leaf)}' for key, item in value.items()])}}}"
    if kind not in {list, tuple, set, frozenset}:
        return leaf(value)
    items = [written(item, leaf) for item in value]
    if kind is list:
        return f"[{', '.join(items)}]"
    if kind is tuple:
        return f"({', '.join(items)}{',' * (len(items) == 1)})"
    inside = f"{{{', '.join(sorted(items))}}}" if items else ""
    return inside if kind is set and items else f"{kind.__name__}({inside})"


def _leaf(value: object) -> str:
    if value is None or type(value) in {bool, int, str, bytes}:
        return repr(value)
    if type(value) in {float, complex} and cmath.isfinite(value):  # type: ignore[arg-type]  # it is a number
        return repr(value)
    raise _NoLiteral
