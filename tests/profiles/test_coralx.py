"""`coralx`: the seed's extraction in its order, its literal comparison, and the defects that it names."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.cpu import cpu_within
from truegrade.benchmarks import load_benchmark
from truegrade.errors import UnknownName, UserError
from truegrade.extraction.coralx import take_code
from truegrade.profiles import coralx
from truegrade.profiles.coralx import TEST_CPU_S, Coralx
from truegrade.profiles.strict import Strict
from truegrade.prompts import render
from truegrade.records import Answer, Case, CasesTask, Completion, FunctionTask, OutputTask, Problem
from truegrade.sandbox import Limits, Sandbox

CORALX = Coralx()
RIGHT = "def f(n):\n    return n + 1"
BUGGY = "def f(n):\n    return n - 1"


def problem(expected=(1, 2), benchmark="quixbugs", **more):
    cases = tuple(Case(arguments=(n,), expected=value) for n, value in enumerate(expected))
    task = CasesTask(entry_point="f", buggy=BUGGY, reference=RIGHT, cases=cases, **more)
    return Problem(id="q", benchmark=benchmark, dataset_sha256="", cluster="q", task=task)


def reply(text, **more):
    return Completion(
        benchmark="quixbugs", dataset_sha256="", problem_id="q", sample=0, config_sha256="", prompt_sha256="",
        text=text, model="", **more,
    )  # fmt: skip


# -------------------------------------------------------------------------------------------- extraction

PIECES = ["```python", "```", "\n", " ", "\t", "def f():", "    return 1", "x = 1", "prose", "async def g():", "`"]


@settings(derandomize=True, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_blocks_are_those_of_the_seed_s_two_expressions(text):
    for pattern in (r"```python\s*\n(.*?)```", r"```\s*\n(.*?)```"):
        if found := re.search(pattern, text, re.DOTALL):
            assert take_code(text).code == found.group(1).strip()
            return
    assert "block" not in take_code(text).step


@settings(derandomize=True, deadline=None)
@given(st.text())
def test_something_is_always_taken(text):
    assert take_code(text).code == take_code(text).code.strip()


def test_it_is_linear():
    for text in ("```python\n" * 60_000, "```" + " " * 100_000, "```python" + " \n" * 100_000):
        with cpu_within(5):
            take_code(text)


@pytest.mark.parametrize(
    ("text", "code", "step"),
    [
        (f"Here:\n```python\n{RIGHT}\n```", RIGHT, "first ```python block"),
        (f"```\nnote\n```\n```python  \n\n{RIGHT}\n```", RIGHT, "first ```python block"),
        (f"```\n{RIGHT}\n```", RIGHT, "first ``` block"),
        (f"Sure.\n{RIGHT}\n\nIt adds.", RIGHT, "lines from each def"),
        (f"{RIGHT}\n\n\ndef g():\n\treturn 2\nDone.\ndef h(): ...", f"{RIGHT}\n\n\ndef g():\n\treturn 2",
         "lines from each def"),
        ("  lambda n: n + 1 \n", "lambda n: n + 1", "whole reply"),
        ("", "", "whole reply"),
    ],
)  # fmt: skip
def test_the_steps_in_order(text, code, step):
    assert take_code(text) == (code, step)


def test_a_defect_prompt_and_completion_together_give_the_buggy_program():
    prompt = render("quixbugs.repair", name="f", buggy=BUGGY)
    assert take_code(prompt + RIGHT + "\n```").code == BUGGY
    assert CORALX.extract(problem(), reply(RIGHT + "\n```")).value == f"{RIGHT}"


def test_a_defect_the_first_block_wins():
    draft, final = "```python\ndef f(n): ...\n```", f"```python\n{RIGHT}\n```"
    assert take_code(f"A draft:\n{draft}\nBetter:\n{final}").code == "def f(n): ..."


def test_a_defect_what_follows_a_closed_fence_is_taken_instead():
    assert take_code(f"{RIGHT}\n```\nIt adds one.\n```python\nf(1)\n```").code == "f(1)"
    assert take_code(f"{RIGHT}\n```\nIt adds one.\n```").code == "It adds one."


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('```python\ndef f(n):\n    """Use:\n    ```\n    f(1)\n    ```\n    """\n    return n\n```',
         'def f(n):\n    """Use:'),
        (f"```py\n{RIGHT}\n```\nUse it.\n```\nf(1)\n```", "Use it."),
        (f"import math\nLIMIT = 3\n@cache\n{RIGHT}", RIGHT),
        ("Fixed:\nasync def f(n):\n    return n", "Fixed:\nasync def f(n):\n    return n"),
        ("class S:\n    def f(self, n):\n        return n\nUse it.", "def f(self, n):\n        return n"),
        (f"{RIGHT}\nwhich needs\ndef g(n): ...", RIGHT),
    ],
    ids=["fence-in-docstring", "py-fence", "imports", "async", "class", "helper"],
)  # fmt: skip
def test_defects_without_a_usable_block(text, code):
    assert take_code(text).code == code


def test_a_given_program_stays_as_it_is():
    program = f'"""```python\nno\n```"""\n{RIGHT}'
    assert CORALX.extract(problem(), reply(program, form="program")).value == program


# ---------------------------------------------------------------------------------------------- grading


@pytest.fixture(scope="module")
def jail():
    with Sandbox(Limits(cpu_s=5), workers=1, allow_unsafe=True) as opened:
        yield opened


def graded(jail, code, **more):
    return CORALX.judgement(problem(**more), Answer(value=code, found=""), jail)


def test_every_test_counts(jail):
    assert graded(jail, RIGHT).passed
    half = graded(jail, "def f(n):\n    return 1")
    assert not half.passed and half.harness == {"tests": 2, "passed": 1, "results": ["passed", "wrong_answer"]}


def test_invalid_code_is_not_run(jail):
    judgement = graded(jail, "def f(n) return n")
    assert judgement.reason == "syntax_error" and judgement.cpu_s is None
    assert judgement.harness == {"tests": 2, "passed": 0, "results": ["syntax_error"] * 2}


def test_code_that_parses_but_does_not_compile_is_run_and_fails(jail):
    judgement = graded(jail, "return 1")
    assert judgement.reason == "syntax_error" and judgement.cpu_s is not None


def test_equality_is_literal(jail):
    generator = "def f(n):\n    yield n"
    assert not graded(jail, generator, expected=([0],), comparator="list").passed
    assert Strict().judgement(problem(([0],), comparator="list"), Answer(value=generator, found=""), jail).passed
    assert not graded(jail, "def f(n): return [(1, 2)]", expected=([[1, 2]],), comparator="tuple_rows").passed
    assert graded(jail, "def f(n): return True", expected=(1,)).passed


def test_nothing_is_skipped(jail):
    judgement = graded(jail, RIGHT, skipped=(1,))
    assert judgement.harness["tests"] == 2 and judgement.marks == ()


def test_an_equality_of_the_program_s_own_does_not_pass(jail):
    hostile = "class Any:\n    def __eq__(self, other): return True\ndef f(n): return Any()"
    assert graded(jail, hostile).harness["passed"] == 0


def test_micro_repair_is_counted_too(jail):
    item = load_benchmark("micro-repair", args={"size": "1"}).problems[0]
    right = CORALX.judgement(item, Answer(value=item.task.reference, found=""), jail)
    buggy = CORALX.judgement(item, Answer(value=item.task.buggy, found=""), jail)
    assert right.passed and right.harness["passed"] == right.harness["tests"] == item.task.tests.count("assert ")
    assert not buggy.passed and buggy.harness["passed"] < buggy.harness["tests"]
    same = Strict().judgement(item, Answer(value=item.task.buggy, found=""), jail)
    assert same.harness == buggy.harness


def test_what_it_has_no_rules_for_is_refused():
    task = OutputTask(program="", function="f", arguments="", expected="1")
    other = Problem(id="q", benchmark="quixbugs", dataset_sha256="", cluster="q", task=task)
    with pytest.raises(UserError, match="no rules"):
        CORALX.render_prompt(other)
    assert CORALX.render_prompt(problem(benchmark="repairs-of-mine"))
    with pytest.raises(UnknownName, match="prompt variant"):
        CORALX.render_prompt(problem(), "paper")


def test_its_prompts_have_no_stop_strings():
    chat, base = CORALX.render_prompt(problem()), CORALX.render_prompt(problem(), "base")
    assert chat.stop == base.stop == () and base.style == "text"
    assert chat.messages[0].content.endswith("\n```python\n")


LOSSES = {"flatten": 0, "kheapsort": 0, "hanoi": 1, "sqrt": 5, "knapsack": 9, "levenshtein": 6}
"""Tests that the right program passes under ``==``, where that is not all."""


@pytest.mark.slow
def test_right_programs_lose_what_the_seed_loses(data_dir, monkeypatch):
    lost = {}
    with Sandbox(CORALX.limits, workers=1, allow_unsafe=True) as jail:
        for item in load_benchmark("quixbugs", data_dir, {"split": "json"}).problems:
            assert not isinstance(item.task, FunctionTask)
            # one that overruns does so in 1 second as in 5; of levenshtein, one test needs more than 1
            seconds = 1.0 if item.task.entry_point == "knapsack" else TEST_CPU_S
            monkeypatch.setattr(coralx, "TEST_CPU_S", seconds)
            judgement = CORALX.judgement(item, Answer(value=item.task.reference.strip(), found=""), jail)
            if not judgement.passed:
                lost[item.task.entry_point] = judgement.harness["passed"]
                overran = judgement.harness["results"].count("time_limit")
                assert overran == (item.task.entry_point in {"knapsack", "levenshtein"})
    assert lost == LOSSES
