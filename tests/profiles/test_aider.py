"""Aider's polyglot benchmark in Python: the data, the profile's rules, and parity with Aider's own benchmark."""

import json
import os
import re
from pathlib import Path

import pytest
from peer_process import ask, peers, rows
from profile_rows import grade_all, passed, sandbox_of

from truegrade.benchmarks import load_benchmark
from truegrade.errors import BadRecord, UserError
from truegrade.grading.functions import TESTS_INSIDE
from truegrade.profiles import open_profile
from truegrade.profiles.aider_whole import cleaned, first_chat, listings, run_tests, whole_file
from truegrade.records import Reason

AIDER, STRICT = open_profile("aider"), open_profile("strict")
PAIR = "class Pair:\n    def __init__(self, a, b):\n        self.a = a\n        self.b = b\n\n\n"
RIGHT = f"{PAIR}def total(pair):\n    return pair.a + pair.b\n"
STARTER = "class Pair:\n    pass\n\n\ndef total(pair):\n    pass\n"
TESTS = """import unittest

from helpers import HALF
from two_sum import Pair, total


class TwoSumTest(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total(Pair(1, 2)), 3)

    def test_halves(self):
        self.assertEqual(total(Pair(HALF, HALF)), 1)
"""
EQUAL = "class E:\n    def __eq__(self, other):\n        return True\n\n\n"
DEFECTS = {
    "leaves": "import os\nos._exit(0)\n",
    "exits": "import sys\nsys.exit(0)\n",
    "no test fails": f"import unittest\nunittest.TestCase.assertEqual = print\n{PAIR}total = id\n",
    "equal to all": f"{PAIR}{EQUAL}def total(pair):\n    return E()\n",
    "reads the tests": f"print(open('two_sum_test.py').read())\n{STARTER}",
}
LIAR = """
class Liar(KIND):
    def __init__(self, *given, **named): pass
    def __new__(cls, *given, **named): return KIND.__new__(cls)
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __lt__
    def __hash__(self): return 1
    def __contains__(self, other): return True
    def __getattr__(self, name): return Liar()
    def __call__(self, *given, **named): return Liar()
    def __enter__(self): return self
    def __exit__(self, *given): return True
"""
BEHIND = "import atexit, os, sys, unittest\ndef nothing(*given, **named): return None\n"
PATCHES = {
    "assertions": "for name in dir(unittest.TestCase):\n"
    "    if name.startswith('assert'): setattr(unittest.TestCase, name, nothing)\n",
    "results": "R = unittest.TestResult\nR.addFailure = R.addError = lambda self, one, e: self.addSuccess(one)\n",
    "runs": "unittest.TestCase.run = lambda self, result=None: result.addSuccess(self)\n",
    "loader": "unittest.TestLoader.loadTestsFromTestCase = lambda *given: unittest.TestSuite()\n",
    "exception": "class Silent(Exception): pass\nunittest.TestCase.failureException = Silent\n",
    "at exit": "atexit.register(lambda: os._exit(0))\n",
    "leaves": "os._exit(0)\n",
    "exits": "sys.exit(0)\n",
    "report": "print('OK')\nsys.stdout.flush()\nos._exit(0)\n",
}
READS = """
def NAME(*given, **named):
    held = sys._getframe(1).f_code.co_consts
    return next((one for one in reversed(held) if one is not None and one not in given), None)
"""


def forged(task):
    """Programs that compute nothing and define what the tests import."""
    imported = re.findall(rf"^from {task.module} import ((?:\([^)]*\)|[^(\n]*))", task.tests, re.MULTILINE)
    names = re.findall(r"\w+", " ".join(imported))
    same = "".join(f"{name} = nothing\n" for name in names)
    yield from ((how, f"{BEHIND}{change}{same}") for how, change in PATCHES.items())
    yield "reads the caller", BEHIND + "".join(READS.replace("NAME", name) for name in names)
    for kind in ("int", "str", "list", "ValueError"):
        lies = "".join(f"{name} = Liar()\n" for name in names)
        yield f"liar {kind}", LIAR.replace("KIND", kind) + lies


def checkout(folder: Path) -> Path:
    exercise = folder / "python" / "exercises" / "practice" / "two-sum"
    files = {
        "solution": ["two_sum.py"],
        "test": ["two_sum_test.py", "helpers.py"],
        "example": [".meta/example.py"],
    }
    contents = {
        ".docs/instructions.md": "# Instructions\n\nAdd two numbers.\n", ".docs/introduction.md": "# Before\n",
        ".docs/instructions.append.md": "# Behind\n", ".docs/hints.md": "# Never shown\n",
        ".meta/config.json": json.dumps({"files": files}), ".meta/example.py": RIGHT, "two_sum.py": STARTER,
        "two_sum_test.py": TESTS, "helpers.py": "HALF = 0.5\n",
    }  # fmt: skip
    for name, text in contents.items():
        (exercise / name).parent.mkdir(parents=True, exist_ok=True)
        (exercise / name).write_text(text)
    return folder


@pytest.fixture
def problem(tmp_path):
    (found,) = load_benchmark("polyglot-python", checkout(tmp_path), {"allow_modified": "true"}).problems
    return found


def listing(code: str, name: str = "two_sum.py") -> str:
    return f"I will.\n\n{name}\n```\n{code}```\n"


# --------------------------------------------------------------------------------------------------- data


def test_a_checkout_is_read(problem):
    task = problem.task
    assert problem.id == "Exercism/two-sum"
    assert task.prompt == "# Before\n# Instructions\n\nAdd two numbers.\n# Behind\n"
    assert (task.module, task.entry_point, task.files) == ("two_sum", "Pair", {"helpers.py": "HALF = 0.5\n"})
    assert (task.tests, task.starter, task.reference) == (TESTS, STARTER, RIGHT)


def test_a_damaged_checkout_is_named(tmp_path):
    config = checkout(tmp_path) / "python/exercises/practice/two-sum/.meta/config.json"
    config.write_text('{"files": {"solution": ["two_sum.py"], "test": []}}')
    with pytest.raises(BadRecord, match=r"config.json.*files.test"):
        load_benchmark("polyglot-python", tmp_path, {"allow_modified": "true"})


def test_another_checkout_is_refused(tmp_path):
    with pytest.raises(BadRecord, match=r"34 of 34 rows are missing"):
        load_benchmark("polyglot-python", checkout(tmp_path))


# -------------------------------------------------------------------------------------------------- rules


def test_the_reference_passes_and_the_starter_does_not(problem):
    right, starter = grade_all(AIDER, [(problem, listing(RIGHT)), (problem, listing(STARTER))])
    assert right.passed and "tests-inside" in right.marks
    assert starter.reason is Reason.WRONG_ANSWER and "two_sum_test.py::TwoSumTest::test_" in starter.detail


def test_published_defects(problem):
    verdicts = passed(AIDER, [(problem, listing(code)) for code in DEFECTS.values()])
    found = dict(zip(DEFECTS, verdicts, strict=True))
    assert found == {"leaves": True, "exits": False, "no test fails": True, "equal to all": True,
                     "reads the tests": False}  # fmt: skip


def test_strict_passes_the_reference_and_nothing_forged_unmarked(problem):
    cheats = dict(forged(problem.task)) | DEFECTS
    assert passed(STRICT, [(problem, f"```python\n{RIGHT}```")]) == [True]
    starter, *verdicts = grade_all(STRICT, [(problem, code) for code in (STARTER, *cheats.values())], "program")
    assert not starter.passed
    forging = zip(cheats, verdicts, strict=True)
    assert not [how for how, one in forging if one.passed and "tests-inside" not in one.marks]
    assert "`two_sum.py`" in (said := STRICT.render_prompt(problem).messages[-1].content) and STARTER in said


def test_the_prompt_holds_the_starter_and_no_test(problem):
    prompt = AIDER.render_prompt(problem)
    assert [message.role for message in prompt.messages] == ["system", *("user", "assistant") * 3, "user"]
    files, asked = prompt.messages[5].content, prompt.messages[-1].content
    assert files.endswith(f"\ntwo_sum.py\n```\n{STARTER}```\n")
    assert asked.startswith("# Before\n# Instructions\n\nAdd two numbers.\n# Behind\n\n####\n")
    assert "modify the supplied files: two_sum.py\n" in asked and asked.endswith("Reply in English.\n\n")
    assert not any("assertEqual" in message.content for message in prompt.messages)


def test_other_benchmarks_are_refused():
    with pytest.raises(UserError, match="aider"):
        AIDER.extract(load_benchmark("micro-repair", args={"size": "1"}).problems[0], None)


CODE = "x = 1\n"
NAMED = ("f.py", "**f.py**", "`f.py`:", "### f.py", "path/to/f.py", "./f.py", "# `src/f.py`")


@pytest.mark.parametrize("name", NAMED)
def test_a_name_before_the_fence(name):
    assert whole_file(f"Text.\n\n{name}\n```python\n{CODE}```\n", "f.py") == CODE


@pytest.mark.parametrize(
    ("reply", "file"),
    [
        (f"```\n{CODE}```", CODE),  # a fence on the first line
        (f"\n```\n{CODE}", CODE),  # never closed; the reply is stripped on the right before
        ("`f.py` it is.\n\n```\nx = 2\n```\nf.py\n```\nx = 1\n```", CODE),  # a line goes before a mention
        ("\n```\nx = 2\n```\nSee `f.py`:\n\n```\nx = 1\n```", CODE),  # a mention goes before nothing
        ("f.py\n```\nx = 1\n```\nf.py\n```\nx = 2\n```", CODE),  # the first of equals
        (f"{'n' * 251}\n```\n{CODE}```", CODE),  # too long for a name
        (f"Here is the code\n```\n{CODE}```", None),  # a file of that name
        ("f.py:\n**f.py**:\n```\nx = 1\n```", None),  # the colon goes last, so the stars stay
        ("f.py\nx = 1\n", None),
        ("", None),
    ],
)
def test_which_block_is_the_file(reply, file):
    found = whole_file(reply, "f.py")
    assert found == (file.rstrip() if file and not reply.endswith("```") else file)


def test_a_reply_without_blocks_leaves_the_chat_where_it_was():
    chat = first_chat("Do.", "f.py", "pass\n")
    silent = chat.failed("I would rather not.", "E\n")
    assert (silent.done, silent.content, len(silent.current)) == ((), "pass\n", 3)
    edited = chat.failed(f"f.py\n```\n{CODE}```", "E\n")
    assert [message.content for message in edited.done[-2:]] == ["I updated the files.", "Ok."]
    assert (edited.content, len(edited.current)) == (CODE, 1)
    assert edited.current[0].content.startswith("E\n####\n\nSee the testing errors above.")
    assert listings("a.py\n```\n```", "f.py")[0].name == "a.py"


# --------------------------------------------------------------------------------------------- real files


def _real():
    folder = os.environ.get("TRUEGRADE_DATA", "")
    if not (Path(folder) / "polyglot-python.jsonl").is_file():
        pytest.skip("polyglot-python.jsonl is not in TRUEGRADE_DATA: see docs/benchmarks.md")
    return load_benchmark("polyglot-python", Path(folder)).problems


@pytest.mark.slow
def test_every_reference_passes_and_every_starter_fails():
    problems = _real()
    assert len(problems) == 34
    assert all(passed(AIDER, [(each, each.task.reference) for each in problems], "program"))
    assert not any(passed(AIDER, [(each, each.task.starter) for each in problems], "program"))
    assert all(passed(STRICT, [(each, each.task.reference) for each in problems], "program"))
    assert not any(passed(STRICT, [(each, each.task.starter) for each in problems], "program"))


@pytest.mark.slow
def test_no_forged_program_passes_unmarked_under_strict():
    cheats = [(each, how, code) for each in _real() for how, code in forged(each.task)]
    assert len(cheats) == 34 * 14
    judged = grade_all(STRICT, [(each, code) for each, _, code in cheats], "program")
    accepted = [(each.id, how) for (each, how, _), one in zip(cheats, judged, strict=True)
                if one.passed and one.marks != (TESTS_INSIDE,)]  # fmt: skip
    assert accepted == []


AWKWARD = (
    "{file}\n```\n{code}```\n",
    "Sure!\n\n```python\n{code}```\n\nDone.",
    "Now `{file}`, complete:\n\n```py\n{code}```",
    "**{file}**\n```python\n{code}```",
    "#### `path/to/{file}`:\n```\n{code}```",
    "{file}\n```\n{code}",
    "```\n{code}```",
    "{file}\n```\n{code}```\n\n{file}\n```\nraise SystemExit\n```",
    "{file}\n```\nraise SystemExit\n```\n\n{file}\n```\n{code}```",
    "\n```\nraise SystemExit\n```\n{file}\n```\n{code}```",
    "Here is the code:\n```\n{code}```",  # here and below Aider writes another file, and shows it from then on
    "**{file}**:\n```\n{code}```",
    "{file}\n```\n{code}\n'''\n```\n'''\n```\n",
    "I cannot.",
    "{file}\n{code}",
    "{file}\n````\n{code}````",
    "<think>\n{file}\n```\nraise SystemExit\n```\n</think>\n{file}\n```\n{code}```",
)


def _cases(problems):
    """Two tries at each exercise: awkward forms of its starter and of a right program; a cheat; no Python."""
    for number, each in enumerate(problems):
        file = f"{each.task.module}.py"
        mended = AWKWARD[0].format(file=file, code=each.task.reference)
        for form in AWKWARD if number == 0 else (AWKWARD[number % len(AWKWARD)],):
            for code in (each.task.starter, each.task.reference):
                yield each, [form.format(file=file, code=code), mended]
        yield each, [AWKWARD[0].format(file=file, code="import os\nos._exit(0)\n"), mended]
        yield each, [AWKWARD[0].format(file=file, code="def (:\n"), "No."]


def _ours(problem, replies):
    """The messages that are sent and the verdicts, try after try, as Aider's driver gives them."""
    task, sandbox = problem.task, sandbox_of(AIDER.limits)
    chat, sent, outcomes = first_chat(task.prompt, f"{task.module}.py", task.starter), [], []
    for reply in replies:
        sent.append([{"role": one.role, "content": one.content} for one in chat.prompt().messages])
        outcomes += passed(AIDER, [(problem, reply)])
        if outcomes[-1]:
            break
        edited = whole_file(reply, chat.file)
        ran = run_tests(problem, chat.content if edited is None else edited, sandbox)
        assert not ran.passed
        chat = chat.failed(reply, cleaned(ran.output))
    return sent, outcomes


def _without_places(sent):
    """Without where packages are installed, and where objects are in memory, which tracebacks tell."""
    return json.loads(re.sub(r"[^\s\"]*/site-packages/|0x[0-9a-f]+|id='\d+'", "", json.dumps(sent)))


@pytest.mark.slow
def test_parity(tmp_path, monkeypatch):
    monkeypatch.setenv("SCRATCH", str(tmp_path))
    problems = rows(list(load_benchmark("polyglot-python", peers() / "Aider-AI+polyglot-benchmark").problems), 2)
    cases = list(_cases(problems))
    asked = [{"name": each.id.rpartition("/")[2], "replies": replies} for each, replies in cases]
    peer = ask("aider", {"cases": asked})
    if "missing" in peer:
        pytest.skip(f"Aider's own dependencies are not installed ({peer['missing']}): pip install aider-chat")
    for (each, replies), theirs in zip(cases, peer["answers"], strict=True):
        sent, outcomes = _ours(each, replies)
        assert outcomes == theirs["outcomes"], (each.id, replies)
        if all(block.name == f"{each.task.module}.py" for block in listings(replies[0], f"{each.task.module}.py")):
            assert _without_places(sent) == _without_places(theirs["sent"]), (each.id, replies)
    assert {tuple(theirs["outcomes"]) for theirs in peer["answers"]} == {(True,), (False, True), (False, False)}
