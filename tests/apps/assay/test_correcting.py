"""pass@1 of a run, corrected by an audit of its own passes with stronger tests."""

import json

import msgspec
import pytest

from truegrade import api
from truegrade.apps.assay.correcting import (
    AuditedSample,
    StrongerTests,
    _Judge,
    corrected_lines,
    corrected_runs,
    planned_sentence,
)
from truegrade.errors import UserError
from truegrade.records import FunctionTask, OracleTask, Problem
from truegrade.sandbox import Sandbox
from truegrade.statistics import wilson
from truegrade.store.journal import read_journal

PROMPT = "Write a function double(x) that returns twice the number x."
RIGHT, WRONG, FAILS = "return 2 * x", "return x + 2", "return None"
ROW = {
    "prompt": PROMPT,
    "tests": "assert double(2) == 4",
    "entry_point": "double",
    "reference": f"def double(x):\n    {RIGHT}\n",
}
BODIES = [RIGHT] * 6 + [WRONG] * 4 + [FAILS] * 2


def graded(folder, bodies=BODIES, rows=None):
    """A graded run with one sample a problem; wrong programs pass the one test, too."""
    rows = rows or [{**ROW, "id": f"own/{number:02}"} for number in range(len(bodies))]
    (folder / "own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    samples = [
        {"task_id": row["id"], "solution": f"def double(x):\n    {body}\n"}
        for row, body in zip(rows, bodies, strict=True)
    ]
    (folder / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in samples))
    api.grade(
        folder / "samples.jsonl", benchmark=str(folder / "own.jsonl"), profiles=["strict"], out=folder / "run"
    )
    return folder / "run"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return graded(tmp_path_factory.mktemp("audited"))


def audit_of(run, **options):
    (found,) = corrected_runs([run], inputs=40, workers=2, **options).runs
    return found


def lines_of(run):
    return list(read_journal(run / "audit.strict@6.jsonl", AuditedSample))


def test_an_audit_of_all_passes_gives_the_rate_of_right_programs(run):
    said = []
    found = audit_of(run, audit=100, notice=said.append)
    assert (found.raw.value, found.passes.samples, found.passes.drawn) == (10 / 12, 10, 10)
    assert (found.passes.right, found.passes.no_verdict, found.failures) == (6, 0, None)
    assert found.rate.value == 0.5
    assert (found.rate.low, found.rate.high) == pytest.approx(wilson(6, 12))
    assert found.rate.right_of_passes_bounds == (0.6, 0.6)
    assert said[0] == planned_sentence(found)
    assert "10 of 10 passes are to be audited, drawn by seed 0" in said[0]
    text = "\n".join(corrected_lines(corrected_runs([run], audit=100, inputs=40, workers=2)))
    assert "corrected    50.0 % [" in text
    assert "own/06, sample 0: double(" in text
    assert "every failure counts as wrong" in text


def test_a_larger_audit_keeps_what_a_smaller_one_found(run, tmp_path, monkeypatch):
    run = graded(tmp_path)
    first = audit_of(run, audit=3, seed=7)
    assert first.passes.drawn == 3
    assert first.rate.right_of_passes_bounds[1] - first.rate.right_of_passes_bounds[0] > 0.3
    done = (run / "audit.strict@6.jsonl").read_bytes()
    assert {line.seed for line in lines_of(run)} == {7}
    second = audit_of(run, audit=6, seed=7)
    assert (run / "audit.strict@6.jsonl").read_bytes().startswith(done)
    assert {(line.problem_id, line.right) for line in first.samples} < {
        (line.problem_id, line.right) for line in second.samples
    }
    with monkeypatch.context() as patch:  # a complete audit opens no sandbox
        patch.setattr(Sandbox, "__enter__", None)
        assert audit_of(run, audit=6, seed=7) == second
    assert len(lines_of(run)) == 6
    # A torn last line is judged again, the others are not.
    with (run / "audit.strict@6.jsonl").open("r+b") as journal:
        journal.truncate(journal.seek(0, 2) - 5)
    assert audit_of(run, audit=6, seed=7).passes == second.passes
    # Another order of the same passes; other tests judge anew.
    assert {line.problem_id for line in audit_of(run, audit=6, seed=8).samples} != {
        line.problem_id for line in second.samples
    }
    before = len(lines_of(run))
    corrected_runs([run], audit=6, seed=7, inputs=20, workers=2)
    assert len(lines_of(run)) == before + 6


def test_what_the_audit_cannot_judge_is_counted_apart(tmp_path):
    rows = [{**ROW, "id": f"own/{number}"} for number in range(4)]
    # What a generator gives cannot be compared with what another one gives.
    rows[0] |= {"tests": "assert list(double(2)) == [4]", "reference": "def double(x):\n    yield 2 * x\n"}
    found = audit_of(graded(tmp_path, ["yield 2 * x", RIGHT, WRONG, FAILS], rows), audit=10, failures=1)
    assert (found.passes.drawn, found.passes.right, found.passes.no_verdict) == (3, 1, 1)
    assert found.rate.value == pytest.approx(3 / 4 / 2)
    assert found.without_verdict == pytest.approx((3 / 4 / 3, 3 / 4 * 2 / 3))
    assert (found.failures.samples, found.failures.drawn, found.failures.right) == (1, 1, 0)
    text = "\n".join(
        corrected_lines(corrected_runs([tmp_path / "run"], audit=10, failures=1, inputs=40, workers=2))
    )
    assert "no verdict on 1: no oracle: " in text
    assert "if they are wrong" in text


def test_hardened_tests_judge_as_well(tmp_path):
    run = graded(tmp_path)
    harder = [{**ROW, "id": f"own/{number:02}", "tests": "assert double(3) == 6"} for number in range(12)]
    (tmp_path / "hard.jsonl").write_text("".join(json.dumps(row) + "\n" for row in harder))
    (found,) = corrected_runs([run], audit=10, inputs=0, hardened=tmp_path / "hard.jsonl", workers=2).runs
    assert found.passes.right == 6
    assert {line.why[:16] for line in found.samples if not line.right} == {"hardened tests: "}


def test_the_extended_benchmark_judges_where_it_asks_the_same():
    def problem(task):
        return Problem(id="own/1", benchmark="own", dataset_sha256="0" * 64, cluster="own/1", task=task)

    def verdicts(companion):
        tests = StrongerTests(
            problems={"own/1": own}, companions={"own/1": problem(companion)}, hardened={}, inputs=0, sha256=""
        )
        with Sandbox(workers=1) as sandbox:
            judge = _Judge("own/1", tests, sandbox)
            return [judge.verdict(f"def double(x):\n    {body}\n") for body in (RIGHT, WRONG)]

    own = problem(
        FunctionTask(prompt=PROMPT, entry_point="double", tests=ROW["tests"], reference=ROW["reference"])
    )
    plus = OracleTask(
        prompt=PROMPT, entry_point="double", reference=ROW["reference"], base_inputs=((2,),), plus_inputs=((5,),)
    )
    (right, _), (wrong, why) = verdicts(plus)
    assert (right, wrong) == (True, False)
    assert why.startswith("extended benchmark: ")
    # Another statement under the same id: its reference fails the tests that the run was graded by.
    changed = msgspec.structs.replace(plus, reference="def double(x):\n    return 3 * x\n")
    assert verdicts(changed)[0] == (True, "")


def test_a_plan_runs_nothing_and_too_weak_tests_are_refused(run):
    before = len(lines_of(run)) if (run / "audit.strict@6.jsonl").exists() else 0
    (found,) = corrected_runs([run], corrected=False, width=0.6).runs
    assert found.passes is None
    assert found.rate is None
    assert found.wanted <= 10
    widths = dict(found.plan)
    assert widths[found.wanted] <= 0.6
    assert any("are to be audited" in line for line in corrected_lines(corrected_runs([run], corrected=False)))
    assert len(lines_of(run)) == before
    with pytest.raises(UserError, match="an audit by its own tests finds nothing"):
        corrected_runs([run], inputs=0)
    with pytest.raises(UserError, match="no run is named"):
        corrected_runs([])
