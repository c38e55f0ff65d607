"""What a probe found out: the record that stands in a run's manifest and that `truegrade doctor --json` prints."""

from __future__ import annotations

from typing import Literal

import msgspec

State = Literal["honoured", "ignored", "refused", "unknown"]
"""``ignored``: taken without a word and without effect; ``refused``: the service says that it does not take it;
``unknown``: what came back shows neither."""


class Feature(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a request may ask for, and what became of it."""

    name: str
    state: State
    evidence: str
    """What was seen, in one line."""


class ProbeReport(msgspec.Struct, frozen=True, kw_only=True):
    """Which parameters a server honours."""

    model: str
    base_url: str | None
    probed: str
    """UTC, ISO 8601."""
    style: Literal["chat", "text"]
    """Which way it was asked: chat messages, or text to continue."""
    features: tuple[Feature, ...]
    requests: int
    """Requests that it took, refused ones included."""
    output_tokens: int
    """Tokens that they generated, as far as the service counts them."""

    def state(self, name: str) -> State:
        """What became of a feature; unknown where it was not looked at."""
        return next((feature.state for feature in self.features if feature.name == name), "unknown")
