"""The back end against a real engine: llama.cpp with random weights, sampled for real."""

import asyncio

import pytest

from truegrade.errors import ModelError
from truegrade.models import open_model
from truegrade.models.base import generate_sample
from truegrade.records.config import RequestPolicy


def ask(base_url, *requests, n=None, request_policy=None, **args):
    async def run():
        model = open_model(
            "vllm/tiny-random", base_url=base_url, request_policy=request_policy or RequestPolicy(), args=args
        )
        try:
            if n is not None:
                return await model.generate_many(*requests[0][1:], n)
            return await asyncio.gather(*(generate_sample(model, *request) for request in requests))
        finally:
            await model.close()

    return asyncio.run(run())


@pytest.mark.parametrize(("style", "form"), [("chat", "reply"), ("text", "completion")])
def test_both_endpoints_answer_and_count(llama_server, make_request, style, form):
    (reply,) = ask(llama_server, make_request("def f(x):", style=style, max_tokens=12, temperature=1.0, seed=1))
    assert reply.text
    assert (reply.form, reply.finish_reason, reply.model) == (form, "length", "tiny-random")
    # ten tokens in plain text: a byte-level vocabulary and a start token; the chat template adds words of its own
    assert (reply.usage.input_tokens == 10) == (style == "text")
    assert reply.usage.output_tokens == 12
    assert [attempt.outcome for attempt in reply.attempts] == ["ok"]


@pytest.mark.parametrize("style", ["chat", "text"])
def test_a_seed_decides_the_text(llama_server, make_request, style):
    def text(seed):
        request = make_request("def f(x):", style=style, max_tokens=24, temperature=1.0, seed=seed)
        return ask(llama_server, request)[0].text

    assert text(7) == text(7)
    assert text(7) != text(8)


def test_greedy_sampling_needs_no_seed(llama_server, make_request):
    request = make_request("x", max_tokens=16, temperature=0.0)
    first, second = ask(llama_server, request)[0], ask(llama_server, request)[0]
    assert first.text == second.text


@pytest.mark.parametrize("style", ["chat", "text"])
def test_a_stop_string_cuts(llama_server, make_request, style):
    sampling = {"style": style, "max_tokens": 24, "temperature": 1.0, "seed": 3}
    (whole,) = ask(llama_server, make_request("def f(x):", **sampling))
    stop = whole.text.strip()[8:10]
    (cut,) = ask(llama_server, make_request("def f(x):", stop=(stop,), **sampling))
    assert whole.finish_reason == "length"
    assert cut.finish_reason == "stop"
    assert cut.text == whole.text[: whole.text.index(stop)]


def test_several_samples_in_one_request(llama_server, make_request):
    replies = ask(llama_server, make_request(max_tokens=12, temperature=1.0, seed=1), n=3, batch_n=True)
    assert len({reply.text for reply in replies}) == 3
    assert replies[0].usage is not None
    assert [reply.usage for reply in replies[1:]] == [None, None]


def test_many_at_once_are_what_each_is_alone(llama_server, make_request):
    requests = [make_request(sample=i, max_tokens=8, temperature=1.0, seed=i) for i in range(40)]
    together = ask(llama_server, *requests, request_policy=RequestPolicy(max_connections=16))
    assert all(reply.text and len(reply.attempts) == 1 for reply in together)
    assert len({reply.text for reply in together}) == 40
    (alone,) = ask(llama_server, requests[5])
    assert alone.text == together[5].text


def test_an_engine_refusal_is_one_failed_sample(llama_server, make_request):
    (reply,) = ask(llama_server, make_request("x" * 20_000, max_tokens=4))
    assert reply.text is None
    assert reply.attempts[0].status == 400
    assert "context" in reply.attempts[0].error


def test_a_wrong_path_is_explained(llama_server, make_request):
    with pytest.raises(ModelError, match=r"HTTP 404.*check the model name 'tiny-random' and `base_url`"):
        ask(llama_server.replace("/v1", "/nowhere"), make_request())
