"""Short names for models that published results name, with their list prices.

Prices serve for cost figures only. They change: check them against the provider's page before you rely on a
cost, and give your own with ``-M input_price=... -M output_price=...``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from truegrade.records import Usage


class Price(msgspec.Struct, frozen=True, kw_only=True):
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


class Preset(msgspec.Struct, frozen=True, kw_only=True):
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
    """Whether `truegrade models` lists it without ``--all``; not a model that only older results name."""

    @property
    def name(self) -> str:
        """``provider/name``."""
        return f"{self.provider}/{self.model}"


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "gpt-4o-mini": Preset(
            provider="openai",
            model="gpt-4o-mini",
            reasoning=False,
            max_tokens=4096,
            price=Price(input_usd=0.15, output_usd=0.60, as_of="2025-06"),
            notes="GPT-4o mini",
        ),
        "gpt-4o": Preset(
            provider="openai",
            model="gpt-4o",
            reasoning=False,
            max_tokens=4096,
            price=Price(input_usd=2.50, output_usd=10.0, as_of="2025-06"),
            notes="GPT-4o",
        ),
        # the price while it was sold; OpenAI's page of the model says that GPT-3.5 Turbo ended on 2026-10-23
        "gpt-3.5-turbo-1106": Preset(
            provider="openai",
            model="gpt-3.5-turbo-1106",
            reasoning=False,
            max_tokens=4096,
            price=Price(input_usd=1.0, output_usd=2.0, as_of="2024-01"),
            notes="GPT-3.5 Turbo of November 2023, which AgentCoder's replication asked; ended at OpenAI",
        ),
        "o3-mini": Preset(
            provider="openai",
            model="o3-mini",
            reasoning=True,
            max_tokens=32768,
            price=Price(input_usd=1.10, output_usd=4.40, as_of="2025-06"),
            notes="o3-mini; takes a reasoning effort, no temperature",
        ),
        # platform.claude.com, each model's page
        "claude-opus-5-5": Preset(
            provider="anthropic",
            model="claude-opus-5-5",
            reasoning=True,
            max_tokens=32768,
            price=Price(input_usd=4.0, output_usd=20.0, as_of="2026-09"),
            notes="Claude Opus 5.5; always thinks, takes a reasoning effort, no temperature",
        ),
        "claude-sonnet-5-5": Preset(
            provider="anthropic",
            model="claude-sonnet-5-5",
            reasoning=True,
            max_tokens=32768,
            price=Price(input_usd=2.0, output_usd=10.0, as_of="2026-09"),
            notes="Claude Sonnet 5.5; thinks, takes a reasoning effort, no temperature",
        ),
        "claude-haiku-4-5": Preset(
            provider="anthropic",
            model="claude-haiku-4-5",
            reasoning=False,
            max_tokens=8192,
            price=Price(input_usd=1.0, output_usd=5.0, as_of="2026-09"),
            notes="Claude Haiku 4.5; thinks only where it is given a thinking_budget",
        ),
        # DeepSeek's own alias "deepseek-reasoner" has moved on to later models than R1
        "deepseek-r1": Preset(
            provider="openrouter",
            model="deepseek/deepseek-r1",
            reasoning=True,
            max_tokens=32768,
            notes="DeepSeek-R1 (January 2025) as OpenRouter's hosts serve it; their prices differ",
        ),
        "gemini-2.5-pro": Preset(
            provider="gemini",
            model="gemini-2.5-pro",
            reasoning=True,
            max_tokens=32768,
            price=Price(input_usd=1.25, output_usd=10.0, as_of="2025-06"),
            notes="Gemini 2.5 Pro; the price holds for prompts of up to 200,000 tokens",
        ),
        "gpt-oss-20b": Preset(
            provider="groq",
            model="openai/gpt-oss-20b",
            reasoning=True,
            max_tokens=32768,
            price=Price(input_usd=0.075, output_usd=0.30, as_of="2025-11"),
            notes="gpt-oss 20b at Groq, takes a reasoning effort; the same weights: vllm/openai/gpt-oss-20b",
            current=True,
        ),
        "gpt-oss-120b": Preset(
            provider="groq",
            model="openai/gpt-oss-120b",
            reasoning=True,
            max_tokens=32768,
            price=Price(input_usd=0.15, output_usd=0.60, as_of="2025-11"),
            notes="gpt-oss 120b at Groq, takes a reasoning effort; the same weights: vllm/openai/gpt-oss-120b",
            current=True,
        ),
        "codellama-7b": Preset(
            provider="vllm",
            model="codellama/CodeLlama-7b-Instruct-hf",
            reasoning=False,
            max_tokens=2048,
            notes="Code Llama 7B Instruct; its paper's pass@1 is greedy (temperature 0)",
        ),
        "deepseek-coder-6.7b": Preset(
            provider="vllm",
            model="deepseek-ai/deepseek-coder-6.7b-instruct",
            reasoning=False,
            max_tokens=2048,
            notes="DeepSeek-Coder 6.7B Instruct; its authors evaluate greedily (temperature 0)",
        ),
        "qwen2.5-coder-7b": Preset(
            provider="vllm",
            model="Qwen/Qwen2.5-Coder-7B-Instruct",
            reasoning=False,
            max_tokens=4096,
            notes="Qwen2.5-Coder 7B Instruct; its report evaluates greedily (temperature 0)",
        ),
    }
)


def list_price(provider: str, model: str) -> Price | None:
    """List price of a model at a provider, or None where none is known."""
    for preset in PRESETS.values():
        if (preset.provider, preset.model) == (provider, model):
            return preset.price
    return None


def full_name(name: str) -> str:
    """``provider/name`` of a preset; any other name as it is."""
    return PRESETS[name].name if name in PRESETS else name
