"""The forward pass against transformers', one row against many, and the files it must refuse."""

import json
from pathlib import Path

import numpy as np
import pytest

from support import tiny_llama
from truegrade.errors import BadRecord
from truegrade.models.micro.llama import CHUNK, ROWS, Cache, Llama, use_one_thread
from truegrade.models.micro.micro_adapters import read_tensors

GOLDEN = json.loads(Path(__file__).with_name("golden_llama.json").read_text())
TOLERANCE = 1e-4


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    """As in use: the bits of a product may depend on how a library divides it among threads."""
    restore = use_one_thread()
    yield
    restore()


@pytest.fixture(scope="module")
def llama(llama_folder):
    return Llama.open(llama_folder)


def decode(llama, prompt, count, *, row=0, neighbours=()):
    """Greedy tokens and the logits of every step, in a row of a batch with neighbours."""
    cache = Cache(llama.shape)
    tokens, positions = np.zeros(ROWS, np.int64), np.zeros(ROWS, np.int64)
    for other, neighbour in neighbours:
        tokens[other] = llama.read(neighbour, cache, other).argmax()
        positions[other] = len(neighbour)
    logits = [llama.read(prompt, cache, row)]
    positions[row] = len(prompt)
    for _ in range(count - 1):
        tokens[row] = logits[-1].argmax()
        step = llama.step(tokens, positions, cache)
        logits.append(step[row])
        for other, _ in neighbours:
            tokens[other] = step[other].argmax()
        positions[positions > 0] += 1
    return [int(one.argmax()) for one in logits], np.array(logits)


def test_logits_are_those_of_transformers(llama):
    logits = llama.logits(GOLDEN["prompt"], Cache(llama.shape), 0)
    assert np.abs(logits[-3:] - np.array(GOLDEN["last_logits"])).max() < TOLERANCE


def test_greedy_tokens_are_those_of_transformers(llama):
    assert decode(llama, GOLDEN["prompt"], 40)[0] == GOLDEN["greedy"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"num_key_value_heads": 4, "head_dim": 32, "rope_theta": 10000.0},
        {"rope_theta": None, "rope_parameters": {"rope_type": "default", "rope_theta": 700.0}},
    ],
)
def test_logits_beside_transformers_itself(tmp_path, changes):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    folder = tiny_llama.write_llama(tmp_path, seed=3, **changes)
    theirs = transformers.LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32)
    prompt = np.random.default_rng(0).integers(4, 270, 200).tolist()
    with torch.no_grad():
        expected = theirs(torch.tensor([prompt])).logits[0].numpy()
    llama = Llama.open(folder)
    assert np.abs(llama.logits(prompt, Cache(llama.shape), 5) - expected).max() < TOLERANCE


def test_step_by_step_is_the_whole_prompt_at_once(llama):
    prompt = np.random.default_rng(1).integers(4, 270, 3 * CHUNK).tolist()
    whole = llama.logits(prompt, Cache(llama.shape), 0)
    cache, tokens, positions = Cache(llama.shape), np.zeros(ROWS, np.int64), np.zeros(ROWS, np.int64)
    llama.read(prompt[:10], cache, 4)
    for place in range(10, len(prompt)):
        tokens[4], positions[4] = prompt[place], place
        logits = llama.step(tokens, positions, cache)[4]
        assert np.abs(logits - whole[place]).max() < TOLERANCE


def test_neighbours_do_not_change_a_single_bit(llama):
    rng = np.random.default_rng(2)
    prompt = rng.integers(4, 270, 50).tolist()
    neighbours = [(row, rng.integers(4, 270, 20 + 15 * row).tolist()) for row in range(1, ROWS)]
    tokens, alone = decode(llama, prompt, 30)
    crowded_tokens, crowded = decode(llama, prompt, 30, neighbours=neighbours)
    assert tokens == crowded_tokens
    assert np.array_equal(alone, crowded)
    _, elsewhere = decode(llama, prompt, 30, row=ROWS - 1, neighbours=neighbours[:3])
    assert np.array_equal(alone, elsewhere)


@pytest.mark.parametrize("key_heads", [2, 4])
def test_a_longer_neighbour_does_not_change_a_single_bit(tmp_path, key_heads):
    llama = Llama.open(tiny_llama.write_llama(tmp_path, num_key_value_heads=key_heads))
    # numpy adds eight numbers and more in another order than fewer
    longer = np.random.default_rng(4).integers(4, 270, 7 * CHUNK + 20).tolist()
    _, alone = decode(llama, longer[:250], 20)
    _, beside = decode(llama, longer[:250], 20, neighbours=[(3, longer)])
    assert np.array_equal(alone, beside)


@pytest.mark.parametrize(("dtype", "error"), [("F16", 2e-3), ("BF16", 2e-2)])
def test_half_precision_is_widened(tmp_path, dtype, error):
    weights = tiny_llama.random_weights(tiny_llama.SHAPE, 0)
    tiny_llama.write_safetensors(tmp_path / "w", weights, dtype)
    for name, tensor in read_tensors(tmp_path / "w").items():
        assert tensor.dtype == np.float32
        np.testing.assert_allclose(tensor, weights[name], rtol=error, atol=1e-6)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda content: content[:5], "no safetensors file"),
        (lambda content: b"\xff" * 8 + content, "no safetensors file"),
        (lambda content: content[:-1], "outside the file"),
        (lambda content: content[:9] + b"!" + content[10:], "damaged header"),
        (lambda content: content.replace(b'"F32"', b'"F64"', 1), "stored as F64"),
        (lambda content: content.replace(b'"dtype"', b'"dtipe"', 1), "damaged header"),
    ],
)
def test_damaged_weights_are_named(llama_folder, tmp_path, damage, message):
    path = tmp_path / "model.safetensors"
    path.write_bytes(damage((llama_folder / path.name).read_bytes()))
    with pytest.raises(BadRecord, match=message):
        read_tensors(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_type": "gpt2"}, "'model_type': is 'gpt2'"),
        ({"rope_scaling": {"rope_type": "yarn"}}, "'rope_scaling'"),
        ({"hidden_act": "gelu"}, "'hidden_act'"),
        ({"hidden_size": 96}, "has shape .* but config.json says"),
        ({"num_hidden_layers": 9}, "is missing"),
        ({"num_key_value_heads": 3}, "does not fit"),
        ({"vocab_size": "many"}, r"'vocab_size': Expected `int`"),
    ],
)
def test_other_architectures_are_refused(llama_folder, tmp_path, changes, message):
    config = json.loads((llama_folder / "config.json").read_text()) | changes
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "model.safetensors").symlink_to(llama_folder / "model.safetensors")
    with pytest.raises(BadRecord, match=message):
        Llama.open(tmp_path)
