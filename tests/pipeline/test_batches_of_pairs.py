"""Batches of several models on several benchmarks: submitted together, collected in turn, one cost limit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import truegrade
from support.openai_batch_server import openai_batch_server
from truegrade.records.config import RequestPolicy, Sampling
from truegrade.store.journal import read_journal
from truegrade.store.manifest import BatchEvent, batches_path

QUICK = {"batch_poll_s": 0.02}
MODELS = ("openai/first", "openai/second")


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch, humaneval_file):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRUEGRADE_DATA", str(humaneval_file.parent))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")


def ask_both(server):
    return truegrade.run_all(
        ["humaneval"], models=MODELS, base_url=server.url, limit=2, batch=True,
        sampling=Sampling(max_tokens=100), model_args=QUICK,
    )  # fmt: skip


def posted(server):
    return [request for request in server.requests if request == "POST /v1/batches"]


def test_no_pair_waits_for_the_batch_of_another_before_its_own_is_submitted():
    with openai_batch_server() as server:
        pairs = ask_both(server)
        assert [pair.failure for pair in pairs] == [None, None]
        looks = [request for request in server.requests if "/batches" in request]
        assert looks[:2] == ["POST /v1/batches"] * 2 and len(posted(server)) == 2
        ask_both(server)
        assert len(posted(server)) == 2


def test_a_pair_whose_batch_is_not_taken_stops_no_other_and_is_submitted_by_the_next_call():
    with openai_batch_server(failures=[("POST /v1/files", 401)]) as server:
        first, second = ask_both(server)
        assert "HTTP 401" in (first.failure or "") and second.failure is None
        assert len(posted(server)) == 1
        first, second = ask_both(server)
        assert first.failure is second.failure is None and len(posted(server)) == 2


def test_a_service_that_answers_something_else_about_batches_is_one_line():
    with openai_batch_server(failures=[("POST /v1/batches", 500)], batches={"x": {"id": "x"}}) as server:
        first, _ = ask_both(server)
    assert "a reply about batches lacks its fields" in first.failure and "leave `batch` out" in first.failure


def test_the_cost_limit_counts_the_batches_of_other_pairs_that_are_under_way():
    policy, priced = RequestPolicy(max_cost_usd=0.12), {**QUICK, "input_price": 100, "output_price": 1000}
    for name in ("one", "two"):
        row = {"prompt": f"def f():\n    \"\"\"{name}\"\"\"\n", "entry_point": "f", "reference": "    return 1\n",
               "tests": "assert f() == 1"}  # fmt: skip
        rows = [json.dumps({"id": number, **row}) for number in range(3)]
        Path(f"{name}.jsonl").write_text("\n".join(rows))
    with openai_batch_server() as server:
        pairs = truegrade.run_all(
            ["one.jsonl", "two.jsonl"], models=["openai/x"], base_url=server.url, batch=True,
            request_policy=policy, sampling=Sampling(max_tokens=10), model_args=priced,
        )  # fmt: skip
        assert len(server.asked("batch_0")) == 3 > len(server.asked("batch_1")) >= 1
        assert pairs[0].failure is None
    first = [next(read_journal(batches_path(Path(pair.run)), BatchEvent)).did for pair in pairs]
    assert 0.09 < sum(batch.bound_usd for batch in first) <= 0.12
