from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from truegrade.benchmarks import load_benchmark
from truegrade.datasets.executions import built_path
from truegrade.errors import BadRecord, UnknownName, UserError
from truegrade.records import ChoiceTask

ROW: dict[str, Any] = {
    "id": "r",
    "question_id": 9,
    "function_name": "f",
    "code": "def f(x): return abs(x)",
    "input": ["f(-1)", "f(1)", "f(0)"],
    "output": ["1", "1", "0"],
    "mutated_code": "def f(x): return x",
    "mutated_output": ["-1", "1.0", "0"],
    "mutation_info": {"mutation_type": "call", "mutation_id": 3},
}


def write(folder: Path, *rows: dict[str, Any]) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_each_pair_is_asked_in_both_orders(tmp_path: Path) -> None:
    first, second = load_benchmark("execution-choice", write(tmp_path, ROW)).problems
    assert (first.id, second.id) == ("r/case0~AB", "r/case0~BA")
    assert (first.cluster, first.tags["order"], first.tags["mutation"]) == ("9", "AB", "call")
    assert first.task == ChoiceTask(
        programs=(ROW["code"], ROW["mutated_code"]),
        function="f",
        arguments="-1",
        expected=("1", "-1"),
        original="A",
        item="r",
        case=0,
        mutation="call",
    )
    assert isinstance(second.task, ChoiceTask)
    assert second.task.programs == (ROW["mutated_code"], ROW["code"])
    assert (second.task.expected, second.task.original) == (("-1", "1"), "B")


def test_calls_on_which_both_agree_are_asked_only_on_demand(tmp_path: Path) -> None:
    path = write(tmp_path, ROW)
    assert {p.id for p in load_benchmark("execution-choice", path).problems} == {"r/case0~AB", "r/case0~BA"}
    assert len(load_benchmark("execution-choice", path, {"cases": "all"}).problems) == 6


def test_a_file_without_mutants_is_refused(tmp_path: Path) -> None:
    row = {key: value for key, value in ROW.items() if not key.startswith("mutat")}
    with pytest.raises(UserError, match="no mutants that return another value; `truegrade data mutate`"):
        load_benchmark("execution-choice", write(tmp_path, row))
    with pytest.raises(UserError, match="give its path with `data`"):
        load_benchmark("execution-choice")


def test_repeated_rows_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadRecord, match="'r' names more than one row"):
        load_benchmark("execution-choice", write(tmp_path, ROW, ROW))


def test_dsl_list_reads_the_built_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUEGRADE_CACHE", str(tmp_path))
    with pytest.raises(UserError, match="run `truegrade data build dsl-list`"):
        load_benchmark("dsl-list")
    built_path("dsl-list").parent.mkdir()
    write(tmp_path, ROW).rename(built_path("dsl-list"))
    prediction = load_benchmark("dsl-list", None, {"programs": "mutant"})
    choice = load_benchmark("dsl-list", None, {"task": "choice", "cases": "all"})
    assert [len(prediction.problems), len(choice.problems)] == [3, 6]
    assert {p.benchmark for p in (*prediction.problems, *choice.problems)} == {prediction.name} == {"dsl-list"}
    assert choice.args == {"task": "choice", "cases": "all"}
    with pytest.raises(UnknownName, match="dsl-list argument 'cases'"):
        load_benchmark("dsl-list", None, {"cases": "all"})
