"""Tests as the trainers' data sets hold them, read into a task of ours. Nothing of a ground truth is executed.

| shape | what is read |
| --- | --- |
| ``stdio`` | ``{"inputs": [text], "outputs": [text]}``: APPS, TACO, PRIME, Eurus-2, NeMo Gym; ``{"input": [..], "output": [..]}`` with ``type``: ScaleBox |
| ``calls`` | the same with ``fn_name``: inputs are lists of arguments, or lines of JSON |
| ``assert_case`` | ``{"assert_case": [source]}``: verl |
| ``test_cases`` | a list of ``{"input", "output"}``, perhaps with ``testtype`` and ``metadata.func_name``: LiveCodeBench, DeepCoder, open-r1, PrimeIntellect |
| ``livecodebench`` | a row with ``public_test_cases`` and ``private_test_cases`` as its data set stores them |
| ``asserts`` | a list of asserts, or source of them: open-instruct, MBPP |
| ``check`` | source with ``check(candidate)``: HumanEval, LeetCode |
| ``pytest`` | source with ``def test_...``: KodCode |
| ``row`` | a row of own problems, whole, with ``prefix`` or ``framework``: `truegrade.benchmarks.own_rows.BenchmarkRow` |
| ``inputs-results`` | source with ``inputs = ...``, ``results = ...`` and a loop: HumanEval+, MBPP+ |

Each may be text (JSON, a Python literal, or base64 of zlib of a pickle of plain values), may hold arrays and scalars
of numpy, pyarrow and pandas, and may lie in a record of `WRAPPERS`.
"""  # noqa: E501 - a table's rows cannot be broken

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from truegrade.benchmarks.ground_truths.pytest_modules import LITERAL_CHARACTERS, Unreadable, from_text, plain
from truegrade.benchmarks.ground_truths.python_tests import asserts_task, source_task
from truegrade.benchmarks.own_rows import BenchmarkRow, task_of
from truegrade.errors import BadRecord
from truegrade.files import syntax
from truegrade.files.json_text import convert
from truegrade.grading.contests.tests import UndecodableTests, decode, decoded
from truegrade.records import BuiltInTask, ContestTask, FunctionTask

WRAPPERS = (
    *("ground_truth", "reward_model", "reward_spec", "verifier_metadata", "unit_tests", "verification_info"),
    *("functional", "pytest", "test_code", "test", "test_cases", "tests", "test_list", "input_output"),
)
"""Fields in which records of data sets hold their tests; the first that is there counts."""
_PYTHON = frozenset({"", "python", "python3", "py", "pypy3"})
_FUNCTION, _STDIN = (
    frozenset({"functional", "function_call"}),
    frozenset({"stdin", "stdin_stdout", "standard_input"}),
)
_KEYWORD = re.compile(r"\s*[A-Za-z_]\w* = ")
_DEPTH = 8
_WHY_CHARACTERS = 200


class FoundTests(msgspec.Struct, frozen=True, kw_only=True):
    """The tests of one problem, or why there are none."""

    shape: str
    """Which of the shapes was read; empty where none was."""
    task: BuiltInTask | None
    """None where it cannot be read or holds no test: then nothing is known of a reply, right or wrong."""
    why_not: str = ""
    """One line, empty where there is a task."""


def read_ground_truth(value: Any, *, entry_point: str | None = None) -> FoundTests:
    """The task that a ground truth is. Never raises, and never executes any of it.

    Args:
        value: as a trainer's data set or data loader holds it.
        entry_point: name of the function that they call, also ``Solution().method``, where they do not say it.
    """
    try:
        shape, task = _read(plain(value), _Known(entry_point=entry_point), 0)
    except Unreadable as why:
        words = " ".join(str(why).split())
        return FoundTests(shape="", task=None, why_not=f"the ground truth: {words}"[:_WHY_CHARACTERS])
    except (RecursionError, MemoryError) as error:
        return FoundTests(shape="", task=None, why_not=f"the ground truth is too large: {type(error).__name__}")
    return FoundTests(shape=shape, task=task)


Read = tuple[str, BuiltInTask]


class _Known(msgspec.Struct, frozen=True, kw_only=True):
    """What the records around the tests say."""

    entry_point: str | None = None
    called: bool = False
    """Whether a record says that its tests call that function, and do not read standard input."""
    setup: str = ""

    def within(self, record: Mapping[str, Any]) -> _Known:
        """The same, and what this record adds.

        Raises:
            Unreadable: its tests are for another language.
        """
        language = record.get("language")
        if isinstance(language, str) and language.strip().lower() not in _PYTHON:
            raise Unreadable(f"its tests are for {language}, and only Python is run")
        setups = [record.get("test_setup_code"), *_texts(record.get("test_imports"))]
        setup = "\n".join(text for text in setups if isinstance(text, str) and text.strip())
        called = _name_in(record, ("fn_name", "func_name"))
        name = called or _name_in(record) or self.entry_point
        return _Known(entry_point=name, called=self.called or called is not None, setup=setup or self.setup)


def _read(value: Any, known: _Known, depth: int) -> Read:
    if depth > _DEPTH:
        raise Unreadable("its records are nested too deeply")
    if isinstance(value, str):
        return _of_text(value, known, depth)
    if isinstance(value, Mapping):
        return _of_record(value, known, depth)
    if isinstance(value, list):
        return _of_list(value, known)
    raise Unreadable(f"{_abbreviate(value)} holds no test")


def _of_text(text: str, known: _Known, depth: int) -> Read:
    if not text.strip():
        raise Unreadable("it is empty")
    value = from_text(text)
    if isinstance(value, str) and value == text:
        return source_task(text, known.entry_point)
    return _read(plain(value), known, depth + 1)


def _of_record(record: Mapping[str, Any], known: _Known, depth: int) -> Read:
    known = known.within(record)
    if {"id", "prompt", "tests"} <= record.keys() and (record.get("prefix") or record.get("framework")):
        return "row", _own_row(record)
    if isinstance(record.get("assert_case"), list):
        return "assert_case", _assert_case(record, known)
    if "public_test_cases" in record or "private_test_cases" in record:
        return "livecodebench", _stored(record, known)
    for given, wanted in (("inputs", "outputs"), ("input", "output")):
        if given in record and wanted in record:
            return _of_columns(record, given, wanted, known)
    for name in WRAPPERS:
        if record.get(name) is not None:
            return _read(record[name], known, depth + 1)
    raise Unreadable(f"no tests in its fields {', '.join(map(_abbreviate, list(record)[:8])) or '(none)'}")


def _own_row(record: Mapping[str, Any]) -> BuiltInTask:
    """What stands before an answer lies beside the tests, so the tests alone would say too little."""
    try:
        return task_of(convert(dict(record), BenchmarkRow))
    except (msgspec.ValidationError, BadRecord) as error:
        raise Unreadable(f"it is no row of own problems: {error}") from None


def _of_list(items: list[Any], known: _Known) -> Read:
    if not items:
        raise Unreadable("it holds no test")
    if all(isinstance(item, str) for item in items):
        parsed = [from_text(item) if item.lstrip()[:1] == "{" else item for item in items]
        if all(isinstance(item, str) for item in parsed):
            return "asserts", asserts_task(items, known.entry_point, known.setup)
        items = [plain(item) for item in parsed]
    if not all(isinstance(item, Mapping) and "input" in item and "output" in item for item in items):
        raise Unreadable(
            f"its first entry is {_abbreviate(items[0])}, no assert and no object with input and output"
        )
    name = next((found for item in items if (found := _name_in(item))), known.entry_point)
    kinds = {_kind(item) for item in items} - {None}
    if len(kinds) > 1:
        raise Unreadable("some of its tests call a function, others read standard input")
    pairs = [(item["input"], item["output"]) for item in items]
    apps = not any("testtype" in item for item in items)
    return "test_cases", _contest(pairs, _function(kinds, name, known), apps=apps)


# ------------------------------------------------------------------------------------------------- records


def _name_in(
    record: Mapping[str, Any], fields: Sequence[str] = ("fn_name", "func_name", "entry_point")
) -> str | None:
    """The function that a record names."""
    for field in fields:
        if isinstance(name := record.get(field), str) and name.strip():
            return name.strip()
    about = record.get("metadata")
    if isinstance(about, str):
        about = from_text(about)
    found = about.get("func_name") if isinstance(about, Mapping) else None
    return found if isinstance(found, str) and found else None


def _kind(record: Mapping[str, Any]) -> bool | None:
    """Whether a record's tests call a function; None where it does not say."""
    for field in ("testtype", "type"):
        if (said := record.get(field)) in _FUNCTION:
            return True
        if said in _STDIN:
            return False
    return True if _name_in(record, ("fn_name", "func_name")) else None


def _function(kinds: set[bool | None], name: str | None, known: _Known) -> str | None:
    """The function that tests call; None for programs on standard input."""
    if False in kinds or not (True in kinds or known.called):
        return None
    if name is None:
        raise Unreadable("its tests call a function that nothing names; add its name as entry_point")
    return name.removeprefix("Solution().").removeprefix("Solution.")


def _of_columns(record: Mapping[str, Any], given: str, wanted: str, known: _Known) -> Read:
    inputs, outputs = _column(record[given], given), _column(record[wanted], wanted)
    if len(inputs) != len(outputs):
        raise Unreadable(f"it holds {len(inputs)} {given} and {len(outputs)} {wanted}")
    kinds: set[bool | None] = {_kind(record)}
    for field in ("testtype", "type", "fn_name"):
        values = record.get(field)
        if isinstance(values, list) and len({str(value) for value in values}) == 1:
            single = {**record, field: values[0]}
            kinds, known = {_kind(single)}, known.within({"fn_name": _name_in(single)})
    function = _function(kinds, known.entry_point, known)
    return ("stdio" if function is None else "calls"), _contest(list(zip(inputs, outputs, strict=True)), function)


def _column(value: Any, name: str) -> list[Any]:
    if isinstance(value, str):
        parsed = from_text(value)
        value = parsed if isinstance(parsed, list) else [value]
    if not isinstance(value, list):
        raise Unreadable(f"its {name} are {_abbreviate(value)}, no list")
    if not value:
        raise Unreadable(f"its {name} are empty: it holds no test")
    return [item if isinstance(item, str) else plain(item) for item in value]


def _texts(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _assert_case(record: Mapping[str, Any], known: _Known) -> FunctionTask:
    """verl-project/verl@1dda039 ``sandbox_fusion``: code that is put behind the program, case by case."""
    for field in ("inputs", "outputs"):
        values = record.get(field) or []
        if not isinstance(values, list) or any(value not in ("", None) for value in values):
            raise Unreadable(f"it holds assert_case and {field}, and a case is one of both")
    cases = record["assert_case"]
    if not cases or not all(isinstance(case, str) for case in cases):
        raise Unreadable("its assert_case is no list of texts" if cases else "it holds no test")
    return asserts_task(cases, known.entry_point, known.setup)


def _stored(record: Mapping[str, Any], known: _Known) -> ContestTask:
    public, private = (record.get(name) or "[]" for name in ("public_test_cases", "private_test_cases"))
    parts = [part if isinstance(part, str) else _json(part) for part in (public, private)]
    task = _task(_name_in(record) or known.entry_point, parts[0], parts[1])
    try:
        tests = decode(task)
    except UndecodableTests as error:
        raise Unreadable(str(error)) from None
    if not tests.inputs:
        raise Unreadable("it holds no test")
    return task


# --------------------------------------------------------------------------------------------------- tests


def _contest(pairs: Sequence[tuple[Any, Any]], function: str | None, *, apps: bool = True) -> ContestTask:
    """The task of inputs and outputs.

    Args:
        pairs: of the tests.
        function: that they call; None for standard input.
        apps: whether outputs may be those of APPS (hendrycks/apps@1b052764 ``eval/testing_util.py``).
    """
    if function is None:
        tests = [{"input": _stdin(one), "output": _stdout(other), "testtype": "stdin"} for one, other in pairs]
        return _task(None, "[]", _json(tests))
    tests = []
    wanted = [_expected(other) for _, other in pairs]
    # APPS and TACO put values in lists of one, but not for every problem: where all are such, both are right.
    listed = apps and all(isinstance(value, list) and len(value) == 1 for value in wanted)
    for (one, _), value in zip(pairs, wanted, strict=True):
        test = {"input": _arguments(one), "output": _json(value), "testtype": "functional"}
        tests.append({**test, "or_output": _json(value[0])} if listed else test)
    return _task(function, "[]", _json(tests))


def _task(function: str | None, public: str, private: str) -> ContestTask:
    return ContestTask(title="", question="", function=function, public_tests=public, private_tests=private)


def _stdin(value: Any) -> str:
    """Standard input: a text, lines, or nothing."""
    text = "" if value is None else _lines(value, "input")
    if _keywords(text):
        raise Unreadable(f"the input {_abbreviate(text)} names the arguments of a call; give its tests as source")
    return text


def _keywords(text: str) -> bool:
    """Whether an input is ``name = value, name = value``, as LeetCode's pages have them."""
    if not _KEYWORD.match(text) or len(text) > LITERAL_CHARACTERS:
        return False
    try:
        tree = syntax.parse(f"f({text.strip()})", mode="eval").body
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False
    return isinstance(tree, ast.Call) and not tree.args and bool(tree.keywords)


def _stdout(value: Any) -> str:
    if value is None:
        raise Unreadable("an expected output is missing")
    return _lines(value, "output")


def _lines(value: Any, name: str) -> str:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "\n".join(value)
    if isinstance(value, str | int | float):
        return str(value)
    raise Unreadable(f"an {name} is {_abbreviate(value)}, no text")


def _arguments(value: Any) -> str:
    """JSON, one argument a line."""
    if isinstance(value, list):
        if not value:
            raise Unreadable("a call has no arguments, which lines of JSON cannot say")
        return "\n".join(map(_json, value))
    if not isinstance(value, str):
        raise Unreadable(f"the arguments of a call are {_abbreviate(value)}, no list")
    try:
        for line in value.strip("\n").split("\n"):
            decoded(line)
    except (ValueError, RecursionError, ArithmeticError):
        raise Unreadable(f"the arguments {_abbreviate(value)} are not JSON, one a line") from None
    return value


def _expected(value: Any) -> Any:
    """The value that a call is to return: as it is, or as JSON or Python text."""
    if not isinstance(value, str):
        return value
    try:
        return decoded(value)
    except (ValueError, RecursionError, ArithmeticError):
        pass
    try:
        return plain(syntax.literal_eval(value.strip())) if len(value) <= LITERAL_CHARACTERS else value
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return value  # the text itself, as verl compares it


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"a value is none of JSON: {error}") from None


def _abbreviate(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
