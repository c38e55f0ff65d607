"""What a run is asked to do: frozen settings, hashed into every result."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from truegrade.errors import UserError
from truegrade.records import sha256_json


def _refuse_unless(settings: Any, name: str, fits: Callable[[Any], bool], wanted: str) -> None:
    """See that a setting is unset or fits; NaN fits nowhere, because every comparison with it is false.

    Raises:
        UserError: it does not.
    """
    value = getattr(settings, name)
    if value is not None and not fits(value):
        raise UserError(f"{name} {value}: {wanted}")


class Sampling(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of generation. None leaves a parameter out of the request: the service's default rules.

    Every field decides the text, so every field enters `GenerationConfig.sha256`. Of the last two, which came
    later, None becomes unset, for what is unset is not written: runs from before keep their bytes and hashes.

    Raises:
        UserError: a parameter is out of the range that it can have.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    """Seed of sample 0; sample i asks with ``seed + i``, so that samples differ and each can be repeated."""
    stop: tuple[str, ...] = ()
    """Stop strings added to those of the prompt rule."""
    reasoning_effort: str | None = None
    top_k: int | UnsetType | None = UNSET
    """Only so many of the likeliest tokens are drawn from. No parameter of the OpenAI protocol."""
    repetition_penalty: float | UnsetType | None = UNSET
    """The logit of a token that the prompt or the reply holds is divided by it, or multiplied if below zero; 1
    changes nothing. No parameter of the OpenAI protocol."""

    def __post_init__(self) -> None:
        for name in ("top_k", "repetition_penalty"):
            if getattr(self, name) is None:
                msgspec.structs.force_setattr(self, name, UNSET)
        _refuse_unless(self, "temperature", lambda value: 0 <= value < inf, "give 0 (the likeliest token) or more")
        _refuse_unless(self, "top_p", lambda value: 0 < value <= 1, "give a share above 0 and up to 1")
        _refuse_unless(self, "max_tokens", lambda value: value >= 1, "at least one token is needed")
        asked = self.in_process_only
        if asked.get("top_k", 1) < 1:
            raise UserError(f"top_k {self.top_k}: at least one token must be left to draw; leave it out for all")
        if not 0 < asked.get("repetition_penalty", 1.0) < inf:
            raise UserError(f"repetition_penalty {self.repetition_penalty}: give a positive number; 1 is none")

    @property
    def in_process_only(self) -> dict[str, Any]:
        """The parameters, of those that are set, that only models in this process are told."""
        named = {"top_k": self.top_k, "repetition_penalty": self.repetition_penalty}
        return {name: value for name, value in named.items() if value is not UNSET}


class AgentConfig(msgspec.Struct, frozen=True, kw_only=True):
    """An agent between the run and the model, with every setting that decides what it does."""

    name: str
    version: str
    args: dict[str, Any]
    """All its arguments, defaults included: a later version's other default makes another run."""


class GenerationConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that decides the text of a completion, except the problem and the sample number."""

    model: str
    """``provider/name`` as asked for."""
    base_url: str | None = None
    prompt_rule: str
    """Profile (name@version) and variant that word the prompt."""
    sampling: Sampling = Sampling()
    model_args: dict[str, Any] = {}
    agent: AgentConfig | None = None
    """None where the model is asked directly."""

    @property
    def sha256(self) -> str:
        """Identity of the configuration; completions of another one are never mixed in.

        No agent leaves the hash as it was before there were agents.
        """
        facts = msgspec.to_builtins(self)
        if self.agent is None:
            del facts["agent"]
        return sha256_json(facts)


class RequestPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How hard a model service is tried; none of it changes what a completion says.

    Raises:
        UserError: a setting is out of the range that it can have.
    """

    max_connections: int = 10
    """Concurrent requests."""
    timeout_s: float = 600.0
    """Wall seconds for one request."""
    max_attempts: int = 6
    """Requests for one sample, the first included; errors and empty replies count alike."""
    backoff_s: float = 1.0
    """First wait after a failure; doubles each time, with jitter, up to ``backoff_max_s``."""
    backoff_max_s: float = 60.0
    max_cost_usd: float | None = None
    """No request is started once this much has been spent."""

    def __post_init__(self) -> None:
        for name in ("max_connections", "max_attempts"):
            _refuse_unless(self, name, lambda value: value >= 1, "give 1 or more")
        _refuse_unless(self, "timeout_s", lambda value: 0 < value < inf, "give a number of seconds above 0")
        for name in ("backoff_s", "backoff_max_s"):
            _refuse_unless(self, name, lambda value: 0 <= value < inf, "give a number of seconds from 0")
        _refuse_unless(self, "max_cost_usd", lambda value: 0 <= value < inf, "give a number of dollars from 0")
