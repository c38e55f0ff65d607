"""Files of EvalPlus, bigcode, lm-eval, EvalScope and AgentCoder."""

import json
import os
import tracemalloc
from pathlib import Path

import pytest
from harness_rows import PROMPT, eval_results, graded, lm_eval, mapcoder, prediction, review
from hypothesis import given
from hypothesis import strategies as st

from support.importing import read_completions, sniff_format
from truegrade.errors import BadRecord
from truegrade.records import Usage
from truegrade.store.importers import SourceFile, index_ids
from truegrade.store.importers.agentcoder import read_accepted
from truegrade.store.importers.base import ImportTarget

KNOWN = [f"HumanEval/{i}" for i in range(164)]


def load(path, known=KNOWN, **more):
    return list(read_completions(path, benchmark="humaneval", dataset_sha256="d" * 64, known_ids=known, **more))


def brief(completions):
    return [(c.problem_id, c.sample, c.text, c.form) for c in completions]


@pytest.fixture
def write(tmp_path):
    def write(content, name="file.json"):
        path = tmp_path / name
        rows = isinstance(content, tuple)
        path.write_text("".join(json.dumps(row) + "\n" for row in content) if rows else json.dumps(content))
        return path

    return write


def refused(path, says, **more):
    with pytest.raises(BadRecord, match=says) as caught:
        load(path, **more)
    assert str(path) in str(caught.value)
    return caught.value.line, caught.value.field


# --------------------------------------------------------------------------------------------- EvalPlus


def test_raw_files_hold_replies_and_their_sanitized_twins_programs(write):
    row = {"task_id": "HumanEval/1", "solution": "Sure:\n```python\nx\n```"}
    raw, sanitized = write((row,), "m.raw.jsonl"), write((row,), "m.jsonl")
    assert [sniff_format(path).name for path in (raw, sanitized)] == ["evalplus-raw", "samples-jsonl"]
    assert [load(path)[0].form for path in (raw, sanitized)] == ["reply", "program"]
    assert refused(write((row, {"task_id": "HumanEval/1"}), "m.raw.jsonl"), "missing") == (2, "solution")


@pytest.mark.parametrize("size", [1, 70_000])
def test_graded_solutions_are_programs(write, size):
    rows = [graded(solution="x" * size), graded(solution="b")]
    path = write(eval_results(**{"HumanEval/1": rows, "HumanEval/0": [graded("HumanEval/0", "c")]}))
    assert sniff_format(path).name == "evalplus-results"
    assert [(i, s, len(t), f) for i, s, t, f in brief(load(path))] == [
        ("HumanEval/1", 0, size, "program"),
        ("HumanEval/1", 1, 1, "program"),
        ("HumanEval/0", 0, 1, "program"),
    ]


def test_wrong_results_name_their_field(write):
    old = eval_results(**{"HumanEval/1": {"nfiles": 1, "base": [["pass", []]]}})
    assert refused(write(old), "without their solutions") == (None, "eval.HumanEval/1")
    nobody = eval_results(**{"HumanEval/1": [{"task_id": "HumanEval/1"}]})
    assert refused(write(nobody), "missing") == (None, "eval.HumanEval/1[0].solution")
    twice = eval_results(**{"HumanEval/1": [], "1": []})
    assert refused(write(twice), "occurs twice") == (None, "eval.1")


# ---------------------------------------------------------------------------------------------- bigcode


def test_lists_answer_the_tasks_in_order(write):
    path = write([["a", "b"], ["c"]])
    assert sniff_format(path).name == "bigcode-generations"
    assert brief(load(path, ["T/9", "T/1"])) == [
        ("T/9", 0, "a", "program"),
        ("T/9", 1, "b", "program"),
        ("T/1", 0, "c", "program"),
    ]


def test_an_intermediate_file_has_gaps(write):
    path = write([None, ["a", None]])
    assert sniff_format(path).name == "bigcode-generations"
    assert [(c.problem_id, c.text) for c in load(path, ["T/0", "T/1"])] == [("T/1", "a"), ("T/1", None)]


def test_other_lengths_are_paired_only_when_told_how(write):
    path = write([["a"], ["b"]])
    assert refused(path, r"2 lists without ids.*164 problems.*`limit` 2") == (None, None)
    assert refused(path, "fewer than the 3", positions=KNOWN[:3]) == (None, None)
    assert [c.problem_id for c in load(path, positions=KNOWN[4:6])] == ["HumanEval/4", "HumanEval/5"]
    assert [c.text for c in load(path, positions=KNOWN[:1])] == ["a"], "the harness leaves what is behind --limit"


def test_wrong_lists_name_their_place(write):
    assert refused(write([["a"], ["b", 3]]), "expected str", known=["0", "1"]) == (None, "[1][1]")


# ---------------------------------------------------------------------------------------------- lm-eval


def test_responses_are_taken_before_any_filter_and_once(write):
    path = write((lm_eval(texts=("a", "b")), lm_eval(texts=("a", "b"), filter_="other"), lm_eval("HumanEval/2")))
    assert sniff_format(path).name == "lm-eval-samples"
    assert brief(load(path)) == [
        ("HumanEval/1", 0, "a", "completion"),
        ("HumanEval/1", 1, "b", "completion"),
        ("HumanEval/2", 0, "    return 1\n", "completion"),
    ]


@pytest.mark.parametrize(
    ("context", "form"),
    [
        (PROMPT, "completion"),
        (f"Write a solution:\n```python\n{PROMPT}```\nHere it is:\n```python\n{PROMPT}\n", "completion"),
        ("You are an expert Python programmer\n[BEGIN]\n", "completion"),
        (f"Write a solution:\n```python\n{PROMPT}```\n", "reply"),
        ('[{"role": "user", "content": "def f(x):\\n"}]', "reply"),
    ],
)
def test_what_stood_before_a_response_says_what_it_is(write, context, form):
    assert load(write((lm_eval(context=context),)))[0].form == form
    assert load(write((lm_eval(arguments=[[context, {"until": []}]]),)))[0].form == form


def test_wrong_samples_name_line_and_field(write):
    good = lm_eval()
    assert refused(write((good, lm_eval(resps="x"))), "expected array") == (2, "resps")
    assert refused(write((good, lm_eval(doc={"query": "x"}))), "code task") == (2, "doc.task_id")
    assert refused(write((good, lm_eval("HumanEval/999"))), "no problem") == (2, "doc.task_id")


# --------------------------------------------------------------------------------------------- EvalScope


def test_predictions_keep_what_the_service_said(write):
    parts = [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "reply"}]
    path = write((prediction(), prediction(content=parts), prediction(choices=[])))
    assert sniff_format(path).name == "evalscope"
    first, second, failed = load(path)
    assert (first.text, first.form, first.model, first.latency_s) == ("reply", "reply", "served", 1.5)
    assert (first.usage, first.finish_reason) == (Usage(input_tokens=10, output_tokens=20), "stop")
    assert (second.text, second.sample, failed.text, failed.sample) == ("reply", 1, None, 2)


def test_reviews_hold_the_reply(write):
    path = write((review(text="a"), review("HumanEval/0", "b", acc=False)))
    assert sniff_format(path).name == "evalscope"
    assert brief(load(path)) == [("HumanEval/1", 0, "a", "reply"), ("HumanEval/0", 0, "b", "reply")]


def test_a_row_without_its_task_is_refused(write):
    row = prediction() | {"metadata": {}}
    assert refused(write((prediction(), row)), "metadata") == (2, "metadata.task_id")
    assert refused(write((prediction(), {"index": "x", "model_output": {}})), "expected int") == (2, "index")


# -------------------------------------------------------------------------------------------- AgentCoder


def test_attempts_are_samples_and_no_attempt_is_an_empty_answer(write):
    path = write(
        (mapcoder(codes=("a", "b")), mapcoder("HumanEval/2", codes=()), mapcoder("HumanEval/3", codes=("",)))
    )
    assert sniff_format(path).name == "mapcoder-rows"
    got = load(path)
    assert brief(got) == [
        ("HumanEval/1", 0, "a", "completion"),
        ("HumanEval/1", 1, "b", "completion"),
        ("HumanEval/2", 0, "", "completion"),
        ("HumanEval/3", 0, "", "completion"),
    ]
    assert [c.usage for c in got[1:3]] == [Usage(input_tokens=314, output_tokens=20), None]
    assert refused(write((mapcoder(), mapcoder())), "occurs twice") == (2, "task_id")


@pytest.mark.parametrize("indent", [None, 4])
@pytest.mark.parametrize(
    "document",
    [
        [{"task_id": "HumanEval/5", "prompt": "p", "completion": "a", "test_case": "t", "passed": False}],
        {"HumanEval/5": {"completion": "a"}},
        {"0": {"task_id": 5, "completion": "a"}},
    ],
)
def test_one_completion_a_row(tmp_path, document, indent):
    path = tmp_path / "f.json"
    path.write_text(json.dumps(document, indent=indent))
    assert sniff_format(path).name == "completion-rows"
    assert brief(load(path)) == [("HumanEval/5", 0, "a", "completion")]


def test_wrong_rows_name_their_place(write):
    good = {"task_id": "HumanEval/5", "completion": "a"}
    assert refused(write([good, {"task_id": "HumanEval/6"}]), "neither", format="completion-rows") == (None, "[1]")
    assert refused(write([good, {"completion": "a"}]), "missing") == (None, "[1].task_id")
    assert refused(write([good, {**good, "completion": 1}]), "expected str") == (None, "[1].completion")


def test_accepted_rows_alone_are_reused(write):
    rows = {
        "0": {"task_id": "HumanEval/0", "completion_list": ["a", "b"], "need_reproduce": False},
        "1": {"task_id": "HumanEval/1", "completion_list": ["c"], "need_reproduce": True},
        "2": {"task_id": "HumanEval/2", "completion_list": ["d"]},
    }
    target = ImportTarget(benchmark="humaneval", dataset_sha256="d", ids=index_ids(KNOWN))
    with SourceFile(write(rows)) as source:
        assert [c.text for c in read_accepted(source, target)] == ["a", "b"]
    assert [c.text for c in load(write(rows))] == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("name", "benchmark", "samples", "format_"),
    [
        ("gpt-3.5-turbo-1106.json", "humaneval", 820, "completion-list"),
        ("GPT4-AgentCoder-HumanEval-Python3-0-1.jsonl", "humaneval", 164, "mapcoder-rows"),
        ("zero_shot_gpt-3.5-turbo_mbpp.json", "mbpp", 257, "completion-rows"),
        ("zero_shot_gpt-3.5-turbo_4_mbpp.json", "mbpp", 257, "completion-rows"),
    ],
)
def test_the_released_files_of_agentcoder(name, benchmark, samples, format_):
    if not os.environ.get("TRUEGRADE_PEERS"):
        pytest.skip("peers not present: set TRUEGRADE_PEERS")
    path = Path(os.environ["TRUEGRADE_PEERS"]) / "huangd1999+AgentCoder" / "dataset" / name
    known = KNOWN if benchmark == "humaneval" else [f"MBPP/{i}" for i in range(1, 975)]
    assert sniff_format(path).name == format_
    assert len(load(path, known)) == samples


# ------------------------------------------------------------------------------------------------- scale


def huge_rows():
    text = "    return 1\n" * 20
    yield "lm-eval-samples", lambda i: lm_eval(f"HumanEval/{i % 164}", texts=(text,))
    yield "evalscope", lambda i: review(f"HumanEval/{i % 164}", text)
    yield "evalplus-raw", lambda i: {"task_id": f"HumanEval/{i % 164}", "solution": text}


@pytest.mark.parametrize(
    ("name", "row"), list(huge_rows()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_lines_are_read_in_bounded_memory(tmp_path, name, row):
    path = tmp_path / "f.raw.jsonl"
    with path.open("w") as file:
        for i in range(4_000):
            file.write(json.dumps(row(i)) + "\n")
    assert sniff_format(path).name == name
    tracemalloc.start()
    count = sum(1 for _ in read_completions(path, benchmark="b", dataset_sha256="d", known_ids=KNOWN))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 4_000
    assert path.stat().st_size > 1_200_000
    assert peak < 700_000


@given(st.lists(st.text(max_size=30), min_size=1, max_size=5), st.integers(0, 163))
def test_texts_survive_every_shape_untouched(tmp_path_factory, texts, number):
    folder, task = tmp_path_factory.mktemp("shapes"), f"HumanEval/{number}"
    shapes = {
        "a.jsonl": [lm_eval(task, texts=texts)],
        "b.jsonl": [prediction(task, text) for text in texts],
        "c.jsonl": [review(task, text) for text in texts],
        "d.jsonl": [mapcoder(task, texts)],
        "e.raw.jsonl": [{"task_id": task, "solution": text} for text in texts],
    }
    for name, rows in shapes.items():
        path = folder / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        assert [(c.key.sample, c.text) for c in load(path)] == list(enumerate(texts)), name
    documents = {
        "f.json": eval_results(**{task: [graded(task, text) for text in texts]}),
        "g.json": [{"task_id": task, "completion": text} for text in texts],
    }
    for name, document in documents.items():
        path = folder / name
        path.write_text(json.dumps(document))
        assert [(c.key.sample, c.text) for c in load(path)] == list(enumerate(texts)), name
