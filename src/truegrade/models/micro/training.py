"""Training LoRA and DoRA adapters of a Llama in numpy: no torch, no graph, each derivative written down once.

The trained numbers and the layers with their derivatives are in `truegrade.models.micro.trained_layers`; here are
the Llama with the loss and gradient of a batch, epochs over sequences, and AdamW with its learning rate.

Arithmetic is float32; with float64 weights everything is float64, which is how derivatives are tested.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from truegrade.models.micro.llama import LlamaShape
from truegrade.models.micro.trained_layers import (
    Dropout,
    FreshAdapter,
    Input,
    Linear,
    Spans,
    attended,
    backward_attended,
    backward_gated,
    backward_normed,
    cross_entropy,
    gated,
    joined,
    normed,
    rotated,
    stream,
)

# ------------------------------- A Llama with an adapter: the loss of a batch and the gradient of the adapter.
# The same network as `truegrade.models.micro.llama`, for whole sequences. Those of a batch lie one behind the
# other, so that linear layers see all tokens at once and none is padding. The last block goes on with learned
# positions.

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


class TrainingExample(msgspec.Struct, frozen=True):
    """A sequence to learn from."""

    tokens: tuple[int, ...]
    learned_from: int
    """Place of the first token that is learned; at least 1, because the first has nothing before it."""


class Batch:
    """Examples one behind the other; each without its last token, after which nothing comes."""

    def __init__(self, examples: Sequence[TrainingExample]) -> None:
        import numpy as np

        lengths = [len(example.tokens) - 1 for example in examples]
        ends = np.cumsum(lengths)
        self.spans: Spans = [(int(end) - length, int(end)) for end, length in zip(ends, lengths, strict=True)]
        self.tokens = np.concatenate([example.tokens[:-1] for example in examples])
        self.positions = np.concatenate([np.arange(length) for length in lengths])
        self.learned = np.concatenate(
            [
                np.arange(begin + e.learned_from - 1, end)
                for e, (begin, end) in zip(examples, self.spans, strict=True)
            ]
        )
        """Places after which the next token is learned."""
        self.targets = np.concatenate([example.tokens[example.learned_from :] for example in examples])


class Network:
    """A frozen Llama and the adapter that is trained.

    Args:
        shape: the fields of its ``config.json``.
        tensors: its weights under Hugging Face's names, already checked by `truegrade.models.micro.llama.Llama`.
        adapter: whose gradient `step` writes.
    """

    def __init__(self, shape: LlamaShape, tensors: Mapping[str, Array], adapter: FreshAdapter) -> None:
        import numpy as np

        self._epsilon = shape.rms_norm_eps
        self._embedding = tensors["model.embed_tokens.weight"]
        self._norm = tensors["model.norm.weight"]
        self._head = self._embedding if shape.tie_word_embeddings else tensors["lm_head.weight"]
        self._blocks = [_Block(shape, tensors, adapter, index) for index in range(shape.num_hidden_layers)]
        exponents = np.arange(0, shape.head_width, 2) / shape.head_width
        angles = np.outer(np.arange(shape.max_position_embeddings), shape.theta**-exponents)[:, None]
        self._cosines = np.cos(angles).astype(self._embedding.dtype)
        self._sines = np.sin(angles).astype(self._embedding.dtype)

    def step(self, batch: Batch, dropout: Dropout) -> float:
        """The mean loss of the learned tokens; its gradient is in the adapter afterwards."""
        x, all_kept = self._embedding[batch.tokens], []
        turns = self._cosines[batch.positions], self._sines[batch.positions]
        for block in self._blocks:
            rows = batch.learned if block is self._blocks[-1] else None
            x, kept = block.forward(x, batch.spans, turns, rows, dropout)
            all_kept.append(kept)
        output, norm = normed(x, self._norm, self._epsilon)
        loss, d_logits = cross_entropy(output @ self._head.T, batch.targets)
        gradient = backward_normed(d_logits @ self._head, self._norm, norm)
        for block, kept in zip(reversed(self._blocks), reversed(all_kept), strict=True):
            gradient = block.backward(gradient, kept)
        return loss


class _Kept(msgspec.Struct, frozen=True):
    """What the derivative of a block needs."""

    spans: Spans
    turns: tuple[Array, Array]
    rows: Array | None
    norms: tuple[Any, Any]
    inputs: tuple[Input, Input, Input, Input]
    """Of the projections to q, k and v; of the one back; of gate and up; of the one down."""
    linear: dict[str, Any]
    attention: tuple[Any, ...]
    gate: tuple[Array, Array, Array]


class _Block:
    """One layer: attention, then the gated network, each added to what came in."""

    def __init__(self, shape: LlamaShape, tensors: Mapping[str, Array], adapter: FreshAdapter, index: int) -> None:
        at = f"model.layers.{index}."
        self._epsilon = shape.rms_norm_eps
        self._keys, self._width = shape.key_heads, shape.head_width
        self._norms = tensors[f"{at}input_layernorm.weight"], tensors[f"{at}post_attention_layernorm.weight"]
        names = {
            **{name: f"{at}self_attn.{name}_proj" for name in ("q", "k", "v", "o")},
            **{name: f"{at}mlp.{name}_proj" for name in ("gate", "up", "down")},
        }
        self._linear = {
            name: Linear(tensors[f"{module}.weight"], adapter.updates.get(module))
            for name, module in names.items()
        }

    def forward(
        self, x: Array, spans: Spans, turns: tuple[Array, Array], rows: Array | None, dropout: Dropout
    ) -> tuple[Array, _Kept]:
        """(tokens, channels); of ``rows`` only, where they are given."""
        linear: dict[str, Any] = {}

        def project(name: str, given: Input) -> Array:
            result, linear[name] = self._linear[name].forward(given)
            return result

        first, first_norm = normed(x, self._norms[0], self._epsilon)
        read = dropout(first)
        q = self._split(rotated(self._heads(project("q", read)), *turns)) * self._width**-0.5
        k = self._split(rotated(self._heads(project("k", read)), *turns))
        v = self._split(self._heads(project("v", read)).transpose(1, 0, 2))
        result, weights = attended(q, k, v, spans)
        flat = self._flat(result)
        if rows is not None:
            x, flat = x[rows], flat[rows]
        mixed = dropout(flat)
        x = x + project("o", mixed)
        second, second_norm = normed(x, self._norms[1], self._epsilon)
        seen = dropout(second)
        inner, gate = gated(project("gate", seen), project("up", seen))
        last = dropout(inner)
        x = x + project("down", last)
        norms, inputs = (first_norm, second_norm), (read, mixed, seen, last)
        return x, _Kept(spans, turns, rows, norms, inputs, linear, (result, q, k, v, weights), gate)

    def backward(self, gradient: Array, kept: _Kept) -> Array:
        """The gradient of what came in."""
        import numpy as np

        read, mixed, seen, last = kept.inputs

        def back(name: str, arriving: Array, given: Input) -> tuple[Array, Array | None]:
            return self._linear[name].backward(arriving, given, kept.linear[name])

        d_gate, d_up = backward_gated(joined(last, [back("down", gradient, last)]), kept.gate)
        d_second = joined(seen, [back("gate", d_gate, seen), back("up", d_up, seen)])
        gradient = gradient + backward_normed(d_second, self._norms[1], kept.norms[1])
        d_flat = joined(mixed, [back("o", gradient, mixed)])
        tokens = len(read.x)
        if kept.rows is not None:
            d_flat, gradient = _scattered(d_flat, kept.rows, tokens), _scattered(gradient, kept.rows, tokens)
        result, q, k, v, weights = kept.attention
        arriving = self._split(self._heads(d_flat).transpose(1, 0, 2))
        dq, dk, dv = backward_attended(arriving, result, q, k, v, kept.spans, weights)
        dq *= self._width**-0.5
        cosines, sines = kept.turns
        d_heads = {
            "q": rotated(self._joined_heads(dq), cosines, -sines),
            "k": rotated(self._joined_heads(dk), cosines, -sines),
            "v": self._joined_heads(dv).transpose(1, 0, 2),
        }
        d_read = [
            back(name, np.ascontiguousarray(d.transpose(1, 0, 2)).reshape(tokens, -1), read)
            for name, d in d_heads.items()
        ]
        return gradient + backward_normed(joined(read, d_read), self._norms[0], kept.norms[0])

    def _heads(self, x: Array) -> Array:
        """(tokens, heads, channels)."""
        return x.reshape(len(x), -1, self._width)

    def _split(self, x: Array) -> Array:
        """(heads, tokens, channels) to (key heads, queries a key, tokens, channels)."""
        return x.reshape(self._keys, -1, *x.shape[1:])

    def _joined_heads(self, x: Array) -> Array:
        """From `_split` back, as (tokens, heads, channels)."""
        return x.reshape(-1, *x.shape[2:]).transpose(1, 0, 2)

    def _flat(self, x: Array) -> Array:
        """From `_split` to (tokens, heads * channels)."""
        joined_heads = self._joined_heads(x)
        return joined_heads.reshape(len(joined_heads), -1)


def _scattered(gradient: Array, rows: Array, tokens: int) -> Array:
    """Rows of a gradient at their places, zeros at all others."""
    import numpy as np

    full = np.zeros((tokens, gradient.shape[1]), gradient.dtype)
    full[rows] = gradient
    return full


# ----------------------------------------------- AdamW on one flat vector, and the learning rate of each step.
# AdamW: arXiv 1711.05101; constants, clipping at a length of 1 and linear decay are the defaults of
# huggingface/transformers@v5.0 ``TrainingArguments``; the length of the warm-up is that of
# skishore23/coralx@fd75b33 ``core/domain/lora_training.py``.

BETAS, EPSILON, WEIGHT_DECAY, LONGEST_GRADIENT = (0.9, 0.999), 1e-8, 0.0, 1.0
LONGEST_WARM_UP = 20
"""Steps."""


class AdamW:
    """The optimiser's memory: running means of the gradient and of its square."""

    def __init__(self, size: int) -> None:
        import numpy as np

        self._mean, self._square = np.zeros(size), np.zeros(size)
        self._steps = 0

    def step(self, values: Array, gradient: Array, learning_rate: float) -> None:
        """Change the values in place; a gradient longer than `LONGEST_GRADIENT` is shortened to it."""
        import numpy as np

        self._steps += 1
        wide = gradient.astype(np.float64)
        length = float(np.sqrt(wide @ wide))
        wide *= min(1.0, LONGEST_GRADIENT / (length + 1e-6))
        self._mean += (1 - BETAS[0]) * (wide - self._mean)
        self._square += (1 - BETAS[1]) * (wide * wide - self._square)
        mean = self._mean / (1 - BETAS[0] ** self._steps)
        square = self._square / (1 - BETAS[1] ** self._steps)
        change = mean / (np.sqrt(square) + EPSILON) + WEIGHT_DECAY * values
        values -= (learning_rate * change).astype(values.dtype)


def learning_rate(step: int, steps: int, highest: float) -> float:
    """Rises linearly over the first min(20, steps / 4) steps, then falls linearly; the step after the last has 0.

    Args:
        step: from 0.
        steps: of the whole training.
        highest: where the rise ends.
    """
    rise = min(LONGEST_WARM_UP, steps // 4)
    if step < rise:
        return highest * (step + 1) / (rise + 1)
    return highest * (steps - step) / (steps - rise)


# ------------------------------------ Epochs over examples: in which order, with which dropout, at which rate.


class Fitting(msgspec.Struct, frozen=True, kw_only=True):
    """How an adapter is fitted."""

    learning_rate: float
    """Highest of all steps."""
    epochs: int
    batch_size: int
    """Examples a step."""
    dropout: float
    """Share of an update's input."""
    seed: int


def fit(
    network: Network,
    adapter: FreshAdapter,
    examples: Sequence[TrainingExample],
    fitting: Fitting,
) -> tuple[float, ...]:
    """Train an adapter in place.

    Args:
        network: the model with that adapter.
        adapter: as it begins.
        examples: at least one; each epoch takes them in another order.
        fitting: the rest.

    Returns:
        The mean loss per learned token, of each epoch.
    """
    order, dropped = stream(fitting.seed, "order"), stream(fitting.seed, "dropout")
    dropout, optimiser = Dropout(fitting.dropout, dropped), AdamW(adapter.values.size)
    steps_an_epoch = -(-len(examples) // fitting.batch_size)
    losses = []
    for epoch in range(fitting.epochs):
        shuffled = [examples[place] for place in order.permutation(len(examples))]
        total = learned = 0.0
        for number in range(steps_an_epoch):
            batch = Batch(shuffled[number * fitting.batch_size : (number + 1) * fitting.batch_size])
            total += network.step(batch, dropout) * len(batch.targets)
            learned += len(batch.targets)
            step = epoch * steps_an_epoch + number
            rate = learning_rate(step, fitting.epochs * steps_an_epoch, fitting.learning_rate)
            optimiser.step(adapter.values, adapter.gradient, rate)
        losses.append(total / learned)
    return tuple(losses)
