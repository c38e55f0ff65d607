"""The line against services: a real engine, and a scripted server for what an engine will not do on request."""

import json
import signal
from collections import Counter

import pytest
from click.testing import CliRunner

import truegrade
from support import scripted_server as scripted
from support.commands import signalled
from truegrade.cli import main
from truegrade.errors import ModelError, UserError
from truegrade.records.config import RequestPolicy, Sampling

IMPATIENT = RequestPolicy(max_connections=4, max_attempts=3, backoff_s=0.01, backoff_max_s=0.02, timeout_s=5)


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch, humaneval_file):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRUEGRADE_DATA", str(humaneval_file.parent))


def asked(server):
    """How often each prompt was asked."""
    return Counter(json.dumps(request.body["messages"]) for request in server.requests)


def test_a_real_engine_answers_a_whole_run_with_seed_and_stop_honoured(llama_server):
    def answer(out, seed, **sampling):
        settings = Sampling(temperature=1.0, max_tokens=24, seed=seed, **sampling)
        alone = RequestPolicy(max_connections=1)  # what else is in an engine's batch changes the last bits
        run = truegrade.run(
            "humaneval", model="openai-compatible/tiny-random", base_url=llama_server, limit=3, n=2,
            sampling=settings, out=out, request_policy=alone,
        )  # fmt: skip
        return run, {c.key: c for c in run.completions()}

    run, first = answer("a", 7)
    _, same = answer("b", 7)
    _, other = answer("c", 1007)
    assert len(first) == 6
    assert {key: c.text for key, c in first.items()} == {key: c.text for key, c in same.items()}
    assert {key: c.text for key, c in first.items()} != {key: c.text for key, c in other.items()}
    assert [first[key].seed for key in sorted(first, key=lambda k: k.sample)] == [7, 7, 7, 8, 8, 8]
    for completion in first.values():
        assert completion.usage.output_tokens == 24
        assert completion.finish_reason == "length"
        assert completion.model == "tiny-random"
    (profile,) = run.summary["profiles"]
    assert profile["estimates"][0]["truncated"] == 6
    assert any("token limit" in warning for warning in profile["warnings"])

    key, completion = next((k, c) for k, c in first.items() if len(c.text) > 8)
    stop = completion.text[4:7]
    _, stopped = answer("d", 7, stop=(stop,))
    assert stopped[key].text == completion.text[: completion.text.index(stop)]


def test_n_in_one_request_where_asked_for(llama_server):
    run = truegrade.generate(
        "humaneval", model="openai-compatible/tiny-random", base_url=llama_server, limit=2, n=3,
        model_args={"batch_n": True}, sampling=Sampling(temperature=1.0, max_tokens=8),
    )  # fmt: skip
    by_task = Counter(c.problem_id for c in run.completions())
    assert by_task == {"HumanEval/0": 3, "HumanEval/1": 3}
    assert len({c.text for c in run.completions() if c.problem_id == "HumanEval/0"}) > 1


def test_failures_are_bounded_counted_kept_and_asked_again():
    calls = Counter()

    def script(body):
        calls["all"] += 1
        if "separate_paren_groups" in body["messages"][-1]["content"] and calls["healed"] == 0:
            return scripted.error(500, "broken")
        return scripted.Answer(scripted.chat("```python\ndef f():\n    pass\n```"))

    notices = []
    with scripted.scripted_server(script) as server:
        options = {"base_url": server.url, "limit": 3, "request_policy": IMPATIENT, "model": "openai-compatible/x",
                   "notice": notices.append, "out": "run"}  # fmt: skip
        run = truegrade.run("humaneval", **options)
        assert sorted(asked(server).values()) == [1, 1, 3]
        assert run.summary["missing"] == 1
        assert run.summary["usage"]["failed_attempts"] == 3
        assert run.summary["usage"]["attempts"] == 5
        assert "1 of 3 problems have fewer than 1 graded samples" in run.summary["profiles"][0]["warnings"]
        assert "1 sample has no reply: 1 × HTTP 500: broken (look into the server's log" in notices[-1]
        calls["healed"] = 1
        again = truegrade.run("humaneval", **options)
        assert sorted(asked(server).values()) == [1, 1, 4]
        assert again.summary["missing"] == 0


def test_a_server_that_is_not_there_is_told_at_the_first_attempt_and_once(caplog):
    with pytest.raises(ModelError, match="check that the service runs there"):
        truegrade.generate(
            "humaneval", model="vllm/x", base_url="http://127.0.0.1:9/v1", limit=3,
            request_policy=RequestPolicy(max_attempts=3, backoff_s=0.01),
        )  # fmt: skip
    warned = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(warned) == 1
    assert warned[0].startswith("vllm/x at http://127.0.0.1:9/v1: ConnectError")
    assert "trying again for up to" in warned[0]


def test_causes_of_failures_are_told_while_the_run_goes_on_and_at_the_end():
    number = Counter()

    def script(body):
        number["n"] += 1
        if number["n"] % 4 == 0:
            return scripted.error(400, "the prompt was flagged")
        return scripted.error(400, f"effort 'low' is not one of none, high (request 7f3a-{number['n']})")

    notices = []
    with scripted.scripted_server(script) as server:
        run = truegrade.generate(
            "humaneval", model="openai-compatible/x", base_url=server.url, limit=12, out="run",
            notice=notices.append, sampling=Sampling(reasoning_effort="low"), request_policy=IMPATIENT,
        )  # fmt: skip
    first, early, last = notices
    assert "1 sample has failed so far: 1 × HTTP 400: effort 'low' is not one of none, high" in first
    assert "10 samples have failed so far: 8 × HTTP 400: effort 'low' is not one of none, high" in early
    assert "12 samples have no reply: 9 × HTTP 400: effort 'low'" in last and "3 × HTTP 400: the prompt" in last
    assert "change or leave out what the service names" in last
    assert len(run.answered()) == 0


def test_samples_that_the_budget_did_not_reach_are_told_apart_from_failures():
    notices = []
    with scripted.scripted_server([scripted.Answer(scripted.chat("text"))]) as server:
        truegrade.generate(
            "humaneval", model="openai-compatible/x", base_url=server.url, limit=5, out="run",
            notice=notices.append, model_args={"input_price": 1e6, "output_price": 1e6},
            request_policy=RequestPolicy(max_connections=1, max_cost_usd=1.0),
        )  # fmt: skip
    assert "4 samples have no reply: 4 × not asked, because `max_cost_usd` is spent" in notices[-1]


def test_a_wrong_key_ends_the_run_in_one_sentence_and_keeps_what_came_before():
    def script(body):
        if len(server.requests) >= 2:
            return scripted.error(401, "bad key", code="invalid_api_key")
        return scripted.Answer(scripted.chat("text"))

    with scripted.scripted_server(script) as server:
        with pytest.raises(ModelError) as caught:
            truegrade.run("humaneval", model="openai-compatible/x", base_url=server.url, limit=9, out="run",
                          request_policy=RequestPolicy(max_connections=1))  # fmt: skip
        assert "\n" not in str(caught.value)
        assert len(truegrade.load("run").answered()) == 2


def test_a_cost_limit_stops_cleanly_and_holds_for_the_run_as_a_whole():
    script = [scripted.Answer(scripted.chat("no code"))]
    prices = {"input_price": 10_000, "output_price": 20_000}  # dollars per million: $0.5 a reply of 10 + 20 tokens
    with scripted.scripted_server(script) as server:
        options = {"base_url": server.url, "model": "openai-compatible/x", "out": "run", "model_args": prices}
        request_policy = RequestPolicy(max_connections=1, max_cost_usd=1.2)
        run = truegrade.run("humaneval", limit=20, request_policy=request_policy, **options)
        assert len(server.requests) == 3
        assert run.summary["usage"]["cost_usd"] == pytest.approx(1.5)
        assert run.summary["missing"] == 17
        truegrade.run("humaneval", limit=20, request_policy=request_policy, **options)
        assert len(server.requests) == 3


def test_a_cost_limit_without_a_price_is_refused():
    with scripted.scripted_server([scripted.Answer(scripted.chat("x"))]) as server:
        with pytest.raises(UserError, match="input_price"):
            truegrade.run("humaneval", model="openai-compatible/x", base_url=server.url, limit=1,
                          request_policy=RequestPolicy(max_cost_usd=1.0))  # fmt: skip
        assert server.requests == []


def test_few_shot_rows_are_neither_asked_nor_scored(data_dir):
    script = [scripted.Answer(scripted.chat("def f(): pass"))]
    with scripted.scripted_server(script) as server:
        run = truegrade.run("mbpp", data=data_dir, model="openai-compatible/x", base_url=server.url, limit=6,
                            task_args={"prompt": "paper"}, model_args={"text_as_chat": True})  # fmt: skip
        assert len(server.requests) == 3
        assert "[BEGIN]" in server.requests[0].body["messages"][0]["content"]
    assert set(run.manifest.excluded) == {"MBPP/2", "MBPP/3", "MBPP/4"}
    assert [task[0] for task in run.summary["profiles"][0]["tasks"]] == ["MBPP/1", "MBPP/5", "MBPP/6"]


def test_kill_9_while_asking_then_the_same_command_asks_only_what_is_missing(tmp_path):
    with scripted.scripted_server(lambda _: scripted.Answer(scripted.chat("text"), delay_s=0.05)) as server:
        options = ("--base-url", server.url, "--limit", "20", "--max-connections", "4", "--out", "run", "--json")
        command = ["run", "humaneval", "--model", "openai-compatible/x", *options]
        signalled(command, lambda: len(server.requests) >= 10, signal.SIGKILL)
        stored = len(truegrade.load("run").answered())
        assert 5 < stored < 20
        assert CliRunner().invoke(main, command).exit_code == 0
        repeated = [count for count in asked(server).values() if count > 1]
        assert len(asked(server)) == 20
        assert len(repeated) <= 4, "at most the requests under way are asked again"
        keys = Counter(c.key for c in truegrade.load("run").completions())
        assert set(keys.values()) == {1}
        assert len(keys) == 20
