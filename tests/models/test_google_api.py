"""Google's own client against a server that answers as generateContent does."""

import asyncio
import json
import sys

import pytest

from support import scripted_server as scripted
from support.asking import DIALOGUE, QUICK, asked
from support.vendor_bodies import generated, google_error, vendor_server
from truegrade.errors import ModelError, UserError
from truegrade.files.extras import has_package
from truegrade.models import open_model
from truegrade.models.google_api import read_google_body
from truegrade.models.probe import probe_model
from truegrade.records import Message, Prompt
from truegrade.records.config import RequestPolicy, Sampling

RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.02s"}
WRONG_KEY = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    for name in ("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_GENAI_USE_VERTEXAI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setenv("GEMINI_API_KEY", "the-key")
    monkeypatch.setenv("GOOGLE_API_KEY", "another-key")


def run(url, *samplings, prompt=DIALOGUE, request_policy=QUICK, n=None, **args):
    """Ask once for each set of parameters, all at the same time; the replies, and the model."""

    def ask(model):
        if n is not None:
            return [model.generate_many(prompt, samplings[0], n)]
        return [model.generate(prompt, sampling) for sampling in samplings]

    brought, model = asked("google/gemini-x", url, ask, request_policy=request_policy, **args)
    return (brought if n is None else brought[0]), model


def test_a_dialogue_its_parameters_and_the_thoughts_of_the_reply():
    usage = {
        "promptTokenCount": 12,
        "cachedContentTokenCount": 4,
        "candidatesTokenCount": 3,
        "thoughtsTokenCount": 8,
    }
    body = generated("hel", thoughts="hm", usage=usage)
    body["candidates"][0]["content"]["parts"].append({"text": "lo"})
    sampling = Sampling(temperature=0.2, top_p=0.9, max_tokens=50, seed=4, stop=("\nclass",))
    with vendor_server([scripted.Answer(body)]) as (server, url):
        (reply,), model = run(
            url, sampling, thinking_budget=1024, top_k=7, input_price=1, output_price=2,
            generationConfig={"presencePenalty": 0.5}, safetySettings=[{"category": "X", "threshold": "OFF"}],
        )  # fmt: skip
    assert (reply.text, reply.reasoning, reply.finish_reason, reply.model) == (
        "hello",
        "hm",
        "stop",
        "gemini-served-1",
    )
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.reasoning_tokens) == (12, 11, 8)
    assert reply.cost_usd == pytest.approx((12 * 1 + 11 * 2) / 1e6)
    (seen,) = server.requests
    assert seen.path.endswith("/models/gemini-x:generateContent")
    assert seen.headers["x-goog-api-key"] == "the-key"
    thinking = seen.body["generationConfig"].pop("thinkingConfig")
    assert {name.replace("_", "").lower(): value for name, value in thinking.items()} == {
        "thinkingbudget": 1024,
        "includethoughts": True,
    }
    assert seen.body == {
        "systemInstruction": {"role": "user", "parts": [{"text": "Be brief."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "Say hello."}]},
            {"role": "model", "parts": [{"text": "hello"}]},
            {"role": "user", "parts": [{"text": "Again."}]},
        ],
        "generationConfig": {
            "temperature": 0.2, "topP": 0.9, "topK": 7, "maxOutputTokens": 50, "seed": 4,
            "stopSequences": ["\nclass"], "presencePenalty": 0.5,
        },
        "safetySettings": [{"category": "X", "threshold": "OFF"}],
    }  # fmt: skip
    assert (model.name, model.base_url, model.adaptations) == ("google/gemini-x", url, ())


def test_unset_parameters_are_not_sent():
    with vendor_server([scripted.Answer(generated("x"))]) as (server, url):
        run(url, Sampling())
    assert set(server.requests[0].body) <= {"systemInstruction", "contents", "generationConfig"}
    assert not server.requests[0].body.get("generationConfig")


@pytest.mark.parametrize(
    ("args", "effort", "sent"),
    [
        ({"thinking_level": "low"}, None, {"thinkinglevel": "LOW", "includethoughts": True}),
        ({}, "high", {"thinkinglevel": "HIGH", "includethoughts": True}),
        ({"thinking_budget": 0}, None, {"thinkingbudget": 0}),
        (
            {"thinking_budget": -1, "include_thoughts": False},
            None,
            {"thinkingbudget": -1, "includethoughts": False},
        ),
    ],
)
def test_how_much_thinking_is_asked_for(args, effort, sent):
    with vendor_server([scripted.Answer(generated("x"))]) as (server, url):
        run(url, Sampling(reasoning_effort=effort), **args)
    thinking = server.requests[0].body["generationConfig"]["thinkingConfig"]
    assert {name.replace("_", "").lower(): value for name, value in thinking.items()} == sent


@pytest.mark.parametrize("reason", ["SAFETY", "RECITATION", "MAX_TOKENS", "PROHIBITED_CONTENT"])
def test_a_reply_that_was_stopped_is_empty_with_its_reason_and_asked_once(reason):
    body = {"candidates": [{"finishReason": reason}], "usageMetadata": {"promptTokenCount": 5}}
    with vendor_server([scripted.Answer(body)]) as (server, url):
        (reply,), _ = run(url, Sampling())
    assert (reply.text, reply.finish_reason) == ("", "length" if reason == "MAX_TOKENS" else reason)
    assert [attempt.outcome for attempt in reply.attempts] == ["empty"]
    assert len(server.requests) == 1


def test_a_blocked_prompt_is_an_empty_reply():
    body = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 5}}
    with vendor_server([scripted.Answer(body)]) as (server, url):
        (reply,), _ = run(url, Sampling())
    assert (reply.text, reply.finish_reason, reply.usage.input_tokens) == ("", "SAFETY", 5)
    assert len(server.requests) == 1


def test_several_candidates_of_one_request():
    with vendor_server([scripted.Answer(generated("a", "b", "c"))]) as (server, url):
        replies, _ = run(url, Sampling(), n=3, batch_n=True)
    assert [reply.text for reply in replies] == ["a", "b", "c"]
    assert [reply.usage is not None for reply in replies] == [True, False, False]
    assert server.requests[0].body["generationConfig"] == {"candidateCount": 3}


def test_passing_failures_are_asked_again_by_us_alone():
    script = [
        google_error(429, "RESOURCE_EXHAUSTED", "quota", RETRY),
        google_error(503, "UNAVAILABLE", "overloaded"),
        scripted.Answer(generated("cut"), cut=True),
        scripted.Answer(b"[1]"),
        scripted.Answer({"usageMetadata": {"promptTokenCount": 5}}),
        scripted.Answer(generated("done")),
    ]
    with vendor_server(script) as (server, url):
        (reply,), _ = run(url, Sampling())
    assert reply.text == "done"
    assert [attempt.status for attempt in reply.attempts] == [429, 503, None, 200, 200, 200]
    assert [attempt.error.split(":")[0] for attempt in reply.attempts[:-1]] == [
        "HTTP 429", "HTTP 503", "RemoteProtocolError", "malformed body", "no candidates in the body",
    ]  # fmt: skip
    assert len(server.requests) == 6


def test_a_long_wait_that_google_asks_for_ends_the_run():
    script = [google_error(429, "RESOURCE_EXHAUSTED", "quota", {**RETRY, "retryDelay": "43200s"})]
    with vendor_server(script) as (_, url), pytest.raises(ModelError, match="left alone for 43200 s"):
        run(url, Sampling())


def test_a_server_that_does_not_answer_is_timed_out():
    patience = RequestPolicy(timeout_s=0.3, max_attempts=1)
    with vendor_server([scripted.Answer(hold=True)]) as (_, url):
        (reply,), _ = run(url, Sampling(), request_policy=patience)
    assert [(attempt.outcome, attempt.error) for attempt in reply.attempts] == [("error", "timed out")]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            google_error(400, "INVALID_ARGUMENT", "API key not valid. Please pass the-key.", WRONG_KEY),
            r"HTTP 400: API key not valid. Please pass \[key\]\.; set GEMINI_API_KEY to a key",
        ),
        (google_error(404, "NOT_FOUND", "models/gemini-x is not found"), "check the model name 'gemini-x'"),
        (google_error(403, "PERMISSION_DENIED", "denied"), "the key in GEMINI_API_KEY may not use 'gemini-x'"),
        (
            google_error(400, "FAILED_PRECONDITION", "User location is not supported"),
            "what Google asks of your account",
        ),
    ],
)
def test_what_no_request_can_mend_ends_the_run_in_one_line(answer, told):
    with vendor_server([answer]) as (server, url):
        with pytest.raises(ModelError, match=told) as caught:
            run(url, Sampling())
        assert "\n" not in str(caught.value) and "the-key" not in str(caught.value)
    assert len(server.requests) == 1


def test_nobody_listens():
    with vendor_server([]) as (_, url):
        pass
    with pytest.raises(ModelError, match="check that the service runs there"):
        run(url, Sampling(), request_policy=RequestPolicy(max_attempts=1))


@pytest.mark.parametrize(
    ("message", "sampling", "left"),
    [
        (
            'Unknown name "seed" at generation_config: Cannot find field.',
            {"seed": 3, "max_tokens": 9},
            "maxOutputTokens",
        ),
        ("Thinking level is not supported for this model.", {"reasoning_effort": "low", "seed": 3}, "seed"),
        ("generationConfig.topP is not supported", {"top_p": 0.9, "temperature": 0.5}, "temperature"),
    ],
)
def test_a_refused_parameter_is_left_out_and_told(message, sampling, left):
    script = [google_error(400, "INVALID_ARGUMENT", message), scripted.Answer(generated("x"))]
    with vendor_server(script) as (server, url):
        (reply,), model = run(url, Sampling(**sampling))
    assert reply.text == "x"
    assert set(server.requests[1].body["generationConfig"]) == {left}
    assert model.adaptations == (f"{next(iter(sampling))} left out: HTTP 400: {message}",)


@pytest.mark.parametrize(
    ("sampling", "args", "told"),
    [
        ({"reasoning_effort": "none"}, {}, "Google takes minimal, low"),
        ({"reasoning_effort": "low"}, {"thinking_budget": 5}, "leave one of them out"),
        ({}, {"thinking_level": "low", "thinking_budget": 5}, "exclude each other"),
        ({}, {"thinking_level": "much"}, "model argument not understood"),
        ({}, {"project": "p"}, "project is for Vertex AI: add vertex=true"),
        ({"top_k": 5}, {}, "`model_args` top_k=5"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_anything_is_sent(sampling, args, told):
    with vendor_server([]) as (server, url), pytest.raises(UserError, match=told):
        run(url, Sampling(**sampling), **args)
    assert server.requests == []


def test_text_prompts_are_chats_only_where_asked():
    text = Prompt(messages=(Message(role="user", content="def f():\n"),), style="text", source="test")
    with vendor_server([scripted.Answer(generated("x"))]) as (server, url):
        with pytest.raises(UserError, match="text_as_chat=true"):
            run(url, Sampling(), prompt=text)
        (reply,), _ = run(url, Sampling(), prompt=text, text_as_chat=True)
    assert (reply.form, len(server.requests)) == ("reply", 1)


def test_no_more_connections_than_allowed_and_all_of_them():
    with vendor_server([scripted.Answer(generated("x"), delay_s=0.1)]) as (server, url):
        run(url, *[Sampling(seed=i) for i in range(24)], request_policy=RequestPolicy(max_connections=12))
    assert server.max_in_flight == 12


def test_what_is_missing_is_told_at_once(monkeypatch):
    monkeypatch.delenv("GEMINI_API_KEY")
    monkeypatch.delenv("GOOGLE_API_KEY")
    with pytest.raises(
        UserError, match="needs a key: set the environment variable GEMINI_API_KEY or GOOGLE_API_KEY"
    ):
        open_model("google/gemini-x")
    assert not has_package("no_package_at_all.client")
    monkeypatch.setitem(sys.modules, "google.genai", None)
    with pytest.raises(UserError, match=r"pip install 'truegrade\[google\]'"):
        open_model("google/gemini-x")


def test_the_probe_asks_in_googles_terms():
    def script(body):
        config = body.get("generationConfig", {})
        if config.get("responseLogprobs"):
            return google_error(400, "INVALID_ARGUMENT", "Logprobs is not enabled for this model")
        return scripted.Answer(generated(*["one two three four five six seven"] * config.get("candidateCount", 1)))

    with vendor_server(script) as (_, url):
        report = asyncio.run(probe_model(open_model("google/gemini-x", base_url=url)))
    assert report.state("temperature") == "ignored"
    assert report.state("logprobs") in {"refused", "unknown"}


@pytest.fixture
def service_account(tmp_path, monkeypatch):
    """Make a service account whose tokens come from an address."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    pem = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )

    def make(url):
        account = {
            "type": "service_account", "client_email": "a@b", "token_uri": f"{url}/token",
            "private_key": pem.decode(), "private_key_id": "1", "project_id": "found",
        }  # fmt: skip
        file = tmp_path / "account.json"
        file.write_text(json.dumps(account))
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))

    return make


def test_vertex_is_asked_with_a_token_of_the_service_account(service_account):
    granted = {"access_token": "a-token", "expires_in": 3600, "token_type": "Bearer"}
    with (
        vendor_server([scripted.Answer(granted)]) as (tokens, token_url),
        vendor_server([scripted.Answer(generated("x"))]) as (server, url),
    ):
        service_account(token_url)
        (reply,), model = run(url, Sampling(), vertex=True, location="europe-west4")
        at_home = open_model("google/gemini-x", args={"vertex": True, "project": "mine"})
    assert reply.text == "x"
    assert len(tokens.requests) == 1
    assert server.requests[0].headers["authorization"] == "Bearer a-token"
    assert server.requests[0].path.endswith(
        "/projects/found/locations/europe-west4/publishers/google/models/gemini-x:generateContent"
    )
    assert (model.base_url, at_home.base_url) == (url, "https://aiplatform.googleapis.com")


def test_vertex_credentials_that_give_no_token_end_the_run(service_account):
    expired = scripted.Answer({"error": "invalid_grant", "error_description": "expired"}, status=400)
    with vendor_server([expired]) as (_, token_url), vendor_server([]) as (server, url):
        service_account(token_url)
        with pytest.raises(
            ModelError, match=r"RefreshError: .*invalid_grant.*gcloud auth application-default login"
        ):
            run(url, Sampling(), vertex=True)
    assert server.requests == []


def test_vertex_without_credentials_is_told_at_once(tmp_path, monkeypatch):
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    with pytest.raises(UserError, match="gcloud auth application-default login"):
        open_model("google/gemini-x", args={"vertex": True})


@pytest.mark.parametrize("content", ["", "{", "null", '{"candidates": [{"content": {"parts": [{"text": 3}]}}]}'])
def test_any_body_is_an_answer_or_a_failure_that_may_pass(content):
    assert read_google_body(content).kind == "passing"
