"""One token out of logits: the likeliest, or a draw; with repetition penalty, temperature, top-k and nucleus.

What they mean and their order are Hugging Face's, so that settings published for its models mean the same here:
transformers@5.23.0 ``generation/utils.py`` (`_get_logits_processor`) and ``generation/logits_process.py``
(`RepetitionPenaltyLogitsProcessor`, `TopKLogitsWarper`, `TopPLogitsWarper`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from truegrade.records.config import Sampling


class TokenSampler:
    """Draws the tokens of one reply; its draws depend on the seed and the prompt alone.

    The prompt goes into the stream, so that sample i of one problem says nothing about sample i of another.

    Args:
        temperature: 0 takes the likeliest token, the first of equals.
        top_p: nucleus: only the likeliest tokens that together reach this probability (arXiv 1904.09751).
        seed: the sample's own seed.
        prompt: tokens of the prompt.
        top_k: only so many of the likeliest tokens, and those equal to the last of them (arXiv 1805.04833).
        repetition_penalty: divides the logits of tokens in the prompt or the reply, multiplies those below zero
            (arXiv 1909.05858); each token once, however often it was there.
    """

    def __init__(
        self,
        temperature: float,
        top_p: float,
        seed: int,
        prompt: Sequence[int],
        *,
        top_k: int | None = None,
        repetition_penalty: float = 1.0,
    ) -> None:
        import numpy as np

        self._temperature, self._top_p, self._top_k = temperature, top_p, top_k
        self._penalty, self._seen = repetition_penalty, set(prompt)
        facts = f"{seed} {' '.join(map(str, prompt))}".encode()
        entropy = int.from_bytes(hashlib.sha256(facts).digest(), "little")
        self._random = np.random.Generator(np.random.PCG64(entropy)) if temperature > 0 else None

    def draw(self, logits: NDArray[np.float32]) -> int:
        """The next token; from now on it is one of the reply's."""
        import numpy as np

        if self._random is None:
            token = int(self._penalised(logits).argmax())
        else:
            order, cumulative = self.law(logits)
            place = int(np.searchsorted(cumulative, self._random.random() * cumulative[-1], side="right"))
            token = int(order[min(place, len(cumulative) - 1)])
        self._seen.add(token)
        return token

    def law(self, logits: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """What may be drawn at a temperature above 0: tokens, the likeliest first, and their weights summed up."""
        import numpy as np

        scores = self._penalised(logits)
        scaled = scores.astype(np.float64) / self._temperature
        weights = np.exp(scaled - scaled.max())
        order = np.argsort(-weights, kind="stable")
        if self._top_k is not None and self._top_k < len(order):
            least = weights[order[self._top_k - 1]]
            order = order[: np.count_nonzero(weights >= least)]
        cumulative = np.cumsum(weights[order])
        if self._top_p < 1:
            kept = int(np.searchsorted(cumulative, self._top_p * cumulative[-1])) + 1
            order, cumulative = order[:kept], cumulative[:kept]
        return order, cumulative

    def _penalised(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """In the logits' own precision, as the source does."""
        import numpy as np

        if self._penalty == 1.0:
            return logits
        seen = np.fromiter(self._seen, np.int64, len(self._seen))
        scores, old = logits.copy(), logits[seen]
        scores[seen] = np.where(old < 0, old * self._penalty, old / self._penalty)
        return scores


def sampler_for(
    sampling: Sampling, sample: int, prompt: Sequence[int], *, temperature: float, top_p: float | None
) -> TokenSampler:
    """What draws the tokens of one sample.

    Args:
        sampling: what the request says.
        sample: its number, which is its seed where the request has none.
        prompt: tokens of the prompt.
        temperature: the model's own, where the request has none.
        top_p: the same; None for 1.
    """
    return TokenSampler(
        temperature if sampling.temperature is None else sampling.temperature,
        next((p for p in (sampling.top_p, top_p) if p is not None), 1.0),
        sample if sampling.seed is None else sampling.seed,
        prompt,
        **sampling.in_process_only,
    )
