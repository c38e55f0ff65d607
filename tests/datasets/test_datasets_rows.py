from __future__ import annotations

import gzip
import json
from pathlib import Path

import msgspec
import pytest

from truegrade.datasets import parse_rows, read_source, source
from truegrade.errors import BadRecord

HUMANEVAL = source("humaneval")


class Row(msgspec.Struct, frozen=True):
    task_id: str
    prompt: str
    test: str


@pytest.fixture
def rows(humaneval_file: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in gzip.decompress(humaneval_file.read_bytes()).splitlines()]


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_the_pinned_file_is_read_and_named(humaneval_file: Path) -> None:
    read = read_source(HUMANEVAL, Row, humaneval_file)
    assert len(read.rows) == 164
    assert read.rows[163].task_id == "HumanEval/163"
    assert read.dataset_sha256 == HUMANEVAL.content_sha256
    assert read.source == str(humaneval_file)


def test_the_uncompressed_file_is_the_same_data_set(humaneval_file: Path, tmp_path: Path) -> None:
    plain = tmp_path / "HumanEval.jsonl"
    plain.write_bytes(gzip.decompress(humaneval_file.read_bytes()))
    assert read_source(HUMANEVAL, Row, plain).dataset_sha256 == HUMANEVAL.content_sha256


def test_a_changed_test_is_refused_by_both_hashes(rows: list[dict[str, object]], tmp_path: Path) -> None:
    rows[7]["test"] = "def check(candidate): pass"
    path = write(tmp_path / "HumanEval.jsonl", rows)
    with pytest.raises(
        BadRecord, match=rf"sha256 is \w{{64}}, not {HUMANEVAL.content_sha256}.*truegrade data pull"
    ):
        read_source(HUMANEVAL, Row, path)


def test_a_changed_file_is_read_if_allowed_and_says_so(rows: list[dict[str, object]], tmp_path: Path) -> None:
    path = write(tmp_path / "HumanEval.jsonl", rows[:10])
    read = read_source(HUMANEVAL, Row, path, allow_modified=True)
    assert len(read.rows) == 10
    assert read.source == f"modified: {path}"
    assert read.dataset_sha256 != HUMANEVAL.content_sha256


def test_missing_rows_are_named(rows: list[dict[str, object]], tmp_path: Path) -> None:
    kept = [row for row in rows if row["task_id"] not in {"HumanEval/3", "HumanEval/99"}]
    with pytest.raises(BadRecord, match="2 of 164 rows are missing: HumanEval/3, HumanEval/99; "):
        read_source(HUMANEVAL, Row, write(tmp_path / "short.jsonl", kept))
    with pytest.raises(BadRecord, match=r"154 of 164 rows are missing: HumanEval/10, .* and 146 more"):
        read_source(HUMANEVAL, Row, write(tmp_path / "short.jsonl", rows[:10]))


def test_repeated_and_foreign_rows_are_named(rows: list[dict[str, object]], tmp_path: Path) -> None:
    with pytest.raises(BadRecord, match="stand twice: HumanEval/5; "):
        read_source(HUMANEVAL, Row, write(tmp_path / "long.jsonl", [*rows, rows[5]]))
    with pytest.raises(BadRecord, match="not in humaneval or stand twice: Mine/1; "):
        read_source(HUMANEVAL, Row, write(tmp_path / "long.jsonl", [*rows, {**rows[5], "task_id": "Mine/1"}]))


def test_a_renamed_field_is_named_with_its_line(rows: list[dict[str, object]], tmp_path: Path) -> None:
    rows[4]["tests"] = rows[4].pop("test")
    path = write(tmp_path / "HumanEval.jsonl", rows)
    with pytest.raises(BadRecord, match="the field is missing") as caught:
        read_source(HUMANEVAL, Row, path)
    assert (caught.value.path, caught.value.line, caught.value.field) == (str(path), 5, "test")


def test_a_field_of_another_type_is_named() -> None:
    content = b'{"task_id": "a", "prompt": "b", "test": "c"}\n{"task_id": "a", "prompt": 3, "test": "c"}'
    with pytest.raises(BadRecord, match="Expected `str`, got `int`") as caught:
        parse_rows(Path("x"), content, Row)
    assert (caught.value.line, caught.value.field) == (2, "prompt")


def test_a_row_that_is_no_object() -> None:
    with pytest.raises(BadRecord, match="line 1: Expected `object`, got `int`"):
        parse_rows(Path("x"), b"3", Row)


def test_an_empty_file_is_refused() -> None:
    with pytest.raises(BadRecord, match="holds no rows"):
        parse_rows(Path("x"), b"\n \n", Row)
