"""One small file of every format: with half a surrogate pair, with another encoding, with any bytes changed."""

import codecs
import functools
import gzip
import json
import operator
import re

import msgspec
import pytest
from click.testing import CliRunner
from harness_rows import eval_results, graded, lm_eval, mapcoder, prediction
from hypothesis import given, settings
from hypothesis import strategies as st

from support.importing import read_completions, sniff_format, streamed
from support.thorough import one_in
from truegrade.analysis.audit.survey import read_rows
from truegrade.cli import main
from truegrade.errors import BadRecord
from truegrade.records import Completion
from truegrade.store import Journal, read_journal
from truegrade.store.importers import IMPORTERS

IDS = ["HumanEval/0", "HumanEval/1"]
MARK = "REPLY"


def stored(text):
    fields = dict.fromkeys(("dataset_sha256", "config_sha256", "prompt_sha256", "model"), "d")
    record = Completion(benchmark="humaneval", problem_id=IDS[0], sample=0, text=text, **fields)
    return msgspec.to_builtins(record)


def inspected(text):
    output = {"model": "m", "choices": [{"message": {"role": "assistant", "content": text}}]}
    sample = {"id": IDS[0], "epoch": 1, "output": output}
    return {"version": 2, "status": "success", "eval": {"task": "humaneval"}, "samples": [sample]}


def rows(*values):
    return "".join(json.dumps(value) + "\n" for value in values)


FILES = {
    "truegrade": ("completions.jsonl", rows(stored(MARK))),
    "inspect": ("log.json", json.dumps(inspected(MARK))),
    "results-jsonl": ("x_results.jsonl", rows({"problem_id": IDS[0], "generated_code": MARK})),
    "code-reasoning": (
        "results.json",
        json.dumps({"results": [{"problem_id": IDS[0], "original_predictions": [{"response": MARK}]}]}),
    ),
    "lm-eval-samples": ("samples_x.jsonl", rows(lm_eval(IDS[0], [MARK]))),
    "evalscope": ("predictions.jsonl", rows(prediction(IDS[0], MARK))),
    "mapcoder-rows": ("rows.jsonl", rows(mapcoder(IDS[0], [MARK]))),
    "livecodebench": ("answers.json", json.dumps([{"question_id": IDS[0], "code_list": [MARK]}])),
    "evalplus-results": ("eval_results.json", json.dumps(eval_results(**{IDS[0]: [graded(IDS[0], MARK)]}))),
    "evalplus-raw": ("x.raw.jsonl", rows({"task_id": IDS[0], "solution": MARK})),
    "samples-jsonl": ("samples.jsonl", rows({"task_id": IDS[0], "completion": MARK})),
    "cruxeval-generations": ("generations.json", json.dumps({"raw_generations": {IDS[0]: [MARK]}})),
    "bigcode-generations": ("generations.json", json.dumps([[MARK], []])),
    "completion-list": ("list.json", json.dumps([{"task_id": IDS[0], "completion_list": [MARK]}])),
    "completion-rows": ("zero_shot.json", json.dumps([{"task_id": IDS[0], "completion": MARK}])),
}


def load(path, importer=None):
    known = {"benchmark": "humaneval", "dataset_sha256": "d", "known_ids": IDS}
    return list(read_completions(path, **known, format=importer))


def test_every_format_is_here():
    assert FILES.keys() == {importer.name for importer in IMPORTERS}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("half", [r"\ud800", r"\udc80", r"\ud83dx", r"a\udfff\ud800b"])
def test_half_a_surrogate_pair_stays_in_the_reply_and_in_the_journal(tmp_path, name, half):
    file, content = FILES[name]
    path = tmp_path / file
    path.write_text(content.replace(MARK, half))
    assert sniff_format(path).name == name
    found = load(path)
    assert found[0].text == json.loads(f'"{half}"')
    with Journal(tmp_path / "journal.jsonl") as journal:
        for completion in found:
            journal.append(completion)
    assert list(read_journal(tmp_path / "journal.jsonl", Completion)) == found
    (tmp_path / "journal.jsonl").read_bytes().decode("utf-8")


@pytest.mark.parametrize("name", FILES)
def test_another_encoding_is_named_by_line(tmp_path, name):
    file, content = FILES[name]
    path = tmp_path / file
    path.write_bytes(b"\n" + content.encode().replace(MARK.encode(), b"caf\xe9 x"))
    with pytest.raises(BadRecord, match=r"not UTF-8 text \(invalid continuation byte: byte 0xe9\)") as caught:
        load(path, name)
    assert caught.value.line == 2


@pytest.mark.parametrize("name", [name for name, (file, _) in FILES.items() if file.endswith(".jsonl")])
@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_python_writes_and_json_lacks_are_read(tmp_path, name, number):
    file, content = FILES[name]
    path = tmp_path / file
    path.write_text(re.sub(r"\}\n", f', "score": {number}}}\n', content))
    assert sniff_format(path).name == name
    assert load(path)[0].text == MARK


@settings(derandomize=True, deadline=None, max_examples=60)
@pytest.mark.parametrize("name", one_in(5, FILES))
@given(data=st.data())
def test_any_bytes_changed_are_read_or_refused(tmp_path_factory, name, data):
    file, content = FILES[name]
    changed = bytearray(content.encode())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(changed) - 1))
        piece = data.draw(st.sampled_from(PIECES) | st.binary(min_size=1, max_size=2))
        changed[place : place + data.draw(st.integers(0, 4))] = piece
    packed = data.draw(st.booleans())
    path = tmp_path_factory.mktemp("any") / file
    path.write_bytes(gzip.compress(changed)[: data.draw(st.integers(20, 4000))] if packed else changed)
    for importer in (None, name):
        try:
            load(path, importer)
        except BadRecord as error:
            assert "\n" not in str(error)
            assert str(path) in str(error)


PIECES = [
    b"null",
    b"{}",
    b"[]",
    b"1e999",
    b"-1",
    b"NaN",
    b"9" * 5000,
    b'"',
    b"\\ud800",
    b"\xff",
    b"[" * 3000,
    b"\n",
]


def places(value, at=()):
    yield at
    for key, item in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield from places(item, (*at, key))


VALUES = [None, True, -1, 2**70, 1e308, float("nan"), "", "\ud800", [], {}, [[]], [None], {"a": None}, [{}], [1]]


@pytest.mark.parametrize("name", one_in(3, FILES))
def test_any_value_in_any_place_is_read_or_refused(tmp_path, name):
    """Every place of every file takes every kind of value, for the importer and for the audit."""
    file, content = FILES[name]
    path = tmp_path / file
    for at in places(json.loads(content)):
        for value in VALUES:
            document = json.loads(content)
            if at:
                functools.reduce(operator.getitem, at[:-1], document)[at[-1]] = value
            path.write_text(json.dumps(document if at else value) + "\n")
            for read in (lambda: load(path, name), lambda: list(streamed(read_rows, path))):
                try:
                    read()
                except BadRecord as error:
                    assert "\n" not in str(error), (at, value)


LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22e\nsize 12345\n"
ROWS = '{"task_id": "HumanEval/23", "completion": "    return len(string)\\n"}\n'
OTHER = {
    "git-lfs": LFS,
    "git-annex": b"/annex/objects/SHA256E-s31--abc.jsonl\n",
    **{name: ROWS.encode(name) for name in ("UTF-16", "UTF-32", "UTF-16LE", "UTF-16BE", "UTF-32LE", "UTF-32BE")},
    "UTF-16-BE": codecs.BOM_UTF16_BE + ROWS.encode("utf-16-be"),
}


@pytest.mark.parametrize("name", OTHER)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    "words",
    [
        ["grade", "-b", "humaneval"],
        ["grade", "-b", "humaneval", "--format", "samples-jsonl"],
        ["check", "50", "-b", "humaneval"],
        ["check", "-b", "humaneval"],
        ["run", "--model", "baseline/reference"],
        ["run", "humaneval", "--model", "baseline/reference", "--data"],
        ["run", "livecodebench", "--model", "baseline/reference", "--data"],
        ["assay", "humaneval", "--data"],
    ],
    ids=" ".join,
)
def test_a_pointer_and_another_encoding_are_named_as_what_they_are(tmp_path, monkeypatch, name, words, packed):
    if packed and words[0] != "grade":
        return
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "file.jsonl"
    path.write_bytes(gzip.compress(OTHER[name]) if packed else OTHER[name])
    result = CliRunner().invoke(main, [*words, str(path)], terminal_width=400)
    assert result.exit_code == 2, result.output
    said = " ".join(result.output.split())
    assert "file.jsonl" in said
    assert f"is a {name} pointer" in said if name.startswith("git") else f"is {name[:6]}" in said


@pytest.mark.parametrize(
    "mark, name", [(b"\x28\xb5\x2f\xfd", "zstandard"), (b"\xfd7zXZ\0", "xz"), (b"BZh91AY&SY", "bzip2")]
)
def test_what_others_compressed_is_named_as_what_it_is(tmp_path, mark, name):
    path = tmp_path / "file.jsonl.packed"
    path.write_bytes(mark + b"\x00\xff")
    result = CliRunner().invoke(main, ["grade", "-b", "humaneval", str(path)], terminal_width=400)
    assert result.exit_code == 2 and f"is compressed with {name}, and gzip is read" in result.output
