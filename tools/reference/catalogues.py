"""The catalogues: profiles, benchmarks, and the measurements of ``bench/``."""

from __future__ import annotations

from bench import commands
from tools.reference.markdown import code, escaped, page, table
from truegrade.benchmarks import BENCHMARKS, find_benchmark
from truegrade.benchmarks.base import BenchmarkSpec
from truegrade.datasets import source
from truegrade.profiles import PROFILES, Profile, open_profile
from truegrade.profiles.base import coverage, covered_benchmarks

# ------------------------------------------------ Profiles: every rule with its source, and every known defect.

ABOUT_PROFILES = """\
A profile is one harness' rules at one version; `--as NAME` grades under it, and words the prompt if it is named
first. Defects are reproduced on purpose: a profile that mended them would not be the harness. `strict` is ours.
`truegrade list profiles NAME` prints one profile, with `--json` for machines."""


def profiles_page() -> str:
    """A table of all profiles, then a section for each."""
    opened = [open_profile(name) for name in PROFILES]
    rows = [(f"[{p.name}](#{p.name})", code(p.version), escaped(p.summary)) for p in opened]
    return page("Profiles", ABOUT_PROFILES, table(("profile", "version", "rules"), rows), *map(_profile, opened))


def _profile(profile: Profile) -> str:
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


# ------------------------------------------- Benchmarks: what each asks, under which rules, from which bytes.

ABOUT_BENCHMARKS = """\
Names that `truegrade run` takes. A file is used only if its hash is the pinned one, unless
`-T allow_modified=true`; every result carries the hash of the bytes that were read. `-T prompt=NAME` chooses among
a profile's prompts ([profiles](profiles.md)). A benchmark of your own is one file
([how](../extend.md))."""


def benchmarks_page() -> str:
    """A table of all benchmarks, then a section for each."""
    specs = [find_benchmark(name) for name in BENCHMARKS]
    rows = [
        (f"[{s.name}](#{s.name})", str(s.size or "yours"), escaped(s.summary), escaped(s.licence)) for s in specs
    ]
    return page(
        "Benchmarks",
        ABOUT_BENCHMARKS,
        table(("name", "problems", "asks", "licence"), rows),
        *map(_benchmark, specs),
    )


def _benchmark(spec: BenchmarkSpec) -> str:
    profiles = [name for name in PROFILES if spec.name in covered_benchmarks(open_profile(name))]
    facts = [
        f"- task: {code(spec.tasks)}; {spec.size or 'as many as your file has'} problems",
        f"- licence: {escaped(spec.licence)}",
        f"- graded as: {', '.join(f'[{name}](profiles.md#{name})' for name in profiles)}",
        f"- cite: {escaped(spec.citation)}",
        *_pin(spec),
    ]
    arguments = table(("`-T`", ""), [(code(name), escaped(text)) for name, text in spec.args.items()])
    parts = [f"## {spec.name}", escaped(spec.summary), "\n".join(facts)]
    return "\n\n".join([*parts, *([arguments] if spec.args else [])])


def _pin(spec: BenchmarkSpec) -> list[str]:
    if spec.source is None:
        return []
    pinned = source(spec.source)
    return [f"- data: [{pinned.file}]({pinned.url}), content sha256 {code(pinned.content_sha256)}"]


# ---------------------------------------------------------------- Measurements, from their own descriptions.

ABOUT_MEASUREMENTS = """\
Every figure on these pages comes from `python -m bench NAME`; `python -m bench` lists the names. They run from a
checkout (`make test` sets the environment up) and print what they measure; nothing is written unless it says so.
Figures of one run may be compared with each other, not with those of another machine: of what is measured in
several ways, a row for each pair has the medians, and the median, least and largest of the rounds' ratios, in CPU
of all processes and by the wall. `make bench` runs two that need nothing but the package index."""


def measurements_page() -> str:
    """A section for each measurement."""
    return page(
        "Measurements", ABOUT_MEASUREMENTS, *(_measurement(name, text) for name, text in commands().items())
    )


def _measurement(name: str, text: str) -> str:
    parts = [
        f"```text\n{_command(paragraph)}\n```" if paragraph.startswith("    ") else paragraph.replace("``", "`")
        for paragraph in text.split("\n\n")
    ]
    return "\n\n".join([f"## {name}", *parts])


def _command(paragraph: str) -> str:
    return "\n".join(line.removeprefix("    ") for line in paragraph.splitlines())
