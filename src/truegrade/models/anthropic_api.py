"""Anthropic's models through its Messages API.

Arguments of the model (``-M key=value``) are the fields of `AnthropicOptions`. Every other key goes into the body
of the request as it is (``-M top_k=20``, ``-M service_tier=standard_only``).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal

import msgspec

from truegrade.errors import UserError
from truegrade.models.anthropic_batches import AnthropicBatches
from truegrade.models.anthropic_client import DEFAULT_MAX_TOKENS, AnthropicClient
from truegrade.models.presets import Price
from truegrade.models.providers import ModelEndpoint, require_client
from truegrade.models.service_model import ServiceModel
from truegrade.models.service_options import ServiceOptions, split_arguments
from truegrade.models.service_parameters import Parameters, Route
from truegrade.records.config import RequestPolicy


class AnthropicOptions(ServiceOptions, frozen=True, kw_only=True):
    """Reserved keys, each with its meaning."""

    thinking_budget: Annotated[int, msgspec.Meta(ge=1024)] | None = None
    """Tokens of extended thinking (``budget_tokens``), for models that think on request; within ``max_tokens``."""
    thinking: Literal["adaptive", "disabled"] | dict[str, Any] | None = None
    """``adaptive``: the model decides how much, and a summary of it is stored; ``disabled``; or the object of the
    API as JSON. None: the model's default."""

    @property
    def thinking_body(self) -> dict[str, Any] | None:
        """The request's ``thinking``; None leaves it out."""
        if self.thinking_budget is not None:
            return {"type": "enabled", "budget_tokens": self.thinking_budget}
        if self.thinking == "adaptive":
            return {"type": "adaptive", "display": "summarized"}
        return {"type": self.thinking} if isinstance(self.thinking, str) else self.thinking


def open_anthropic(
    endpoint: ModelEndpoint,
    model: str,
    request_policy: RequestPolicy,
    args: Mapping[str, Any],
    listed_price: Price | None,
) -> ServiceModel:
    """Open a model behind the Messages API; see `truegrade.models.service_model.ServiceOpener`.

    Raises:
        UserError: a model argument is not understood, or the client is not installed.
    """
    require_client("anthropic", "anthropic")
    options, extra_body = split_arguments(args, AnthropicOptions)
    if options.thinking_budget is not None and options.thinking is not None:
        raise UserError("`model_args` thinking_budget and thinking exclude each other: give one of them")
    thinking = options.thinking_body
    thinks = thinking is not None and thinking.get("type") != "disabled"

    def fresh_parameters(route: Route) -> Parameters:
        return anthropic_parameters(thinks=thinks)

    client = AnthropicClient(
        endpoint, model, timeout_s=request_policy.timeout_s, thinking=thinking, extra_body=extra_body
    )
    return ServiceModel(
        endpoint,
        model,
        client,
        fresh_parameters=fresh_parameters,
        request_policy=request_policy,
        options=options,
        price=options.price(listed_price),
        batches=partial(AnthropicBatches, client=client),
    )


def anthropic_parameters(*, thinks: bool) -> Parameters:
    """Parameters that nothing was learnt of yet.

    Args:
        thinks: whether the request asks for thinking. Source: Anthropic, "Extended thinking", feature
            compatibility: no temperature but 1 and no top_p below 0.95.
    """
    unknown = "the Messages API has no such parameter"
    rules = {"seed": unknown, "n": unknown}
    if thinks:
        rules |= dict.fromkeys(("temperature", "top_p"), "a request with thinking takes none")
    return Parameters(rules=rules, required={"max_tokens": DEFAULT_MAX_TOKENS})
