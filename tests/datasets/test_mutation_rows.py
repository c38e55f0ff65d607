"""Mutants as programs that run in the jail: what is valid, what is chosen, and that nothing spoils or hangs it."""

from __future__ import annotations

import ast
import dataclasses

import msgspec
import pytest
from mutation_corpus import COUNTDOWN, ONE_LINE, SUM_OF_EVENS, quixbugs_rows, row

from truegrade.builders.mutation.file import Valid, mutate_rows, ranked
from truegrade.builders.mutation.mutants import MutationOptions, mutants_of, normalised
from truegrade.builders.mutation.observing import Observation, Observer
from truegrade.builders.mutation.preserving import REWRITINGS
from truegrade.datasets.executions import ExecutionRow
from truegrade.grading.literals import compare
from truegrade.sandbox import Limits, Sandbox


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(Limits(cpu_s=1, memory_bytes=512 << 20), workers=2, allow_unsafe=True) as opened:
        yield opened


def mutated(sandbox, given, **options):
    (made,) = mutate_rows([given], MutationOptions(**options), sandbox)
    return made


def run(code, call):
    scope = {}
    exec(code, scope)
    return repr(eval(call, scope))


def test_a_row_gets_a_mutant_that_returns_what_it_says(sandbox):
    given = row(SUM_OF_EVENS, "f([0, 1, 2, 3, 4], 9)", "f([8], 3)", metadata={"from": "here"})
    made = mutated(sandbox, given)
    assert made.has_mutation and made.code == normalised(SUM_OF_EVENS) != SUM_OF_EVENS
    outputs = tuple(run(made.mutated_code, call) for call in made.input)
    assert outputs == made.mutated_output
    info = made.mutation_info
    differing = tuple(i for i, pair in enumerate(zip(made.output, outputs, strict=True)) if pair[0] != pair[1])
    assert info.discriminating == differing != ()
    line, column, end_line, end_column = info.span
    before, _, after = info.change.partition(" -> ")
    assert line == end_line and made.code.splitlines()[line - 1][column:end_column] == before
    assert made.mutated_code.splitlines()[line - 1][column:].startswith(after)
    assert info.coverage_similarity == 1.0 and info.arc_similarity == 1.0
    assert made.metrics["loc"] == 8 and made.metrics["loop_depth"] == 1
    assert made.metrics["steps"][0] > made.metrics["steps"][1] > 3
    assert made.metadata["from"] == "here" and made.metadata["mutation"]["mutants"]["valid"] > 3


def test_layout_does_not_give_the_mutant_away(sandbox):
    made = mutated(sandbox, row(SUM_OF_EVENS, "f([0, 1, 2, 3, 4], 9)"))
    for code in (made.code, made.mutated_code):
        assert code == ast.unparse(ast.parse(code))
    raw = mutated(sandbox, row(SUM_OF_EVENS, "f([0, 1, 2, 3, 4], 9)"), raw=True)
    assert raw.code == SUM_OF_EVENS and "# adds up" in raw.mutated_code


def test_all_gives_every_valid_mutant_under_its_own_id(sandbox):
    given = row(ONE_LINE, "f([0, 1, 2, 3, 4])", id=7)
    made = list(mutate_rows([given], MutationOptions(select="all"), sandbox))
    assert len({each.id for each in made}) == len(made) > 8
    for each in made:
        assert each.id == f"7/{each.mutation_info.mutation_id}"
        assert run(each.mutated_code, each.input[0]) == each.mutated_output[0] != each.output[0]


def test_coverage_chooses_the_closest_of_all(sandbox):
    given = row(SUM_OF_EVENS, "f([0, 1, 2, 3, 4], 9)")
    every = list(mutate_rows([given], MutationOptions(select="all"), sandbox))
    best = max((each.mutation_info.coverage_similarity, each.mutation_info.arc_similarity) for each in every)
    chosen = mutated(sandbox, given).mutation_info
    assert (chosen.coverage_similarity, chosen.arc_similarity) == best
    assert any(each.mutation_info.coverage_similarity < 1 for each in every)


def test_expressions_tell_ways_through_one_line_apart(sandbox):
    """Line coverage is always whole there, as it is for every program of DSL-List."""
    every = mutate_rows([row(ONE_LINE, "f([0, 1, 2, 3, 4])")], MutationOptions(select="all"), sandbox)
    similar = {each.mutation_info.change: each.mutation_info.coverage_similarity for each in every}
    assert similar["i * 2 -> i // 2"] == 1.0
    assert similar["i > 2 or i < 1 -> i > 2 and i < 1"] < 1.0


def test_operators_have_equal_chances_among_equals():
    """Numbers have eight times as many mutants here, yet they win about as often."""
    code = "def f(a):\n    return (a + 1, a + 2, a + 3, a + 4, not a)"
    mutants = mutants_of(code, MutationOptions(operators=("number", "unary")))
    nothing = Observation(())
    valid = [Valid(mutant=each, seen=nothing, discriminating=(0,), lines=1.0, arcs=1.0) for each in mutants]
    chosen = [ranked(valid, number, MutationOptions())[0].mutant.operator for number in range(100)]
    assert 35 <= chosen.count("unary") <= 65
    assert chosen == [ranked(valid[::-1], number, MutationOptions())[0].mutant.operator for number in range(100)]
    assert chosen != [ranked(valid, number, MutationOptions(seed=1))[0].mutant.operator for number in range(100)]
    worse = [dataclasses.replace(each, arcs=0.9) for each in valid[1:]]
    assert ranked([*worse, valid[0]], 1, MutationOptions())[0] == valid[0]


def test_first_is_the_first_valid_one_of_the_published_order(sandbox):
    code = "def f(a, b):\n    c = a + b - b\n    return c * 1 < 4\n"
    made = mutated(sandbox, row(code, "f(3, 0)"), operators=("published",), select="first")
    tried = [m.code for m in mutants_of(made.code, MutationOptions(operators=("published",)))]
    valid = [code for code in tried if run(code, "f(3, 0)") != "True"]
    assert made.mutated_code == valid[0] != tried[0]


def test_differ_all_wants_every_case(sandbox):
    given = row("def f(a, b):\n    return a + b\n", "f(1, 2)", "f(1, 0)")
    assert mutated(sandbox, given, operators=("arithmetic",)).mutation_info.discriminating == (0,)
    none = mutated(sandbox, given, operators=("arithmetic",), differ="all")
    assert none.has_mutation is False and none.mutated_code is None
    assert none.metadata["mutation"]["reason"] == "no mutant is valid: same output 1"


@pytest.mark.parametrize(
    ("code", "operator", "reason"),
    [
        ("return a", "arithmetic", "no operator applies"),
        ("return len([a ** 1])", "power", "no mutant is valid: same output 1"),
        ("return True == (a ** 1 > 0)", "power", "no mutant is valid: same output 1"),
        ("return 1 / 0 if a < 1 else 1", "relational", "no mutant is valid: raised 2"),
        ("return 'x' * 300 if a < 1 else 1", "relational", "no mutant is valid: unwritable 2"),
        ("return [1e308 * 10] if a < 1 else 1", "relational", "no mutant is valid: no literal 2"),
        ("return f if a < 1 else 1", "relational", "no mutant is valid: no literal 2"),
        ("return 1.0 if a < 1 else True", "relational", "no mutant is valid: same output 2"),
    ],
)
def test_a_row_without_a_mutant_says_why(sandbox, code, operator, reason):
    made = mutated(sandbox, row(f"def f(a):\n    {code}\n", "f(1)"), operators=(operator,), max_chars=200)
    assert made.has_mutation is False
    assert made.metadata["mutation"]["reason"] == reason


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"output": ("4",)}, "case 0: the program returns 3, not the recorded 4"),
        ({"output": ("3", "4")}, "output: there are 1 inputs but 2 outputs"),
        ({"function_name": "g"}, "function_name: the program does not define 'g'"),
        ({"code": "def f(:"}, "code: the program does not compile"),
        ({"input": ("f(1",)}, "input: "),
        ({"code": "def f(a, b):\n    return {}[a]"}, "the original gives no value: raised, KeyError"),
        ({"code": "def f(a, b):\n    return f"}, "case 0: the original returns no finite literal"),
        ({"code": "def f(a, b):\n    return float('inf')", "output": ("inf",)}, "returns no finite literal"),
        ({"code": "def f(a, b):\n    while a: pass"}, "the original gives no value: endless"),
        ({"code": "import random\ndef f(a, b):\n    return random.random()"}, "something else every time"),
    ],
)
def test_a_row_that_cannot_be_trusted_says_why(sandbox, change, reason):
    given = msgspec.structs.replace(row("def f(a, b):\n    return a + b", "f(1, 2)"), **change)
    made = mutated(sandbox, given)
    assert made.has_mutation is False and reason in made.metadata["mutation"]["reason"]


def test_endless_mutants_end(sandbox):
    """In loops, in C where no step is counted, and where everything is caught."""
    catching = COUNTDOWN.replace(
        "n -= 1", "try:\n            n -= 1\n        except BaseException:\n            pass"
    )
    in_c = "import itertools\ndef f(n):\n    return sum(itertools.count(n, 0) if n < 1 else [n, 5])\n"
    for code in (COUNTDOWN, catching, in_c):
        made = mutated(sandbox, row(code, "f(1)"), cpu_s=0.3, max_steps=20_000)
        assert made.has_mutation, code
        assert {"endless", "time_limit"} & set(made.metadata["mutation"]["mutants"]), code


def test_a_program_that_changes_its_process_does_not_spoil_the_others(sandbox):
    """Each mutant counts as if it had a process of its own, whatever another did to the one they share."""
    code = """
import math
def f(n):
    if n + 1 > 9:
        math.floor = lambda value: 7
    return math.floor(n / 2) - 3
"""
    options = MutationOptions(select="all")
    made = list(mutate_rows([row(code, "f(8)")], options, sandbox))
    assert any("return 7" not in each.mutated_code for each in made)
    for each in made:
        (alone,) = Observer(sandbox, ["f(8)"], options).alone(each.mutated_code).outputs
        assert each.mutated_output == (alone,)
    changes = {each.mutation_info.change for each in made}
    assert {"n + 1 > 9 -> n + 1 >= 9", "n / 2 -> n * 2", "3 -> 4", "3 -> 2"} <= changes


@pytest.mark.parametrize(
    "forged",
    [
        "()",
        "(('value', '3', 1, 1, b'', b''),) * 2",
        "(('value', '3', 1, 1, (7,), (7,)),)",
        "(('value', '3', 1, 3, b'', b''),)",
        "(('value', '3', 1, 4, bytes(4), b''),)",
        "(('value', '3', 1, 1, bytes(3), b''),)",
        "(('value', '3', 1, 1, b'', bytes([9] * 8)),)",
        "(('value', '3', 1, 1, bytes(4), bytes(4)),)",
        "'value'",
    ],
)
def test_a_forged_answer_is_a_failed_call(sandbox, forged):
    """A program shares its process with the watcher and can answer for it; the form of answers is checked."""
    code = f"import builtins\nbuiltins.tuple = lambda cases: {forged}\ndef f(a):\n    return a\n"
    given = msgspec.structs.replace(row("def f(a):\n    return a + 1", "f(2)"), code=code)
    made = mutated(sandbox, given)
    assert made.has_mutation is False and "gives no value: tampering" in made.metadata["mutation"]["reason"]


def test_a_program_that_is_nested_too_deeply_says_so(sandbox):
    code = "def f(a):\n    return " + "+".join(["a"] * 900)
    made = mutated(sandbox, row(code, "f(1)"))
    assert made.has_mutation is False and "too deeply" in made.metadata["mutation"]["reason"]


def test_a_mutant_that_kills_its_process_takes_no_other_along(sandbox):
    code = """
import os
def f(n):
    if n > 4:
        os._exit(0)
    return n * 3
"""
    made = list(mutate_rows([row(code, "f(4)")], MutationOptions(select="all"), sandbox))
    assert {each.mutated_output for each in made} >= {("7",), ("8",), ("16",)}
    assert sum(made[0].metadata["mutation"]["mutants"].values()) > len(made)


def test_rewritings_agree_on_every_case_and_are_in_normal_form(sandbox, data_dir):
    rows = quixbugs_rows(data_dir)[:8]
    given = MutationOptions(preserve=tuple(REWRITINGS))
    for made in mutate_rows(rows, given, sandbox, workers=2):
        assert made.preserved
        for variant in made.preserved:
            assert variant.code == normalised(variant.code) != made.code
            for call, output in zip(made.input, made.output, strict=True):
                assert run(variant.code, call) == output


def test_a_rewriting_that_a_case_refutes_is_left_out(sandbox):
    code = "import sys\ndef f(n):\n    return len(sys._getframe().f_code.co_varnames)\n"
    made = mutated(sandbox, row(code, "f(1)"), preserve=("rename", "dead-code"))
    assert [variant.rewriting for variant in made.preserved] == ["rename"]


def test_the_number_of_workers_changes_nothing(sandbox, data_dir):
    rows = quixbugs_rows(data_dir)[:10]
    options = MutationOptions(seed=5, max_steps=20_000)
    one = [msgspec.json.encode(made) for made in mutate_rows(rows, options, sandbox)]
    two = [msgspec.json.encode(made) for made in mutate_rows(iter(rows), options, sandbox, workers=3)]
    assert one == two and len(one) == 10


@pytest.mark.slow
def test_quixbugs_has_mutants_whose_outputs_are_true(sandbox, data_dir):
    rows = quixbugs_rows(data_dir)
    made = list(mutate_rows(rows, MutationOptions(max_steps=10_000), sandbox, workers=2))
    with_mutants = [each for each in made if each.has_mutation]
    assert len(with_mutants) >= 0.8 * len(rows)
    for each in with_mutants:
        assert any(not compare(*pair).python_eq for pair in zip(each.output, each.mutated_output, strict=True))
        assert (
            Observer(sandbox, each.input, MutationOptions()).alone(each.mutated_code).outputs
        ) == each.mutated_output


def test_a_preamble_is_run_and_shown_to_nobody(sandbox):
    given = ExecutionRow(
        id=1,
        function_name="f",
        code="def f(xs: Numbers):\n    return Bag(xs)[1] + 1",
        input="[1, 1]",
        output="3",
    )
    assert "NameError" in mutated(sandbox, given).metadata["mutation"]["reason"]
    made = mutated(
        sandbox, given, preamble="from typing import List as Numbers\nfrom collections import Counter as Bag"
    )
    assert made.has_mutation and isinstance(made.mutated_output, str) and "import" not in made.mutated_code
