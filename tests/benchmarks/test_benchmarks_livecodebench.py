"""The benchmark `livecodebench`: releases, windows, sorting, what disagrees, and what is refused."""

from __future__ import annotations

import gzip
import json
from datetime import datetime

import pytest
from click.testing import CliRunner

from support import contest_files
from truegrade.benchmarks import load_benchmark
from truegrade.cli import main
from truegrade.datasets.rows import LEFT_IN_FILE_CHARS, RELEASES, select_files
from truegrade.errors import BadRecord, UnknownName, UserError
from truegrade.grading.contests.tests import decode
from truegrade.records import FileSpan


@pytest.fixture
def rows():
    return [
        contest_files.row("b", contest_date="2024-03-02T00:00:00", difficulty="hard"),
        contest_files.row("10", function="add", contest_date="2024-03-03T10:00:00"),
        contest_files.row("9", contest_date="2024-03-01T00:00:00"),
    ]


def ids(path, **args):
    return [problem.id for problem in load_benchmark("livecodebench", path, args).problems]


def test_a_file_is_read_sorted_by_id_as_text(tmp_path, rows):
    loaded = load_benchmark("livecodebench", contest_files.write_rows(tmp_path / "mine.jsonl", rows))
    assert [problem.id for problem in loaded.problems] == ["10", "9", "b"]
    functional, stdin, _ = loaded.problems
    assert functional.task.function == "add" and functional.task.starter_code
    assert stdin.task.function is None
    assert functional.tags == {
        "platform": "leetcode", "difficulty": "easy", "contest_id": "contest-10",
        "contest_date": "2024-03-03T10:00:00", "kind": "functional",
    }  # fmt: skip
    assert decode(functional.task).inputs == ("1\n2", "4\n5")
    assert functional.task.private_tests == rows[1]["private_test_cases"], "stays as it is stored"


def test_array_gzip_and_lines_hold_the_same_problems(tmp_path, rows):
    lines = contest_files.write_rows(tmp_path / "a.jsonl", rows)
    (tmp_path / "b.json").write_text(json.dumps(rows, indent=1))
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress(lines.read_bytes()))
    read = [load_benchmark("livecodebench", tmp_path / name) for name in ("a.jsonl", "b.json", "c.jsonl.gz")]
    assert read[0].dataset_sha256 == read[2].dataset_sha256 != read[1].dataset_sha256
    tasks = [[problem.task for problem in loaded.problems] for loaded in read]
    assert tasks[0] == tasks[1] == tasks[2]


def test_both_ends_of_a_window_are_midnights(tmp_path, rows):
    path = contest_files.write_rows(tmp_path / "rows.jsonl", rows)
    assert ids(path, start="2024-03-02") == ["10", "b"]
    assert ids(path, end="2024-03-02") == ["9", "b"]
    assert ids(path, end="2024-03-03") == ["9", "b"], "ten o'clock is after that day's midnight"
    assert ids(path, platform="leetcode") == ["10"]
    assert ids(path, difficulty="hard", start="2024-01-01") == ["b"]
    with pytest.raises(UserError, match="none of its 3 problems"):
        ids(path, start="2030-01-01")
    with pytest.raises(UserError, match="YYYY-MM-DD"):
        ids(path, start="1.3.2024")


def test_releases_are_upstreams_files():
    assert len(RELEASES) == 28
    assert [RELEASES[f"release_v{n}"].problems for n in range(1, 7)] == [400, 511, 612, 713, 880, 1055]
    assert RELEASES["v6"].files == ("test6.jsonl",) and RELEASES["v6"].problems == 175
    assert RELEASES["v1_v3"].files == ("test.jsonl", "test2.jsonl", "test3.jsonl")
    assert RELEASES["v4_v5"].problems == 880 - 612


def test_a_release_chooses_files_of_a_folder_and_is_counted(tmp_path, rows):
    for name, row in zip(("test.jsonl", "test2.jsonl"), rows, strict=False):
        contest_files.write_rows(tmp_path / name, [row])
    with pytest.raises(BadRecord, match="2 problems where the release has 511"):
        ids(tmp_path, release="release_v2")
    assert ids(tmp_path, release="release_v2", allow_modified="true") == ["10", "b"]
    assert ids(tmp_path, release="v2", allow_modified="true") == ["10"]
    with pytest.raises(UserError, match=r"lacks test3\.jsonl.*release_v1 reads|lacks test3\.jsonl"):
        ids(tmp_path)
    with pytest.raises(UserError, match=r"lacks test3\.jsonl of v1_v3"):
        ids(tmp_path, release="v1_v3")
    with pytest.raises(UnknownName, match="release_v6"):
        ids(tmp_path, release="release_v66")
    with pytest.raises(UserError, match="is one file"):
        ids(tmp_path / "test.jsonl", release="v1")


def test_other_folders_are_read_whole_or_by_the_tags_own_folder(tmp_path, rows):
    contest_files.write_rows(tmp_path / "one.jsonl", rows[:1])
    contest_files.write_rows(tmp_path / "two.jsonl", rows[1:])
    assert ids(tmp_path) == ["10", "9", "b"]
    (tmp_path / "v6").mkdir()
    contest_files.write_rows(tmp_path / "v6" / "x.jsonl", rows[:1])
    assert [path.name for path in select_files(tmp_path, "v6").paths] == ["x.jsonl"]
    with pytest.raises(UserError, match="nor a folder v5"):
        ids(tmp_path, release="v5")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="holds no file of rows"):
        ids(tmp_path / "empty")


def test_disagreeing_kinds_are_tagged(tmp_path):
    on_stdin = '[{"input": "", "output": "", "testtype": "stdin"}]'
    rows = [
        contest_files.row("starter", starter_code="class Solution: ..."),
        contest_files.row("testtype", function="add", public_test_cases=on_stdin),
        contest_files.row("fine", function="add"),
        contest_files.row("broken", public_test_cases="no json"),
    ]  # fmt: skip
    loaded = load_benchmark("livecodebench", contest_files.write_rows(tmp_path / "rows.jsonl", rows)).by_id()
    assert loaded["starter"].tags["disagreement"] == "starter code: functional, func_name: stdin, testtype: stdin"
    assert loaded["testtype"].tags["disagreement"].endswith("func_name: functional, testtype: stdin")
    assert "disagreement" not in loaded["fine"].tags
    assert loaded["starter"].tags["kind"] == "stdin", "func_name decides the grading"
    assert "disagreement" not in loaded["broken"].tags, "its grading says what is wrong"


def test_long_tests_stay_in_their_file(tmp_path):
    import random

    noise = random.Random(0).randbytes(LEFT_IN_FILE_CHARS).hex()
    long = contest_files.row("long", private_test_cases=contest_files.packed([{"input": noise, "output": "1"}]))
    path = contest_files.write_rows(tmp_path / "rows.jsonl", [contest_files.row("short"), long])
    problem = load_benchmark("livecodebench", path).by_id()["long"]
    assert isinstance(problem.task.private_tests, FileSpan)
    assert decode(problem.task).inputs[1] == noise


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"metadata": "no json"}, "metadata"),
        (
            {"private_test_cases": {"path": "/etc/passwd", "offset": 0, "length": 9, "sha256": "0"}},
            "expected text",
        ),
        ({"metadata": '{"func_name": 3}'}, "func_name"),
        ({"contest_date": "yesterday"}, "contest_date"),
        ({"question_content": None}, "question_content"),
    ],
)
def test_bad_rows_are_named(tmp_path, fields, place):
    path = contest_files.write_rows(
        tmp_path / "rows.jsonl", [contest_files.row("a"), contest_files.row("b", **fields)]
    )
    with pytest.raises(BadRecord, match=place):
        load_benchmark("livecodebench", path)


def test_repeated_ids_missing_data_and_parquet(tmp_path):
    path = contest_files.write_rows(tmp_path / "rows.jsonl", [contest_files.row("a"), contest_files.row("a")])
    with pytest.raises(BadRecord, match="'a' names more than one row"):
        load_benchmark("livecodebench", path)
    with pytest.raises(UserError, match="hf download"):
        load_benchmark("livecodebench")
    with pytest.raises(UserError, match="no such file"):
        load_benchmark("livecodebench", tmp_path / "nothing")


def test_parquet_is_read_or_its_package_named(tmp_path, rows):
    path = tmp_path / "rows.parquet"
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        path.write_bytes(b"PAR1")
        with pytest.raises(UserError, match=r"truegrade\[parquet\]"):
            load_benchmark("livecodebench", path)
        return
    parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    assert ids(path) == ["10", "9", "b"]


def test_modelscopes_layout_is_a_folder_a_release_of_parquet_parts(tmp_path, rows):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    dated = [row | {"contest_date": datetime.fromisoformat(row["contest_date"])} for row in rows]
    for tag, part in {"release_v1": dated[:1], "release_v2": dated, "v2": dated[1:]}.items():
        (tmp_path / tag).mkdir()
        for number, row in enumerate(part):
            name = f"test-{number:05}-of-{len(part):05}.parquet"
            parquet.write_table(pyarrow.Table.from_pylist([row]), tmp_path / tag / name)
    anyway = {"allow_modified": "true"}
    assert ids(tmp_path, release="release_v2", **anyway) == ["10", "9", "b"]
    assert ids(tmp_path, release="v2", start="2024-03-02", **anyway) == ["10"]
    with pytest.raises(BadRecord, match="1 problems where the release has 400"):
        ids(tmp_path, release="release_v1")
    plain = load_benchmark("livecodebench", contest_files.write_rows(tmp_path / "rows.jsonl", rows)).problems
    (tmp_path / "rows.jsonl").unlink()
    read = load_benchmark("livecodebench", tmp_path, {"release": "release_v2", **anyway}).problems
    assert [(problem.task, problem.tags) for problem in read] == [(p.task, p.tags) for p in plain]


def test_folders_of_releases_are_chosen_from_and_never_mixed(tmp_path, rows):
    for tag in ("release_v1", "v2"):
        (tmp_path / tag).mkdir()
        contest_files.write_rows(tmp_path / tag / "test.jsonl", rows[:1])
    with pytest.raises(
        UserError, match=r"they overlap: `task_args` release=v2 chooses one \(there are release_v1, v2"
    ):
        ids(tmp_path)
    assert ids(tmp_path, release="v2", allow_modified="true") == ["b"]
    told = load_benchmark("livecodebench", tmp_path, {"release": "v2", "allow_modified": "true"}).modified
    assert told is not None and "problems where the release has 111" in told


def test_hugging_faces_layout_is_six_files_and_releases_nest(tmp_path):
    names = [f"test{number or ''}.jsonl" for number in (0, 2, 3, 4, 5, 6)]
    for number, name in enumerate(names, start=1):
        row = contest_files.row(f"q{number}", contest_date=f"2024-0{number}-15T00:00:00")
        contest_files.write_rows(tmp_path / name, [row])
    (tmp_path / "README.md").write_text("# code_generation_lite\n")
    (tmp_path / ".cache").mkdir()
    anyway = {"allow_modified": "true"}
    for number in range(1, 7):
        assert ids(tmp_path, release=f"release_v{number}", **anyway) == [f"q{n}" for n in range(1, number + 1)]
    assert ids(tmp_path, **anyway) == ids(tmp_path, release="release_latest", **anyway)
    assert ids(tmp_path, release="release_v5", start="2024-02-01", end="2024-04-30", **anyway) == [
        "q2",
        "q3",
        "q4",
    ]


@pytest.mark.parametrize("name", ["livecodebench", "livecodebench-execution", "livecodebench-testoutput"])
def test_pulling_says_that_everybody_brings_a_copy_and_from_where(name):
    done = CliRunner().invoke(main, ["data", "pull", name])
    assert done.exit_code == 2 and "--data" in done.output and "livecodebench/" in done.output
    assert "no data set" not in done.output
