"""A checkout of QuixBugs becomes the very bytes of the pinned file."""

import json

import pytest

from truegrade.datasets import SOURCES, pull
from truegrade.datasets.checkouts import (
    REST,
    SPLITS,
    TEST,
    TRAIN,
    is_quixbugs_checkout,
    rows_of_quixbugs,
    split_of,
)
from truegrade.datasets.download import sha256
from truegrade.errors import BadRecord, UserError


@pytest.fixture
def checkout(data_dir, tmp_path):
    """Upstream's folders, written from the rows of the pinned file, with what else lies in them."""
    for folder in ("python_programs", "correct_python_programs", "json_testcases", "python_testcases"):
        (tmp_path / folder).mkdir()
    for line in (data_dir / "quixbugs.jsonl").read_text().splitlines():
        row = json.loads(line)
        (tmp_path / "python_programs" / f"{row['name']}.py").write_text(row["buggy"])
        (tmp_path / "correct_python_programs" / f"{row['name']}.py").write_text(row["correct"])
        if row["tests"] is not None:
            cases = "".join(json.dumps(case) + "\n" for case in row["tests"])
            (tmp_path / "json_testcases" / f"{row['name']}.json").write_text(cases)
        else:
            (tmp_path / "python_testcases" / f"test_{row['name']}.py").write_text(row["pytest_source"])
            (tmp_path / "python_programs" / f"{row['name']}_test.py").write_text("main = None\n")
            (tmp_path / "correct_python_programs" / f"{row['name']}_test.py").write_text("main = None\n")
        if "node_source" in row:
            for folder in ("python_testcases", "correct_python_programs"):
                (tmp_path / folder / "node.py").write_text(row["node_source"])
    return tmp_path


def test_its_rows_are_the_pinned_bytes(checkout):
    assert is_quixbugs_checkout(checkout)
    assert sha256(rows_of_quixbugs(checkout)) == SOURCES["quixbugs"].sha256


def test_a_bad_line_is_named(checkout):
    path = checkout / "json_testcases" / "gcd.json"
    path.write_text(path.read_text() + "[[1, 2], 1\n")
    with pytest.raises(BadRecord, match=r"gcd.json, line 7: is not JSON"):
        rows_of_quixbugs(checkout)
    path.write_text("[12, 1]\n")
    with pytest.raises(BadRecord, match=r"gcd.json, line 1: must be"):
        rows_of_quixbugs(checkout)


def test_a_missing_file_is_named(checkout):
    (checkout / "python_programs" / "lis.py").unlink()
    with pytest.raises(UserError, match=r"python_programs/lis.py: cannot be read"):
        rows_of_quixbugs(checkout)


def test_a_folder_without_programs_is_no_checkout(tmp_path):
    assert not is_quixbugs_checkout(tmp_path)
    (tmp_path / "correct_python_programs").mkdir()
    (tmp_path / "python_programs").mkdir()
    with pytest.raises(UserError, match="holds no programs"):
        rows_of_quixbugs(tmp_path)


def test_it_is_not_downloaded(tmp_path, monkeypatch):
    monkeypatch.setenv("TRUEGRADE_CACHE", str(tmp_path))
    with pytest.raises(UserError, match=r"check https://github.com/jkoppel/QuixBugs.* out .* `data`"):
        pull("quixbugs")


def test_the_splits_part_the_forty_programs():
    assert (len(TRAIN), len(TEST), len(REST)) == (24, 8, 8)
    assert set(SOURCES["quixbugs"].ids) == TRAIN | TEST | REST
    assert all(split_of(name) == split for split, names in SPLITS.items() for name in names)
    with pytest.raises(KeyError):
        split_of("bubblesort")
