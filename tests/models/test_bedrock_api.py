"""boto3 against a server that answers as Bedrock's Converse does; requests are signed for real."""

import asyncio
import sys
import threading

import pytest

from support import scripted_server as scripted
from support.asking import DIALOGUE, QUICK, asked
from support.vendor_bodies import aws_error, conversed, vendor_server
from truegrade.errors import ModelError, UserError
from truegrade.models import open_model, provider_of
from truegrade.models.bedrock_api import read_converse
from truegrade.models.probe import probe_model
from truegrade.records import Message, Prompt
from truegrade.records.config import RequestPolicy, Sampling

CLAUDE = "us.anthropic.claude-x-20250514-v1:0"
ARN = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-x-v1:0"


@pytest.fixture(autouse=True)
def credentials(monkeypatch, tmp_path):
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")


def run(url, *samplings, name=CLAUDE, prompt=DIALOGUE, request_policy=QUICK, **args):
    """Ask once for each set of parameters, all at the same time; the replies, and the model."""

    def ask(model):
        return (model.generate(prompt, sampling) for sampling in samplings)

    return asked(f"bedrock/{name}", url, ask, request_policy=request_policy, **args)


def test_a_dialogue_its_parameters_and_the_thoughts_of_the_reply():
    usage = {"inputTokens": 5, "outputTokens": 20, "totalTokens": 32}
    usage |= {"cacheReadInputTokens": 4, "cacheWriteInputTokens": 3}
    body = conversed("hel", thoughts="hm", usage=usage)
    body["output"]["message"]["content"] += [{"text": "lo"}, {"reasoningContent": {"redactedContent": "eA=="}}]
    sampling = Sampling(temperature=0.0, top_p=0.9, max_tokens=50, seed=4, stop=("\nclass",))
    with vendor_server([scripted.Answer(body)]) as (server, url):
        (reply,), model = run(url, sampling, top_k=7, input_price=1, output_price=2)
    assert (reply.text, reply.reasoning, reply.finish_reason, reply.model) == ("hello", "hm", "stop", CLAUDE)
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (12, 20)
    assert reply.cost_usd == pytest.approx((12 * 1 + 20 * 2) / 1e6)
    (seen,) = server.requests
    assert seen.path == f"/model/{CLAUDE.replace(':', '%3A')}/converse"
    assert seen.headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
    assert "/us-east-1/bedrock/aws4_request" in seen.headers["authorization"]
    assert seen.body == {
        "system": [{"text": "Be brief."}],
        "messages": [
            {"role": "user", "content": [{"text": "Say hello."}]},
            {"role": "assistant", "content": [{"text": "hello"}]},
            {"role": "user", "content": [{"text": "Again."}]},
        ],
        "inferenceConfig": {"temperature": 0.0, "topP": 0.9, "maxTokens": 50, "stopSequences": ["\nclass"]},
        "additionalModelRequestFields": {"top_k": 7},
    }
    assert (model.name, model.base_url) == (f"bedrock/{CLAUDE}", url)
    assert model.adaptations == ("seed left out: the Converse operation has no such parameter",)


def test_a_budget_to_think_with():
    with vendor_server([scripted.Answer(conversed("x", thoughts="hm"))]) as (server, url):
        _, model = run(url, Sampling(temperature=0.5, max_tokens=4000), thinking_budget=2048)
        with pytest.raises(UserError, match="leaves no room for an answer in 2000"):
            run(url, Sampling(max_tokens=2000), thinking_budget=2048)
    assert server.requests[0].body["additionalModelRequestFields"] == {
        "thinking": {"type": "enabled", "budget_tokens": 2048}
    }
    assert server.requests[0].body["inferenceConfig"] == {"maxTokens": 4000}
    assert model.adaptations == ("temperature left out: a request with thinking takes none",)
    assert len(server.requests) == 1


def test_a_profile_by_its_arn():
    assert provider_of(f"bedrock/{ARN}")[1] == ARN
    with vendor_server([scripted.Answer(conversed("x"))]) as (server, url):
        (reply,), model = run(url, Sampling(), name=ARN)
    assert (reply.text, model.name) == ("x", f"bedrock/{ARN}")
    assert server.requests[0].path == f"/model/{ARN.replace(':', '%3A').replace('/', '%2F')}/converse"


@pytest.mark.parametrize(
    ("stop", "finish", "asked"),
    [("max_tokens", "length", 1), ("guardrail_intervened", "guardrail_intervened", 1), ("end_turn", "stop", 3)],
)
def test_an_empty_reply_is_asked_again_only_where_it_may_be_chance(stop, finish, asked):
    with vendor_server([scripted.Answer(conversed("", stop=stop))]) as (server, url):
        (reply,), _ = run(url, Sampling())
    assert (reply.text, reply.finish_reason, len(server.requests)) == ("", finish, asked)


def test_passing_failures_are_asked_again_by_us_alone():
    script = [
        aws_error(429, "ThrottlingException", "Too many requests", **{"retry-after": "0"}),
        aws_error(408, "ModelTimeoutException", "too slow"),
        aws_error(503, "ServiceUnavailableException", "later"),
        aws_error(424, "ModelErrorException", "the model failed"),
        scripted.Answer(conversed("cut"), cut=True),
        scripted.Answer({"output": 3}),
        scripted.Answer(b"<html>", status=502),
        scripted.Answer(conversed("done")),
    ]
    with vendor_server(script) as (server, url):
        (reply,), _ = run(url, Sampling(), request_policy=RequestPolicy(max_attempts=8, backoff_s=0.01))
    assert reply.text == "done"
    assert [attempt.status for attempt in reply.attempts] == [429, 408, 503, 424, 200, 200, 502, 200]
    assert reply.attempts[0].error == "HTTP 429: ThrottlingException: Too many requests"
    assert [attempt.error.split(":")[0] for attempt in reply.attempts[4:6]] == ["malformed body"] * 2
    assert len(server.requests) == 8


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            aws_error(400, "ValidationException", "The provided model identifier is invalid."),
            "list-inference-profiles",
        ),
        (
            aws_error(
                400, "ValidationException", "Invocation of model ID x with on-demand throughput isn't supported."
            ),
            "many models answer only by an inference profile",
        ),
        (
            aws_error(404, "ResourceNotFoundException", "Could not resolve the model"),
            "check the name and the region",
        ),
        (aws_error(403, "AccessDeniedException", "no access to the model"), "ask for access to the model"),
        (
            aws_error(403, "UnrecognizedClientException", "The security token is invalid"),
            r"HTTP 403: UnrecognizedClientException: The security token is invalid; give credentials",
        ),
    ],
)
def test_what_no_request_can_mend_ends_the_run_in_one_line(answer, told):
    with vendor_server([answer]) as (server, url):
        with pytest.raises(ModelError, match=told) as caught:
            run(url, Sampling())
        assert "\n" not in str(caught.value)
    assert len(server.requests) == 1


def test_nobody_listens():
    with vendor_server([]) as (_, url):
        pass
    with pytest.raises(ModelError, match="check that the service runs there"):
        run(url, Sampling(), request_policy=RequestPolicy(max_attempts=1))


@pytest.mark.parametrize(
    ("message", "sampling", "left"),
    [
        ("This model doesn't support the stopSequences field.", {"stop": ("a",), "max_tokens": 9}, {"maxTokens"}),
        (
            "`temperature` and `top_p` cannot both be specified.",
            {"top_p": 0.9, "temperature": 0.8},
            {"temperature"},
        ),
    ],
)
def test_a_refused_parameter_is_left_out_and_told(message, sampling, left):
    script = [aws_error(400, "ValidationException", message), scripted.Answer(conversed("x"))]
    with vendor_server(script) as (server, url):
        (reply,), model = run(url, Sampling(**sampling))
    assert reply.text == "x"
    assert set(server.requests[1].body["inferenceConfig"]) == left
    name = next(iter(sampling))
    assert model.adaptations == (f"{name} left out: HTTP 400: ValidationException: {message}",)


def test_as_many_connections_as_allowed_and_the_loop_goes_on_meanwhile():
    with vendor_server([scripted.Answer(conversed("x"), delay_s=0.1)]) as (server, url):
        run(
            url, *[Sampling(max_tokens=i + 1) for i in range(24)], request_policy=RequestPolicy(max_connections=12)
        )
    assert server.max_in_flight == 12


def test_a_request_under_way_holds_nobody_back():
    patience = RequestPolicy(timeout_s=0.3, max_attempts=1)
    with vendor_server([scripted.Answer(hold=True)]) as (_, url):
        (reply,), _ = run(url, Sampling(), request_policy=patience)
        assert [(attempt.outcome, attempt.error) for attempt in reply.attempts] == [("error", "timed out")]
        # Python waits at its end for every thread that is no daemon
        assert all(thread.daemon for thread in threading.enumerate() if thread.name == "bedrock")


@pytest.mark.parametrize(
    ("taken", "args", "told"),
    [
        (["AWS_DEFAULT_REGION"], {}, "needs a region: give `model_args` region=us-east-1, or set AWS_REGION"),
        (
            ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"],
            {},
            "needs credentials: set AWS_BEARER_TOKEN_BEDROCK, or",
        ),
        (["AWS_SECRET_ACCESS_KEY"], {}, "AWS configuration: Partial credentials found"),
        ([], {"profile": "nobody"}, r"profile \(nobody\) could not be found: aws configure list-profiles"),
        ([], {"thinking_budget": 0}, "model argument not understood"),
        ([], {"api_key_env": "MINE"}, "Bedrock takes a key from AWS_BEARER_TOKEN_BEDROCK alone"),
    ],
)
def test_what_is_missing_is_told_at_once(monkeypatch, taken, args, told):
    for name in taken:
        monkeypatch.delenv(name)
    with pytest.raises(UserError, match=told):
        open_model(f"bedrock/{CLAUDE}", args=args)


def test_the_client_is_an_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(UserError, match=r"pip install 'truegrade\[bedrock\]'"):
        open_model(f"bedrock/{CLAUDE}")


def test_region_and_credentials_may_come_from_a_profile_a_variable_or_a_token(monkeypatch, tmp_path):
    (tmp_path / "config").write_text("[profile work]\nregion = eu-west-1\n")
    (tmp_path / "credentials").write_text("[work]\naws_access_key_id = A\naws_secret_access_key = B\n")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.delenv("AWS_DEFAULT_REGION")

    def address(**args):
        return open_model(f"bedrock/{CLAUDE}", args=args).base_url

    assert address(profile="work") == "https://bedrock-runtime.eu-west-1.amazonaws.com"
    assert address(profile="work", region="us-west-2") == "https://bedrock-runtime.us-west-2.amazonaws.com"
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "a-token")
    assert address() == "https://bedrock-runtime.eu-central-1.amazonaws.com"


def test_credentials_that_cannot_be_had_are_one_line(tmp_path):
    (tmp_path / "config").write_text("[profile work]\nregion = eu-west-1\ncredential_process = false\n")
    with vendor_server([]) as (server, url):
        with pytest.raises(UserError, match=r"from custom-process; .*aws sso login") as caught:
            run(url, Sampling(), profile="work")
        assert "\n" not in str(caught.value)
    assert server.requests == []


def test_text_prompts_are_chats_only_where_asked():
    text = Prompt(messages=(Message(role="user", content="def f():\n"),), style="text", source="test")
    with vendor_server([scripted.Answer(conversed("x"))]) as (server, url):
        with pytest.raises(UserError, match="text_as_chat=true"):
            run(url, Sampling(), prompt=text)
        (reply,), _ = run(url, Sampling(), prompt=text, text_as_chat=True)
    assert (reply.form, len(server.requests)) == ("reply", 1)


def test_the_probe_knows_what_converse_does_not_have():
    with vendor_server([scripted.Answer(conversed("one two three four five six seven"))]) as (_, url):
        report = asyncio.run(probe_model(open_model(f"bedrock/{CLAUDE}", base_url=url)))
    assert report.state("temperature") == "ignored"
    assert {report.state(name) for name in ("n", "logprobs", "seed, same")} == {"refused"}


@pytest.mark.parametrize(
    "response", [{}, {"output": {}}, {"output": {"message": {"content": [{"text": 3}]}}}, {"output": None}]
)
def test_any_response_is_an_answer_or_a_failure_that_may_pass(response):
    assert read_converse(response).kind == "passing"
