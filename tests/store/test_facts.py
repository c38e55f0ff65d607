"""What is kept of a run's records: packed, equal to what was noted, and little for each."""

import gc
import tracemalloc
from hashlib import sha256

import msgspec
import pytest

from truegrade.pipeline.totals import CompletionTotals, SampleTexts
from truegrade.pipeline.verdicts import verdict_table
from truegrade.records import Completion, Reason, Usage, Verdict
from truegrade.store import BenchmarkIdentity, Manifest, environment
from truegrade.store.facts import (
    PACKED_AT_ONCE,
    CompletionFacts,
    PackedFacts,
    VerdictFacts,
    completion_facts,
    verdict_facts,
)

DATA = "d" * 64
SAMPLES = 100


def completion(number, text="[1, 2]", model="m", **more):
    return Completion(
        benchmark="b", dataset_sha256=DATA, problem_id=f"p{number // SAMPLES}", sample=number % SAMPLES,
        config_sha256="c" * 64, prompt_sha256="", text=text and f"{text} {number}", form="answer",
        latency_s=number / 7, model=model, **more,
    )  # fmt: skip


def verdict(number, passed=True):
    return Verdict(
        benchmark="b", dataset_sha256=DATA, problem_id=f"p{number // SAMPLES}", sample=number % SAMPLES,
        config_sha256="c" * 64, completion_sha256=completion(number).sha256, profile="strict@6", passed=passed,
        reason=Reason.PASSED if passed else Reason.WRONG_ANSWER, answer=f"[{number}]", marks=("text-differs",),
    )  # fmt: skip


@pytest.mark.parametrize("amount", [0, 1, PACKED_AT_ONCE - 1, PACKED_AT_ONCE, 3 * PACKED_AT_ONCE + 7])
def test_packed_facts_are_those_that_were_noted(amount):
    odd = {0: {"text": None}, 1: {"model": "half \ud800"}, 2: {"usage": Usage(input_tokens=1, output_tokens=2)}}
    noted = [completion_facts(completion(number, **odd.get(number % 5, {}))) for number in range(amount)]
    packed = PackedFacts(CompletionFacts)
    for facts in noted:
        packed.append(facts)
    assert list(packed) == noted
    assert len(packed) == amount
    assert [packed[place] for place in range(0, amount, 250)] == noted[::250]
    again = PackedFacts(CompletionFacts)
    for facts in noted:
        again.append(facts)
    assert packed == again
    again.append(completion_facts(completion(amount)))
    assert packed != again


def test_facts_of_verdicts_keep_reason_and_marks():
    noted = [verdict_facts(verdict(number, passed=number % 3 > 0)) for number in range(PACKED_AT_ONCE)]
    packed = PackedFacts(VerdictFacts)
    for facts in noted:
        packed.append(facts)
    assert list(packed) == noted


def test_texts_are_equal_where_their_hashes_are_and_missing_where_there_is_none():
    texts = SampleTexts()
    for sample, text in ((3, "a"), (1, "b"), (5, "a"), (1, "c")):
        texts.add(sample, sha256(text.encode()).hexdigest())
    assert [*texts] == [1, 3, 5]
    assert len(texts) == 3
    assert texts[3] == texts[5] != texts[1]
    assert 2 not in texts
    assert 6 not in texts
    assert -1 not in texts


def bytes_kept(make):
    """What is allocated by making something and still held."""
    gc.collect()
    tracemalloc.start()
    try:
        made = make()
        gc.collect()
        return tracemalloc.get_traced_memory()[0], made
    finally:
        tracemalloc.stop()


def test_a_sample_costs_few_bytes():
    amount = 40 * PACKED_AT_ONCE
    manifest = Manifest(
        created="2026-01-01T00:00:00+00:00",
        benchmark=BenchmarkIdentity(name="b", dataset_sha256=DATA, source="test", problems=amount // SAMPLES),
        samples_per_task=SAMPLES,
        environment=environment(),
    )

    def everything():
        completions, verdicts = PackedFacts(CompletionFacts), PackedFacts(VerdictFacts)
        totals = CompletionTotals(manifest)
        for number in range(amount):
            completions.append(facts := completion_facts(completion(number)))
            totals.add(facts)
            verdicts.append(verdict_facts(verdict(number, passed=number % 2 > 0)))
        table = verdict_table(verdicts, {f"p{number}" for number in range(amount)}, SAMPLES)
        return completions, verdicts, totals, table

    everything()  # what is imported, compiled and remembered once
    kept, _ = bytes_kept(everything)
    assert kept / amount < 200, "of both journals and the tables of a summary, together"


def test_equal_outcomes_are_one_object():
    facts = [verdict_facts(verdict(number, passed=number % 2 > 0)) for number in range(2 * SAMPLES)]
    table = verdict_table(facts, {"p0", "p1"}, SAMPLES)
    assert len({id(outcome) for row in table.values() for outcome in row}) == 2
    assert [outcome.passed for outcome in table["p1"]] == [number % 2 > 0 for number in range(SAMPLES)]
    renamed = [msgspec.structs.replace(facts[0], passed=True, reason=Reason.PASSED)]
    assert verdict_table([*facts, *renamed], {"p0"}, SAMPLES)["p0"][0].passed, "a later verdict replaces"
