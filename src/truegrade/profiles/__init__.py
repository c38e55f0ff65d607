"""The profiles: one harness' exact rules a file. The table below is the whole registry."""

from __future__ import annotations

from importlib import import_module

from truegrade.errors import UnknownName
from truegrade.profiles.base import Profile, Rule, unsupported

__all__ = ["PROFILES", "Profile", "Rule", "open_profile", "unsupported"]

PROFILES: dict[str, str] = {
    "strict": "truegrade.profiles.strict:Strict",
    "human-eval": "truegrade.profiles.human_eval:HumanEval",
    "cruxeval": "truegrade.profiles.cruxeval:Cruxeval",
}
"""Name -> ``module:class``; a new profile is one file and one line here."""


def open_profile(name: str) -> Profile:
    """A profile by its name or by ``name@version``.

    Raises:
        UnknownName: there is none of that name, or not at that version.
    """
    bare, _, version = name.partition("@")
    if bare not in PROFILES:
        raise UnknownName("profile", bare, PROFILES, "`truegrade profiles` lists them")
    module, _, attribute = PROFILES[bare].partition(":")
    profile: Profile = getattr(import_module(module), attribute)()
    if version not in ("", profile.version):
        raise UnknownName("profile version", name, [profile.id])
    return profile
