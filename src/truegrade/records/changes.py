"""A changed problem beside its original: what was changed, and the call that tells their answers apart."""

from __future__ import annotations

from typing import Literal

import msgspec

Family = Literal["words", "sentence", "model"]
"""``words``: words of the statement were replaced. ``sentence``: one was added. ``model``: a model worded it."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """How a changed problem was made from its original; a field of a benchmark row."""

    original: str
    """Id of the original's row, which stands in the same file."""
    rule: str
    """Name of the rule that changed program and text together."""
    kind: str
    """What is changed: ``boundary``, ``order``, ``extreme``, ``role``, ..."""
    family: Family
    edits: tuple[tuple[str, str], ...]
    """Texts of the original's statement and what stands in their place; an empty first one was inserted."""
    call: str
    """The witness: a call of the tests, to which the two references answer differently."""
    old: str
    """What the original's reference returns for it; a literal."""
    new: str
    """What the changed problem's reference returns; a literal."""
    differing: int
    """Tests on which the two references differ."""
    tests: int
    """Tests of the changed problem."""
