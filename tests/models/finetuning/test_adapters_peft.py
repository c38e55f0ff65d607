"""Adapters against PEFT itself: files both ways, gradients, and a step of training."""

import json

import numpy as np
import pytest

from truegrade.apps.evolve.genomes import AdapterGenes, TrainingGenes
from truegrade.apps.evolve.training.cache import write_adapter
from truegrade.apps.evolve.training.lessons import TrainingOrder
from truegrade.datasets.learned import LearnedFrom
from truegrade.models.micro.llama import Cache, Llama, read_shape
from truegrade.models.micro.micro_adapters import read_tensors
from truegrade.models.micro.training import (
    AdamW,
    Batch,
    Dropout,
    FreshAdapter,
    Network,
    TrainingExample,
    learning_rate,
    stream,
)

torch = pytest.importorskip("torch", reason="torch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")
peft = pytest.importorskip("peft", reason="peft is not installed")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]

ALL = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
TOKENS = (5, 80, 81, 12, 3, 9, 7, 100, 101, 102, 103)
EXAMPLES = [
    TrainingExample(TOKENS, 3),
    TrainingExample((5, 6, 7, 40, 41), 2),
    TrainingExample((9, 8, 7, 6, 5, 4, 3, 2), 5),
]
KINDS = pytest.mark.parametrize("kind", ["lora", "dora"])


def base(folder):
    return transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)


def fresh(folder, kind, modules=ALL, rank=4, alpha=6.0):
    """Our adapter of that model, moved away from where it begins; and the model's tensors."""
    tensors = read_tensors(folder / "model.safetensors")
    adapter = FreshAdapter(tensors, kind, modules, rank, alpha, seed=1)
    adapter.values += np.random.default_rng(5).normal(0, 0.1, adapter.values.size).astype(np.float32)
    return adapter, tensors


def saved(adapter, kind, folder, modules=ALL, rank=4, alpha=6.0):
    genes = AdapterGenes(kind=kind, rank=rank, alpha=alpha, dropout=0.0, modules=modules)
    training = TrainingGenes(learning_rate=1e-3, epochs=1)
    order = TrainingOrder(base="embedded/x", adapter=genes, training=training, seed=0)
    write_adapter(folder, order, adapter.tensors(), {"made_by": "test"}, LearnedFrom())
    return folder


def ours(folder, adapter):
    return Llama.open(folder, adapter).logits(TOKENS, Cache(read_shape(folder / "config.json")), 0)


def theirs(model):
    with torch.no_grad():
        return model.eval()(input_ids=torch.tensor([TOKENS])).logits[0].numpy()


@KINDS
@pytest.mark.parametrize("modules", [ALL, ("q_proj", "v_proj")], ids=len)
def test_what_we_write_peft_reads(llama_folder, tmp_path, kind, modules):
    adapter, _ = fresh(llama_folder, kind, modules)
    folder = saved(adapter, kind, tmp_path / "adapter", modules)
    adapted = peft.PeftModel.from_pretrained(base(llama_folder), str(folder))
    assert set(peft.get_peft_model_state_dict(adapted)) == set(adapter.tensors())
    np.testing.assert_allclose(theirs(adapted), ours(llama_folder, folder), atol=1e-4)
    assert np.abs(theirs(adapted) - ours(llama_folder, None)).max() > 0.1


@KINDS
@pytest.mark.parametrize(
    "config",
    [
        {"r": 4, "lora_alpha": 6, "target_modules": list(ALL)},
        {"r": 4, "lora_alpha": 6, "target_modules": "all-linear"},
        {"r": 4, "lora_alpha": 6, "use_rslora": True, "target_modules": r".*\.(0|2)\..*(q|down)_proj"},
        {"r": 4, "lora_alpha": 6, "target_modules": ["q_proj", "up_proj"],
         "rank_pattern": {"q_proj": 2, r"layers\.1\.mlp\.up_proj": 3},
         "alpha_pattern": {r"1\.self_attn\.q_proj": 9}},
    ],
    ids=["list", "all-linear", "pattern", "ranks"],
)  # fmt: skip
def test_what_peft_writes_we_read(llama_folder, tmp_path, kind, config):
    adapted = peft.get_peft_model(base(llama_folder), peft.LoraConfig(use_dora=kind == "dora", **config))
    torch.manual_seed(0)
    for name, weight in adapted.named_parameters():
        if "lora_B" in name or "magnitude" in name:
            weight.data += 0.2 * torch.randn_like(weight)
    adapted.save_pretrained(tmp_path)
    np.testing.assert_allclose(ours(llama_folder, tmp_path), theirs(adapted), atol=1e-4)
    assert np.abs(theirs(adapted) - ours(llama_folder, None)).max() > 0.1


@KINDS
def test_a_fresh_adapter_begins_as_pefts_does(llama_folder, kind):
    tensors = read_tensors(llama_folder / "model.safetensors")
    adapter = FreshAdapter(tensors, kind, ALL, 4, 6.0, seed=1).tensors()
    config = peft.LoraConfig(r=4, lora_alpha=6, target_modules=list(ALL), use_dora=kind == "dora")
    model = peft.get_peft_model(base(llama_folder), config)
    for name, theirs_ in peft.get_peft_model_state_dict(model).items():
        if "lora_A" in name:  # random: the same bound, reached
            assert np.abs(adapter[name]).max() <= theirs_.shape[1] ** -0.5
            assert np.abs(adapter[name]).max() == pytest.approx(theirs_.abs().max().item(), rel=0.15)
            assert adapter[name].std() == pytest.approx(theirs_.std().item(), rel=0.2)
        else:
            np.testing.assert_allclose(adapter[name], theirs_.numpy(), rtol=1e-5)


@KINDS
def test_gradients_and_a_step_are_pefts(llama_folder, tmp_path, kind):
    """One batch: padded and masked there, packed here; then AdamW, twice."""
    adapter, tensors = fresh(llama_folder, kind)
    model = peft.PeftModel.from_pretrained(
        base(llama_folder), str(saved(adapter, kind, tmp_path / "a")), is_trainable=True
    )
    network, batch = Network(read_shape(llama_folder / "config.json"), tensors, adapter), Batch(EXAMPLES)
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    optimiser, memory = torch.optim.AdamW(trained, lr=1.0, weight_decay=0.0), AdamW(adapter.values.size)
    for step in range(2):
        loss = network.step(batch, Dropout(0.0, stream(0)))
        expected = torch_loss(model.train())
        optimiser.zero_grad()
        expected.backward()
        assert loss == pytest.approx(expected.item(), rel=1e-5)
        gradients = dict(named_gradients(adapter))
        scale = max(np.abs(gradient).max() for gradient in gradients.values())
        for name, weight in peft_weights(model, "grad").items():
            np.testing.assert_allclose(gradients[name], weight, atol=1e-4 * scale, err_msg=name)
        rate = learning_rate(step, 10, 1e-3)
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        for group in optimiser.param_groups:
            group["lr"] = rate
        optimiser.step()
        memory.step(adapter.values, adapter.gradient, rate)
        for name, weight in peft_weights(model, "data").items():
            np.testing.assert_allclose(adapter.tensors()[name], weight, atol=1e-4 * rate + 2e-6, err_msg=name)


def torch_loss(model):
    """The mean over learned tokens, by transformers' own forward pass over a padded batch."""
    longest = max(len(example.tokens) for example in EXAMPLES)
    ids = torch.tensor([[*e.tokens, *[0] * (longest - len(e.tokens))] for e in EXAMPLES])
    mask = torch.tensor([[1] * len(e.tokens) + [0] * (longest - len(e.tokens)) for e in EXAMPLES])
    labels = ids.masked_fill(mask == 0, -100)
    for row, example in enumerate(EXAMPLES):
        labels[row, : example.learned_from] = -100
    return model(input_ids=ids, attention_mask=mask, labels=labels).loss


def peft_weights(model, what):
    """Trained weights or their gradients under the names of an adapter's file."""
    return {
        name.replace(".default", "").replace("vector.weight", "vector"): getattr(weight, what).numpy()
        for name, weight in model.named_parameters()
        if weight.requires_grad
    }


def named_gradients(adapter):
    for name in adapter.tensors():
        module, _, kind = name.removeprefix("base_model.model.").removesuffix(".weight").rpartition(".lora_")
        update = adapter.updates[module]
        yield name, {"A": update.down, "B": update.up, "magnitude_vector": update.magnitude}[kind][1]


def test_peft_reads_our_configuration_as_meant(llama_folder, tmp_path):
    adapter, _ = fresh(llama_folder, "dora", ("o_proj",), 3, 4.5)
    folder = saved(adapter, "dora", tmp_path / "a", ("o_proj",), 3, 4.5)
    config = peft.PeftConfig.from_pretrained(str(folder))
    assert (config.r, config.lora_alpha, config.use_dora, config.use_rslora) == (3, 4.5, True, False)
    assert json.loads((folder / "adapter_config.json").read_text())["task_type"] == "CAUSAL_LM"
