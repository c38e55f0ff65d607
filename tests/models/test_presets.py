"""Presets by their names, each against a server that speaks its vendor's protocol."""

import importlib

import pytest

from support import anthropic_server as messages
from support import scripted_server as scripted
from support.asking import DIALOGUE, asked
from truegrade.models.providers import PRESETS, PROVIDERS
from truegrade.records import Usage
from truegrade.records.config import Sampling

WAIT_S = 0.2
CHAT = {
    "usage": {
        "prompt_tokens": 17,
        "completion_tokens": 20,
        "total_tokens": 37,
        "completion_tokens_details": {"reasoning_tokens": 12},
    }
}
CLAUDE = {"cache_read_input_tokens": 5, "cache_creation_input_tokens": 2}
CLAUDE |= {"output_tokens_details": {"thinking_tokens": 12}}


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    for provider in PROVIDERS.values():
        for name in provider.key_variables:
            monkeypatch.setenv(name, messages.KEY)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)


def answered(name, server):
    """The reply of a preset that is refused once for its rate; and after how many seconds it asked again."""
    sampling = Sampling(max_tokens=PRESETS[name].max_tokens)
    (reply,), _ = asked(name, server.url, lambda model: [model.generate(DIALOGUE, sampling)])
    refused, answered = server.requests
    return reply, answered.at - refused.at


def check(reply, waited_s):
    assert [(attempt.outcome, attempt.status) for attempt in reply.attempts] == [("error", 429), ("ok", 200)]
    assert waited_s >= WAIT_S
    assert (reply.text, reply.reasoning, reply.finish_reason) == ("the answer", "so it is", "length")
    assert reply.usage == Usage(input_tokens=17, output_tokens=20, reasoning_tokens=12)


@pytest.mark.parametrize("name", [name for name, preset in PRESETS.items() if preset.provider != "anthropic"])
def test_by_the_openai_protocol(name):
    body = scripted.chat("the answer", finish_reason="length", reasoning_content="so it is") | CHAT
    limited = scripted.error(429, "slow down", headers={"retry-after": str(WAIT_S)})
    with scripted.scripted_server([limited, scripted.Answer(body)]) as server:
        check(*answered(name, server))
    assert server.requests[1].body["model"] == PRESETS[name].model


@pytest.mark.parametrize("name", [name for name, preset in PRESETS.items() if preset.provider == "anthropic"])
def test_by_the_messages_api(name):
    importlib.import_module("anthropic")  # loading it takes seconds, which the first request's limit would count
    told = messages.Told("the answer", thinking=["so it is"], stop_reason="max_tokens", usage=CLAUDE)
    limited = messages.error(429, "rate_limit_error", "slow down", {"retry-after": str(WAIT_S)})
    preset = PRESETS[name]
    with messages.anthropic_server(limited, told, models=[preset.model], thinks=preset.reasoning) as server:
        check(*answered(name, server))
