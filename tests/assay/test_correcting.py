import msgspec
import numpy as np
import pytest
from comparison_runs import build, task
from planted_graders import probe

from truegrade.assay.correcting import corrected_lines, corrected_pass, corrected_runs
from truegrade.assay.records import Said
from truegrade.errors import NotComparable, UnknownName, UserError
from truegrade.statistics import TaskTally, wilson
from truegrade.statistics.corrected_rates import rogan_gladen, turning_odds
from truegrade.statistics.error_rates import GraderCount


def tallies_of(passes, n=1):
    return [TaskTally(task_id=str(i), cluster=str(i), n=n, c=c) for i, c in enumerate(passes)]


def counts_of(rows):
    """(right accepted, right, wrong accepted, wrong) of each problem."""
    return {
        str(i): GraderCount(
            problem_id=str(i),
            cluster=str(i),
            right_accepted=row[0],
            right=row[1],
            wrong_accepted=row[2],
            wrong=row[3],
        )
        for i, row in enumerate(rows)
    }


def write_assay(folder, wrong_accepted, problems=20, grader="house@1"):
    """An assay with two right, four wrong programs and a failing reply a problem."""
    folder.mkdir()
    probes, said = [], []
    for place in range(problems):
        rights = [probe(task(place), "right", each) for each in range(2)]
        wrongs = [probe(task(place), "mutant", each) for each in range(4)]
        reply = probe(task(place), "reply", 0)
        probes += [*rights, *wrongs, reply]
        said += [Said(probe=each.id, grader=grader, passed=True) for each in rights]
        said += [
            Said(probe=each.id, grader=grader, passed=rank < wrong_accepted[place])
            for rank, each in enumerate(wrongs)
        ]
        said.append(Said(probe=reply.id, grader=grader, passed=place % 4 == 0))
    for name, rows in (("probes.jsonl", probes), ("verdicts.jsonl", said)):
        (folder / name).write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    return folder


@pytest.fixture
def assay(tmp_path):
    return write_assay(tmp_path / "assay", [int(place % 5 == 0) for place in range(20)])


def run_of(tmp_path, name, right, problems=20):
    return build(tmp_path / name, [[place < right] for place in range(problems)], model=f"toy/{name}").path


def test_a_run_is_corrected_by_the_assay_of_its_grader(tmp_path, assay):
    found = corrected_runs([run_of(tmp_path, "first", 12)], assay)
    [run] = found.runs
    # Four of the mutants and five replies of a hundred wrong programs, alike weighted: each problem has five.
    assert run.fpr.value == pytest.approx(9 / 100)
    assert (run.tpr.value, run.raw.value, run.problems, run.measured) == (1.0, 0.6, 20, 20)
    assert run.corrected.value == run.unclipped == pytest.approx(rogan_gladen(0.6, 1.0, 0.09))
    assert run.corrected.low < run.corrected.value < run.corrected.high
    assert (run.raw.low, run.raw.high) == pytest.approx(wilson(12, 20))
    assert run.corrected.high - run.corrected.low > run.raw.high - run.raw.low
    assert [band.g for band in run.odds] == [1.0, 2.0, 4.0]
    assert run.odds[2].low < run.odds[1].low < run.corrected.value < run.odds[1].high < run.odds[2].high
    low, high = run.covariance
    assert low <= run.corrected.low
    assert high >= run.corrected.high
    # 5 of 20 replies against 4 of 80 mutants.
    assert run.replies_g.value == pytest.approx((5 / 15) / (4 / 76))
    assert found.turning == ()
    text = "\n".join(corrected_lines(found))
    assert "corrected    56.0 % [" in text
    assert "G = 6.33" in text


def test_two_runs_and_the_g_at_which_their_order_turns(tmp_path, assay):
    found = corrected_runs([run_of(tmp_path, "worse", 10), run_of(tmp_path, "better", 14)], assay)
    [pair] = found.turning
    assert (pair.better, pair.worse) == (found.runs[1].run, found.runs[0].run)
    assert pair.g == pytest.approx(turning_odds(0.7, 0.5, 1.0, 0.09))
    assert f"it turns at G = {pair.g:.2f}" in list(corrected_lines(found))[-1]


def test_what_cannot_be_corrected_is_refused(tmp_path, assay):
    first = run_of(tmp_path, "first", 12)
    with pytest.raises(UserError, match="no run is named"):
        corrected_runs([], assay)
    with pytest.raises(UnknownName, match="grader"):
        corrected_runs([first], assay, grader="strict@1")
    with pytest.raises(UserError, match="holds no probes"):
        corrected_runs([first], tmp_path)
    other = build(tmp_path / "other", [[True]] * 20, dataset="e" * 64).path
    with pytest.raises(NotComparable):
        corrected_runs([first, other], assay)
    elsewhere = write_assay(tmp_path / "elsewhere", [0] * 2, problems=2)
    corrected_runs([first], elsewhere)
    moved = tmp_path / "elsewhere" / "probes.jsonl"
    moved.write_text(moved.read_text().replace("Toy/", "Else/"))
    with pytest.raises(UserError, match="no verdict on a program"):
        corrected_runs([first], elsewhere)


def test_a_grader_that_hardly_tells_right_from_wrong_corrects_nothing():
    found = corrected_pass(tallies_of([1, 0] * 10), counts_of([(1, 2, 1, 2)] * 20))
    assert found.corrected is None
    assert "J touches 0" in found.refused
    assert found.raw.value == 0.5


def test_no_wrong_programs_is_an_error():
    with pytest.raises(UserError, match="lacks one of them"):
        corrected_pass(tallies_of([1, 0]), counts_of([(1, 1, 0, 0)] * 2))


def test_a_rate_outside_is_cut_and_says_so():
    found = corrected_pass(tallies_of([1] + [0] * 39), counts_of([(5, 5, 1, 5)] * 40))
    assert found.corrected.value == 0.0
    assert found.unclipped == pytest.approx((1 / 40 - 0.2) / 0.8)


def test_strata_of_difficulty_repair_a_correction_that_the_mean_spoils():
    generator = np.random.default_rng(3)
    rows, passes, strata = [], [], {}
    for place in range(400):
        hard = place % 2 == 1
        t, fpr = (1 / 3, 0.3) if hard else (2 / 3, 0.0)
        rows.append((5, 5, int(generator.binomial(20, fpr)), 20))
        passes.append(int(generator.binomial(10, t + (1 - t) * fpr)))
        strata[str(place)] = "hard" if hard else "easy"
    found = corrected_pass(tallies_of(passes, 10), counts_of(rows), strata=strata, bootstrap=False)
    assert found.corrected.low > 0.5
    assert found.stratified.low < 0.5 < found.stratified.high
    assert [(one.stratum, one.problems) for one in found.strata] == [("easy", 200), ("hard", 200)]
    assert found.covariance[0] < 0.5 < found.covariance[1]
    partly = corrected_pass(tallies_of(passes, 10), counts_of(rows), strata={"0": "easy"}, bootstrap=False)
    assert partly.stratified is None
