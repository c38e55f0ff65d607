"""Adapters of the included model: merged by the formulas, or refused; never left out in silence."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truegrade.errors import BadRecord, UnknownName, UserError
from truegrade.models import open_model
from truegrade.models.base import generate_sample
from truegrade.models.embedded import EmbeddedEngine
from truegrade.models.local import LocalModel, adapter_sha256, recorded_arguments
from truegrade.models.micro.micro_adapters import encode_tensors, merge_adapter, read_metadata, read_tensors
from truegrade.records.config import RequestPolicy

LAYER = "base_model.model.model.layers."
MODULES = {"q_proj": "self_attn", "down_proj": "mlp"}


@pytest.fixture
def weights(llama_folder):
    return llama_folder / "model.safetensors"


@pytest.fixture
def write(tmp_path, weights):
    """Write an adapter of q and down in every layer; keywords change its configuration, ``edit`` its tensors."""

    def write(*, dora=False, rank=2, edit=None, metadata=None, scale=0.3, name="adapter", **config):
        rng, tensors = np.random.default_rng(rank), {}
        for layer in range(3):
            for module, part in MODULES.items():
                path = f"model.layers.{layer}.{part}.{module}"
                outputs, inputs = read_tensors(weights)[f"{path}.weight"].shape
                at = f"base_model.model.{path}.lora_"
                tensors[f"{at}A.weight"] = rng.normal(0, scale, (rank, inputs)).astype(np.float32)
                tensors[f"{at}B.weight"] = rng.normal(0, scale, (outputs, rank)).astype(np.float32)
                if dora:
                    tensors[f"{at}magnitude_vector"] = rng.uniform(0.5, 1.5, outputs).astype(np.float32)
        if edit is not None:
            edit(tensors)
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        document = {"peft_type": "LORA", "r": rank, "lora_alpha": 4, "target_modules": list(MODULES), **config}
        (folder / "adapter_config.json").write_text(json.dumps({**document, "use_dora": dora}))
        (folder / "adapter_model.safetensors").write_bytes(encode_tensors(tensors, metadata or {}))
        return folder

    return write


@pytest.mark.parametrize("dora", [False, True], ids=["lora", "dora"])
def test_weights_are_merged_by_the_formulas(write, weights, dora):
    folder, base = write(dora=dora), read_tensors(weights)
    merged, update = merge_adapter(folder, base, weights), read_tensors(folder / "adapter_model.safetensors")
    name = "model.layers.1.mlp.down_proj"
    at = f"base_model.model.{name}.lora_"
    expected = base[f"{name}.weight"] + 4 / 2 * update[f"{at}B.weight"] @ update[f"{at}A.weight"]
    if dora:
        expected *= update[f"{at}magnitude_vector"][:, None] / np.sqrt((expected**2).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(merged[f"{name}.weight"], expected, atol=1e-5)
    untouched = [name for name in base if not any(module in name for module in MODULES)]
    assert all(merged[name] is base[name] for name in untouched)
    assert merged.keys() == base.keys()


def test_scales_and_ranks_by_pattern(write, weights):
    base = read_tensors(weights)

    def change(folder):
        return {name: merge_adapter(folder, base, weights)[name] - base[name] for name in base}

    plain, rooted, patterned = (
        change(write(**config, name=name))
        for name, config in {
            "plain": {},
            "rooted": {"use_rslora": True},
            "patterned": {"alpha_pattern": {"layers.1.mlp.down_proj": 40}, "rank_pattern": {"v_proj": 7}},
        }.items()
    )
    name = "model.layers.{}.mlp.down_proj.weight"
    np.testing.assert_allclose(rooted[name.format(0)], plain[name.format(0)] * 2**0.5, atol=1e-5)
    np.testing.assert_allclose(patterned[name.format(0)], plain[name.format(0)], atol=1e-6)
    np.testing.assert_allclose(patterned[name.format(1)], plain[name.format(1)] * 10, atol=1e-4)


def drop(kind):
    return lambda tensors: tensors.pop(f"base_model.model.model.layers.2.mlp.down_proj.lora_{kind}")


def add(name, *extents):
    return lambda tensors: tensors.__setitem__(name, np.zeros(extents, np.float32))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"edit": drop("B.weight")}, r"safetensors, field 'model.layers.2.mlp.down_proj.lora_B': is missing"),
        ({"dora": True, "edit": drop("magnitude_vector")}, r"down_proj.lora_magnitude_vector': is missing"),
        ({"edit": add(f"{LAYER}0.self_attn.q_proj.lora_A.weight", 3, 64)}, r"has shape \(3, 64\)"),
        ({"edit": add(f"{LAYER}7.mlp.down_proj.lora_A.weight", 2, 9)}, "no such layer is named"),
        ({"edit": add(f"{LAYER}0.mlp.down_proj.lora_magnitude_vector", 64)}, "use_dora is false"),
        ({"edit": add("base_model.model.model.norm.lora_embedding_A", 3)}, "no part of a LoRA"),
        ({"edit": lambda t: next(iter(t.values())).fill(np.nan)}, "not finite"),
        ({"target_modules": ["q_proj"]}, "no such layer is named"),
        ({"target_modules": "all-linear"}, "holds no update of it"),
        ({"target_modules": ["c_attn"]}, "field 'target_modules': names no layer"),
        ({"target_modules": "("}, "is no pattern"),
        ({"r": 0}, "at least 1"),
        ({"r": 3}, r"has shape \(2, "),
        ({"peft_type": "IA3"}, "peft_type"),
        ({"bias": "all"}, "bias"),
        ({"modules_to_save": ["lm_head"]}, r"field 'modules_to_save': is \['lm_head'\]"),
        ({"some_new_option": 3}, "some_new_option"),
        ({"init_lora_weights": "pissa"}, "init_lora_weights"),
        ({"metadata": {"base_sha256": "0" * 64}}, "trained on other weights"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_by_name(write, weights, how, message):
    with pytest.raises(BadRecord, match=message):
        merge_adapter(write(**how), read_tensors(weights), weights)


def test_missing_and_damaged_files(write, llama_folder, tmp_path):
    def opened(folder):
        return open_model(f"embedded/{llama_folder}", args={"adapter": str(folder)})

    for damage, message in (
        (lambda folder: (folder / "adapter_config.json").unlink(), "no adapter_config.json there"),
        (lambda folder: (folder / "adapter_model.safetensors").unlink(), "no adapter_model.safetensors there"),
        (lambda folder: (folder / "adapter_config.json").write_text("{"), "adapter_config.json"),
        (lambda folder: (folder / "adapter_config.json").write_bytes(b'{"\xff": 1}'), "adapter_config.json"),
        (lambda folder: (folder / "adapter_config.json").write_text('{"a":' + "[" * 99999), "adapter_config.json"),
        (lambda folder: cut(folder / "adapter_model.safetensors"), "lies partly outside"),
    ):
        folder = write()
        damage(folder)
        with pytest.raises(UserError, match=message):
            opened(folder)
    with pytest.raises(UserError, match=r"no adapter_config\.json there"):
        opened(tmp_path / "nowhere")


def cut(path):
    path.write_bytes(path.read_bytes()[:-40])


@settings(max_examples=60)
@given(st.data())
def test_no_damage_gives_the_base_model(llama_folder, tmp_path_factory, data):
    """Whatever bytes are put in its place, an adapter is merged whole or refused."""
    base = llama_folder / "model.safetensors"
    tensors, folder = read_tensors(base), tmp_path_factory.mktemp("damaged")
    at = "base_model.model.model.layers.{}.self_attn.q_proj.lora_"
    whole = encode_tensors(
        {f"{at.format(n)}{kind}.weight": np.ones((64, 1) if kind == "B" else (1, 64), np.float32)
         for n in range(3) for kind in "AB"}, {},
    )  # fmt: skip
    place = data.draw(st.integers(0, 700))
    damaged = whole[:place] + data.draw(st.binary(max_size=4)) + whole[place + data.draw(st.integers(0, 4)) :]
    (folder / "adapter_model.safetensors").write_bytes(damaged)
    config = {"peft_type": "LORA", "r": 1, "lora_alpha": 1, "target_modules": ["q_proj"]}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    try:
        merged = merge_adapter(folder, tensors, base)
    except BadRecord:
        return
    name = "model.layers.{}.self_attn.q_proj.weight"
    assert all(not np.array_equal(merged[name.format(n)], tensors[name.format(n)]) for n in range(3))


def test_an_adapter_is_part_of_the_name(write, llama_folder, make_request):
    import asyncio

    first, second = write(name="first", rank=2), write(name="second", rank=3)
    assert adapter_sha256(first) != adapter_sha256(second)

    def reply(model):
        return asyncio.run(generate_sample(model, *make_request("def f(x):", max_tokens=20)))

    plain = open_model(f"embedded/{llama_folder}")
    models = [open_model(f"embedded/{llama_folder}", args={"adapter": str(f)}) for f in (first, second)]
    assert models[0].name == f"{plain.name}+{adapter_sha256(first)[:16]}"
    assert len({model.name for model in (plain, *models)}) == 3
    assert len({reply(model).text for model in (plain, *models)}) == 3
    again = LocalModel(EmbeddedEngine(llama_folder, adapter=first), RequestPolicy())
    assert (again.name, reply(again).text) == (models[0].name, reply(models[0]).text)


def test_arguments_are_kept_by_the_adapters_hash(write, tmp_path):
    folder = write()
    moved = folder.rename(tmp_path / "elsewhere")
    kept = recorded_arguments({"adapter": str(moved), "dtype": "float32"})
    assert kept == {"adapter": f"sha256:{adapter_sha256(moved)}", "dtype": "float32"}
    assert recorded_arguments({"top_k": 3}) == {"top_k": 3}
    with pytest.raises(UserError, match=r"no adapter_config\.json there"):
        recorded_arguments({"adapter": str(folder)})


@pytest.mark.parametrize("name", ["openai/gpt-x", "baseline/lookup", "ollama/x", "replay:file"])
def test_models_without_adapters_say_so(name):
    with pytest.raises(UserError, match=r"takes no adapter here.*--lora-modules"):
        open_model(name, args={"adapter": "x"})


def test_other_arguments_are_refused(llama_folder):
    with pytest.raises(UnknownName, match="did you mean adapter"):
        open_model(f"embedded/{llama_folder}", args={"adaptor": "x"})


def test_texts_beside_the_tensors(tmp_path):
    path = tmp_path / "x.safetensors"
    path.write_bytes(encode_tensors({"b": np.zeros(3), "a": np.ones((2, 2))}, {"made": "här"}))
    assert read_metadata(path) == {"format": "pt", "made": "här"}
    assert {name: tensor.tolist() for name, tensor in read_tensors(path).items()} == {
        "a": [[1, 1], [1, 1]],
        "b": [0, 0, 0],
    }
    path.write_bytes(b"\x02\x00\x00\x00\x00\x00\x00\x00[]")
    with pytest.raises(BadRecord, match="damaged header"):
        read_tensors(path)
