"""AdamW on one flat vector, and the learning rate of each step.

AdamW: arXiv 1711.05101; constants, clipping at a length of 1 and linear decay are the defaults of
huggingface/transformers@v5.0 ``TrainingArguments``; the length of the warm-up is that of skishore23/coralx@fd75b33
``core/domain/lora_training.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

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
