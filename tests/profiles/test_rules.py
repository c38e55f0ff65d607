"""What `truegrade list profiles` prints: every rule has a source that can be followed, and is executed."""

import re
from collections import Counter
from dataclasses import replace

import msgspec
import pytest
from profile_rows import completion, problems, sandbox_of
from rule_tasks import EXAMPLES, task_of

from support.rule_examples.comparison import COMPARISON
from support.rule_examples.extraction import EXTRACTION, Read
from support.rule_examples.limits import LIMITS, Limited
from support.rule_examples.program import PROGRAM, Graded
from support.rule_examples.prompt import ELSEWHERE, PROMPT, Asked
from support.thorough import one_in
from truegrade.errors import TruegradeError
from truegrade.grading import judgement
from truegrade.pipeline.summary import summarise_run
from truegrade.pipeline.verdicts import limits_for, verdict_on
from truegrade.profiles import PROFILES, Profile, find_profile, open_profile
from truegrade.profiles.base import covered_benchmarks
from truegrade.prompts import PROMPTS
from truegrade.records import Completion, Reason, Usage, Verdict
from truegrade.records.config import GenerationConfig
from truegrade.store import Manifest, Run, environment
from truegrade.store.manifest import BenchmarkIdentity

FOLLOWED = re.compile(r"ours\b|.*\barXiv[ :]\d{4}\.\d{4,5}|[\w.-]+/[\w.-]+@[0-9a-f]{7,40} \S", re.DOTALL)
"""Our own rule, a paper, or a repository at a commit and a path in it."""


@pytest.mark.parametrize("name", PROFILES)
def test_every_rule_has_a_source_that_can_be_followed(name):
    profile = find_profile(name)
    lost = [rule.source for rule in profile.rules if not FOLLOWED.match(rule.source)]
    assert lost == []
    said = " ".join((profile.summary, *profile.defects, *(f"{rule.text} {rule.source}" for rule in profile.rules)))
    assert not re.search(r"\bseed 0|\bthe seed('s)?\b", said), "a seed is a random seed"


def test_every_prompt_has_a_source_that_can_be_followed():
    assert [entry.source for entry in PROMPTS.values() if not FOLLOWED.match(entry.source)] == []


# ------------------------------------------------------------------------------------------ aggregation

BY_THE_SUMMARY = {
    "pass-at-1-5-10": ["pass@1", "pass@5", "pass@10"],
    "pass-at-1-10-100": ["pass@1", "pass@10", "pass@100"],
    "pass-at-1-2-5": ["pass@1", "pass@2", "pass@5"],
    "pass-at-k": ["pass@1", "pass@5", "pass@10"],
    "any-correct-and-all-solutions": ["any_correct", "first_sample", "all_solutions"],
    "first-sample": ["first_sample"],
    "coralx-five-scores": ["bugfix", "style", "security", "runtime", "syntax", "weighted_sum"],
    "code-r1-reward": ["reward"],
    "share-passed": ["pass@1"],
    "one-or-zero": ["pass@1"],
}
"""Id of a rule of aggregation -> estimates that every summary under it has, of 100 samples a problem."""
BY_THE_PROFILE = {
    "skips-left-out-unless-none-right": "tally",
    "skips-left-out": "tally",
    "strict-reads-tests": "tally",
    "share-of-tests": "tests_passed",
    "verl-sandbox-fusion-first-ten-tests": "tests_passed",
    "verl-prime-first-ten-tests": "tests_passed",
}
"""Id of one -> the method that the profile has in place of the usual one."""
FAILED_REQUESTS = {"failed-request-wrong": True, "missing-sample-left-out": False}
"""Id of one -> `Profile.counts_failed`; `tests/pipeline/test_cautions.py` tests what that does to a file."""
PUBLISHED = {"results-above-zero"}
"""Rules whose numbers are those of `Profile.contest_scale`."""
AGGREGATION = {*BY_THE_SUMMARY, *BY_THE_PROFILE, *FAILED_REQUESTS, *PUBLISHED}
SAMPLES, USAGE = 100, Usage(input_tokens=1, output_tokens=1)


def counted_run(folder, profile, problem):
    """The summary of a hundred samples of two problems, of which some passed, made without running any."""
    both = {name: msgspec.structs.replace(problem, id=name, cluster=name) for name in ("T/1", "T/2")}
    manifest = Manifest(
        created="2026-01-01T00:00:00+00:00",
        benchmark=BenchmarkIdentity(name=problem.benchmark, dataset_sha256="", source="test", problems=2),
        generation=GenerationConfig(model="x/y", prompt_rule="p"),
        samples_per_task=SAMPLES,
        environment=environment(),
    )
    run = Run.create_or_resume(folder, manifest)
    common = {"benchmark": problem.benchmark, "dataset_sha256": "", "config_sha256": ""}
    with run.append_completions() as replies, run.append_verdicts(profile.id) as verdicts:
        for name in both:
            for sample in range(SAMPLES):
                where = {**common, "problem_id": name, "sample": sample}
                reply = Completion(**where, prompt_sha256="", text=f"x = {sample}", model="y", usage=USAGE)
                passed = sample % 3 == 0
                replies.append(reply)
                verdicts.append(
                    Verdict(
                        **where, completion_sha256=reply.sha256, profile=profile.id, passed=passed,
                        reason=Reason.PASSED if passed else Reason.WRONG_ANSWER, answer=reply.text,
                        harness={"results": ["passed", "wrong_answer"]},
                    )
                )  # fmt: skip
    run.record_grading(profile.id, 3)
    return summarise_run(run, both, [profile]).profiles[0]


@pytest.mark.parametrize("name", one_in(3, PROFILES))
def test_every_rule_of_aggregation_is_executed(name, tmp_path):
    profile = find_profile(name)
    task = next(task for benchmark in covered_benchmarks(profile) for task in problems(benchmark))
    summary = counted_run(tmp_path / "run", profile, task)
    shown = {estimate.metric for estimate in summary.estimates}
    for rule in profile.rules:
        if rule.step != "aggregation":
            continue
        assert set(BY_THE_SUMMARY.get(rule.id, ())) <= shown, rule.text
        if method := BY_THE_PROFILE.get(rule.id):
            assert getattr(type(profile), method) is not getattr(Profile, method), rule.text
        if rule.id in FAILED_REQUESTS:
            assert profile.counts_failed is FAILED_REQUESTS[rule.id], rule.text
        if rule.id in PUBLISHED:
            assert profile.contest_scale is not None, rule.text


# ------------------------------------------------------------------------- the other steps, by an example of each

TABLES = {
    "prompt": PROMPT,
    "extraction": EXTRACTION,
    "program": PROGRAM,
    "comparison": COMPARISON,
    "limits": LIMITS,
}
IDS = {step: {*table} for step, table in TABLES.items()} | {"aggregation": AGGREGATION}


def examples(profile, step):
    """(rule, example) of each example that a profile's rules of a step have."""
    for rule in profile.rules:
        if rule.step == step:
            for example in TABLES[step][rule.id]:
                yield rule.text, example


def test_every_rule_has_the_id_of_examples_and_rules_of_one_text_share_it():
    rules = {(rule.step, rule.id, rule.text) for name in PROFILES for rule in find_profile(name).rules}
    found = {step: {rule_id for of, rule_id, _ in rules if of == step} for step in {step for step, *_ in rules}}
    assert found == IDS
    assert len({(step, text) for step, _, text in rules}) == len(rules), "one text has two ids"
    shared = Counter((step, rule_id) for step, rule_id, _ in rules if step != "aggregation")
    assert [key for key, texts in shared.items() if texts > 1] == [], "examples show one text"


def test_rules_without_an_example_are_named_with_the_reason():
    assert {key for table in TABLES.values() for key in table if not table[key]} == ELSEWHERE.keys()


def check_asked(profile, example):
    """Word a problem, and look for what is to be in the prompt."""
    task = task_of(profile, example.task)
    if example.refused is not None:
        with pytest.raises(TruegradeError, match=re.escape(example.refused)):
            profile.render_prompt(task, example.variant, EXAMPLES)
        return
    prompt = profile.render_prompt(task, example.variant, EXAMPLES)
    if example.same_as is not None:
        assert prompt == find_profile(example.same_as).render_prompt(task)
    texts = [message.content for message in prompt.messages]
    assert texts[0].startswith(example.begins) and texts[-1].endswith(example.ends), texts
    assert example.whole is None or texts == [example.whole]
    shown = "\0".join(texts)
    assert [text for text in example.has if text not in shown] == [], shown
    assert [text for text in example.lacks if text in shown] == [], shown
    assert example.roles in (None, tuple(message.role for message in prompt.messages))
    assert example.stop in (None, prompt.stop) and example.style in (None, prompt.style)
    assert example.shots in (None, prompt.shots)


def check_read(profile, example):
    """Read a reply."""
    task = task_of(profile, example.benchmark)
    given = completion(example.reply, example.form)
    if example.variant is not None:
        asked = profile.render_prompt(task, example.variant)
        given = msgspec.structs.replace(given, prompt_sha256=asked.sha256)
    answer = profile.answer(task, given)
    assert (answer.value, answer.reason) == (example.value, example.reason), answer.found


AMPLE_S = 60
"""Limit of a program that must not end by one, however many processes share the cores."""


def check_graded(profile, example):
    """Grade an answer."""
    profile = open_profile(f"{profile.name}+{example.timeout_s or AMPLE_S:g}s")
    task, given = task_of(profile, example.task), completion(example.program, example.form)
    sandbox = sandbox_of(limits_for(profile, [task]))
    verdict = verdict_on(given, task, profile, sandbox)
    assert told(verdict, example.wanted) == example.wanted, verdict
    assert {*example.marks} <= {*verdict.marks} and not {*example.unmarked} & {*verdict.marks}, verdict
    if example.counted is not None:
        answer = profile.answer(task, given)
        assert profile.tests_passed(task, answer, sandbox) == judgement.TestCount(*example.counted)


def told(verdict, wanted):
    """The harness' own words, the reason of a verdict, or whether it passed: whichever an example is about."""
    harness = verdict.harness or {}
    if isinstance(wanted, list):
        return harness.get("results")
    if isinstance(wanted, dict):
        said = harness.get("metadata", {})
        return {key: said.get(key) for key in wanted} if wanted else said
    return str(verdict.reason) if isinstance(wanted, str) else verdict.passed


class Watched:
    """An executor that runs everything in a sandbox, and keeps the limits and the arguments of each run."""

    def __init__(self, sandbox):
        self.sandbox, self.runs = sandbox, []

    def __getattr__(self, name):
        found = getattr(self.sandbox, name)
        if name not in ("call", "judge", "inside", "script"):
            return found

        def run(*given, **named):
            own = {key: named[key] for key in ("cpu_s", "wall_s") if named.get(key) is not None}
            self.runs.append((replace(self.sandbox.limits, **own), repr(given)))
            return found(*given, **named)

        return run


def check_limited(profile, example):
    """Grade an answer, and look at the limits that it was run under."""
    task = task_of(profile, example.task)
    watched = Watched(sandbox_of(limits_for(profile, [task])))
    verdict_on(completion(example.program, example.form), task, profile, watched)
    found = {(one.cpu_s, wall_s) for one, _ in watched.runs for wall_s in (one.wall_backstop_s, None)}
    assert {*example.runs} <= found, found
    assert all(any(part in sent for _, sent in watched.runs) for part in example.sent), watched.runs
    for name in ("memory_bytes", "processes", "open_files", "scratch_bytes"):
        wanted = getattr(example, name)
        assert wanted is None or {getattr(one, name) for one, _ in watched.runs} == {wanted}, name


CHECKS = {Asked: check_asked, Read: check_read, Graded: check_graded, Limited: check_limited}
CASES = [(name, step) for name in PROFILES for step in TABLES]
SLOW = [
    (name, step)
    for name, step in CASES
    for rule in find_profile(name).rules
    if rule.step == step
    for example in TABLES[step].get(rule.id, ())
    if getattr(example, "slow", False)
]


def execute(name, step, *, slow):
    """Check the examples of a profile's rules of a step: those marked as slow, or all others."""
    profile = open_profile(name)
    for rule, example in examples(profile, step):
        if getattr(example, "slow", False) == slow:
            try:
                CHECKS[type(example)](profile, example)
            except AssertionError as failure:
                raise AssertionError(f"{rule}\n{example}\n{failure}") from failure


@pytest.mark.parametrize(("name", "step"), one_in(5, CASES))
def test_every_rule_is_executed(name, step):
    execute(name, step, slow=False)


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize(("name", "step"), dict.fromkeys(SLOW))
def test_every_rule_that_takes_time_is_executed(name, step):
    execute(name, step, slow=True)
