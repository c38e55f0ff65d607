"""The profiles: one harness' exact rules a file. The table below is the whole registry."""

from __future__ import annotations

import re
from pkgutil import resolve_name

from truegrade.errors import UnknownName, UserError
from truegrade.profiles.base import Profile, Rule, unsupported

__all__ = ["PROFILES", "Profile", "Rule", "open_profile", "unsupported"]

PROFILES: dict[str, str] = {
    "strict": "truegrade.profiles.strict:Strict",
    "human-eval": "truegrade.profiles.human_eval:HumanEval",
    "evalplus": "truegrade.profiles.evalplus:Evalplus",
    "evalplus-base": "truegrade.profiles.evalplus:EvalplusBase",
    "bigcode": "truegrade.profiles.bigcode:Bigcode",
    "bigcode-instruct": "truegrade.profiles.bigcode:BigcodeInstruct",
    "lm-eval": "truegrade.profiles.lm_eval:LmEval",
    "lm-eval-instruct": "truegrade.profiles.lm_eval:LmEvalInstruct",
    "simple-evals": "truegrade.profiles.simple_evals:SimpleEvals",
    "evalscope": "truegrade.profiles.evalscope:Evalscope",
    "inspect-evals": "truegrade.profiles.inspect_evals:InspectEvals",
    "agentcoder": "truegrade.profiles.agentcoder:Agentcoder",
    "blog": "truegrade.profiles.blog:Blog",
    "cruxeval": "truegrade.profiles.cruxeval:Cruxeval",
    "cruxeval-openai": "truegrade.profiles.cruxeval_openai:CruxevalOpenai",
    "livecodebench-exec": "truegrade.profiles.livecodebench_exec:LivecodebenchExec",
    "sandboxfusion": "truegrade.profiles.sandboxfusion:Sandboxfusion",
    "seed-regex": "truegrade.profiles.seed_regex:SeedRegex",
    "code-reasoning": "truegrade.profiles.code_reasoning:CodeReasoning",
    "code-reasoning-notebook": "truegrade.profiles.code_reasoning:CodeReasoningNotebook",
    "paper-tags": "truegrade.profiles.paper_tags:PaperTags",
    "livecodebench": "truegrade.profiles.livecodebench:LiveCodeBench",
    "livecodebench-base": "truegrade.profiles.livecodebench:LiveCodeBenchBase",
    "livecodebench-2025-01": "truegrade.profiles.livecodebench:LiveCodeBench202501",
    "evalscope-sandbox": "truegrade.profiles.evalscope_sandbox:EvalscopeSandbox",
    "coralx": "truegrade.profiles.coralx:Coralx",
    "lm-eval-fork": "truegrade.profiles.lm_eval_fork:LmEvalFork",
}
"""Name -> ``module:class``; a new profile is one file and one line here."""


_ID = re.compile(r"(?P<name>[^@+]*)(?:@(?P<version>[^+]*))?(?:\+(?P<seconds>\d{1,5}(?:\.\d{1,3})?)s)?")


def open_profile(name: str) -> Profile:
    """A profile by its name or by ``name@version``, either with a time limit of its own: ``human-eval+30s``.

    Raises:
        UnknownName: there is none of that name, or not at that version.
        UserError: the time limit is none.
    """
    parts = _ID.fullmatch(name)
    bare = name.partition("@")[0].partition("+")[0]
    if bare not in PROFILES:
        raise UnknownName("profile", bare, PROFILES, "`truegrade profiles` lists them")
    profile: Profile = resolve_name(PROFILES[bare])()
    if parts is None or (parts["seconds"] is not None and not float(parts["seconds"])):
        raise UserError(
            f"profile {name!r}: write its time limit as {bare}+30s (`timeout_s` 30), up to 99999 seconds"
        )
    if parts["version"] not in ("", None, profile.version):
        raise UnknownName("profile version", name, [profile.id])
    if parts["seconds"] is not None:
        profile.timeout_s = float(parts["seconds"])
    return profile


def open_stored(profile_id: str) -> Profile:
    """The profile under whose id a run holds verdicts, to count them; nothing is graded by what this returns.

    Verdicts of another version stay what they are, under that version; only ways of counting are today's.

    Raises:
        UnknownName: there is no profile of that name.
    """
    name, _, rest = profile_id.partition("@")
    version, plus, limit = rest.partition("+")
    profile = open_profile(f"{name}{plus}{limit}")
    if profile.version == version:
        return profile
    kind = type(profile)
    stored: Profile = type(kind.__name__, (kind,), {"version": version})()
    stored.timeout_s = profile.timeout_s
    return stored
