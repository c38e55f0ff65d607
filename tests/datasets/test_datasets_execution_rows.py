from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from truegrade.datasets.executions import as_execution_row, read_executions
from truegrade.errors import BadRecord

LLM_LIST: dict[str, Any] = {
    "id": "llmlist_0",
    "header": "def head(lst, n):",
    "description": "The first n.",
    "code": "def head(lst, n):\n    return lst[:n]",
    "inputs": [["[1,2]", " 1"], ["(True,)", "x"]],
    "outputs": ["[1]", "(True,)"],
    "mutated_code": None,
    "mutated_output": None,
    "has_mutation": False,
    "mutation_info": None,
}


def test_llm_list_rows_become_calls(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(LLM_LIST) + "\n")
    (row,) = read_executions(path).rows
    assert (row.function_name, row.description) == ("head", "The first n.")
    assert (row.input, row.output) == (("head([1,2],  1)", "head((True,), x)"), ("[1]", "(True,)"))
    (rendered,) = read_executions(path, "repr").rows
    assert rendered.input == ("head([1, 2], 1)", "head((True,), x)")


def test_concatenated_pretty_printed_rows_are_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    own = {"id": 1, "function_name": "f", "code": "c", "input": "f(1)", "output": "2", "mutation_info": None}
    path.write_text("\n\n".join(json.dumps(row, indent=2) for row in (own, LLM_LIST)))
    assert [row.id for row in read_executions(path).rows] == [1, "llmlist_0"]


def test_other_values_stay_as_they_are() -> None:
    for value in ({"id": 1}, [1], None, {"header": "def f():"}):
        assert as_execution_row(value) is value


@pytest.mark.parametrize(
    ("change", "field"),
    [({"header": "head"}, "function_name"), ({"outputs": 3}, "output"), ({"code": None}, "code")],
)
def test_a_damaged_row_is_refused_by_field(tmp_path: Path, change: dict[str, Any], field: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(LLM_LIST) + "\n" + json.dumps(LLM_LIST | change))
    with pytest.raises(BadRecord) as caught:
        read_executions(path)
    assert caught.value.line == 2
    assert caught.value.field == field
