"""CORAL-X's five formulas, and each of the anomalies that they are documented to have."""

import ast
import math

import pytest

from truegrade.apps.evolve.evaluation import graded_reply
from truegrade.apps.evolve.objectives import CoralxObjectives, GradedReply
from truegrade.benchmarks import load_benchmark
from truegrade.errors import UserError
from truegrade.extraction.contest_programs import take_code
from truegrade.profiles import coralx_objectives as coralx
from truegrade.profiles.coralx import Coralx


@pytest.fixture(scope="module")
def objectives():
    return CoralxObjectives()


def sample(code, passed=4, problem="total"):
    results = ("passed",) * passed + ("wrong_answer",) * (4 - passed)
    return GradedReply(problem=problem, text="", code=code, results=results)


def test_the_formulas():
    assert [coralx.bugfix(k, 6) for k in (0, 1, 3, 6)] == [0.2, 1 / 6, 0.5, 1.0]
    assert [round(coralx.style(v), 9) for v in (0, 1, 2, 16, 40)] == [0.97, 0.75, 0.7, 0.0, 0.0]
    assert coralx.security(()) == coralx.security(("LOW", "LOW")) == 1.0
    assert math.isclose(coralx.security(("HIGH", "MEDIUM", "MEDIUM")), 0.5)
    assert coralx.security(("HIGH",) * 4) < 0
    assert [round(coralx.runtime(code, depth), 9) for code, depth in
            (("", 0), ("x[::-1]", 2), ("", 2), ("", 3), ("x[::-1]", 3))] == [0.7, 0.8, 0.7, 0.6, 0.7]  # fmt: skip


def test_the_weights_add_up_to_one_and_the_sum_to_its_ceiling():
    assert math.isclose(sum(coralx.WEIGHTS.values()), 1)
    best = {"bugfix": 1.0, "style": 0.97, "security": 1.0, "runtime": 0.9, "syntax": 0.9}
    assert math.isclose(coralx.weighted_sum(best), 0.9655)


@pytest.mark.parametrize(
    ("code", "depth"),
    [
        ("x = [a for b in c for a in b]", 0),
        ("for a in b:\n    pass\nfor a in b:\n    pass", 1),
        ("def f():\n while a:\n  for b in c:\n   if b:\n    for d in e:\n     pass", 3),
    ],
)  # fmt: skip
def test_loops_are_counted_by_their_depth(code, depth):
    assert coralx.deepest_loop(ast.parse(code)) == depth


def test_invalid_code_and_no_code_score_nothing(objectives):
    for code in ("def f(:", None, "x = 1\0"):
        assert set(objectives.of(sample(code)).values()) == {0.0}


def test_means_over_samples_then_over_problems(objectives, total, jail):
    import msgspec

    other = msgspec.structs.replace(total, id="other")
    samples = [sample("x = 1\n", 4), sample("x = 1\n", 2), sample("def f(:", 0, "other")]
    scores = objectives.score([total, other], samples, jail)
    assert scores.problems["total"]["bugfix"] == 0.75 and scores.problems["other"]["bugfix"] == 0
    assert scores.objectives["bugfix"] == 0.375 and scores.objectives["syntax"] == 0.45
    assert scores.facts["unanswered"] == 0
    assert math.isclose(scores.facts["weighted_sum"], coralx.weighted_sum(scores.objectives))


def test_a_problem_without_a_sample_scores_nothing_and_is_told(objectives, total, jail):
    scores = objectives.score([total], [], jail)
    assert set(scores.objectives.values()) == {0.0} and scores.facts["unanswered"] == 1
    with pytest.raises(UserError, match="stranger is not among"):
        objectives.score([total], [sample("", problem="stranger")], jail)


def test_the_best_style_is_out_of_reach_because_extraction_strips_the_last_newline(objectives):
    clean = "def f(n):\n    return n + 1\n"
    assert objectives.of(sample(clean))["style"] == 0.97
    assert objectives.of(sample(take_code(f"```python\n{clean}```").code))["style"] == 0.75
    assert objectives.of(sample(""))["style"] == 0.97


def test_passing_one_test_of_six_is_worth_less_than_passing_none():
    assert coralx.bugfix(1, 6) < coralx.bugfix(0, 6)


def test_a_comment_is_worth_a_tenth_of_runtime(objectives):
    assert objectives.of(sample("x = 1  # [::-1]"))["runtime"] > objectives.of(sample("x = 1"))["runtime"]


@pytest.mark.slow
def test_on_its_own_test_problems_doing_nothing_is_hardly_better_than_a_stub_or_worse(objectives, data_dir, jail):
    problems = load_benchmark("quixbugs", data_dir, {"split": "coralx-test"}).problems
    anchors = {
        anchor: objectives.score(problems, [graded_reply(anchor, each, Coralx(), jail) for each in problems], jail)
        for anchor in ("identity", "stub", "empty", "reference")
    }
    sums = {name: scores.facts["weighted_sum"] for name, scores in anchors.items()}
    assert max(sums["identity"] - 0.0025, sums["stub"]) < sums["empty"] < sums["reference"] < 0.9655
    # Before Python 3.12, pycodestyle finds a line too long in a last docstring that ends without a newline.
    assert {name: round(value, 3) for name, value in sums.items()} in (
        {"identity": 0.667, "stub": 0.672, "empty": 0.706, "reference": 0.875},
        {"identity": 0.674, "stub": 0.672, "empty": 0.706, "reference": 0.879},
    )
    assert all(scores.objectives["security"] == 1 for scores in anchors.values())
    assert anchors["reference"].problems["QuixBugs/kheapsort"]["bugfix"] == 0.2
    assert max(scores["style"] for scores in anchors["reference"].problems.values()) == 0.75


def test_a_program_that_waives_or_defeats_the_linters_scores_no_better(objectives):
    plain = "import os,sys\neval('1')\nx=1\n"
    honest = objectives.of(sample(plain))
    waived = objectives.of(sample("# flake8: noqa\n" + plain.replace("\n", "  # nosec # noqa\n")))
    assert waived["security"] == honest["security"] < 1 and waived["style"] <= honest["style"]
    deep = objectives.of(sample("x = " + "-" * 900 + "1\n"))
    assert deep["style"] == deep["security"] == 0
