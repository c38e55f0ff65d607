"""OpenAI and every OpenAI-compatible service as a `Model`.

Arguments of the model (``-M key=value``) are the fields of `OpenAIOptions`. Every other key goes into the body of
the request as it is (``-M top_k=20``, ``-M provider={"only": ["x"]}``).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from truegrade.models.openai_batches import OpenAIBatches
from truegrade.models.openai_client import OpenAIClient
from truegrade.models.openai_parameters import is_reasoning_model, openai_parameters
from truegrade.models.presets import Price
from truegrade.models.providers import ModelEndpoint
from truegrade.models.service_model import ServiceModel
from truegrade.models.service_options import ServiceOptions, split_arguments
from truegrade.records.config import RequestPolicy


class OpenAIOptions(ServiceOptions, frozen=True, kw_only=True):
    """Reserved keys, each with its meaning."""

    reasoning: bool | None = None
    """Send the parameters of OpenAI's reasoning models; None: decide by the model's name."""
    batch_n: bool = False
    """Ask for several samples of a problem in one request (the API's ``n``)."""


def open_openai(
    endpoint: ModelEndpoint,
    model: str,
    request_policy: RequestPolicy,
    args: Mapping[str, Any],
    listed_price: Price | None,
) -> ServiceModel:
    """Open a model behind an OpenAI-compatible address; see `truegrade.models.service_model.ServiceOpener`.

    Raises:
        UserError: a model argument is not understood.
    """
    options, extra_body = split_arguments(args, OpenAIOptions)
    reasoning = options.reasoning
    if reasoning is None:
        reasoning = is_reasoning_model(endpoint.provider, model)
    client = OpenAIClient(endpoint, model, timeout_s=request_policy.timeout_s, extra_body=extra_body)
    return ServiceModel(
        endpoint,
        model,
        client,
        fresh_parameters=partial(openai_parameters, reasoning=reasoning),
        request_policy=request_policy,
        options=options,
        price=options.price(listed_price),
        batch_n=options.batch_n,
        # of the other services that speak the protocol, not all have batches, and not all at half the price
        batches=partial(OpenAIBatches, client=client) if endpoint.provider == "openai" else None,
    )
