"""Every format that is read: a verdict that it records and that regrading contradicts is found."""

import json
import zipfile

import pytest
from audit_files import document, lines, right, toy, upstream, wrong

from truegrade.analysis.audit import Evidence, audit_file
from truegrade.benchmarks import load_benchmark
from truegrade.settings import Silent
from truegrade.store.importers import IMPORTERS, find_format
from truegrade.store.importers.reading import SourceFile

NO_VERDICT = {
    "truegrade": "its verdicts are other files",
    "results-jsonl": "success says that the request had an answer",
    "evalplus-raw": "it is written before anything is graded",
    "bigcode-generations": "programs alone, without ids",
}
"""Formats whose tools record no verdict beside the text."""

BODIES = (right(0), wrong(1))
"""The second is recorded as passed."""


def program(number):
    return upstream(number)["prompt"] + BODIES[number]


def reply(number):
    return f"```python\n{program(number)}```"


def inspect_sample(number):
    answer = {"message": {"role": "assistant", "content": reply(number)}}
    return {
        "id": f"Toy/{number}",
        "epoch": 1,
        "input": upstream(number)["prompt"],
        "scores": {"verify": {"value": "C"}},
        "output": {"model": "m", "choices": [answer]},
    }


def inspect_log(path):
    with zipfile.ZipFile(path.with_suffix(".eval"), "w") as archive:
        archive.writestr(
            "header.json", json.dumps({"version": 2, "status": "success", "eval": {"task": "humaneval"}})
        )
        for number in (0, 1):
            archive.writestr(f"samples/{number}_epoch_1.json", json.dumps(inspect_sample(number)))
    return path.with_suffix(".eval")


def lm_eval(number):
    prompt = upstream(number)["prompt"]
    return {"doc_id": number, "doc": upstream(number), "resps": [[BODIES[number]]], "filter": "none",
            "arguments": {"gen_args_0": {"arg_0": prompt}}, "metrics": ["pass@1"], "pass@1": 1.0}  # fmt: skip


def evalscope(number, **score):
    score = {"value": {"acc": 1.0}, "prediction": reply(number), **score}
    return {"index": number, "sample_score": {"score": {**score, "metadata": {"task_id": f"Toy/{number}"}}}}


def results(**statuses):
    rows = {f"Toy/{n}": [{"task_id": f"Toy/{n}", "solution": program(n), **statuses}] for n in (0, 1)}
    return {"date": "2026", "eval": rows}


def each(row):
    return [row(number) for number in (0, 1)]


FILES = {
    "inspect": inspect_log,
    "lm-eval-samples": lambda path: lines(path, each(lm_eval)),
    "evalscope": lambda path: lines(path, each(evalscope)),
    "evalscope, main score": lambda path: lines(
        path, each(lambda n: evalscope(n, value={"acc": 0.0, "pass": 1}, main_score_name="pass"))
    ),
    "evalscope, first score": lambda path: lines(path, each(lambda n: evalscope(n, value={"pass": True}))),
    "mapcoder-rows": lambda path: lines(
        path, each(lambda n: {"task_id": f"Toy/{n}", "source_codes": [BODIES[n]], "is_solved": True})
    ),
    "livecodebench": lambda path: document(
        path, each(lambda n: {"question_id": f"Toy/{n}", "code_list": [program(n)], "graded_list": [True]})
    ),
    "livecodebench, replies": lambda path: document(
        path, each(lambda n: {"question_id": f"Toy/{n}", "output_list": [[reply(n)]], "graded_list": [True]})
    ),
    "evalplus-results": lambda path: document(path, results(base_status="pass", plus_status="fail")),
    "evalplus-results, BigCodeBench": lambda path: document(path, results(status="pass", details={})),
    "samples-jsonl": lambda path: lines(
        path, each(lambda n: {"task_id": f"Toy/{n}", "completion": BODIES[n], "result": "passed", "passed": True})
    ),
    "completion-list": lambda path: document(
        path, each(lambda n: {"task_id": f"Toy/{n}", "completion_list": [BODIES[n]], "passed": [True]})
    ),
    "completion-rows": lambda path: document(
        path, each(lambda n: {"task_id": f"Toy/{n}", "completion": BODIES[n], "is_solved": True})
    ),
}


def contradicted(path, benchmark, name):
    with SourceFile(path) as source:
        assert find_format(source, None).name == name.partition(",")[0]
    found = audit_file(Evidence(path=path, progress=Silent(), workers=2), benchmark)
    return {item.code: item.rows for item in found.findings if item.code.startswith("flag-")}


@pytest.mark.parametrize("name", FILES)
def test_a_recorded_pass_that_fails_is_found_in_every_format(tmp_path, name):
    assert contradicted(FILES[name](tmp_path / "f.json"), toy(2), name) == {"flag-pass-contradicted": ["Toy/1"]}


ANSWERS = {
    "cruxeval-generations": lambda path: document(
        path, {"raw_generations": {"sample_0": ["3", "9"]}, "raw_scored_generations": {"sample_0": [True, True]}}
    ),
}


def test_a_recorded_pass_of_an_answer_is_found(tmp_path):
    row = {"code": "def f(x):\n    return x + 1", "input": "2", "output": "3", "id": "sample_0"}
    benchmark = load_benchmark(
        "cruxeval-output", lines(tmp_path / "rows.jsonl", [row]), {"allow_modified": "true"}
    )
    path = ANSWERS["cruxeval-generations"](tmp_path / "f.json")
    found = contradicted(path, benchmark, "cruxeval-generations")
    assert found == {"flag-pass-contradicted": ["sample_0#1"]}


def test_every_format_is_held_against_its_verdicts_or_records_none():
    """code-reasoning's are in `test_audit_nested`."""
    tested = {name.partition(",")[0] for name in (*FILES, *ANSWERS)} | {"code-reasoning"}
    assert tested.isdisjoint(NO_VERDICT)
    assert tested | NO_VERDICT.keys() == {importer.name for importer in IMPORTERS}
