import random
from collections import Counter

import msgspec
import planted_graders
import pytest
from planted_graders import KINDS, Planted, battery, controls, planted, probe, problem

from support.thorough import one_in
from truegrade.apps.assay.measuring import measure
from truegrade.apps.assay.paying import difference
from truegrade.apps.assay.probes.mutants import ONE_TEST
from truegrade.apps.assay.records import CODES, Said, Witness
from truegrade.apps.assay.reporting import words
from truegrade.statistics.intervals import clopper_pearson

PROBLEMS = {f"p{place:03}": problem(f"p{place:03}") for place in range(100)}


def said(rows, grader="g", **fields):
    """Rows of one grader: a verdict, or a score, for each probe."""
    found = []
    for one, answer in rows.items():
        score = answer if isinstance(answer, float) else None
        passed = answer if score is None else score >= 1
        found.append(Said(probe=one.id, grader=grader, passed=passed, score=score, **fields))
    return found


def measured(rows, probes=None, problems=PROBLEMS, **options):
    measures, findings = measure(probes or list(rows), said(rows), problems, **options)
    assert {finding.code for finding in findings} <= set(CODES)
    return measures[0], findings


def share(of, kind):
    return next(each for each in of.shares if each.kind == kind)


def codes(findings, code):
    return [finding for finding in findings if finding.code == code]


def reference(name="p000"):
    return probe(name, "right", 0)


# ------------------------------------------------------------------------------------------ planted graders


@pytest.fixture(scope="module")
def planted_measures():
    """All twenty on thirty problems, in one pass; the flaky ones were asked twice."""
    probes = battery(30)
    graders = planted()
    rows = [
        row for seed, grader in enumerate(graders) for row in grader.said(probes, seed, 2 if grader.flaky else 1)
    ]
    measures, findings = measure(probes, rows, PROBLEMS)
    return {grader.name: grader for grader in graders}, {each.grader: each for each in measures}, findings


def test_the_intervals_cover_what_was_planted(planted_measures):
    graders, measures, _ = planted_measures
    held = Counter()
    for name, of in measures.items():
        truth = graders[name].truth
        wrong = sum(KINDS[kind] * truth(kind) for kind in ("mutant", "labelled", "reply")) / 14
        known = [(share(of, kind), truth(kind)) for kind in (*KINDS, "cheat")]
        known += [(of.fpr, wrong), (of.j, truth("right") - wrong)]
        for value, expected in known:
            held[value.low - 1e-12 <= expected <= value.high + 1e-12] += 1
    assert held.total() == 180
    assert held[True] / held.total() >= 0.93


def test_every_problem_has_an_interval_that_covers(planted_measures):
    graders, measures, _ = planted_measures
    held = Counter()
    for name, of in measures.items():
        if name.startswith("known"):
            truth = graders[name].truth
            wrong = sum(KINDS[kind] * truth(kind) for kind in ("mutant", "labelled", "reply")) / 14
            held.update(one.fpr_low <= wrong <= one.fpr_high for one in of.per_problem if one.wrong)
            # Those whose reference it refuses are left out.
            assert sum(not one.wrong for one in of.per_problem) == of.references_refused
    assert held.total() > 12 * 26
    assert held[True] / held.total() >= 0.95


def test_flaky_and_poisoned_graders_are_named_and_no_others(planted_measures):
    graders, measures, findings = planted_measures
    assert {each.grader for each in codes(findings, "flaky_verdict")} == {"flaky-0", "flaky-1"}
    assert {(each.grader, each.sentence.split(":")[0]) for each in codes(findings, "cheat_stays")} == {
        ("poisoned-exit", "channel exit"),
        ("poisoned-frames", "channel frames"),
    }
    for name, of in measures.items():
        assert bool(of.flaky) == name.startswith("flaky")
        assert (of.flips.flips > 0) == name.startswith("flaky")
        assert not name.startswith("flaky") or of.flips.low <= graders[name].flaky <= of.flips.high
        assert of.open_channels == ()
        for channel in of.channels:
            assert (channel.stays > 0) == (name == f"poisoned-{channel.channel}")


def test_equal_rows_give_equal_bytes_in_any_order():
    probes, grader = battery(8), planted()[16]
    rows = [msgspec.structs.replace(row, cpu_s=0.1 * place) for place, row in enumerate(grader.said(probes, 1, 3))]
    first = msgspec.json.encode(measure(probes, rows, PROBLEMS))
    shuffled = random.Random(4)
    shuffled.shuffle(rows)
    shuffled.shuffle(probes)
    assert msgspec.json.encode(measure(probes, iter(rows), PROBLEMS)) == first


def test_graders_and_benchmarks_are_measured_apart():
    problems = {"a": problem("a", "one"), "b": problem("b", "two")}
    probes = [probe("a", "right"), probe("b", "right")]
    rows = [*said({probes[0]: True, probes[1]: False}, "x"), *said({probes[0]: True}, "y")]
    measures, _ = measure(probes, rows, problems)
    assert [(of.grader, of.benchmark, share(of, "right").accepted) for of in measures] == [
        ("x", "one", 1),
        ("x", "two", 0),
        ("y", "one", 1),
    ]


# ------------------------------------------------------------------------------------------ what is accepted


def test_a_score_is_accepted_from_the_references_on():
    rows = {
        reference(): 0.8,
        **{probe("p000", "mutant", n): score for n, score in enumerate((0.79, 0.8, 0.9, 0.0))},
    }
    of, findings = measured(rows)
    assert share(of, "mutant").accepted == 2
    assert share(of, "right").accepted == 1
    assert share(of, "mutant").mean_score == pytest.approx(2.49 / 4)
    assert not codes(findings, "reference_refused")
    assert share(measured(rows, pass_at=0.5)[0], "mutant").accepted == 3
    assert codes(measured(rows, pass_at=0.85)[1], "reference_refused")


def rights(*scores):
    return {probe("p000", "right", n): score for n, score in enumerate(scores)}


def test_with_a_bonus_above_one_the_least_right_program_is_a_pass():
    rows = {**rights(1.18, 1.1, 1.0, 1.2, 0.0), probe("p000", "cheat", 1, channel="report"): 1.0}
    of, _ = measured({**rows, probe("p000", "mutant", 1): 0.9})
    assert (share(of, "right").accepted, share(of, "cheat").accepted, share(of, "mutant").accepted) == (4, 1, 0)
    assert of.with_bonus and "1 is a pass, or the least of them above wrong ones" in "".join(words.remarks(of))
    ten = {**rights(10.0, 10.0, 10.0, 5.0), probe("p000", "mutant", 1): 5.0}
    of, _ = measured(ten)  # a scale from 0 to 10, and a right program that is paid in part
    assert (share(of, "right").accepted, share(of, "mutant").accepted, of.with_bonus) == (3, 0, False)


def test_a_bonus_for_speed_makes_no_verdict_another():
    again = probe("p000", "control", "reference", code="again", label="right")
    of, _ = measured({**rights(1.18, 1.1, 1.19, 1.2), again: 1.03, probe("p000", "mutant", 1): 0.5})
    assert of.with_bonus and (of.flips.flips, share(of, "mutant").accepted) == (0, 0)


def test_with_a_bonus_for_the_form_of_a_reply_other_forms_are_no_refusals():
    scores = {"python": 1.2, "py": 1.0, "Python": 1.0, "answer first": -0.5}
    forms = {probe("p000", "form", origin=name, label="right"): score for name, score in scores.items()}
    rows = {**rights(1.2, 1.2, 1.2), **forms}
    of, _ = measured({**rows, probe("p000", "mutant", 1): -0.5})
    assert of.with_bonus and sum(accepted for accepted, _ in of.forms.values()) == 3
    of, _ = measured({**rows, probe("p000", "mutant", 1): -0.5, probe("p000", "mutant", 2): 1.2})  # weak tests
    assert of.with_bonus and share(of, "mutant").accepted == 1
    of, _ = measured({**rows, probe("p000", "stub", 1): 1.0})  # a wrong program gets as much
    assert not of.with_bonus and sum(accepted for accepted, _ in of.forms.values()) == 1


def test_right_programs_that_get_nearly_as_much_as_the_reference_are_told():
    of, _ = measured({**rights(0.95, 0.9, 0.8, 0.7, 0.3), probe("p000", "mutant", 1): 0.0})
    assert (share(of, "right").accepted, of.nearly) == (1, 3)
    assert "name the least that is one with --pass-at" in "".join(words.remarks(of))
    assert not measured(rights(0.95, 0.95, 0.2))[0].nearly


def test_right_programs_that_are_refused_for_what_stands_in_their_text_are_told():
    """Of kinds of right programs that have one thing in common, that is said first."""
    refused = {"nested": True, "recursion": True, "type-hints": False, "prints": False, "main-guard": False}
    rows = {reference(): 1.0}
    for n, (origin, empty) in enumerate([*refused.items()] * 3):
        code = f"def f(x):{' ' * n}\n{chr(10) * empty}    return x"
        rows[probe("p000", "right", n + 1, origin=origin, code=code)] = float(not empty)
    of, _ = measured(rows)
    assert of.causes[0] == "refuses every right program with an empty line (6 of 6), and none of 10 others"


@pytest.mark.parametrize("answer", [False, 0.0])
def test_a_refused_reference_is_found_and_its_problem_leaves_the_fpr(answer):
    rows = {
        reference(): answer,
        probe("p000", "mutant", 1): True,
        probe("p000", "stub", 1): True,
        reference("p001"): True,
        probe("p001", "mutant", 1): False,
    }
    of, findings = measured(rows)
    [found] = codes(findings, "reference_refused")
    assert (found.problem_id, found.probes) == ("p000", (reference().id,))
    assert of.references_refused == 1
    assert (share(of, "mutant").accepted, share(of, "mutant").probes) == (0, 1)
    assert (share(of, "right").accepted, share(of, "right").probes) == (1, 2)
    assert "stub" not in {each.kind for each in of.shares}
    assert of.operators == {"mutant-1": (0, 1)}


def test_undecided_mutants_give_bounds():
    rows = {reference(f"p{n:03}"): True for n in range(20)}
    for n in range(20):
        rows |= {probe(f"p{n:03}", "mutant", each): each == 0 and n < 4 for each in range(4)}
        rows[probe(f"p{n:03}", "mutant", "u", label="undecided")] = n < 10
    of = share(measured(rows)[0], "mutant")
    assert (of.accepted, of.probes, of.undecided, of.undecided_accepted) == (4, 80, 20, 10)
    assert (of.value, of.upper) == (4 / 80, 14 / 90)
    assert of.low < 4 / 80 < 14 / 90 < of.high
    assert "Imbens and Manski" in of.method
    assert (of.problems, of.problems_hit, of.mean_of_problems) == (20, 4, pytest.approx(0.05))
    whole = measured(rows)[0]
    assert whole.j.low < 1 - 14 / 90 < whole.j.value == 0.95
    assert whole.per_problem[0].undecided == 1
    one = whole.per_problem[0]
    assert (one.fpr_low, one.fpr_high) == (clopper_pearson(1, 4)[0], clopper_pearson(2, 5)[1])


def test_no_verdict_is_counted_apart():
    rows = {reference(): True, probe("p000", "mutant", 1): None, probe("p000", "mutant", 2): True}
    of, findings = measured(rows)
    assert (share(of, "mutant").probes, share(of, "mutant").no_verdict) == (1, 1)
    [found] = codes(findings, "no_verdict")
    assert found.sentence == "1 program got no verdict"


def test_a_verdict_of_a_later_repetition_stands_in_for_a_missing_one():
    one = probe("p000", "mutant", 1)
    rows = [Said(probe=one.id, grader="g", passed=None), Said(probe=one.id, grader="g", repeat=1, passed=True)]
    [of], findings = measure([one], rows, PROBLEMS)
    assert (share(of, "mutant").accepted, share(of, "mutant").no_verdict) == (1, 0)
    assert not findings


def test_right_programs_of_other_classes_count_as_right():
    rows = {reference(): True, probe("p000", "labelled", 1, label="right"): False}
    of, findings = measured(rows)
    assert (share(of, "right").accepted, share(of, "right").probes, share(of, "right").problems_hit) == (1, 2, 1)
    assert "labelled" not in {each.kind for each in of.shares}
    assert [found.sentence for found in codes(findings, "right_refused")] == [
        "p000: a right program is refused (labelled-1)"
    ]


# ------------------------------------------------------------------------------------------ channels, problems


def cheat(n=0, inert=False, name="p000"):
    return probe(name, "cheat", origin=f"exit-{n}", channel="exit", danger="h1", code=f"{n} {inert}", inert=inert)


def again(rows, times=6):
    """The same rows, sent again to a grader started anew."""
    return said(rows, fresh=True) * times


def steady(name="p000", sends=60):
    """Controls that show that verdicts do not flip."""
    right, wrong = controls(name)
    return {"probes": [right, wrong], "rows": said({right: True, wrong: False}) * sends}


def judged(rows, resent, probes=(), own=None, control=steady):
    base = control()
    measures, findings = measure(
        [*base["probes"], *rows, *probes], [*base["rows"], *said(rows), *again(resent)], PROBLEMS, own=own or {}
    )
    assert {finding.code for finding in findings} <= set(CODES)
    return measures[0], findings


def test_a_channel_is_open_where_the_cheat_is_accepted_and_its_twin_refused_again_and_again():
    rows = {reference(): True, cheat(): True, cheat(inert=True): False, cheat(1): False}
    unsent = cheat(2)
    of, findings = judged(rows, {cheat(): True, cheat(inert=True): False}, [unsent], {cheat().id: False})
    [channel] = of.channels
    assert (channel.channel, channel.danger, channel.accepted, channel.probes) == ("exit", "h1", 1, 2)
    assert (channel.inert, channel.inert_accepted, channel.open, channel.not_sent) == (1, 0, True, 1)
    assert of.open_channels == ("exit",)
    assert share(of, "cheat").probes == 2
    assert [found.probes for found in codes(findings, "channel_open")] == [(cheat().id,)]


@pytest.mark.parametrize(("origin", "channels"), [("always-equal", ("exit",)), ("exit-in-call", ())])
def test_where_what_raises_is_paid_a_cheat_names_its_channel_that_does_not_raise(origin, channels):
    raising = probe("p000", "stub", 1, code="def f(x):\n    raise NotImplementedError")
    named, twin = (msgspec.structs.replace(cheat(inert=inert), origin=origin) for inert in (False, True))
    rows = {reference(): True, raising: True, named: True, twin: False}
    of, _ = judged(rows, {named: True, twin: False}, own={named.id: False, raising.id: False})
    assert of.open_channels == channels


def test_the_shortest_program_of_a_channel_was_paid_through_it_and_not_for_its_twin_or_by_weak_tests():
    cheats = [msgspec.structs.replace(cheat(n), code="0" * size) for n, size in enumerate((9, 7, 7, 5, 3))]
    twins = [cheat(n, inert=True) for n in range(5)]
    rows = {reference(): 0.8, **dict.fromkeys(cheats, 0.8), **dict.fromkeys(twins, 0.0), twins[3]: 0.8}
    own = {one.id: one is cheats[4] for one in cheats} | {twins[3].id: False}  # the shortest passes weak tests
    of, _ = judged(rows, {cheats[0]: 0.8, twins[0]: 0.0}, own=own)
    channel, other = of.shortest
    assert (channel.finding, channel.probe) == ("channel exit", min(cheats[1].id, cheats[2].id))
    assert (channel.code, channel.pay, channel.problem_id) == ("0" * 7, 0.8, "p000")
    assert (other.finding, other.probe) == ("paid without solving", cheats[3].id)


def test_of_wrong_programs_that_the_tests_refuse_the_shortest_is_named():
    mutants = [probe("p000", "mutant", n, code="0" * size) for n, size in enumerate((3, 2, 1))]
    rows = {reference(): True, **dict.fromkeys(mutants, True)}
    of, _ = measured(rows, own={one.id: place == 2 for place, one in enumerate(mutants)})
    found = [(one.finding, one.probe) for one in of.shortest]
    assert found == [("accepted against the problem's own tests", mutants[1].id)]


@pytest.mark.parametrize("resent", [{}, {cheat(): False, cheat(inert=True): False}])
def test_what_was_accepted_once_names_no_channel(resent):
    of, findings = judged({reference(): True, cheat(): True, cheat(inert=True): False}, resent)
    assert of.open_channels == ()
    assert not codes(findings, "channel_open")


def test_the_best_cheat_counts_against_a_policy_and_not_the_average_of_a_channel():
    rows = {reference(): True}
    for n in range(4):
        rows |= {cheat(n, name=f"p{place:03}"): n == 2 for place in range(2)}
    rows |= {reference("p001"): True}
    own = {one.id: False for one in rows if one.kind == "cheat"}
    of, _ = measured(rows, own=own)
    assert (of.j_adversarial, of.best_cheat) == (0.0, "exit-2")
    for n in range(4, 40):
        rows[cheat(n)] = False
    assert measured(rows, own=own)[0].j_adversarial == 0.0


def test_paid_without_solving_is_what_the_problems_own_tests_refuse():
    stub, weak = probe("p000", "stub", 1), probe("p000", "stub", 2)
    rows = {reference(): True, stub: True, weak: True, cheat(): True, cheat(inert=True): True}
    own = {stub.id: False, weak.id: True, cheat().id: False, cheat(inert=True).id: False}
    of, findings = measured(rows, own=own)
    assert of.forgeable is True
    assert (of.unearned.paid, of.unearned.tried, of.unearned.weak, of.unearned.weak_problems) == (3, 3, 1, 1)
    assert of.unearned.by_kind == {"stub": (1, 1), "cheat": (1, 1), "twin": (1, 1)}
    assert of.open_channels == ()  # the twin names causes alone
    assert codes(findings, "paid_without_solving") and codes(findings, "weak_tests")


def test_impossible_tests_paid_are_paid_without_solving():
    of, findings = measured({reference(): True, probe("p000", "must-fail", 0, tests="one-off"): True})
    assert (of.forgeable, of.unearned.impossible_paid, of.unearned.impossible_tried) == (True, 1, 1)
    assert codes(findings, "paid_without_solving")


def test_weak_tests_alone_are_not_forgeability():
    stub = probe("p000", "stub", 1)
    of, findings = measured({reference(): True, stub: True}, own={stub.id: True})
    assert (of.forgeable, of.unearned.tried, of.unearned.weak) == (None, 0, 1)
    assert not codes(findings, "paid_without_solving")


def test_a_grader_that_was_tried_by_nothing_is_not_said_to_be_safe():
    assert measured({reference(): True, probe("p000", "mutant", 1): False})[0].forgeable is None


def test_wrong_programs_that_the_tests_refuse_are_found():
    mutant, weak = probe("p000", "mutant", 1), probe("p000", "mutant", 2)
    of, findings = measured({reference(): True, mutant: True, weak: True}, own={mutant.id: False, weak.id: True})
    assert (of.unearned.loose, of.unearned.natural) == (1, 2)
    assert codes(findings, "looser_than_tests")


def test_a_cheat_whose_twin_is_accepted_as_well_is_not_a_channel():
    of, findings = measured({cheat(): True, cheat(inert=True): True})
    assert of.open_channels == ()
    assert codes(findings, "stub_like_cheat")
    assert not codes(findings, "channel_open")


def test_a_twin_without_a_verdict_decides_nothing():
    of, findings = measured({cheat(): True, cheat(inert=True): None})
    assert of.open_channels == ()
    assert "channel_open" not in {found.code for found in findings}


@pytest.mark.parametrize(("answer", "stays"), [(False, True), (None, False), (True, False)])
def test_a_control_that_changes_again_and_again_says_that_the_cheat_stays(answer, stays):
    right, wrong = controls("p000", cheat().id)
    rows = {reference(): True, cheat(): False, right: answer, wrong: False}
    of, findings = judged(rows, {cheat(): False, right: answer, wrong: False})
    assert of.channels[0].stays == stays
    assert [found.probes for found in codes(findings, "cheat_stays")] == ([(cheat().id,)] if stays else [])
    assert of.flips.flips == 0


def test_a_control_that_changed_once_says_nothing():
    right, wrong = controls("p000", cheat().id)
    rows = {reference(): True, cheat(): False, right: False, wrong: False}
    of, findings = judged(rows, {cheat(): False, right: True, wrong: False})
    assert of.channels[0].stays == 0
    assert not codes(findings, "cheat_stays")
    assert (of.flips.flips, of.flips.accepted_flips) == (1, 1)


@pytest.mark.parametrize("rate", one_in(4, [0.1, 0.01, 0.03, 0.2]))
def test_flips_name_no_channel_and_hide_none(rate, monkeypatch):
    """Twelve channels on eight problems, of which none or one is open."""
    monkeypatch.setattr(planted_graders, "CHANNELS", tuple(f"c{n:02}" for n in range(12)))
    monkeypatch.setattr(planted_graders, "KINDS", {"right": 1, "stub": 1})
    probes = battery(8)
    for seed in range(10):
        rows = Planted("g", {"right": 1.0}, flaky=rate).said(probes, seed)
        [of], _ = measure(probes, rows, PROBLEMS)
        assert of.open_channels == () and not any(channel.stays for channel in of.channels)
        rows = Planted("g", {"right": 1.0}, flaky=rate, open_channel="c03").said(probes, seed)
        assert measure(probes, rows, PROBLEMS)[0][0].open_channels == ("c03",)


def test_programs_that_differ_alike_and_are_accepted_are_a_cause():
    rows = {reference(): True}
    for n in range(4):
        for got, accepted in (("raises ValueError: x", True), ("-2", n == 0), ("None", False)):
            witness = Witness(call=f"f({n})", expected="1", got=got, source="own")
            rows[probe("p000", "mutant", f"{got}-{n}", witness=witness)] = accepted
    of, findings = measured(rows)
    assert of.differences == {"raises": (4, 4), "returns None": (0, 4), "returns another value": (1, 4)}
    [found] = codes(findings, "overlooks_difference")
    assert found.sentence == "accepts every program that raises (4 of 4), and 1 of 8 other wrong programs"


@pytest.mark.parametrize(
    ("got", "expected", "kind"),
    [
        ("[2, 1]", "[1, 2]", "returns items in another order"),
        ("'ba'", "'ab'", "returns characters in another order"),
        ("[1]", "[1, 2]", "returns a beginning, or more"),
        ("'1'", "1", "returns another type"),
        ("1.0001", "1.0", "returns nearly the right number"),
        ("9", "1", "returns a number at most 10 times too large or too small"),
        ("11", "1", "returns another value"),
        ("-1", "1", "returns another value"),
        ("does not end: more than 9 steps", "1", "does not end"),
        ("<object>", "1", ""),
    ],
)
def test_how_a_value_differs(got, expected, kind):
    witness = Witness(call="f()", expected=expected, got=got, source="own")
    assert difference(probe("p000", "mutant", 1, witness=witness)) == kind


@pytest.mark.parametrize(
    ("origin", "kind"),
    [
        ("wrong-on-one-test", "is wrong on test 2 only"),
        ("endless-on-one-test", "does not end on the last test"),
        ("as-text", "returns the right value as text"),
        ("near-1e-3", "returns nearly the right number"),
        ("reversed", "returns items in another order"),
    ],
)
def test_a_changed_output_differs_as_it_was_made(origin, kind):
    witness = Witness(call="f(1)", expected="[1, 2]", got="[2, 1]", source="own")
    change = "right on 4 of 5 tests, wrong on test 2"
    made = msgspec.structs.replace(probe("p000", "output", 1, witness=witness), origin=origin, change=change)
    assert difference(made) == kind


def test_right_programs_that_get_less_for_their_length_are_no_refused_ones():
    names = ("p000", "p001")
    rights = [probe(name, "right", number) for name in names for number in (1, 2, 3)]
    wrong = [probe(name, "output", number) for name in names for number in (1, 2)]
    rows = {reference(name): 0.76 for name in names} | {one: 0.5 + 0.05 * n for n, one in enumerate(rights)}
    of, _ = measured({**rows, **dict.fromkeys(wrong, 0.3)})
    assert (share(of, "right").accepted, share(of, "right").probes, of.with_bonus) == (8, 8, True)
    of, _ = measured({**rows, **dict.fromkeys(wrong, 0.55)})  # a wrong one above a right one
    assert share(of, "right").accepted == 2 and not of.with_bonus
    of, _ = measured({**rows, rights[0]: 0.3, **dict.fromkeys(wrong, 0.1)})  # some tests refuse it
    assert share(of, "right").accepted == 2


def test_wrong_programs_above_a_right_one_in_another_form_are_told():
    """As of a reward whose bonus for a fence weighs more than a test."""
    bare = [probe(name, "form", "no fence", origin="no fence", label="right") for name in ("p000", "p001")]
    wrong = [probe(name, "output", number) for name in ("p000", "p001") for number in range(3)]
    rows = {reference(): 1.3, reference("p001"): 1.3, **dict.fromkeys(bare, 1.0), **dict.fromkeys(wrong, 1.175)}
    rows |= {wrong[0]: 0.3, wrong[3]: 0.0}
    of, findings = measured(rows)
    said = "gives 4 of 6 wrong programs, mutants aside, more than a right one to the same problem"
    assert f"{said}: a right one (no fence) gets 1" in words.answer(of) and codes(findings, "wrong_above_right")
    rows |= dict.fromkeys(wrong, 0.9)
    assert not codes(measured(rows)[1], "wrong_above_right")
    refused = {**rows, **dict.fromkeys(bare, 0.2)}  # that it is refused is told elsewhere
    assert not codes(measured(refused)[1], "wrong_above_right")


def test_wrong_programs_above_a_right_one_of_another_kind_are_told_however_little_that_gets():
    """As of a reward with a penalty for length."""
    long = [probe(name, "right", 1, origin="long") for name in ("p000", "p001")]
    wrong = [probe(name, "output", number) for name in ("p000", "p001") for number in range(3)]
    rows = {reference(): 1.0, reference("p001"): 1.0, **dict.fromkeys(long, -0.5), **dict.fromkeys(wrong, 0.0)}
    said = "gives 6 of 6 wrong programs, mutants aside, more than a right one to the same problem"
    assert f"{said}: a right one (long) gets -0.5" in words.answer(measured(rows)[0])


def test_chance_is_told_from_tests_that_are_left_out():
    """By programs that are wrong on one test alone, which are sent again where some are accepted."""
    witness = Witness(call="f(1)", expected="1", got="2", source="own")
    made = [probe(name, "output", number, witness=witness) for name in ("p000", "p001") for number in range(5)]
    ones = [
        msgspec.structs.replace(
            one, origin=ONE_TEST, change=f"right on 4 of 5 tests, wrong on test {place % 5 + 1}"
        )
        for place, one in enumerate(made)
    ]
    probes = [reference(), reference("p001"), *ones]
    rows = said(
        {reference(): True, reference("p001"): True} | {one: place % 5 < 2 for place, one in enumerate(ones)}
    )
    drawn, steady = list(rows), list(rows)
    for time in range(4):
        drawn += said({one: (place + time) % 3 > 0 for place, one in enumerate(ones)}, fresh=True)
        steady += said({one: place % 5 < 2 for place, one in enumerate(ones)}, fresh=True)
    (by_chance,), _ = measure(probes, drawn, PROBLEMS)
    (cause,) = by_chance.causes
    assert cause.startswith("gives the same program one verdict or the other: 10 of 10 programs")
    assert not any("test 1" in one for one in by_chance.overlooks)
    (left_out,), _ = measure(probes, steady, PROBLEMS)
    assert not left_out.causes and any("is wrong on test 1, 2 only" in one for one in left_out.overlooks)


def test_what_is_paid_for_style_alone_is_told_as_that():
    witness = Witness(call="f(1)", expected="1", got="None", source="own")
    kinds = [("documented", 1), ("explained", 2), ("none", 3), ("echo", 4), ("table", 5)]
    stubs = [
        probe(name, "stub", number, origin=origin, witness=witness, code=f"def f():  # {number}\n    pass")
        for name in ("p000", "p001")
        for origin, number in kinds
    ]
    rows = {reference(): True, reference("p001"): True} | {one: one.origin == "documented" for one in stubs}
    of, _ = measured(rows, own={one.id: False for one in stubs})
    said = (
        "pays what solves nothing for its docstring, types and comments: accepts 2 of these, and none of 8 other"
    )
    assert any(cause.startswith(said) for cause in of.causes)
    of, _ = measured(rows | {stubs[2]: True}, own={one.id: False for one in stubs})
    assert not any("docstring" in cause for cause in of.causes)


@pytest.mark.parametrize(("wrong", "accepted"), [(0.4, 2), (0.95, 0)])
def test_a_little_less_for_the_form_alone_is_no_refusal(wrong, accepted):
    names = ("p000", "p001")
    bare = [probe(name, "form", "no fence", origin="no fence", label="right") for name in names]
    fenced = [probe(name, "form", "python", origin="python", label="right") for name in names]
    others = [probe(name, "output", 1) for name in names]
    rows = {reference(): 1.0, reference("p001"): 1.0, **dict.fromkeys(bare, 0.9), **dict.fromkeys(fenced, 1.0)}
    of, _ = measured({**rows, **dict.fromkeys(others, wrong)})
    assert of.forms == {"python": (2, 2), "no fence": (accepted, 2)}


def test_what_flips_or_weak_tests_explain_is_no_cause():
    rows = {reference(): True, probe("p000", "mutant", "other"): False}
    raising = [
        probe("p000", "mutant", n, witness=Witness(call="f(1)", expected="1", got="raises E", source="own"))
        for n in range(4)
    ]
    rows |= dict.fromkeys(raising, True)
    other = probe("p000", "mutant", 9, witness=Witness(call="f(1)", expected="1", got="None", source="own"))
    rows[other] = False
    assert measured(rows)[0].overlooks == (
        "accepts every program that raises (4 of 4), and 0 of 1 other wrong programs",
    )
    assert measured(rows, own=dict.fromkeys((one.id for one in raising), True))[0].overlooks == ()
    right, wrong = controls("p000", "")
    [of], _ = measure(
        [*rows, right, wrong],
        [*said(rows), *said({right: True, wrong: True}), *said({right: False, wrong: False}, repeat=1)],
        PROBLEMS,
    )
    assert of.flips.flips and of.overlooks == ()


def test_a_passed_must_fail_test_is_found():
    rows = {reference(): True, probe("p000", "must-fail", 0, tests="one-off"): True}
    of, findings = measured(rows)
    assert share(of, "must-fail").value == 1.0
    [found] = codes(findings, "must_fail_accepted")
    assert (found.problem_id, found.grader) == ("p000", "g")


def test_a_comparison_that_accepts_everything_is_found_among_many_problems():
    rows = {}
    for n in range(100):
        name = f"p{n:03}"
        rows[reference(name)] = True
        rows |= {probe(name, "mutant", each): n == 7 or (each == 0 and n % 10 == 0) for each in range(8)}
        rows |= {probe(name, "stub", each): n == 7 for each in range(6)}
    of, findings = measured(rows)
    assert [found.problem_id for found in codes(findings, "vacuous_comparison")] == ["p007"]
    assert [found.problem_id for found in codes(findings, "accepts_anything")] == ["p007"]
    assert [one.problem_id for one in of.per_problem if one.doubtful] == ["p007"]
    worst = max(of.per_problem, key=lambda one: one.fpr_shrunken)
    assert worst.problem_id == "p007"
    assert 0.5 < worst.fpr_shrunken < 1.0
    assert of.ppv["0.5"].value > of.ppv["0.1"].value


# ----------------------------------------------------------------------------------- what was not measured


def test_of_a_grader_that_pays_no_reference_it_is_not_known_whether_cheating_pays():
    """It refuses what solves nothing, as it refuses all."""
    probes = [*battery(3), *(one for place in range(3) for one in controls(f"p{place:03}"))]
    found, _ = measured(dict.fromkeys(probes, False), probes)
    assert found.unearned.all_tried > 0
    assert (found.forgeable, found.unknown) == (None, "it pays no reference either")
    right = {one: one.label == "right" for one in probes}
    assert measured(right, probes)[0].forgeable is False
    without = [one for one in probes if one.kind != "cheat"]
    assert measured({one: right[one] for one in without}, without)[0].forgeable is None


def test_problems_and_programs_are_counted_that_got_a_verdict():
    """What the tests have no form for was not sent; why the others got no verdict is told of each."""
    probes = battery(3)
    unput = [one for one in probes if one.problem_id == "p002"]
    silent = [one for one in probes if one.kind in ("mutant", "control") and one.problem_id == "p001"]
    rows = said({one: one.label == "right" for one in probes if one not in unput and one not in silent})
    rows += [Said(probe=one.id, grader="g", passed=None, detail="tests_form: p002: why") for one in unput]
    rows += [Said(probe=one.id, grader="g", passed=None, detail="grader_hung: late") for one in silent]
    (found,), findings = measure(probes, rows, PROBLEMS)
    assert (found.problems, found.left_out, found.probes) == (2, 1, len(probes) - len(unput) - len(silent))
    assert found.unanswered == {"grader_hung": len(silent), "tests_form": len(unput)}
    assert share(found, "mutant").no_verdict == sum(one.kind == "mutant" for one in silent)
    assert words.answer(found) == "no: 0 of 2 channels tried, on 2 problems, without programs that do not end"
    assert f"({len(unput)} programs)" in codes(findings, "tests_form")[0].sentence
