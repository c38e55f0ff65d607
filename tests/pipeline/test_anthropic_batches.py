"""Runs asked through Anthropic's Message Batches: the real client against a server that speaks them."""

import importlib.util
import signal
from collections import Counter

import pytest

import truegrade
from support.anthropic_batch_server import anthropic_batch_server
from support.anthropic_server import KEY, Told, error
from support.commands import signalled
from truegrade.errors import ModelError
from truegrade.records.config import RequestPolicy, Sampling
from truegrade.store.manifest import open_batches

# To import it takes a second, which a test pays that asks it.
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("anthropic") is None, reason="could not import 'anthropic'"
)


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch, humaneval_file):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRUEGRADE_DATA", str(humaneval_file.parent))
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


def ask(server, *, model_args=None, batch=True, **more):
    """Generate for three problems in the folder ``run``; the run and what was said."""
    notices = []
    args = {"batch_poll_s": 0.01, **(model_args or {})}
    asked = {"model": "anthropic/m", "base_url": server.url, "model_args": args, "batch": batch, "limit": 3}
    return truegrade.generate("humaneval", **{**asked, "out": "run", "notice": notices.append, **more}), notices


def echoing(body):
    return Told(body["messages"][-1]["content"][-40:], thinking=["so it is"])


def test_a_run_by_batch_stores_what_an_ordinary_one_does_at_half_the_price():
    settings = {
        "sampling": Sampling(temperature=0.5, max_tokens=64, stop=("END",)),
        "model_args": {"input_price": 1000, "output_price": 2000},
    }
    with anthropic_batch_server(answer=echoing) as server:
        run, notices = ask(server, **settings)
        batched = {c.key: c for c in run.completions()}
        assert notices[0].startswith("batch msgbatch_0 with 3 requests is at anthropic/m")
        run, _ = ask(server, batch=False, out="ordinary", **settings)
        ordinary = {c.key: c for c in run.completions()}
    assert len(batched) == 3
    assert batched.keys() == ordinary.keys()
    for key, completion in batched.items():
        same = ordinary[key]
        for name in (
            "text",
            "reasoning",
            "usage",
            "finish_reason",
            "prompt_sha256",
            "model",
            "form",
            "config_sha256",
        ):
            assert getattr(completion, name) == getattr(same, name)
        assert completion.cost_usd == pytest.approx(same.cost_usd / 2) == pytest.approx(0.025)


def killed(server, when):
    """A command that is killed as soon as something holds of the server."""
    command = ["run", "humaneval", "--no-grade", "-m", "anthropic/m", "--base-url", server.url, "--limit", "3",
               "--batch", "-M", "batch_poll_s=0.05", "--out", "run"]  # fmt: skip
    signalled(command, when, signal.SIGKILL)


@pytest.mark.thorough
def test_kill_9_between_submission_and_result_submits_nothing_twice():
    with anthropic_batch_server(polls=10**9) as server:
        killed(server, lambda: server.polled >= 2)
        (left,) = open_batches(truegrade.load("run").path).values()
        assert left.id == "msgbatch_0"
        server.polls = 0
        run, _ = ask(server)
        assert len(run.answered()) == 3
        assert server.created == 1


@pytest.mark.thorough
def test_kill_9_between_acceptance_and_our_note_of_it_waits_for_the_batches_that_it_may_be():
    params = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}
    with anthropic_batch_server(hold_accepted=True, polls=3) as server:
        for requests in (3, 2):  # somebody else's, of as many requests or not
            server.create([{"custom_id": f"other-{i}", "params": params} for i in range(requests)])
        killed(server, lambda: len(server.batches) == 3)
        (left,) = open_batches(truegrade.load("run").path).values()
        assert left.id is None
        server.hold_accepted = False
        run, notices = ask(server)
        assert server.created == 1
        assert len(run.answered()) == 3
        assert "msgbatch_0 may be one that this run submitted before" in notices[0]
        assert any("batch msgbatch_2 with 3 requests" in notice for notice in notices)
        assert not any("msgbatch_1" in notice for notice in notices)


def test_another_batch_of_the_same_size_is_not_taken_for_ours():
    with anthropic_batch_server(breaks=1) as server:
        with pytest.raises(ModelError, match="Internal server error"):
            ask(server, request_policy=RequestPolicy(max_attempts=1))
        (left,) = open_batches(truegrade.load("run").path).values()
        assert left.id is None
        params = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}
        other = server.create([{"custom_id": f"other-{i}", "params": params} for i in range(3)])
        other["processing_status"] = "ended"
        run, _ = ask(server)
        assert len(run.answered()) == 3
        assert list(server.batches) == ["msgbatch_0", "msgbatch_1"]
        assert not open_batches(run.path)


def test_a_service_that_is_not_there_has_no_batch():
    with anthropic_batch_server() as server:
        address = server.url
    with pytest.raises(ModelError, match="check that the service runs there"):
        ask(server, base_url=address)
    assert not open_batches(truegrade.load("run").path)


def test_requests_that_fail_in_a_batch_are_failed_samples_and_asked_again():
    broken = Counter()

    def answer(body):
        if "separate_paren_groups" in body["messages"][-1]["content"] and not broken["healed"]:
            return error(500, "api_error", "Internal server error")
        return echoing(body)

    with anthropic_batch_server(answer=answer) as server:
        run, notices = ask(server)
        (failed,) = [c for c in run.completions() if c.text is None]
        assert failed.problem_id == "HumanEval/1"
        assert failed.attempts[-1].error == "HTTP 500: Internal server error"
        assert failed.attempts[-1].status == 500
        assert "1 sample has no reply: 1 × HTTP 500" in notices[-1]
        broken["healed"] = 1
        run, _ = ask(server)
        assert len(run.answered()) == 3
        assert len(server.requests["msgbatch_1"]) == 1


def test_a_parameter_that_the_model_does_not_take_is_left_out_of_the_next_batch():
    with anthropic_batch_server(thinks=True) as server:
        run, _ = ask(server, sampling=Sampling(temperature=0.5, max_tokens=9))
        assert len(run.answered()) == 3
        assert len(server.batches) == 2
        assert any(note.startswith("temperature left out") for note in run.manifest.adaptations)


def test_a_batch_that_expired_keeps_what_was_answered_and_the_next_command_asks_for_the_rest():
    with anthropic_batch_server(unanswered=2) as server:
        run, notices = ask(server)
        assert len(run.answered()) == 1
        assert "batch msgbatch_0 expired after 24 h: 1 of 3 requests were answered and are kept" in notices
        server.unanswered = 0
        run, _ = ask(server)
        assert len(run.answered()) == 3
        assert len(server.requests["msgbatch_1"]) == 2


def test_a_batch_that_was_cancelled_keeps_what_was_answered_and_ends_the_command():
    with anthropic_batch_server(unanswered=1, ends="canceled") as server:
        with pytest.raises(ModelError, match="msgbatch_0 was cancelled at the service: 2 of 3 requests"):
            ask(server)
        assert len(truegrade.load("run").answered()) == 2


def test_a_refused_batch_is_one_line_and_nothing_stays_open(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "wrong")
    with anthropic_batch_server() as server:
        with pytest.raises(ModelError, match="set ANTHROPIC_API_KEY to a key"):
            ask(server)
        assert not server.batches
    assert not open_batches(truegrade.load("run").path)
