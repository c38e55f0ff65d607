import gzip
import json
import tracemalloc

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.importing import identified, read_completions, sniff_format
from truegrade.errors import BadRecord, UnknownName
from truegrade.records import Completion
from truegrade.store.importers import IMPORTERS, SourceFile

HUMANEVAL = [f"HumanEval/{i}" for i in range(164)]
CRUXEVAL = [f"sample_{i}" for i in range(800)]


def load(path, known=HUMANEVAL, benchmark="humaneval", **more):
    return list(read_completions(path, benchmark=benchmark, dataset_sha256="d" * 64, known_ids=known, **more))


def named(path, known):
    return identified(path, benchmark="humaneval", dataset_sha256="d" * 64, known_ids=known)


@pytest.fixture
def write(tmp_path):
    def write(content, name="file.json"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def stored(problem="HumanEval/0", sample=0, text="x", **more):
    fields = {
        "benchmark": "humaneval",
        "dataset_sha256": "d" * 64,
        "model": "m",
        "prompt_sha256": "p",
        "config_sha256": "c",
    }
    return msgspec.to_builtins(
        Completion(**{**fields, "problem_id": problem, "sample": sample, "text": text, **more})
    )


# ------------------------------------------------------------------------------------------ samples.jsonl


def test_human_eval_samples(write):
    path = write(
        lines(
            {"task_id": "HumanEval/1", "completion": "    return 1\n", "passed": True},
            {"task_id": "HumanEval/0", "completion": "    pass"},
            {"task_id": "HumanEval/1", "completion": ""},
        )
    )
    got = load(path)
    assert [(c.problem_id, c.sample, c.text, c.form) for c in got] == [
        ("HumanEval/1", 0, "    return 1\n", "completion"),
        ("HumanEval/0", 0, "    pass", "completion"),
        ("HumanEval/1", 1, "", "completion"),
    ]
    assert {(c.benchmark, c.dataset_sha256, c.model, c.prompt_sha256) for c in got} == {
        ("humaneval", "d" * 64, "imported", "")
    }


def test_evalplus_samples_gzipped_with_blank_lines_and_mark(write):
    text = (
        "\ufeff"
        + lines({"task_id": "Mbpp/2", "solution": "def f(): ...", "completion": "no"})
        + "\n  \n"
        + lines({"task_id": 3, "solution": "x"})
    )
    got = load(write(gzip.compress(text.encode()), "samples.jsonl.gz"), ["Mbpp/2", "Mbpp/3"], "mbppplus")
    assert [(c.problem_id, c.text, c.form) for c in got] == [
        ("Mbpp/2", "def f(): ...", "program"),
        ("Mbpp/3", "x", "program"),
    ]


@pytest.mark.parametrize(
    ("second", "field", "says"),
    [
        ('{"task_id": "HumanEval/1", "comple', None, "cut or damaged"),
        ('{"task_id": "HumanEval/1"}', None, "neither 'completion' nor 'solution'"),
        ('{"completion": "x"}', "task_id", "missing"),
        ('{"task_id": "HumanEval/1", "completion": 5}', "completion", "expected str, got int"),
        ('{"task_id": "HumanEval/1", "completion": ["x"]}', "completion", "expected str, got array"),
        ('{"task_id": true, "completion": "x"}', "task_id", "got bool"),
        ('{"task_id": "HumanEval/999", "completion": "x"}', "task_id", "no problem"),
        ('["HumanEval/1", "x"]', None, "expected object, got array"),
        ('{"task_id": "HumanEval/1", "extra": ' + "[" * 100_000, None, "cut or damaged"),
    ],
)
def test_wrong_rows_name_line_and_field(write, second, field, says):
    path = write(lines({"task_id": "HumanEval/0", "completion": "x"}) + second + "\n")
    with pytest.raises(BadRecord, match=says) as caught:
        load(path)
    assert (caught.value.line, caught.value.field) == (2, field)
    assert str(path) in str(caught.value)


def test_rows_before_a_wrong_one_are_already_there(write):
    path = write(lines({"task_id": "HumanEval/0", "completion": "x"}) + "{")
    rows = read_completions(path, benchmark="b", dataset_sha256="d", known_ids=HUMANEVAL)
    assert next(rows).text == "x"
    with pytest.raises(BadRecord):
        next(rows)


def test_invalid_utf8_is_a_bad_record(write):
    path = write(
        b'{"task_id": "HumanEval/0", "completion": "ok"}\n{"task_id": "HumanEval/0", "completion": "\xff"}\n'
    )
    with pytest.raises(BadRecord, match="line 2"):
        load(path)


@settings(derandomize=True, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 163), st.text(max_size=40)), min_size=1, max_size=20))
def test_texts_survive_untouched(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("import") / "samples.jsonl"
    path.write_text(
        lines(*({"task_id": f"HumanEval/{i}", "completion": text} for i, text in rows)), encoding="utf-8"
    )
    got = load(path)
    assert [(c.problem_id, c.text) for c in got] == [(f"HumanEval/{i}", text) for i, text in rows]
    assert len({c.key for c in got}) == len(rows)


@pytest.mark.slow
def test_many_rows_stream_in_bounded_memory(tmp_path):
    path = tmp_path / "samples.jsonl"
    with path.open("w") as file:
        for i in range(30_000):
            file.write(json.dumps({"task_id": f"HumanEval/{i % 164}", "completion": "    return 1\n" * 20}) + "\n")
    tracemalloc.start()
    count = sum(1 for _ in read_completions(path, benchmark="b", dataset_sha256="d", known_ids=HUMANEVAL))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 30_000
    assert path.stat().st_size > 7_000_000
    assert peak < 2_000_000


# ---------------------------------------------------------------------------------------- completion_list


ENTRY = {
    "task_id": "HumanEval/5",
    "prompt": "def f():\n",
    "completion_list": ["a", "b"],
    "time_taken": 9.5,
    "total_tokens": 70,
}


@pytest.mark.parametrize("indent", [None, 4])
@pytest.mark.parametrize(
    "document", [[ENTRY], {"0": ENTRY}, {"HumanEval/5": {"completion_list": ["a", "b"], "time_taken": 9.5}}]
)
def test_completion_lists(write, document, indent):
    path = write(json.dumps(document, indent=indent))
    assert sniff_format(path).name == "completion-list"
    got = load(path)
    assert [(c.problem_id, c.sample, c.text, c.form) for c in got] == [
        ("HumanEval/5", 0, "a", "completion"),
        ("HumanEval/5", 1, "b", "completion"),
    ]
    assert all(c.latency_s is None and c.usage is None for c in got), "a sum over two requests is neither's"


def test_a_single_text_keeps_its_time_unless_it_was_reused(write):
    def one(task, seconds):
        return {"task_id": task, "completion_list": ["x"], "time_taken": seconds, "total_tokens": 7}

    got = load(write(json.dumps([one("HumanEval/1", 2.5), one("HumanEval/2", 0)])))
    assert [c.latency_s for c in got] == [2.5, None]


@pytest.mark.parametrize(
    ("document", "field", "says"),
    [
        ({"0": {"completion_list": ["a"]}}, "0.task_id", "missing"),
        (
            [{"task_id": "HumanEval/1", "completion_list": ["a", 1]}],
            "[0].completion_list[1]",
            "expected str, got int",
        ),
        ([{"task_id": "HumanEval/1", "completion_list": "a"}], "[0].completion_list", "expected array"),
        ([ENTRY, {"task_id": "HumanEval/1", "completion": "a"}], "[1].completion_list", "missing"),
        ([ENTRY, ENTRY], "[1].task_id", "HumanEval/5 occurs twice"),
        ([ENTRY, 3], "[1]", "expected object"),
        ([{"task_id": "x/5", "completion_list": ["a"]}], "[0].task_id", "no problem"),
        ("completion_list", None, "expected a list"),
    ],
)
def test_wrong_entries_name_their_field(write, document, field, says):
    with pytest.raises(BadRecord, match=says) as caught:
        load(write(json.dumps(document)), format="completion-list")
    assert caught.value.field == field


def test_repeated_keys_are_refused(write):
    with pytest.raises(BadRecord, match="twice"):
        load(write('{"HumanEval/1": {"completion_list": ["a"]}, "HumanEval/1": {"completion_list": ["b"]}}'))


def test_a_cut_document_names_the_line(write):
    with pytest.raises(BadRecord, match="is the file complete") as caught:
        load(write(json.dumps([ENTRY, ENTRY], indent=1)[:-30]))
    assert caught.value.line > 1


# ---------------------------------------------------------------------------------------------- cruxeval


@pytest.mark.parametrize(
    "document", [{"sample_3": ["1", "'a'"]}, {"raw_generations": {"sample_3": ["1", "'a'"]}, "pass_at_1": 3.0}]
)
def test_cruxeval_generations(write, document):
    path = write(json.dumps(document, indent=2))
    assert sniff_format(path).name == "cruxeval-generations"
    got = load(path, CRUXEVAL, "cruxeval-output")
    assert [(c.problem_id, c.sample, c.text, c.form) for c in got] == [
        ("sample_3", 0, "1", "answer"),
        ("sample_3", 1, "'a'", "answer"),
    ]


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({"sample_1": ["a", 2]}, "sample_1[1]"),
        ({"sample_1": "a"}, "sample_1"),
        ({"sample_900": ["a"]}, "sample_900"),
        ({"sample_1": ["a"], "1": ["b"]}, "1"),
        ({"raw_generations": {"sample_1": [3]}}, "raw_generations.sample_1[0]"),
        ({"raw_generations": None}, "raw_generations"),
        ([], None),
    ],
)
def test_wrong_generations_name_their_field(write, document, field):
    with pytest.raises(BadRecord) as caught:
        load(write(json.dumps(document)), CRUXEVAL, format="cruxeval-generations")
    assert caught.value.field == field


def test_published_cruxeval_files_agree_with_each_other(data_dir):
    folder = data_dir / "cruxeval_codellama7b"
    plain, scored = (named(folder / name, CRUXEVAL) for name in ("output_generations.json", "output_scored.json"))
    assert len(plain) == 8000
    assert {c.problem_id for c in plain} == set(CRUXEVAL)
    assert {(c.key.problem_id, c.sample, c.text) for c in plain} == {
        (c.key.problem_id, c.sample, c.text) for c in scored
    }
    assert plain[0].config_sha256 != scored[0].config_sha256


# --------------------------------------------------------------------------------------------- results


def test_execution_prediction_results(write):
    known = ["contest431_q3702_s0", "contest431_q3703_s0"]
    path = write(
        lines(
            {
                "problem_id": known[0],
                "model_name": "gpt-4o-mini",
                "generated_code": "5",
                "success": True,
                "latency_ms": 1234.5,
            },
            {
                "problem_id": known[1],
                "model_name": "gpt-4o-mini",
                "generated_code": "",
                "success": False,
                "latency_ms": None,
            },
            {"problem_id": known[0], "generated_code": "6"},
        )
    )
    got = load(path, known, "execution-prediction")
    assert [(c.problem_id, c.sample, c.text, c.model, c.latency_s) for c in got] == [
        (known[0], 0, "5", "gpt-4o-mini", 1.2345),
        (known[1], 0, None, "gpt-4o-mini", None),
        (known[0], 1, "6", "imported", None),
    ]
    assert {c.form for c in got} == {"answer"}


def test_a_success_without_prediction_is_refused(write):
    with pytest.raises(BadRecord, match="null although") as caught:
        load(write(lines({"problem_id": "HumanEval/1", "generated_code": None})))
    assert (caught.value.line, caught.value.field) == (1, "generated_code")


# ------------------------------------------------------------------------------------------- our own file


def test_own_completions_keep_everything(write):
    record = stored(text="r", reasoning="t", finish_reason="length", form="reply", seed=4, latency_s=0.5)
    assert [msgspec.to_builtins(c) for c in load(write(lines(record)))] == [record]


def test_own_completions_retried_after_failure(write):
    rows = [stored(sample=0, text=None), stored(sample=1, text=None), stored(sample=0, text="now")]
    assert [(c.sample, c.text) for c in load(write(lines(*rows)))] == [(0, "now"), (1, None)]


@pytest.mark.parametrize(
    ("rows", "line", "field", "says"),
    [
        ([stored(), stored()], 2, "sample", "stored twice"),
        ([stored(), stored(sample=-1)], 2, "sample", "negative"),
        ([stored(benchmark="mbpp")], 1, "benchmark", "answers mbpp, not humaneval"),
        ([stored(dataset_sha256="e" * 64)], 1, "dataset_sha256", "`data`"),
        ([stored(), stored(sample=1, schema=99)], 2, "schema", "newer"),
        ([stored(problem="HumanEval/x")], 1, "problem_id", "no problem"),
        ([stored(), {**stored(sample=1), "text": 3}], 2, "text", "expected str"),
    ],
)
def test_own_completions_refused(write, rows, line, field, says):
    with pytest.raises(BadRecord, match=says) as caught:
        load(write(lines(*rows)))
    assert (caught.value.line, caught.value.field) == (line, field)


# ------------------------------------------------------------------------------------------ choosing


def test_formats_are_told_apart(write):
    files = {
        "truegrade": lines(stored()),
        "inspect": json.dumps({"version": 2, "status": "success", "eval": {"task": "x" * 100_000}}),
        "results-jsonl": lines({"problem_id": "HumanEval/1", "generated_code": "1"}),
        "code-reasoning": json.dumps({"results": [{"problem_id": "x", "original_predictions": []}]}),
        "lm-eval-samples": lines({"doc_id": 0, "doc": {"task_id": "HumanEval/1"}, "resps": [["x" * 100_000]]}),
        "evalscope": lines({"index": 0, "model_output": {"choices": []}, "metadata": {"x": "x" * 100_000}}),
        "mapcoder-rows": lines({"task_id": "HumanEval/1", "source_codes": ["x" * 100_000]}),
        "livecodebench": json.dumps([{"question_id": "a", "code_list": ["x" * 100_000]}]),
        "evalplus-results": json.dumps({"date": "d", "eval": {"HumanEval/1": [{"solution": "x" * 100_000}]}}),
        "evalplus-raw": lines({"task_id": "HumanEval/1", "solution": "x" * 100_000}),
        "samples-jsonl": lines({"task_id": "HumanEval/1", "completion": "x" * 100_000}),
        "cruxeval-generations": json.dumps({"sample_1": ["x" * 100_000]}),
        "bigcode-generations": json.dumps([["x" * 100_000]]),
        "completion-list": json.dumps({"0": {**ENTRY, "completion": "c", "tail": "x" * 100_000}}),
        "completion-rows": json.dumps([{"task_id": 1, "completion": "c", "tail": "x" * 100_000}]),
    }
    assert list(files) == [importer.name for importer in IMPORTERS]
    for name, content in files.items():
        file = "m.raw.jsonl" if name == "evalplus-raw" else "file.json"
        assert sniff_format(write(content, file)).name == name


@settings(derandomize=True, deadline=None)
@given(st.binary(max_size=60) | st.sampled_from([b"", b"{", b"[]", b"null", b"{}\n", b'{"a": {}}', b"[" * 70_000]))
def test_sniffing_never_raises(tmp_path_factory, head):
    path = tmp_path_factory.getbasetemp() / "x"
    path.write_bytes(head)
    with SourceFile(path) as source:
        assert [importer.sniff(source) for importer in IMPORTERS].count(True) <= 1


def test_unrecognised_and_unknown_formats(write, tmp_path):
    with pytest.raises(BadRecord, match=r"not recognised.*samples-jsonl"):
        load(write("hello"))
    with pytest.raises(BadRecord, match=r"line 1: the row has code, task_id; call the text 'solution'"):
        load(write(lines({"task_id": "HumanEval/0", "code": "def f(): ..."})))
    with pytest.raises(UnknownName, match="did you mean samples-jsonl"):
        load(write("hello"), format="sample-jsonl")
    with pytest.raises(BadRecord, match="cannot be read"):
        load(tmp_path / "missing.jsonl")
    with pytest.raises(BadRecord, match="cannot be read"):
        load(tmp_path, format="samples-jsonl")


def test_bytes_that_no_decoder_takes_are_refused(write):
    with pytest.raises(BadRecord, match="line 1: not UTF-8"):
        load(write(b'{"\xff": 1}'))
    with pytest.raises(BadRecord, match="digits"):
        load(write(b'[{"task_id": ' + b"1" * 5000 + b"}]"), format="completion-list")


def test_damaged_archives_are_refused(write):
    whole = gzip.compress(lines(*({"task_id": f"HumanEval/{i}", "completion": "x"} for i in range(100))).encode())
    for broken in (whole[:-20], whole[:30] + b"\0" * 40 + whole[70:]):
        with pytest.raises(BadRecord, match="archive is damaged"):
            load(write(broken), format="samples-jsonl")


def test_config_follows_the_bytes_not_the_name(write):
    row = lines({"task_id": "HumanEval/1", "completion": "x"})
    one, same, other = (
        named(write(text, name), HUMANEVAL)[0] for text, name in [(row, "a"), (row, "b"), (row + "\n", "c")]
    )
    assert one.config_sha256 == same.config_sha256 != other.config_sha256
