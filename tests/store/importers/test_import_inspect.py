"""Inspect's logs, hand-made: what is read in them, what they answer, what is refused, what an audit says."""

import json
import struct
import zipfile

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import truegrade
from support.importing import read_completions, sniff_format
from truegrade.analysis.audit import Evidence, audit_file
from truegrade.benchmarks import load_benchmark
from truegrade.errors import BadRecord, UserError
from truegrade.settings import Silent
from truegrade.store.importers import SourceFile
from truegrade.store.importers.logs import InspectSample, answers

KNOWN = [f"HumanEval/{i}" for i in range(164)]


def sample(name, text, epoch=1, score="C", **more):
    """One sample as Inspect 0.3.285 writes it, as far as it is read."""
    message = {"role": "assistant", "content": text, "source": "generate"}
    choices = [] if text is None else [{"message": message, "stop_reason": more.pop("stop_reason", "stop")}]
    return {
        "id": name,
        "epoch": epoch,
        "input": "Complete this.",
        "target": "",
        "messages": [],
        "output": {"model": "m", "choices": choices, "completion": text, "usage": None, "time": 0.5},
        "scores": None if score is None else {"verify": {"value": score, "answer": None, "history": []}},
        "events": [],
        **more,
    }


def log(samples, task="inspect_evals/humaneval", **spec):
    return {
        "version": 2,
        "status": "success",
        "eval": {"eval_id": "e", "task": task, "model": "asked/m", "dataset": {}, "config": {}, **spec},
        "plan": {},
        "samples": samples,
    }


@pytest.fixture
def write(tmp_path):
    """Write a log, as ``.eval`` or as ``.json`` by the name."""

    def write(document, name="log.eval", header="header.json", packing=zipfile.ZIP_DEFLATED):
        path = tmp_path / name
        if path.suffix == ".json":
            path.write_text(json.dumps(document))
            return path
        with zipfile.ZipFile(path, "w", packing) as archive:
            for one in document["samples"]:
                archive.writestr(f"samples/{one['id']}_epoch_{one['epoch']}.json", json.dumps(one))
            if header:
                archive.writestr(header, json.dumps({key: document[key] for key in document if key != "samples"}))
        return path

    return write


def load(path, benchmark="humaneval", known=KNOWN, **more):
    return list(read_completions(path, benchmark=benchmark, dataset_sha256="d" * 64, known_ids=known, **more))


def refused(path, says, **more):
    with pytest.raises(BadRecord, match=says) as caught:
        load(path, **more)
    assert str(path) in str(caught.value)
    return caught.value.field


# --------------------------------------------------------------------------------------------- what is read


@pytest.mark.parametrize("name", ["log.eval", "log.json"])
def test_epochs_are_samples_and_a_failed_request_is_missing(write, name):
    parts = [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "b"}]
    rows = [
        sample("HumanEval/0", "a"),
        sample("HumanEval/0", parts, epoch=2, stop_reason="model_length"),
        sample("HumanEval/2", None, score=float("nan"), error={"message": "503"}),
    ]
    path = write(log(rows), name)
    assert sniff_format(path).name == "inspect"
    first, second, third = load(path)
    assert [(c.problem_id, c.sample, c.text) for c in (first, second, third)] == [
        ("HumanEval/0", 0, "a"),
        ("HumanEval/0", 1, "b"),
        ("HumanEval/2", 0, None),
    ]
    assert (first.form, first.model, first.latency_s) == ("reply", "m", 0.5)
    assert (second.reasoning, second.truncated, first.truncated) == ("hm", True, False)


def test_calls_are_why_a_sample_ended(write):
    calls = [{"id": "1", "function": "python", "arguments": {"code": "x"}, "type": "function"}]
    samples = [sample("HumanEval/1", ""), sample("HumanEval/2", "text"), sample("HumanEval/3", "text")]
    for one in samples[:2]:
        one["output"]["choices"][0]["message"]["tool_calls"] = calls
    read = load(write(log(samples), "log.json"))
    assert [one.finish_reason for one in read] == ["tool_calls", "tool_calls", "stop"]


def test_an_unfinished_log_is_read_by_its_journal(write):
    path = write(log([sample("HumanEval/0", "a")]), header="_journal/start.json")
    with SourceFile(path) as source:
        assert len(load(path)) == 1 and answers(source) == "humaneval"


@pytest.mark.parametrize(
    ("task", "benchmark"),
    [("humaneval", "humaneval"), ("inspect_evals/mbpp", "mbpp-sanitized"), ("truegrade/quixbugs", "quixbugs")],
)
def test_the_task_says_what_is_answered(write, task, benchmark):
    with SourceFile(write(log([], task))) as source:
        assert answers(source) == benchmark


@pytest.mark.parametrize(
    ("scores", "passed"),
    [({"v": {"value": value}}, right) for value, right in
     [("C", True), ("I", False), ("N", False), ("P", None), (1, True), (0.0, False), (0.5, None), ([1], None)]]
    + [({"a": {"value": "I"}, "b": {"value": "C"}}, False), ({}, None), (None, None)],
)  # fmt: skip
def test_a_score_is_a_verdict_where_it_is_right_or_wrong(scores, passed):
    assert msgspec.convert({"id": "x", "scores": scores}, InspectSample).passed is passed


# ------------------------------------------------------------------------------------------ what is refused


def test_an_unknown_task_is_refused_in_one_sentence(write):
    path = write(log([sample("HumanEval/0", "a")], "inspect_evals/gsm8k"))
    with pytest.raises(
        UserError, match=r"field 'eval.task': the task 'inspect_evals/gsm8k' is not known here; name"
    ):
        truegrade.grade(path)


def test_another_benchmark_s_log_is_refused(write):
    path = write(log([sample(11, "a")], "inspect_evals/mbpp"))
    assert refused(path, "asks mbpp-sanitized, not humaneval; grade it with `benchmark`") == "eval.task"
    ours = write(log([], "truegrade/humaneval", metadata={"dataset_sha256": "e" * 64}))
    assert refused(ours, "answers data set eeeeeeeeeeee") == "eval.metadata.dataset_sha256"


def test_replies_to_humaneval_answer_humanevalplus_as_well(write):
    assert len(load(write(log([sample("HumanEval/0", "a")])), benchmark="humanevalplus")) == 1


def test_a_count_is_an_id_only_where_the_question_confirms_it(write):
    path = write(log([sample(1, "a", input=[{"role": "user", "content": "Do: add two."}])], "mine"))
    asked = {"HumanEval/0": "none", "HumanEval/1": " add two.\n"}
    assert load(path, wordings=asked)[0].problem_id == "HumanEval/1"
    assert refused(path, "may be a mere count") == "samples/1_epoch_1.json.id"
    assert refused(path, "may be a mere count", wordings={"HumanEval/1": "subtract"})


def test_shapes_that_are_no_log_are_refused_by_place(write, tmp_path):
    twice = [sample("HumanEval/3", "a"), sample("humaneval/3", "b")]
    assert refused(write(log(twice), "twice.json"), "occurs twice") == "samples[1]"
    assert refused(write(log([sample("x", "a")])), "no problem 'x'") == "samples/x_epoch_1.json.id"
    assert "epoch" in refused(write(log([sample("HumanEval/3", "a", epoch=0)]), "e.json"), "epoch|>= 1")
    assert refused(write(log([])), "holds no sample") is None
    refused(write(log([sample("HumanEval/3", "a")]), header=None), "no log of Inspect", format="inspect")
    chunked = tmp_path / "chunked.eval"
    with zipfile.ZipFile(chunked, "w") as archive:
        archive.writestr("header.json", json.dumps(log([])))
        archive.writestr("samples/HumanEval/3_epoch_1/sample.json", "{}")
    refused(chunked, "split into chunks")
    torn = tmp_path / "torn.eval"
    torn.write_bytes(write(log([sample("HumanEval/3", "a")])).read_bytes()[:100])
    refused(torn, "no whole zip archive")


def test_zstandard_that_this_python_cannot_read_is_named_with_a_way_out(write, monkeypatch):
    """The members' method becomes 93 in both of a zip's headers, as Inspect writes; the bytes are none of its."""
    path = write(log([sample("HumanEval/3", "a")]), packing=zipfile.ZIP_STORED)
    content = bytearray(path.read_bytes())
    for mark, offset in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        at = content.find(mark)
        while at >= 0:
            struct.pack_into("<H", content, at + offset, 93)
            at = content.find(mark, at + 1)
    path.write_bytes(content)
    refused(path, r"truegrade\[zstd\].*inspect log convert --to json|archive is damaged")


def test_zstandard_is_read_where_python_or_its_backport_can(write):
    packed = pytest.importorskip("backports.zstd.zipfile", reason="the extra [zstd] is not installed")
    document = log([sample("HumanEval/3", "a" * 1000)])
    path = write(document)
    with packed.ZipFile(path, "w", packed.ZIP_ZSTANDARD) as archive:
        archive.writestr("samples/HumanEval/3_epoch_1.json", json.dumps(document["samples"][0]))
        archive.writestr("header.json", json.dumps(document))
    assert load(path)[0].text == "a" * 1000


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.data())
def test_a_damaged_log_is_read_or_refused(tmp_path_factory, data):
    """Any byte of an archive changed or cut off: every sample, or a sentence; nothing else is ever raised."""
    path = tmp_path_factory.mktemp("damaged") / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("samples/HumanEval/3_epoch_1.json", json.dumps(sample("HumanEval/3", "a" * 50)))
        archive.writestr("header.json", json.dumps(log([])))
    content = bytearray(path.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(len(content) // 2, len(content)))])
    try:
        found = load(path, format="inspect")
    except BadRecord as error:
        assert str(path) in str(error)
    else:
        assert len(found) == 1


# ---------------------------------------------------------------------------------- graded, audited, exported


@pytest.fixture
def asked(write, monkeypatch, humaneval_file):
    """A right reply that the tool calls wrong, a wrong one that it calls right, and one that both call right."""
    monkeypatch.setenv("TRUEGRADE_DATA", str(humaneval_file.parent))
    prompts = {problem.id: problem.task.prompt for problem in load_benchmark("humaneval", humaneval_file).problems}
    rows = (
        sample("HumanEval/23", "```python\ndef strlen(string):\n    return len(string)\n```", score="I"),
        sample("HumanEval/53", "```python\ndef add(x, y):\n    return x - y\n```", score="C"),
        sample("HumanEval/2", "```python\ndef truncate_number(number):\n    return number % 1\n```", score="C"),
    )
    return write(log([{**row, "input": f"Complete this.\n{prompts[row['id']]}"} for row in rows]))


def test_a_log_is_graded_anew_without_naming_the_benchmark(asked, tmp_path):
    run = truegrade.grade(asked, out=tmp_path / "run")
    assert {v.problem_id: v.passed for v in run.verdicts()} == {
        "HumanEval/23": True,
        "HumanEval/53": False,
        "HumanEval/2": True,
    }
    assert run.manifest.import_format == "inspect" and run.manifest.benchmark.name == "humaneval"


def test_an_audit_holds_the_tool_s_scores_against_fresh_verdicts(asked, humaneval_file):
    found = audit_file(Evidence(path=asked, progress=Silent()), load_benchmark("humaneval", humaneval_file))
    assert found.recorded == {"passed": 2}
    by_code = {finding.code: finding.rows for finding in found.findings}
    wrong = [rows for code, rows in by_code.items() if "HumanEval/53" in rows]
    assert wrong, by_code
    assert not any("HumanEval/2" in rows for rows in by_code.values()), by_code


def test_a_run_that_was_exported_as_a_log_is_read_back_as_it_was(tmp_path, monkeypatch, humaneval_file):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRUEGRADE_DATA", str(humaneval_file.parent))
    rows = [
        {"task_id": "HumanEval/23", "completion": "    return len(string)\n"},
        {"task_id": "HumanEval/53", "completion": "    return x\n"},
    ]
    (tmp_path / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = truegrade.grade("samples.jsonl", benchmark="humaneval", out="run")
    again = truegrade.grade(truegrade.export(run, "inspect"), out="again")
    told, told_again = ({(v.key, v.passed, v.reason, v.answer) for v in r.verdicts()} for r in (run, again))
    assert told == told_again and {completion.form for completion in again.completions()} == {"completion"}
