"""Short names for models that published results name, with their list prices.

Prices serve for cost figures only. They change: check them against the provider's page before you rely on a
cost, and give your own with ``-M input_price=... -M output_price=...``.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from truegrade.files.toml_text import TomlTables
from truegrade.records import Usage


class Price(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """List price in USD per million tokens; discounts for cached input are not counted."""

    input_usd: float
    output_usd: float
    """Thinking tokens are billed at this price too."""
    as_of: str
    """Month in which the list was read, or ``-M`` where the user gave the price."""

    def cost_usd(self, usage: Usage) -> float:
        """What one request cost."""
        return (usage.input_tokens * self.input_usd + usage.output_tokens * self.output_usd) / 1e6

    def times(self, factor: float) -> Price:
        """So many times the list price, for what a vendor sells at a discount."""
        return msgspec.structs.replace(
            self, input_usd=factor * self.input_usd, output_usd=factor * self.output_usd
        )

    def __str__(self) -> str:
        return f"${self.input_usd:g} in, ${self.output_usd:g} out per million tokens ({self.as_of}; check)"


class Preset(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model by its short name."""

    provider: str
    model: str
    """Its id at the provider."""
    reasoning: bool
    """Whether it thinks before it answers."""
    max_tokens: int
    """Suggested token limit: roomy enough that thinking and answer both fit."""
    price: Price | None = None
    """None where the price depends on who serves it."""
    notes: str
    current: bool = False
    """Whether `truegrade list models` lists it without ``--all``; not a model that only older results name."""

    @property
    def name(self) -> str:
        """``provider/name``."""
        return f"{self.provider}/{self.model}"


PRESETS = TomlTables(Path(__file__).with_suffix(".toml"), Preset)
"""By short name."""


def list_price(provider: str, model: str) -> Price | None:
    """List price of a model at a provider, or None where none is known."""
    for preset in PRESETS.values():
        if (preset.provider, preset.model) == (provider, model):
            return preset.price
    return None


def full_name(name: str) -> str:
    """``provider/name`` of a preset; any other name as it is."""
    return PRESETS[name].name if name in PRESETS else name
