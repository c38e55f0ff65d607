"""The honesty probe: engines that are what they claim, and a server that lies about one thing at a time."""

import json
import random
import threading
from itertools import count

import pytest
from click.testing import CliRunner

from support import scripted_server as scripted
from truegrade.apps.evolve.genomes import AdapterGenes, TrainingGenes
from truegrade.apps.evolve.training.lessons import Lesson, TrainingOrder
from truegrade.apps.evolve.training.micro_trainer import EmbeddedTrainer
from truegrade.cli import main
from truegrade.errors import ModelError, UserError
from truegrade.models import open_model
from truegrade.models.embedded import EmbeddedEngine
from truegrade.pipeline.asking import probe, probe_by_name
from truegrade.records import Message, Prompt
from truegrade.web.port import ModelServer

FEATURES = (
    "temperature", "seed, same", "seed, different", "n", "stop", "max_tokens", "logprobs", "model name"
)  # fmt: skip


def words(how, limit):
    draw = random.Random(how)
    return ["".join(draw.choices("abcdefgh", k=4)) for _ in range(limit)]


class Speaker:
    """A made-up model behind the protocol, honest but for the features named in ``lies``; a token is a word."""

    def __init__(self, lies=(), refuses=(), model="served"):
        self.lies, self.refuses, self.model = lies, refuses, model
        self.asked = count()

    def __call__(self, body):
        for name in self.refuses:
            if name in body:
                return scripted.error(400, f"Unsupported parameter: '{name}'", param=name)
        if body["model"] != self.model and "model name" not in self.lies:
            return scripted.error(404, "no such model", code="model_not_found")
        choices = 1 if "n" in self.lies else body.get("n", 1)
        limit = 40 if "max_tokens" in self.lies else body.get("max_tokens", body.get("max_completion_tokens", 40))
        number = next(self.asked)
        made = [self.choice(body, limit, number if "copies" in self.lies else (number, i)) for i in range(choices)]
        usage = {"prompt_tokens": 5, "completion_tokens": limit * choices, "total_tokens": 5 + limit * choices}
        return scripted.Answer(
            {"id": "x", "object": "chat.completion", "model": self.model, "choices": made, "usage": usage}
        )

    def choice(self, body, limit, chance):
        cold = body.get("temperature", 1.0) == 0
        if "temperature" in self.lies:
            cold = True
        if "always sampled" in self.lies:
            cold = False
        seed = None if "seed" in self.lies else body.get("seed")
        if "one seed" in self.lies and seed is not None:
            seed = 0
        how = f"{body['messages'][0]['content']} {'cold' if cold else (chance if seed is None else ('s', seed))}"
        text, finish = " ".join(words(how, limit)), "length"
        for stop in body.get("stop", ()):
            if stop in text and "stop" not in self.lies:
                text, finish = text[: text.index(stop)], "stop"
        given = body.get("logprobs") and "logprobs" not in self.lies
        logprobs = {"content": [{"token": "x", "logprob": -0.5}] * limit} if given else None
        message = {"role": "assistant", "content": text}
        return {"index": 0, "finish_reason": finish, "message": message, "logprobs": logprobs}


@pytest.fixture
def served():
    """Probe a speaker; returns its report's states and the number of requests that it saw."""

    def run(**character):
        with scripted.scripted_server(Speaker(**character)) as server:
            report = probe_by_name("openai/served", base_url=server.url)
            assert report.requests == len(server.requests)
            return {feature.name: feature.state for feature in report.features}, report

    return run


def test_an_honest_server(served):
    states, report = served()
    assert states == dict.fromkeys(FEATURES, "honoured")
    assert report.requests <= 12
    assert report.output_tokens <= 12 * 32 + 3 * 32
    assert (report.model, report.style) == ("openai/served", "chat")


@pytest.mark.parametrize(
    ("lie", "changed"),
    [
        ("temperature", {"temperature": "ignored", "seed, same": "unknown", "seed, different": "unknown"}),
        ("always sampled", {"temperature": "ignored", "stop": "unknown"}),
        ("seed", {"seed, same": "ignored", "seed, different": "unknown"}),
        ("one seed", {"seed, different": "ignored"}),
        ("n", {"n": "ignored"}),
        ("copies", {"n": "ignored"}),
        ("stop", {"stop": "ignored"}),
        ("max_tokens", {"max_tokens": "ignored"}),
        ("logprobs", {"logprobs": "ignored"}),
        ("model name", {"model name": "ignored"}),
    ],
)
def test_a_server_that_lies_about_one_thing(served, lie, changed):
    states, report = served(lies=(lie,))
    assert states == dict.fromkeys(FEATURES, "honoured") | changed
    assert report.requests <= 24


@pytest.mark.parametrize("name", ["temperature", "seed", "n", "stop", "logprobs"])
def test_a_refusal_is_no_lie(served, name):
    states, report = served(refuses=(name,))
    refused = {feature for feature, state in states.items() if state == "refused"}
    assert refused == ({"seed, same", "seed, different"} if name == "seed" else {name})
    told = next(feature.evidence for feature in report.features if feature.name in refused)
    assert f"{name} left out: HTTP 400: Unsupported parameter" in told


def test_a_token_limit_under_its_other_name_is_honoured(served):
    states, _ = served(refuses=("max_tokens",))
    assert states == dict.fromkeys(FEATURES, "honoured")


def test_a_wrong_key_is_said_once():
    with scripted.scripted_server([scripted.error(401, "bad key")]) as server:
        with pytest.raises(ModelError, match=r"bad key.*OPENAI_API_KEY"):
            probe_by_name("openai/x", base_url=server.url)
        assert len(server.requests) == 1


def test_a_passing_failure_is_tried_again():
    speaker = Speaker()
    calls = count()

    def now_and_then(body):
        if next(calls) == 2:
            return scripted.error(429, "slow down", headers={"retry-after": "0"})
        return speaker(body)

    with scripted.scripted_server(now_and_then) as server:
        report = probe_by_name("openai/served", base_url=server.url)
    assert {feature.state for feature in report.features} == {"honoured"}


def test_a_real_engine(llama_server):
    report = probe_by_name("openai/tiny-random", base_url=llama_server)
    states = {feature.name: feature.state for feature in report.features}
    assert states == dict.fromkeys(FEATURES, "honoured") | {
        "model name": "ignored"
    }  # llama.cpp answers to any name


def test_a_real_engine_with_text_to_continue(llama_server):
    report = probe_by_name("openai/tiny-random", base_url=llama_server, style="text")
    assert [report.state(name) for name in FEATURES[:-1]] == ["honoured"] * 7


def test_our_own_server(llama_folder):
    with ModelServer(EmbeddedEngine(llama_folder, "tiny"), port=0) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        report = probe_by_name("openai/tiny", base_url=server.url)
        server.shutdown()
        thread.join()
    states = {feature.name: feature.state for feature in report.features}
    assert states == dict.fromkeys(FEATURES, "honoured") | {"logprobs": "refused"}


@pytest.fixture(scope="module")
def adapters(llama_folder, tmp_path_factory):
    """An adapter that was trained and one that was not: its B is zero, so it changes nothing."""
    trainer = EmbeddedTrainer(f"embedded/{llama_folder}")
    genes = AdapterGenes(kind="lora", rank=2, alpha=4.0, dropout=0.0, modules=("q_proj", "v_proj"))
    prompt = Prompt(messages=(Message(role="user", content="def f(x):"),), source="test")
    folder = tmp_path_factory.mktemp("probed")
    for name, rate in (("trained", 0.05), ("idle", 1e-30)):
        order = TrainingOrder(
            base=trainer.base, adapter=genes, training=TrainingGenes(learning_rate=rate, epochs=2), seed=0
        )
        trainer.train(order, [Lesson(problem="x", prompt=prompt, reply="return 7")], folder / name)
    return folder


@pytest.mark.parametrize(("name", "state"), [("trained", "honoured"), ("idle", "ignored")])
def test_an_adapter_with_and_without_effect(llama_folder, adapters, name, state):
    result = CliRunner().invoke(
        main, ["doctor", "--json", "-m", f"embedded/{llama_folder}", "--adapter", str(adapters / name)]
    )
    assert result.exit_code == 0, result.output
    found = {feature["name"]: feature for feature in json.loads(result.stdout)["features"]}
    assert found["adapter"]["state"] == state, found["adapter"]
    assert (found["temperature"]["state"], found["n"]["state"]) == ("honoured", "unknown")


def test_an_adapter_that_a_server_does_not_apply():
    """vLLM with data parallelism once gave the base model's replies under the adapter's name."""
    speaker = Speaker(lies=("model name",))
    with scripted.scripted_server(speaker) as server:
        report = probe_by_name("openai/adapted", base_url=server.url, base_model="openai/served")
    assert report.state("adapter") == "ignored"
    assert report.state("model name") == "ignored"


@pytest.mark.parametrize("name", ["baseline/lookup", "baseline/empty"])
def test_what_generates_nothing_is_not_probed(name):
    with pytest.raises(UserError, match="nothing to probe"):
        probe(open_model(name))


def test_doctor_prints_it():
    with scripted.scripted_server(Speaker(lies=("n",))) as server:
        result = CliRunner().invoke(main, ["doctor", "--model", "openai/served", "--base-url", server.url])
    assert result.exit_code == 0, result.output
    assert "asked for 3 choices, got 1" in " ".join(result.output.split())
    assert f"{server.url}: 12 requests" in result.output


def test_options_of_the_probe_need_a_model():
    result = CliRunner().invoke(main, ["doctor", "--base-url", "http://localhost:1/v1"])
    assert result.exit_code == 2
    assert "name what to probe with --model" in result.stderr


# ---------------------------------------------------------------------------------------------- in a run


def run_with_probe(tmp_path, *options, lies=()):
    with scripted.scripted_server(Speaker(lies=lies)) as server:
        arguments = ("run", "micro-repair", "--no-grade", "-T", "size=2", "--limit", "2", "--max-tokens", "8",
                     "--probe", "-m", "openai/served", "--base-url", server.url,
                     "--out", str(tmp_path / "run"))  # fmt: skip
        return CliRunner().invoke(main, [*arguments, *options]), server


def test_the_manifest_keeps_what_was_found(tmp_path):
    result, _ = run_with_probe(tmp_path, "-n", "2", lies=("logprobs",))
    assert result.exit_code == 0, result.output
    stored = json.loads((tmp_path / "run" / "manifest.json").read_text())["probe"]
    states = {feature["name"]: feature["state"] for feature in stored["features"]}
    assert states == dict.fromkeys(FEATURES, "honoured") | {"logprobs": "ignored"}


def test_several_samples_of_a_server_without_temperature_are_refused(tmp_path):
    result, server = run_with_probe(tmp_path, "-n", "2", lies=("temperature",))
    assert result.exit_code == 2
    assert "-n 2: openai/served ignores the temperature" in result.stderr
    assert "say nothing about pass@k" in result.stderr
    assert not (tmp_path / "run").exists()
    assert all("Write thirty" in m or "Continue" in m or "def add" in m
               for m in (seen.body["messages"][0]["content"] for seen in server.requests))  # fmt: skip
    one, _ = run_with_probe(tmp_path, "-n", "1", lies=("temperature",))
    assert one.exit_code == 0, one.output
