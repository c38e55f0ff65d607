"""The trusted interpreter of the list language says what the jail says, and its traces say how."""

import ast
import random

import pytest

from truegrade.builders.dsl_list import DslListOptions, build
from truegrade.builders.list_language import GRAMMARS, TermSampler, Type, default_weights, read_program, source
from truegrade.builders.repair_items import trace
from truegrade.sandbox import Limits, Sandbox

PUBLISHED = GRAMMARS["published"]


def read(expression):
    return read_program(f"def f(a1):\n    return {expression}\n", PUBLISHED)


@pytest.mark.parametrize(
    ("expression", "argument", "lines"),
    [
        ("a1[1:]", [4, 3, 2], ["[4, 3, 2][1:] = [3, 2]"]),
        ("[a1[0] - 5] + a1", [1, 2], ["[1, 2][0] = 1", "1 - 5 = -4", "[-4] + [1, 2] = [-4, 1, 2]"]),
        (
            "list(map(lambda x: x * len(a1), a1[1:]))",
            [0, 3, 2],
            ["[0, 3, 2][1:] = [3, 2]", "len([0, 3, 2]) = 3", "x = 3", "3 * 3 = 9", "x = 2", "2 * 3 = 6",
             "map = [9, 6]"],
        ),
        (
            "list(filter(lambda x: x >= 2 and all((x % i for i in range(2, x))), a1))",
            [4, 5],
            ["x = 4", "prime(4) = False", "x = 5", "prime(5) = True", "filter = [5]"],
        ),
        ("a1 if len(a1) > 3 else []", [1], ["len([1]) = 1", "1 > 3 = False", "if False = []"]),
    ],
)  # fmt: skip
def test_a_trace_word_for_word(expression, argument, lines):
    assert trace(read(expression), argument)[1] == lines


def test_failing_programs_raise_what_python_raises():
    with pytest.raises(IndexError):
        trace(read("[a1[5]] + a1"), [1])
    with pytest.raises(ZeroDivisionError):
        trace(read("[a1[0] % 0] + a1"), [1])


def test_the_last_line_ends_with_the_value():
    rng = random.Random(0)
    sampler = TermSampler(PUBLISHED, default_weights(PUBLISHED))
    checked = 0
    while checked < 100:
        try:
            value, lines = trace(sampler.draw(Type.LIST, 4, rng), [3, 1, 2])
        except (IndexError, ZeroDivisionError):
            continue
        if lines:
            assert lines[-1].endswith(f" = {value!r}")
            checked += 1


def test_the_jail_says_the_same():
    with Sandbox(Limits(cpu_s=10), workers=1, allow_unsafe=True) as jail:
        rows = list(build(DslListOptions(size=15, seed=7), jail))
    for row in rows:
        term = read_program(row.code, PUBLISHED)
        assert source(term, row.function_name).strip() == row.code.strip()
        for call, output in zip(row.input, row.output, strict=True):
            argument = ast.literal_eval(call.split("a1=")[1].removesuffix(")"))
            assert repr(trace(term, argument)[0]) == output
