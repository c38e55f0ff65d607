"""What our own files import from ``__future__`` applies to no program that they run."""

import ast
import re
from pathlib import Path

import pytest
from contest_rows import contest
from peer_calls import ANNOTATED
from profile_rows import completion, oracle, problem, sandbox_of

import truegrade
from support.thorough import one_in
from truegrade.profiles import PROFILES, open_profile
from truegrade.profiles.base import covered_benchmarks
from truegrade.records import Case, CasesTask, Problem

SOURCES = Path(truegrade.__file__).parent
PLAIN = "def add(a, b):\n    return a + b\n"
CODE_OBJECTS = {
    "builders/mutation/observer.py: asked",
    "grading/contests/solution.py: code",
    "grading/suite_runner.py: code",
    "sandbox/child.py: code",
    "sandbox/judging.py: tests",
    "sandbox/judging.py: trusted",
    "sandbox/judge.py: plan.tests",
    "sandbox/judge.py: plan.trusted",
    "sandbox/judging.py: code",
    "sandbox/start.py: code",
}
"""What is run there has been compiled before."""


def repair():
    case = Case(arguments=(1, 2), expected=3)
    task = CasesTask(entry_point="add", buggy=PLAIN.replace("+", "-"), reference=PLAIN, cases=(case,))
    return Problem(id="T/1", benchmark="quixbugs", dataset_sha256="", cluster="T/1", task=task)


MAKE = {
    "humaneval": lambda: problem("humaneval"),
    "mbpp": lambda: problem("mbpp"),
    "mbpp-sanitized": lambda: problem("mbpp-sanitized"),
    "humanevalplus": lambda: oracle("humanevalplus"),
    "mbppplus": lambda: oracle("mbppplus"),
    "livecodebench": lambda: contest((("1\n2", "3"),), function="add"),
    "quixbugs": repair,
}
STDIN_ALONE = {"open-instruct", "open-r1", "code-r1"}
"""Rewards that know no contest problem that asks for a function."""
PAIRS = [
    (name, made)
    for name in PROFILES
    for made in covered_benchmarks(open_profile(name))
    if made in MAKE and (name, made) not in {(each, "livecodebench") for each in STDIN_ALONE}
]


@pytest.mark.parametrize(("name", "benchmark"), one_in(6, PAIRS))
def test_an_annotation_that_names_what_is_not_imported_fails_under_every_profile(name, benchmark):
    profile, task = open_profile(name), MAKE[benchmark]()

    def passes(program):
        answer = profile.answer(task, completion(program, "program"))
        return profile.judgement(task, answer, sandbox_of(profile.limits)).passed

    assert passes(PLAIN)
    # LiveCodeBench's own preamble and AgentCoder's imports bring the names of `typing`.
    assert not passes(ANNOTATED["List"].replace("List", "Unheard"))


def test_no_text_is_compiled_with_what_our_file_imports_from_the_future():
    texts = {path: path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py")}
    running = {path: text for path, text in texts.items() if re.search(r"\b(compile|exec|eval)\(", text)}
    found = {f"{path.relative_to(SOURCES)}: {what}" for path, text in running.items() for what in inheriting(text)}
    assert found == CODE_OBJECTS


def inheriting(text):
    """Calls of ``compile`` without ``dont_inherit``, and of ``exec`` and ``eval`` on anything but such a call."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Call(func=ast.Name("compile"), keywords=keywords):
                if "dont_inherit" not in {keyword.arg for keyword in keywords}:
                    yield ast.unparse(node)
            case ast.Call(func=ast.Name("exec" | "eval"), args=[what, *_]):
                if not (isinstance(what, ast.Call) and ast.unparse(what.func) in {"compile", "_compiled"}):
                    yield ast.unparse(what)
