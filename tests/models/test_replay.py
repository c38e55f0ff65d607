"""Stored answers come back as they were."""

import asyncio

import msgspec
import pytest

from truegrade.errors import BadRecord, UserError
from truegrade.models.base import generate_sample
from truegrade.models.replay import Replay
from truegrade.records import Attempt, Completion, Usage


def completion(sample=0, text="hi", **fields):
    return Completion(
        benchmark="toy",
        dataset_sha256="0" * 64,
        problem_id="Toy/1",
        sample=sample,
        config_sha256="c",
        prompt_sha256="p",
        text=text,
        **{"model": "m"} | fields,
    )


def lines(*completions):
    return b"".join(msgspec.json.encode(item) + b"\n" for item in completions)


def answer(replay, request):
    return asyncio.run(generate_sample(replay, *request))


def test_everything_about_an_answer_is_preserved(tmp_path, make_request):
    file = tmp_path / "c.jsonl"
    stored = completion(
        sample=2,
        text="  return 1 \n",
        form="completion",
        reasoning="because",
        finish_reason="length",
        usage=Usage(input_tokens=1, output_tokens=2, reasoning_tokens=1),
        latency_s=0.5,
        model="served",
        attempts=(Attempt(outcome="empty", latency_s=0.1), Attempt(outcome="ok", latency_s=0.5)),
        cost_usd=0.3,
    )
    file.write_bytes(lines(stored))
    reply = answer(Replay.open(file), make_request(sample=2))
    for field in ("text", "form", "reasoning", "finish_reason", "usage", "latency_s", "model", "attempts"):
        assert getattr(reply, field) == getattr(stored, field)
    assert reply.cost_usd is None


def test_a_missing_answer_names_problem_sample_and_file(tmp_path, make_request):
    file = tmp_path / "c.jsonl"
    file.write_bytes(lines(completion()))
    with pytest.raises(UserError) as caught:
        answer(Replay.open(file), make_request(sample=1))
    assert all(part in str(caught.value) for part in ("'Toy/1'", "sample 1", str(file)))


def test_the_later_answer_counts_unless_it_failed(make_request):
    def text(*texts):
        stored = [completion(text=text) for text in texts]
        return answer(Replay("imported", stored), make_request()).text

    assert text("a", "b") == "b"
    assert text(None, "b") == "b"
    assert text("a", None) == "a"
    assert text(None) is None


def test_a_torn_last_line_is_no_answer(tmp_path, make_request):
    file = tmp_path / "c.jsonl"
    file.write_bytes(lines(completion()) + b"\n" + lines(completion(sample=1))[:-20])
    replay = Replay.open(file)
    assert answer(replay, make_request()).text == "hi"
    with pytest.raises(UserError, match="sample 1"):
        answer(replay, make_request(sample=1))


def test_a_bad_line_is_named(tmp_path):
    file = tmp_path / "c.jsonl"
    file.write_bytes(lines(completion()) + b'{"task_id": 1}\n')
    with pytest.raises(BadRecord) as caught:
        Replay.open(file)
    assert str(caught.value).startswith(f"{file}, line 2, field 'benchmark': no completion: ")


@pytest.mark.parametrize(
    "make", [lambda path: path.mkdir(), lambda path: None, lambda path: path.write_text("\n")]
)
def test_nothing_to_replay(tmp_path, make):
    path = tmp_path / "x"
    make(path)
    with pytest.raises(UserError, match=r"replay"):
        Replay.open(path)
