from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from truegrade.datasets import SOURCES, source
from truegrade.datasets.download import read_content, sha256
from truegrade.errors import UnknownName

SIZES = {
    "humaneval": 164,
    "humanevalplus": 164,
    "mbpp": 974,
    "mbpp-sanitized": 427,
    "mbppplus": 378,
    "cruxeval": 800,
    "humanevalpack": 164,
    "leetcode-dataset-test": 228,
    "leetcode-dataset-train": 1890,
    "bigcodebench": 1140,
    "quixbugs": 40,
}


def test_the_table_is_complete() -> None:
    assert {name: entry.size for name, entry in SOURCES.items()} == SIZES
    for name, entry in SOURCES.items():
        assert entry.name == name
        assert entry.url.startswith("https://github.com/")
        assert entry.checkout or entry.url.endswith(f"/{entry.file}")
        assert len(entry.sha256) == len(entry.content_sha256) == 64
        assert len(set(entry.ids)) == entry.size
        assert entry.licence
        assert entry.citation


@pytest.mark.parametrize("name", sorted(SIZES))
def test_hashes_are_those_of_the_files(name: str, data_dir: Path) -> None:
    entry = source(name)
    path = data_dir / entry.file
    if not path.is_file():
        pytest.skip(f"{entry.file} is not in {data_dir}")
    assert hashlib.sha256(path.read_bytes()).hexdigest() == entry.sha256
    assert sha256(read_content(path)) == entry.content_sha256


def test_the_installed_humaneval_file_is_the_pinned_one(humaneval_file: Path) -> None:
    assert hashlib.sha256(humaneval_file.read_bytes()).hexdigest() == source("humaneval").sha256


def test_ids_follow_the_ranges() -> None:
    assert source("humaneval").ids[:2] == ("HumanEval/0", "HumanEval/1")
    assert source("cruxeval").ids[-1] == "sample_799"
    assert source("mbpp-sanitized").ids[:5] == ("2", "3", "4", "6", "7")
    assert source("mbppplus").ids[-1] == "Mbpp/809"
    assert source("leetcode-dataset-test").ids[0] == "3243"
    assert source("leetcode-dataset-train").ids[:3] == ("1", "2", "3")


def test_unknown_source() -> None:
    with pytest.raises(UnknownName, match="did you mean mbppplus"):
        source("mbppplu")
