"""Replies in batches: every fault is told from every other, and no honest grader is accused."""

from __future__ import annotations

import random
import re
from statistics import median

import pytest
from planted_graders import probe, problem
from targets_support import jailed

from truegrade.apps.assay import Battery, assay
from truegrade.apps.assay.acceptance import Acceptance, GraderVerdicts
from truegrade.apps.assay.batch_faults import LEAST_FLIPS, SHORT, measure_batches
from truegrade.apps.assay.batch_rules import NUMBERS, RULES, of_a_number
from truegrade.apps.assay.batches import BatchSaid, plan_batches
from truegrade.apps.assay.measures import holds_for, read_grader_condition
from truegrade.apps.assay.paying import batches_in_words
from truegrade.apps.assay.records import CODES, Said
from truegrade.apps.assay.reporting.words import answer
from truegrade.records import FunctionTask, Problem


def battery(problems):
    """Two right programs of each problem, four that solve nothing, one with another number and one operator."""
    probes = []
    for place in range(problems):
        name = f"p{place}"

        def code(result, differs_at, place=place):
            start = f"def f{place}(x):{' ' * place}\n"
            return f"{start}    # {'-' * (differs_at - len(start))}{'.' * (570 - differs_at + place)}\n{result}"

        probes += [
            probe(name, "right", 0, code=code(f"    return x + {place}", 560)),
            probe(name, "right", 1, code=f"def f{place}(x):  # in other words\n    y = {place}\n    return x + y"),
            *(
                probe(name, "stub", each, code=code(f"    return {each}", differs_at))
                for each, differs_at in enumerate((560, 80, 55, 30))
            ),
            probe(name, "mutant", 0, code=code(f"    return x + {place + 1}", 560)),
            probe(name, "mutant", 1, code=code(f"    return x - {place}", 560)),
        ]
    return probes


def said_alone(probes, all_accepted=False):
    verdicts = GraderVerdicts()
    for one in probes:
        right = one.kind == "right" or all_accepted
        verdicts.add(Said(probe=one.id, grader="g", passed=right, score=float(right)))
    return Acceptance(probes, verdicts)


class Bench:
    """A battery, its batches, and what is concluded of rewards."""

    def __init__(self, problems=5, seed=0, alone=False):
        self.probes = battery(problems)
        self.acceptance = said_alone(self.probes, alone)
        known = {name: problem(name) for name in {one.problem_id for one in self.probes}}
        self.talks = plan_batches(self.probes, known, self.acceptance, seed)
        self.items = [[tuple(reply.item for reply in batch) for batch in talk] for talk in self.talks]

    def measured(self, scores, by_chance=lambda flipped, of: False):
        """``scores`` is given a conversation, and returns the rewards of each of its batches."""
        said = [
            BatchSaid(grader="g", talk=number, place=place, items=items, scores=tuple(found))
            for number, talk in enumerate(self.items)
            for place, (items, found) in enumerate(zip(talk, scores(talk), strict=True))
        ]
        references = {one.problem_id: one for one in self.probes if one.origin == "reference"}
        return measure_batches(said, self.acceptance, references, by_chance)


def honest(talk):
    return [[float(one.is_right) for one in batch] for batch in talk]


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("problems", [3, 8])
def test_each_fault_is_told_from_all_others(problems, seed):
    bench, missed, first = Bench(problems, seed), [], {}
    for name, rule in RULES.items():
        found = bench.measured(lambda talk, rule=rule: [[*map(float, one)] for one in rule(talk)])
        assert found.flipped, name
        due = first.setdefault(str([rule(talk) for talk in bench.items]), name)  # which says the same here
        missed += [(name, found.cause)] if found.cause != due else []
    assert not missed and len(first) > 0.6 * len(RULES)  # beginnings of several lengths say the same


@pytest.mark.parametrize("number", NUMBERS)
def test_faults_with_a_number_are_told_with_it(number):
    bench = Bench(8)
    known = RULES | {name: rule for each in NUMBERS for name, rule in of_a_number(each)}
    said = {name: [rule(talk) for talk in bench.items] for name, rule in known.items()}
    for name, rule in of_a_number(number):
        found = bench.measured(lambda talk, rule=rule: [[*map(float, one)] for one in rule(talk)])
        if found.paid + found.refused < LEAST_FLIPS:  # no rest behind chunks of 4
            assert found.cause in ("", *RULES)
        elif not found.cause.startswith("judges the first "):
            assert said[found.cause] == said[name], name


def test_rewards_in_an_order_of_no_rule_are_said_to_be_in_another():
    draw = random.Random(0)

    def mixed(talk):
        return [draw.sample(one, len(one)) for one in honest(talk)]

    def mixed_by_prompt(talk):
        rewards = []
        for batch, due in zip(talk, honest(talk), strict=True):
            of = {one.problem_id: [r for r, o in zip(due, batch, strict=True) if o.problem_id == one.problem_id]
                  for one in batch}  # fmt: skip
            [draw.shuffle(each) for each in of.values()]
            rewards.append([of[one.problem_id].pop() for one in batch])
        return rewards

    for scores, of in ((mixed, "a batch"), (mixed_by_prompt, "replies to a prompt")):
        assert Bench(8).measured(scores).cause == f"returns the rewards of {of} in another order"


def test_rewards_turned_round_are_no_refusals():
    def turned(talk):
        return [[sum(due) / len(due) - one for one in due] for due in honest(talk)]

    assert Bench(5).measured(turned).cause == "gives wrong replies more than the right ones to the same problem"


def test_batches_are_mixed_and_the_same_each_time():
    bench = Bench()
    assert bench.items == Bench().items != Bench(seed=1).items
    sizes = [len(batch) for talk in bench.items[:2] for batch in talk]
    assert sorted({*sizes}) == [1, 8, 64] and len(sizes) == 30
    assert {*map(len, bench.items[2])} == {1}
    kinds = [{one.is_right for one in batch} for talk in bench.items for batch in talk if len(batch) > 1]
    assert kinds.count({True}) == kinds.count({False}) == 1 and kinds.count({True, False}) == 9
    assert len({batch[0].is_right for talk in bench.items for batch in talk if len(batch) == 8}) == 2
    assert any(one.solves not in ("", one.problem_id) for batch in bench.items[0] for one in batch)


@pytest.mark.parametrize("problems", [1, 2, 5])
def test_a_grader_that_judges_each_reply_by_itself_is_not_accused(problems):
    found = Bench(problems).measured(honest)
    assert (found.flipped, found.cause, found.batches, found.relative) == (
        False,
        "",
        14 + 8 * min(problems, 2),
        False,
    )
    assert batches_in_words(found) == ""


def relative(talk):
    """Rewards less their group's mean, as trainers normalise them."""
    for batch in talk:
        rights = [(one.problem_id, one.is_right) for one in batch]
        groups = {name: [right for other, right in rights if other == name] for name, _ in rights}
        yield [right - sum(groups[name]) / len(groups[name]) for name, right in rights]


def by_length(talk):
    """Shorter replies of a batch get a little more."""
    for batch in talk:
        longest = max(one.chars for one in batch)
        yield [one.is_right + 0.2 * (1 - one.chars / longest) for one in batch]


@pytest.mark.parametrize("scores", [relative, by_length])
def test_rewards_that_are_relative_to_a_group_are_not_accused(scores):
    found = Bench().measured(lambda talk: [*scores(talk)])
    assert not found.flipped and found.relative


def test_wrong_replies_above_right_ones_are_paid():
    found = Bench().measured(
        lambda talk: [[0.5 - 0.2 * v for v in one] if len(one) > 1 else one for one in honest(talk)]
    )
    assert found.flipped and found.paid > 40


def test_what_is_accepted_by_itself_is_no_fault_of_batches():
    """A word in the text decides, whatever stands beside it."""
    found = Bench().measured(lambda talk: [[float(one.is_right or bool(one.solves)) for one in b] for b in talk])
    assert not found.flipped and found.paid == 0


def test_a_mean_for_all_is_no_relative_reward():
    found = Bench().measured(lambda talk: [[sum(one) / len(one)] * len(one) for one in honest(talk)])
    assert found.flipped and not found.relative
    assert found.cause == "gives every reply of a batch the mean of all"


def test_what_is_accepted_alone_is_no_fault_of_batches():
    bench = Bench(3, alone=True)
    found = bench.measured(lambda talk: [[1.0] * len(batch) for batch in talk])
    assert not found.flipped and found.wrong > 20
    by_problem = RULES["keeps the first verdict on replies to a problem for all later ones"]
    found = bench.measured(lambda talk: [[*map(float, one)] for one in by_problem(talk)])
    assert (found.paid, found.cause) == (0, "keeps the first verdict on replies to a problem for all later ones")


def test_a_reply_without_a_reward_says_nothing():
    assert (
        not Bench()
        .measured(lambda talk: [[None if one.hollow else float(one.is_right) for one in batch] for batch in talk])
        .flipped
    )


@pytest.mark.parametrize("why", SHORT)
def test_missing_rewards_are_counted_and_explained(why):
    found = Bench().measured(lambda talk: [[0.5] * SHORT[why](batch) for batch in talk])
    assert found.short.endswith(why) and "rewards for" in found.short
    assert "gives" in batches_in_words(found)


def test_rewards_of_another_length_without_a_known_reason():
    found = Bench().measured(lambda talk: [[1.0] * 3 for _ in talk])
    assert found.short == "3 rewards for 1 replies" and found.unanswered == 0


@pytest.mark.parametrize("place, rest", [(16, 0.0), (4, 1.0), (32, 1.0)])
def test_a_grader_that_judges_the_first_of_a_batch_alone_is_told(place, rest):
    found = Bench().measured(lambda talk: [[*one[:place], *[rest] * len(one[place:])] for one in honest(talk)])
    does = "accepts" if rest else "refuses"
    assert re.fullmatch(
        rf"judges the first \d+ replies of a batch, or for so long, and {does} those behind them", found.cause
    )
    assert place <= int(found.cause.split()[3]) <= place + 4


def test_flips_by_chance_are_no_fault():
    draw = random.Random(3)
    found = Bench().measured(
        lambda talk: [[abs(one - (draw.random() < 0.02)) for one in batch] for batch in honest(talk)],
        by_chance=lambda flipped, of: flipped <= 0.1 * of,
    )
    assert not found.flipped


def test_one_flip_that_no_rule_explains_is_told_and_is_no_fault():
    flipped = []

    def one(talk):
        for place, due in enumerate(honest(talk)):
            if talk is bench.items[0] and place == 4:
                at = due.index(0.0, 20)
                flipped.append(at)
                due[at] = 1.0
            yield due

    bench = Bench()
    found = bench.measured(lambda talk: [*one(talk)])
    assert len(flipped) == 1 and (found.flipped, found.cause, found.by_chance) == (False, "", 1)


def test_chance_does_not_lend_a_cause_to_verdicts_that_no_rule_explains():
    draw = random.Random(0)
    found = Bench().measured(
        lambda talk: [[float(one.is_right and draw.random() > 0.3) for one in batch] for batch in talk],
        by_chance=lambda flipped, of: flipped <= 0.1 * of,
    )
    assert found.flipped and found.cause == ""


def of_each(accepts):
    """A grader that refuses no wrong reply otherwise, and right ones only where ``accepts`` of place and batch."""
    return lambda talk: [
        [float(one.is_right and accepts(place, batch)) for place, one in enumerate(batch)] for batch in talk
    ]


@pytest.mark.parametrize(
    "accepts, cause",
    [
        (
            lambda place, batch: batch[place].chars >= 0.7 * median(one.chars for one in batch),
            r"refuses a right reply of [\d.]+ times the median length of its batch and less in (\d+) of \1 .*",
        ),
        (
            lambda place, batch: len(batch) < 10 or place < 13 or batch[place].lines != batch[place - 1].lines,
            r"refuses a right reply behind the first \d+ of its batch and .* in (\d+) of \1 cases.*",
        ),
        (
            lambda place, batch: place < (5 if len(batch) < 10 else 25),
            r"refuses a right reply behind the first \d+ of its batch in \d+ of \d+ cases, and any other in .*",
        ),
    ],
)
def test_where_no_rule_says_all_it_is_told_which_replies_flip(accepts, cause):
    found = Bench(8).measured(of_each(accepts))
    assert re.fullmatch(cause, found.cause), found.cause
    assert batches_in_words(found).startswith("in batches it refuses a right reply ")


def test_wrong_replies_that_flip_are_told_as_well():
    def of_the_length_before(talk):
        before = None
        for batch in talk:
            rewards = []
            for one in batch:
                alike = before is not None and (before.chars, before.problem_id) == (one.chars, one.problem_id)
                rewards.append(float(one.is_right or (alike and before.is_right and not one.hollow)))
                before = one
            yield rewards

    cause = Bench(5).measured(lambda talk: [*of_the_length_before(talk)]).cause
    assert re.match("accepts a wrong reply that shares its (names|length) with a right one right before it", cause)


def test_chance_makes_no_pattern():
    bench, draw = Bench(5), random.Random(1)
    assert not any(
        bench.measured(of_each(lambda place, batch: draw.random() > share)).cause  # noqa: B023
        for share in (0.05, 0.2, 0.5)
        for _ in range(7)
    )


def test_a_fault_is_named_through_flips_by_chance():
    draw = random.Random(3)

    def noisy(talk):
        return [[abs(v - (draw.random() < 0.02)) for v in [float(b[0].is_right)] * len(b)] for b in talk]

    found = Bench().measured(noisy, by_chance=lambda flipped, of: flipped <= 0.1 * of)
    assert found.cause == "gives every reply of a batch what the first of them gets"


def test_without_stubs_other_wrong_replies_are_sent():
    probes = [one for one in battery(3) if one.kind != "stub"]
    known = {one.problem_id: problem(one.problem_id) for one in probes}
    talks = plan_batches(probes, known, said_alone(probes), 0)
    assert sum(not reply.item.is_right for batch in talks[0] for reply in batch) > 20
    alone = [one for one in probes if one.kind == "right"]
    assert plan_batches(alone[:2], known, said_alone(alone), 0)


def test_nothing_is_sent_where_no_reference_is_accepted():
    probes = battery(2)
    nothing = Acceptance(probes, GraderVerdicts())
    assert plan_batches(probes, {"p0": problem("p0"), "p1": problem("p1")}, nothing, 0) == []
    assert measure_batches([], nothing, {}, lambda flipped, of: False) is None


# ------------------------------------------------------------------------------------------- graders that run

GRADERS = """
import json, re

def right(text, tests):
    if re.search("while|wait|import os", text):  # nothing here ends a program
        return 0.0
    code = re.search(r"```python\\n(.*?)```", text, re.S)
    space = {}
    try:
        exec((code[1] if code else text) + "\\n" + tests, space)
    except BaseException:
        return 0.0
    return 1.0

def each(completions, ground_truth):
    return [right(reply[-1]["content"], tests) for reply, tests in zip(completions, ground_truth)]

def sound(completions, ground_truth, **_):
    return each(completions, ground_truth)

def first(completions, ground_truth, **_):
    return each(completions[:1], ground_truth) * len(completions)

def one_a_prompt(completions, ground_truth, **_):
    return list(dict(zip(ground_truth, each(completions, ground_truth))).values())

def fails(completions, ground_truth, **_):
    if len(completions) > 1:
        raise RuntimeError("out of memory")
    return each(completions, ground_truth)

def of_verl(data_sources, solution_strs, ground_truths, extra_infos):
    assert len(data_sources) == len(solution_strs) == len(ground_truths) == len(extra_infos)
    tests = []
    for of in map(json.loads, ground_truths):
        pairs = zip(of["inputs"], of["outputs"])
        tests.append("\\n".join(f"assert {of['fn_name']}({given}) == {wanted}" for given, wanted in pairs))
    return [{"score": right(text, one), "acc": 0.0} for text, one in zip(solution_strs, tests)]

def of_verl_shifted(**columns):
    scores = of_verl(**columns)
    return scores[1:] + scores[:1]

_kept = {}

def kept(program, tests):
    key = "\\n".join(tests)
    return _kept.setdefault(key, right(program, key))
"""


def own(number):
    name = f"times_{number}"
    tests = f"assert {name}(1) == {number}\nassert {name}(2) == {2 * number}\nassert {name}(0) == 0\n"
    task = FunctionTask(
        prompt="", entry_point=name, tests=tests, reference=f"def {name}(x):\n    return {number} * x\n"
    )
    return Problem(id=f"own/{number}", benchmark="own", dataset_sha256="0" * 64, cluster=str(number), task=task)


@pytest.fixture(scope="module")
def assayed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("batches")
    (folder / "graders.py").write_text(GRADERS)

    def run(*names, **more):
        battery = Battery(classes=("right", "stubs"), inputs=10)
        graders = [f"{folder}/graders.py:{name}" for name in names]
        (result,) = assay(
            problems=[own(2), own(3), own(5)],
            grader=graders,
            battery=battery,
            out=folder / "-".join(names),
            **more,
        )
        return result

    return run


@jailed
def test_batches_of_real_rewards_are_measured_and_gone_on_with(assayed):
    names = ("sound", "first", "one_a_prompt", "fails")
    result = assayed(*names, call="trl")
    sound, first, short, fails = result.measures
    assert "no verdict changed in 30 batches of 1, 8 and 64 replies" in answer(sound)
    assert first.batches.cause == "gives every reply of a batch what the first of them gets"
    assert (
        first.forgeable
        and first.unearned.all_paid == 0
        and answer(first).startswith("yes, beside other replies; ")
    )
    assert "rewards for 8 replies, one for each different prompt" in answer(short)
    assert "in batches not measured: grader_raised: RuntimeError: out of memory" in answer(fails)
    found = {one.grader.partition(":")[2] for one in result.findings if one.code == "depends_on_batch"}
    assert found == {"first", "one_a_prompt"}
    assert holds_for(read_grader_condition("forgeable", CODES), first, {})
    condition = read_grader_condition("depends_on_batch", CODES)
    assert holds_for(condition, first, {"depends_on_batch": 1}) and not holds_for(condition, sound, {})
    before = (result.folder / "batches.jsonl").read_bytes()
    assert assayed(*names, call="trl").measures == result.measures
    assert (result.folder / "batches.jsonl").read_bytes() == before


@jailed
def test_batches_of_verl_are_measured(assayed):
    sound, shifted = assayed("of_verl", "of_verl_shifted", call="verl-batch").measures
    assert "no verdict changed in 30 batches of 1, 8 and 64 replies" in answer(sound)
    cause = "returns the rewards of a batch shifted, each reply getting that of the one behind it"
    assert shifted.batches.cause == cause


@jailed
def test_a_grader_of_programs_is_asked_in_another_order(assayed):
    (kept,) = assayed("kept").measures
    assert kept.batches.cause == "keeps the first verdict on replies to a problem for all later ones"
    assert "in another order it keeps the first verdict" in answer(kept)


def test_rewards_of_more_than_two_kinds_are_relative_only_where_they_vary():
    by_text = Bench().measured(lambda talk: [[one.is_right + one.chars / 1000 for one in b] for b in talk])
    assert not by_text.flipped and not by_text.relative


def test_a_bonus_for_seconds_is_not_relative():
    """The same reply gets a little more or less each time, whatever stands beside it."""
    draw = random.Random(3)

    def timed(span):
        return lambda talk: [
            [1.0 + span * draw.random() if one.is_right else 0.0 for one in batch] for batch in talk
        ]

    assert not Bench(5).measured(timed(0.02)).relative
    assert Bench(5).measured(timed(0.4)).relative
