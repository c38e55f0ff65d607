"""A Llama in numpy: what answers where no key, no network, no GPU and no torch are at hand.

``safetensors_file`` and ``tokenizer`` read the Hugging Face files of a model, ``llama`` is the forward pass,
``sampling`` draws a token, ``decoding`` answers many requests at once, ``layout`` turns messages into tokens.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

WEIGHTS = Path(__file__).parent / "weights" / "truegrade-micro"
"""The included model, in Hugging Face's file layout."""

EARLY_WEIGHTS = WEIGHTS.with_name("truegrade-micro-early")
"""A shorter run of the same recipe: it leaves adapters something to learn."""


# ----------------------------------------------------------------------------------------------------------------
# Which programs ``truegrade-micro`` was shown in its training, so that a data set can be told apart from them.
# ``shown.bin`` holds the first 28 bits of the identity (`truegrade.datasets.identity`) of every program that a
# prediction of the recipe in ``train/`` shows: sorted, as gaps of two bytes each, compressed. A program that was
# not shown is taken for one about once in two thousand. ``python -m train.shown --pack shown.bin`` writes it
# again.

_FILE = Path(__file__).with_name("shown.bin")
_DIGITS = 7
"""Hexadecimal digits of an identity that are kept."""


def was_shown(identity: str) -> bool:
    """Whether a program of this identity was shown; rarely true of one that was not."""
    return _head(identity) in _shown_hashes()


def pack(identities: Iterable[str]) -> bytes:
    """The content of ``shown.bin``."""
    import numpy as np

    heads = np.array(sorted(set(map(_head, identities))), dtype=np.int64)
    gaps = np.diff(heads, prepend=0)
    if gaps.max() >= 2**16:
        raise ValueError("two programs are too far apart for gaps of two bytes: there are too few of them")
    return zlib.compress(gaps.astype("<u2").tobytes(), 9)


def unpack(content: bytes) -> frozenset[int]:
    """The first bits of the identities in ``shown.bin``."""
    import numpy as np

    return frozenset(np.cumsum(np.frombuffer(zlib.decompress(content), "<u2"), dtype=np.int64).tolist())


@cache
def _shown_hashes() -> frozenset[int]:
    return unpack(_FILE.read_bytes())


def _head(identity: str) -> int:
    return int(identity[:_DIGITS], 16)
