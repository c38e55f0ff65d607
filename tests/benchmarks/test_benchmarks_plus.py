from __future__ import annotations

import ast
import gzip
import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from truegrade.benchmarks import Benchmark, load_benchmark
from truegrade.benchmarks.mbpp import rebuild
from truegrade.errors import UserError
from truegrade.grading.functions import COMPARATORS
from truegrade.records import OracleTask


@pytest.fixture(scope="module")
def humanevalplus(data_dir: Path) -> dict[str, OracleTask]:
    return tasks(load_benchmark("humanevalplus", data_dir))


@pytest.fixture(scope="module")
def mbppplus(data_dir: Path) -> dict[str, OracleTask]:
    return tasks(load_benchmark("mbppplus", data_dir))


def tasks(benchmark: Benchmark) -> dict[str, OracleTask]:
    return {problem.id: problem.task for problem in benchmark.problems if isinstance(problem.task, OracleTask)}


def parse(program: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some references have strings with invalid escapes
        return ast.parse(program)


def is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple | set):
        return all(map(is_plain, value))
    if isinstance(value, dict):
        return all(is_plain(key) and is_plain(item) for key, item in value.items())
    return value is None or type(value) in {bool, int, float, complex, str}


def test_every_task_is_whole(humanevalplus: dict[str, OracleTask], mbppplus: dict[str, OracleTask]) -> None:
    for name, task in (humanevalplus | mbppplus).items():
        functions = {node.name for node in parse(task.reference).body if isinstance(node, ast.FunctionDef)}
        assert task.entry_point in functions, name
        assert task.comparator in COMPARATORS
        assert task.base_inputs
        assert is_plain(task.base_inputs + task.plus_inputs), name


def test_counts_of_inputs(humanevalplus: dict[str, OracleTask], mbppplus: dict[str, OracleTask]) -> None:
    assert sum(len(task.base_inputs + task.plus_inputs) for task in humanevalplus.values()) == 124_253
    assert sum(len(task.base_inputs + task.plus_inputs) for task in mbppplus.values()) == 41_015
    assert [name for name, task in mbppplus.items() if not task.plus_inputs] == ["Mbpp/793"]


def test_the_first_humaneval_task(humanevalplus: dict[str, OracleTask]) -> None:
    task = humanevalplus["HumanEval/0"]
    assert task.prefix == task.prompt
    assert task.reference.startswith(task.prompt)
    assert task.base_inputs[0] == ([1.0, 2.0, 3.9, 4.0, 5.0, 2.2], 0.3)
    assert (task.comparator, task.atol, task.shown_tests) == ("equal", 0.0, ())


def test_special_oracles(humanevalplus: dict[str, OracleTask], mbppplus: dict[str, OracleTask]) -> None:
    assert {name: task.comparator for name, task in humanevalplus.items() if task.comparator != "equal"} == {
        "HumanEval/32": "root"
    }
    by_entry_point = {
        task.entry_point: task.comparator for task in mbppplus.values() if task.comparator != "equal"
    }
    assert by_entry_point == {
        "similar_elements": "set_equal",
        "find_char_long": "set_equal",
        "common_in_nested_lists": "set_equal",
        "extract_singly": "set_equal",
        "larg_nnum": "set_equal",
        "find_dissimilar": "set_equal",
        "Diff": "set_equal",
        "digit_distance_nums": "digit_distance",
        "surface_Area": "surface_area",
        "check_str": "not_none",
        "text_match_three": "not_none",
        "text_starta_endb": "not_none",
    }


def test_tolerances(humanevalplus: dict[str, OracleTask], mbppplus: dict[str, OracleTask]) -> None:
    assert {name: task.atol for name, task in humanevalplus.items() if task.atol} == {
        "HumanEval/2": 1e-06,
        "HumanEval/4": 1e-06,
        "HumanEval/32": 1e-04,
    }
    assert sum(task.atol == 1e-04 for task in mbppplus.values()) == 13


def test_shown_tests_are_the_asserts_of_the_prompt(mbppplus: dict[str, OracleTask]) -> None:
    for name, task in mbppplus.items():
        assert len(task.shown_tests) == 1, name
        assert task.shown_tests[0] in ast.literal_eval(task.prompt.strip())
        assert isinstance(ast.parse(task.shown_tests[0]).body[0], ast.Assert)
    assert mbppplus["Mbpp/2"].shown_tests == (
        "assert set(similar_elements((3, 4, 5, 6),(5, 7, 4, 10))) == set((4, 5))",
    )


def test_infinite_inputs_survive(mbppplus: dict[str, OracleTask]) -> None:
    assert (float("-inf"), float("inf")) in mbppplus["Mbpp/404"].plus_inputs


def test_inputs_have_the_types_that_the_references_take(mbppplus: dict[str, OracleTask]) -> None:
    assert mbppplus["Mbpp/2"].base_inputs[0] == ((3, 4, 5, 6), (5, 7, 4, 10))
    assert mbppplus["Mbpp/124"].base_inputs[0] == (0.0, 1j)
    assert mbppplus["Mbpp/722"].base_inputs[0][0]["Cierra Vega"] == (6.2, 70)


@pytest.mark.parametrize(
    ("number", "stored", "rebuilt"),
    [
        (1, [[1], [2]], ([1], [2])),
        (2, [[1], [2]], ((1,), (2,))),
        (63, [[[1, 2], [3]]], ([(1, 2), (3,)],)),
        (75, [[[1, 2]], [3]], ([(1, 2)], [3])),
        (106, [[1], [2]], ([1], (2,))),
        (115, [[[1, 1], [], 3]], ([{1}, {}, {}],)),
        (124, ["1.5", "2+1j"], (1.5, 2 + 1j)),
        (250, [[1], [2]], ((1,), [2])),
        (252, ["2+1j"], (2 + 1j,)),
        (259, [[[1], [2]], [[3]]], (((1,), (2,)), ((3,),))),
        (278, [[1, [2, [3]]]], ((1, (2, [3])),)),
        (307, [[1], [2], [3]], ((1,), [2], [3])),
        (580, [[1, [2, [3]]]], ((1, (2, (3,))),)),
        (722, [{"a": [1, 2]}, 3], ({"a": (1, 2)}, 3)),
        (750, [[1], [2]], ([1], (2,))),
    ],
)
def test_rules_of_rebuilding(number: int, stored: list[Any], rebuilt: tuple[Any, ...]) -> None:
    assert repr(rebuild(number, [stored])) == repr((rebuilt,))


@pytest.mark.parametrize("change", [{"task_id": "Mbpp/x"}, {"prompt": "Add."}, {"base_input": [[1, 2]]}])
def test_a_modified_row_that_cannot_be_read_is_named(
    change: dict[str, Any], data_dir: Path, tmp_path: Path
) -> None:
    first = gzip.decompress((data_dir / "MbppPlus.jsonl.gz").read_bytes()).splitlines()[0]
    row = json.loads(first) | change
    path = tmp_path / "changed.jsonl"
    path.write_text(json.dumps(row))
    with pytest.raises(UserError, match=rf"{row['task_id']}: is not the row of MBPP\+ under this id"):
        load_benchmark("mbppplus", path, {"allow_modified": "true"})
