"""Passes of suites are told apart by where their tests ran, alike wherever a number stands."""

import gzip
import io
import json

import msgspec
import pytest
from rich.console import Console

import truegrade
from support.outside_suites import STACK_TASK
from truegrade.grading.functions import TESTS_INSIDE
from truegrade.grading.marks import READS_TESTS
from truegrade.pipeline.suite_summary import suite_tiers, tier_cautions
from truegrade.pipeline.summary import read_summary
from truegrade.profiles import open_profile
from truegrade.records import Problem, Reason
from truegrade.report import wording
from truegrade.report.export import export_report
from truegrade.report.run_document import print_summary
from truegrade.store import Run
from truegrade.store.facts import VerdictFacts

STRICT = open_profile("strict")
OF_CONTROLS = "controls:1e-06"
"""As verdicts of strict@5 have it."""


def table(*verdicts):
    """A verdict a problem: whether it passed, and its marks."""
    facts = [
        VerdictFacts(
            problem_id=f"p{number}", sample=0, completion_sha256="", passed=passed,
            reason=Reason.PASSED if passed else Reason.WRONG_ANSWER, truncated=False, time_sensitive=False,
            marks=marks, detail="",
        )
        for number, (passed, *marks) in enumerate(verdicts)
    ]  # fmt: skip
    return {each.problem_id: [msgspec.structs.replace(each, marks=tuple(each.marks))] for each in facts}


def problems(outcomes, task=STACK_TASK):
    made = Problem(id="", benchmark="bigcodebench", dataset_sha256="", cluster="", task=task)
    return {name: msgspec.structs.replace(made, id=name, cluster=name) for name in outcomes}


def test_each_tier_has_a_rate_over_the_problems_that_are_judged_so():
    outcomes = table(
        (True,), (False,), (True, TESTS_INSIDE, OF_CONTROLS), (True, TESTS_INSIDE), (False, TESTS_INSIDE),
        (True, TESTS_INSIDE), (True, TESTS_INSIDE, READS_TESTS),
    )  # fmt: skip
    found = suite_tiers(STRICT, problems(outcomes), outcomes)
    told = [(each.tier, each.verdicts, each.passes, each.problems, each.rate.value) for each in found]
    assert told == [("outside", 2, 1, 2, 0.5), ("inside", 5, 3, 5, 0.6)]
    assert not suite_tiers(open_profile("bigcodebench"), problems(outcomes), outcomes)


def test_a_problem_whose_answers_were_no_programs_is_of_the_tier_that_its_row_names():
    outcomes = table((False,), (True,))
    rows = problems(outcomes)
    rows["p0"] = msgspec.structs.replace(rows["p0"], tags={"tier": "own-tests"})
    found = suite_tiers(STRICT, rows, outcomes)
    assert [(each.tier, each.problems, each.passes) for each in found] == [("outside", 1, 1), ("inside", 1, 0)]


def test_passes_that_rest_on_tests_inside_are_counted():
    outcomes = table((True,), (True, TESTS_INSIDE), (False, TESTS_INSIDE))
    (said,) = tier_cautions(STRICT, outcomes)
    assert (said.code, said.count, said.of) == ("tests-inside", 1, 2)
    assert "1 were judged outside" in said.sentence
    assert not tier_cautions(open_profile("human-eval"), outcomes)
    assert not tier_cautions(STRICT, {"p0": outcomes["p0"]})
    (old,) = tier_cautions(STRICT, table((True,), (True, TESTS_INSIDE, OF_CONTROLS)))
    assert old.count == 1 and "1 have the mark of control runs, which this version no longer makes" in old.sentence
    inside, reading = tier_cautions(STRICT, table((True, TESTS_INSIDE), (True, TESTS_INSIDE, READS_TESTS)))
    assert (inside.count, inside.of) == (1, 1)
    assert (reading.code, reading.count, reading.of) == ("reads-tests", 1, 2) and "p1" in reading.sentence


HEAD = "import json\n\ndef task_func(text, key):\n"
DOC = '    """Read JSON."""\n'
BODY = "    return json.loads(text).get(key)\n"
OUTSIDE = """import unittest

class TestCases(unittest.TestCase):
    def test_found(self):
        self.assertEqual(task_func('{"a": 5}', "a"), 5)
"""
INSIDE = f"""from unittest.mock import patch
{OUTSIDE}
    @patch("json.loads", return_value={{"k": "said"}})
    def test_patched(self, loads):
        self.assertEqual(task_func("x", "k"), "said")
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    """Four replies that pass: outside; inside; inside and reading frames; outside and reading frames."""
    folder = tmp_path_factory.mktemp("suites")
    rows = [
        {
            "task_id": f"BigCodeBench/{number}", "entry_point": "task_func", "prompt": HEAD + DOC,
            "prompt_wo_doc": HEAD, "instruction": "", "canonical_solution": BODY, "test": test,
        }
        for number, test in enumerate([OUTSIDE, INSIDE, INSIDE, OUTSIDE])
    ]  # fmt: skip
    data = folder / "BigCodeBench.jsonl.gz"
    data.write_bytes(gzip.compress("".join(json.dumps(each) + "\n" for each in rows).encode()))
    reading = f"{HEAD}    import sys\n    sys._getframe(1).f_locals\n{BODY}"
    replies = [HEAD + BODY, HEAD + BODY, reading, reading]
    file = folder / "replies.jsonl"
    told = [{"task_id": row["task_id"], "solution": reply} for row, reply in zip(rows, replies, strict=True)]
    file.write_text("".join(json.dumps(each) + "\n" for each in told))
    args = {"allow_modified": "true", "packages": "standard"}
    return truegrade.grade(
        file, benchmark="bigcodebench", data=data, task_args=args, profiles=["strict"], out=folder / "run"
    )


def test_a_pass_that_reads_its_tests_leaves_the_headline_where_it_could_gain_by_it(run):
    marks = {verdict.problem_id[-1]: verdict.marks for verdict in run.verdicts()}
    assert all(verdict.passed for verdict in run.verdicts())
    assert marks == {"0": (), "1": (TESTS_INSIDE,), "2": (TESTS_INSIDE, READS_TESTS), "3": (TESTS_INSIDE,)}
    summary = read_summary(run)
    assert summary.profiles[0].estimates[0].value == 0.75
    assert {warning.code for warning in summary.warnings} >= {"tests-inside", "reads-tests"}


def test_one_line_tells_the_tiers_apart_in_terminal_page_latex_and_json(run, tmp_path):
    summary = read_summary(run)
    (profile,) = summary.profiles
    line = wording.tiers(profile)
    assert line == (
        f"{profile.profile}: tests outside the program: 1 of 4 problems, pass@1 100.0 %; passes on the other 3 by"
        " tests beside the program: 2, pass@1 66.7 %"
    )
    out = io.StringIO()
    print_summary(summary, console=Console(file=out, width=400))
    assert line in out.getvalue()
    (page,) = export_report(run, "html", tmp_path / "report.html")
    assert f">{line}<" in page.read_text()
    tables = [*export_report(run, "latex", tmp_path / "tex"), *export_report(run, "json", tmp_path / "json")]
    written = {path.name: path.read_text().replace(r"\%", "%").replace("~", " ") for path in tables}
    assert line in written["estimates.tex"] and line in written["report.json"]
    stored = json.loads((run.path / "summary.json").read_text())["profiles"][0]["tiers"]
    assert [(each["tier"], each["passes"]) for each in stored] == [("outside", 1), ("inside", 2)]


def test_a_summary_of_an_earlier_version_with_control_runs_is_still_told(run):
    (profile,) = read_summary(run).profiles
    outside, inside = profile.tiers
    controls = msgspec.structs.replace(inside, tier="controls", passes=3)
    old = msgspec.convert(
        msgspec.to_builtins(msgspec.structs.replace(profile, tiers=[outside, controls, inside])), type(profile)
    )
    assert wording.tiers(old) == (
        f"{wording.tiers(profile)}; by control runs, which this version no longer makes: 3"
    )
