"""What a Llama is made of beside its linear layers: each function, and what it hands back to its input.

A forward function returns its value and what its derivative needs; ``backward_...`` takes the value's gradient.
Tokens of several sequences lie one behind the other; ``spans`` says where each begins and ends: nothing is padded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

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
