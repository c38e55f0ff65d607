"""Refusals in the words of real services, and what is sent afterwards."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truegrade.models.openai_api import is_reasoning_model, openai_parameters
from truegrade.models.service_errors import RequestFailure
from truegrade.models.service_parameters import refused_parameter

SENT = {
    "temperature": 0.2,
    "top_p": 1,
    "max_tokens": 9,
    "seed": 1,
    "stop": ["x"],
    "reasoning_effort": "low",
    "n": 2,
}


def refusal(error, parameter=None, code=None):
    return RequestFailure(kind="refused", error=f"HTTP 400: {error}", status=400, parameter=parameter, code=code)


@pytest.mark.parametrize(
    ("error", "name"),
    [
        ("Unsupported parameter: 'max_tokens' is not supported with this model.", "max_tokens"),
        ("Unsupported value: 'temperature' does not support 0.2 with this model.", "temperature"),
        ("temperature is deprecated for this model", "temperature"),
        ("Unrecognized request argument supplied: reasoning_effort", "reasoning_effort"),
        ('Invalid JSON payload received. Unknown name "seed": Cannot find field.', "seed"),
        ("'seed': Extra inputs are not permitted", "seed"),
        ("Unsupported parameter: 'stop' is not supported with this model.", "stop"),
        ("Invalid n value (currently only n = 1 is supported)", "n"),
        ("'n' : number must be at most 1", "n"),
        ("unexpected keyword argument `top_p`", "top_p"),
        ("top_p is not supported together with temperature", "top_p"),
    ],
)
def test_a_refusal_names_its_parameter(error, name):
    assert refused_parameter(refusal(error), SENT) == name
    assert refused_parameter(refusal(error), {"presence_penalty": 1}) is None


@pytest.mark.parametrize(
    "error",
    [
        "This model's maximum context length is 4096 tokens; reduce max_tokens",
        "max_tokens is too large: 50000. This model supports at most 16384 completion tokens",
        "temperature must be at most 1",
        "this content is not allowed, so stop asking",
        "Unknown model",
    ],
)
def test_other_complaints_name_none(error):
    assert refused_parameter(refusal(error), SENT) is None


def test_the_field_of_the_error_wins_over_its_words():
    failure = refusal("max_tokens and temperature are trouble", parameter="top_p", code="unsupported_parameter")
    assert refused_parameter(failure, SENT) == "top_p"


def test_both_spellings_of_the_limit_are_tried_and_no_more(make_request):
    parameters, request = openai_parameters("chat"), make_request(max_tokens=9)
    first = parameters.build(*request[1:])
    assert parameters.learn(refusal("max_tokens is not supported"), first)
    second = parameters.build(*request[1:])
    assert (first, second) == ({"max_tokens": 9}, {"max_completion_tokens": 9})
    assert not parameters.learn(refusal("max_completion_tokens is not supported"), second)
    assert len(parameters.adaptations) == 1


def test_a_request_under_way_during_the_lesson_is_sent_again_without_a_second_note(make_request):
    parameters, request = openai_parameters("chat"), make_request(seed=1)
    both = parameters.build(*request[1:]), parameters.build(*request[1:])
    assert all(parameters.learn(refusal("unknown parameter: seed"), sent) for sent in both)
    assert parameters.build(*request[1:]) == {}
    assert parameters.adaptations == ("seed left out: HTTP 400: unknown parameter: seed",)


def test_stop_strings_of_prompt_and_run_are_joined_once(make_request):
    request = make_request(stop=("\nif", "\ndef"))
    prompt = msgspec.structs.replace(request.prompt, stop=("\ndef", "\nclass"))
    assert openai_parameters("text").build(prompt, request.sampling) == {"stop": ["\ndef", "\nclass", "\nif"]}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("o1", True),
        ("o3-mini", True),
        ("o4-mini-2025-04-16", True),
        ("gpt-5", True),
        ("gpt-5.1-codex", True),
        ("gpt-5-chat-latest", False),
        ("gpt-4o", False),
        ("o1x", False),
        ("omni", False),
    ],
)
def test_reasoning_models_by_name(name, expected):
    assert is_reasoning_model("openai", name) is expected
    assert is_reasoning_model("vllm", name) is False


@settings(derandomize=True, deadline=None)
@given(st.text(), st.none() | st.text(), st.none() | st.text())
def test_any_refusal_ends(error, parameter, code):
    """Whatever a service says, each parameter is given up at most once: no request is repeated for ever."""
    parameters = openai_parameters("chat")
    sent = dict(SENT)
    for _ in range(len(SENT) + 2):
        if not parameters.learn(refusal(error, parameter, code), sent):
            break
        sent = {name: value for name, value in sent.items() if parameters.accepts(name)}
    else:
        pytest.fail("still learning")
