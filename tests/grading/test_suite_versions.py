"""Versions of constants: the same from whichever of them is the original, and no two kinds share a value."""

import ast

import pytest

from truegrade.grading.suite_versions import Changeable, Elsewhere, parts, versions_of

ELSEWHERE = Elsewhere(
    {"apple": ["a"], "melon": ["a"], "grape": ["a"], "lemon": ["b"], "7": ["a"], "8": ["a"], "1300": ["b"]},
    "Return the pears of 1,391 baskets.",
)
NUMBERS = [*range(130), 200, 1200, 1311, 1300, 98765, 0.5, 2.0, 3.25, 0.0625, 1e-7, 12.0]
TEXTS = ["an apple", "Melon", "GRAPE 12", "lemon", "object", "Return object", "12.5 kg", "a-b", "x", "pears"]


def found(value) -> list:
    return [versions_of(each, ELSEWHERE) for each in parts(0, value, counted=True)]


@pytest.mark.parametrize("values", [NUMBERS, TEXTS], ids=["numbers", "texts"])
def test_every_value_of_a_block_has_the_same_block(values):
    for value in values:
        for part, one in enumerate(found(value)):
            assert 2 <= len(one.sources) <= 4 and ast.literal_eval(one.sources[one.original]) == value
            for source in one.sources if one.block else ():
                other = found(ast.literal_eval(source))[part]
                assert (other.sources, other.block) == (one.sources, one.block), (value, source)
                assert other.sources[other.original] == source


def test_blocks_are_disjoint():
    blocks = {one.block for value in (*NUMBERS, *TEXTS) for one in found(value) if one.block}
    values = [value for block in blocks for value in block.split()]
    assert len(blocks) > 40 and len(values) == len(set(values))


def test_what_is_found_elsewhere_is_shown_beside_what_is_found_there_too():
    assert found("apple")[0].block == "apple grape melon"
    assert found(7)[0].block == "7 8" and not set(found(9)[0].block.split()) & {"7", "8"}
    assert found("lemon")[0].block == ""  # no other word is found in the same functions
    assert "1391" not in found(1311)[0].block


def test_a_word_is_written_as_the_original_is():
    assert {source[1:-1].istitle() for source in found("Melon")[0].sources} == {True}
    assert {source.split()[0][1:].isupper() for source in found("GRAPE 12")[0].sources} == {True}


def test_truth_types_and_unknown_words_are_shown_and_not_counted():
    assert found(True)[0] == found(False)[0].__class__(("True", "False"), 0, "")
    assert found("xqzv")[0].block == "" and len(found("xqzv")[0].sources) > 1
    assert versions_of(Changeable(0, "int", others=("str",)), ELSEWHERE).block == ""
    assert list(parts(0, None, counted=True)) == [] and list(parts(0, float("inf"), counted=True)) == []
