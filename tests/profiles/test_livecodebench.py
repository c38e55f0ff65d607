"""LiveCodeBench's graders: results, metadata, and where the variants part."""

import hashlib

import pytest
from contest_rows import (
    EVALSCOPE,
    FORK,
    JANUARY,
    OFFICIAL,
    PUBLISHED,
    SUCCESSOR,
    contest,
    judged,
    method,
    published,
    reply,
)
from livecodebench_corpus.cases import stdin
from livecodebench_rows import case_row, grade

from support.thorough import one_in
from truegrade.grading.contests import inside
from truegrade.grading.contests.driver import import_string
from truegrade.profiles import open_profile
from truegrade.profiles.evalscope import LOCAL
from truegrade.records import Reason
from truegrade.sandbox.zygotes import PRELOADED, kind_of

STDIN, CALLED = contest(), contest(SUCCESSOR, "f")
DIED = {OFFICIAL: -5, JANUARY: -5, EVALSCOPE: None, FORK: None}
"""error_code where the grader's child ended."""

ALIKE = [
    (STDIN, "print(sum(map(int, input().split())))", [True]),
    (STDIN, "print(8)", [-2]),
    (STDIN, "print(7); print(7)", [-2]),
    (STDIN, "print('7.0')", [True]),
    (STDIN, "print(7); raise SystemExit('late')", [True]),
    (STDIN, "print(7); 1 / 0", [-4]),
    (STDIN, "if __name__ == '__main__':\n    print(7)\nelse:\n    print(8)", [True]),
    (STDIN, "x = 7\ndef main():\n    global x\n    print(x)\nmain()", [-4]),
    (STDIN, "class Solution:\n    pass\nprint(7)", [-4]),
    (STDIN, "# class Solution\nprint(7)", [True]),
    (STDIN, "", [-4]),
    (STDIN, "print(7", [-4]),
    (STDIN, "print(open(0).read() or 8)", [-2]),
    (STDIN, "import threading\nt = threading.Thread(target=print, args=(7,))\nt.start()\nt.join()", [True]),
    (STDIN, "import threading, time\nthreading.Thread(target=lambda: (time.sleep(.2), print(7))).start()", [-2]),
    (STDIN, "from sys import stdout\nstdout.write('7')", [-2]),
    (STDIN, "from sys import stdin\nprint(sum(map(int, stdin.readline().split())))", [True]),
    (STDIN, "raise ValueError('TimeoutException')", [-3]),
    (STDIN, "print('sNaN')", [-4]),
    (CALLED, method("return x + 1"), [True, True]),
    (CALLED, method("return 4"), [True, False]),
    (CALLED, method("return 1 / (x - 7) and 4"), [True, -4]),
    (CALLED, "def f(x):\n    return x + 1", [True, True]),
    (CALLED, "# class Solution\ndef f(x):\n    return x + 1", [-4]),
    (CALLED, "n = 3\ndef f(x):\n    global n\n    n += 1\n    return n", [True, False]),
    (CALLED, method("import os\nos.getcwd()"), [-4]),
    (contest((("1\n2", "3"),), "add"), "", [True]),
    (contest((("1\n", "1"),), "f"), "def f(x):\n    return x", [-4]),
    (contest((("1", "[1, 2]"),), "f"), "def f(x):\n    return 1, 2", [True]),
    (contest((("1", "[[1]]"),), "f"), "def f(x):\n    return [(1,)]", [False]),
    (contest((("1", "[1, 2]"),), "f"), "import numpy\ndef f(x):\n    return numpy.array([1, 2])", [-4]),
]


@pytest.mark.parametrize("profile", PUBLISHED)
def test_where_all_graders_agree(profile):
    found = published(profile, [(problem, code) for problem, code, _ in ALIKE])
    for (_, code, wanted), (results, _, _) in zip(ALIKE, found, strict=True):
        if "numpy.array" in code:
            assert results in ([True, -4], [-4]), code
        else:
            assert results == wanted, code


DEATHS = [
    (STDIN, "import os\nos._exit(0)"),
    (CALLED, method("raise SystemExit")),
    (STDIN, "raise KeyboardInterrupt"),
]


@pytest.mark.parametrize("profile", PUBLISHED)
def test_a_child_that_ends_is_minus_two(profile):
    assert published(profile, DEATHS) == [([-2], DIED[profile], "TestRunnerError" if DIED[profile] else None)] * 3


WORLDS = [  # official, January 2025, EvalScope; the fork is January's
    ("import sys\na = sys.stdin.readline()\nprint(sys.stdin.read().strip() or 7)", ("3 4", "7", "7")),
    ("import sys\nfor line in sys.stdin:\n    print(sum(map(int, line.split())))", (None, "7", "7")),
    ("import sys\nprint(sum(map(int, sys.stdin.buffer.read().split())))", ("7", None, "7")),
    (
        "import sys\nsys.stdin.buffer.readline()\nprint(sys.stdin.buffer.readline().decode() or 7)",
        ("3 4", None, "7"),
    ),
    ("import sys\nprint(len(sys.stdin.readlines()) + 6)", ("8", "7", "7")),
    ("from sys import stdin\nprint(len(stdin.readlines()) + 5)", ("7", "7", "7")),
    ("from sys import stdin\nprint(list(stdin) or 7)", ("7", "7", "7")),
]


@pytest.mark.parametrize(("column", "profile"), [(0, OFFICIAL), (1, JANUARY), (2, EVALSCOPE), (1, FORK)])
def test_worlds_of_standard_input(column, profile):
    found = [judgement.harness for judgement in judged(profile, [(STDIN, code) for code, _ in WORLDS])]
    for (code, wanted), row in zip(WORLDS, found, strict=True):
        if wanted[column] is None:
            assert row["results"] == [-4], code
        elif wanted[column] == "7":
            assert row["results"] == [True], code
        else:
            assert row["metadata"]["output"].strip() == wanted[column], code


def test_the_preamble_is_the_published_one():
    assert len(import_string) == 635
    assert hashlib.sha256(import_string.encode()).hexdigest().startswith("de326da583c8d651")


def test_digits_and_zero_tests():
    digits = (STDIN, "print(len(str(10 ** 5000)) - 4994)")
    none = (contest(()), "print(7)")
    assert [row[0] for row in published(OFFICIAL, [digits, none])] == [[True], []]
    assert [row[0] for row in published(EVALSCOPE, [digits, none])] == [[-4], [-2]]
    assert judged(OFFICIAL, [none])[0].passed


def test_metadata_is_cut_and_names_the_line():
    metadata = judged(OFFICIAL, [(STDIN, "print('x' * 400)")])[0].harness["metadata"]
    cut = "x" * 150 + "...(truncated) ..."
    assert metadata["output"] == cut + "x" * 149 + "\n"
    assert metadata["error_message"] == f"Wrong answer at output_line_idx=0: {cut}{'x' * 150} != 7"
    assert list(metadata) == ["output", "inputs", "expected", "error_code", "error_message"]


@pytest.mark.slow
@pytest.mark.parametrize("profile", one_in(2, [OFFICIAL, EVALSCOPE]))
def test_the_alarm_prints_into_the_answer_of_one_and_not_of_the_other(profile, monkeypatch):
    harness = LOCAL if profile == EVALSCOPE else open_profile(profile).harness
    monkeypatch.setitem(harness.rules, "timeout_s", 1.0)
    caught = "try:\n    while True: pass\nexcept Exception:\n    print(7)"
    endless, answered = judged(profile, [(STDIN, "while True: pass"), (STDIN, caught)])
    assert endless.harness["results"] == [-3]
    assert endless.reason is Reason.TIME_LIMIT and endless.time_sensitive
    assert answered.passed == (profile == EVALSCOPE)


WALKS = """
import sys
def f(x):
    frame = sys._getframe()
    while 'gt_out' not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals['gt_out']
"""
FORGED = [
    WALKS,
    "class E:\n    def __eq__(self, other):\n        return True\ndef f(x):\n    return E()",
    "class N(int):\n    def __eq__(self, other):\n        return True\ndef f(x):\n    return N(99)",
    "import gc\ndef f(x):\n    return x + 1",
]


@pytest.mark.parametrize("profile", PUBLISHED)
def test_what_reaches_the_grader_passes_and_is_marked(profile):
    judgements = judged(profile, [(CALLED, code) for code in FORGED])
    assert [judgement.passed for judgement in judgements] == [True] * 4
    assert ["tampering" in judgement.marks for judgement in judgements] == [True, True, True, False]


def test_a_result_that_is_a_text_fails_alone():
    text = "class E:\n    def __eq__(self, other):\n        return 'yes'\ndef f(x):\n    return E()"
    first, second = judged(OFFICIAL, [(CALLED, text), (CALLED, method("return x + 1"))])
    assert first.reason is Reason.TAMPERING and first.harness["results"] == ["yes", "yes"]
    assert second.passed


def test_extraction_and_prompts():
    two = "```python\nprint(1)\n```\ntext\n```\nprint(2)\n```"
    assert open_profile(OFFICIAL).extract(STDIN, reply(two)).value == "print(2)"
    assert open_profile(FORK).extract(STDIN, reply(two)).value == "print(1)"
    assert open_profile(OFFICIAL).extract(STDIN, reply("no fence")).value == ""
    digests = {"": "da624ce1775d", "class Solution:\n    def f(self, a: int) -> int:\n        ": "4bc701c4a9ac"}
    for starter, digest in digests.items():
        problem = contest(starter_code=starter)
        for profile in (EVALSCOPE, FORK):
            user = open_profile(profile).render_prompt(problem).messages[-1].content
            assert hashlib.sha256(user.encode()).hexdigest().startswith(digest)
    assert [message.role for message in open_profile(FORK).render_prompt(STDIN).messages] == ["user"]
    assert [message.role for message in open_profile(OFFICIAL).render_prompt(STDIN).messages] == ["system", "user"]


def test_undecodable_tests_are_the_graders_fault_except_in_the_fork():
    hostile = contest(private_tests="no JSON, no pickle")
    assert judged(OFFICIAL, [(hostile, "print(7)")])[0].reason is Reason.GRADER_ERROR
    assert judged(FORK, [(hostile, "print(7)")])[0].passed


def test_the_graders_process_is_one_that_has_loaded_what_it_imports():
    program, compiled = inside.grader("print(1)")
    assert kind_of(program) == "grading" and kind_of(inside.grader("import numpy")[0]) == "numpy"
    loaded = set(PRELOADED["grading"])
    assert {name.strip() for name in program.split("\n")[0].removeprefix("import ").split(",")} <= loaded
    assert len(compiled) < 60_000


def test_chance_named_by_the_preamble_alone_differs_from_sample_to_sample():
    problem = case_row(stdin("chance", "", "print(randrange(2 ** 64))\n"))
    outputs = [row["metadata"]["output"] for row in grade("livecodebench", [problem] * 3)]
    assert len(set(outputs)) == 3
