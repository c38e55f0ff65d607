"""No item of micro-repair, and no program of DSL-List (seed 0, 500) or mutant of one, is in the training data.

Whether an example may be shown is decided by a hash of the program itself, or by a list of hashes; the tests draw
parts of the data again and look for what must not be there.
"""

from __future__ import annotations

import ast
import random
from pathlib import Path

import msgspec
import pytest
from traced_programs import TracedPrograms

from support.thorough import one_in
from truegrade.benchmarks import load_benchmark
from truegrade.builders.dsl_list import DslListOptions, build
from truegrade.builders.mutation.file import mutate_rows
from truegrade.builders.mutation.mutants import MutationOptions
from truegrade.datasets.identity import identity
from truegrade.records import sha256_json
from truegrade.sandbox import Limits, Sandbox

ROOT = Path(__file__).parents[2]


@pytest.fixture
def examples(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from train import examples

    return examples


@pytest.fixture
def held_out():
    return frozenset((ROOT / "train" / "held_out.txt").read_text().split())


@pytest.mark.thorough
def test_the_list_holds_every_program_of_dsl_list_and_every_mutant_of_one(examples, held_out):
    """Every mutant that an operator makes, so that the mutants of any selection are among them."""
    from train.hold import hold

    rows = list(build(DslListOptions(size=500, seed=0), TracedPrograms()))
    assert len(rows) == 500
    assert ast.literal_eval(rows[0].output[0]) == [3, 2, 3]  # as `truegrade data build dsl-list` writes it
    assert hold([row.code for row in rows]) == held_out
    with Sandbox(Limits(cpu_s=2), workers=1, allow_unsafe=True) as jail:
        mutated = [row for row in mutate_rows(rows[:25], MutationOptions(seed=3), jail) if row.mutated_code]
    assert len(mutated) > 15
    assert {identity(row.mutated_code)[: examples.HASH_CHARS] for row in mutated} <= held_out


def test_no_prediction_shows_a_held_out_program(examples, held_out):
    rng = random.Random(0)
    drawn = [examples.prediction(rng, held_out, 3) for _ in range(250)]
    assert not {each.identity[: examples.HASH_CHARS] for each in drawn} & held_out
    # without the list, shallow programs would be shown: the check can fail
    careless = [examples.prediction(rng, frozenset(), 3) for _ in range(50)]
    assert {each.identity[: examples.HASH_CHARS] for each in careless} & held_out


@pytest.fixture(scope="module", params=one_in(2, ["100", "500"]))
def repair_problems(request):
    return load_benchmark("micro-repair", args={"size": request.param}).problems


def items_of(problems):
    return {sha256_json([identity(problem.task.buggy), identity(problem.task.reference)]) for problem in problems}


def unseen_of(problems):
    return {identity(problem.task.reference) for problem in problems if problem.tags["program"] == "unseen"}


def test_no_repair_or_completion_shows_an_item_of_micro_repair(examples, repair_problems):
    rng = random.Random(0)
    repairs = [examples.repair(rng) for _ in range(120)]
    assert not {each.identity for each in repairs} & items_of(repair_problems)
    completions = [examples.completion(rng) for _ in range(60)]
    assert not {each.identity for each in completions} & unseen_of(repair_problems)


@pytest.mark.parametrize("number", one_in(2, [0, 91, 92, 151, 152, 195]))
def test_the_beginning_of_a_shard_shows_nothing_held_out(number, examples, held_out, repair_problems):
    """Of the run that ships: of its first part, and of its continuations from 92 and from 152 on."""
    from train.settings import read_settings

    settings = read_settings(ROOT / "train" / "settings.json")
    assert (settings.shards, settings.all_shards) == (92, 196)
    # an example depends on those before it only, so these are the first of the shard
    drawn = list(examples.shard(number, msgspec.structs.replace(settings, shard_examples=150), held_out))
    shown = {
        task: {each.identity for each in drawn if each.task == task}
        for task in ("repair", "prediction", "completion")
    }
    assert all(shown.values())
    assert not {each[: examples.HASH_CHARS] for each in shown["prediction"]} & held_out
    assert not shown["repair"] & items_of(repair_problems)
    assert not shown["completion"] & unseen_of(repair_problems)


def test_what_was_shown_is_found(examples, held_out):
    from train.settings import Settings
    from train.shown import shown

    settings = Settings(shard_examples=20)
    drawn = {each.identity for each in examples.shard(1, settings, held_out) if each.task == "prediction"}
    assert drawn
    assert drawn <= shown([0, 1], settings, held_out)


def test_examples_are_worded_as_the_product_words_them(examples, held_out):
    from truegrade.extraction.assertions import extract_output
    from truegrade.profiles.strict import Strict

    rng = random.Random(3)
    problem = load_benchmark("micro-repair", args={"size": "1"}).problems[0]
    asked = Strict().render_prompt(problem).messages[0].content
    repaired = examples.repair(rng)
    first = asked.split("\n")[0].replace(problem.task.entry_point, "")
    assert repaired.asked.split("\n")[0].split("function in ")[0] in first
    assert repaired.asked.endswith(asked[-40:])
    predicted = examples.prediction(rng, held_out, 4)
    call = predicted.asked.split("assert ")[-1].split(" == ??")[0]
    name, _, arguments = call.partition("(")
    answer = extract_output(predicted.reply, name, arguments.removesuffix(")"))
    assert answer.found == "block"
    assert predicted.reply.rstrip().endswith(f"== {answer.value}\n[/ANSWER]")


def test_a_shard_is_the_same_whenever_it_is_drawn(examples, held_out, monkeypatch):
    from train.settings import Settings

    settings = Settings(shard_examples=20)
    assert list(examples.shard(2, settings, held_out)) == list(examples.shard(2, settings, held_out))
    assert list(examples.shard(2, settings, held_out)) != list(examples.shard(3, settings, held_out))
