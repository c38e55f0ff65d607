"""The transformers back end with tiny models built from real configurations."""

import asyncio
import json

import numpy as np
import pytest

from truegrade.errors import UnknownName, UserError
from truegrade.models import open_model
from truegrade.models.base import generate_sample
from truegrade.models.transformers_local import prompt_tokens

torch = pytest.importorskip("torch", reason="torch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


@pytest.fixture(scope="module")
def model(llama_folder):
    return open_model(f"hf/{llama_folder}", args={"dtype": "float32", "batch_size": 4})


def ask(model, *requests):
    async def run():
        return await asyncio.gather(*(generate_sample(model, *request) for request in requests))

    return asyncio.run(run())


def test_greedy_answers_are_those_of_the_embedded_runtime(model, llama_folder, make_request):
    requests = [make_request(f"def f{i}(x): " + "y" * i, style=style, max_tokens=12)
                for i in range(5) for style in ("chat", "text")]  # fmt: skip
    embedded = open_model(f"embedded/{llama_folder}")
    theirs, ours = ask(model, *requests), ask(embedded, *requests)
    chats = [place for place, request in enumerate(requests) if request.prompt.style == "chat"]
    assert [theirs[place].text for place in chats] == [ours[place].text for place in chats]
    assert [theirs[place].usage for place in chats] == [ours[place].usage for place in chats]
    # a bare text is sent as it stands: the frame of our own layout is not transformers' business
    assert all(a.usage.input_tokens == b.usage.input_tokens - 1
               for a, b, r in zip(theirs, ours, requests, strict=True) if r.prompt.style == "text")  # fmt: skip


def test_one_sample_of_a_batch_can_be_repeated_alone(model, make_request):
    requests = [
        make_request("x" * (3 * i), sample=i, temperature=1.0, top_p=0.9, seed=i, max_tokens=10) for i in range(9)
    ]
    together = ask(model, *requests)
    assert len({reply.text for reply in together}) == 9
    assert ask(model, requests[7])[0].text == together[7].text
    assert ask(model, requests[2])[0].text == together[2].text


def test_stops_limits_and_the_context(model, make_request):
    sampling = {"temperature": 1.0, "seed": 3}
    (whole,) = ask(model, make_request("def f(x):", max_tokens=40, **sampling))
    pairs = (whole.text[place : place + 2] for place in range(8, 30))
    stop = next(pair for pair in pairs if pair.isascii() and pair.isprintable())
    (cut,) = ask(model, make_request("def f(x):", max_tokens=40, stop=(stop,), **sampling))
    assert (whole.finish_reason, cut.finish_reason) == ("length", "stop")
    assert cut.text == whole.text[: whole.text.index(stop)]
    (reply,) = ask(model, make_request("q " * 600))
    assert (reply.text, reply.finish_reason) == ("", "length")
    assert "leave no room in a context of 512" in reply.attempts[0].error


@pytest.fixture(scope="module")
def adapter(llama_folder, tmp_path_factory):
    """Write an adapter with random weights and return its folder."""
    peft = pytest.importorskip("peft", reason="peft is not installed")

    def write(use_dora, **config):
        folder = tmp_path_factory.mktemp("adapter")
        base = transformers.AutoModelForCausalLM.from_pretrained(llama_folder, dtype=torch.float32)
        settings = {"r": 4, "lora_alpha": 16, "target_modules": ["q_proj", "down_proj"], **config}
        adapted = peft.get_peft_model(base, peft.LoraConfig(use_dora=use_dora, **settings))
        torch.manual_seed(0)
        for name, weight in adapted.named_parameters():
            if "lora_B" in name:
                torch.nn.init.normal_(weight, std=0.3)
        adapted.save_pretrained(folder)
        return folder, adapted

    return write


@pytest.mark.parametrize("use_dora", [False, True], ids=["lora", "dora"])
def test_an_adapter_changes_the_answer_as_peft_does(adapter, llama_folder, make_request, model, use_dora):
    folder, adapted = adapter(use_dora)
    request = make_request("def f(x):", max_tokens=8)
    (reply,) = ask(open_model(f"hf/{llama_folder}", args={"adapter": str(folder), "dtype": "float32"}), request)
    (plain,) = ask(model, request)
    assert reply.text != plain.text
    tokens = prompt_tokens(model.engine._tokenizer, request.prompt, model.name)
    expected = adapted.generate(input_ids=torch.tensor([tokens]), max_new_tokens=8, do_sample=False)[
        0, len(tokens) :
    ]
    assert reply.text == model.engine._tokenizer.decode(expected, skip_special_tokens=True)


def test_damaged_adapters_are_errors(adapter, llama_folder, tmp_path):
    def opened(folder):
        return open_model(f"hf/{llama_folder}", args={"adapter": str(folder)})

    with pytest.raises(UserError, match=r"no adapter_config.json there"):
        opened(tmp_path)
    folder, _ = adapter(False)
    weights = folder / "adapter_model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-100])
    with pytest.raises(UserError, match="damaged, or made for another model"):
        opened(folder)
    weights.write_bytes(whole)
    config = json.loads((folder / "adapter_config.json").read_text())
    (folder / "adapter_config.json").write_text(json.dumps({**config, "target_modules": ["q_proj", "v_proj"]}))
    with pytest.raises(UserError, match="on one side only"):
        opened(folder)


def test_a_mixture_of_experts_from_its_own_configuration(llama_folder, tmp_path, make_request):
    if not hasattr(transformers, "GptOssConfig"):
        pytest.skip("this transformers knows no gpt-oss")
    config = transformers.GptOssConfig(
        num_hidden_layers=2, num_local_experts=4, num_experts_per_tok=2, vocab_size=300, hidden_size=64,
        intermediate_size=64, head_dim=16, num_attention_heads=4, num_key_value_heads=2, sliding_window=32,
        max_position_embeddings=256, eos_token_id=3, pad_token_id=0,
    )  # fmt: skip
    torch.manual_seed(0)
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(llama_folder)
    template = "Reasoning: {{ reasoning_effort }}{% for m in messages %}{{ m['content'] }}{% endfor %}"
    tokenizer.chat_template = template
    tokenizer.save_pretrained(tmp_path)
    model = open_model(f"hf/{tmp_path}", args={"dtype": "float32"})
    requests = [make_request("def f(x):" * (i + 1), max_tokens=6, reasoning_effort="low") for i in range(3)]
    together = ask(model, *requests)
    assert [reply.usage.output_tokens for reply in together] == [6, 6, 6]
    assert together[0].text == ask(model, requests[0])[0].text
    plain = ask(model, make_request("def f(x):", max_tokens=6))[0]
    assert plain.usage.input_tokens < together[0].usage.input_tokens


def test_base_models_and_efforts(llama_folder, tmp_path, make_request, model):
    with pytest.raises(UserError, match="knows no reasoning effort"):
        ask(model, make_request(reasoning_effort="low"))
    for path in llama_folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    names = json.loads((tmp_path / "tokenizer_config.json").read_text())
    del names["chat_template"]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(names))
    with pytest.raises(UserError, match="it is a base model, ask it with `task_args` prompt=base"):
        ask(open_model(f"hf/{tmp_path}"), make_request())


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        ("hf/no/such/folder/at/all", {}, "cannot be loaded"),
        ("hf/FOLDER", {"device": "warp"}, "`model_args` device=warp"),
        ("hf/FOLDER", {"batch_size": 0}, "batch_size"),
        ("hf/FOLDER", {"dtype": "int3"}, "dtype"),
    ],
)
def test_mistakes_are_named(llama_folder, name, args, message):
    with pytest.raises(UserError, match=message):
        open_model(name.replace("FOLDER", str(llama_folder)), args=args)
    with pytest.raises(UnknownName, match="batch_size"):
        open_model(f"hf/{llama_folder}", args={"batchsize": 3})


def test_the_law_of_the_draws_is_the_embedded_one(model, llama_folder, make_request):
    request = make_request("x", temperature=0.8, seed=11, max_tokens=1)
    embedded = ask(open_model(f"embedded/{llama_folder}"), request)[0].text
    assert ask(model, request)[0].text == embedded
    assert np.isfinite(model.engine._model.get_input_embeddings().weight.detach().numpy()).all()
