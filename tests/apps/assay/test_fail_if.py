"""Conditions on a measured grader: Python's own truth where all is known, never a silent pass where it is not."""

from __future__ import annotations

import itertools

import msgspec
import pytest
from assay_samples import material
from hypothesis import given
from hypothesis import strategies as st

from truegrade.apps.assay.measures import COUNTS, VALUES, MeasuredValue, holds_for, read_grader_condition, silenced
from truegrade.apps.assay.records import CODES as CODES_OF_RECORDS
from truegrade.errors import UserError
from truegrade.statistics.conditions import MAX_CHARS
from truegrade.statistics.error_rates import GraderCount, error_ratios, j_span

CODES = ("stays", "reference_refused", "must_fail_accepted")
MEASURE = material(("loose@1",)).summary.measures[0]
replace = msgspec.structs.replace


def with_values(j=0.5, tpr=0.9, fpr=0.4, adversarial=0.0, paid=0, silent=0):
    """A measure of these numbers."""
    shares = [replace(one, no_verdict=0) for one in MEASURE.shares]
    shares[0] = replace(shares[0], value=tpr, low=tpr, no_verdict=silent)
    assert shares[0].kind == "right"
    return replace(
        MEASURE, shares=tuple(shares), unanswered={"grader_hung": silent},
        j=MeasuredValue(value=j, low=j, high=j), forgeable=paid > 0,
        unearned=replace(MEASURE.unearned, paid=paid, impossible_paid=0),
        fpr=MeasuredValue(value=fpr, low=fpr, high=fpr), j_adversarial=adversarial,
    )  # fmt: skip


def holds(text, measure=MEASURE, findings=None, codes=CODES):
    return holds_for(read_grader_condition(text, codes), measure, findings or {})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("J<0.9 or forgeable", True),
        ("J < 0.9", True),
        ("J<0.9 and not forgeable", False),
        ("not (J < 0.2)", True),
        ("0.5 < FPR <= 0.6", True),
        ("0.5 < FPR < 0.55", False),
        ("TPR > FPR", True),
        ("J_adversarial < -0.1", True),
        ("J_low >= 0.22", False),
        ("FPR_high > 0.6", True),
        ("TPR_low > +0.7", True),
        ("forgeable == 4", True),
        ("forgeable > 4", False),
        ("open_channels == 1", True),
        ("flips > 0.04", True),
        ("no_verdict", False),
        ("no_verdict > 0 or stays", True),
        ("stays >= 3", False),
        ("reference_refused", False),
        ("must_fail_accepted", True),
        ("must_fail_accepted > 4", True),
        ("\n J <\n 0.9 ", True),
    ],
)
def test_conditions(text, expected):
    assert holds(text, findings={"stays": 2, "must_fail_accepted": 5}) is expected


@pytest.mark.parametrize(
    ("text", "character", "says"),
    [
        ("J<0.9 orr forgeable", 7, "not an expression"),
        ("J<", 3, "not an expression"),
        ("J<0.9 or forgable", 10, "no value or finding 'forgable'"),
        ("J<0.9 or must-fail", 10, "neither a name nor a number"),
        ("J", 1, "J is a share; compare it with a number"),
        ("stays and not FPR", 15, "FPR is a share"),
        ("0.5", 1, "a number alone"),
        ("J + 1 < 2", 1, "neither a name nor a number"),
        ("J - 1 < 2", 1, "neither a name nor a number"),
        ("J < 2 - FPR", 5, "only comparisons"),
        ("J < True", 5, "neither a name nor a number"),
        ("J is 1", 1, "compare with <"),
        ("J in (1, 2)", 1, "compare with <"),
        ("J < '0.9'", 5, "neither a name nor a number"),
        ("__import__('os').system('x')", 1, "neither a name nor a number"),
        ("J < (lambda: 1)()", 5, "neither a name nor a number"),
        ("[J for J in stays]", 1, "neither a name nor a number"),
        ("stays if J<1 else stays", 1, "neither a name nor a number"),
        ("(J := 1) < 2", 2, "neither a name nor a number"),
        ("stays or é or Ω<1", 10, "no value or finding 'é'"),
        ("stays or 'é' < J or K", 10, "neither a name nor a number"),
        ("stays or J < 1 or Ω", 19, "no value or finding 'Ω'"),
        ("J < 1j", 5, "neither a name nor a number"),
        ("J < 1e999", 5, "a number this large"),
        ("stays or J < 90", 14, "J is a share: write 0.9 for 90 %"),
        ("FPR > -2.5", 7, "FPR is a share: write 0.025 for 2.5 %"),
        ("J\0<1", None, "not an expression"),
        ("(" * 300 + "J<1" + ")" * 300, None, "not an expression"),
    ],
)
def test_a_bad_condition_is_refused_with_its_place(text, character, says):
    with pytest.raises(UserError) as refused:
        read_grader_condition(text, CODES)
    message = str(refused.value)
    assert says in message and "\n" not in message
    assert message.startswith("`fail_if` ")
    assert character is None or f", character {character}: " in message


@pytest.mark.parametrize("text", ["", "  \n ", "J<1 or " * MAX_CHARS + "J<1"])
def test_nothing_and_too_much_are_refused(text):
    with pytest.raises(UserError, match="give a condition"):
        read_grader_condition(text, CODES)


def test_as_many_words_as_fit_are_read():
    assert holds("not " * 200 + "stays", findings={"stays": 1}) is True
    assert holds(" or ".join(["stays"] * 100), findings={"stays": 1}) is True


NAMES = ("J", "TPR", "FPR", "J_adversarial")
counts = st.sampled_from(("forgeable", "no_verdict", "stays"))
numbers = st.sampled_from(("0", "0.25", "0.5", "1", "-0.5"))
operands = st.one_of(st.sampled_from(NAMES), numbers, counts)
compared = st.builds(
    lambda first, rest: first + "".join(f" {sign} {operand}" for sign, operand in rest),
    operands,
    st.lists(st.tuples(st.sampled_from(("<", "<=", ">", ">=", "==", "!=")), operands), min_size=1, max_size=3),
)
conditions = st.recursive(
    st.one_of(compared, counts),
    lambda inner: st.one_of(
        inner.map(lambda one: f"not ({one})"),
        st.builds(
            lambda word, parts: f" {word} ".join(f"({part})" for part in parts),
            st.sampled_from(("and", "or")),
            st.lists(inner, min_size=2, max_size=3),
        ),
    ),
    max_leaves=8,
)
shares = st.sampled_from((-0.5, 0.0, 0.25, 0.5, 1.0))


@given(text=conditions, values=st.tuples(shares, shares, shares, shares), few=st.tuples(*[st.integers(0, 2)] * 3))
def test_a_condition_means_what_python_means(text, values, few):
    j, tpr, fpr, adversarial = values
    silent = few[1] if read_grader_condition(text, CODES).bounds("no_verdict") else 0
    measure = with_values(j, tpr, fpr, adversarial, few[0], silent)
    names = dict(zip(NAMES, values, strict=True), forgeable=few[0], no_verdict=silent, stays=few[2])
    assert holds(text, measure, {"stays": few[2]}) is bool(eval(text, {"__builtins__": {}}, names))


@given(text=conditions, known=st.tuples(*[st.booleans()] * 4), few=st.tuples(*[st.integers(0, 1)] * 3))
def test_what_was_not_measured_never_makes_a_condition_pass_by_chance(text, known, few):
    """It may be denied only if no value of what is missing would make it true."""
    given_values = [0.25 if there else None for there in known]
    silent = few[1] if "no_verdict" in text else 0
    measure = with_values(*given_values, few[0], silent)
    findings = {"stays": few[2]}
    if not holds(text, measure, findings):
        for filled in itertools.product((-0.5, 0.0, 0.25, 0.3, 1.0), repeat=known.count(False)):
            fill = iter(filled)
            whole = [value if value is not None else next(fill) for value in given_values]
            assert not holds(text, with_values(*whole, few[0], silent), findings)


def test_programs_without_a_verdict_let_no_condition_pass_that_does_not_bound_them():
    measure = with_values(j=0.95, silent=3)
    for unknown in ("J < 0.9", "J >= 0.9", "forgeable", "not forgeable", "must_fail_accepted",
                    "no_verdict < 0 or J < 0.9", "J < 0.9 and no_verdict"):  # fmt: skip
        assert holds(unknown, measure), unknown
        assert silenced(read_grader_condition(unknown, CODES), measure) == 3
    assert not holds("J < 0.9 or no_verdict > 3", measure)
    assert holds("J < 0.9 or no_verdict > 2", measure)
    assert not holds("J < 0.9", with_values(j=0.95))


@pytest.mark.parametrize(
    ("right", "wrong", "text"),
    [((19, 20), (1, 20), "J < 0.9"), ((19, 20), (1, 20), "J > 0.9"), ((9, 10), (2, 10), "J < 0.7"),
     ((7, 10), (1, 10), "J < 0.6"), ((10, 10), (9, 10), "J > 0.1"), ((3, 10), (1, 10), "J != 0.2")],
)  # fmt: skip
def test_j_is_compared_as_the_fraction_that_it_is(right, wrong, text):
    """0.95 - 0.05 is 0.8999999999999999 in floats."""
    rows = [
        GraderCount(problem_id=str(place), cluster=str(place), right=right[1] // 2, wrong=wrong[1] // 2,
                    right_accepted=[right[0] // 2, right[0] - right[0] // 2][place],
                    wrong_accepted=[wrong[0] // 2, wrong[0] - wrong[0] // 2][place])
        for place in range(2)
    ]  # fmt: skip
    measure = replace(MEASURE, j=MeasuredValue.of(j_span(error_ratios(rows))))
    assert not holds(text, measure)


def test_where_nothing_was_tried_a_check_of_forgeability_does_not_pass():
    untried = replace(MEASURE, forgeable=None)
    assert holds("forgeable", untried) and holds("not forgeable", untried)


def test_where_the_first_line_says_not_measured_no_check_of_what_cheating_pays_passes():
    """Whatever else got a verdict: a grader that pays no reference pays no cheat, and says nothing of it."""
    channels = tuple(replace(one, probes=0, accepted=0, open=False) for one in MEASURE.channels)
    untried = replace(MEASURE, channels=channels, open_channels=(), forgeable=None)
    for name in ("forgeable", "open_channels", "channel_open", "cheat_stays", "paid_without_solving"):
        assert holds(name, untried, codes=CODES_OF_RECORDS), name
        assert holds(f"not {name}", untried, codes=CODES_OF_RECORDS), name
    tried = replace(MEASURE, open_channels=(), forgeable=False, unearned=replace(MEASURE.unearned, paid=0,
                    impossible_paid=0))  # fmt: skip
    for name in ("forgeable", "open_channels", "channel_open", "cheat_stays", "paid_without_solving"):
        assert not holds(name, tried, codes=CODES_OF_RECORDS), name


@pytest.mark.parametrize(
    ("code", "kind"),
    [("must_fail_accepted", "must-fail"), ("accepts_anything", "stub"), ("right_refused", "right")],
)
def test_a_code_of_a_class_without_a_verdict_is_not_0(code, kind):
    silent = replace(
        MEASURE, shares=tuple(replace(one, probes=0) if one.kind == kind else one for one in MEASURE.shares)
    )
    assert holds(code, silent, codes=CODES_OF_RECORDS)
    assert not holds(code, codes=CODES_OF_RECORDS)
    assert holds(code, silent, {code: 1}, codes=CODES_OF_RECORDS)


def test_a_grader_without_right_probes_fails_a_condition_on_tpr():
    measure = replace(MEASURE, shares=MEASURE.shares[1:])
    assert holds("TPR < 0.1", measure) and holds("TPR >= 0.1", measure)
    assert holds("TPR < 0.1 or forgeable", measure)
    assert not holds("TPR < 0.1 and no_verdict", measure)


def test_every_name_has_a_number():
    """None of them is a spelling that nothing fills."""
    assert all(isinstance(value(MEASURE), float) for value in VALUES.values())
    assert all(isinstance(value(MEASURE), int) for value in COUNTS.values())
