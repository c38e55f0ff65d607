"""What a run is asked to do: frozen settings, hashed into every result."""

import inspect
from math import inf
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from truegrade.errors import UserError
from truegrade.records import sha256_json


class Option(msgspec.Struct, frozen=True):
    """How a setting is given, beside its type and default: stands in the annotation of its field.

    The command line, the keywords of the Python functions, suites and the reference are made of it.
    """

    flags: str
    """Its spellings on the command line, with spaces between; none for what only Python can be handed."""
    text: str
    """What it does, for the help of a command and of the functions."""
    section: str = ""
    """Heading below which the help of a command lists it."""
    metavar: str | None = None
    least: float | None = None
    above: float | None = None
    """It must be larger than this."""
    most: float | None = None
    reads: Literal["part", "commas"] | None = None
    """``part``: N or A-B; ``commas``: names with commas between them."""
    variable: str | None = None
    """The environment variable that says it where the command does not."""
    suite: bool = False
    """Whether a suite can say it, of all its benchmarks or of one."""
    basic: bool = False
    """Whether ``--help`` shows it; ``--help-all`` shows every one."""

    def holds(self, value: Any) -> bool:
        """Whether a value is in the range, where there is one."""
        low = self.least if self.above is None else self.above
        most = inf if self.most is None else self.most
        return low is None or (low <= value <= most and value not in (self.above, inf))

    @property
    def range(self) -> str:
        """The range in words."""
        low = f"{self.least:g} or more" if self.above is None else f"a number above {self.above:g}"
        return low if self.most is None else f"{low}, up to {self.most:g}"


SAMPLING, REQUESTS = "Sampling", "Requests"
"""Sections of the help."""


def refuse_outside(settings: msgspec.Struct) -> None:
    """See that every number of some settings is unset or in its range; NaN and infinity are in none.

    Raises:
        UserError: one is not.
    """
    for name, annotation in inspect.get_annotations(type(settings)).items():
        value = getattr(settings, name)
        options: tuple[Option, ...] = getattr(annotation, "__metadata__", ())
        if value is not None and value is not UNSET and not all(option.holds(value) for option in options):
            raise UserError(f"{name} {value}: give {options[0].range}")


class Sampling(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of generation. None leaves a parameter out of the request: the service's default rules.

    Every field decides the text, so every field enters `GenerationConfig.sha256`. Of the last two, which came
    later, None becomes unset, for what is unset is not written: runs from before keep their bytes and hashes.

    Raises:
        UserError: a parameter is out of the range that it can have.
    """

    temperature: Annotated[float | None, Option(
        "--temperature", "[default: the service's]", SAMPLING, least=0, suite=True, basic=True,
    )] = None  # fmt: skip
    top_p: Annotated[float | None, Option("--top-p", "[default: the service's]", SAMPLING, above=0, most=1)] = None
    max_tokens: Annotated[int | None, Option(
        "--max-tokens", "Maximum tokens per reply. [default: the preset's or the service's]", SAMPLING, least=1,
        suite=True,
    )] = None  # fmt: skip
    seed: Annotated[int | None, Option("--seed", "Seed of sample 0; sample i uses seed + i.", SAMPLING)] = None
    """Seed of sample 0; sample i asks with ``seed + i``, so that samples differ and each can be repeated."""
    stop: Annotated[tuple[str, ...], Option(
        "--stop", "Stop string, in addition to those of the profile.", SAMPLING,
    )] = ()  # fmt: skip
    """Stop strings added to those of the prompt rule."""
    reasoning_effort: Annotated[str | None, Option(
        "--reasoning-effort", "For reasoning models: minimal, low, medium, high.", SAMPLING,
    )] = None  # fmt: skip
    top_k: Annotated[int | UnsetType | None, Option(
        "--top-k", "Sample from the K most likely tokens. For models in this process; for services: -M top_k=K.",
        SAMPLING, least=1,
    )] = UNSET  # fmt: skip
    """Only so many of the likeliest tokens are drawn from. No parameter of the OpenAI protocol."""
    repetition_penalty: Annotated[float | UnsetType | None, Option(
        "--repetition-penalty", "Repetition penalty; 1 is none. For models in this process, as --top-k.", SAMPLING,
        above=0,
    )] = UNSET  # fmt: skip
    """The logit of a token that the prompt or the reply holds is divided by it, or multiplied if below zero; 1
    changes nothing. No parameter of the OpenAI protocol."""

    def __post_init__(self) -> None:
        for name in ("top_k", "repetition_penalty"):
            if getattr(self, name) is None:
                msgspec.structs.force_setattr(self, name, UNSET)
        refuse_outside(self)

    @property
    def in_process_only(self) -> dict[str, Any]:
        """The parameters, of those that are set, that only models in this process are told."""
        named = {"top_k": self.top_k, "repetition_penalty": self.repetition_penalty}
        return {name: value for name, value in named.items() if value is not UNSET}


class AgentConfig(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An agent between the run and the model, with every setting that decides what it does."""

    name: str
    version: str
    args: dict[str, Any]
    """All its arguments, defaults included: a later version's other default makes another run."""
    sees_official_tests: bool = False
    """Whether it declared that the model is shown what the official tests print; the pipeline fills it in."""


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

    max_connections: Annotated[int, Option("--max-connections", "Concurrent requests.", REQUESTS, least=1)] = 10
    timeout_s: Annotated[float, Option("--timeout", "Timeout of a request in seconds.", REQUESTS, above=0)] = 600.0
    max_attempts: Annotated[int, Option(
        "--max-attempts", "Maximum requests for one sample.", REQUESTS, least=1,
    )] = 6  # fmt: skip
    """Requests for one sample, the first included; errors and empty replies count alike."""
    backoff_s: Annotated[float, Option("", "First wait after a failure, in seconds.", least=0)] = 1.0
    """First wait after a failure; doubles each time, with jitter, up to ``backoff_max_s``."""
    backoff_max_s: Annotated[float, Option("", "Longest wait after a failure, in seconds.", least=0)] = 60.0
    max_cost_usd: Annotated[float | None, Option(
        "--max-cost", "Cost limit in US dollars, of all runs; requests under way still end.", REQUESTS, least=0,
        basic=True,
    )] = None  # fmt: skip
    """No request is started once this much has been spent."""

    def __post_init__(self) -> None:
        refuse_outside(self)
