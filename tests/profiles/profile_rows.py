"""Problems, completions and verdicts for the tests of profiles."""

from __future__ import annotations

import atexit
import base64
import functools
import gzip
import json
import pickle
from pathlib import Path

import msgspec
from peer_replies import CHEATS, fenced, mutant

from truegrade.benchmarks import load_benchmark
from truegrade.pipeline.verdicts import limits_for
from truegrade.records import (
    Case,
    CasesTask,
    ChoiceTask,
    Completion,
    ContestTask,
    FunctionTask,
    InputTask,
    OracleTask,
    OutputTask,
    Problem,
    SuiteTask,
)
from truegrade.sandbox import Sandbox

GOLDEN = json.loads(Path(__file__).with_name("golden_extractions.json").read_text())
"""What the harnesses themselves made of a selection of `peer_replies.REPLIES`, printed by the drivers beside."""

_PREFIX = 'def add(a, b):\n    """ Add. """\n'


def problem(benchmark, **changed):
    """The task of adding two numbers, as this benchmark words it."""
    prefix = _PREFIX if benchmark == "humaneval" else ""
    tests = ("assert add(1, 2) == 3", "assert add(2, 2) == 4", "assert add(0, 0) == 0", "assert add(1, 1) == 2")
    check = "def check(candidate):\n    assert candidate(1, 2) == 3\n\ncheck(add)"
    fields = {
        "prompt": prefix or "Add two numbers.", "entry_point": "add", "prefix": prefix, "shown_tests": tests,
        "tests": check if prefix else "\n".join(tests), "reference": f"{_PREFIX}    return a + b\n",
    } | changed  # fmt: skip
    return Problem(id="T/1", benchmark=benchmark, dataset_sha256="", cluster="T/1", task=FunctionTask(**fields))


def oracle(benchmark="humanevalplus", **changed):
    """The same task as a plus set has it, two base inputs and one more; other fields make another id."""
    prefix = _PREFIX if benchmark == "humanevalplus" else ""
    fields = {
        "prompt": _PREFIX, "entry_point": "add", "prefix": prefix, "reference": f"{_PREFIX}    return a + b\n",
        "base_inputs": ((1, 2), (1.5, 2)), "plus_inputs": ((-1, 1),),
    } | changed  # fmt: skip
    key = repr(sorted(fields.items()))
    return Problem(id=key, benchmark=benchmark, dataset_sha256="", cluster="T/1", task=OracleTask(**fields))


def suite_problem(benchmark="bigcodebench"):
    """The same task as a suite of unit tests."""
    tests = (
        "import unittest\nclass TestCases(unittest.TestCase):\n"
        "    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n"
    )
    task = SuiteTask(
        prompt=_PREFIX, entry_point="add", prefix=_PREFIX, tests=tests, reference=f"{_PREFIX}    return a + b\n"
    )
    return Problem(id="T/1", benchmark=benchmark, dataset_sha256="", cluster="T/1", task=task)


PROGRAM = "def f(x):\n    return x\n"


def problems(benchmark):
    """One problem of each kind that a benchmark has."""
    if benchmark in {"micro-repair", "humanevalfix"}:
        return [problem(benchmark, buggy="def add(a, b):\n    return a - b\n")]
    if benchmark in ("humanevalsynthesize", "humanevalexplain"):
        return [problem(benchmark, prefix="def add(a, b):\n")]
    if benchmark == "leetcode-dataset":
        call = "def add(a, b):\n    return Solution().add(a, b)\n"
        return [
            problem(
                benchmark, prefix="import math\n", tests=f"{call}assert add(1, 2) == 3\n", tests_use=("Solution",)
            )
        ]
    if benchmark in {"humaneval", "mbpp", "mbpp-sanitized"}:
        return [problem(benchmark)]
    if benchmark in {"humanevalplus", "mbppplus"}:
        return [oracle(benchmark)]
    if benchmark == "bigcodebench":
        return [suite_problem(benchmark)]
    case = Case(arguments=(1,), expected=1)
    contest = ContestTask(title="", question="", public_tests="[]", private_tests="[]")
    tasks = {
        "cruxeval-input": [InputTask(program=PROGRAM, function="f", expected="1", reference_arguments="1")],
        "execution-choice": [
            ChoiceTask(programs=(PROGRAM, PROGRAM), function="f", arguments="1", expected=("1", "2"), original="A",
                       item="", case=0)
        ],
        "livecodebench": [contest, msgspec.structs.replace(contest, function="f")],
        "quixbugs": [CasesTask(entry_point="f", buggy=PROGRAM, reference=PROGRAM, cases=(case,))],
    }  # fmt: skip
    output = [OutputTask(program=PROGRAM, function="f", arguments="1", expected="1")]
    return [
        Problem(id="T/1", benchmark=benchmark, dataset_sha256="", cluster="T/1", task=task)
        for task in tasks.get(benchmark, output)
    ]


def evalplus_request(task, **graded):
    """What EvalPlus' driver needs to grade a ``solution``, or a ``reply``; groups without inputs pass."""
    benchmark, task = task.benchmark, task.task
    inputs = [[list(arguments) for arguments in group] for group in (task.base_inputs, task.plus_inputs)]
    return {
        "dataset": "humaneval" if benchmark == "humanevalplus" else "mbpp",
        "reference": task.reference if task.prefix else task.prompt + task.reference,
        "entry_point": task.entry_point, "atol": task.atol,
        "inputs": base64.b64encode(pickle.dumps(inputs)).decode(),
    } | graded  # fmt: skip


def completion(text, form="reply"):
    return Completion(benchmark="", dataset_sha256="", problem_id="T/1", sample=0, config_sha256="",
                      prompt_sha256="", text=text, model="m", form=form)  # fmt: skip


def extracted(profile, task, text, form="reply"):
    """The value that a profile extracts; a program that it finds none in is an empty text to its harness."""
    return profile.extract(task, completion(text, form)).value or ""


def grade_all(profile, rows, form="reply"):
    """Judgements of (problem, reply) rows; None where the reply holds nothing to grade."""
    judgements, sandbox = [], sandbox_of(limits_for(profile, [task for task, _ in rows]))
    for task, reply in rows:
        answer = profile.extract(task, completion(reply, form))
        judgements.append(None if answer.value is None else profile.judgement(task, answer, sandbox))
    return judgements


@functools.cache
def sandbox_of(limits):
    """A sandbox with one worker for all tests that need these limits; one costs a tenth of a second to open."""
    sandbox = Sandbox(limits, workers=1)
    atexit.register(sandbox.close)
    return sandbox


def passed(profile, rows, form="reply"):
    return [judgement is not None and judgement.passed for judgement in grade_all(profile, rows, form)]


def both(benchmark, data_dir):
    """Problems by id, and under the same ids the rows as upstream stores them."""
    names = {"humaneval": "HumanEval.jsonl.gz", "mbpp": "mbpp.jsonl", "mbpp-sanitized": "sanitized-mbpp.json"}
    problems = load_benchmark(benchmark, data_dir).by_id()
    return problems, dict(zip(problems, read_rows(data_dir / names[benchmark]), strict=True))


def read_rows(path):
    """The rows of a data file as upstream stores them."""
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    text = raw.decode()
    return json.loads(text) if text.startswith("[") else [json.loads(line) for line in text.splitlines()]


def humaneval_replies(problems, ids):
    """(id, reply) pairs: fenced references, bodies, mutants; of the last task also answers that only cheat."""
    pairs = []
    for name in ids:
        task = problems[name].task
        whole, body = task.reference, task.reference.removeprefix(task.prefix)
        pairs += [(name, text) for text in (fenced(whole), body, fenced(mutant(whole)), fenced(body))]
    for cheat in CHEATS.values():
        pairs += [(ids[-1], fenced(task.prefix + cheat)), (ids[-1], cheat)]
    return pairs


def mbpp_replies(problems, ids):
    """(id, reply) pairs: fenced references, raw ones, mutants; of the last task also answers that only cheat."""
    pairs = []
    for name in ids:
        whole = problems[name].task.reference
        pairs += [(name, text) for text in (fenced(whole), whole, fenced(mutant(whole)), whole + "\n```\n")]
    signature = f"def {problems[ids[-1]].task.entry_point}(*args):\n"
    return pairs + [(ids[-1], fenced(signature + cheat)) for cheat in CHEATS.values()]
