"""Bodies of responses, well-formed and otherwise."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truegrade.models.anthropic_api import read_message
from truegrade.models.openai_api import read_body
from truegrade.models.service_errors import Body, RequestFailure
from truegrade.records import Usage


def read(document):
    return read_body(json.dumps(document).encode())


def message(**fields):
    return {"choices": [{"message": fields, "finish_reason": "stop"}]}


def test_content_in_parts_is_joined_and_its_thinking_kept_apart():
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "so"}, {"type": "text", "text": " far"}]},
        {"type": "text", "text": "4"},
        {"type": "text", "text": "2"},
        {"type": "image", "url": "x"},
    ]
    (choice,) = read(message(content=parts)).choices
    assert (choice.text, choice.reasoning) == ("42", "so far")


def test_a_refusal_is_the_text():
    (choice,) = read(message(content=None, refusal="I will not.")).choices
    assert choice.text == "I will not."


@pytest.mark.parametrize(
    ("content", "reason", "read_as"),
    [
        (None, "tool_calls", "tool_calls"),
        (" ", "stop", "tool_calls"),
        (None, "length", "length"),
        ("I call it.", "stop", "tool_calls"),
    ],
)
def test_calls_are_why_a_reply_ended(content, reason, read_as):
    calls = [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    document = message(content=content, tool_calls=calls)
    document["choices"][0]["finish_reason"] = reason
    body = read(document)
    assert body.choices[0].finish_reason == read_as
    assert not body.empty_by_chance


def test_anthropic_ends_with_calls_in_the_same_word():
    body = read_message(
        {"content": [{"type": "tool_use", "id": "1", "name": "f", "input": {}}], "stop_reason": "tool_use"}
    )
    assert body.choices[0].finish_reason == "tool_calls"
    assert not body.empty_by_chance


def test_thinking_billed_outside_completion_tokens_is_counted():
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 115}
    assert read(message(content="x") | {"usage": usage}).usage == Usage(input_tokens=10, output_tokens=105)


@pytest.mark.parametrize(
    ("usage", "read_as"),
    [
        (None, None),
        ({}, Usage(input_tokens=0, output_tokens=0)),
        ({"prompt_tokens": None, "completion_tokens": 3}, Usage(input_tokens=0, output_tokens=3)),
    ],
)
def test_usage_may_be_missing_in_part(usage, read_as):
    body = read(message(content="x") | {"usage": usage})
    assert isinstance(body, Body)
    assert body.usage == read_as


def test_broken_characters_become_replacement_characters():
    raw = b'{"choices": [{"message": {"content": "a\\ud83d b\\ud83d\\ude00 c\xff"}}]}'
    text = read_body(raw).choices[0].text
    assert text == "a� b\U0001f600 c�"
    text.encode("utf-8")


@pytest.mark.parametrize("raw", [b"", b"null", b"7", b'"x"', b"[]", b"{}", b'{"choices": null}', b"[" * 100_000])
def test_what_holds_no_answer_is_a_passing_failure(raw):
    failure = read_body(raw)
    assert isinstance(failure, RequestFailure)
    assert failure.kind == "passing"


@settings(derandomize=True, deadline=None)
@given(st.binary())
def test_no_bytes_raise(raw):
    assert isinstance(read_body(raw), RequestFailure)


@settings(derandomize=True, deadline=None)
@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_any_text_comes_through_untouched(text):
    assert read(message(content=text)).choices[0].text == text
