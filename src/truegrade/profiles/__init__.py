"""One file a harness: prompt, extraction, grading; its rules and known defects in the TOML file beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import copy
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any

from truegrade.errors import UnknownName, UserError
from truegrade.kinds import kind_names
from truegrade.profiles.base import Profile, Rule, unsupported
from truegrade.registry import Found, Origin, Registry, names_file_or_module, refuse_another_file

__all__ = [
    "PROFILES",
    "AnyProfile",
    "Profile",
    "Rule",
    "find_profile",
    "open_profile",
    "open_stored",
    "unsupported",
]

PROFILES: dict[str, str] = {
    "strict": "truegrade.profiles.strict:Strict",
    "human-eval": "truegrade.profiles.human_eval:HumanEval",
    "evalplus": "truegrade.profiles.evalplus:Evalplus",
    "evalplus-base": "truegrade.profiles.evalplus:EvalplusBase",
    "bigcode": "truegrade.profiles.bigcode:Bigcode",
    "bigcode-instruct": "truegrade.profiles.bigcode:BigcodeInstruct",
    "humanevalpack": "truegrade.profiles.bigcode:HumanEvalPack",
    "leetcode-dataset": "truegrade.profiles.leetcode_dataset:LeetCodeDataset",
    "bigcodebench": "truegrade.profiles.bigcodebench:BigCodeBench",
    "lm-eval": "truegrade.profiles.lm_eval:LmEval",
    "lm-eval-instruct": "truegrade.profiles.lm_eval:LmEvalInstruct",
    "simple-evals": "truegrade.profiles.simple_evals:SimpleEvals",
    "evalscope": "truegrade.profiles.evalscope:Evalscope",
    "inspect-evals": "truegrade.profiles.inspect_evals:InspectEvals",
    "agentcoder": "truegrade.profiles.agentcoder:Agentcoder",
    "blog": "truegrade.profiles.blog:Blog",
    "cruxeval": "truegrade.profiles.cruxeval:Cruxeval",
    "cruxeval-openai": "truegrade.profiles.cruxeval:CruxevalOpenai",
    "livecodebench-exec": "truegrade.profiles.livecodebench:LivecodebenchExec",
    "sandboxfusion": "truegrade.profiles.sandboxfusion:Sandboxfusion",
    "seed-regex": "truegrade.profiles.code_reasoning:SeedRegex",
    "code-reasoning": "truegrade.profiles.code_reasoning:CodeReasoning",
    "code-reasoning-notebook": "truegrade.profiles.code_reasoning:CodeReasoningNotebook",
    "paper-tags": "truegrade.profiles.code_reasoning:PaperTags",
    "livecodebench": "truegrade.profiles.livecodebench:LiveCodeBench",
    "livecodebench-base": "truegrade.profiles.livecodebench:LiveCodeBenchBase",
    "livecodebench-2025-01": "truegrade.profiles.livecodebench:LiveCodeBench202501",
    "evalscope-sandbox": "truegrade.profiles.evalscope:EvalscopeSandbox",
    "coralx": "truegrade.profiles.coralx:Coralx",
    "lm-eval-fork": "truegrade.profiles.lm_eval:LmEvalFork",
    "verl-prime": "truegrade.profiles.rewards.verl:VerlPrime",
    "rllm-lcb": "truegrade.profiles.rewards.rllm:RllmLcb",
    "skyrl-lcb": "truegrade.profiles.rewards.skyrl:SkyrlLcb",
    "nemo-gym": "truegrade.profiles.rewards.nemo_gym:NemoGym",
    "open-instruct": "truegrade.profiles.rewards.open_instruct:OpenInstruct",
    "open-r1": "truegrade.profiles.rewards.open_r1:OpenR1",
    "verl-sandbox-fusion": "truegrade.profiles.rewards.verl:VerlSandboxFusion",
    "rllm-kodcode": "truegrade.profiles.rewards.rllm:RllmKodcode",
    "rllm-humanevalplus": "truegrade.profiles.rewards.rllm:RllmHumanevalplus",
    "code-r1": "truegrade.profiles.rewards.code_r1:CodeR1",
}
"""Name -> ``module:class``; a new profile is one module, a TOML file beside it, and one line here."""

REMOVED: Mapping[str, str] = MappingProxyType(
    {"aider": "64dee114", "classeval": "64dee114", "cweval": "64dee114", "enamel": "f9e59da7"}
)
"""What earlier versions had, each with the last commit that has it."""

_ID = re.compile(r"(?P<name>[^@+]*)(?:@(?P<version>[^+]*))?(?:\+(?P<seconds>\d{1,5}(?:\.\d{1,3})?)s)?")
_LIMITED = re.compile(r"(?P<given>.+?)(?:\+(?P<seconds>\d{1,5}(?:\.\d{1,3})?)s)?")
_WORD = re.compile(r"\w[\w.-]*")
_NEEDED = ("name", "version", "summary", "covers", "rules")


def _fault(thing: Any) -> str | None:
    """What keeps an object from being a profile: an instance, or a class that is made without arguments."""
    kind = thing if isinstance(thing, type) else type(thing)
    if not issubclass(kind, Profile):
        return "is no truegrade.profiles.Profile"
    missing = [*sorted(kind.__abstractmethods__), *(name for name in _NEEDED if not hasattr(kind, name))]
    if missing:
        return f"lacks {', '.join(missing)}, which every profile has"
    own = {name for each in kind.__mro__ if not issubclass(Profile, each) for name in vars(each)}
    for name in sorted(name for name in own - {*dir(Profile)} if not name.startswith("_")):
        if near := get_close_matches(name, ("render_prompt", "extract", "judgement"), n=1, cutoff=0.85):
            return (
                f"has {name}, which nothing calls; did you mean {near[0]}?"  # else the kind's own stands in for it
            )
    for field in ("name", "version"):
        if not _WORD.fullmatch(str(getattr(kind, field))):
            return f"has the {field} {getattr(kind, field)!r}; write letters, digits, dots and hyphens"
    return _coverage_fault(kind)


def _coverage_fault(kind: type[Profile]) -> str | None:
    """What is wrong with the kinds that a profile names: one from outside may be defined by another file."""
    from truegrade.benchmarks import BENCHMARKS  # no other profile waits for them

    known = kind_names()
    covers: object = kind.covers
    if isinstance(covers, str):
        return f"covers is a text; write covers = ({covers!r},)"
    if not kind.covers:
        return f"covers nothing; name kinds in its covers: {', '.join(known)}"
    for name in kind.covers:
        if name not in known and (name in BENCHMARKS or get_close_matches(str(name), known, n=1, cutoff=0.75)):
            return f"covers {name}, which is no kind of problem; name kinds in its covers: {', '.join(known)}"
    if idle := [name for name in kind.ways if name not in kind.covers]:
        return f"has a way for {', '.join(idle)}, which its covers leaves out"
    return None


REGISTRY = Registry[Profile | type[Profile]]("profile", PROFILES, _fault, removed=REMOVED)

AnyProfile = str | Profile | type[Profile]
"""What the user may say for a profile: a name, a file, an object."""


def find_profile(given: AnyProfile, timeout_s: float | None = None) -> Profile:
    """The profile that the user means, be it a name, a file, or an object: see `truegrade.registry.Registry.find`.

    A name or file may be given a time limit of its own: ``human-eval+30s``, ``mine.py+30s``.

    Args:
        given: what is meant.
        timeout_s: a time limit of its own, CPU seconds; None for none but what a name says.

    Raises:
        UnknownName: there is none of that name, or not at that version.
        UserError: the time limit is none, or a file or package is at fault.
    """
    limit = None if timeout_s is None else f"{timeout_s:g}"
    if not isinstance(given, str):
        return _limited(made(REGISTRY.find(given)), limit)
    given = given if limit is None else f"{given}+{limit}s"
    parts = _LIMITED.fullmatch(given)
    if parts is None or not names_file_or_module(parts["given"]):
        return open_profile(given)
    return _limited(made(REGISTRY.find(parts["given"])), parts["seconds"])


def open_profile(name: str) -> Profile:
    """A built-in or installed profile by its name or by ``name@version``, either with a time limit of its own:
    ``human-eval+30s``. No file is run, whatever the name says.

    Raises:
        UnknownName: there is none of that name, or not at that version.
        UserError: the time limit is none.
    """
    parts = _ID.fullmatch(name)
    bare = name.partition("@")[0].partition("+")[0]
    profile = made(REGISTRY.known(bare))
    if parts is None or (parts["seconds"] is not None and not float(parts["seconds"])):
        raise UserError(
            f"profile {name!r}: write its time limit as {bare}+30s (`timeout_s` 30), up to 99999 seconds"
        )
    if parts["version"] not in ("", None, profile.version):
        raise UnknownName("profile version", name, [profile.id])
    return _limited(profile, parts["seconds"])


def open_stored(profile_id: str, origin: Origin | None = None, folder: Path | None = None) -> Profile:
    """The profile under whose id a run holds verdicts, to count them; nothing is graded by what this returns.

    Verdicts of another version stay what they are, under that version; only ways of counting are today's.

    Args:
        profile_id: as the run holds it.
        origin: where the profile was found, as the run's manifest records it.
        folder: of the run.

    Raises:
        UnknownName: there is no profile of that name.
        UserError: it came from a file that this machine was not told to run, or that is another now.
    """
    name, _, rest = profile_id.partition("@")
    version, plus, limit = rest.partition("+")
    if origin is None:
        profile = open_profile(f"{name}{plus}{limit}")
    else:
        found = REGISTRY.reopen(name, origin, folder, "`profiles` FILE.py", changed=True)
        if getattr(found.value, "version", None) == version:
            refuse_another_file(f"{folder or 'the run'}: {profile_id}", origin, found.origin)
        profile = _limited(made(found), limit.removesuffix("s") or None)
    profile.version = version
    return profile


def made(found: Found[Profile | type[Profile]]) -> Profile:
    """The profile of what was found, as an instance of its own: a time limit belongs to whoever asked for it."""
    value = found.value
    profile = value() if isinstance(value, type) else copy(value)
    if found.origin.how != "built-in":
        profile.origin = found.origin
    return profile


def _limited(profile: Profile, seconds: str | None) -> Profile:
    if seconds is not None:
        profile.timeout_s = float(seconds)
    return profile
