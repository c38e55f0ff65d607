"""Metrics of execution reasoning on counts small enough to check by hand."""

import pytest
from msgspec.structs import replace

from truegrade.records import Covariates
from truegrade.statistics import sign_flip_p
from truegrade.statistics.reasoning import compare_reasoning, gap_difference, summarise_reasoning
from truegrade.statistics.reasoning_choice import summarise_choice
from truegrade.statistics.reasoning_prediction import all_cases, per_case, summarise_prediction
from truegrade.statistics.reasoning_records import Draw, Pair, PredictionPrompt

RIGHT = Draw(True, True, True, False, True, False)
INT_FOR_FLOAT = Draw(True, False, False, False, True, False)
OTHER_ORDER = Draw(True, True, False, False, True, False)
WRONG = Draw(False, False, False, False, True, False)
REVERTED = Draw(False, False, False, True, True, False)
SILENT = Draw(False, False, False, False, False, False)
CUT = Draw(False, False, False, False, False, True)


def program(item, case, shown, *, differs=True, boolean=False, mutation="arithmetic", cluster=None):
    return PredictionPrompt(
        id=f"{item}/{case}/{shown}/{mutation}",
        cluster=cluster or item,
        item=item,
        case=case,
        shown=shown,
        mutation=mutation,
        differs=differs,
        boolean=boolean,
    )


def both(item, case=0, **facts):
    return [program(item, case, "original", **facts), program(item, case, "mutant", **facts)]


def values(estimates):
    return {estimate.metric: pytest.approx(estimate.value) for estimate in estimates}


def table(summary, cases="per_case", weighting="mean"):
    return next(
        values(found.estimates) for found in summary.tables if (found.cases, found.weighting) == (cases, weighting)
    )


def test_correctness_and_reversion():
    programs = [*both("a"), *both("b")]
    rows = [[RIGHT] * 4, [RIGHT, REVERTED, REVERTED, WRONG], [RIGHT, REVERTED], [SILENT, RIGHT]]
    summary = summarise_prediction(programs, dict(zip([p.id for p in programs], rows, strict=True)))
    assert table(summary) == {"OC": 0.75, "MC": 0.375, "OR": 0.25, "MR": 0.25}
    assert table(summary, weighting="micro") == {"OC": 5 / 6, "MC": 2 / 6, "OR": 1 / 6, "MR": 2 / 6}
    assert [t.cases for t in summary.tables] == ["per_case", "per_case"]  # one case an item: nothing to join
    (difference,) = summary.differences
    assert (difference.metric, difference.first, difference.second) == ("MC - OC", 0.75, 0.375)
    assert difference.p_value == sign_flip_p([-0.75, 0.0])
    assert values(summary.given_answer) == {"OC": 5 / 6, "MC": 2 / 5}  # replies weigh the same, not cases
    mutants = summary.tables[0].estimates[1]
    assert (mutants.metric, mutants.unanswered, mutants.truncated, mutants.samples) == ("MC", 1, 0, 6)


def test_reversion_is_undefined_for_equal_values_and_booleans():
    programs = [*both("a"), *both("b", differs=False), *both("c", boolean=True)]
    draws = {p.id: [REVERTED if p.item != "a" else WRONG] for p in programs}
    summary = summarise_prediction(programs, draws)
    assert table(summary)["MR"] == 0
    assert (summary.same_value, summary.boolean) == (1, 1)
    mr = next(e for e in summary.tables[0].estimates if e.metric == "MR")
    assert (mr.tasks, mr.samples) == (1, 1)
    differing = next(e for e in summary.tables[0].estimates if e.metric == "MC_differing")
    assert differing.tasks == 2


def test_no_metric_where_nothing_defines_it():
    alone = [program("a", 0, "original", differs=False)]
    summary = summarise_prediction(alone, {alone[0].id: [RIGHT, WRONG]})
    assert table(summary) == {"OC": 0.5}
    assert summary.differences == summary.programs == []
    assert summarise_prediction(alone, {}) is None
    assert summarise_prediction(alone, {alone[0].id: [None, None]}) is None
    assert summarise_reasoning(alone, [], {}) is None


def test_all_cases_must_hold_together():
    programs = [*both("a", 0), *both("a", 1), *both("a", 2, differs=False)]
    draws = {
        "a/0/mutant/arithmetic": [RIGHT, RIGHT, REVERTED, REVERTED, RIGHT],
        "a/1/mutant/arithmetic": [RIGHT, WRONG, REVERTED, WRONG, None],
        # equal values: the right answer is the other program's, too
        "a/2/mutant/arithmetic": [Draw(True, True, True, True, True, False)] * 5,
    }
    lines = {line.shown: line for line in all_cases(programs, draws)}
    mutant = lines["mutant"]
    assert (mutant.n, mutant.right, mutant.reverted, mutant.case) == (4, 1, 1, None)
    assert mutant.reversible
    assert lines["original"].n == 0
    summary = summarise_prediction(programs, draws)
    assert table(summary, "all_cases") == {"MC": 0.25, "MR": 0.25}
    assert table(summary)["MR"] == pytest.approx((2 / 5 + 1 / 4) / 2)


def test_one_boolean_case_drops_the_item_from_reversion_but_only_its_case_per_case():
    programs = [*both("a", 0), *both("a", 1, boolean=True)]
    draws = {p.id: [REVERTED] for p in programs}
    summary = summarise_prediction(programs, draws)
    assert "MR" not in table(summary, "all_cases")
    assert table(summary)["MR"] == 1.0


def test_a_cut_case_cuts_the_item():
    programs = both("a", 0)[:1] + both("a", 1)[:1]
    (line,) = all_cases(programs, {programs[0].id: [CUT], programs[1].id: [RIGHT]})
    assert (line.n, line.right, line.answered, line.truncated) == (1, 0, 0, 1)


def test_modes_of_comparison_are_nested():
    programs = both("a")
    draws = {programs[0].id: [RIGHT, INT_FOR_FLOAT, OTHER_ORDER, WRONG], programs[1].id: [WRONG]}
    modes = {name: values(found)["OC"] for name, found in summarise_prediction(programs, draws).modes.items()}
    assert modes == {"python_eq": 0.75, "strict_typed": 0.5, "repr_exact": 0.25}


def test_pass_at_k_for_each_kind_of_program():
    programs = both("a")
    draws = {programs[0].id: [RIGHT, WRONG, WRONG], programs[1].id: [RIGHT, RIGHT, WRONG]}
    at = summarise_prediction(programs, draws, ks=(1, 2, 5)).pass_at
    assert values(at["original"]) == {"pass@1": 1 / 3, "pass@2": 2 / 3}
    assert values(at["mutant"]) == {"pass@1": 2 / 3, "pass@2": 1.0}


def test_stability_compares_a_rewriting_with_its_original_and_with_asking_again():
    original = program("a", 0, "original")
    renamed = program("a", 0, "preserved", mutation="rename")
    dead = program("a", 0, "preserved", mutation="dead-code")
    draws = {
        original.id: [RIGHT, RIGHT, WRONG, RIGHT],
        renamed.id: [RIGHT, WRONG, WRONG, None],
        dead.id: [WRONG, WRONG, RIGHT, WRONG],
    }
    summary = summarise_prediction([original, renamed, dead], draws)
    assert values(summary.stability) == {"stability": (2 / 3 + 0 / 4) / 2, "repeat_agreement": 1 / 2}
    (difference,) = summary.differences
    assert (difference.metric, difference.first) == ("PC - OC", 0.75)
    assert difference.second == pytest.approx(2 / 7)


def test_by_operator():
    programs = [*both("a", mutation="number"), *both("b", mutation="logical"), *both("c", mutation="number")]
    draws = {p.id: [REVERTED if p.item == "a" else RIGHT] for p in programs}
    found = {name: values(rows) for name, rows in summarise_prediction(programs, draws).by_mutation.items()}
    assert found == {"number": {"MC": 0.5, "MR": 0.5}, "logical": {"MC": 1.0, "MR": 0.0}}


def test_items_of_one_question_widen_the_interval():
    def width(cluster_of):
        programs = [program(str(i), 0, "original", cluster=cluster_of(i)) for i in range(40)]
        draws = {p.id: [RIGHT if int(p.item) % 20 < 10 else WRONG] for p in programs}
        oc = summarise_prediction(programs, draws).tables[0].estimates[0]
        return oc.high - oc.low, oc.clusters

    alone, shared = width(str), width(lambda i: str(i % 20))
    assert (alone[1], shared[1]) == (40, 20)
    assert shared[0] > 1.3 * alone[0]


# ---------------------------------------------------------------------------------------------------- choice


def pick(chosen, draw=RIGHT):
    return Draw(draw.right, draw.typed, draw.exact, draw.reverted, draw.answered, draw.truncated, chosen)


def orders(item, **facts):
    return [Pair(id=f"{item}~{o}", cluster=item, item=item, case=0, original=o, **facts) for o in ("A", "B")]


O, M = pick("original"), pick("mutant")  # noqa: E741


def test_preference_and_correctness_given_the_choice():
    draws = {
        "a~A": [O, pick("original", WRONG), M, SILENT],
        "a~B": [pick("mutant", REVERTED), pick("mutant", SILENT), O, CUT],
    }
    summary = summarise_choice(orders("a"), draws)
    assert table(summary) == {
        "preference": 3 / 6,
        "OC": 2 / 3,
        "MC": 1 / 3,
        "OR": 0.0,
        "MR": 1 / 3,
        "accuracy": 3 / 8,
    }
    assert values(summary.given_answer) == {"OC": 2 / 3, "MC": 1 / 2, "accuracy": 3 / 5}
    assert (summary.samples, summary.valid, summary.truncated, summary.incomplete) == (8, 6, 1, 1)


def test_order_tells_preference_from_position():
    same = summarise_choice(orders("a"), {"a~A": [O, O, M], "a~B": [O, O, M]})
    assert values(same.order) == {
        "same_program": 1.0,
        "always_A": 0.0,
        "always_B": 0.0,
        "preference_consistent": 2 / 3,
        "chose_A": 0.5,
        "repeat_same": 1.0,
    }
    # the original stands under A in ~A and under B in ~B: choosing A both times is original, then mutant
    a = summarise_choice(orders("a"), {"a~A": [O, O], "a~B": [M, M]})
    assert values(a.order)["always_A"] == 1.0
    assert values(a.order)["chose_A"] == 1.0
    b = summarise_choice(orders("a"), {"a~A": [M, M], "a~B": [O, O]})
    assert values(b.order)["always_B"] == 1.0
    assert values(b.order)["chose_A"] == 0.0
    assert (a.position.difference, b.position.difference) == (1.0, -1.0)
    assert table(a)["preference"] == table(b)["preference"] == 0.5


def test_a_pair_asked_in_one_order_has_no_order_metrics_and_says_so():
    reasoning = summarise_reasoning([], orders("a"), {"a~A": [O, O]})
    assert {e.metric for e in reasoning.choice.order} == {"chose_A", "repeat_same"}
    assert reasoning.choice.position is None
    assert "presented in one order only" in " ".join(reasoning.warnings())


def test_reversion_of_choices_is_defined_as_in_prediction():
    pairs = [*orders("a", boolean=True), *orders("b", differs=False)]
    draws = {pair.id: [pick("original", REVERTED)] for pair in pairs}
    assert table(summarise_choice(pairs, draws)) == {"preference": 1.0, "OC": 0.0, "accuracy": 0.0}


def test_warnings_name_what_misleads():
    pairs = [*orders("a"), *orders("b")]
    draws = {"a~A": [O], "a~B": [M], "b~A": [O], "b~B": [SILENT]}
    said = " ".join(summarise_reasoning([], pairs, draws).warnings())
    assert "1 of 4 replies contain no valid choice" in said
    assert "position has more influence than preference" in said
    even = {"a~A": [O], "a~B": [O], "b~A": [O], "b~B": [O]}
    assert summarise_reasoning([], pairs, even).warnings() == []
    same = [*both("a", differs=False), *both("b")]
    (line,) = summarise_reasoning(same, [], {p.id: [RIGHT] for p in same}).warnings()
    assert line.startswith("on 1 of 2 mutant cases")


# ------------------------------------------------------------------------------------------------ comparison


def test_two_runs_are_paired_by_problem_and_the_gap_by_case():
    programs = [*both("a"), *both("b")]
    names = [p.id for p in programs]
    first = dict(zip(names, [[RIGHT], [WRONG], [RIGHT], [REVERTED]], strict=True))
    second = dict(zip(names, [[RIGHT], [RIGHT], [WRONG], [REVERTED]], strict=True))
    pairs = orders("a")
    one = summarise_reasoning(programs, pairs, {**first, "a~A": [O], "a~B": [M]})
    two = summarise_reasoning(programs, pairs, {**second, "a~A": [O], "a~B": [O]})
    found = {d.metric: d.difference for d in compare_reasoning(one, two)}
    assert found == {
        "OC": -0.5,
        "MC": 0.5,
        "MC - OC": 1.0,
        "OR": 0.0,
        "MR": 0.0,
        "choice preference": 0.5,
        "choice OC": 0.0,
        "choice OR": 0.0,
        "choice accuracy": 0.0,
        "choice same_program": 1.0,
    }
    assert compare_reasoning(one, one)[0].difference == 0


def test_the_gap_may_differ_by_two():
    programs = [*both("a"), *both("b")]
    up = per_case(programs, {p.id: [RIGHT if p.shown == "mutant" else WRONG] for p in programs})
    down = per_case(programs, {p.id: [WRONG if p.shown == "mutant" else RIGHT] for p in programs})
    gap = gap_difference(down, up)
    assert (gap.first, gap.second, gap.difference) == (-1.0, 1.0, 2.0)
    assert -2 <= gap.low <= 2 == gap.high
    assert gap_difference(down, []) is None


def with_syntax(programs, *, unfamiliar, depth):
    known = Covariates(unfamiliar=("Compare NotEq",) if unfamiliar else (), length=9, depth=depth, steps=None)
    plain = Covariates(unfamiliar=(), length=9, depth=4, steps=None)
    return [replace(p, covariates=known if p.shown == "mutant" else plain) for p in programs]


def test_pairs_are_parted_by_the_syntax_of_the_mutant():
    programs = [
        *with_syntax(both("a"), unfamiliar=False, depth=4),
        *with_syntax(both("b"), unfamiliar=True, depth=5),
    ]
    rows = [[RIGHT], [RIGHT], [RIGHT], [REVERTED]]
    draws = dict(zip([p.id for p in programs], rows, strict=True))
    summary = summarise_reasoning(programs, [], draws)
    found = {part.name: values(part.estimates) for part in summary.prediction.by_covariate}
    assert found == {
        "familiar syntax": {"OC": 1, "MC": 1, "OR": 0, "MR": 0},
        "unfamiliar syntax": {"OC": 1, "MC": 0, "OR": 0, "MR": 1},
        "shallower": {"OC": 1, "MC": 1, "OR": 0, "MR": 0},
        "deeper": {"OC": 1, "MC": 0, "OR": 0, "MR": 1},
    }
    assert [part.difference.difference for part in summary.prediction.by_covariate] == [0, -1, 0, -1]
    better = summarise_reasoning(programs, [], {p.id: [RIGHT] for p in programs})
    gains = {found.metric: found.difference for found in compare_reasoning(summary, better)}
    assert (gains["MC, familiar syntax"], gains["MC, unfamiliar syntax"], gains["MC, deeper"]) == (0, 1, 1)
    assert (gains["MR, familiar syntax"], gains["MR, unfamiliar syntax"]) == (0, -1)


def test_the_interval_of_the_gap_is_on_its_own_scale():
    programs = [program for item in range(30) for program in both(str(item))]
    lost = per_case(programs, {p.id: [RIGHT if p.shown == "original" else WRONG] for p in programs})
    kept = per_case(programs, {p.id: [RIGHT] for p in programs})
    gap = gap_difference(lost, kept)
    assert gap.difference == 1.0
    assert 0.6 < gap.low < 1.0 < gap.high < 1.3
    assert gap.p_value < 0.001
