"""AgentCoder's arguments: two variants, their defaults, and what a pass rate under them may be called."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import ceil
from types import MappingProxyType
from typing import Annotated, Any, Literal

import msgspec

from truegrade.agents.base import RoleModel
from truegrade.agents.steps import Role
from truegrade.errors import UnknownName, UserError

ARGUMENTS: Mapping[str, str] = MappingProxyType(
    {
        "variant": "published: both agents start anew while no candidate is accepted;"
        " repaired: the failing test and its error go back to the programmer",
        "rounds": "rounds of asking and testing, at most",
        "candidates": "programs the programmer writes in a round",
        "tests": "replies the test designer is asked for: in each round (published), once (repaired)",
        "accept": "share of the tests that a candidate must pass: of the designer's replies, each counting as a"
        " whole (published); of the single asserts (repaired)",
        "shown_tests": "MBPP: how many of the data set's own tests the programmer's prompt shows; with 0 it names"
        " the function instead",
        "tester_model": "the model that is asked for tests; without it the run's",
        "tester_base_url": "where that model is served, if not at its provider's own address",
        "tester_args": 'its model arguments, as JSON: {"input_price": 1, "output_price": 2}',
    }
)
"""What ``-A`` takes."""

_Count = Annotated[int, msgspec.Meta(ge=1, le=100)]


class AgentCoderSettings(msgspec.Struct, frozen=True, kw_only=True):
    """All of AgentCoder's arguments."""

    variant: Literal["published", "repaired"]
    rounds: _Count
    candidates: _Count
    tests: _Count
    accept: Annotated[float, msgspec.Meta(gt=0, le=1)]
    shown_tests: Annotated[int, msgspec.Meta(ge=0, le=100)]
    tester_model: str | None = None
    tester_base_url: str | None = None
    tester_args: dict[str, Any] | None = None

    @property
    def models(self) -> dict[Role, RoleModel]:
        """The models of roles that have one of their own."""
        if self.tester_model is None:
            return {}
        return {"tester": RoleModel(self.tester_model, self.tester_base_url, self.tester_args or {})}

    @property
    def stored(self) -> dict[str, Any]:
        """What a run's manifest has of them. A tester without a model of its own is not mentioned."""
        return {name: value for name, value in msgspec.to_builtins(self).items() if value is not None}

    def needed(self, units: int) -> int:
        """How many of so many tests a candidate must pass, at least one."""
        return max(1, ceil(Fraction(str(self.accept)) * units))

    @property
    def label(self) -> str:
        """What a pass rate is: best-of-N wherever more than one program may be written and one is chosen."""
        rounds = "1 round" if self.rounds == 1 else f"up to {self.rounds} rounds"
        if self.candidates > 1:
            kind = f"best-of-{self.candidates} chosen by self-made tests, {rounds}"
        elif self.variant == "published" and self.rounds > 1:
            kind = f"best-of-{self.rounds} chosen by self-made tests: one program a round, {rounds}"
        else:
            repaired = " of repair against self-made tests" if self.rounds > 1 else ""
            kind = f"pass@1 of an agent, {rounds}{repaired}"
        shown = f"; the prompt shows {self.shown_tests} official tests a task" if self.shown_tests else ""
        tests = f"; tests by {self.tester_model}" if self.tester_model else ""
        return f"{kind}{shown}{tests}; not pass@1 of the model"


DEFAULTS: Mapping[str, AgentCoderSettings] = MappingProxyType(
    {
        "published": AgentCoderSettings(
            variant="published", rounds=6, candidates=5, tests=5, accept=0.6, shown_tests=0
        ),
        "repaired": AgentCoderSettings(
            variant="repaired", rounds=5, candidates=1, tests=1, accept=1.0, shown_tests=0
        ),
    }
)
"""``published``: a first set and 5 regenerated ones, 5 programs, 3 of 5 test replies. The released designer asks
for 10 replies and its file of results holds 5; the bar of 3 is called 60 % there, which fits the 5
(huangd1999/AgentCoder@dddd1b9 ``src/test_executor_humaneval.py``, ``src/programmer_humaneval.py``,
``src/test_designer_humaneval.py``). ``repaired``: 5 rounds, all tests (arXiv 2312.13010)."""


def read_settings(args: Mapping[str, Any]) -> AgentCoderSettings:
    """The arguments given, and the variant's defaults for the others.

    Raises:
        UnknownName: there is no such argument or variant.
        UserError: a value does not fit.
    """
    for name in args:
        if name not in ARGUMENTS:
            raise UnknownName("agentcoder argument", name, ARGUMENTS, "`truegrade agents` explains them")
    variant = str(args.get("variant", "published"))
    if variant not in DEFAULTS:
        raise UnknownName("agentcoder variant", variant, DEFAULTS)
    given = {**msgspec.to_builtins(DEFAULTS[variant]), **args}
    try:
        settings = msgspec.convert(given, AgentCoderSettings)
    except msgspec.ValidationError as error:
        sentence, _, place = str(error).partition(" - at `$.")
        name = place.rstrip("`")
        raise UserError(f"`agent_args` {name}={given.get(name)}: {sentence[0].lower()}{sentence[1:]}") from None
    for name in ("tester_base_url", "tester_args"):
        if getattr(settings, name) is not None and settings.tester_model is None:
            raise UserError(f"`agent_args` {name} is about the tester's own model: name it with tester_model")
    return settings
