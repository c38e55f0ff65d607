"""Measured objectives: what is counted, that it is the same each time, and that the worst is the worst."""

import ast

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.thorough import one_in
from truegrade.apps.evolve.evaluation import graded_reply
from truegrade.apps.evolve.objectives import (
    COST_CAP,
    MOST_FINDINGS,
    CostMeter,
    GradedReply,
    MeasuredObjectives,
    code_tokens,
    countable,
    edit_distance,
    patch_size,
    repair_suite,
    sample_of,
)
from truegrade.benchmarks import load_benchmark
from truegrade.errors import UserError
from truegrade.profiles.coralx import Coralx
from truegrade.profiles.strict import Strict
from truegrade.records import Completion, FunctionTask, Problem, Usage, Verdict

ALL = [True] * 4


@pytest.fixture(scope="module")
def objectives():
    return MeasuredObjectives()


# ------------------------------------------------------------------------------------------------- patch


def plain_distance(one, other):
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]


@settings(derandomize=True, deadline=None)
@given(st.text("abc", max_size=20), st.text("abcd", max_size=20))
def test_the_edit_distance_is_levenshtein_s(one, other):
    assert edit_distance(one, other) == plain_distance(one, other) == edit_distance(other, one)


def test_layout_and_comments_are_no_patch():
    assert patch_size("def f(n):\n    return n\n", "def f( n ):  # fixed\n\n  return n") == 0
    assert patch_size("a = 1\n", "") == 1
    assert patch_size("", "") == 0


def test_one_operator_is_one_token(total):
    buggy, right = total.task.buggy, total.task.reference
    assert patch_size(buggy, right) == 1 / len(code_tokens(buggy))


# -------------------------------------------------------------------------------------------------- cost


def test_the_reference_costs_one(total, jail):
    assert CostMeter().cost(total, total.task.reference, ALL, jail) == 1


def test_lines_are_counted_and_the_same_each_time(total, jail):
    twice = "def total(numbers):\n    for _ in numbers:\n        pass\n    result = 0\n" + "\n".join(
        total.task.reference.splitlines()[2:5]
    )
    costs = {CostMeter().cost(total, twice, ALL, jail) for _ in range(3)}
    assert len(costs) == 1 and 1 < costs.pop() < 2
    assert CostMeter().cost(total, "total = sum", ALL, jail) == 0
    assert 0 < CostMeter().cost(total, "def total(numbers):\n    return sum(numbers)", ALL, jail) < 0.5


def test_a_test_that_is_not_passed_costs_the_most(total, jail):
    meter = CostMeter()
    assert meter.cost(total, total.task.reference, [False] * 4, jail) == COST_CAP
    assert meter.cost(total, total.task.reference, [True, True, False, False], jail) == (2 + 2 * COST_CAP) / 4
    assert meter.cost(total, total.task.reference, [], jail) == COST_CAP


def test_endless_programs_are_followed_for_so_long_only(total, jail):
    endless = "def total(numbers):\n    while numbers:\n        pass\n    return 0"
    cost = CostMeter().cost(total, endless, ALL, jail)
    assert (3 * COST_CAP) / 4 < cost < COST_CAP


def test_a_program_that_reaches_for_the_watcher_is_not_measured(total, jail):
    hostile = "import sys\n" + total.task.reference.replace("result = 0", "result = 0; sys.settrace(None)")
    assert CostMeter().cost(total, hostile, ALL, jail) == COST_CAP


def test_graphs_are_measured_by_their_program_s_lines_alone(data_dir, jail):
    problem = load_benchmark("quixbugs", data_dir).by_id()["QuixBugs/reverse_linked_list"]
    assert countable(problem) == [0, 1, 2]
    assert CostMeter().cost(problem, problem.task.reference, [True] * 3, jail) == 1
    longer = problem.task.reference.replace("    prevnode = None\n", "    prevnode = None\n    x = 1\n", 1)
    assert 1 < CostMeter().cost(problem, longer, [True] * 3, jail) < 1.5


def test_slow_tests_are_not_counted(data_dir):
    problems = load_benchmark("quixbugs", data_dir, {"slow": "run"}).by_id()
    assert countable(problems["QuixBugs/levenshtein"]) == [0, 1, 4, 5, 6]


# ----------------------------------------------------------------------------------------------- measured


def sample(code, passed=4, **more):
    results = ("passed",) * passed + ("wrong_answer",) * (4 - passed)
    return GradedReply(problem="total", text=code or "", code=code, results=results, **more)


def test_the_reference_is_best_but_for_its_patch(objectives, total, jail):
    buggy, right = total.task.buggy, total.task.reference
    of_right = objectives.of(total, sample(right.strip(), tokens=30), jail)
    of_buggy = objectives.of(total, sample(buggy.strip(), 1, tokens=30), jail)
    assert of_right == {"pass_rate": 1.0, "patch": -patch_size(buggy, right), "cost": -1.0, "findings": 0.0,
                        "tokens": -30.0}  # fmt: skip
    assert of_buggy["patch"] == 0 and of_buggy["pass_rate"] == 0.25 and of_buggy["cost"] < -3


def test_findings_that_the_buggy_program_has_too_do_not_count(objectives):
    assert objectives.new_findings("x=1\n", "x=2") == 0
    assert objectives.new_findings("x=1\n", "x=2\ny=3") == 1
    assert objectives.new_findings("x=1\n", "x = 1\neval('1')\n") == 1
    assert objectives.new_findings("x=1\ny=1\n", "x = 1\n") == 0


@pytest.mark.parametrize(
    "unreadable",
    one_in(
        2, ["x = " + "-" * 900 + "1\n", "x = 1\\\n\n", "x = '" + "a" * 2_000 + "'\n", "x = 1\n" * 3_000 + "y = 2"]
    ),
    ids=["deep", "ends in a continuation", "a long line", "long"],
)
def test_what_a_linter_cannot_read_is_as_bad_as_any(objectives, unreadable):
    assert objectives.new_findings("x=1\n", unreadable) == MOST_FINDINGS
    assert objectives.new_findings(unreadable, "x = 1\n") == 0


@pytest.mark.parametrize("code", [None, "def total(:", "x" + " = x" * 30_000])
def test_invalid_code_has_the_worst_of_everything(objectives, total, jail, code):
    scores = objectives.of(total, sample(code, 0, tokens=7), jail)
    assert scores == {
        "pass_rate": 0.0,
        "patch": -1.0,
        "cost": -COST_CAP,
        "findings": -MOST_FINDINGS,
        "tokens": -7.0,
    }


def test_nothing_is_worse_than_the_worst(objectives, total, jail):
    untidy = "\n".join(f"a{n}=undefined{n}" for n in range(50))
    scores = objectives.of(total, sample(untidy, 0), jail)
    assert scores["findings"] == -MOST_FINDINGS and scores["patch"] >= -1 and scores["cost"] == -COST_CAP


def test_scores_say_what_was_not_answered_and_what_was_counted_here(objectives, total, jail):
    other = msgspec.structs.replace(total, id="other")
    scores = objectives.score([total, other], [sample(total.task.reference)], jail)
    assert scores.facts == {"unanswered": 1.0, "tokens_counted_here": 1.0}
    assert scores.objectives["pass_rate"] == 0.5
    assert scores.problems["other"]["cost"] == -COST_CAP
    assert tuple(scores.objectives) == objectives.names


@pytest.mark.parametrize("profile", [Strict(), Coralx()], ids=lambda profile: profile.name)
def test_anchors_are_worth_what_they_are(objectives, total, jail, profile):
    rates = {"identity": 0.25, "stub": 0.0, "empty": 0.0, "reference": 1.0}
    scores = {
        anchor: objectives.score([total], [graded_reply(anchor, total, profile, jail)], jail) for anchor in rates
    }
    assert {name: score.objectives["pass_rate"] for name, score in scores.items()} == rates


# ------------------------------------------------------------------------------------------------ samples


def stored(total, jail, **more):
    reply = Completion(
        benchmark="quixbugs", dataset_sha256="d", problem_id="total", sample=0, config_sha256="", prompt_sha256="",
        text="reply", model="", usage=Usage(output_tokens=12),
    )  # fmt: skip
    graded = {"answer": "x", "harness": {"results": ["passed", "skipped", "not_run"]}, **more}
    verdict = Verdict(
        benchmark="quixbugs", dataset_sha256="d", problem_id="total", sample=0, config_sha256="",
        completion_sha256=reply.sha256, profile="strict@6", passed=False, reason="wrong_answer", **graded,
    )  # fmt: skip
    return reply, verdict


def test_samples_are_replies_with_their_verdicts(total, jail):
    reply, verdict = stored(total, jail)
    found = sample_of(reply, verdict)
    assert found == GradedReply(
        problem="total", text="reply", code="x", results=("passed", "skipped", "not_run"), tokens=12
    )
    assert (found.tests, found.passed) == (2, 1)


def test_a_verdict_without_counts_is_refused(total, jail):
    reply, verdict = stored(total, jail, harness=None)
    with pytest.raises(UserError, match="does not count tests"):
        sample_of(reply, verdict)
    assert sample_of(*stored(total, jail, harness=None, answer=None)).results == ()


def test_only_repairs_have_objectives(total):
    task = FunctionTask(prompt="", entry_point="f", tests="", reference="")
    with pytest.raises(UserError, match="no program to repair"):
        repair_suite(Problem(id="p", benchmark="mbpp", dataset_sha256="", cluster="p", task=task))


def test_an_anchor_s_code_is_what_the_profile_takes(total, jail):
    assert graded_reply("reference", total, Strict(), jail).code.strip() == total.task.reference.strip()
    assert graded_reply("empty", total, Strict(), jail).code is None
    assert graded_reply("empty", total, Coralx(), jail).code == ""
    assert ast.parse(graded_reply("stub", total, Coralx(), jail).code)
