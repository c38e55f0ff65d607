"""Names of models, keys and addresses."""

import asyncio
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from truegrade.errors import UnknownName, UserError
from truegrade.models import DEFAULT_MODEL, find_preset, list_models, open_model
from truegrade.models.base import generate_sample
from truegrade.models.providers import PRESETS, PROVIDERS, find_endpoint, is_local, list_price
from truegrade.records import Completion, Usage
from truegrade.records.config import RequestPolicy

KEYS = {variable: "k" for provider in PROVIDERS.values() for variable in provider.key_variables}


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_every_preset_opens_under_its_full_name(name, monkeypatch):
    for variable, key in KEYS.items():
        monkeypatch.setenv(variable, key)
    preset = PRESETS[name]
    address = "http://h:8000/v1" if preset.provider == "vllm" else None
    model = open_model(name, base_url=address)
    assert model.name == preset.name == f"{preset.provider}/{preset.model}"
    assert model.base_url == (address or PROVIDERS[preset.provider].base_url)
    assert model.price == preset.price
    assert find_preset(name) == find_preset(preset.name) == preset


def test_the_models_of_the_published_comparison_are_presets():
    assert {
        "gpt-4o-mini",
        "gpt-4o",
        "o3-mini",
        "gpt-3.5-turbo-1106",
        "deepseek-r1",
        "gemini-2.5-pro",
        "gpt-oss-20b",
        "gpt-oss-120b",
    } <= set(PRESETS)


def test_prices_are_per_million_tokens():
    price = list_price("openai", "gpt-4o-mini")
    assert price.cost_usd(Usage(input_tokens=1_000_000, output_tokens=500_000)) == pytest.approx(0.15 + 0.30)
    assert "check" in str(price)
    assert list_price("openai", "gpt-unheard-of") is None


def test_a_price_holds_only_at_home_unless_the_user_gives_one(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert open_model("gpt-4o").price is not None
    assert open_model("gpt-4o", base_url="https://gateway.example/v1").price is None
    price = open_model("gpt-4o", args={"input_price": "3", "output_price": 4}).price
    assert (price.input_usd, price.output_usd) == (3.0, 4.0)
    with pytest.raises(UserError, match="go together"):
        open_model("openai/other", args={"input_price": 3})


def test_local_models_without_what_they_need(monkeypatch, tmp_path):
    for name in ("adapter_config.json", "adapter_model.safetensors"):
        (tmp_path / name).write_text("")
    for package in ("torch", "transformers"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        UserError, match=r"needs torch and transformers, not installed here: pip install 'truegrade\[local\]'"
    ):
        open_model("hf/org/name")
    with pytest.raises(UserError, match="torch and transformers and peft and accelerate, not"):
        open_model("hf/org/name", args={"adapter": str(tmp_path), "device": "map"})
    monkeypatch.setattr("truegrade.models.embedded._FOLDERS", {"truegrade-micro": Path("nowhere")})
    with pytest.raises(UserError, match="without the weights of truegrade-micro"):
        open_model("embedded/truegrade-micro")
    with pytest.raises(UserError, match="write hf/NAME"):
        open_model("hf/")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("embeded/truegrade-micro", "no model provider 'embeded'; did you mean embedded"),
        ("gpt4o-mini", "no model 'gpt4o-mini'; did you mean gpt-4o-mini"),
        ("opnai/gpt-4o", "no model provider 'opnai'; did you mean openai"),
        (
            "completely-unknown-thing",
            "such as openai-compatible/completely-unknown-thing with `base_url`; `truegrade list models` lists",
        ),
    ],
)
def test_unknown_names_get_a_suggestion(name, message):
    with pytest.raises(UnknownName) as caught:
        open_model(name)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("name", "base_url", "args", "message"),
    [
        ("openai/gpt-4o", None, {}, "set the environment variable OPENAI_API_KEY"),
        ("gemini/x", None, {}, "set the environment variable GEMINI_API_KEY or GOOGLE_API_KEY"),
        ("openai/gpt-4o", "https://far.example/v1", {}, "needs a key"),
        ("vllm/x", "http://h:1/v1", {"api_key_env": "MY_KEY"}, "set the environment variable MY_KEY"),
        ("vllm/x", None, {}, "start it by vllm serve x, and give `base_url` http://HOST:8000/v1"),
        ("codellama-7b", None, {}, "vllm serve codellama/CodeLlama-7b-Instruct-hf, and give"),
        ("deepseek-coder-6.7b", None, {}, "vllm serve deepseek-ai/deepseek-coder-6.7b-instruct, and give"),
        ("qwen2.5-coder-7b", None, {}, "vllm serve Qwen/Qwen2.5-Coder-7B-Instruct, and give"),
        ("vllm/x", None, {"adapter": "a"}, "vllm serve BASE --lora-modules NAME=PATH, then vllm/NAME"),
        ("openai-compatible/x", None, {}, "give `base_url`"),
        ("vllm/x", "localhost:8000", {}, "is no address of a service"),
        ("vllm/x", "http://", {}, "is no address of a service"),
        ("vllm/x", "http://h:99999/v1", {}, "is no address of a service"),
        ("vllm/", None, {}, "lacks its name"),
        ("vllm/x", "http://h:1/v1", {"max_empty": "many"}, "max_empty"),
        ("vllm/x", "http://h:1/v1", {"input_price": -1, "output_price": 1}, "input_price"),
        ("replay:x.jsonl", "http://localhost/v1", {}, "leave `base_url` out"),
        ("baseline/empty", None, {"a": 1}, "leave `model_args` a out"),
    ],
)
def test_user_errors_name_the_next_step(name, base_url, args, message):
    if name.startswith("baseline"):
        pytest.importorskip("truegrade.models.baseline")
    with pytest.raises(UserError) as caught:
        open_model(name, base_url=base_url, args=args)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_where_addresses_and_keys_come_from():
    environ = {"OPENAI_BASE_URL": "http://gate/v1/", "OPENAI_API_KEY": "a", "GOOGLE_API_KEY": "b", "MINE": "c"}
    endpoint = find_endpoint("openai", environ=environ)
    assert (endpoint.base_url, endpoint.api_key) == ("http://gate/v1", "a")
    assert find_endpoint("openai", base_url="http://x/v1", environ=environ).base_url == "http://x/v1"
    gemini = find_endpoint("gemini", environ=environ)
    assert (gemini.api_key, gemini.key_variable) == ("b", "GOOGLE_API_KEY")
    assert gemini.base_url == PROVIDERS["gemini"].base_url
    assert find_endpoint("openai", key_variable="MINE", environ=environ).api_key == "c"
    assert find_endpoint("ollama", environ={}).api_key is None
    assert find_endpoint("openai", base_url="http://127.0.0.1:8080/v1", environ={}).api_key is None


def test_a_key_is_never_shown():
    endpoint = find_endpoint("groq", environ={"GROQ_API_KEY": "gsk-secret"})
    assert "secret" not in f"{endpoint!r} {endpoint}"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://localhost:1/v1", True),
        ("http://127.0.0.9/v1", True),
        ("http://[::1]:80/v1", True),
        ("http://localhost.evil.example/v1", False),
        ("http://192.168.1.4/v1", False),
    ],
)
def test_what_is_local(url, expected):
    assert is_local(url) is expected


def test_the_list_names_everything_that_opens():
    listed = {info.name: info for info in list_models()}
    assert DEFAULT_MODEL in listed
    assert set(PRESETS) <= set(listed)
    assert {f"{name}/MODEL" for name in PROVIDERS} <= set(listed)
    assert "replay:FILE" in listed
    assert listed["gpt-4o"].needs == "OPENAI_API_KEY"
    assert listed["ollama/MODEL"].needs == ""
    assert all(info.description for info in listed.values())


def test_baselines_listed_are_those_that_open():
    baseline = pytest.importorskip("truegrade.models.baseline")
    names = [info.name for info in list_models() if info.kind == "baseline"]
    assert [open_model(name).name for name in names] == names
    assert callable(baseline.open_baseline)


def test_a_replay_opens_by_name(tmp_path, make_request):
    file = tmp_path / "completions.jsonl"
    completion = Completion(
        benchmark="toy",
        dataset_sha256="0" * 64,
        problem_id="Toy/1",
        sample=0,
        config_sha256="c",
        prompt_sha256="p",
        text="hi",
        model="m",
    )
    file.write_bytes(msgspec.json.encode(completion) + b"\n")
    for path in (file, tmp_path):
        model = open_model(f"replay:{path}", request_policy=RequestPolicy())
        assert model.name == f"replay:{path}"
        assert asyncio.run(generate_sample(model, *make_request())).text == "hi"


def test_opening_a_model_does_not_load_the_client():
    code = (
        "import sys; from truegrade.models import open_model, list_models; list_models(); open_model('ollama/x'); "
        "sys.exit(bool({'openai', 'httpx2', 'rich', 'numpy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=180).returncode == 0
