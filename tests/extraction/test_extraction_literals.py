"""Literals are read by `ast`, and nothing else is one."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from value_strategies import values

from truegrade.extraction.parsing import MAX_SOURCE_CHARS, Literal, NotLiteral, parse_literal, strip_decoration
from truegrade.grading.literals import compare


@given(values())
def test_every_value_that_repr_can_write_is_read_back(value):
    literal = parse_literal(repr(value))
    assert isinstance(literal, Literal)
    assert compare(repr(value), repr(literal.value)).repr_exact


@pytest.mark.parametrize(
    "text", ["ｎａｎ", "-ｉｎｆ", "ｓｅｔ()", "ｆｌｏａｔ('nan')", "float('ınf')", "float('ＮＡＮ')",
             "float('\xa0nan')", "ｆｒｏｚｅｎｓｅｔ([1])", "１", "٣", "0_1", "1_", "−1", "[1，2]"],
)  # fmt: skip
def test_letters_and_digits_of_a_literal_are_those_of_ascii(text):
    assert isinstance(parse_literal(text), NotLiteral)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("set()", set()),
        ("frozenset()", frozenset()),
        ("frozenset({1, 2})", frozenset({1, 2})),
        ("frozenset([1, (2,)])", frozenset({1, (2,)})),
        ("inf", math.inf),
        ("-inf", -math.inf),
        ("float('-Infinity')", -math.inf),
        ("-float('inf')", -math.inf),
        ("[inf, {'a': -inf}]", [math.inf, {"a": -math.inf}]),
        ("1+2j", 1 + 2j),
        ("(-1-2j)", -1 - 2j),
        ("+5", 5),
        ("'a' \"b\"", "ab"),
        ("('a'\n 'b')", "ab"),
        ("f'plain'", "plain"),
        ("'\\d'", "\\d"),
        ("  5  # five", 5),
        ("1, 2", (1, 2)),
        ("0x10", 16),
        ("'''a\nb'''", "a\nb"),
        ("None", None),
    ],
)
def test_accepted_forms(text, value):
    literal = parse_literal(text)
    assert isinstance(literal, Literal)
    assert literal.value == value
    assert type(literal.value) is type(value)


@pytest.mark.parametrize("text", ["nan", "float('nan')", 'float("NaN")', "-nan", "nanj"])
def test_nan_is_named(text):
    literal = parse_literal(text)
    assert isinstance(literal, Literal)
    assert literal.value != literal.value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("  \n ", "empty"),
        ("x", "the name `x`"),
        ("Infinity", "the name"),
        ("0 or 1", "computed"),
        ("1 + 1", "computed"),
        ("'<' * 10", "computed"),
        ("'a' + 'b'", "computed"),
        ("--1", "computed"),
        ("-True", "computed"),
        ("f(1)", "call"),
        ("f'{x}'", "computed"),
        ("dict(a=1)", "call"),
        ("set([1])", "call"),
        ("float('1.5')", "call"),
        ("frozenset(5)", "call"),
        ("[].append(1)", "call"),
        ("(lambda: 1)()", "call"),
        ("__import__('os').system('true')", "call"),
        ("[x for x in 'ab']", "computed"),
        ("[*'ab']", "computed"),
        ("(y := 1)", "computed"),
        ("...", "placeholder"),
        ("[1, ...]", "placeholder"),
        ("{[1]: 2}", "unhashable"),
        ("{[]}", "unhashable"),
        ("{**{}}", "unpacks"),
        ("5?", "not an expression"),
        ("1 2", "not an expression"),
        ("'open", "not an expression"),
        ("−5", "not an expression"),
        ("“smart”", "not an expression"),
        ("x = 5", "not an expression"),
        ("\0", "not an expression"),
        ("'\ud800'", "not an expression"),
        ("1" * 100_001, "the value has over 100,000 characters"),
    ],
)
def test_refused_with_a_reason(text, why):
    result = parse_literal(text)
    assert isinstance(result, NotLiteral)
    assert why in result.why


def test_a_complex_whose_real_part_is_too_large_is_refused():
    assert isinstance(parse_literal(f"1{'0' * 400} + 1j"), NotLiteral)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "[" * 201 + "]" * 201,
        "-" * 90_000 + "1",
        "1" + "+1" * 40_000,
        "a" + ".a" * 40_000,
        "'" + "a" * 10_000_000 + "'",
        "[" + "1," * (MAX_SOURCE_CHARS // 2) + "]",
        "{" + ",".join(str(i * (2**61 - 1)) for i in range(1, 4000)) + "}",
        "{" + ",".join(f"({i * (2**61 - 1)},):0" for i in range(1, 3000)) + "}",
    ],
)
def test_hostile_text_is_refused(text):
    assert isinstance(parse_literal(text), NotLiteral)


def test_large_honest_sets_are_read():
    assert parse_literal(repr(set(range(10_000)))).value == set(range(10_000))


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("`5`", "5"),
        ("**5**", "5"),
        ("**`[1]`**", "[1]"),
        ("```python\n5\n```", "5"),
        ("\n~~~\n'a'\n~~~\n", "'a'"),
        ("'`'", "'`'"),
        ("`", "`"),
        ("plain", "plain"),
    ],
)
def test_decoration_is_stripped(text, bare):
    assert strip_decoration(text) == bare


@given(st.text())
def test_any_text_is_a_literal_or_has_a_reason(text):
    result = parse_literal(strip_decoration(text))
    assert isinstance(result, Literal) or result.why
