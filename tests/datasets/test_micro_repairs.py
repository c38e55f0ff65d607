"""The generator of repair programs: what it draws is right, differs where it must, and is split for good."""

import ast
import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truegrade.benchmarks import micro_repair
from truegrade.builders.mutation.operators import OPERATORS
from truegrade.builders.repair_items import (
    CALLS,
    NotOfTheGrammar,
    OutOfSteps,
    call,
    draw_item,
    is_reserved,
    outcome,
)
from truegrade.builders.repair_programs import SEEN, UNSEEN, draw_arguments, draw_bug, draw_program
from truegrade.datasets.identity import identity
from truegrade.sandbox import Limits, Sandbox


def function(source):
    return ast.parse(source).body[0]


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.integers(0, 2**32))
def test_the_interpreter_says_what_python_says(seed):
    rng = random.Random(seed)
    program = draw_program(rng)
    namespace = {}
    exec(program.source, namespace)  # a program of our own grammar
    for _ in range(4):
        arguments = draw_arguments(program, rng)
        copied = [list(each) if isinstance(each, list) else each for each in arguments]
        assert repr(call(function(program.source), arguments)) == repr(namespace[program.name](*copied))


def test_the_interpreter_and_the_jail_agree_on_correct_and_buggy_programs():
    rng = random.Random(5)
    with Sandbox(Limits(cpu_s=10), workers=1, allow_unsafe=True) as jail:
        for _ in range(12):
            item = draw_item(rng)
            for source in (item.program.source, item.buggy):
                seen = []

                def keep(_, result, seen=seen):
                    seen.append(repr(result.value) if result.error is None else result.error.split(":")[0])
                    return True

                said = [outcome(function(source), arguments) for arguments in item.calls]
                if "OutOfSteps" in said:
                    continue
                jail.call(source, item.program.name, item.calls, keep)
                assert said == [text.removesuffix("()") for text in seen]


def test_an_endless_loop_ends_and_other_syntax_is_refused():
    endless = function("def f(xs):\n    i = 0\n    while i < 1:\n        i += 0\n    return i")
    assert outcome(endless, ([],)) == "OutOfSteps"
    with pytest.raises(OutOfSteps):
        call(endless, ([],))
    for text in ("import os", "return open('x')", "return xs.__class__", "return [x for x in xs]"):
        with pytest.raises(NotOfTheGrammar):
            call(function(f"def f(xs):\n    {text}"), ([],))


def test_arguments_are_not_changed_by_a_call():
    values = [3, 1]
    assert call(function("def f(v):\n    v.append(1)\n    return v"), (values,)) == [3, 1, 1]
    assert values == [3, 1]


def test_items_show_their_bug_and_expect_what_the_correct_program_returns():
    rng = random.Random(1)
    for _ in range(40):
        item = draw_item(rng)
        assert item.program.source.startswith(f"def {item.program.name}(")
        assert len(item.calls) == len(item.expected) == CALLS
        right = [repr(call(function(item.program.source), arguments)) for arguments in item.calls]
        wrong = [outcome(function(item.buggy), arguments) for arguments in item.calls]
        assert tuple(right) == item.expected
        assert right != wrong


def test_a_bug_is_one_change_and_leaves_the_tree_as_it_was():
    rng = random.Random(2)
    for kind in SEEN + UNSEEN:
        bug = None
        while bug is None:
            program = draw_program(rng)
            bug = draw_bug(program.source, (kind,), rng)
        assert bug.kind == kind and bug.source != program.source
        changed = [
            (a, b) for a, b in zip(program.source.split("\n"), bug.source.split("\n"), strict=True) if a != b
        ]
        assert len(changed) == 1


def test_classes_are_those_of_the_mutation_engine_and_one_of_ours():
    assert set(SEEN) <= set(OPERATORS)
    assert set(UNSEEN) - set(OPERATORS) == {"variable"}
    assert not set(SEEN) & set(UNSEEN)
    rng = random.Random(3)
    assert set(Counter(draw_item(rng).kind for _ in range(200))) == set(SEEN + UNSEEN)


def test_a_program_is_seen_or_not_whatever_its_names():
    rng = random.Random(4)
    programs = [draw_program(rng) for _ in range(300)]
    by_name = {}
    for program in programs:
        by_name.setdefault(program.name, set()).add((program.identity, program.seen))
    assert all(len(seen) == 1 for seen in by_name.values())
    share = sum(program.seen for program in programs) / len(programs)
    assert 0.72 < share < 0.88  # four in five


def test_what_training_may_show_and_what_is_kept_back_share_nothing():
    rng = random.Random(6)
    items = [draw_item(rng) for _ in range(150)]
    shown = {item.identity for item in items if item.for_training}
    kept = {item.identity for item in items if not item.for_training}
    assert shown and kept and not shown & kept
    for item in items:
        if item.for_training:
            assert item.program.seen and item.seen_bug and not is_reserved(item.program, item.buggy)
        assert identity(item.program.source) == item.program.identity


def test_the_same_seed_draws_the_same_item():
    assert draw_item(random.Random(9)) == draw_item(random.Random(9))


def test_identities_are_the_same_under_every_python():
    """They decide what no model was trained on; these were taken under 3.11."""
    assert identity("def f(x, *, y=None):\n    return g(x, [], {**y})\n").startswith("f1d4348edfa7d559")
    method = "class A:\n    def f(self):\n        return self[:1], f'{self!r:>{2}}'\n"
    assert identity(method).startswith("299e75d7ba0a78f2")


def test_the_benchmark_is_the_same_under_every_python():
    assert micro_repair.load(None, {"size": "8"}).dataset_sha256.startswith("5bc795e37987abdf")
