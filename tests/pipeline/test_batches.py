"""Runs asked through OpenAI's batches: the real client against a server that speaks the Batch API."""

import json
import os
import signal
from collections import Counter

import pytest
from click.testing import CliRunner

import truegrade
from support import scripted_server as scripted
from support.commands import signalled
from support.openai_batch_server import openai_batch_server
from truegrade.cli import main
from truegrade.errors import ModelError, UserError
from truegrade.records.config import RequestPolicy, Sampling
from truegrade.store.manifest import open_batches

QUICK = {"batch_poll_s": 0.01}
PRICED = {"input_price": 1000, "output_price": 2000}
"""Dollars per million tokens: 0.05 for the 10 + 20 tokens of a reply, half of it in a batch."""


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch, humaneval_file):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRUEGRADE_DATA", str(humaneval_file.parent))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")


def options(server, *, model="openai/gpt-4o-mini", model_args=None, batch=True, **more):
    """Keyword arguments of a run of three problems."""
    args = {**(QUICK if batch else {}), **(model_args or {})}
    return {
        "model": model,
        "base_url": server.url,
        "limit": 3,
        "out": "run",
        "batch": batch,
        "model_args": args,
        **more,
    }


def ask(server, **more):
    """Generate in the folder ``run``; the run and what was said."""
    notices = []
    run = truegrade.generate("humaneval", **options(server, notice=notices.append, **more))
    return run, notices


def text_of(body):
    """A reply that tells what it answers."""
    return f"{body['messages'][-1]['content'][-40:]} seed {body.get('seed')}"


def echoing(body):
    return 200, scripted.chat(text_of(body))


def by_content(bodies):
    return sorted(json.dumps(body, sort_keys=True) for body in bodies)


def answers(run):
    return {(c.problem_id, c.sample): c for c in run.completions() if c.text is not None}


def test_a_run_by_batch_stores_what_an_ordinary_one_does_at_half_the_price():
    sampling = Sampling(temperature=0.5, max_tokens=64, seed=7, stop=("END",))
    settings = {"n": 2, "sampling": sampling, "model_args": PRICED}
    with openai_batch_server(answer=echoing) as server:
        run, notices = ask(server, **settings)
        (batch,) = server.batches
        bodies = server.asked()
        assert f"batch {batch} with 6 requests is at openai/gpt-4o-mini" in notices[-1]
        batched = answers(run)
        journal = (run.path / "batches.jsonl").read_text()
        assert [json.loads(line)["did"]["kind"] for line in journal.splitlines()] == [
            "intended",
            "accepted",
            "closed",
        ]
        assert "sk-secret" not in journal
        run, _ = ask(server, batch=False, **settings, out="ordinary")
        ordinary = answers(run)
        assert by_content(bodies) == by_content(server.ordinary)
    assert batched.keys() == ordinary.keys()
    for key, completion in batched.items():
        same = ordinary[key]
        for name in ("text", "usage", "finish_reason", "seed", "prompt_sha256", "model", "form"):
            assert getattr(completion, name) == getattr(same, name)
        assert completion.cost_usd == pytest.approx(same.cost_usd / 2) == pytest.approx(0.025)
        assert completion.latency_s is None


def test_by_batch_or_not_is_no_part_of_the_run_and_each_completes_the_other():
    with openai_batch_server(answer=echoing) as server:
        for limit, batch in ((1, True), (2, False), (4, True)):
            run, _ = ask(server, limit=limit, batch=batch)
            assert len(run.answered()) == limit
        assert [len(server.asked(id_)) for id_ in server.batches] == [1, 2]
        assert server.requests.count("POST /v1/chat/completions") == 1
        assert len({c.config_sha256 for c in run.completions()}) == 1
        assert run.manifest.generation.model_args == {}


def test_the_whole_line_with_verdicts_by_the_command():
    with openai_batch_server() as server:
        command = ["run", "humaneval", "-m", "openai/gpt-4o-mini", "--base-url", server.url, "--limit", "3",
                   "--batch", "-M", "batch_poll_s=0.01", "--out", "run", "--json"]  # fmt: skip
        result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
    run = truegrade.load("run")
    assert run.summary["missing"] == 0
    assert len(list(run.verdicts())) == 3
    assert "batch_0 with 3 requests" in result.stderr


def killed(server, when):
    """A command that is killed as soon as something holds of the server."""
    command = ["run", "humaneval", "--no-grade", "-m", "openai/gpt-4o-mini", "--base-url", server.url,
               "--limit", "3", "--batch", "-M", "batch_poll_s=0.05", "--out", "run"]  # fmt: skip
    signalled(command, when, signal.SIGKILL)


def left_open(server, **more):
    """A command that ends while its batch goes on."""
    server.polls = 10**9
    server.failures = [("GET /v1/batches/batch_0", 500)]
    with pytest.raises(ModelError, match="what is submitted goes on at the service"):
        ask(server, request_policy=RequestPolicy(max_attempts=1), **more)


def test_kill_9_between_submission_and_result_submits_nothing_twice():
    with openai_batch_server(polls=10**9) as server:
        killed(server, lambda: server.requests.count("GET /v1/batches/batch_0") >= 2)
        (left,) = open_batches(truegrade.load("run").path).values()
        assert left.id == "batch_0"
        server.polls = 0
        run, _ = ask(server)
        assert len(run.answered()) == 3
        assert server.requests.count("POST /v1/batches") == server.requests.count("POST /v1/files") == 1
        assert not open_batches(run.path)


def test_kill_9_between_acceptance_and_our_note_of_it_adopts_the_batch():
    with openai_batch_server(hold_accepted=True) as server:
        killed(server, lambda: server.batches)
        (left,) = open_batches(truegrade.load("run").path).values()
        assert left.id is None
        server.hold_accepted = False
        others = {"input_file_id": "file-0", "endpoint": "/v1/chat/completions", "completion_window": "24h"}
        for _ in range(120):  # of somebody else: it lies on the second page
            server.create({**others, "metadata": None})
        run, notices = ask(server)
        assert len(run.answered()) == 3
        assert server.requests.count("POST /v1/batches") == 1
        assert any("batch batch_0 with 3 requests" in notice for notice in notices)


def test_what_the_service_never_took_is_submitted_anew():
    with openai_batch_server() as server:
        server.failures = [("POST /v1/files", 0)]
        with pytest.raises(ModelError):
            ask(server, request_policy=RequestPolicy(max_attempts=1))
        (left,) = open_batches(truegrade.load("run").path).values()
        assert left.id is None
        run, _ = ask(server)
        assert len(run.answered()) == 3
        assert len(server.batches) == 1
        assert not open_batches(run.path)


@pytest.mark.parametrize("status", [0, 500])
def test_a_submission_that_may_have_failed_is_looked_for_before_it_is_repeated(status):
    with openai_batch_server(failures=[("POST /v1/batches", status)]) as server:
        run, _ = ask(server)
        assert len(run.answered()) == 3
        assert len(server.batches) == 1
        assert server.requests.count("POST /v1/batches") == (1 if status == 0 else 2)


def test_failures_of_the_service_while_waiting_are_borne():
    failing = [("GET /v1/batches/batch_0", 500), ("GET /v1/batches/batch_0", 0), ("GET /v1/files", 503)]
    with openai_batch_server(failures=failing, polls=2) as server:
        run, _ = ask(server)
        assert not server.failures
        assert len(run.answered()) == 3


def test_requests_that_fail_in_a_batch_are_failed_samples_and_asked_again():
    broken = Counter()

    def answer(body):
        if "separate_paren_groups" in body["messages"][-1]["content"] and not broken["healed"]:
            return 500, {"error": {"message": "the server had an error"}}
        if "truncate_number" in body["messages"][-1]["content"] and not broken["healed"]:
            return 200, scripted.chat("")
        return echoing(body)

    with openai_batch_server(answer=answer) as server:
        run, notices = ask(server)
        assert len(run.answered()) == 1
        failed = {c.problem_id: c.attempts[-1] for c in run.completions() if c.text is None}
        assert failed["HumanEval/1"].error == "HTTP 500: the server had an error"
        assert failed["HumanEval/1"].status == 500
        assert failed["HumanEval/2"].outcome == "empty"
        assert "2 samples have no reply: 1 ×" in notices[-1]
        assert "asks for them again" in notices[-1]
        broken["healed"] = 1
        run, _ = ask(server)
        assert len(run.answered()) == 3
        assert len(server.asked("batch_1")) == 2


def test_a_parameter_that_the_service_does_not_take_is_left_out_of_the_next_batch():
    def answer(body):
        if "temperature" in body:
            error = {
                "message": "Unsupported parameter: 'temperature'",
                "param": "temperature",
                "code": "unsupported",
            }
            return 400, {"error": error}
        return echoing(body)

    with openai_batch_server(answer=answer) as server:
        run, notices = ask(server, sampling=Sampling(temperature=0.5, max_tokens=9))
        assert len(run.answered()) == 3
        assert len(server.batches) == 2
        assert any("temperature left out" in note for note in run.manifest.adaptations)
        assert not any("no reply" in notice for notice in notices)


def test_reasoning_models_get_their_own_parameters():
    with openai_batch_server() as server:
        left_open(server, model="openai/o3-mini", sampling=Sampling(temperature=1.0, max_tokens=50), limit=1)
        (body,) = server.asked()
    assert body["max_completion_tokens"] == 50
    assert not {"temperature", "max_tokens"} & set(body)
    noted = truegrade.load("run").manifest.adaptations  # although another command will collect
    assert noted == ("temperature left out: a reasoning model takes none",)


def test_a_batch_that_expired_keeps_what_was_answered_and_the_next_command_asks_for_the_rest():
    with openai_batch_server(ends="expired", unanswered=2) as server:
        run, notices = ask(server)
        assert len(run.answered()) == 1
        assert "batch batch_0 expired after 24 h: 1 of 3 requests were answered and are kept" in notices
        assert "2 × batch_expired: This request could not be executed" in notices[-1]
        server.ends, server.unanswered = "completed", 0
        run, _ = ask(server)
        assert len(run.answered()) == 3
        assert len(server.asked("batch_1")) == 2


def test_a_batch_that_was_cancelled_keeps_what_was_answered_and_ends_the_command():
    with openai_batch_server(ends="cancelled", unanswered=1) as server:
        with pytest.raises(ModelError, match="batch_0 was cancelled at the service: 2 of 3 requests"):
            ask(server)
        run = truegrade.load("run")
        assert len(run.answered()) == 2
        assert not open_batches(run.path)


@pytest.mark.parametrize(
    ("code", "message", "advice"),
    [
        (
            "token_limit_exceeded",
            "Enqueued token limit reached for gpt-4o-mini",
            "fewer problems at a time with --limit",
        ),
        ("invalid_model", "The model does not exist", "change what it names"),
    ],
)
def test_a_batch_that_fails_its_validation_is_one_line_with_the_services_reason(code, message, advice):
    fault = {"code": code, "message": message, "line": 2}
    with openai_batch_server(ends="failed", fault=fault) as server:
        command = ["run", "humaneval", "--no-grade", "-m", "openai/gpt-4o-mini", "--base-url", server.url,
                   "--limit", "3", "--batch", "-M", "batch_poll_s=0.01", "--out", "run"]  # fmt: skip
        result = CliRunner().invoke(main, command)
        assert result.exit_code == 2
        last = result.stderr.splitlines()[-1]
        assert f"openai/gpt-4o-mini refused batch batch_0: {code}: {message} (line 2)" in last
        assert advice in last
        server.ends = "completed"
        assert CliRunner().invoke(main, command).exit_code == 0
        assert len(truegrade.load("run").answered()) == 3


def test_ctrl_c_says_that_the_batch_goes_on(tmp_path):
    with openai_batch_server(polls=10**9) as server:
        command = ["run", "humaneval", "--no-grade", "-m", "openai/gpt-4o-mini", "--base-url", server.url,
                   "--limit", "1", "--batch", "-M", "batch_poll_s=0.02", "--out", "run"]  # fmt: skip
        with (tmp_path / "err").open("w") as file:
            ended = signalled(
                command, lambda: server.requests.count("GET /v1/batches/batch_0") >= 2, signal.SIGINT, stderr=file
            )
        assert ended == 130
        told = (tmp_path / "err").read_text()
        assert "the batches go on at the service; the same command collects them" in told
        assert "Traceback" not in told


def test_what_is_in_a_batch_is_not_asked_by_an_ordinary_command():
    with openai_batch_server() as server:
        left_open(server)
        notices = []
        run = truegrade.generate("humaneval", **options(server, batch=False, notice=notices.append))
        assert not run.answered()
        assert notices == [
            "3 samples are in a batch at the service and not asked again; `batch=True` collects them"
        ]
        assert len(server.asked()) == 3


def test_batches_keep_to_the_services_limits(monkeypatch):
    from truegrade.models.openai_api import OpenAIBatches

    monkeypatch.setattr(OpenAIBatches, "max_requests", 2)
    with openai_batch_server(answer=echoing) as server:
        run, _ = ask(server, limit=5)
        assert [len(server.asked(id_)) for id_ in server.batches] == [2, 2, 1]
        assert len(run.answered()) == 5
    monkeypatch.setattr(OpenAIBatches, "max_requests", 50_000)
    monkeypatch.setattr(OpenAIBatches, "max_bytes", 3000)
    with openai_batch_server(answer=echoing) as server:
        ask(server, limit=5, out="other")
        assert len(server.batches) > 1
        assert all(len(server.files[batch["input_file_id"]]) <= 3000 for batch in server.batches.values())


def test_a_narrower_command_keeps_what_a_wider_one_submitted():
    with openai_batch_server() as server:
        left_open(server)
        server.polls = 0
        run, _ = ask(server, limit=1)
        assert len(run.answered()) == 3


def test_a_cost_limit_bounds_what_is_submitted():
    sampling = Sampling(max_tokens=100)
    with openai_batch_server(answer=echoing) as server:
        limited = {"sampling": sampling, "model_args": PRICED, "limit": 5}
        # at most 100 tokens at $1 per thousand, and about a thousand bytes of prompt at $0.5 per thousand
        run, notices = ask(server, request_policy=RequestPolicy(max_cost_usd=1.5), **limited)
        submitted = len(server.asked())
        assert 1 <= submitted < 5
        assert f"{5 - submitted} × not asked, because `max_cost_usd` is spent: raise it" in notices[-1]
        assert sum(c.cost_usd for c in run.completions()) <= 1.5
        run, _ = ask(server, request_policy=RequestPolicy(max_cost_usd=50), **limited)
        assert len(run.answered()) == 5


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"model": "ollama/x"}, "ollama/x has no batches: leave `batch` out"),
        ({"model": "openai-compatible/x"}, "has no batches"),
        ({"model": "embedded/truegrade-micro", "base_url": None}, "has no batches"),
        ({"agent": "agentcoder"}, "asks one question after another"),
        ({"cache": True}, "do not use the response cache"),
        ({"model_args": {"batch_n": True}}, "batch_n"),
        ({"model_args": {"batch_poll_s": 0}}, "batch_poll_s=0: give a number of seconds"),
        ({"model_args": {"batch_poll_s": "x"}}, "batch_poll_s=x: give a number of seconds"),
        (
            {"model_args": PRICED, "request_policy": RequestPolicy(max_cost_usd=1)},
            "`max_cost_usd` with `batch` needs `max_tokens`",
        ),
    ],
)
def test_what_cannot_go_by_batch_is_refused_before_anything_is_asked(settings, said):
    model_args = {**QUICK, **settings.pop("model_args", {})}
    with openai_batch_server() as server:
        with pytest.raises(UserError) as caught:
            settings.setdefault("model", "openai/x")
            truegrade.generate("humaneval", **options(server) | {"model_args": model_args, **settings})
        assert said in str(caught.value)
        assert "\n" not in str(caught.value)
        assert server.requests == []
    assert not os.path.exists("run")


def test_a_batch_that_the_key_does_not_know_says_what_to_do():
    with openai_batch_server() as server:
        left_open(server)
        server.failures = [("GET /v1/batches/batch_0", 404)]
        with pytest.raises(ModelError, match="batch batch_0 is not known there with this key"):
            ask(server)


class Watched:
    """What a progress was told."""

    def __init__(self):
        self.stages = []

    def start(self, stage, total, done):
        self.stages.append([stage, total, done])

    def advance(self, *, cost_usd=None, failed=False):
        self.stages[-1].append("failed" if failed else "answered")

    def finish(self):
        self.stages[-1].append("end")


def test_the_progress_shows_the_services_counts_and_then_the_replies():
    def answer(body):
        fails = "separate_paren_groups" in body["messages"][-1]["content"]
        return (500, {"error": {"message": "broken"}}) if fails else echoing(body)

    watched = Watched()
    with openai_batch_server(answer=answer, polls=3) as server:
        ask(server, progress=watched)
    waited, collected = watched.stages
    assert waited[:3] == ["batch", 3, 0]
    assert collected[:3] == ["generate", 3, 0]
    for told in (waited[3:], collected[3:]):
        assert sorted(told[:-1]) == ["answered", "answered", "failed"]
        assert told[-1] == "end"
