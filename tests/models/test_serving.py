"""The whole OpenAI path against a real model: our server, the official client, no scripted replies."""

import asyncio
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
from urllib.parse import urlsplit

import pytest

import truegrade
from support import tiny_llama
from truegrade.errors import UserError
from truegrade.models import open_model
from truegrade.models.base import generate_sample
from truegrade.models.embedded import EmbeddedEngine
from truegrade.records.config import Sampling
from truegrade.web.port import ModelServer


@pytest.fixture(scope="module")
def llama_folder(tmp_path_factory):
    """A model whose context holds every prompt of HumanEval."""
    return tiny_llama.write_llama(tmp_path_factory.mktemp("served"), max_position_embeddings=2048)


@pytest.fixture(scope="module")
def server(llama_folder):
    with ModelServer(EmbeddedEngine(llama_folder, "tiny"), port=0) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def client(server):
    import openai

    with openai.OpenAI(base_url=server.url, api_key="none", max_retries=0) as client:
        yield client


def ask(model, *requests):
    async def run():
        try:
            return await asyncio.gather(*(generate_sample(model, *request) for request in requests))
        finally:
            await model.close()

    return asyncio.run(run())


@pytest.mark.parametrize("style", ["chat", "text"])
@pytest.mark.parametrize("sampling", [{}, {"temperature": 0.8, "top_p": 0.9, "seed": 5}], ids=["greedy", "seeded"])
def test_served_answers_are_the_embedded_ones(server, llama_folder, make_request, style, sampling):
    requests = [make_request(f"def f{i}(x):", sample=i, style=style, max_tokens=25, **sampling) for i in range(12)]
    served = ask(open_model("openai/tiny", base_url=server.url), *requests)
    direct = ask(open_model(f"embedded/{llama_folder}"), *requests)
    for there, here in zip(served, direct, strict=True):
        assert there.text == here.text
        assert (there.finish_reason, there.usage, there.form) == (here.finish_reason, here.usage, here.form)
        assert there.model == "tiny"


def test_a_whole_run_is_the_same_through_the_service(server, llama_folder, humaneval_file, tmp_path):
    def texts(**model):
        settings = {"limit": 6, "sampling": Sampling(max_tokens=40), "data": humaneval_file}
        run = truegrade.run("humaneval", out=tmp_path / str(len(model)), **settings, **model)
        return {completion.key: completion.text for completion in run.completions()}, run.summary

    direct, summary = texts(model=f"embedded/{llama_folder}")
    served, served_summary = texts(model="openai/tiny", base_url=server.url)
    assert len(direct) == 6
    assert served == direct
    assert served_summary["profiles"] == summary["profiles"]


def test_several_choices_are_the_following_seeds(client):
    settings = {"model": "tiny", "prompt": "def", "max_tokens": 10, "temperature": 1.0}
    together = client.completions.create(**settings, n=3, seed=7)
    alone = [client.completions.create(**settings, seed=seed).choices[0].text for seed in (7, 8, 9)]
    assert [choice.text for choice in together.choices] == alone
    assert together.usage.completion_tokens == 30
    without = {client.completions.create(**settings).choices[0].text for _ in range(4)}
    assert len(without) > 1


def test_messages_stop_and_models(client):
    turns = [
        {"role": "developer", "content": [{"type": "text", "text": "a"}]},
        {"role": "user", "content": "b"},
    ]
    whole = client.chat.completions.create(model="tiny", messages=turns, max_completion_tokens=12).choices[0]
    assert whole.message.content and whole.finish_reason == "length"
    stop = next(character for character in whole.message.content[2:] if character.isascii())
    cut = client.chat.completions.create(model="tiny", messages=turns, max_tokens=12, stop=stop).choices[0]
    assert cut.message.content == whole.message.content.partition(stop)[0]
    assert [model.id for model in client.models.list()] == ["tiny"]


@pytest.mark.parametrize(
    ("change", "status", "message"),
    [
        ({"model": "other"}, 404, "'other' is not served here; 'tiny' is"),
        ({"logprobs": True}, 400, "unsupported parameter: 'logprobs'"),
        ({"stream": True}, 400, "stream"),
        ({"messages": []}, 400, "messages"),
        ({"messages": [{"role": "tool", "content": ""}]}, 400, "role"),
        ({"temperature": -1}, 400, "temperature"),
        ({"n": 1000}, 400, r"\$\.n"),
        ({"reasoning_effort": "low"}, 400, "does not think"),
        ({"messages": [{"role": "user", "content": "q " * 2000}]}, 400, "leave no room"),
    ],
)
def test_what_is_not_honoured_is_refused(client, change, status, message):
    import openai

    body = {"model": "tiny", "messages": [{"role": "user", "content": "x"}], "max_tokens": 2} | change
    with pytest.raises(openai.APIStatusError, match=message) as caught:
        client.post("/chat/completions", cast_to=object, body=body)
    assert caught.value.status_code == status


def test_a_refused_parameter_is_left_out_by_our_own_client(server, make_request):
    model = open_model("openai/tiny", base_url=server.url, args={"top_k": 3})
    (reply,) = ask(model, make_request(max_tokens=2))
    assert reply.text is None
    assert "unsupported parameter: 'top_k'" in reply.attempts[0].error


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status"),
    [
        ("POST", "/v1/chat/completions", b"{", {}, 400),
        ("POST", "/v1/elsewhere", b"{}", {}, 404),
        ("GET", "/", None, {}, 404),
        ("POST", "/v1/completions", b"", {"Content-Length": "99999999"}, 413),
        ("POST", "/v1/completions", b"", {"Content-Length": "x"}, 400),
    ],
)
def test_bodies_and_paths_that_are_none(server, method, path, body, headers, status):
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=180)
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    assert response.status == status
    assert json.loads(response.read())["error"]["message"]
    connection.close()


def test_a_taken_port_is_named(server, llama_folder):
    with pytest.raises(UserError, match="choose another `port`"):
        ModelServer(server.engine, port=server.server_address[1])


@pytest.mark.slow
def test_the_command_serves_until_interrupted(llama_folder):
    import openai

    command = [sys.executable, "-m", "truegrade", "serve-model", "--model", f"embedded/{llama_folder}"]
    process = subprocess.Popen(
        [*command, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    url = process.stdout.readline().split(" at ")[1].split(";")[0]
    with openai.OpenAI(base_url=url, api_key="none") as client:
        reply = client.completions.create(model=str(llama_folder), prompt="def", max_tokens=3)
    assert reply.usage.completion_tokens == 3
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=180)
    assert process.returncode == 0
    assert errors.strip() == "stopped"
