"""The catalogue of profiles: every rule with its source, and every known defect."""

from __future__ import annotations

from tools.reference.markdown import code, escaped, table
from tools.reference.markdown import page as as_page
from truegrade.profiles import PROFILES, Profile, open_profile
from truegrade.profiles.base import coverage

ABOUT = """\
A profile is one harness' rules at one version; `--as NAME` grades under it, and words the prompt if it is named
first. Defects are reproduced on purpose: a profile that mended them would not be the harness. `strict` is ours.
`truegrade list profiles NAME` prints one profile, with `--json` for machines."""


def page() -> str:
    """A table of all profiles, then a section for each."""
    opened = [open_profile(name) for name in PROFILES]
    rows = [(f"[{p.name}](#{p.name})", code(p.version), escaped(p.summary)) for p in opened]
    return as_page("Profiles", ABOUT, table(("profile", "version", "rules"), rows), *map(_section, opened))


def _section(profile: Profile) -> str:
    rules = table(
        ("step", "rule", "source"),
        [(rule.step, escaped(rule.text), escaped(rule.source)) for rule in profile.rules],
    )
    defects = "\n".join(f"- {escaped(defect)}" for defect in profile.defects)
    return "\n\n".join(
        [
            f"## {profile.name}",
            f"{code(profile.id)}: {escaped(profile.summary)}.",
            _facts(profile),
            rules,
            f"Known defects:\n\n{defects}" if defects else "No known defects.",
        ]
    )


def _facts(profile: Profile) -> str:
    limits = profile.limits
    facts = [
        ("covers", ", ".join(coverage(profile))),
        ("prompts", ", ".join(map(code, profile.variants))),
        (
            "limits",
            f"{limits.cpu_s:g} s of CPU, {limits.memory_bytes / 2**20:g} MiB, unless a rule says otherwise",
        ),
        ("prints", ", ".join(map(code, profile.reported)) or "pass@k"),
    ]
    return "\n".join(f"- {name}: {value}" for name, value in facts)
