"""`coralx`: its extraction in order, its literal comparison, its five scores, and the defects that it names."""

import json
import math
import re
import sys

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import truegrade
from support.cpu import cpu_within
from truegrade.apps.evolve.objectives import CoralxObjectives, sample_of
from truegrade.benchmarks import load_benchmark
from truegrade.cli import main
from truegrade.errors import UnknownName, UserError
from truegrade.extraction.contest_programs import take_code
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
def test_blocks_are_those_of_its_two_expressions(text):
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
@pytest.mark.thorough
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


# -------------------------------------------------------------------------------------------- five scores


@pytest.fixture
def without_linters(monkeypatch):
    """flake8's checker and bandit cannot be imported."""
    for name in ("pycodestyle", "bandit.core.config"):
        monkeypatch.setitem(sys.modules, name, None)
    coralx.installed_linter.cache_clear()
    yield
    coralx.installed_linter.cache_clear()


def replies_to_repair(folder):
    """A file of two replies to each of four problems of micro-repair: mended and marked, and untidy or broken."""
    benchmark = load_benchmark("micro-repair", args={"size": "4"})
    rows = []
    for number, each in enumerate(benchmark.problems):
        worse = "def f(:" if number % 2 else each.task.buggy.strip() + "\nimport os,sys\neval('1')"
        better = each.task.reference.strip() + "  # [::-1]"
        rows += [{"task_id": each.id, "completion": f"```python\n{code}\n```"} for code in (better, worse)]
    path = folder / "replies.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path, benchmark.problems


def test_a_graded_file_has_the_five_scores_and_their_weighted_sum(tmp_path, monkeypatch, jail):
    monkeypatch.chdir(tmp_path)
    path, problems = replies_to_repair(tmp_path)
    asked = ["grade", str(path), "--benchmark", "micro-repair", "-T", "size=4", "--as", "coralx", "--out", "run"]
    result = CliRunner().invoke(main, asked)
    assert result.exit_code == 0, result.output
    printed = result.output
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    stored = {e["metric"]: e for e in summary["profiles"][0]["estimates"] if e["metric"] in Coralx.scored}
    assert list(stored) == ["bugfix", "style", "security", "runtime", "syntax", "weighted_sum"]
    assert stored["syntax"]["value"] == 0.9 * 0.75 and stored["security"]["value"] < 0.875

    run = truegrade.load(tmp_path / "run")
    replies = {reply.key: reply for reply in run.completions()}
    samples = [sample_of(replies[verdict.key], verdict) for verdict in run.verdicts("coralx")]
    scores = CoralxObjectives().score(problems, samples, jail)
    expected = {**scores.objectives, "weighted_sum": scores.facts["weighted_sum"]}
    assert {name: e["value"] for name, e in stored.items()} == pytest.approx(expected)
    assert all(e["tasks"] == 4 and e["samples"] == 8 for e in stored.values())

    page = (tmp_path / "run" / "report.html").read_text()
    for name, estimate in stored.items():
        assert re.search(rf"{name} +{100 * estimate['value']:.1f} % .* 4 *\n", printed) and f">{name}<" in page


def test_without_the_linters_three_scores_are_given_and_two_are_named(tmp_path, monkeypatch, without_linters):
    monkeypatch.chdir(tmp_path)
    run = truegrade.run("micro-repair", model="baseline/buggy", profiles=["coralx"], task_args={"size": "4"})
    names = [each["metric"] for each in run.summary["profiles"][0]["estimates"]]
    assert names == ["pass@1", "bugfix", "runtime", "syntax"]
    (warning,) = [each for each in run.summary["warnings"] if each["code"] == "profile"]
    assert warning["sentence"].startswith(
        "the scores style and security, and with them the weighted sum, are missing:"
    )
    assert "pip install 'truegrade[evolve]'" in warning["sentence"]

    coralx.installed_linter.cache_clear()
    monkeypatch.undo()
    again = truegrade.grade(tmp_path / run.path, profiles=["coralx"])
    assert len(again.summary["profiles"][0]["estimates"]) == 7, "what was graded without them is scored with them"


def test_equal_scores_have_no_interval(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = truegrade.run("micro-repair", model="baseline/reference", profiles=["coralx"], task_args={"size": "4"})
    (syntax,) = [e for e in run.summary["profiles"][0]["estimates"] if e["metric"] == "syntax"]
    assert math.isclose(syntax["value"], 0.9) and syntax["low"] is None and syntax["high"] is None
