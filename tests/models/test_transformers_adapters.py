"""Adapters swapped on one base: what is worn is exact, and nothing of the one before is left."""

import asyncio

import pytest

from truegrade.errors import UserError
from truegrade.models import open_model
from truegrade.models.base import generate_sample

torch = pytest.importorskip("torch", reason="torch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")
peft = pytest.importorskip("peft", reason="peft is not installed")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]

MODULES = {"attention": ["q_proj", "v_proj"], "mlp": ["gate_proj", "down_proj"], "one": ["o_proj"]}


def base_model(code_llama):
    return transformers.AutoModelForCausalLM.from_pretrained(code_llama, dtype=torch.float32).eval()


def logits(model):
    with torch.inference_mode():
        return model(input_ids=torch.arange(3, 40)[None]).logits


@pytest.fixture(scope="module")
def adapters(code_llama, tmp_path_factory):
    """Folders of adapters with random weights, by name: module sets, LoRA and DoRA."""
    folders = {}
    for number, (name, modules) in enumerate(MODULES.items()):
        for use_dora in (False, True):
            config = peft.LoraConfig(r=4, lora_alpha=16, target_modules=modules, use_dora=use_dora)
            adapted = peft.get_peft_model(base_model(code_llama), config)
            torch.manual_seed(number)
            for weight_name, weight in adapted.named_parameters():
                if "lora_B" in weight_name:
                    torch.nn.init.normal_(weight, std=0.5)
            folder = tmp_path_factory.mktemp("adapter")
            adapted.save_pretrained(folder)
            folders[f"{name}-{'dora' if use_dora else 'lora'}"] = folder
    return folders


@pytest.fixture(scope="module")
def alone(code_llama, adapters):
    """Logits of every adapter on a base of its own, not merged."""
    found = {None: logits(base_model(code_llama))}
    for name, folder in adapters.items():
        found[name] = logits(peft.PeftModel.from_pretrained(base_model(code_llama), folder).eval())
    return found


def test_every_adapter_is_as_on_a_fresh_base_whatever_was_worn_before(code_llama, adapters, alone):
    from truegrade.models.transformers_local import AdapterSwap

    model = base_model(code_llama)
    swap = AdapterSwap(model)
    fresh = {}
    for name in adapters:
        once = base_model(code_llama)
        AdapterSwap(once).wear(adapters[name])
        fresh[name] = logits(once)
        assert (fresh[name] - alone[None]).abs().max() > 0.05
        assert (fresh[name] - alone[name]).abs().max() < 1e-4
    order = ["attention-lora", "mlp-dora", "one-lora", "attention-dora", "mlp-lora", None, "one-dora", "one-lora"]
    for name in [*order, *reversed(order)]:
        swap.wear(adapters[name] if name else None)
        expected = fresh[name] if name else alone[None]
        assert torch.equal(logits(model), expected), name
        assert not any(isinstance(module, peft.tuners.tuners_utils.BaseTunerLayer) for module in model.modules())


def test_the_fault_is_real(code_llama, adapters, alone):
    """Wrapping a base twice leaves the first adapter at work: what `AdapterSwap` is there for."""
    base = base_model(code_llama)
    peft.PeftModel.from_pretrained(base, adapters["attention-lora"])
    twice = peft.PeftModel.from_pretrained(base, adapters["mlp-lora"]).eval()
    assert (logits(twice) - alone["mlp-lora"]).abs().max() > 0.05


def test_an_adapter_that_does_not_fit_leaves_the_bare_base(code_llama, adapters, alone, tmp_path):
    from truegrade.models.transformers_local import AdapterSwap

    model = base_model(code_llama)
    swap = AdapterSwap(model)
    for path in adapters["mlp-lora"].iterdir():
        if path.is_file():
            (tmp_path / path.name).write_bytes(path.read_bytes())
    config = (tmp_path / "adapter_config.json").read_text()
    for wrong in (config.replace('"down_proj"', '"up_proj"'), config.replace('"r": 4', '"r": 8')):
        (tmp_path / "adapter_config.json").write_text(wrong)
        swap.wear(adapters["one-dora"])
        with pytest.raises(UserError, match="made for another model"):
            swap.wear(tmp_path)
        assert torch.equal(logits(model), alone[None])
    (tmp_path / "adapter_config.json").write_text(config.replace('"bias": "none"', '"bias": "all"'))
    with pytest.raises(UserError, match="trains biases or whole modules"):
        swap.wear(tmp_path)
    with pytest.raises(UserError, match=r"no adapter_config\.json there"):
        swap.wear(tmp_path / "nowhere")
    swap.wear(adapters["one-lora"])
    assert (logits(model) - alone["one-lora"]).abs().max() < 1e-4


def test_the_engine_answers_as_a_model_opened_with_the_adapter(code_llama, adapters, make_request):
    def ask(model):
        async def run():
            return (await generate_sample(model, *make_request("def f(x):", max_tokens=12))).text

        return asyncio.run(run())

    args = {"dtype": "float32", "device": "cpu"}
    worn = open_model(f"hf/{code_llama}", args=args)
    plain = ask(worn)
    for name in ("attention-lora", "mlp-dora"):
        worn.engine.wear(adapters[name])
        opened = open_model(f"hf/{code_llama}", args={**args, "adapter": str(adapters[name])})
        assert ask(worn) == ask(opened) != plain
    worn.engine.wear(None)
    assert ask(worn) == plain
    with pytest.raises(UserError, match="was loaded with an adapter merged in"):
        opened.engine.wear(None)
