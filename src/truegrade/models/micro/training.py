"""Training LoRA and DoRA adapters of a Llama in numpy: no torch, no graph, each derivative written down once.

The trained numbers and the layers with their derivatives come first, then the Llama with the loss and gradient of
a batch, epochs over sequences, and AdamW with its learning rate.

Arithmetic is float32; with float64 weights everything is float64, which is how derivatives are tested.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from truegrade.errors import UserError
from truegrade.models.micro.llama import LlamaShape
from truegrade.models.micro.micro_adapters import MODULES, PREFIX
from truegrade.records import sha256_json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[Any]

# ----------------------------------------- Layers with LoRA or DoRA updates: each function with its gradient.

Kind = Literal["lora", "dora"]


class Update(msgspec.Struct, frozen=True):
    """What is trained of one linear layer; the second of each pair is the gradient."""

    down: tuple[Array, Array]
    """``A``: (rank, inputs)."""
    up: tuple[Array, Array]
    """``B``: (outputs, rank)."""
    magnitude: tuple[Array, Array] | None
    """DoRA's ``m``: (outputs,)."""
    scale: float


class FreshAdapter:
    """A fresh adapter, as PEFT begins one: ``A`` uniform, ``B`` zero, ``m`` the lengths of the weights' rows.

    ``A`` is bounded by 1 / sqrt(inputs), which is torch's ``kaiming_uniform_`` with a = sqrt(5)
    (huggingface/peft@v0.21.2 ``tuners/lora/layer.py``, ``reset_lora_parameters``). Each layer draws from a stream
    of its own, so that another choice of layers leaves the rest as it was.

    Args:
        tensors: the model's weights under Hugging Face's names.
        kind: LoRA or DoRA.
        modules: names of the linear layers that get an update, in every block.
        rank: of each.
        alpha: each is scaled by alpha / rank.
        seed: decides ``A``.

    Raises:
        UserError: there is no such module, or the rank is not at least 1.
    """

    def __init__(
        self, tensors: Mapping[str, Array], kind: Kind, modules: Sequence[str], rank: int, alpha: float, seed: int
    ) -> None:
        import numpy as np

        if rank < 1:
            raise UserError(f"an adapter of rank {rank}: a rank must be at least 1")
        targets = _targets(tensors, modules)
        shapes = [tensors[f"{module}.weight"].shape for module in targets]
        dtype = next(iter(tensors.values())).dtype
        size = sum(rank * (outputs + inputs) + (kind == "dora") * outputs for outputs, inputs in shapes)
        self.values: Array = np.zeros(size, dtype)
        self.gradient: Array = np.zeros(size, dtype)
        self.updates: dict[str, Update] = {}
        place = 0

        def take(*extents: int) -> tuple[Array, Array]:
            nonlocal place
            begin, place = place, place + int(np.prod(extents))
            return self.values[begin:place].reshape(extents), self.gradient[begin:place].reshape(extents)

        for module, (outputs, inputs) in zip(targets, shapes, strict=True):
            magnitude = take(outputs) if kind == "dora" else None
            update = Update(take(rank, inputs), take(outputs, rank), magnitude, alpha / rank)
            update.down[0][...] = (stream(seed, "A", module).random((rank, inputs)) * 2 - 1) * inputs**-0.5
            if magnitude is not None:
                magnitude[0][...] = np.linalg.norm(tensors[f"{module}.weight"], axis=1)
            self.updates[module] = update

    def tensors(self) -> dict[str, Array]:
        """The adapter under the names of PEFT's file."""
        named = {}
        for module, update in self.updates.items():
            named[f"{PREFIX}{module}.lora_A.weight"] = update.down[0]
            named[f"{PREFIX}{module}.lora_B.weight"] = update.up[0]
            if update.magnitude is not None:
                named[f"{PREFIX}{module}.lora_magnitude_vector"] = update.magnitude[0]
        return named


def stream(seed: int, *purpose: str | int) -> np.random.Generator:
    """A stream of random numbers of its own for every purpose."""
    import numpy as np

    return np.random.Generator(np.random.PCG64(int(sha256_json([seed, *purpose]), 16)))


def _targets(tensors: Mapping[str, Array], modules: Sequence[str]) -> list[str]:
    """Full names of the modules that get an update, in the model's own order."""
    unknown = sorted(set(modules) - set(MODULES))
    if unknown or not modules:
        problem = f"no module {unknown[0]!r} in a Llama" if unknown else "an adapter of no modules"
        raise UserError(f"{problem}: choose among {', '.join(MODULES)}")
    layers = 1 + max(int(name.split(".")[2]) for name in tensors if name.startswith("model.layers."))
    return [
        f"model.layers.{layer}.{'mlp' if module in MODULES[4:] else 'self_attn'}.{module}"
        for layer in range(layers)
        for module in MODULES
        if module in modules
    ]


# --------------------------- A frozen linear layer with a LoRA or DoRA update, and the gradient of the update.
#     y = W (x - d) + g (W d + s B A d)
#
# Here d is x after dropout, and g is 1 for LoRA, m / |W + s B A| row by row for DoRA. The length |W + s B A| is
# taken for a constant (arXiv 2402.09353 section 4.3), and dropout reaches W's part of DoRA too, both as PEFT does
# (huggingface/peft@v0.21.2 ``tuners/lora/dora.py``).


class Dropout:
    """Zeroes a share of numbers and enlarges the others, so that the mean stays.

    Layers that read the same input share what is dropped of it; PEFT draws for each.

    Args:
        share: 0 to below 1, kept to a 65536th.
        rng: draws what is dropped.
    """

    def __init__(self, share: float, rng: np.random.Generator) -> None:
        self._threshold, self._rng = round(share * 65536), rng

    def __call__(self, x: Array) -> Input:
        """An input, and what is left of it."""
        import numpy as np

        if self._threshold == 0:
            return Input(x, x, None)
        drawn = self._rng.bit_generator.random_raw(-(-x.size // 4)).view("<u2")[: x.size].reshape(x.shape)
        factors = (drawn >= self._threshold).astype(x.dtype)
        factors *= np.asarray(65536 / (65536 - self._threshold), x.dtype)
        return Input(x, x * factors, factors)


class Input(msgspec.Struct, frozen=True):
    """What a linear layer reads."""

    x: Array
    dropped: Array
    """Of its update; ``x`` itself without dropout."""
    factors: Array | None
    """From the one to the other; None without dropout."""


class Linear:
    """A layer: its frozen weight and, where it has one, its update.

    Args:
        weight: (outputs, inputs).
        update: what is trained of it.
    """

    def __init__(self, weight: Array, update: Update | None) -> None:
        self._weight, self._update = weight, update

    def forward(self, given: Input) -> tuple[Array, Any]:
        """(tokens, outputs); and what `backward` needs."""
        import numpy as np

        update = self._update
        if update is None:
            return given.x @ self._weight.T, None
        (down, _), (up, _) = update.down, update.up
        inner = given.dropped @ down.T
        through = inner @ (update.scale * up).T
        if update.magnitude is None:
            through += given.x @ self._weight.T
            return through, (inner, None, None, None)
        norms = np.linalg.norm(self._weight + update.scale * (up @ down), axis=1)
        gain = update.magnitude[0] / norms
        frozen = given.dropped @ self._weight.T
        through += frozen
        result = through * gain
        if given.factors is not None:
            result += given.x @ self._weight.T
            result -= frozen
        return result, (inner, through, norms, gain)

    def backward(self, gradient: Array, given: Input, kept: Any) -> tuple[Array, Array | None]:
        """Gradients of ``given.x`` and of ``given.dropped``; that of the update is written into its place."""
        import numpy as np

        update = self._update
        if update is None:
            return gradient @ self._weight, None
        inner, through, norms, gain = kept
        (down, d_down), (up, d_up) = update.down, update.up
        adapted = gradient
        if update.magnitude is not None:
            np.einsum("ij,ij->j", gradient, through, out=update.magnitude[1])
            update.magnitude[1][...] /= norms
            adapted = gradient * gain
        narrow = adapted @ (update.scale * up)
        np.matmul(adapted.T, inner, out=d_up)
        d_up *= update.scale
        np.matmul(narrow.T, given.dropped, out=d_down)
        lowered = narrow @ down
        if update.magnitude is None or given.factors is not None:
            if update.magnitude is not None:
                lowered += (adapted - gradient) @ self._weight
            return gradient @ self._weight, lowered
        return adapted @ self._weight, lowered


def joined(given: Input, gradients: list[tuple[Array, Array | None]]) -> Array:
    """The gradient of an input that several layers read."""
    lowered = [behind for _, behind in gradients if behind is not None]
    total = gradients[0][0]
    for through, _ in gradients[1:]:
        total += through
    if lowered:
        below = lowered[0]
        for other in lowered[1:]:
            below += other
        if given.factors is not None:
            below *= given.factors
        total += below
    return total


# ------- What a Llama is made of beside its linear layers: each function, and what it hands back to its input.
# A forward function returns its value and what its derivative needs; ``backward_...`` takes the value's gradient.
# Tokens of several sequences lie one behind the other; ``spans`` says where each begins and ends: nothing is
# padded.

Spans = Sequence[tuple[int, int]]
"""First token of each sequence, and the one behind its last."""


def normed(x: Array, weight: Array, epsilon: float) -> tuple[Array, tuple[Array, Array]]:
    """RMSNorm (arXiv 1910.07467): x / sqrt(mean(x²) + epsilon), times a weight for each channel."""
    import numpy as np

    inverse = 1 / np.sqrt(_row_means(x, x) + epsilon)
    unit = x * inverse
    return unit * weight, (unit, inverse)


def backward_normed(gradient: Array, weight: Array, kept: tuple[Array, Array]) -> Array:
    """The gradient of x: inverse · (g - unit · mean(g · unit)), g the gradient of the unit vector."""
    unit, inverse = kept
    scaled = gradient * weight
    scaled -= unit * _row_means(scaled, unit)
    scaled *= inverse
    return scaled


def rotated(x: Array, cosines: Array, sines: Array) -> Array:
    """Rotary positions (arXiv 2104.09864), channels paired half by half as Hugging Face stores them.

    Args:
        x: (tokens, heads, channels).
        cosines: of each token's angles, (tokens, 1, channels / 2).
        sines: as ``cosines``; negated, they turn a gradient back.

    Returns:
        (heads, tokens, channels).
    """
    import numpy as np

    tokens, heads, width = x.shape
    first, second = x[..., : width // 2], x[..., width // 2 :]
    turned = np.empty((heads, tokens, width), x.dtype).transpose(1, 0, 2)
    turned[..., : width // 2] = first * cosines - second * sines
    turned[..., width // 2 :] = second * cosines + first * sines
    return turned.transpose(1, 0, 2)


def attended(q: Array, k: Array, v: Array, spans: Spans) -> tuple[Array, list[Array]]:
    """Causal attention of every sequence with itself, several heads of queries to one of keys and values.

    Args:
        q: (key heads, queries a key, tokens, channels), already divided by the root of the channels.
        k: (key heads, 1, tokens, channels).
        v: as ``k``.
        spans: the sequences.

    Returns:
        The same extents as ``q``; and the weights of each sequence.
    """
    import numpy as np

    result = np.empty(q.shape, q.dtype)
    longest = max(end - begin for begin, end in spans)
    hidden = np.triu(np.full((longest, longest), -np.inf, q.dtype), 1)
    kept = []
    for begin, end in spans:
        tokens = end - begin
        weights = q[:, :, begin:end] @ k[:, :, begin:end].swapaxes(-1, -2)
        weights += hidden[:tokens, :tokens]
        weights -= weights.max(axis=-1, keepdims=True)
        np.exp(weights, out=weights)
        weights /= weights.sum(axis=-1, keepdims=True)
        np.matmul(weights, v[:, :, begin:end], out=result[:, :, begin:end])
        kept.append(weights)
    return result, kept


def backward_attended(
    gradient: Array, result: Array, q: Array, k: Array, v: Array, spans: Spans, kept: Sequence[Array]
) -> tuple[Array, Array, Array]:
    """Gradients of q, k and v; the softmax's inner product is taken from the result (arXiv 2205.14135, B.4)."""
    import numpy as np

    dq, dk, dv = np.empty_like(q), np.empty_like(k), np.empty_like(v)
    inner = np.einsum("...c,...c->...", gradient, result)[..., None]
    for (begin, end), weights in zip(spans, kept, strict=True):
        here = np.s_[:, :, begin:end]
        dv[here] = (weights.swapaxes(-1, -2) @ gradient[here]).sum(axis=1, keepdims=True)
        scores = gradient[here] @ v[here].swapaxes(-1, -2)
        scores -= inner[here]
        scores *= weights
        np.matmul(scores, k[here], out=dq[here])
        dk[here] = (scores.swapaxes(-1, -2) @ q[here]).sum(axis=1, keepdims=True)
    return dq, dk, dv


def gated(gate: Array, up: Array) -> tuple[Array, tuple[Array, Array, Array]]:
    """SwiGLU (arXiv 2002.05202): gate · sigmoid(gate) · up."""
    import numpy as np

    with np.errstate(over="ignore"):  # exp(-gate) overflows to infinity, and the quotient is then rightly 0
        sigmoid = np.exp(-gate)
    sigmoid += 1
    np.reciprocal(sigmoid, out=sigmoid)
    silu = gate * sigmoid
    return silu * up, (silu, sigmoid, up)


def backward_gated(gradient: Array, kept: tuple[Array, Array, Array]) -> tuple[Array, Array]:
    """Gradients of gate and up; silu' = sigmoid + silu (1 - sigmoid)."""
    silu, sigmoid, up = kept
    slope = 1 - sigmoid
    slope *= silu
    slope += sigmoid
    slope *= up
    slope *= gradient
    return slope, gradient * silu


def cross_entropy(logits: Array, targets: Array) -> tuple[float, Array]:
    """Mean of -log p(target) over rows, and its gradient by the logits, which are overwritten."""
    import numpy as np

    rows, share = np.arange(len(targets)), logits.dtype.type(1 / len(targets))
    logits -= logits.max(axis=-1, keepdims=True)
    wanted = logits[rows, targets]
    np.exp(logits, out=logits)
    totals = logits.sum(axis=-1, keepdims=True)
    loss = float(np.mean(np.log(totals[:, 0]) - wanted))
    logits *= share / totals
    logits[rows, targets] -= share
    return loss, logits


def _row_means(x: Array, y: Array) -> Array:
    """Mean of x · y over channels, one a row."""
    import numpy as np

    means: Array = np.einsum("ij,ij->i", x, y)[:, None] / x.shape[1]
    return means


# ------------------------------- A Llama with an adapter: the loss of a batch and the gradient of the adapter.
# The same network as `truegrade.models.micro.llama`, for whole sequences. Those of a batch lie one behind the
# other, so that linear layers see all tokens at once and none is padding. The last block goes on with learned
# positions.


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
