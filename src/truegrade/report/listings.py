"""Tables of benchmarks, profiles, models, data sets and findings about this machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from truegrade.pipeline.suites import argument as as_argument
from truegrade.profiles.base import coverage
from truegrade.report import format as fmt
from truegrade.report.document import Bullets, Cell, Facts, Prose, Table
from truegrade.report.terminal import print_parts
from truegrade.sandbox.limits import MIB, Limits

if TYPE_CHECKING:
    from rich.console import Console

    from truegrade.agents import AgentInfo
    from truegrade.benchmarks.base import BenchmarkSpec
    from truegrade.datasets import ListedDataset
    from truegrade.models import ModelInfo
    from truegrade.pipeline.suites import BenchmarkSuite
    from truegrade.profiles import Profile
    from truegrade.profiles.base import ProfileDifference, Rule
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
    print_parts(listing((kind, "what it is", "from"), rows), console=console)


def listing(
    head: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    *,
    strong: frozenset[int] = frozenset(),
    ruled: frozenset[int] = frozenset(),
) -> Table:
    """A table that only a terminal shows."""
    cells = [list(row) for row in rows]
    return Table(slug="", caption="", head=tuple(head), rows=cells, strong=strong, ruled=ruled)


def print_benchmarks(
    specs: Iterable[BenchmarkSpec],
    origins: Iterable[str] = repeat(BUILT_IN),
    *,
    everything: bool = True,
    console: Console | None = None,
) -> None:
    """Print the benchmarks; with ``everything`` also those of single studies, origins, and the task arguments."""
    listed = [(spec, origin) for spec, origin in zip(specs, origins, strict=False)]
    shown = [(spec, origin) for spec, origin in listed if everything or spec.current]
    takers: dict[tuple[str, str], list[str]] = {}
    rows: list[list[Cell]] = []
    for spec, origin in shown:
        summary = spec.summary if everything else _with_origin(spec.summary, origin)
        rows.append([spec.name, spec.size, summary, *((spec.licence, origin) if everything else ())])
        for argument in spec.args.items():
            takers.setdefault(argument, []).append(spec.name)
    head = ("benchmark", "problems", "content", *(("licence", "from") if everything else ()))
    facts: list[tuple[str, Cell]] = [
        (f"-T {name}", f"{meaning} [{', '.join(of)}]") for (name, meaning), of in takers.items()
    ]
    rest = _rest(len(listed) - len(shown), "benchmarks", "licences, and the arguments of -T")
    print_parts(listing(head, rows), Facts(facts) if everything else rest, console=console)


def print_suites(suites: Iterable[tuple[BenchmarkSuite, str]], *, console: Console | None = None) -> None:
    """Print suites and where they come from: what each is, and its benchmarks."""
    rows = (
        (
            suite.name,
            _with_origin(suite.description, origin),
            ", ".join(Path(entry.name).name for entry in suite.benchmarks),
        )
        for suite, origin in suites
    )
    hint = Prose(text="truegrade list suites NAME: settings, and which data are on this machine")
    print_parts(listing(("suite", "content", "benchmarks"), rows), hint, console=console)


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
    shared = {name: getattr(suite, name) for name in suite.__struct_fields__ if name != "benchmarks"}
    facts: list[tuple[str, Cell]] = [
        (name.replace("_", " "), _setting(value)) for name, value in shared.items() if value not in (None, ())
    ]
    rows: list[list[Cell]] = []
    for entry in suite.benchmarks:
        own = {name: getattr(entry, name) for name in entry.__struct_fields__ if name not in ("name", "optional")}
        said = [f"{name} {_setting(value)}" for name, value in own.items() if value not in (None, (), {})]
        said += ["optional"] if entry.optional else []
        rows.append([entry.name, "; ".join(said) or None, missing.get(entry.name)])
    table = listing(("benchmark", "settings", "missing data"), rows)
    print_parts(Facts([*facts, ("from", origin)]), table, console=console)


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
    rows: list[list[Cell]] = []
    for profile in profiles:
        origin = str(profile.origin or BUILT_IN)
        if everything:
            rows.append([profile.id, profile.summary, ", ".join(coverage(profile)), origin])
        elif profile.current:
            rows.append([profile.id, _with_origin(profile.summary, origin)])
    head = ("profile", "rules", *(("covers", "from") if everything else ()))
    rest = None if everything else _rest(len(profiles) - len(rows), "profiles", "what each covers")
    hint = Prose(text="truegrade list profiles NAME: every rule with its source")
    print_parts(listing(head, rows), rest, hint, console=console)


def _with_origin(summary: str, origin: str) -> str:
    """What a short listing says of an entry: where it comes from only if that is not this package."""
    return summary if origin == BUILT_IN else f"{summary} (from {origin})"


def _rest(left: int, kind: str, details: str) -> Prose:
    """What a short listing leaves out."""
    return Prose(text=f"--all: {left} more {kind} (of single studies, or older), {details}")


def print_profile(profile: Profile, *, console: Console | None = None) -> None:
    """Print one profile whole: every rule with its source, reproduced defects, limits."""
    facts: list[tuple[str, Cell]] = [
        ("profile", profile.id),
        ("summary", profile.summary),
        ("covers", ", ".join(coverage(profile))),
        ("prompts", ", ".join(profile.variants)),
        ("limits", _limits(profile.limits)),
        ("from", str(profile.origin or BUILT_IN)),
    ]
    rules = listing(("step", "rule", "source"), ((rule.step, rule.text, rule.source) for rule in profile.rules))
    defects = listing(("known defects, reproduced deliberately",), ((defect,) for defect in profile.defects))
    print_parts(Facts(facts), rules, defects, console=console)


def print_profile_difference(found: ProfileDifference, *, console: Console | None = None) -> None:
    """Print what separates two profiles: settings, then rules step by step, then known defects."""
    facts = listing(
        ("", found.first, found.second), ((fact.name, fact.first, fact.second) for fact in found.facts)
    )
    steps = (*found.rules, found.defects)
    rows: list[list[Cell]] = []
    starts = []
    for step in steps:
        starts.append(len(rows))
        pairs = zip_longest(step.first, step.second)
        rows += [[step.step, *("" if rule is None else _sourced(rule) for rule in pair)] for pair in pairs]
    head = ("step", f"only {found.first}", f"only {found.second}")
    same = ", ".join(f"{step.step} {step.same}" for step in steps if step.same) or "nothing"
    rules = listing(head, rows, ruled=frozenset(starts))
    print_parts(facts, rules, Facts([("the same in both", same)]), console=console)


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
    shown = [model for model in models if everything or model.current]
    rows: list[list[Cell]] = []
    for model in shown:
        needs = f"needs {model.needs}" if model.needs else ""
        price = "" if model.price is None else str(model.price)
        told = "\n".join(line for line in (model.description, needs, price, model.origin) if line)
        rows.append([model.name, told])
    first = frozenset(n for n in range(1, len(shown)) if shown[n].kind != shown[n - 1].kind)
    rest = Prose(text=f"--all: {len(models) - len(shown)} more models, which older results name")
    table = listing(("model", "description"), rows, ruled=first)
    print_parts(table, None if everything else rest, console=console)


def print_agents(
    agents: Iterable[AgentInfo], origins: Iterable[str] = repeat(BUILT_IN), *, console: Console | None = None
) -> None:
    """Print the agents, a line each."""
    rows: list[list[Cell]] = [
        [f"{info.name}@{info.version}", info.summary if origin == BUILT_IN else f"{info.summary} (from {origin})"]
        for info, origin in zip(agents, origins, strict=False)
    ]
    more = Prose(text="arguments, benchmarks and rules of one: truegrade list agents NAME", tone="remark")
    print_parts(listing(("agent", "summary"), rows), more, console=console)


def print_agent(info: AgentInfo, origin: str = BUILT_IN, *, console: Console | None = None) -> None:
    """Print an agent, its arguments with the defaults of each variant, and its rules."""
    facts: list[tuple[str, Cell]] = [
        ("agent", f"{info.name}@{info.version}"),
        ("summary", info.summary),
        ("covers", ", ".join(info.covers)),
        ("from", origin),
    ]
    rows: list[list[Cell]] = []
    for name, meaning in info.args.items():
        values = (None if of[name] is None else str(of[name]) for of in info.defaults.values())
        rows.append([name, *values, meaning])
    rules: list[str | Prose] = [f"{rule.text} ({rule.source})" for rule in info.rules]
    arguments = listing(("-A", *info.defaults, "meaning"), rows)
    print_parts(Facts(facts), arguments, Bullets(rules), console=console)


def print_sources(sources: Iterable[ListedDataset], *, console: Console | None = None) -> None:
    """Print the pinned data sets, and where each lies."""
    rows: list[list[Cell]] = []
    for listed in sources:
        source = listed.source
        place = "no: truegrade data pull " + source.name if listed.local is None else str(listed.local.path)
        rows.append([source.name, source.size, source.licence, f"{source.sha256[:12]}…", place])
    print_parts(listing(("data set", "rows", "licence", "SHA-256", "available"), rows), console=console)


def print_findings(findings: Iterable[DoctorFinding], *, console: Console | None = None) -> None:
    """Print what this machine offers; what is missing names the next step."""
    known = list(findings)
    rows = ((finding.name, finding.state, finding.detail) for finding in known)
    doubtful = frozenset(place for place, finding in enumerate(known) if finding.state == "warning")
    print_parts(listing(("", "", ""), rows, strong=doubtful), console=console)


def print_probe(report: ProbeReport, *, console: Console | None = None) -> None:
    """Print what a server honours, and what it took to find out."""
    rows = ((feature.name, feature.state, feature.evidence) for feature in report.features)
    ignored = frozenset(n for n, feature in enumerate(report.features) if feature.state == "ignored")
    where = report.base_url or "in this process"
    said = Prose(text=f"{where}: {report.requests} requests, {report.output_tokens} tokens generated")
    print_parts(listing((report.model, "", ""), rows, strong=ignored), said, console=console)
