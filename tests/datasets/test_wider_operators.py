"""Mutation operators on statements, calls and names: what each makes, and where."""

from __future__ import annotations

import ast

import pytest
from mutation_corpus import quixbugs, row
from test_mutation_operators import after, check_mutants

from truegrade.builders.mutation.file import mutate_rows
from truegrade.builders.mutation.mutants import MutationOptions, mutants_of, normalised
from truegrade.builders.mutation.operators import OPERATORS, WIDER_OPERATORS
from truegrade.sandbox import Limits, Sandbox

EXAMPLES = [
    ("delete-statement", "def f(a):\n    'doc'\n    a += 1\n    return a", ["pass", "pass"]),
    ("delete-statement", "import os\ndef f():\n    global a\n    b: int\n    pass", []),
    ("delete-statement", "if a:\n    b()", ["pass", "pass"]),
    ("negate-condition", "if a < b:\n    pass", ["not a < b"]),
    ("negate-condition", "[a for a in b if a]", ["not a"]),
    ("negate-condition", "while True:\n    b = not a", []),
    ("return-none", "def f(a):\n    return a", ["None"]),
    ("return-none", "def f(a):\n    return None", []),
    ("zero-iterations", "for a in b:\n    c()", ["[]"]),
    ("zero-iterations", "while a:\n    c()", ["False"]),
    ("one-iteration", "while a:\n    c()", ["while a:\n    c()\n    break"]),
    ("one-iteration", "for a in b:\n    break", []),
    ("delete-handler", "try:\n    a()\nexcept E as e:\n    b()", ["except E as e:\n    raise"]),
    ("delete-handler", "try:\n    a()\nexcept E:\n    raise", []),
    ("remove-argument", "f(a, *b, c=1)", ["f(*b, c=1)", "f(a, c=1)", "f(a, *b)"]),
    ("remove-argument", "f()", []),
    ("swap-method", "a.lower().rfind(b)", ["a.lower().find", "a.upper"]),
    ("swap-method", "a.lower", []),
    ("text", "a = 'Bc'", ["''", "'XXBcXX'", "'bC'"]),
    ("text", "a = ''", ["'XXXX'"]),
    ("text", "def f():\n    'doc'\n    return 1", []),
    ("default-argument", "def f(a, b=None, *, c='x', d=2):\n    pass", ["None", "0"]),
    ("replace-variable", "def f(a, b):\n    return a", ["b"]),
    (
        "replace-variable",
        "def f(a):\n    b = [c for c in a]\n    d = a\n    return d",
        ["b", "d", "b", "d", "a", "b"],
    ),
    ("replace-variable", "a = 1\nb = a", []),
]


@pytest.mark.parametrize(("operator", "code", "expected"), EXAMPLES)
def test_what_a_wider_operator_makes(operator, code, expected):
    assert after(normalised(code), operator) == expected


def test_every_wider_operator_is_shown_above_and_none_is_a_default():
    assert {operator for operator, _, _ in EXAMPLES} == set(WIDER_OPERATORS)
    assert MutationOptions().operators == tuple(OPERATORS)
    assert not set(OPERATORS) & set(WIDER_OPERATORS)


def test_a_deleted_statement_is_told_with_its_span():
    code = "def f(a):\n    if a:\n        return 1\n    elif not a:\n        return 2"
    made = mutants_of(normalised(code), MutationOptions(operators=("delete-statement",)))
    assert [(mutant.span[0], mutant.before, mutant.after) for mutant in made] == [
        (2, code.removeprefix("def f(a):\n    "), "pass"),
        (3, "return 1", "pass"),
        (4, "elif not a:\n        return 2", "else:\n        pass"),
        (5, "return 2", "pass"),
    ]


def test_a_variable_is_one_of_the_function_around_it():
    code = normalised("def f(a):\n    def g(b, c):\n        return b\n    return a")
    (mutant,) = mutants_of(code, MutationOptions(operators=("replace-variable",)))
    assert mutant.code == code.replace("return b", "return c")


def test_wider_mutants_of_quixbugs_differ_in_their_span_alone(data_dir):
    options = MutationOptions(operators=tuple(WIDER_OPERATORS))
    programs = [normalised(item["correct"]) for item in quixbugs(data_dir).values()]
    assert sum(check_mutants(program, options) for program in programs[::5]) > 100


def test_data_mutate_takes_them_by_name():
    original = row("def f(a):\n    total = 0\n    for b in a:\n        total += b\n    return total", "f([1, 2])")
    options = MutationOptions(operators=("one-iteration", "delete-statement"), select="all")
    with Sandbox(Limits(cpu_s=2.0), 1, allow_unsafe=True) as sandbox:
        made = list(mutate_rows([original], options, sandbox))
    assert {(each.mutation_info.mutation_type, each.mutated_output) for each in made} == {
        ("one-iteration", ("1",)),
        ("delete-statement", ("0",)),
        ("delete-statement", ("None",)),
    }
    assert all(ast.parse(each.mutated_code) for each in made)
