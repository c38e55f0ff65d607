"""Every measurement of ``python -m bench`` starts, at its smallest size, and prints what it promises."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench import commands

ROOT = Path(__file__).parents[2]
ONCE = ("--rounds", "1")
RATIO = r"\d[\d.]* \[\d[\d.]*, \d[\d.]*\]"
LOAD = r"load \d+\.\d before, \d+\.\d after; \d+ cores; Python 3"
HUMANEVAL, DATA, FOLDER = "{humaneval}", "{data}", "{folder}"
SMALL = {
    "assay_audits": ((f"{FOLDER}/verdicts.json", "--draws", "2"), "2 replies, 2 pass HumanEval, 1 of these"),
    "beside": ((HUMANEVAL, "--limit", "2", "--latency", "0", "--cpu", "0", *ONCE), RATIO),
    "coralx": (("--genomes", "10"), r"\d"),
    "embedded": (("--requests", "2", "--tokens", "2", "--prompt", "4", *ONCE), LOAD),
    "grade_replies": (("--replies", "5"), RATIO),
    "grading": ((HUMANEVAL, "--limit", "2", "--peers", FOLDER, *ONCE), RATIO),
    "livecodebench": (
        ("--samples", "2", "--kind", "functional", *ONCE, "--graders", "ours", "strict", "interpreter", "forks"),
        LOAD,
    ),
    "long_samples": (ONCE, RATIO),
    "many_samples": (("20",), "20 samples"),
    "mutation": ((DATA, "--programs", "3"), "mutants/s"),
    "objectives": ((f"{DATA}/quixbugs.jsonl", *ONCE), "ms of CPU a program"),
    "repositories": ((FOLDER,), r"\| \d+ \|"),
    "report": (("20", "2"), "written in"),
    "reward_calls": ((HUMANEVAL, "--limit", "2", "--copies", "1", "--here", *ONCE), RATIO),
    "scaling": ((HUMANEVAL, "--sizes", "1", "2"), "cores that grade"),
    "searchers": (("--repeats", "2", "--budgets", "4", "--population", "2", "--searchers", "random"), "random"),
    "service": ((HUMANEVAL, "--limit", "1", "--copies", "1", *ONCE), RATIO),
    "side_by_side": (
        ("--tools", FOLDER, "--problems", f"{FOLDER}/plus.jsonl", "--limit", "1", *ONCE), "truegrade: pass@1",
    ),
    "suite_costs": ((FOLDER, f"{DATA}/BigCodeBench.jsonl.gz", "--coverage"), "not graded yet"),
    "two_versions": ((f"{ROOT}/src", "--replies", "2", "--rows", "2", *ONCE), RATIO),
    "whole": (("humaneval", HUMANEVAL, "--samples", "4", "--peer-python", sys.executable, *ONCE), RATIO),
}  # fmt: skip
"""Arguments, and a pattern of what is printed."""
CHEAP = ("assay_audits", "coralx", "scaling", "suite_costs")
"""They stand for the others in `make test`."""


def measured(*words):
    command = [sys.executable, "-m", "bench", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)


def test_without_a_name_it_lists_every_command():
    listed = measured().stdout.splitlines()
    assert [line.split()[0] for line in listed] == list(commands())
    wrong = measured("scalings")
    assert (wrong.returncode, wrong.stderr) == (1, "scalings: no such measurement; `python -m bench` lists them\n")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in CHEAP else pytest.mark.thorough) for name in SMALL]
)
def test_it_measures(name, tmp_path, request):
    arguments, said = SMALL[name]
    places = {"folder": str(tmp_path)}
    for place, fixture in (("humaneval", "humaneval_file"), ("data", "data_dir")):
        if any(f"{{{place}}}" in word for word in arguments):
            places[place] = str(request.getfixturevalue(fixture))
    rows = [{"base_status": "pass", "plus_status": status} for status in ("pass", "fail")]
    (tmp_path / "verdicts.json").write_text(json.dumps({"eval": {"HumanEval/0": rows}}))
    plus = {
        "entry_point": "f",
        "prompt": "def has_close_elements(numbers):\n",
        "canonical_solution": "    return 1\n",
    }
    (tmp_path / "plus.jsonl").write_text(json.dumps(plus | {"entry_point": "has_close_elements"}))
    (tmp_path / "code.py").write_text("def twice(number):\n    return 2 * number\n")
    done = measured(name, *(word.format(**places) for word in arguments))
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(said, done.stdout), done.stdout
    if said in {RATIO, LOAD}:
        assert re.search(LOAD, done.stdout), done.stdout


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name in commands() if name not in SMALL])
def test_it_says_what_it_takes(name):
    done = measured(name, "--help")
    assert done.returncode == 0 and f"python -m bench {name}" in done.stdout, done.stderr
