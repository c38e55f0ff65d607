"""The catalogue of benchmarks: what each asks, under which rules, from which bytes."""

from __future__ import annotations

from tools.reference.markdown import code, escaped, table
from tools.reference.markdown import page as as_page
from truegrade.benchmarks import BENCHMARKS, find_benchmark
from truegrade.benchmarks.base import BenchmarkSpec
from truegrade.datasets import source
from truegrade.profiles import PROFILES, open_profile
from truegrade.profiles.base import covered_benchmarks

ABOUT = """\
Names that `truegrade run` takes. A file is used only if its hash is the pinned one, unless
`-T allow_modified=true`; every result carries the hash of the bytes that were read. `-T prompt=NAME` chooses among
a profile's prompts ([profiles](profiles.md)). A benchmark of your own is one file
([how](../extend.md))."""


def page() -> str:
    """A table of all benchmarks, then a section for each."""
    specs = [find_benchmark(name) for name in BENCHMARKS]
    rows = [
        (f"[{s.name}](#{s.name})", str(s.size or "yours"), escaped(s.summary), escaped(s.licence)) for s in specs
    ]
    return as_page(
        "Benchmarks", ABOUT, table(("name", "problems", "asks", "licence"), rows), *map(_section, specs)
    )


def _section(spec: BenchmarkSpec) -> str:
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
