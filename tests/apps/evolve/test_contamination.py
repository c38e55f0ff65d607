"""Training on a test program, or testing on a training program, is refused; near duplicates are reported."""

import keyword

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truegrade.apps.evolve.genomes import PLACEHOLDER, is_one_token, nameless, ngrams
from truegrade.apps.evolve.roles import (
    CONTAINED,
    WITHOUT_JSON,
    Contamination,
    overlaps,
    refuse_overlap,
    refuse_trained,
    validate_no_overlap,
)
from truegrade.datasets.checkouts import TEST, TRAIN
from truegrade.errors import UserError

SUM = "def total(values):\n    result = 0\n    for value in values:\n        result += value\n    return result\n"
SUM_RENAMED = SUM.replace("result", "acc").replace("total", "add_up").replace("value", "x")
LONGER = SUM.replace("    return result", "    result = abs(result)\n    return result").replace("total", "size")
OTHER = "def first(items):\n    while items:\n        return items[0]\n    raise ValueError('empty')\n"


def test_the_split_of_coralx():
    assert len(TRAIN) == 24 and len(TEST) == 8
    assert sorted(TRAIN & WITHOUT_JSON) == ["reverse_linked_list"]
    assert not TEST & WITHOUT_JSON


def test_a_shared_name_is_refused_in_the_words_of_coralx():
    validate_no_overlap({"gcd", "kth"}, {"wrap"})
    with pytest.raises(UserError) as refused:
        validate_no_overlap({"gcd", "kth", "lis"}, {"wrap", "lis", "gcd"})
    assert str(refused.value) == "CRITICAL: Training/test overlap detected: {'gcd', 'lis'}"


def test_testing_on_a_training_program_is_refused_under_any_name(repair):
    trained = [repair("total", SUM), repair("first", OTHER)]
    refuse_trained(repair("size", LONGER), trained)
    with pytest.raises(Contamination, match=r"^CONTAMINATION: first is training problem$"):
        refuse_trained(repair("first", LONGER), trained)
    with pytest.raises(
        Contamination, match=r"CONTAMINATION: add_up is training problem \(the same program as made/"
    ):
        refuse_trained(repair("add_up", SUM_RENAMED), trained)


def test_training_on_a_test_program_is_refused_whichever_of_its_programs_it_is(repair):
    refuse_overlap([repair("total", SUM)], [repair("size", LONGER), repair("first", OTHER, buggy=LONGER)])
    for reference, buggy in ((SUM_RENAMED, None), (OTHER, SUM_RENAMED), (LONGER, SUM_RENAMED.replace("+", "-"))):
        with pytest.raises(Contamination, match="overlap detected: the same programs in made/other = made/total"):
            refuse_overlap([repair("total", SUM)], [repair("other", reference, buggy=buggy)])
    with pytest.raises(Contamination, match=r"CRITICAL: Training/test overlap detected: \{'total'\}"):
        refuse_overlap([repair("total", SUM)], [repair("total", OTHER)])


def test_near_duplicates_of_quixbugs_as_published(quixbugs):
    report = overlaps(
        [quixbugs[name] for name in sorted(TRAIN)],
        [quixbugs[name] for name in sorted(TEST)],
    )
    assert report.pairs == 24 * 8 and report.refused == () and report.near == ()
    closest = report.closest
    assert (closest.trained, closest.tested) == ("quixbugs/gcd", "quixbugs/possible_change")
    assert round(closest.jaccard, 2) == 0.19


def test_the_report_tells_names_programs_and_shared_text_apart(repair):
    trained = [repair("size", LONGER)]
    renamed = LONGER.replace("result", "acc").replace("size", "grow")
    tested = [repair("size", OTHER), repair("grow", renamed), repair("total", SUM), repair("b", OTHER)]
    report = overlaps(trained, tested)
    assert [pair.kind for pair in report.refused] == ["name", "program"]
    (near,) = report.near
    assert near.tested == "made/total" and near.share >= CONTAINED and 0 < near.jaccard < 1
    assert report.closest.tested == "made/grow" and report.closest.jaccard == 1.0
    assert overlaps(trained, []).closest is None


def test_short_programs_have_no_long_spans_and_still_compare(repair):
    report = overlaps([repair("f", "f = 1 + 1")], [repair("g", "g = 2 + 2")])
    assert report.near == () and report.closest.jaccard == 0.0


@pytest.mark.parametrize(
    ("after", "one"),
    [("def f(a): return a <= 1", True), ("def f(a): return not a < 1", True), ("def f(a): return a < 1", False),
     ("def f(a): return b < 2", False), ("def f(a): return a < -2", False), ("def f(a):\n  return b < 1", True)],
)  # fmt: skip
def test_one_token(after, one):
    assert is_one_token("def f(a): return a < 1", after) is one
    assert is_one_token(after, "def f(a): return a < 1") is one


@settings(derandomize=True, deadline=None)
@given(st.text())
def test_any_text_has_tokens(text):
    assert all(isinstance(token, str) for token in nameless(text))


@settings(derandomize=True, deadline=None)
@given(st.lists(st.sampled_from("ab"), max_size=20), st.integers(1, 14))
def test_spans_are_of_their_size_and_all_there(tokens, size):
    found = ngrams(tokens, size)
    assert all(len(gram) == size for gram in found)
    assert len(found) <= max(0, len(tokens) - size + 1)
    assert bool(found) is (len(tokens) >= size)


@settings(derandomize=True, deadline=None)
@given(st.from_regex(r"[a-z_]{1,8}", fullmatch=True).filter(lambda name: not keyword.iskeyword(name)))
def test_names_do_not_count(name):
    assert nameless(f"def {name}({name}):\n    return {name} + 1") == (
        ["def", PLACEHOLDER, "(", PLACEHOLDER, ")", ":", "return", PLACEHOLDER, "+", "1"]
    )
