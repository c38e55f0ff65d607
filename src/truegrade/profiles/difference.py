"""Two profiles rule by rule: what is written in one and not in the other."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import msgspec

from truegrade.profiles.base import Profile, Rule, coverage


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """A setting that differs, as text; ``none`` where one profile lacks it."""

    name: str
    first: str
    second: str


class StepDifference(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of one step that only one of the two has."""

    step: str
    first: list[Rule]
    second: list[Rule]
    same: int
    """Rules of the step whose text is the same."""


class ProfileDifference(msgspec.Struct, frozen=True, kw_only=True):
    """What `truegrade list profiles A --diff B` prints."""

    first: str
    """``name@version``."""
    second: str
    facts: list[Fact]
    """Coverage, prompts, limits and, of contest graders, the switches of the harness itself."""
    rules: list[StepDifference]
    """Every step that either has rules for, those without a difference included."""
    defects: StepDifference
    """Known defects, as rules without a source."""


def difference(first: Profile, second: Profile) -> ProfileDifference:
    """Hold two profiles against each other; rules are the same where their words are."""
    steps = dict.fromkeys(rule.step for rule in (*first.rules, *second.rules))
    return ProfileDifference(
        first=first.id,
        second=second.id,
        facts=list(_facts(first, second)),
        rules=[
            _step(step, *([rule for rule in of.rules if rule.step == step] for of in (first, second)))
            for step in steps
        ],
        defects=_step("defects", *([Rule("defects", text, "") for text in of.defects] for of in (first, second))),
    )


def _step(step: str, first: list[Rule], second: list[Rule]) -> StepDifference:
    texts = [{rule.text for rule in rules} for rules in (first, second)]
    return StepDifference(
        step=step,
        first=[rule for rule in first if rule.text not in texts[1]],
        second=[rule for rule in second if rule.text not in texts[0]],
        same=len(texts[0] & texts[1]),
    )


def _facts(first: Profile, second: Profile) -> Iterator[Fact]:
    one, two = _settings(first), _settings(second)
    for name in dict.fromkeys((*one, *two)):
        a, b = one.get(name), two.get(name)
        if a == b:
            continue
        if isinstance(a, tuple) and isinstance(b, tuple):
            yield Fact(name=name, first=_only(a, b), second=_only(b, a))
        else:
            yield Fact(name=name, first=_told(a), second=_told(b))


def _settings(profile: Profile) -> dict[str, Any]:
    """What a profile is besides its rules, by name; lists as tuples, of which only the difference is told."""
    found: dict[str, Any] = {
        "covers": coverage(profile),
        "prompts": profile.variants,
        "metrics it prints": profile.reported,
        "scale": profile.contest_scale,
        **{f"limit {name}": value for name, value in dataclasses.asdict(profile.limits).items()},
    }
    harness = getattr(profile, "harness", None)
    if harness is not None:
        found |= {f"harness {name}": value for name, value in harness.rules.items() if name != "preload"}
        found["harness added_s"] = harness.added_s
    return {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}


def _only(own: tuple[Any, ...], other: tuple[Any, ...]) -> str:
    alone = [str(item) for item in own if item not in other]
    return f"also {', '.join(alone)}" if alone else "nothing else"


def _told(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)
