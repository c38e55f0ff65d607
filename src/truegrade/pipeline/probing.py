"""`truegrade doctor --model`: the honesty probe of `truegrade.models.probe`, from names, waited for."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from truegrade.models import open_model
from truegrade.models.adapters import ARGUMENT
from truegrade.models.base import Model
from truegrade.models.probe import Style, probe_model, replies
from truegrade.models.probe_ports import Seen
from truegrade.pipeline.generate import complete
from truegrade.records.config import RequestPolicy
from truegrade.store.manifest import ProbeReport

_NO_ARGS: Mapping[str, Any] = MappingProxyType({})


def probe(model: Model, *, style: Style = "chat") -> ProbeReport:
    """`truegrade.models.probe.probe_model`, waited for; a model of this process stays open."""
    return complete(probe_model(model, style=style))


def probe_by_name(
    model: str,
    *,
    base_url: str | None = None,
    args: Mapping[str, Any] = _NO_ARGS,
    base_model: str | None = None,
    style: Style = "chat",
    timeout_s: float = 120.0,
) -> ProbeReport:
    """Probe a model; where an adapter is named, also whether it changes what the model says.

    The base model is asked first and let go of before the adapted one is opened: both need not fit into memory.

    Args:
        model: see `truegrade.models.open_model`.
        base_url: the service's address.
        args: model arguments; ``adapter`` is left out for the base model.
        base_model: the model that an adapter was made for, where a service offers the adapter under a name of its
            own; at the same address.
        style: chat messages, or text to continue.
        timeout_s: wall seconds for one request.

    Raises:
        UserError: a name or argument is at fault, or there is nothing to probe.
        ModelError: the service refuses everything, or says nothing.
    """
    where: dict[str, Any] = {"base_url": base_url, "request_policy": RequestPolicy(timeout_s=timeout_s)}
    base: list[Seen] | None = None
    if base_model is not None or args.get(ARGUMENT) is not None:
        plain = {key: value for key, value in args.items() if key != ARGUMENT}
        base = complete(_base_replies(open_model(base_model or model, args=plain, **where), style))
    return complete(_probe_and_close(open_model(model, args=args, **where), style, base))


async def _base_replies(model: Model, style: Style) -> list[Seen]:
    try:
        return await replies(model, style)
    finally:
        await model.close()


async def _probe_and_close(model: Model, style: Style, base: list[Seen] | None) -> ProbeReport:
    try:
        return await probe_model(model, style=style, base=base)
    finally:
        await model.close()
