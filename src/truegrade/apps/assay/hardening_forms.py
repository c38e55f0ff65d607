"""New tests, the forms in which they are written, and what the consumer of each makes of known programs.

A row holds the problem's own and the new tests under the problem's comparison, or it is left out. Every row is
read back as its consumer reads it, and known programs are graded by the consumer's rules, before it is kept.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec
from msgspec import structs

from truegrade.apps.assay.answers import Arguments, read_call, written, written_call
from truegrade.apps.assay.targets.opening import ENDLESS_CPU_S
from truegrade.benchmarks import load_benchmark
from truegrade.benchmarks.ground_truths.ground_truth import read_ground_truth
from truegrade.benchmarks.humaneval import HumanEvalPlusRow, humanevalplus_item
from truegrade.benchmarks.mbpp import MbppPlusRow, mbppplus_item
from truegrade.errors import BadRecord, UserError
from truegrade.files.json_text import encode
from truegrade.grading import functions
from truegrade.grading.executor import Executor
from truegrade.grading.problem_tests import CallTests, ProblemTests, ReferenceTests, SourceTests
from truegrade.kinds import kind_of
from truegrade.profiles import open_profile
from truegrade.records import Answer, Case, Problem, sha256_json


class NewTest(msgspec.Struct, frozen=True, kw_only=True):
    """One call and what it is to give."""

    call: str
    """Python source, ``f(1, [2])``."""
    expected: str
    """What the reference returned, twice, as a literal."""
    victims: tuple[str, ...] = ()
    """Ids of the wrong programs that it refuses."""


TOLERANCE = """def _truegrade_close(got, expected):
    if isinstance(expected, (list, tuple)):
        return type(got) is type(expected) and len(got) == len(expected) and all(
            _truegrade_close(*pair) for pair in zip(got, expected)
        )
    if isinstance(expected, dict):
        return got.keys() == expected.keys() and all(_truegrade_close(got[key], expected[key]) for key in expected)
    if isinstance(expected, (float, complex)) and not isinstance(got, (str, list, tuple, dict)):
        return got == expected or abs(got - expected) <= 1e-6 + 1e-7 * abs(expected)
    return got == expected
"""
"""The tolerance of `truegrade.grading.functions` for outputs with floating-point numbers, as source for a test."""

STATED = {
    "equal": "equal; numbers in floating point within 1e-6 + 1e-7 of the expected size",
    "set_equal": "the same elements, in any order and number",
}
"""Comparisons that can be written as an assertion, in words for the manifest."""


def assertion(test: NewTest, comparator: str) -> str:
    """The test as a statement, for a comparator of `STATED`."""
    if comparator == "set_equal":
        return f"assert set({test.call}) == set({test.expected})"
    if functions.holds_float(value_of(test.expected)):
        return f"assert _truegrade_close({test.call}, {test.expected})"
    return f"assert {test.call} == {test.expected}"


def value_of(literal: str) -> Any:
    """The value of a literal as `written` writes it, infinite numbers included."""
    (value,) = read_call(f"value({literal})")
    return value


def with_tests(problem: Problem, tests: Sequence[NewTest], comparator: str) -> Problem:
    """The problem with tests added; its prompt, which shows none of them, stays.

    Raises:
        UserError: its tests are of a kind that no call can be added to.
    """
    kind, task = kind_of(problem.task), problem.task
    match kind.tests(task):
        case ReferenceTests() as own:
            added: ProblemTests = structs.replace(
                own, further=(*own.further, *(read_call(test.call) for test in tests))
            )
        case CallTests() as own:
            cases = (Case(arguments=read_call(test.call), expected=value_of(test.expected)) for test in tests)
            added = structs.replace(own, cases=(*own.cases, *cases))
        case SourceTests() as own:
            lines = [assertion(test, comparator) for test in tests]
            head = TOLERANCE if any("_truegrade_close" in line for line in lines) else ""
            added = structs.replace(own, source="\n".join((own.source.rstrip("\n"), head, *lines, "")))
        case _:
            raise UserError(f"{problem.id}: tests can be added to functions and repairs, not to {kind.name(task)}")
    calls = [test.call for test in tests]
    return msgspec.structs.replace(
        problem, task=kind.with_tests(task, added), dataset_sha256=sha256_json([problem.dataset_sha256, calls])
    )


DETECTIONS = 6
"""Tests that are to refuse each wrong program: a program that only resembles it is then refused more often."""


def choose_inputs(
    kills: Sequence[Set[str]],
    survivors: Set[str],
    sizes: Sequence[int],
    *,
    most: int,
    detections: int = DETECTIONS,
) -> list[int]:
    """Greedy cover: first an input for every survivor of the present tests, then further ones for every program.

    Args:
        kills: of each input, the wrong programs that it refuses.
        survivors: the programs that the present tests accept; they are covered first.
        sizes: length of each input as source; of two that refuse as many, the shorter is taken.
        most: inputs to choose, at most.
        detections: chosen inputs that are to refuse each program.

    Returns:
        Their numbers, in the order in which they were chosen.
    """
    chosen: list[int] = []
    covered: Counter[str] = Counter()
    for goal, wanted in ((survivors, 1), (survivors, detections), (frozenset[str]().union(*kills), detections)):
        open_ = {program for program in goal if covered[program] < wanted}
        while open_ and len(chosen) < most:
            best = _best(kills, open_, sizes, chosen)
            if best is None:
                break
            chosen.append(best)
            covered.update(kills[best])
            open_ = {program for program in open_ if covered[program] < wanted}
    return chosen


def _best(kills: Sequence[Set[str]], wanted: Set[str], sizes: Sequence[int], chosen: Sequence[int]) -> int | None:
    """The input that refuses most of the wanted programs; None if none of those left refuses any."""
    gains = [(len(kills[number] & wanted), -sizes[number], -number) for number in range(len(kills))]
    for number in chosen:
        gains[number] = (0, 0, 0)
    gain, _, place = max(gains, default=(0, 0, 0))
    return -place if gain else None


Row = dict[str, Any]


class AcceptedPrograms(msgspec.Struct, frozen=True, kw_only=True):
    """Programs of one kind under two suites."""

    programs: int
    before: int
    """Accepted by the present tests."""
    after: int
    """Accepted by the present and the new tests."""


class ExportedRow(msgspec.Struct, frozen=True, kw_only=True):
    """A problem in one form; ``after`` of its figures is what the form's consumer accepts."""

    text: str = ""
    """The line as it is written; empty where the problem is left out."""
    reason: str = ""
    """Why it is left out; else empty."""
    right: AcceptedPrograms | None = None
    """Right programs that the present tests accept."""
    stubs: AcceptedPrograms | None = None
    held_out: AcceptedPrograms | None = None
    """Wrong mutants that chose no test; only of a row that is kept."""


class ExportMaterial(msgspec.Struct, frozen=True, kw_only=True):
    """What rows are made of."""

    problem: Problem
    """As it was."""
    hardened: Problem
    comparator: str
    """Of its oracle."""
    atol: float = 0.0
    """Of its oracle."""
    own: Sequence[Arguments] = ()
    """The calls of its own tests."""
    further: Sequence[Arguments] = ()
    """Calls of its extended tests, if they are its own as well, and of the new ones."""
    expected: Sequence[str] | None = None
    """What the reference returns for all of them, as literals; None where one of them is no plain value."""
    not_calls: str = ""
    """Why its own tests are not these calls alone; else empty."""


class KnownPrograms(msgspec.Struct, frozen=True, kw_only=True):
    """Whole programs that a row is measured with, each with whether the problem's tests accept it."""

    right: Mapping[str, bool]
    """By its present tests."""
    stubs: Mapping[str, bool]
    """By its present tests."""
    seen: Mapping[str, bool]
    """Wrong mutants that chose the tests; by the present and the new tests."""
    held_out: Mapping[str, bool]
    """By its present tests."""


class Form(NamedTuple):
    """One kind of file."""

    ending: str
    """Takes the place of ``.jsonl``."""
    graders: tuple[str, ...]
    """Profiles that grade as its consumers do; a program must be right for each of them."""
    row: Callable[[ExportMaterial], Row | str]
    """The row, or why there is none."""
    read: Callable[[Path, Problem], Problem]
    """The problem of a file of one row, as its consumer reads it."""


# ------------------------------------------------------------------------------------------- a benchmark


def _benchmark_row(material: ExportMaterial) -> Row | str:
    """A row of a benchmark of one's own (``docs/extend.md``)."""
    problem, task, kind = material.hardened, material.hardened.task, kind_of(material.hardened.task)
    tests, shown = kind.tests(task), kind.shown(task)
    if not isinstance(tests, SourceTests):
        return "its tests are calls and no Python source, which this form holds"
    row: Row = {
        "id": problem.id,
        "prompt": shown.text,
        "tests": f"{tests.setup}\n{tests.source}" if tests.setup else tests.source,
        "entry_point": tests.entry_point,
        "reference": kind.reference(task),
        "shown_tests": tests.shown,
        "tags": problem.tags,
    }
    if problem.packages:
        row["packages"] = problem.packages
    return row | ({"prefix": shown.prefix} if shown.prefix not in ("", shown.text) else {})


# ---------------------------------------------------------------------------------------------- EvalPlus


def _evalplus_row(material: ExportMaterial) -> Row | str:
    """A row as EvalPlus stores problems (evalplus/evalplus@26d6d00 ``evalplus/data/utils.py``).

    What it runs as the reference is the prompt and behind it the solution: a prompt in words is put in quotes.
    """
    problem, task, kind = material.problem, material.problem.task, kind_of(material.problem.task)
    tests, shown, reference = kind.tests(task), kind.shown(task), kind.reference(task)
    if not isinstance(tests, SourceTests | ReferenceTests) or not isinstance(reference, str):
        return "its tests are calls and their values, and this form has a reference and inputs"
    if material.not_calls:
        return material.not_calls
    continues = bool(shown.prefix) and reference.startswith(shown.prefix)
    prompt = shown.prefix if continues else shown.text
    if not continues and isinstance(tests, SourceTests):
        prompt = _quoted("\n".join((shown.text, *shown.tests)))
    return {
        "task_id": problem.id.replace("MBPP/", "Mbpp/", 1),
        "prompt": prompt,
        "entry_point": tests.entry_point,
        "canonical_solution": reference.removeprefix(shown.prefix) if continues else reference,
        "base_input": material.own,
        "plus_input": material.further,
        "contract": "",
        "atol": material.atol,
    }


def _quoted(text: str) -> str:
    """A docstring as MBPP+ has them for prompts."""
    plain = "\\" not in text and '"""' not in text and not text.endswith('"')
    return f'"""\n{text}\n"""\n' if plain else f"{text!r}\n"


def _read_evalplus(path: Path, problem: Problem) -> Problem:
    """Arguments rebuilt, and the comparison, by the id as EvalPlus goes by it."""
    content = path.read_bytes()
    if content.startswith(b'{"task_id":"Mbpp/'):
        name, item = "mbppplus", mbppplus_item(msgspec.json.decode(content, type=MbppPlusRow))
    else:
        row = msgspec.json.decode(content, type=HumanEvalPlusRow)
        name, item = "humanevalplus", humanevalplus_item(row)
    return msgspec.structs.replace(problem, benchmark=name, task=item.task)


# ---------------------------------------------------------------------------------------------- trainers


def _trainer_row(material: ExportMaterial) -> Row | str:
    """The tests as trainers read them: of each call the arguments as lines of JSON, and the value as JSON.

    LiveCodeBench's runner and those made of APPS' compare the value by ``==`` alone.
    """
    if material.not_calls:
        return material.not_calls
    if material.comparator not in ("equal", "eq"):
        return f"its outputs are compared by the rule {material.comparator}, and this form knows equality alone"
    if material.expected is None:
        return "an expected value is no literal"
    calls = [*material.own, *material.further]
    values = list(map(value_of, material.expected))
    if any(map(functions.holds_float, values)):
        return "its outputs hold numbers in floating point, which the consumers of this form compare exactly"
    if not all(
        arguments and _is_json([*arguments, value]) for arguments, value in zip(calls, values, strict=True)
    ):
        return "JSON cannot hold its arguments or outputs as they are"
    return {
        "task_id": material.problem.id,
        "inputs": ["\n".join(encode(each).decode() for each in arguments) for arguments in calls],
        "outputs": [encode(value).decode() for value in values],
        "fn_name": kind_of(material.problem.task).entry_point(material.problem.task),
    }


def _read_trainer(path: Path, problem: Problem) -> Problem:
    found = read_ground_truth(json.loads(path.read_bytes()))
    if found.task is None:
        raise UserError(found.why_not)
    return msgspec.structs.replace(problem, task=found.task)


def _is_json(value: Any) -> bool:
    """Whether a plain value comes back from JSON as it was."""
    try:
        return written(json.loads(encode(value))) == written(value)
    except (TypeError, ValueError, RecursionError):
        return False


FORMS: Mapping[str, Form] = MappingProxyType(
    {
        "benchmark": Form(
            ".jsonl", ("strict",), _benchmark_row, lambda path, _: load_benchmark(str(path)).problems[0]
        ),
        "evalplus": Form(".evalplus.jsonl", ("evalplus",), _evalplus_row, _read_evalplus),
        "trainer": Form(".trainer.jsonl", ("livecodebench", "verl-prime"), _trainer_row, _read_trainer),
    }
)
"""By name. Trainers' rewards for calls compare as LiveCodeBench's runner does, or as verl's copy of TACO's."""


# --------------------------------------------------------------------------------------------- measuring


def exported_rows(material: ExportMaterial, known: KnownPrograms, executor: Executor) -> dict[str, ExportedRow]:
    """The problem's row in each form, measured with known programs as it is written, or why it is left out."""
    return {name: _exported(form, material, known, executor) for name, form in FORMS.items()}


def _exported(form: Form, material: ExportMaterial, known: KnownPrograms, executor: Executor) -> ExportedRow:
    row = form.row(material)
    if isinstance(row, str):
        return ExportedRow(reason=row)
    try:
        text = encode(row).decode()
        with TemporaryDirectory(prefix="truegrade-") as folder:
            path = Path(folder) / f"row{form.ending}"
            path.write_text(f"{text}\n", encoding="utf-8")
            problem = form.read(path, material.problem)
    except BadRecord as error:
        return ExportedRow(reason=f"it cannot be read back: {str(error).partition(': ')[2]}")
    except (UserError, msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
        return ExportedRow(reason=f"it cannot be read back: {error}")
    tests = kind_of(problem.task).tests(problem.task)
    if isinstance(tests, ReferenceTests):
        name = kind_of(material.problem.task).entry_point(material.problem.task) or ""
        read_back = _calls(tests.entry_point, tests.inputs, tests.further)
        if read_back != _calls(name, material.own, material.further):
            return ExportedRow(reason="JSON cannot hold its arguments as they are")
        if tests.comparator != material.comparator:
            rules = f"the rule {tests.comparator}, and it has the rule {material.comparator}"
            return ExportedRow(reason=f"EvalPlus compares its outputs by {rules}")
    return _measured(form, text, problem, known, executor)


def _measured(form: Form, text: str, problem: Problem, known: KnownPrograms, executor: Executor) -> ExportedRow:
    """What the consumers accept; a row that loses or pays what it must not is left out."""
    graders = [open_profile(name) for name in form.graders]

    def verdicts(code: str) -> Iterator[bool]:
        answer = Answer(value=code, found="assay", form="program")
        return (grader.judgement(problem, answer, executor).passed for grader in graders)

    right = _side(known.right, [all(verdicts(code)) for code, own in known.right.items() if own])
    if right.after < right.before:
        reason = f"as exported it refuses {right.before - right.after} of {right.before} right programs"
        return ExportedRow(reason=reason, right=right)
    for grader in graders:
        grader.timeout_s = ENDLESS_CPU_S  # wrong programs that do not end need not be waited for longer
    stubs = _side(known.stubs, [any(verdicts(code)) for code in known.stubs])
    if stubs.after:
        reason = f"as exported it accepts {stubs.after} of {stubs.programs} stubs"
        return ExportedRow(reason=reason, right=right, stubs=stubs)
    weaker = sum(any(verdicts(code)) for code, accepted in known.seen.items() if not accepted)
    if weaker:
        reason = f"as exported it accepts {weaker} wrong programs that the problem's own and new tests refuse"
        return ExportedRow(reason=reason, right=right, stubs=stubs)
    held_out = _side(known.held_out, [any(verdicts(code)) for code in known.held_out])
    return ExportedRow(text=text, right=right, stubs=stubs, held_out=held_out)


def _side(before: Mapping[str, bool], after: Sequence[bool]) -> AcceptedPrograms:
    return AcceptedPrograms(programs=len(before), before=sum(before.values()), after=sum(after))


def _calls(name: str, *arguments: Sequence[Arguments]) -> list[str]:
    return [written_call(name, each) for each in chain(*arguments)]
