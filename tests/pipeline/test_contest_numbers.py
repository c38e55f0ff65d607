"""What LiveCodeBench's graders themselves print is on the terminal, in the summary and in the exported files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from support import contest_files
from truegrade.cli import main

RIGHT = "print(sum(map(int, input().split())))"
LINES = "import sys\nfor line in sys.stdin:\n    print(sum(map(int, line.split())))"
ANSWERS = {"a": [RIGHT, "print(3)"], "b": [LINES, RIGHT], "c": ["print(1 // 0)", ""]}


@pytest.fixture
def graded(tmp_path):
    """Six answers under both harnesses; LINES passes EvalScope's alone."""
    data = contest_files.write_rows(tmp_path / "rows.jsonl", [contest_files.row(name) for name in ANSWERS])
    answers = tmp_path / "answers.json"
    answers.write_text(json.dumps([{"question_id": name, "code_list": codes} for name, codes in ANSWERS.items()]))
    run = tmp_path / "run"

    def command(*words):
        done = CliRunner().invoke(main, [*map(str, words), "--data", str(data)], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    harnesses = ("--as", "livecodebench", "--as", "evalscope", "--as", "strict")
    said = command("grade", answers, "--benchmark", "livecodebench", "--out", run, *harnesses)
    return run, said, command


def test_each_harness_prints_its_own_scale(graded):
    run, said, _ = graded
    assert f"as printed by livecodebench@28fef95: pass@1 {1 / 3!r}" in said
    assert "as printed by evalscope@fde259d2: pass@1 50.0" in said
    assert said.count("as printed by ") == 2
    summary = json.loads((run / "summary.json").read_text())
    assert [p["published"] for p in summary["profiles"]] == [{"pass@1": 1 / 3}, {"pass@1": 50.0}, {}]
    assert "as printed by livecodebench@28fef95: " in (run / "report.html").read_text()


def test_the_exported_files_hold_detail_in_that_scale_and_pass_an_audit(graded):
    run, _, command = graded
    for name, scale, parts in (
        ("livecodebench-eval", 1.0, [0.5, 0.5, 0.0]),
        ("evalscope-eval", 100.0, [0.5, 1.0, 0.0]),
    ):
        path = command("export", run, "--format", name).strip()
        metrics, results, _ = json.loads(Path(path).read_text())
        assert list(metrics["detail"]["pass@1"].values()) == [scale * part for part in parts]
        assert metrics["pass@1"] == pytest.approx(scale * sum(parts) / 3)
        assert results["2"] == [[-4], [-4]]
        done = CliRunner().invoke(main, ["check", path, "--benchmark", "livecodebench"])
        assert done.exit_code == 0 and "clean" in done.output
