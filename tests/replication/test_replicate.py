"""A claim against a run: the verdict, why, and what could explain the difference."""

import json
import random
import re

import msgspec
import pytest
from click.testing import CliRunner
from replication_runs import make_run

from truegrade.analysis.published_number import OF_N, PublishedNumber, estimate_of
from truegrade.analysis.replication import CheckAnswer, ReplicationOutcome, answer_of
from truegrade.analysis.replication import replicate as hold
from truegrade.analysis.standings import tallies_of
from truegrade.cli.check import check as command
from truegrade.errors import UnknownName, UserError
from truegrade.pipeline.summary import read_summary
from truegrade.records import Reason


def replicate(run, text, profile=None, **known):
    return hold(run, PublishedNumber(text=text, **known), profile=profile)


def table(right, tasks, samples=1):
    return [[task < right] * samples for task in range(tasks)]


@pytest.fixture
def run(tmp_path):
    """111 of 164 under the first rules, 95 under the second, 150 under the third."""
    tables = {"strict": table(111, 164), "harsh": table(95, 164), "mild": table(150, 164)}
    return make_run(tmp_path / "r", tables)


def kinds(found, explains=True):
    return [cause.kind for cause in found.explanations if cause.explains == explains]


def test_a_claim_inside_the_interval_with_fitting_digits_is_reproduced(run):
    found = replicate(run, "67.7", tasks=164)
    assert found.result.outcome is ReplicationOutcome.REPRODUCED
    assert found.result.profile == "strict@1"
    assert found.result.p_independent == 1.0
    assert [(f.first, f.last, f.denominator) for f in found.fits] == [(111, 111, 164)]
    assert found.result.why[0] == "measured: 111 of 164 draws, which prints as 67.7"
    assert found.explanations == []
    assert {other.profile: other.outcome for other in found.others} == {
        "harsh@1": ReplicationOutcome.NOT_REPRODUCED,
        "mild@1": ReplicationOutcome.NOT_REPRODUCED,
    }


def test_a_claim_outside_is_not_reproduced_and_the_rules_that_would_are_named(run):
    found = replicate(run, "89.6", tasks=164)
    assert found.result.outcome is ReplicationOutcome.NOT_REPRODUCED
    assert found.result.p_independent < 0.001
    assert found.explanations[0].kind == "profile"
    assert "mild@1" in found.explanations[0].sentence
    assert replicate(run, "89.6", tasks=164, profile="mild").result.outcome is ReplicationOutcome.REPRODUCED


def test_digits_that_no_count_prints_are_not_comparable_and_other_denominators_are_offered(run):
    found = replicate(run, "67.9", tasks=164)
    assert found.result.outcome is ReplicationOutcome.NOT_COMPARABLE
    (why,) = found.result.why
    assert "no count out of 164 prints as 67.9 (nearest: 111/164 = 67.7 and 112/164 = 68.3)" in why
    assert {f.denominator for f in found.fits if f.decisive} >= {427, 820}
    # Nobody says that 164 is the denominator: five samples of each task print 67.9.
    free = replicate(run, "67.9")
    assert free.result.outcome is ReplicationOutcome.REPRODUCED
    assert any("557 of 820 prints as 67.9, 5 samples per problem" in sentence for sentence in free.result.why)


def test_a_number_of_draws_over_the_tasks_is_a_denominator(run):
    found = replicate(run, "67.9", tasks=820)
    assert found.result.outcome is ReplicationOutcome.REPRODUCED
    assert [(f.tasks, f.samples) for f in found.fits] == [(164, 5)]


def test_another_number_of_tasks_or_a_partial_run_is_not_comparable(run, tmp_path):
    found = replicate(run, "67.7", tasks=257)
    assert found.result.outcome is ReplicationOutcome.NOT_COMPARABLE
    assert "257 problems, this run 164" in found.result.why[0]
    assert found.result.p_independent is None
    part = make_run(tmp_path / "part", {"strict": table(62, 100)}, whole=164)
    assert "100 of the 164 problems" in replicate(part, "62.0").result.why[0]
    assert replicate(part, "62.0", tasks=100).result.outcome is ReplicationOutcome.REPRODUCED


def own_numbers(run, metrics, decimals=(1, 2, 4, 9)):
    """The metrics that a run can give, printed as Python prints them."""
    summary = read_summary(run)
    for metric in metrics:
        value = estimate_of(metric, tallies_of(summary.profiles[0]))
        yield from ((metric, f"{100 * value.value:.{digits}f}", value) for digits in (decimals if value else ()))


@pytest.mark.parametrize("seed", range(12))
def test_the_own_number_of_a_run_is_reproduced_by_its_own_protocol(tmp_path, seed):
    """Whatever the problems, samples, missing samples, metric and digits; a partial run when its size is given."""
    draw = random.Random(seed)
    tasks, width = draw.choice([1, 2, 7, 34, 100, 164]), draw.choice([1, 2, 3, 5, 8])
    rate, lost = draw.random(), draw.choice([0, 0, 0.2])
    rows = [[draw.random() < rate for _ in range(width) if draw.random() >= lost] for _ in range(tasks)]
    rows[0] = [draw.random() < rate for _ in range(width)]
    run = make_run(tmp_path / "r", {"strict": rows}, whole=draw.choice([tasks, tasks + 64]))
    asked = 0
    for metric, claim, ours in own_numbers(run, ("pass@1", "pass@2", "pass@3", "all_solutions", *OF_N)):
        for options in (
            {"tasks": ours.tasks},
            {"tasks": ours.tasks, "samples": width},
            {"tasks": ours.samples},
            {"tasks": ours.samples, "samples": width},
        ):
            found = replicate(run, claim, metric=metric, **options)
            assert found.holds, (metric, claim, options, found.result.why)
            assert answer_of(found) is CheckAnswer.CONFIRMED, (metric, claim, options)
            assert found.result.own.agrees and found.explanations == []
            asked += 1
        for options in ({}, {"samples": width}):
            bare = replicate(run, claim, metric=metric, **options)
            if not bare.holds:  # a part of the benchmark: the advice works
                (advised,) = set(re.findall(r"give `tasks` (\d+)", " ".join(bare.result.why)))
                assert replicate(run, claim, metric=metric, tasks=int(advised), **options).holds, bare.result.why
                assert bare.result.why[-1].startswith("measured: ")
    assert asked >= 64


@pytest.mark.parametrize(
    ("tasks", "right", "claim", "options"),
    [
        (100, 153, "30.6", {"metric": "all_solutions", "tasks": 100}),
        (100, 153, "30.6", {"metric": "all_solutions", "tasks": 500}),
        (34, 66, "38.8", {"tasks": 34}),
        (34, 66, "38.8", {"tasks": 170, "samples": 5}),
    ],
)
def test_a_share_of_all_samples_is_told_by_the_number_of_problems(tmp_path, tasks, right, claim, options):
    draws = [draw < right for draw in range(5 * tasks)]
    run = make_run(tmp_path / "r", {"strict": [draws[5 * i : 5 * i + 5] for i in range(tasks)]}, whole=164)
    found = replicate(run, claim, **options)
    assert found.result.outcome is ReplicationOutcome.REPRODUCED
    assert found.result.why[0] == f"measured: {right} of {5 * tasks} draws, which prints as {claim}"


def test_a_claim_about_a_benchmark_is_not_one_about_many_samples_of_a_part(tmp_path):
    """164 is 41 times 4, and no number of samples that anybody takes."""
    run = make_run(tmp_path / "r", {"strict": table(3, 4)}, whole=164)
    found = replicate(run, "75.0", tasks=164)
    assert found.result.outcome is ReplicationOutcome.NOT_COMPARABLE
    assert "the claim covers 164 problems, this run 4" in found.result.why


def test_missing_samples_that_were_counted_as_wrong_are_an_explanation(tmp_path):
    run = make_run(tmp_path / "r", {"strict": table(110, 163)}, whole=164)
    sentence = "1 of 164 samples are missing; with these counted as wrong, measured: 110 of 164 draws"
    assert any(sentence in cause.sentence for cause in replicate(run, "67.1").explanations if cause.exact)


def test_a_metric_that_needs_more_samples_is_not_comparable(run):
    found = replicate(run, "80.0", metric="pass@10")
    assert found.result.outcome is ReplicationOutcome.NOT_COMPARABLE
    assert "pass@10 needs more samples" in found.result.why[0]
    assert found.result.estimate is None


def test_grader_errors_and_missing_verdicts_are_not_comparable(tmp_path):
    errors = {(163, 0): Reason.GRADER_ERROR}
    broken = make_run(tmp_path / "a", {"strict": table(111, 164)}, reasons=errors)
    assert "1 verdicts are grader errors" in replicate(broken, "67.7").result.why[0]
    short = [[task < 111] if task else [] for task in range(164)]
    holes = make_run(tmp_path / "b", {"strict": short})
    assert "only 163 of 164 problems" in replicate(holes, "67.7").result.why[0]


def test_the_tolerance_widens_the_interval(run):
    assert replicate(run, "78.0", tasks=164).result.outcome is ReplicationOutcome.NOT_REPRODUCED
    assert replicate(run, "78.0", tasks=164, tolerance_points=5).result.outcome is ReplicationOutcome.REPRODUCED
    with pytest.raises(UserError, match="tolerance"):
        replicate(run, "78.0", tolerance_points=-1)


def test_any_of_five_called_pass_at_1_is_recognised(tmp_path):
    rows = [[task < 60, task < 87, False, False, False] for task in range(100)]
    found = replicate(make_run(tmp_path / "r", {"strict": rows}), "87.0", tasks=100)
    assert found.result.outcome is ReplicationOutcome.NOT_REPRODUCED
    assert any("any_correct" in cause.sentence for cause in found.explanations if cause.explains)
    first = replicate(make_run(tmp_path / "s", {"strict": rows}), "60", tasks=100)
    assert any("first sample" in cause.sentence for cause in first.explanations if cause.explains)


def test_any_correct_of_another_number_of_samples_is_another_metric(tmp_path):
    run = make_run(tmp_path / "r", {"strict": table(87, 100, samples=5)})
    assert replicate(run, "87.0", metric="any_correct", tasks=100).result.outcome is ReplicationOutcome.REPRODUCED
    other = replicate(run, "87.0", metric="any_correct", tasks=100, samples=10)
    assert other.result.outcome is ReplicationOutcome.NOT_COMPARABLE
    assert "different metrics" in other.result.why[0]


def test_a_subset_that_would_print_the_claim_is_named(tmp_path):
    rows = [[task < 90] for task in range(164)]
    found = replicate(make_run(tmp_path / "r", {"strict": rows}), "90.0", tasks=164)
    assert "subset" in kinds(found)


def test_a_split_that_would_print_the_claim_is_named(tmp_path):
    rows = [[11 <= task <= 510] for task in range(1, 975)]
    run = make_run(tmp_path / "r", {"strict": rows}, benchmark="mbpp", prefix="MBPP", first=1)
    (named,) = [c for c in replicate(run, "99.8").explanations if "test split (500 problems)" in c.sentence]
    assert named.explains


@pytest.mark.parametrize(
    ("reason", "kind", "words"),
    [
        (Reason.TRUNCATED, "truncated", "cut at the token limit"),
        (Reason.NO_CODE, "unanswered", "contained no answer"),
        (Reason.TIME_LIMIT, "time", "exceeded the time limit"),
    ],
)
def test_verdicts_that_could_turn_are_counted_and_weighed(tmp_path, reason, kind, words):
    reasons = {(task, 0): reason for task in range(80, 100)}
    run = make_run(tmp_path / "r", {"strict": table(50, 100)}, reasons=reasons)
    enough = {c.kind: c for c in replicate(run, "68.0", tasks=100).explanations}[kind]
    assert enough.explains
    assert "20 replies" in enough.sentence
    assert words in enough.sentence
    assert "70.0 %" in enough.sentence
    assert not {c.kind: c for c in replicate(run, "75.0", tasks=100).explanations}[kind].explains


def test_missing_samples_could_explain_a_higher_claim(tmp_path):
    rows = [[task < 50] * (1 if task < 40 else 2) for task in range(100)]
    found = {c.kind: c for c in replicate(make_run(tmp_path / "r", {"strict": rows}), "90.0").explanations}
    assert "40 samples are missing" in found["missing"].sentence


def test_an_outlier_that_chance_can_make_says_so(tmp_path):
    run = make_run(tmp_path / "r", {"strict": table(50, 100)})
    found = replicate(run, "61.0", tasks=100)
    assert found.result.outcome is ReplicationOutcome.NOT_REPRODUCED
    assert found.result.p_independent > 0.05
    assert any("not significant" in sentence for sentence in found.result.why)


def test_inside_the_interval_and_yet_more_than_chance_on_the_same_tasks(tmp_path):
    run = make_run(tmp_path / "r", {"strict": table(50, 100, samples=5)})
    found = replicate(run, "55.0", tasks=100)
    assert found.result.outcome is ReplicationOutcome.REPRODUCED
    assert found.result.p_same_tasks == 0.0
    assert any("conditional on these problems" in sentence for sentence in found.result.why)


def test_a_fraction_given_for_a_percentage_is_noticed(run):
    found = replicate(run, "0.677")
    assert any(cause.kind == "percent" and "the claim is 67.7" in cause.sentence for cause in found.explanations)


def test_every_estimate_of_the_summary_is_a_metric_and_so_are_first_samples(tmp_path):
    """Of 10 problems, 6 first samples pass, 9 of 20 samples, and 7 problems by any."""
    rows = [[True, True]] * 2 + [[True, False]] * 4 + [[False, True]] + [[False, False]] * 3
    run = make_run(tmp_path / "r", {"strict": rows})
    for one in read_summary(run).profiles[0].estimates:
        said = replicate(run, f"{100 * one.value:.1f}", metric=one.metric, tasks=10).result
        assert said.own.agrees and said.outcome is ReplicationOutcome.REPRODUCED, one.metric
    first = replicate(run, "60", metric="first_sample", tasks=10)
    assert first.result.own.sentence == "measured: 6 of 10 problems, which prints as 60"
    assert (first.result.estimate.metric, first.result.estimate.value) == ("first_sample", 0.6)
    assert [(fit.first, fit.denominator) for fit in first.fits] == [(6, 10)]
    other = replicate(run, "70", metric="first_sample", tasks=10)
    assert other.result.own.apart == "1 of 10 problems"
    assert "read as any_correct" in " ".join(cause.sentence for cause in other.explanations)


def test_an_estimate_that_the_summary_alone_has_is_held_against_a_claim(tmp_path):
    run = make_run(tmp_path / "r", {"strict": table(111, 164), "harsh": table(95, 164)})
    summary = read_summary(run)
    reward = msgspec.structs.replace(summary.profiles[0].estimates[0], metric="reward", value=0.123456)
    estimates = [*summary.profiles[0].estimates, reward]
    profiles = [msgspec.structs.replace(summary.profiles[0], estimates=estimates), *summary.profiles[1:]]
    run.write("summary.json", msgspec.json.encode(msgspec.structs.replace(summary, profiles=profiles)))
    found = replicate(run, "12.35", metric="reward", tasks=164)
    assert found.result.own.sentence == "measured: the mean of reward over the problems, which prints as 12.35"
    assert found.others[0].obstacles == ["there is no reward of this run under these rules"]


def test_wrong_names_are_user_errors(run):
    with pytest.raises(UnknownName, match="pass@1"):
        replicate(run, "67.7", metric="pas@1")
    with pytest.raises(UnknownName, match=r"no metric .reward.; known: .*first_sample"):
        replicate(run, "67.7", metric="reward")  # which a profile may have, and this run has not
    with pytest.raises(UnknownName):
        replicate(run, "67.7", profile="nobody")
    with pytest.raises(UserError, match="`tasks` 0"):
        replicate(run, "67.7", tasks=0)


# ------------------------------------------------------------------------------------- the command


def test_the_command_prints_and_its_exit_code_tells(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    held = CliRunner().invoke(command, ["67.7", str(run.path), "--n", "164"])
    assert held.exit_code == 0, held.output
    assert held.stdout.startswith("reproduced: pass@1 = 67.7 % for toy-1 on toy, under strict@1")
    for word in ("mild@1", "harsh@1", "111/164"):
        assert word in held.stdout
    missed = CliRunner().invoke(command, ["89.6", str(run.path)])
    assert missed.exit_code == 1
    assert "→ profile: under mild@1" in missed.stdout


def test_the_json_is_whole(run):
    result = CliRunner().invoke(command, ["67.9", str(run.path), "--n", "164", "--json"])
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["result"]["outcome"] == "not comparable"
    assert found["claim_low"] == pytest.approx(0.6785)
    assert len(found["others"]) == 2
