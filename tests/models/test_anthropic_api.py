"""Anthropic's Messages API over the real client, against a server that fails in every way the service does."""

import asyncio
import importlib
import sys
import time

import pytest

from support.anthropic_server import KEY, Told, anthropic_server, error
from support.asking import QUICK, asked
from support.scripted_server import Answer
from truegrade.errors import ModelError, UserError
from truegrade.models import list_models, open_model
from truegrade.models.base import generate_sample
from truegrade.models.probe import probe_model
from truegrade.pipeline.asking import check_followed, open_asked, sampling_of
from truegrade.records import Message, Usage
from truegrade.records.config import RequestPolicy, Sampling


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    importlib.import_module("anthropic")  # loading it takes seconds, which the first request's limit would count
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)


def run(url, *requests, request_policy=QUICK, name="anthropic/m", **args):
    """Ask all requests at once; the replies, and the model to look at."""

    def ask(model):
        return (generate_sample(model, *request) for request in requests)

    return asked(name, url, ask, request_policy=request_policy, **args)


def outcomes(reply):
    return [attempt.outcome for attempt in reply.attempts]


# ------------------------------------------------------------------------------------------------- answers


def test_an_answer_and_its_accounts(make_request):
    usage = {"cache_read_input_tokens": 5, "cache_creation_input_tokens": 2}
    with anthropic_server(Told(" héllo\n\ud83d\ude00", usage=usage)) as server:
        request = make_request(temperature=0.2, max_tokens=50, stop=("\nclass",), reasoning_effort="low")
        system = Message(role="system", content="Be brief.")
        prompt = type(request.prompt)(messages=(system, *request.prompt.messages), style="chat", source="test")
        (reply,), model = run(
            server.url, request._replace(prompt=prompt), input_price=1.0, output_price=2.0, top_k=5
        )
    assert (reply.text, reply.form, reply.finish_reason) == (" héllo\n😀", "reply", "stop")
    assert reply.model == "claude-served-1"
    assert reply.usage == Usage(input_tokens=17, output_tokens=20)
    assert reply.cost_usd == pytest.approx((17 * 1 + 20 * 2) / 1e6)
    assert outcomes(reply) == ["ok"]
    (seen,) = server.requests
    assert seen.body == {
        "model": "m",
        "max_tokens": 50,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "Say hello."}],
        "stop_sequences": ["\nclass"],
        "temperature": 0.2,
        "top_k": 5,
        "output_config": {"effort": "low"},
        "stream": True,
    }
    assert model.adaptations == ()


@pytest.mark.parametrize("suffix", ["", "/", "/v1"])
def test_an_address_with_or_without_its_version(make_request, suffix):
    with anthropic_server() as server:
        (reply,), _ = run(server.url + suffix, make_request())
    assert reply.text == "ok"


def test_the_address_may_stand_in_the_environment(make_request, monkeypatch):
    with anthropic_server() as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        (reply,), model = run(None, make_request(), name="anthropic/claude-haiku-4-5", model="m")
    assert (reply.text, model.base_url) == ("ok", server.url)
    assert model.price is None, "a list price holds at the provider's own address only"


@pytest.mark.parametrize(
    ("stop_reason", "finish_reason"),
    [("stop_sequence", "stop"), ("max_tokens", "length"), ("model_context_window_exceeded", "length")],
)
def test_why_it_stopped(make_request, stop_reason, finish_reason):
    with anthropic_server(Told("half", stop_reason=stop_reason)) as server:
        (reply,), _ = run(server.url, make_request())
    assert reply.finish_reason == finish_reason


@pytest.mark.parametrize("stop_reason", ["refusal", "max_tokens"])
def test_nothing_said_by_refusal_or_limit_is_not_asked_again(make_request, stop_reason):
    with anthropic_server(Told(None, stop_reason=stop_reason)) as server:
        (reply,), _ = run(server.url, make_request())
    assert (reply.text, outcomes(reply), len(server.requests)) == ("", ["empty"], 1)


def test_thinking_is_kept_apart_from_the_text(make_request):
    details = {"output_tokens_details": {"thinking_tokens": 12}}
    told = Told("answer", thinking=("first I add", "then I check"), redacted=True, usage=details)
    with anthropic_server(told) as server:
        (reply,), model = run(server.url, make_request(temperature=0.5, max_tokens=9000), thinking_budget=2000)
    assert (reply.text, reply.reasoning) == ("answer", "first I add\n\nthen I check")
    assert reply.usage == Usage(input_tokens=10, output_tokens=20, reasoning_tokens=12)
    assert server.requests[0].body["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    assert model.adaptations == ("temperature left out: a request with thinking takes none",)


@pytest.mark.parametrize(
    ("thinking", "sent"),
    [
        ("adaptive", {"type": "adaptive", "display": "summarized"}),
        ("disabled", {"type": "disabled"}),
        ({"type": "adaptive", "display": "omitted"}, {"type": "adaptive", "display": "omitted"}),
    ],
)
def test_other_kinds_of_thinking(make_request, thinking, sent):
    with anthropic_server(Told("answer", redacted=True)) as server:
        (reply,), _ = run(server.url, make_request(), thinking=thinking)
    assert server.requests[0].body["thinking"] == sent
    assert (reply.text, reply.reasoning) == ("answer", None)


def test_samples_are_requests_of_their_own_without_a_seed(make_request):
    says = [Told("one"), Told("two")]
    with anthropic_server(*says) as server:
        replies, model = run(server.url, *(make_request(sample=i, seed=7 + i) for i in range(2)))
    assert {reply.text for reply in replies} == {"one", "two"}
    assert not model.batch_n
    assert all("seed" not in seen.body for seen in server.requests)
    assert "seed left out: the Messages API has no such parameter" in model.adaptations


def test_a_token_limit_is_sent_where_none_is_asked_for(make_request):
    with anthropic_server() as server:
        _, model = run(server.url, make_request())
    assert server.requests[0].body["max_tokens"] == 32768
    assert model.adaptations == ("max_tokens 32768 sent: the service needs one and the run sets none",)


# ------------------------------------------------------------------------------------------------ learning


def test_of_temperature_and_top_p_the_temperature_is_kept(make_request):
    with anthropic_server() as server:
        replies, model = run(
            server.url, *(make_request(temperature=0.8, top_p=0.9, max_tokens=9) for _ in range(3))
        )
    assert [reply.text for reply in replies] == ["ok"] * 3
    assert server.requests[-1].body["temperature"] == 0.8
    assert [note.partition(":")[0] for note in model.adaptations] == ["top_p left out"]


def test_a_model_that_always_thinks_takes_no_temperature(make_request):
    with anthropic_server(thinks=True) as server:
        (reply,), model = run(server.url, make_request(temperature=0.0, max_tokens=9))
    assert outcomes(reply) == ["error", "ok"]
    (note,) = model.adaptations
    assert note == "temperature left out: HTTP 400: `temperature` is deprecated for this model."


@pytest.mark.parametrize(
    ("complaint", "left_out"),
    [
        ("This model does not support the effort parameter.", "reasoning_effort"),
        ("stop_sequences: each stop sequence must contain non-whitespace", "stop"),
        ("`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.", "temperature"),
        ("`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.", "top_p"),
    ],
)
def test_other_refusals_in_its_own_words(make_request, complaint, left_out):
    with anthropic_server(error(400, "invalid_request_error", complaint), Told("ok")) as server:
        sampling = {"temperature": 0.1, "reasoning_effort": "low", "stop": ("\n\n",), "max_tokens": 9}
        if left_out == "top_p":
            del sampling["temperature"]
            sampling["top_p"] = 0.5
        (reply,), model = run(server.url, make_request(**sampling))
    assert outcomes(reply) == ["error", "ok"]
    assert [note.partition(" ")[0] for note in model.adaptations] == [left_out]


# ------------------------------------------------------------------------------------------------ failures


def test_a_rate_limit_is_waited_out_as_long_as_asked(make_request):
    limited = error(429, "rate_limit_error", "slow down", {"retry-after": "0.3"})
    with anthropic_server(limited, Told("ok")) as server:
        started = time.monotonic()
        (reply,), _ = run(server.url, make_request())
        waited_s = time.monotonic() - started
    assert outcomes(reply) == ["error", "ok"]
    assert reply.attempts[0].status == 429
    assert waited_s >= 0.3


def test_overload_holds_back_every_other_request(make_request):
    busy = error(529, "overloaded_error", "Overloaded", {"retry-after": "0.4"})
    with anthropic_server(busy, Told("ok")) as server:
        policy = RequestPolicy(max_connections=1, backoff_s=0.01)
        replies, _ = run(server.url, make_request(), make_request(sample=1), request_policy=policy)
    assert [reply.text for reply in replies] == ["ok", "ok"]
    refused, *later = (seen.at for seen in server.requests)
    assert min(later) - refused >= 0.4


@pytest.mark.parametrize(
    ("failing", "status"),
    [
        (error(529, "overloaded_error", "Overloaded"), 529),
        (error(500, "api_error", "Internal server error"), 500),
        (Told("never seen whole", fails="overloaded_error"), 529),
        (Told("never seen whole", fails="rate_limit_error"), 429),
    ],
)
def test_trouble_of_the_service_passes(make_request, failing, status):
    with anthropic_server(failing, Told("ok")) as server:
        (reply,), _ = run(server.url, make_request())
    assert (reply.text, outcomes(reply)) == ("ok", ["error", "ok"])
    assert reply.attempts[0].status == status
    assert len(server.requests) == 2, "the client's own retries are off"


HTML = Answer(b"<html>gateway</html>", headers={"content-type": "text/html"})
GARBAGE = Answer(b"event: message_start\ndata: {nonsense\n\n", headers={"content-type": "text/event-stream"})


@pytest.mark.parametrize(
    "broken",
    [
        *(Told("a whole answer, or none", thinking=("hm",), cut_at=share) for share in (0.0, 0.1, 0.5, 0.99)),
        Told("a whole answer, or none", ends_at="message_stop"),
        Told("a whole answer, or none", ends_at="message_delta"),
        Told("a whole answer, or none", ends_at="message_start"),
        HTML,
        GARBAGE,
    ],
)
def test_half_a_stream_is_no_answer(make_request, broken):
    with anthropic_server(broken, Told("ok")) as server:
        (reply,), _ = run(server.url, make_request())
    assert (reply.text, reply.reasoning, outcomes(reply)) == ("ok", None, ["error", "ok"])
    assert reply.attempts[0].error


def test_the_prompt_of_a_cut_stream_is_paid_for(make_request):
    with anthropic_server(Told("x" * 400, cut_at=0.8), Told("ok")) as server:
        (reply,), _ = run(server.url, make_request(), input_price=1.0, output_price=1.0)
    assert reply.attempts[0].usage == Usage(input_tokens=10, output_tokens=1)
    assert reply.cost_usd == pytest.approx((11 + 30) / 1e6)


def test_a_silent_server_is_timed_out(make_request):
    with anthropic_server(Answer(hold=True), Told("ok")) as server:
        policy = RequestPolicy(timeout_s=1.5, backoff_s=0.01)
        (reply,), _ = run(server.url, make_request(), request_policy=policy)
    assert [attempt.error for attempt in reply.attempts] == ["timed out", None]


def test_attempts_are_bounded_and_failure_is_data(make_request):
    with anthropic_server(Told("x", cut_at=0.5)) as server:
        policy = RequestPolicy(max_attempts=3, backoff_s=0.001)
        (reply,), _ = run(server.url, make_request(), request_policy=policy)
    assert (reply.text, outcomes(reply)) == (None, ["error"] * 3)


@pytest.mark.parametrize(
    ("failing", "advice"),
    [
        (error(401, "authentication_error", f"invalid x-api-key {KEY}"), "set ANTHROPIC_API_KEY to a key"),
        (error(403, "permission_error", "not allowed"), "may not use 'm'"),
        (error(404, "not_found_error", "model: m"), "check the model name 'm' and `base_url`"),
        (error(402, "billing_error", "pay"), "add credit"),
        (error(400, "invalid_request_error", "Your credit balance is too low"), "add credit"),
        (error(400, "invalid_request_error", "max_tokens: 9 > 8, which is the maximum"), "a lower `max_tokens`"),
        (error(400, "invalid_request_error", '"thinking.type.enabled" is not supported'), "leave `model_args`"),
        (
            error(400, "invalid_request_error", "It does not support assistant prefill"),
            "another `profile`",
        ),
    ],
)
def test_what_no_sample_can_survive_ends_the_run(make_request, failing, advice):
    with anthropic_server(failing) as server:
        with pytest.raises(ModelError) as caught:
            run(server.url, make_request())
        assert len(server.requests) == 1
    message = str(caught.value)
    assert message.startswith(f"anthropic at {server.url}: HTTP {failing.status}: ")
    assert advice in message
    assert "\n" not in message
    assert KEY not in message


def test_the_server_refuses_as_the_service_does(make_request, monkeypatch):
    with anthropic_server() as server:
        with pytest.raises(ModelError, match="model: other; check the model name 'other'"):
            run(server.url, make_request(), name="anthropic/other")
        monkeypatch.setenv("ANTHROPIC_API_KEY", "wrong")
        with pytest.raises(ModelError, match=r"invalid x-api-key \[key\]; set ANTHROPIC_API_KEY"):
            run(server.url, make_request())
        monkeypatch.setenv("OTHER_KEY", KEY)
        (reply,), _ = run(server.url, make_request(), api_key_env="OTHER_KEY")
    assert reply.text == "ok"


def test_no_server_at_the_address(make_request):
    policy = RequestPolicy(max_attempts=2, backoff_s=0.001)
    with pytest.raises(ModelError, match=r"anthropic at http://127.0.0.1:1: .*check that the service runs there"):
        run("http://127.0.0.1:1", make_request(), request_policy=policy)


def test_a_refused_prompt_fails_alone(make_request):
    long = error(400, "invalid_request_error", "prompt is too long: 300000 tokens > 200000 maximum")
    with anthropic_server(lambda body: long if "long" in body["messages"][0]["content"] else Told("ok")) as server:
        replies, _ = run(server.url, make_request("a long one"), make_request())
    assert [reply.text for reply in replies] == [None, "ok"]
    assert outcomes(replies[0]) == ["error"]


# --------------------------------------------------------------------------------- before the first request


def test_no_key(monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(UserError, match="'anthropic' needs a key: set the environment variable ANTHROPIC_API_KEY"):
        open_model("anthropic/m")


def test_the_client_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "anthropic", None)
    with pytest.raises(UserError, match=r"pip install 'truegrade\[anthropic\]'"):
        open_model("anthropic/m")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"thinking_budget": 1000}, ">= 1024"),
        ({"thinking": "sometimes"}, "thinking"),
        ({"thinking": "adaptive", "thinking_budget": 2000}, "exclude each other"),
        ({"input_price": 3.0}, "go together"),
    ],
)
def test_arguments_that_do_not_fit(args, words):
    with pytest.raises(UserError, match=words):
        open_model("anthropic/m", args=args)


@pytest.mark.parametrize(
    ("style", "sampling", "args", "words"),
    [
        ("text", {}, {}, "has no text completion: choose a `profile`"),
        ("chat", {"temperature": 1.2}, {}, "takes 0 to 1"),
        ("chat", {"max_tokens": 2000}, {"thinking_budget": 2000}, "leaves no room for an answer in 2000"),
        ("chat", {}, {"thinking_budget": 40_000}, "leaves no room for an answer in 32768"),
    ],
)
def test_requests_that_cannot_be_put(make_request, style, sampling, args, words):
    request = make_request(style=style, **sampling)
    with anthropic_server() as server:
        with pytest.raises(UserError, match=words):
            run(server.url, request, **args)
        assert not server.requests
    with pytest.raises(UserError, match=words):
        check_followed(open_model("anthropic/m", args=args), request.sampling, [request.prompt])


def test_text_is_sent_as_a_message_where_that_is_wanted(make_request):
    with anthropic_server() as server:
        (reply,), _ = run(server.url, make_request("def f(x):", style="text"), text_as_chat=True)
    assert (reply.text, reply.form) == ("ok", "reply")
    assert server.requests[0].body["messages"] == [{"role": "user", "content": "def f(x):"}]


def test_a_cost_limit_needs_a_price():
    policy = RequestPolicy(max_cost_usd=1.0)
    with pytest.raises(UserError, match="`max_cost_usd` needs the price of anthropic/m"):
        open_asked("anthropic/m", None, policy, {}, {})
    known = open_asked("claude-haiku-4-5", None, policy, {}, {})
    assert (known.name, known.price.output_usd) == ("anthropic/claude-haiku-4-5", 5.0)
    assert sampling_of("claude-opus-5-5", Sampling()).max_tokens == 32768
    assert open_asked("anthropic/m", None, policy, {"input_price": 1, "output_price": 2}, {}).price.input_usd == 1


def test_another_service_that_speaks_the_protocol(make_request, tmp_path, monkeypatch):
    monkeypatch.setenv("OWN_KEY", KEY)
    with anthropic_server() as server:
        entry = f'Provider(protocol="anthropic", base_url={server.url!r}, key_variables=("OWN_KEY",), notes="own")'
        source = f"from truegrade.models.providers import Provider\n\nPROVIDER = {entry}\n"
        (tmp_path / "own.py").write_text(source)
        (reply,), model = run(None, make_request(), name=f"{tmp_path}/own.py/m")
    assert (reply.text, model.base_url) == ("ok", server.url)


def test_it_is_listed_with_what_it_needs():
    (line,) = [line for line in list_models() if line.name == "anthropic/MODEL"]
    assert line.needs == "ANTHROPIC_API_KEY"
    assert "truegrade[anthropic]" in line.description


# --------------------------------------------------------------------------------------------------- probe


def test_the_probe_finds_what_it_takes():
    words = [f"{chr(97 + i)}{'word ' * 12}" for i in range(20)]

    def say(body):
        text = words[0] if body.get("temperature") == 0 else words.pop()
        if "stop_sequences" in body:
            text = text.partition(body["stop_sequences"][0])[0]
        return Told(text[: body["max_tokens"] * 4], usage={"output_tokens": min(20, body["max_tokens"])})

    with anthropic_server(say) as server:
        report = asyncio.run(probe_model(open_model("anthropic/m", base_url=server.url)))
    states = {feature.name: feature.state for feature in report.features}
    assert states["temperature"] == "honoured"
    assert states["seed, same"] == states["n"] == states["logprobs"] == "refused"
    assert states["stop"] == states["max_tokens"] == states["model name"] == "honoured"


def test_the_probe_refuses_a_thinking_budget():
    with anthropic_server() as server, pytest.raises(UserError, match="for the short replies of a probe"):
        model = open_model("anthropic/m", base_url=server.url, args={"thinking_budget": 2000})
        asyncio.run(probe_model(model))
    assert not server.requests
