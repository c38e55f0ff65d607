"""Mutants as texts: what each operator makes, that a mutant differs in its span alone, and stable names."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutation_corpus import ONE_LINE, SUM_OF_EVENS, quixbugs

from support.thorough import one_in
from truegrade.builders.mutation.mutants import PUBLISHED, MutationOptions, Text, mutants_of, normalised
from truegrade.builders.mutation.operators import OPERATORS
from truegrade.errors import UnknownName, UserError


def after(code, operator, **options):
    """The replacements that an operator makes in one expression or statement."""
    return [mutant.after for mutant in mutants_of(code, MutationOptions(operators=(operator,), **options))]


EXAMPLES = [
    ("arithmetic", "a + b", ["a - b"]),
    ("arithmetic", "a * b", ["a // b", "a + b"]),
    ("relational", "a < b", ["a <= b", "a >= b"]),
    ("relational", "a < b == c", ["a <= b == c", "a >= b == c", "a < b != c"]),
    ("logical", "a and b", ["a or b"]),
    ("keyword", "True", ["False"]),
    ("keyword", "while a:\n    continue", ["break"]),
    ("number", "5", ["6", "4"]),
    ("number", "0", ["1", "-1"]),
    ("number", "-1", ["0", "-2"]),
    ("number", "2.5", ["3.5", "1.5"]),
    ("number", "True", []),
    ("number", "2j", []),
    ("augmented", "a += b", ["a -= b"]),
    ("augmented", "a |= b", ["a &= b"]),
    ("augmented", "a **= b", ["a *= b"]),
    ("unary", "not a", ["a"]),
    ("unary", "-a", ["a"]),
    ("slice", "a[b:c]", [":c", "b + 1:c", "b:", "b:c - 1"]),
    ("slice", "a[::-1]", [":", "::1"]),
    ("slice", "a[1:]", [":"]),
    ("membership", "a in b", ["a not in b"]),
    ("membership", "a is not b", ["a is b"]),
    ("power", "a ** b", ["a * b"]),
    ("bitwise", "a << b", ["a >> b"]),
    ("bitwise", "a ^ b", ["a & b", "a | b"]),
    ("boundary", "range(n)", ["range(1, n)", "range(n + 1)", "range(n - 1)"]),
    ("boundary", "range(a, b)", ["range(a + 1, b)", "range(a, b + 1)", "range(a, b - 1)"]),
    ("boundary", "range(1, 9)", []),
]


@pytest.mark.parametrize(("operator", "code", "expected"), EXAMPLES)
def test_what_an_operator_makes(operator, code, expected):
    assert after(code, operator) == expected


def test_every_operator_is_shown_above():
    assert {operator for operator, _, _ in EXAMPLES} == set(OPERATORS)


def test_brackets_that_a_change_sheds_or_needs_are_part_of_it():
    shed = mutants_of("(not a) + b", MutationOptions(operators=("unary",)))[0]
    assert (shed.code, shed.before, shed.after) == ("a + b", "(not a)", "a")
    needed = mutants_of("a * b ** c", MutationOptions(operators=("power",)))[0]
    assert (needed.code, needed.before, needed.after) == ("a * (b * c)", "b ** c", "(b * c)")


def test_spans_count_bytes():
    mutant = mutants_of("x = 'äö' + b", MutationOptions(operators=("arithmetic",)))[0]
    assert mutant.span == (1, 4, 1, 14)
    assert mutant.code == "x = 'äö' - b"


def test_annotations_and_f_strings_are_left_alone():
    code = "def f(x: Tuple[1]) -> 2:\n    return f'{x + 1}'"
    assert mutants_of(code, MutationOptions()) == []


def test_the_published_table_keeps_its_defects():
    code = "def f(x):\n    if True:\n        return (x + 1) * 2\n    return x < 3"
    made = [
        (mutant.operator, mutant.before, mutant.after)
        for mutant in mutants_of(code, MutationOptions(operators=(PUBLISHED,)))
    ]
    assert made == [
        ("arithmetic", "(x + 1) * 2", "(x + 1) // 2"),
        ("arithmetic", "x + 1", "x - 1"),
        ("relational", "x < 3", "x <= 3"),
        ("keyword", "True", "False"),
        ("number", "True", "2"),  # a bool is an int; the place is even
        ("number", "1", "0"),
        ("number", "2", "3"),
        ("number", "3", "2"),
    ]


def test_raw_keeps_the_layout_and_changes_the_span_alone():
    code = "def f(a,b):\n  return (a+b)*2 # twice\n"
    made = {mutant.code for mutant in mutants_of(code, MutationOptions(operators=("arithmetic",), raw=True))}
    assert made == {
        "def f(a,b):\n  return (a + b) // 2 # twice\n",
        "def f(a,b):\n  return a + b + 2 # twice\n",
        "def f(a,b):\n  return (a - b)*2 # twice\n",
    }


def test_names_are_stable_and_tell_mutants_apart():
    options = MutationOptions()
    code = normalised(SUM_OF_EVENS)
    names = [mutant.id for mutant in mutants_of(code, options)]
    assert len(set(names)) == len(names) > 10
    assert names == [mutant.id for mutant in mutants_of(normalised(code + "\n# remark"), options)]
    some = mutants_of(code, MutationOptions(operators=("relational",)))
    assert {mutant.id for mutant in some} < set(names)


def test_unknown_names_and_numbers_out_of_range_are_refused():
    with pytest.raises(UnknownName, match="relational"):
        MutationOptions(operators=("relation",))
    with pytest.raises(UnknownName, match="rename"):
        MutationOptions(preserve=("renam",))
    with pytest.raises(UserError, match="stand alone"):
        MutationOptions(operators=(PUBLISHED, "number"))
    with pytest.raises(UserError, match="positive"):
        MutationOptions(max_steps=0)


# ------------------------------------------------------------------------------------------ properties

NAMES = st.sampled_from(["a", "b", "range", "len"])
LEAVES = NAMES | st.integers(0, 3).map(str) | st.sampled_from(["True", "'é'", "1.5", "()"])


def grown(inner):
    binary = st.sampled_from(["+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>"])
    compared = st.sampled_from(["<", "<=", ">", ">=", "==", "!=", "in", "not in", "is", "is not"])
    return st.one_of(
        st.builds("({}) {} ({})".format, inner, binary, inner),
        st.builds("({}) {} ({}) {} ({})".format, inner, compared, inner, compared, inner),
        st.builds("({}) {} ({})".format, inner, st.sampled_from(["and", "or"]), inner),
        st.builds("{} ({})".format, st.sampled_from(["not", "-", "~"]), inner),
        st.builds("({})[({}):({}):({})]".format, inner, inner, inner, inner),
        st.builds("range(({}), ({}))".format, inner, inner),
        st.builds("[({}) for a in ({}) if ({})]".format, inner, inner, inner),
        st.builds("({}) if ({}) else ({})".format, inner, inner, inner),
        st.builds("lambda a: ({})".format, inner),
        st.builds("{{({}): ({})}}".format, inner, inner),
    )


EXPRESSIONS = st.recursive(LEAVES, grown, max_leaves=8)


def check_mutants(code, options):
    """Each mutant parses, differs in its span alone and in meaning, and, unless raw, is in normal form."""
    text = Text(code)
    mutants = mutants_of(code, options)
    for mutant in mutants:
        line, column, end_line, end_column = mutant.span
        begin, end = text.offset(line, column), text.offset(end_line, end_column)
        assert text.data[begin:end].decode() == mutant.before
        assert (text.data[:begin] + mutant.after.encode() + text.data[end:]).decode() == mutant.code
        assert ast.dump(ast.parse(mutant.code)) != ast.dump(ast.parse(code))
        if not options.raw:
            assert ast.unparse(ast.parse(mutant.code)) == mutant.code
    assert len({mutant.id for mutant in mutants}) == len({mutant.code for mutant in mutants}) == len(mutants)
    return len(mutants)


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@settings(max_examples=60)
@given(EXPRESSIONS, st.booleans())
def test_a_mutant_differs_in_its_span_alone(expression, raw):
    code = f"def f(a, b):\n    a += ({expression})\n    return a"
    check_mutants(code if raw else normalised(code), MutationOptions(raw=raw))


@pytest.mark.parametrize("code", [SUM_OF_EVENS, ONE_LINE])
def test_the_programs_of_these_tests_have_mutants(code):
    assert check_mutants(normalised(code), MutationOptions()) > 5


@pytest.mark.parametrize("raw", one_in(2, [False, True]))
def test_every_mutant_of_quixbugs_differs_in_its_span_alone(data_dir, raw):
    counts = [
        check_mutants(item["correct"] if raw else normalised(item["correct"]), MutationOptions(raw=raw))
        for item in quixbugs(data_dir).values()
    ]
    assert sum(counts) > 500


def test_of_many_changes_some_are_drawn_those_in_functions_first():
    table = ", ".join(f"{number}: {number + 7}" for number in range(40))
    code = normalised(f"T = {{{table}}}\n\ndef f(x):\n    return T[x + 1] - 2\n")
    every, some = mutants_of(code, MutationOptions()), mutants_of(code, MutationOptions(most=30))
    inside = [mutant for mutant in every if mutant.span[0] == 4]
    assert 0 < len(inside) < 30 == len(some) < len(every)
    assert [one for one in some if one.span[0] == 4] == inside
    assert [one.id for one in every if one in some] == [one.id for one in some]
    assert mutants_of(code, MutationOptions(most=30)) == some != mutants_of(code, MutationOptions(most=30, seed=1))
