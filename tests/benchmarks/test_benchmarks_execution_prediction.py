from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegrade.benchmarks import load_benchmark
from truegrade.benchmarks.execution_tasks import arguments_of
from truegrade.datasets.download import sha256
from truegrade.errors import BadRecord, UserError
from truegrade.records import Covariates, OutputTask, Pairing

SINGLE: dict[str, Any] = {
    "id": "contest431_q3702_s0",
    "question_id": 3702,
    "function_name": "longest",
    "code": "def longest(nums):\n    return len(nums)\n",
    "input": "longest(nums=[1, 2])",
    "output": "2",
    "correct_condition": "longest(nums=[1,2]) == 2",
    "difficulty": "easy",
    "has_mutation": True,
    "mutated_code": "def longest(nums):\n    return len(nums) - 1\n",
}
SEVERAL: dict[str, Any] = {
    "id": 7,
    "function_name": "f",
    "code": "def f(x):\n    return x + 'a'",
    "input": ["f('b')", "'c)('"],
    "output": ["'ba'", "'c)(a'"],
}


PLAIN = Covariates(unfamiliar=(), length=7, depth=4)


def write(path: Path, *rows: dict[str, Any], indent: int | None = None) -> Path:
    path.write_text("\n".join(json.dumps(row, indent=indent) for row in rows))
    return path


@pytest.mark.parametrize("indent", [None, 2])
def test_rows_become_problems_one_a_case(tmp_path: Path, indent: int | None) -> None:
    path = write(tmp_path / "mine.jsonl", SINGLE, SEVERAL, indent=indent)
    benchmark = load_benchmark("execution-prediction", path)
    assert benchmark.dataset_sha256 == sha256(path.read_bytes())
    assert benchmark.source == str(path)
    first, *cases = benchmark.problems
    assert (first.id, first.cluster) == ("contest431_q3702_s0", "3702")
    assert first.tags == {"question_id": "3702", "difficulty": "easy", "has_mutation": "True", "shown": "original"}
    assert first.task == OutputTask(
        program=SINGLE["code"],
        function="longest",
        arguments="nums=[1, 2]",
        expected="2",
        pairing=Pairing(item="contest431_q3702_s0", case=0, shown="original", covariates=PLAIN),
    )
    assert [problem.id for problem in cases] == ["7/case0", "7/case1"]
    assert {problem.cluster for problem in cases} == {"7"}
    assert [problem.task.arguments for problem in cases if isinstance(problem.task, OutputTask)] == [
        "'b'",
        "'c)('",
    ]


def test_an_array_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps([SINGLE, SEVERAL]))
    assert len(load_benchmark("execution-prediction", path).problems) == 3


@given(st.text())
def test_the_call_is_cut_only_where_it_is_one(arguments: str) -> None:
    assert arguments_of("f", f"f({arguments})") == arguments
    assert arguments_of("f", f"g({arguments})") == f"g({arguments})"


def test_other_texts_are_taken_whole() -> None:
    assert arguments_of("f", "f(1) ") == "f(1) "
    assert arguments_of("f", "nums=[1]") == "nums=[1]"
    assert arguments_of("f", "f()") == ""


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"input": ["f(1)", "f(2)"], "correct_condition": None}, "output", "2 inputs but 1 outputs"),
        ({"correct_condition": "longest(nums=[1, 2]) == 3"}, "correct_condition", "case 0: .* does not say"),
        ({"correct_condition": "longest("}, "correct_condition", "does not say"),
        ({"correct_condition": ["a", "b"]}, "correct_condition", "1 inputs but 2 conditions"),
        ({"output": 2}, "output", "Expected `str | array"),
    ],
)
def test_contradictions_are_refused(tmp_path: Path, changes: dict[str, Any], field: str, message: str) -> None:
    path = write(tmp_path / "mine.jsonl", SEVERAL, SINGLE | changes)
    with pytest.raises(BadRecord, match=message) as caught:
        load_benchmark("execution-prediction", path)
    assert caught.value.field == field


def test_a_value_that_is_no_python_is_compared_as_text(tmp_path: Path) -> None:
    text = {"output": "<object at 0>", "correct_condition": "longest(nums=[1, 2]) == <object at 0>"}
    assert load_benchmark("execution-prediction", write(tmp_path / "mine.jsonl", SINGLE | text)).problems


def test_a_missing_field_names_line_and_field(tmp_path: Path) -> None:
    """Of a program with one function the name need not be given."""
    row = {**SINGLE, "code": f"{SINGLE['code']}\n\ndef other():\n    pass\n"}
    del row["function_name"]
    with pytest.raises(BadRecord, match="line 2, field 'function_name'"):
        load_benchmark("execution-prediction", write(tmp_path / "mine.jsonl", SEVERAL, row))


def test_repeated_ids_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadRecord, match="'7' names more than one row"):
        load_benchmark("execution-prediction", write(tmp_path / "mine.jsonl", SEVERAL, SEVERAL))


def test_without_a_file() -> None:
    with pytest.raises(UserError, match="give its path with `data`"):
        load_benchmark("execution-prediction")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        load_benchmark("execution-prediction", tmp_path)


PAIRED: dict[str, Any] = SEVERAL | {
    "mutated_code": "def f(x):\n    return x",
    "mutated_output": ["'b'", " 'c)(' "],
    "mutation_info": {"mutation_type": "arithmetic", "mutation_id": "a1", "coverage_similarity": 1.0},
    "preserved": [{"rewriting": "rename", "code": "def f(y):\n    return y + 'a'"}],
}


def test_mutants_and_rewritings_are_problems_of_their_own(tmp_path: Path) -> None:
    problems = load_benchmark("execution-prediction", write(tmp_path / "mine.jsonl", PAIRED)).problems
    tasks = {problem.id: problem.task for problem in problems if isinstance(problem.task, OutputTask)}
    assert list(tasks) == [
        *("7/case0", "7/case0~mutant", "7/case0~rename"),
        *("7/case1", "7/case1~mutant", "7/case1~rename"),
    ]
    assert {problem.cluster for problem in problems} == {"7"}
    original, mutant, preserved = (tasks[f"7/case1{suffix}"] for suffix in ("", "~mutant", "~rename"))
    assert original.pairing == Pairing(
        item="7", case=1, shown="original", other="'c)('", mutation="arithmetic", covariates=PLAIN
    )
    assert mutant == OutputTask(
        program=PAIRED["mutated_code"],
        function="f",
        arguments="'c)('",
        expected="'c)('",
        pairing=Pairing(
            item="7",
            case=1,
            shown="mutant",
            other="'c)(a'",
            mutation="arithmetic",
            covariates=Covariates(unfamiliar=(), length=5, depth=3),
        ),
    )
    assert preserved.program == "def f(y):\n    return y + 'a'"
    assert (preserved.expected, preserved.pairing) == (
        "'c)(a'",
        Pairing(item="7", case=1, shown="preserved", mutation="rename", covariates=PLAIN),
    )
    assert problems[1].tags == {"shown": "mutant", "mutation": "arithmetic"}


@pytest.mark.parametrize(("programs", "count"), [("all", 7), ("original", 3), ("mutant", 2), ("preserved", 2)])
def test_programs_are_chosen_by_an_argument(tmp_path: Path, programs: str, count: int) -> None:
    path = write(tmp_path / "mine.jsonl", PAIRED, SINGLE)
    benchmark = load_benchmark("execution-prediction", path, {"programs": programs})
    assert len(benchmark.problems) == count
    assert benchmark.args == {"programs": programs}


def test_a_mutant_needs_one_output_per_input(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.jsonl", PAIRED | {"mutated_output": "'b'"})
    with pytest.raises(BadRecord, match="2 inputs but 1 outputs of the mutant"):
        load_benchmark("execution-prediction", path)


def test_what_the_file_lacks_is_said(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.jsonl", PAIRED | {"has_mutation": False})
    with pytest.raises(UserError, match="no mutant programs; `truegrade data mutate`"):
        load_benchmark("execution-prediction", path, {"programs": "mutant"})
    with pytest.raises(UserError, match="must be one of all, original"):
        load_benchmark("execution-prediction", path, {"programs": "both"})


def test_rewritings_of_one_name_are_refused(tmp_path: Path) -> None:
    row = PAIRED | {"preserved": PAIRED["preserved"] * 2}
    with pytest.raises(BadRecord, match="'7/case0~rename' names more than one program"):
        load_benchmark("execution-prediction", write(tmp_path / "mine.jsonl", row))
