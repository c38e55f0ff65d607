"""Replies made to keep an extraction busy: under every profile each ends soon, in an answer or in a reason."""

import msgspec
import pytest
from profile_rows import PROGRAM, completion, oracle, problems

from support.cpu import cpu_within
from support.thorough import one_in
from truegrade.extraction.parsing import MAX_REPLY_CHARS
from truegrade.pipeline.verdicts import verdict_on
from truegrade.profiles import PROFILES, evalplus, evalscope, lm_eval, open_profile
from truegrade.profiles.base import covered_benchmarks
from truegrade.profiles.evalplus import MAX_PARSED_CHARS, _Search, sanitize
from truegrade.records import Reason
from truegrade.sandbox import Sandbox

CHARS = 10_000
CPU_S = 1.5
"""A guard against time that grows faster than the reply: the slowest rule takes half a second, all others a tenth.
The rules before took up to a minute for 50,000 characters, that is more than two seconds for these."""
PARSED_CHARS = MAX_PARSED_CHARS // 5
"""What EvalPlus' sanitizer may parse of these; the longer replies below have its whole bound."""
LONG_CPU_S = 20.0
"""The same for the longer replies below."""

# What the rules look for, what Python's grammar nests, and what is no text.
TOKENS = (
    *("a", "9", " ", "\t", "\n", "\r", "\\\n", "\\", "'", '"', "'''", '"""', "`", "```", "```\n"),
    *("```python\n", "~~~\n", "*", "#", "# x\n", "(", "[", "{", ")", "@a\n", "-", "1+", "a.", "a = "),
    *("a=1\n", "==", "f(", "f(1)", "f(1) == ", "assert ", "assert f(1) == ", "assert f(2) == 1\n"),
    *("def f(x):\n", PROGRAM, "  return ", "class A:\n", "import a\n", "from x import b\n"),
    *("if a:\n", "elif 1:\n", "lambda:", "f'{", "[ANSWER]", "[/ANSWER]", "[ANSWER] [", "[PYTHON]"),
    *("[BEGIN]\n", "[DONE]", "<think>", "</think>", "<|channel|>final <|constrain|>", "</s>"),
    *("\\boxed{", "word word\n", '{"chosen_program":', '"assertion": "', "[ASSERTION]", "\x00"),
    *("\ufeff", "\u2028", "\x1b[0;", "\xe9\n", "1,", "0x", "    x\n", "match x:\n case 1:\n  "),
    *("with (", "not ", "a if ", "``` ", "```x\n", "try:\n x\n", "a;", ":\n    "),
)  # fmt: skip
BEFORE = ("", "```python\n", "[ANSWER]assert f(1) == ")
METHODS = ("extract", "read", "cut", "block")
"""What profiles of one form differ in where ``extract`` is the form's."""
RULES = {
    (*(getattr(type(profile), method, None) for method in METHODS), type(task.task)): (profile, task)
    for profile in map(open_profile, PROFILES)
    for benchmark in covered_benchmarks(profile)
    for task in problems(benchmark)
}
"""A profile and a problem for each rule: the methods that read, and the kind of task that they are for."""


@pytest.mark.slow
@pytest.mark.parametrize("before", one_in(3, BEFORE), ids=["bare", "fenced", "asserted"])
@pytest.mark.parametrize(
    ("profile", "task"),
    one_in(6, RULES.values()),
    ids=[f"{profile.name}-{task.benchmark}" for profile, task in RULES.values()],
)
def test_no_reply_keeps_a_profile_busy(profile, task, before, monkeypatch):
    monkeypatch.setattr(evalplus, "MAX_PARSED_CHARS", PARSED_CHARS)
    for token in TOKENS:
        reply = completion(before + token * (CHARS // len(token)))
        with cpu_within(CPU_S):
            answer = profile.answer(task, reply)
        assert answer.value is not None or answer.reason is not None


LONG = {
    "continuations": "\\\n" * 100_000,
    "decorators": "@a\n" * 12_500,
    "digits": "1" * 50_000,
    "fences in prose": "```x\nfoo " * 10_000,
    "blank lines in a fence": "```\n" + "\n" * 50_000,
    "imports": "import a\n" * 12_000,
    "statements": "x = 1\n" * 5000 + ")\n" + "x = 1\n" * 4999,
}


@pytest.mark.parametrize("kind", one_in(3, LONG))
def test_the_rules_that_took_minutes(kind):
    with cpu_within(LONG_CPU_S):
        evalscope.freeform_code(LONG[kind])
        lm_eval.first_fence_of_opened(LONG[kind])
        open_profile("evalplus").answer(oracle(), completion(LONG[kind]))


@pytest.mark.parametrize("name", PROFILES)
def test_a_reply_beyond_the_bound_has_a_reason_of_its_own(name):
    profile = open_profile(name)
    for task in [task for benchmark in covered_benchmarks(profile) for task in problems(benchmark)]:
        answer = profile.answer(task, completion("a" * (MAX_REPLY_CHARS + 1)))
        assert (answer.value, answer.reason) == (None, Reason.EXTRACTION_LIMIT)
        assert "1,000,000 characters" in answer.found
        program = completion("a" * (MAX_REPLY_CHARS + 1), "program")
        assert profile.answer(task, program).reason is not Reason.EXTRACTION_LIMIT


def test_the_verdict_names_the_bound():
    with Sandbox(workers=1, allow_unsafe=True) as jail:
        verdict = verdict_on(completion("x = 1\n" * 20_000), oracle(), open_profile("evalplus"), jail)
    assert verdict.reason is Reason.EXTRACTION_LIMIT
    assert "3,000,000 characters" in verdict.detail and not verdict.passed


UNANSWERED = {
    "humaneval": "```python\n" + "x = 1\n" * 1_500 + "```\n",
    "cruxeval-output": "assert f(2) == [g(1), " + "1, " * 3_000 + "]\n",
    "cruxeval-input": "assert f(g(1), " + "1, " * 3_000 + ") == 1\n",
}


@pytest.mark.parametrize("benchmark", UNANSWERED)
def test_strict_says_when_it_gave_up_reading(benchmark):
    (task,) = problems(benchmark)
    once, often = (completion(UNANSWERED[benchmark] * times) for times in (1, 40))
    assert open_profile("strict").answer(task, once).reason is not Reason.EXTRACTION_LIMIT
    assert open_profile("strict").answer(task, often).reason is Reason.EXTRACTION_LIMIT


def test_what_evalplus_parses_of_honest_replies_is_far_from_the_bound(monkeypatch, data_dir):
    searches = []
    monkeypatch.setattr(
        _Search, "__init__", lambda self, text, made=_Search.__init__: searches.append(self) or made(self, text)
    )
    from truegrade.benchmarks import load_benchmark

    for found in load_benchmark("mbpp", data_dir).problems:
        sanitize(f"Here it is:\n\n```python\n{found.task.reference}\n```\n\nIt works.\n", found.task.entry_point)
    assert len(searches) > 900
    assert min(search._chars_left for search in searches) > 0.98 * MAX_PARSED_CHARS


ESCAPED = '{"chosen_program": "A", "assertion": "assert f(1) == \\\\ud800"}'.replace("\\\\", "\\")


@pytest.mark.parametrize("name", [name for name in PROFILES if "execution_choice" in open_profile(name).covers])
def test_half_a_surrogate_pair_in_json_ends_no_grading(name):
    (task,) = problems("execution-choice")
    with Sandbox(workers=1, allow_unsafe=True) as jail:
        verdict = verdict_on(completion(ESCAPED), task, open_profile(name), jail)
    assert not verdict.passed and msgspec.json.encode(verdict)
    assert open_profile("strict").answer(task, completion("\ud800", "answer")).reason is Reason.NO_ANSWER
