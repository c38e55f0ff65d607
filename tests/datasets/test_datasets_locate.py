from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

from truegrade.datasets import list_sources, locate, pull, source
from truegrade.datasets.download import cached_path
from truegrade.errors import UnknownName, UserError

CRUXEVAL = source("cruxeval")
HUMANEVAL = source("humaneval")


@pytest.fixture(autouse=True)
def empty_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No configured folder, and a cache of its own that is empty."""
    monkeypatch.delenv("TRUEGRADE_DATA", raising=False)
    monkeypatch.setenv("TRUEGRADE_CACHE", str(tmp_path / "cache"))


def put(path: Path, content: bytes = b"{}") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_a_given_file_is_taken_whatever_its_name(tmp_path: Path) -> None:
    given = put(tmp_path / "mine.json")
    located = locate(CRUXEVAL, given)
    assert (located.path, located.origin) == (given, str(given))


@pytest.mark.parametrize("name", ["cruxeval.jsonl", "cruxeval.jsonl.gz"])
def test_a_given_folder_may_hold_it_compressed_or_not(tmp_path: Path, name: str) -> None:
    put(tmp_path / "data" / name)
    assert locate(CRUXEVAL, tmp_path / "data").path.name == name


def test_an_uncompressed_copy_of_a_compressed_file(tmp_path: Path, humaneval_file: Path) -> None:
    plain = put(tmp_path / "HumanEval.jsonl", gzip.decompress(humaneval_file.read_bytes()))
    assert locate(HUMANEVAL, tmp_path).path == plain


def test_a_wrong_path_says_what_is_wanted(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"holds no cruxeval.jsonl or cruxeval.jsonl.gz"):
        locate(CRUXEVAL, tmp_path)
    with pytest.raises(UserError, match=r"absent: no such file or folder.*truegrade data pull cruxeval"):
        locate(CRUXEVAL, tmp_path / "absent")


def test_the_places_are_searched_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, humaneval_file: Path
) -> None:
    assert locate(HUMANEVAL).path == humaneval_file
    cached = cached_path(HUMANEVAL)
    cached.parent.mkdir(parents=True)
    shutil.copy(humaneval_file, cached)
    assert locate(HUMANEVAL).path == cached
    assert locate(HUMANEVAL).origin == HUMANEVAL.url
    configured = put(tmp_path / "configured" / "HumanEval.jsonl.gz")
    monkeypatch.setenv("TRUEGRADE_DATA", str(configured.parent))
    assert locate(HUMANEVAL).path == configured
    given = put(tmp_path / "given")
    assert locate(HUMANEVAL, given).path == given


def test_a_configured_folder_without_the_file_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, humaneval_file: Path
) -> None:
    monkeypatch.setenv("TRUEGRADE_DATA", str(tmp_path))
    assert locate(HUMANEVAL).path == humaneval_file


def test_a_configured_folder_must_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUEGRADE_DATA", str(tmp_path / "absent"))
    with pytest.raises(UserError, match=r"TRUEGRADE_DATA is .*absent', which is not a folder"):
        locate(HUMANEVAL)


def test_listing_downloads_nothing(humaneval_file: Path) -> None:
    listed = {entry.source.name: entry.local for entry in list_sources()}
    assert listed.pop("humaneval") is not None
    assert set(listed.values()) == {None}


def test_pull_takes_the_file_of_the_cache() -> None:
    cached = put(cached_path(CRUXEVAL))
    pulled = pull("cruxeval")
    assert (pulled.path, pulled.origin) == (cached, CRUXEVAL.url)


def test_pull_refuses_an_unknown_name() -> None:
    with pytest.raises(UnknownName, match="did you mean cruxeval"):
        pull("cruxevall")
