"""The back end against a server that fails in every way services do; the official client is the real one."""

import asyncio
import socket
import time
from contextlib import ExitStack
from email.utils import formatdate
from itertools import pairwise

import pytest

from support import scripted_server as scripted
from support.asking import QUICK, asked
from truegrade.errors import ModelError, UserError
from truegrade.models import open_model, service_model
from truegrade.models.base import generate_sample
from truegrade.records.config import RequestPolicy


def run(url, *requests, request_policy=QUICK, name="openai-compatible/m", n=None, **args):
    """Ask all requests at once; the replies, and the model to look at."""

    def ask(model):
        if n is not None:
            return [model.generate_many(*requests[0][1:], n)]
        return [generate_sample(model, *request) for request in requests]

    brought, model = asked(name, url, ask, request_policy=request_policy, **args)
    return (brought if n is None else brought[0]), model


def outcomes(reply):
    return [attempt.outcome for attempt in reply.attempts]


# ------------------------------------------------------------------------------------------------- answers


def test_an_answer_is_kept_untouched_with_its_accounts(make_request):
    body = scripted.chat("<think>hm</think>\n hello ", finish_reason="stop")
    body["usage"]["completion_tokens_details"] = {"reasoning_tokens": 7}
    with scripted.scripted_server([scripted.Answer(body)]) as server:
        sampling = {"temperature": 0.2, "top_p": 0.9, "max_tokens": 50, "seed": 4, "stop": ("\nclass",)}
        request = make_request(reasoning_effort="low", **sampling)
        (reply,), model = run(server.url, request, input_price=1.0, output_price=2, top_k=5)
    assert reply.text == "<think>hm</think>\n hello "
    assert (reply.form, reply.finish_reason, reply.model) == ("reply", "stop", "served-1")
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.reasoning_tokens) == (10, 20, 7)
    assert reply.cost_usd == pytest.approx((10 * 1 + 20 * 2) / 1e6)
    (attempt,) = reply.attempts
    assert (attempt.outcome, attempt.status, attempt.usage) == ("ok", 200, reply.usage)
    assert 0 < attempt.latency_s == reply.latency_s
    (seen,) = server.requests
    assert seen.path == "/v1/chat/completions"
    assert seen.body == {
        "model": "m",
        "messages": [{"role": "user", "content": "Say hello."}],
        "reasoning_effort": "low",
        "top_k": 5,
        **sampling,
        "stop": ["\nclass"],
    }
    assert (model.name, model.base_url, model.adaptations) == ("openai-compatible/m", server.url, ())


def test_what_the_protocol_lacks_is_refused_and_nothing_is_sent(make_request):
    with (
        scripted.scripted_server([]) as server,
        pytest.raises(UserError, match=r"cannot be asked for top_k 5.*`model_args` top_k=5"),
    ):
        run(server.url, make_request(top_k=5))
    assert server.requests == []


def test_unset_parameters_are_not_sent(make_request):
    with scripted.scripted_server([scripted.Answer(scripted.chat("x"))]) as server:
        run(server.url, make_request())
    assert set(server.requests[0].body) == {"model", "messages"}


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_thinking_is_kept_apart(make_request, field):
    with scripted.scripted_server([scripted.Answer(scripted.chat("42", **{field: "six times seven"}))]) as server:
        (reply,), _ = run(server.url, make_request())
    assert (reply.text, reply.reasoning) == ("42", "six times seven")


def test_a_service_without_usage_is_tolerated_and_its_cost_is_unknown(make_request):
    body = scripted.chat("x")
    del body["usage"]
    with scripted.scripted_server([scripted.Answer(body)]) as server:
        (reply,), _ = run(server.url, make_request(), input_price=1, output_price=1)
    assert (reply.text, reply.usage, reply.cost_usd) == ("x", None, None)


def test_a_text_prompt_goes_to_the_completions_endpoint(make_request):
    body = {"model": "base", "choices": [{"text": "    return 1", "index": 0, "finish_reason": "length"}]}
    with scripted.scripted_server([scripted.Answer(body)]) as server:
        request = make_request("def f():\n", style="text", max_tokens=5, reasoning_effort="low")
        (reply,), model = run(server.url, request)
    assert (reply.text, reply.form, reply.finish_reason) == ("    return 1", "completion", "length")
    assert server.requests[0].path == "/v1/completions"
    assert server.requests[0].body == {"model": "m", "prompt": "def f():\n", "max_tokens": 5}
    assert model.adaptations == ("reasoning_effort left out: the completions endpoint has no such parameter",)


def test_a_text_prompt_goes_to_chat_when_asked(make_request):
    with scripted.scripted_server([scripted.Answer(scripted.chat("ok"))]) as server:
        (reply,), _ = run(server.url, make_request("def f():\n", style="text"), text_as_chat=True)
    assert (reply.text, reply.form) == ("ok", "reply")
    assert server.requests[0].body["messages"] == [{"role": "user", "content": "def f():\n"}]


def test_a_reasoning_model_gets_its_own_parameters_and_says_so(make_request):
    with scripted.scripted_server([scripted.Answer(scripted.chat("ok"))]) as server:
        request = make_request(temperature=0.0, top_p=1.0, max_tokens=9, reasoning_effort="high")
        _, model = run(server.url, request, name="openai/o3-mini")
        _, plain = run(server.url, request, name="openai/o3-mini", reasoning=False)
    body = server.requests[0].body
    assert (body["max_completion_tokens"], body["reasoning_effort"]) == (9, "high")
    assert not {"max_tokens", "temperature", "top_p"} & set(body)
    assert [note.split(":")[0] for note in model.adaptations] == ["temperature left out", "top_p left out"]
    assert server.requests[1].body["max_tokens"] == 9
    assert plain.adaptations == ()


# ------------------------------------------------------------------------------------------------- failures


def test_server_errors_are_retried_and_recorded(make_request):
    script = [
        scripted.error(500, "boom"),
        scripted.error(502, "bad\ngateway"),
        scripted.Answer(scripted.chat("ok")),
    ]
    with scripted.scripted_server(script) as server:
        (reply,), _ = run(server.url, make_request())
    assert reply.text == "ok"
    assert outcomes(reply) == ["error", "error", "ok"]
    assert [attempt.status for attempt in reply.attempts] == [500, 502, 200]
    assert reply.attempts[1].error == "HTTP 502: bad gateway"
    assert len(server.requests) == 3


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503, 529])
def test_attempts_are_bounded_and_failure_is_data(make_request, status):
    with scripted.scripted_server([scripted.error(status, "no")]) as server:
        (reply,), _ = run(server.url, make_request(), request_policy=RequestPolicy(backoff_s=0.01, max_attempts=3))
    assert (reply.text, reply.model, outcomes(reply)) == (None, "m", ["error"] * 3)
    assert len(server.requests) == 3


@pytest.mark.parametrize("kind", ["seconds", "date", "ms"])
def test_the_service_says_how_long_to_wait(make_request, kind):
    # a date counts whole seconds, so 2 s ahead is a wait of 1 to 2 s
    value = {"seconds": "0.4", "date": formatdate(time.time() + 2, usegmt=True), "ms": "400"}[kind]
    headers = {"retry-after-ms" if kind == "ms" else "retry-after": value}
    script = [scripted.error(429, "slow down", headers=headers), scripted.Answer(scripted.chat("ok"))]
    with scripted.scripted_server(script) as server:
        (reply,), _ = run(server.url, make_request(), request_policy=RequestPolicy(backoff_s=30.0, timeout_s=5.0))
    waited_s = server.requests[1].at - server.requests[0].at
    assert outcomes(reply) == ["error", "ok"]
    assert (0.4 if kind != "date" else 0.9) <= waited_s < 3


def test_nobody_starts_a_request_during_the_pause(make_request):
    script = [scripted.error(503, "busy", headers={"retry-after": "0.5"}), scripted.Answer(scripted.chat("ok"))]
    with scripted.scripted_server(script) as server:
        request_policy = RequestPolicy(max_connections=1, timeout_s=5.0)
        replies, _ = run(server.url, *(make_request(sample=i) for i in range(3)), request_policy=request_policy)
    first, *others = [seen.at for seen in server.requests]
    assert min(others) - first >= 0.5
    assert [reply.text for reply in replies] == ["ok"] * 3
    assert len(server.requests) == 4


def test_a_wait_longer_than_a_request_may_take_ends_the_run(make_request):
    with scripted.scripted_server([scripted.error(429, "daily limit", headers={"retry-after": "3600"})]) as server:
        with pytest.raises(ModelError, match=r"asks to be left alone for 3600 s.*run the same command again"):
            run(server.url, make_request())
        assert len(server.requests) == 1


def test_without_a_hint_the_wait_doubles_with_jitter_and_is_repeatable(make_request):
    def gaps():
        with scripted.scripted_server([scripted.error(500, "x")]) as server:
            run(server.url, make_request(), request_policy=RequestPolicy(backoff_s=0.1, max_attempts=4))
        times = [seen.at for seen in server.requests]
        return [after - before for before, after in pairwise(times)]

    first, second = gaps(), gaps()
    for i, gap in enumerate(first):
        assert 0.05 * 2**i <= gap < 0.1 * 2**i + 0.1
    assert first == pytest.approx(second, abs=0.08)


def test_a_silent_server_is_timed_out(make_request):
    script = [scripted.Answer(hold=True), scripted.Answer(scripted.chat("ok"))]
    with scripted.scripted_server(script) as server:
        (reply,), _ = run(server.url, make_request(), request_policy=RequestPolicy(timeout_s=1.5, backoff_s=0.01))
    assert outcomes(reply) == ["error", "ok"]
    assert reply.attempts[0].error == "timed out"
    assert reply.attempts[0].latency_s >= 1.5
    assert reply.attempts[0].status is None


@pytest.mark.parametrize(
    ("broken", "error"),
    [
        (b'{"choices": [', "malformed body"),
        (b"<html>gateway</html>", "malformed body"),
        (b"[1, 2]", "malformed body"),
        (b'{"choices": [{"message": {"content": 5}}]}', "malformed body"),
        ({"choices": []}, "no choices in the body"),
        ({"error": {"message": "upstream died", "code": 502}}, "no choices: upstream died"),
    ],
)
def test_an_unusable_body_is_retried(make_request, broken, error):
    script = [scripted.Answer(broken), scripted.Answer(scripted.chat("ok"))]
    with scripted.scripted_server(script) as server:
        (reply,), _ = run(server.url, make_request())
    assert outcomes(reply) == ["error", "ok"]
    assert reply.attempts[0].error.startswith(error)
    assert len(server.requests) == 2


def test_a_dropped_connection_is_retried(make_request):
    script = [scripted.Answer(scripted.chat("lost"), cut=True), scripted.Answer(scripted.chat("ok"))]
    with scripted.scripted_server(script) as server:
        (reply,), _ = run(server.url, make_request())
    assert (reply.text, outcomes(reply)) == ("ok", ["error", "ok"])
    assert "RemoteProtocolError" in reply.attempts[0].error


def test_a_service_that_never_was_there_ends_the_run(make_request):
    with scripted.scripted_server([]) as server:
        url = server.url
    with pytest.raises(
        ModelError, match=r"openai-compatible at http://127.0.0.1:\d+/v1: ConnectError.*service runs"
    ):
        run(url, make_request(), request_policy=RequestPolicy(max_attempts=2, backoff_s=0.01))


def test_an_address_that_does_not_answer_is_told_soon_with_how_long_it_is_tried(make_request, monkeypatch, caplog):
    """The listener takes no further connection, and refuses none."""
    monkeypatch.setattr(service_model, "FIRST_CONNECT_TIMEOUT_S", 0.2)
    policy = RequestPolicy(max_attempts=3, backoff_s=0.01)
    with socket.socket() as listener, ExitStack() as waiting:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            one = waiting.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(listener.getsockname())
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        with pytest.raises(ModelError, match=r"no connection in time; check that the service runs there"):
            run(url, make_request(), request_policy=policy)
    (told,) = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert told.endswith(f"at {url}: no connection in time; trying again for up to 0 s")


def test_a_service_that_was_there_before_does_not(make_request):
    request_policy = RequestPolicy(max_attempts=2, backoff_s=0.01)

    async def ask():
        with scripted.scripted_server([scripted.Answer(scripted.chat("ok"))]) as server:
            model = open_model("openai-compatible/m", base_url=server.url, request_policy=request_policy)
            first = await generate_sample(model, *make_request())
        second = await generate_sample(model, *make_request(sample=1))
        await model.close()
        return first, second

    first, second = asyncio.run(ask())
    assert (first.text, second.text) == ("ok", None)
    assert outcomes(second) == ["error", "error"]


# ------------------------------------------------------------------------------------------------- emptiness


@pytest.mark.parametrize("content", [None, "", " \n"])
def test_empty_replies_are_asked_again_then_accepted(make_request, content):
    with scripted.scripted_server([scripted.Answer(scripted.chat(content))]) as server:
        (reply,), _ = run(server.url, make_request(), input_price=1, output_price=1)
    assert (reply.text, reply.finish_reason) == (content or "", "stop")
    assert outcomes(reply) == ["empty"] * 3
    assert reply.cost_usd == pytest.approx(3 * 30 / 1e6)
    assert len(server.requests) == 3


def test_an_empty_reply_is_mended_by_the_next(make_request):
    script = [scripted.Answer(scripted.chat("")), scripted.Answer(scripted.chat("ok"))]
    with scripted.scripted_server(script) as server:
        (reply,), _ = run(server.url, make_request())
    assert (reply.text, outcomes(reply)) == ("ok", ["empty", "ok"])


def test_how_many_empty_replies_is_the_users_choice(make_request):
    with scripted.scripted_server([scripted.Answer(scripted.chat(""))]) as server:
        run(server.url, make_request(), max_empty=1)
        assert len(server.requests) == 1


@pytest.mark.parametrize("finish_reason", ["length", "content_filter"])
def test_emptiness_that_would_repeat_itself_is_not_retried(make_request, finish_reason):
    body = scripted.chat("", finish_reason=finish_reason, reasoning_content="thinking and thinking")
    with scripted.scripted_server([scripted.Answer(body)]) as server:
        (reply,), _ = run(server.url, make_request())
        assert len(server.requests) == 1
    assert (reply.text, reply.finish_reason, outcomes(reply)) == ("", finish_reason, ["empty"])
    assert reply.reasoning == "thinking and thinking"


def test_an_empty_reply_outlives_later_errors(make_request):
    script = [scripted.Answer(scripted.chat("")), scripted.error(500, "boom")]
    with scripted.scripted_server(script) as server:
        request_policy = RequestPolicy(max_attempts=3, backoff_s=0.01)
        (reply,), _ = run(server.url, make_request(), request_policy=request_policy)
    assert (reply.text, outcomes(reply)) == ("", ["empty", "error", "error"])


# ------------------------------------------------------------------------------------------------- refusals


def test_a_refused_parameter_is_changed_once_remembered_and_reported(make_request):
    def answer(body):
        if "temperature" in body:
            text = "Unsupported value: 'temperature' does not support 0.2 with this model."
            return scripted.error(400, text, param="temperature", code="unsupported_value")
        if "max_tokens" in body:
            text = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
            return scripted.error(400, text, param="max_tokens", code="unsupported_parameter")
        return scripted.Answer(scripted.chat(f"limit {body['max_completion_tokens']}"))

    request_policy = RequestPolicy(max_attempts=1, max_connections=1)
    with scripted.scripted_server(answer) as server:
        requests = [make_request(sample=i, temperature=0.2, max_tokens=9, seed=i) for i in range(2)]
        (first, second), model = run(server.url, *requests, request_policy=request_policy)
    assert (first.text, second.text) == ("limit 9", "limit 9")
    assert sorted(outcomes(first) + outcomes(second)) == ["error", "error", "ok", "ok"]
    assert [seen.body["seed"] for seen in server.requests[-2:]] in ([0, 1], [1, 0])
    # two samples took turns at the one place: two refusals in all, whoever met them, and one answer each
    assert len(server.requests) == 4
    assert [note.split(":")[0] for note in model.adaptations] == [
        "temperature left out",
        "max_tokens sent as max_completion_tokens",
    ]


def test_a_bad_request_for_one_sample_is_one_failed_sample(make_request):
    def answer(body):
        if body["messages"][0]["content"] == "long":
            return scripted.error(400, "maximum context length is 4096 tokens", code="context_length_exceeded")
        return scripted.Answer(scripted.chat("ok"))

    with scripted.scripted_server(answer) as server:
        (bad, good), model = run(server.url, make_request("long", max_tokens=9), make_request("short"))
        assert len(server.requests) == 2
    assert (bad.text, good.text) == (None, "ok")
    assert bad.attempts[0].error == "HTTP 400: maximum context length is 4096 tokens"
    assert model.adaptations == ()


@pytest.mark.parametrize(
    ("status", "fields", "advice"),
    [
        (401, {"code": "invalid_api_key"}, "set OPENAI_COMPATIBLE_API_KEY to a key that this service accepts"),
        (402, {}, "add credit"),
        (403, {}, "may not use 'm'"),
        (404, {"code": "model_not_found"}, "check the model name 'm' and `base_url`"),
        (429, {"code": "insufficient_quota"}, "add credit"),
    ],
)
def test_what_no_sample_can_survive_ends_the_run(make_request, monkeypatch, status, fields, advice):
    monkeypatch.setenv("OPENAI_COMPATIBLE_API_KEY", "sk-secret")
    refusal = scripted.error(status, "no, not with sk-secret", **fields)
    with scripted.scripted_server([refusal]) as server:
        with pytest.raises(ModelError) as caught:
            run(server.url, make_request())
        assert [seen.path for seen in server.requests[1:]] == (["/v1/models"] if status == 404 else [])
    message = str(caught.value)
    assert message.startswith(f"openai-compatible at {server.url}: HTTP {status}: no, not with [key]; ")
    assert advice in message
    assert "\n" not in message
    assert server.requests[0].headers["authorization"] == "Bearer sk-secret"


@pytest.mark.parametrize(
    ("served", "advice"),
    [
        (["b", "model-1"], "the server offers model-1, b"),
        ([f"x{number}" for number in range(12)], "and 2 more"),
        ([], "check the model name 'model1' and `base_url`"),
        (["model1"], "check the model name 'model1' and `base_url`"),
    ],
)
def test_a_wrong_name_is_told_with_those_that_the_server_offers(make_request, served, advice):
    def answer(body):
        if body is None:
            return scripted.Answer(
                {"object": "list", "data": [{"id": name, "object": "model"} for name in served]}
            )
        return scripted.error(404, "The model `model1` does not exist.")

    with scripted.scripted_server(answer) as server, pytest.raises(ModelError) as caught:
        run(server.url, make_request(), name="openai-compatible/model1")
    assert str(caught.value).endswith(advice)


def test_a_flagged_prompt_is_one_failed_sample(make_request):
    with scripted.scripted_server([scripted.error(403, "Your input was flagged")]) as server:
        (reply,), _ = run(server.url, make_request())
    assert (reply.text, outcomes(reply)) == (None, ["error"])


# ------------------------------------------------------------------------------------------------- concurrency


def test_never_more_requests_at_once_than_allowed(make_request):
    with scripted.scripted_server([scripted.Answer(scripted.chat("ok"), delay_s=0.03)]) as server:
        requests = [make_request(sample=i) for i in range(24)]
        replies, _ = run(server.url, *requests, request_policy=RequestPolicy(max_connections=4))
    assert server.max_in_flight == 4
    assert len(replies) == len(server.requests) == 24


def test_cancelling_is_never_swallowed(make_request):
    async def cancelled():
        with scripted.scripted_server([scripted.Answer(hold=True)]) as server:
            model = open_model("openai-compatible/m", base_url=server.url)
            task = asyncio.create_task(generate_sample(model, *make_request()))
            while not server.requests:
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await model.close()
            return len(server.requests)

    assert asyncio.run(cancelled()) == 1


def test_headers_of_openai_customers_go_to_openai_only(make_request, monkeypatch):
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-1")
    with scripted.scripted_server([scripted.Answer(scripted.chat("ok"))]) as server:
        run(server.url, make_request())
        run(server.url, make_request(), name="openai/m")
    other, openai = (set(seen.headers) & {"openai-organization", "openai-project"} for seen in server.requests)
    assert (other, len(openai)) == (set(), 2)


def test_a_proxy_is_not_asked_for_a_local_service(make_request, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with scripted.scripted_server([scripted.Answer(scripted.chat("ok"))]) as server:
        (reply,), _ = run(server.url, make_request())
    assert reply.text == "ok"


# ------------------------------------------------------------------------------------------------- n


def test_many_samples_in_one_request(make_request):
    body = scripted.chat("a", reasoning="why")
    body["choices"].append(
        {"index": 1, "finish_reason": "length", "message": {"role": "assistant", "content": "b"}}
    )
    with scripted.scripted_server([scripted.Answer(body)]) as server:
        replies, model = run(server.url, make_request(), n=3, batch_n=True, input_price=1, output_price=1)
    assert server.requests[0].body["n"] == 3
    assert model.batch_n
    first, second = replies
    assert (first.text, first.reasoning, second.text, second.finish_reason) == ("a", "why", "b", "length")
    assert first.usage is not None and first.cost_usd is not None and len(first.attempts) == 1
    assert (second.usage, second.cost_usd, second.attempts) == (None, None, ())
    assert first.latency_s == second.latency_s


def test_a_service_that_refuses_n_is_asked_singly_from_then_on(make_request):
    def answer(body):
        if "n" in body:
            return scripted.error(400, "Invalid n value (currently only n = 1 is supported)")
        return scripted.Answer(scripted.chat("ok"))

    with scripted.scripted_server(answer) as server:
        replies, model = run(server.url, make_request(), n=3, batch_n=True)
    assert [reply.text for reply in replies] == ["ok"]
    assert not model.batch_n
    assert model.adaptations[0].startswith("n left out")
