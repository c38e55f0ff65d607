"""What all benchmarks with a pinned file have in common."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from support.thorough import one_in
from truegrade.benchmarks import load_benchmark
from truegrade.datasets import SOURCES
from truegrade.errors import BadRecord

PINNED = {
    "humaneval": ("humaneval", "HumanEval/0", "HumanEval/163"),
    "humanevalplus": ("humanevalplus", "HumanEval/0", "HumanEval/163"),
    "mbpp": ("mbpp", "MBPP/1", "MBPP/974"),
    "mbpp-sanitized": ("mbpp-sanitized", "MBPP/2", "MBPP/809"),
    "mbppplus": ("mbppplus", "Mbpp/2", "Mbpp/809"),
    "cruxeval-output": ("cruxeval", "sample_0", "sample_799"),
    "cruxeval-input": ("cruxeval", "sample_0", "sample_799"),
}
REQUIRED = {
    "humaneval": "canonical_solution",
    "humanevalplus": "plus_input",
    "mbpp": "test_setup_code",
    "mbpp-sanitized": "test_imports",
    "mbppplus": "atol",
    "cruxeval-output": "output",
    "cruxeval-input": "output",
}


def stored_rows(name: str, data_dir: Path) -> list[dict[str, Any]]:
    content = (data_dir / SOURCES[PINNED[name][0]].file).read_bytes()
    text = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    return json.loads(text) if text[:1] == b"[" else [json.loads(line) for line in text.splitlines()]


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


@pytest.mark.parametrize("name", sorted(PINNED))
def test_all_rows_are_there_under_their_ids(name: str, data_dir: Path) -> None:
    source, first, last = PINNED[name]
    benchmark = load_benchmark(name, data_dir)
    assert benchmark.name == name
    assert len(benchmark.problems) == len(benchmark.by_id()) == SOURCES[source].size
    assert (benchmark.problems[0].id, benchmark.problems[-1].id) == (first, last)
    assert benchmark.dataset_sha256 == SOURCES[source].content_sha256
    assert benchmark.source == str(data_dir / SOURCES[source].file)
    for problem in benchmark.problems:
        assert problem.benchmark == name
        assert problem.dataset_sha256 == benchmark.dataset_sha256
        assert problem.cluster == problem.id


@pytest.mark.parametrize("name", one_in(2, sorted(PINNED)))
def test_a_changed_row_is_refused_and_allowed_by_name(name: str, data_dir: Path, tmp_path: Path) -> None:
    rows = stored_rows(name, data_dir)
    field = "prompt" if "prompt" in rows[0] else "text" if "text" in rows[0] else "code"
    rows[3][field] = rows[3][field].replace("e", "E", 1)
    path = written(tmp_path / "changed.jsonl", rows)
    with pytest.raises(BadRecord, match=f"changed.jsonl: is not the pinned {PINNED[name][0]}: its sha256 is"):
        load_benchmark(name, path)
    modified = load_benchmark(name, path, {"allow_modified": "true"})
    assert modified.source == f"modified: {path}"
    assert modified.dataset_sha256 != SOURCES[PINNED[name][0]].content_sha256
    assert {problem.dataset_sha256 for problem in modified.problems} == {modified.dataset_sha256}
    assert modified.args == {"allow_modified": "true"}


@pytest.mark.parametrize("name", sorted(PINNED))
def test_missing_rows_and_fields_are_named(name: str, data_dir: Path, tmp_path: Path) -> None:
    rows = stored_rows(name, data_dir)
    gone = rows.pop(8)[SOURCES[PINNED[name][0]].id_field]
    with pytest.raises(BadRecord, match=f"1 of {len(rows) + 1} rows are missing: {gone};"):
        load_benchmark(name, written(tmp_path / "short.jsonl", rows))
    del rows[5][REQUIRED[name]]
    with pytest.raises(BadRecord, match="the field is missing") as caught:
        load_benchmark(name, written(tmp_path / "renamed.jsonl", rows))
    assert (caught.value.line, caught.value.field) == (6, REQUIRED[name])


def test_the_configured_folder_is_used(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUEGRADE_DATA", str(data_dir))
    assert load_benchmark("mbpp").source == str(data_dir / "mbpp.jsonl")
