"""Cutting a text at the first stop string, as harnesses do for base models."""

from __future__ import annotations

from collections.abc import Iterable

HUMANEVALPACK_STOP = ("\nclass", "\ndef", "\n#", "\n@", "\nprint", "\nif", "\nassert", "<|endoftext|>")
"""bigcode-project/bigcode-evaluation-harness@8fc5bae6 ``bigcode_eval/tasks/humanevalpack.py``."""


def before_stop(text: str, stops: Iterable[str]) -> str:
    """The text before whichever stop string comes first.

    bigcode-project/bigcode-evaluation-harness@8fc5bae6 ``bigcode_eval/base.py`` ``_stop_at_stop_token``, and
    evalplus/evalplus@26d6d00 ``evalplus/provider/hf.py``.
    """
    found = (text.find(stop) for stop in stops)
    return text[: min((at for at in found if at != -1), default=len(text))]
