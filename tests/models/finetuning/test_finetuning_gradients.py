"""Every derivative against finite differences, on tiny random Llamas in float64."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import tiny_llama
from truegrade.models.micro import training
from truegrade.models.micro.llama import Cache, Llama, read_shape
from truegrade.models.micro.micro_adapters import read_tensors
from truegrade.models.micro.training import Batch, Dropout, FreshAdapter, Network, TrainingExample, stream

ALL = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
EXAMPLES = [
    TrainingExample((5, 80, 81, 12, 3, 9, 7), 3),
    TrainingExample((5, 6, 7), 1),
    TrainingExample((5, 100, 101, 102, 103, 104, 105, 106, 107, 3), 6),
]


@pytest.fixture(scope="module", params=[True, False], ids=["tied", "untied"])
def small(request, tmp_path_factory):
    """Shape and float64 tensors of a Llama with grouped heads; with a head of its own, other values."""
    folder = tiny_llama.write_llama(
        tmp_path_factory.mktemp("small"), seed=3, hidden_size=24, intermediate_size=20, num_hidden_layers=2,
        head_dim=6, num_attention_heads=4, num_key_value_heads=2, tie_word_embeddings=request.param,
    )  # fmt: skip
    tensors = {name: t.astype(np.float64) for name, t in read_tensors(folder / "model.safetensors").items()}
    if not request.param:
        head = tensors["model.embed_tokens.weight"]
        tensors["lm_head.weight"] = np.random.default_rng(0).normal(size=head.shape) / 4
    return read_shape(folder / "config.json"), tensors


def moved(adapter, seed=1):
    """An adapter away from where it begins, so that no gradient is zero for a trivial reason."""
    adapter.values += np.random.default_rng(seed).normal(0, 0.15, adapter.values.size)
    return adapter


@pytest.mark.parametrize("kind", ["lora", "dora"])
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_gradients_are_finite_differences(small, kind, share):
    shape, tensors = small
    adapter = moved(FreshAdapter(tensors, kind, ALL, 2, 3.0, seed=4))
    network, batch = Network(shape, tensors, adapter), Batch(EXAMPLES)

    def loss():
        return network.step(batch, Dropout(share, stream(0, "dropout")))  # the same numbers are dropped each time

    loss()
    gradient = adapter.gradient.copy()
    constant = frozen_lengths(adapter, tensors) if kind == "dora" else None
    places = np.random.default_rng(2).choice(adapter.values.size, 12, replace=False)
    if kind == "dora":  # the column norm is detached: only magnitudes can be compared with plain differences
        places = np.concatenate(
            [places_of(adapter, update.magnitude[0])[:2] for update in adapter.updates.values()]
        )
    for place in places:
        expected = difference(adapter.values, place, loss)
        assert gradient[place] == pytest.approx(expected, rel=2e-5, abs=1e-9), place
    if constant is not None:
        for place in np.random.default_rng(2).choice(adapter.values.size, 12, replace=False):
            expected = difference(adapter.values, place, lambda: constant(network, batch, share))
            assert gradient[place] == pytest.approx(expected, rel=2e-5, abs=1e-9), place


def difference(values, place, loss, step=1e-5):
    before = values[place]
    values[place] = before + step
    above = loss()
    values[place] = before - step
    below = loss()
    values[place] = before
    return (above - below) / (2 * step)


def places_of(adapter, view):
    """Where a view lies in the flat vector."""
    begin = (view.__array_interface__["data"][0] - adapter.values.__array_interface__["data"][0]) // 8
    return np.arange(begin, begin + view.size)


def frozen_lengths(adapter, tensors):
    """The loss with every |W + sBA| held where it is now: what DoRA's gradient is the gradient of."""
    held = {}
    for module, update in adapter.updates.items():
        held[module] = np.linalg.norm(
            tensors[f"{module}.weight"] + update.scale * update.up[0] @ update.down[0], axis=1
        )

    def loss(network, batch, share):
        kept = {module: update.magnitude[0].copy() for module, update in adapter.updates.items()}
        for module, update in adapter.updates.items():  # scale m so that m / |now| is m / |held|
            now = np.linalg.norm(
                tensors[f"{module}.weight"] + update.scale * update.up[0] @ update.down[0], axis=1
            )
            update.magnitude[0][...] = kept[module] * now / held[module]
        value = network.step(batch, Dropout(share, stream(0, "dropout")))
        for module, update in adapter.updates.items():
            update.magnitude[0][...] = kept[module]
        return value

    return loss


@pytest.mark.parametrize("modules", [("q_proj",), ("v_proj", "down_proj"), ("gate_proj",)])
def test_modules_without_an_update_only_pass_gradients_on(small, modules):
    shape, tensors = small
    adapter = moved(FreshAdapter(tensors, "lora", modules, 3, 3.0, seed=4))
    network, batch = Network(shape, tensors, adapter), Batch(EXAMPLES)
    network.step(batch, Dropout(0.0, stream(0)))
    gradient = adapter.gradient.copy()
    for place in range(0, adapter.values.size, adapter.values.size // 12):
        expected = difference(adapter.values, place, lambda: network.step(batch, Dropout(0.0, stream(0))))
        assert gradient[place] == pytest.approx(expected, rel=2e-5, abs=1e-9)


def test_a_fresh_adapter_changes_nothing_and_the_loss_is_that_of_the_decoder(small):
    shape, tensors = small
    narrow = {name: tensor.astype(np.float32) for name, tensor in tensors.items()}
    llama = Llama(shape, narrow, "here")
    for kind in ("lora", "dora"):
        adapter = FreshAdapter(narrow, kind, ALL, 4, 8.0, seed=0)
        network = Network(shape, narrow, adapter)
        for example in EXAMPLES:
            learned = example.tokens[example.learned_from :]
            logits = llama.logits(example.tokens[:-1], Cache(shape), 0)[example.learned_from - 1 :].astype(float)
            totals = np.log(np.exp(logits).sum(axis=-1))
            expected = np.mean(totals - logits[np.arange(len(learned)), learned])
            assert network.step(Batch([example]), Dropout(0.0, stream(0))) == pytest.approx(expected, abs=2e-5)
            assert adapter.gradient.dtype == np.float32


def test_an_example_does_not_see_its_neighbours(small):
    shape, tensors = small
    adapter = moved(FreshAdapter(tensors, "dora", ALL, 2, 2.0, seed=0))
    network = Network(shape, tensors, adapter)

    def summed(*examples):
        """The loss of all learned tokens, and its gradient."""
        batch = Batch(examples)
        loss = network.step(batch, Dropout(0.0, stream(0)))
        return len(batch.targets) * np.array([loss, *adapter.gradient])

    np.testing.assert_allclose(summed(*EXAMPLES), sum(summed(example) for example in EXAMPLES), atol=1e-10)


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.integers(1, 9), st.integers(1, 12))
def test_operations_have_the_derivatives_they_claim(seed, rows, channels):
    rng = np.random.default_rng(seed)
    x, y, g = (rng.normal(size=(rows, channels)) for _ in range(3))
    weight = rng.uniform(0.5, 1.5, channels)

    def along(function, at, direction):
        return np.sum(g * (function(at + 1e-6 * direction) - function(at - 1e-6 * direction))) / 2e-6

    _, kept = training.normed(x, weight, 0.1)
    slope = along(lambda at: training.normed(at, weight, 0.1)[0], x, y)
    exact = np.sum(training.backward_normed(g, weight, kept) * y)
    assert slope == pytest.approx(exact, rel=1e-4, abs=1e-6)

    _, kept = training.gated(x, y)
    d_gate, d_up = training.backward_gated(g, kept)
    assert along(lambda at: training.gated(at, y)[0], x, y) == pytest.approx(
        np.sum(d_gate * y), rel=1e-4, abs=1e-6
    )
    assert along(lambda at: training.gated(x, at)[0], y, x) == pytest.approx(np.sum(d_up * x), rel=1e-4, abs=1e-6)

    targets = rng.integers(0, channels, rows)
    _, d_logits = training.cross_entropy(x.copy(), targets)
    losses = [training.cross_entropy(x + step * y, targets)[0] for step in (1e-6, -1e-6)]
    assert (losses[0] - losses[1]) / 2e-6 == pytest.approx(np.sum(d_logits * y), rel=1e-4, abs=1e-6)


def test_dropout_keeps_the_mean_and_drops_the_share():
    given_ = Dropout(0.25, stream(1))(np.ones((300, 101), np.float32))
    assert set(np.unique(given_.dropped)) == {np.float32(0), np.float32(4 / 3)}
    assert np.mean(given_.dropped == 0) == pytest.approx(0.25, abs=0.01)
    assert Dropout(0.0, stream(1))(given_.x).dropped is given_.x


def test_extreme_gates_are_finite():
    x = np.array([[-1e4, -90.0, 0.0, 90.0, 1e4]], np.float32)
    value, kept = training.gated(x, np.ones_like(x))
    np.testing.assert_allclose(value, [[0, 0, 0, 90, 1e4]], atol=1e-6)
    assert all(np.isfinite(part).all() for part in training.backward_gated(np.ones_like(x), kept))
