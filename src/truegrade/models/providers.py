"""Who serves models: protocols, addresses, and where each service's key is looked for.

Addresses and variables are those that each service's own documentation names; ``--base-url`` overrides an address.

Short names for models that published results name, with their list prices.

Prices serve for cost figures only. They change: check them against the provider's page before you rely on a
cost, and give your own with ``-M input_price=... -M output_price=...``.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from truegrade.errors import UserError
from truegrade.files.json_text import TomlTables
from truegrade.files.writing import keys_in, without_keys
from truegrade.models.base import Model
from truegrade.records import Usage
from truegrade.records.config import RequestPolicy
from truegrade.registry import Found, Registry

Protocol = Literal["openai", "anthropic"]
"""What a service speaks; `truegrade.models` opens each through the vendor's own client."""


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """One service, as documented by itself; or any other way to open models by name."""

    base_url: str | None = None
    """None where only the user can say."""
    protocol: Protocol = "openai"
    base_url_variable: str | None = None
    """Environment variable that gives another address, as the vendor's own client reads it."""
    key_variables: tuple[str, ...] = ()
    """Environment variables that may hold the key; the first one set is used."""
    keyless: bool = False
    """Whether it answers without a key."""
    notes: str
    open: Callable[[str, RequestPolicy, Mapping[str, Any]], Model] | None = None
    """``open(name, request_policy, args)`` makes the model of that name, where it speaks none of the
    protocols; ``args`` are those of ``-M``, and the model's own name begins with the provider's."""


PROVIDERS: Mapping[str, Provider] = MappingProxyType(
    {
        "openai": Provider(
            base_url="https://api.openai.com/v1",
            base_url_variable="OPENAI_BASE_URL",
            key_variables=("OPENAI_API_KEY",),
            notes="OpenAI; OPENAI_BASE_URL is honoured",
        ),
        "deepseek": Provider(
            base_url="https://api.deepseek.com/v1",
            key_variables=("DEEPSEEK_API_KEY",),
            notes="DeepSeek; its model names are aliases that move to newer versions",
        ),
        "anthropic": Provider(
            protocol="anthropic",
            base_url="https://api.anthropic.com",
            base_url_variable="ANTHROPIC_BASE_URL",
            key_variables=("ANTHROPIC_API_KEY",),
            notes="Anthropic's Messages API, through its own client; needs truegrade[anthropic]",
        ),
        "gemini": Provider(
            base_url="https://generativelanguage.googleapis.com/v1beta/openai",
            key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
            notes="Google Gemini through its OpenAI-compatible endpoint",
        ),
        "openrouter": Provider(
            base_url="https://openrouter.ai/api/v1",
            key_variables=("OPENROUTER_API_KEY",),
            notes="OpenRouter; names such as openrouter/deepseek/deepseek-r1",
        ),
        "groq": Provider(
            base_url="https://api.groq.com/openai/v1",
            key_variables=("GROQ_API_KEY",),
            notes="Groq; names such as groq/openai/gpt-oss-20b",
        ),
        "mistral": Provider(
            base_url="https://api.mistral.ai/v1", key_variables=("MISTRAL_API_KEY",), notes="Mistral AI"
        ),
        "together": Provider(
            base_url="https://api.together.xyz/v1", key_variables=("TOGETHER_API_KEY",), notes="Together AI"
        ),
        "xai": Provider(base_url="https://api.x.ai/v1", key_variables=("XAI_API_KEY",), notes="xAI"),
        "fireworks": Provider(
            base_url="https://api.fireworks.ai/inference/v1",
            key_variables=("FIREWORKS_API_KEY",),
            notes="Fireworks AI",
        ),
        "vllm": Provider(
            key_variables=("VLLM_API_KEY",),
            keyless=True,
            notes="vLLM server of your own (vllm serve), at an address given",
        ),
        "ollama": Provider(
            base_url="http://localhost:11434/v1",
            key_variables=("OLLAMA_API_KEY",),
            keyless=True,
            notes="Ollama on this machine",
        ),
        "lmstudio": Provider(
            base_url="http://localhost:1234/v1",
            key_variables=("LMSTUDIO_API_KEY",),
            keyless=True,
            notes="LM Studio on this machine",
        ),
        "openai-compatible": Provider(
            base_url=None,
            key_variables=("OPENAI_COMPATIBLE_API_KEY", "OPENAI_API_KEY"),
            notes="any other service that speaks the protocol, at an address given",
        ),
    }
)


def _fault(thing: Any) -> str | None:
    return None if isinstance(thing, Provider) else "is no truegrade.models.providers.Provider"


REMOVED: Mapping[str, str] = MappingProxyType({"google": "64dee114", "bedrock": "64dee114"})
"""What earlier versions had, each with the last commit that has it."""

REGISTRY = Registry[Provider]("provider", PROVIDERS, _fault, removed=REMOVED)


class ModelEndpoint:
    """Where to ask and with which key. Not a record: the key must never be printed or stored."""

    def __init__(self, provider: str, base_url: str, api_key: str | None, key_variable: str) -> None:
        self.provider = provider
        self.address = base_url
        """What requests are sent to; it may hold keys, so it is never shown nor stored."""
        self.base_url = without_keys(base_url)
        self.api_key = api_key
        self.secrets = tuple(key for key in (api_key, *keys_in(base_url)) if key)
        """What must not be shown where a service echoes it."""
        self.key_variable = key_variable
        """The variable that holds the key, or would."""

    @property
    def local(self) -> bool:
        """Whether the service runs on this machine."""
        return is_local(self.base_url)

    def __repr__(self) -> str:
        return f"Endpoint({self.provider!r}, {self.base_url!r})"


def find_endpoint(
    provider: str | Found[Provider],
    *,
    base_url: str | None = None,
    key_variable: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> ModelEndpoint:
    """Address and key of a provider.

    Args:
        provider: a name, a file, or one that was found already.
        base_url: the user's own address, which wins over the table and the environment.
        key_variable: the user's own choice of variable (``-M api_key_env=NAME``).
        environ: where variables are looked up.

    Raises:
        UnknownName: no such provider.
        UserError: no address, an address that is none, or no key where one is needed.
    """
    found = provider if isinstance(provider, Found) else REGISTRY.find(provider)
    provider, entry = found.name, found.value
    url = base_url or environ.get(entry.base_url_variable or "") or entry.base_url
    if url is None:
        raise UserError(f"provider {provider!r} has no address of its own: give `base_url` http://HOST:PORT/v1")
    _check_url(url)
    variables = (key_variable,) if key_variable else entry.key_variables
    key_in = next((name for name in variables if environ.get(name)), None)
    may_lack_key = entry.keyless or (base_url is not None and is_local(base_url))
    if key_in is None and (key_variable or not may_lack_key):
        raise UserError(
            f"provider {provider!r} needs a key: set the environment variable {' or '.join(variables)}"
        )
    named = key_in or next(iter(variables), "")
    return ModelEndpoint(provider, url.rstrip("/"), environ[key_in] if key_in else None, named)


def is_local(url: str) -> bool:
    """Whether a URL points at this machine (localhost or a loopback address)."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise UserError(
            f"{without_keys(url)!r} is no address of a service: give `base_url` as http://HOST:PORT/v1"
        )


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


PRESETS = TomlTables(Path(__file__).with_name("presets.toml"), Preset)
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
