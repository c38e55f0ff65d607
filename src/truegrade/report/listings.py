"""Tables of benchmarks, profiles, models, data sets and findings about this machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, repeat, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from truegrade.pipeline.suites.suite import argument as as_argument
from truegrade.profiles.base import coverage
from truegrade.report import format as fmt
from truegrade.report.terminal import fact_grid, open_console, plain_table, row
from truegrade.sandbox.limits import MIB, Limits

if TYPE_CHECKING:
    from rich.console import Console

    from truegrade.benchmarks.base import BenchmarkSpec
    from truegrade.datasets import ListedDataset
    from truegrade.models import ModelInfo
    from truegrade.pipeline.suites import BenchmarkSuite
    from truegrade.profiles import Profile
    from truegrade.profiles.base import Rule
    from truegrade.profiles.difference import ProfileDifference
    from truegrade.store.manifest import ProbeReport


BUILT_IN = "built-in"
"""The origin of what comes with the package."""


class DoctorFinding(Protocol):
    """One thing that `truegrade doctor` looked at."""

    @property
    def name(self) -> str:
        """What was looked at."""

    @property
    def state(self) -> str:
        """``ok``, ``missing`` or ``warning``."""

    @property
    def detail(self) -> str:
        """What was found, or what to do."""


def print_listing(kind: str, rows: Iterable[tuple[str, str, str]], *, console: Console | None = None) -> None:
    """Print what has a name: the name, what it is, and where it comes from."""
    table = plain_table(kind, "what it is", "from")
    for line in rows:
        row(table, *line)
    open_console(console).print(table)


def print_benchmarks(
    specs: Iterable[BenchmarkSpec],
    origins: Iterable[str] = repeat(BUILT_IN),
    *,
    everything: bool = True,
    console: Console | None = None,
) -> None:
    """Print the benchmarks; with ``everything`` also those of single studies, origins, and the task arguments."""
    out = open_console(console)
    listed = [(spec, origin) for spec, origin in zip(specs, origins, strict=False)]
    shown = [(spec, origin) for spec, origin in listed if everything or spec.current]
    table = plain_table("benchmark", "problems", "content", *(("licence", "from") if everything else ()))
    takers: dict[tuple[str, str], list[str]] = {}
    for spec, origin in shown:
        size = "–" if spec.size is None else fmt.count(spec.size)
        more = (spec.licence, origin) if everything else ()
        row(table, spec.name, size, spec.summary if everything else _with_origin(spec.summary, origin), *more)
        for argument in spec.args.items():
            takers.setdefault(argument, []).append(spec.name)
    out.print(table)
    if everything:
        facts = ((f"-T {name}", f"{meaning} [{', '.join(of)}]") for (name, meaning), of in takers.items())
        out.print(fact_grid(facts))
    else:
        _print_rest(out, len(listed) - len(shown), "benchmarks", "licences, and the arguments of -T")


def print_suites(suites: Iterable[tuple[BenchmarkSuite, str]], *, console: Console | None = None) -> None:
    """Print suites and where they come from: what each is, and its benchmarks."""
    table = plain_table("suite", "content", "benchmarks")
    for suite, origin in suites:
        names = ", ".join(Path(entry.name).name for entry in suite.benchmarks)
        row(table, suite.name, _with_origin(suite.description, origin), names)
    out = open_console(console)
    out.print(table)
    out.print("truegrade suites show NAME: settings, and which data are on this machine", highlight=False)


def print_suite(
    suite: BenchmarkSuite, origin: str, missing: Mapping[str, str], *, console: Console | None = None
) -> None:
    """Print a suite whole.

    Args:
        suite: as it was found.
        origin: where.
        missing: by benchmark, how to get its data where they are not on this machine.
        console: where to print; None for standard output.
    """
    out = open_console(console)
    shared = {name: getattr(suite, name) for name in suite.__struct_fields__ if name != "benchmarks"}
    facts = [
        (name.replace("_", " "), _setting(value)) for name, value in shared.items() if value not in (None, ())
    ]
    out.print(fact_grid([*facts, ("from", origin)]))
    table = plain_table("benchmark", "settings", "missing data")
    for entry in suite.benchmarks:
        own = {name: getattr(entry, name) for name in entry.__struct_fields__ if name not in ("name", "optional")}
        said = [f"{name} {_setting(value)}" for name, value in own.items() if value not in (None, (), {})]
        said += ["optional"] if entry.optional else []
        row(table, entry.name, "; ".join(said) or "–", missing.get(entry.name, "–"))
    out.print(table)


def _setting(value: object) -> str:
    """A setting of a suite in one line."""
    match value:
        case dict():
            return ", ".join(f"{name}={as_argument(of)}" for name, of in value.items())
        case tuple():
            return ", ".join(value)
        case _:
            return str(value)


def print_profiles(
    profiles: Sequence[Profile], *, everything: bool = True, console: Console | None = None
) -> None:
    """Print the profiles; with ``everything`` also those of single studies, and what each covers."""
    out = open_console(console)
    table = plain_table("profile", "rules", *(("covers", "from") if everything else ()))
    shown = [profile for profile in profiles if everything or profile.current]
    for profile in shown:
        origin = str(profile.origin or BUILT_IN)
        more = (", ".join(coverage(profile)), origin) if everything else ()
        row(table, profile.id, profile.summary if everything else _with_origin(profile.summary, origin), *more)
    out.print(table)
    if not everything:
        _print_rest(out, len(profiles) - len(shown), "profiles", "what each covers")
    out.print("truegrade profiles show NAME: every rule with its source", highlight=False)


def _with_origin(summary: str, origin: str) -> str:
    """What a short listing says of an entry: where it comes from only if that is not this package."""
    return summary if origin == BUILT_IN else f"{summary} (from {origin})"


def _print_rest(out: Console, left: int, kind: str, details: str) -> None:
    """Say what a short listing leaves out."""
    out.print(f"--all: {left} more {kind} (of single studies, or older), {details}", highlight=False)


def print_profile(profile: Profile, *, console: Console | None = None) -> None:
    """Print one profile whole: every rule with its source, reproduced defects, limits."""
    out = open_console(console)
    facts = [
        ("profile", profile.id),
        ("summary", profile.summary),
        ("covers", ", ".join(coverage(profile))),
        ("prompts", ", ".join(profile.variants)),
        ("limits", _limits(profile.limits)),
        ("from", str(profile.origin or "built-in")),
    ]
    out.print(fact_grid(facts))
    rules = plain_table("step", "rule", "source")
    for rule in profile.rules:
        row(rules, rule.step, rule.text, rule.source)
    out.print(rules)
    if profile.defects:
        defects = plain_table("known defects, reproduced deliberately")
        for defect in profile.defects:
            row(defects, defect)
        out.print(defects)


def print_profile_difference(found: ProfileDifference, *, console: Console | None = None) -> None:
    """Print what separates two profiles: settings, then rules step by step, then known defects."""
    out = open_console(console)
    if found.facts:
        facts = plain_table("", found.first, found.second)
        for fact in found.facts:
            row(facts, fact.name, fact.first, fact.second)
        out.print(facts)
    rules = plain_table("step", f"only {found.first}", f"only {found.second}")
    for step in (*found.rules, found.defects):
        for one, two in zip_longest(step.first, step.second):
            row(rules, step.step, *("" if rule is None else _sourced(rule) for rule in (one, two)))
        rules.add_section()
    out.print(rules)
    same = [f"{step.step} {step.same}" for step in (*found.rules, found.defects) if step.same]
    out.print(fact_grid([("the same in both", ", ".join(same) or "nothing")]))


def _sourced(rule: Rule) -> str:
    return f"{rule.text} ({rule.source})" if rule.source else rule.text


def _limits(limits: Limits) -> str:
    times = f"{fmt.seconds(limits.cpu_s)} of CPU, {fmt.seconds(limits.wall_backstop_s)} wall-clock time"
    sizes = (
        f"{fmt.count(limits.memory_bytes / MIB)} MiB of memory, {fmt.count(limits.output_bytes / MIB)} of output"
    )
    processes = f"{fmt.count(limits.processes)} processes besides its own" if limits.processes else "no subprocess"
    return f"{times}, {sizes}, {processes}"


def print_models(models: Sequence[ModelInfo], *, everything: bool = True, console: Console | None = None) -> None:
    """Print what ``--model`` takes, kind by kind; with ``everything`` also models that older results name."""
    out = open_console(console)
    table = plain_table("model", "description")
    shown = [model for model in models if everything or model.current]
    for _, group in groupby(shown, key=lambda model: model.kind):
        table.add_section()
        for model in group:
            needs = f"needs {model.needs}" if model.needs else ""
            price = "" if model.price is None else str(model.price)
            row(
                table,
                model.name,
                "\n".join(line for line in (model.description, needs, price, model.origin) if line),
            )
    out.print(table)
    if not everything:
        out.print(f"--all: {len(models) - len(shown)} more models, which older results name", highlight=False)


def print_sources(sources: Iterable[ListedDataset], *, console: Console | None = None) -> None:
    """Print the pinned data sets, and where each lies."""
    table = plain_table("data set", "rows", "licence", "SHA-256", "available")
    for listed in sources:
        source = listed.source
        place = "no: truegrade data pull " + source.name if listed.local is None else str(listed.local.path)
        row(table, source.name, fmt.count(source.size), source.licence, f"{source.sha256[:12]}…", place)
    open_console(console).print(table)


def print_findings(findings: Iterable[DoctorFinding], *, console: Console | None = None) -> None:
    """Print what this machine offers; what is missing names the next step."""
    table = plain_table("", "", "")
    for finding in findings:
        row(table, finding.name, finding.state, finding.detail, bold=finding.state == "warning")
    open_console(console).print(table)


def print_probe(report: ProbeReport, *, console: Console | None = None) -> None:
    """Print what a server honours, and what it took to find out."""
    out = open_console(console)
    table = plain_table(report.model, "", "")
    for feature in report.features:
        row(table, feature.name, feature.state, feature.evidence, bold=feature.state == "ignored")
    out.print(table)
    where = report.base_url or "in this process"
    out.print(f"{where}: {report.requests} requests, {report.output_tokens} tokens generated", highlight=False)
