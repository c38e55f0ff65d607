"""``report.html`` of an evolution: a self-contained page that makes no network requests.

BibTeX of an evolution: the run, its benchmark, the program, and the methods that it used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from truegrade.apps.evolve.folder import Final, PassRateDifference, SearchPlan, SelectedGenome
from truegrade.apps.evolve.reporting.problems_html import apart_section, objectives_section, problems_section
from truegrade.apps.evolve.reporting.search_html import (
    described,
    focus,
    front_section,
    genes_section,
    lineage_section,
    search_names,
)
from truegrade.apps.evolve.reporting.search_material import SearchMaterial, budget_section, total_cpu_s
from truegrade.apps.evolve.reporting.verdict import (
    SearchReplicates,
    base_on_selection,
    confidence_of,
    contenders,
    flattery,
    verdict,
)
from truegrade.report import document as doc
from truegrade.report import format as fmt
from truegrade.report.charts.svg import Chart, DotRow, Dumbbell, difference_rows, dot_range, dumbbells, inline
from truegrade.report.document import Beside, Cautions, Cell, Document, Figure, Part, Prose, Section, Table
from truegrade.report.markup import Child, Markup, el
from truegrade.report.methods import benchmark_entry, entry, key
from truegrade.report.page_parts import draw, drawn_section, facts, figure, folded, render_page, table
from truegrade.report.text_files import latex
from truegrade.store.manifest import write_atomically

WORKS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "lora": {
            "author": "Hu, Edward J. and others",
            "title": "{LoRA}: Low-Rank Adaptation of Large Language Models",
            "year": "2021",
            "eprint": "2106.09685",
            "archiveprefix": "arXiv",
        },
        "dora": {
            "author": "Liu, Shih-Yang and others",
            "title": "{DoRA}: Weight-Decomposed Low-Rank Adaptation",
            "year": "2024",
            "eprint": "2402.09353",
            "archiveprefix": "arXiv",
        },
        "nsga2": {
            "author": "Deb, Kalyanmoy and Pratap, Amrit and Agarwal, Sameer and Meyarivan, T.",
            "title": "A fast and elitist multiobjective genetic algorithm: {NSGA-II}",
            "journal": "IEEE Transactions on Evolutionary Computation",
            "volume": "6",
            "number": "2",
            "pages": "182--197",
            "year": "2002",
        },
        "hypervolume": {
            "author": "While, Lyndon and Bradstreet, Lucas and Barone, Luigi",
            "title": "A Fast Way of Calculating Exact Hypervolumes",
            "journal": "IEEE Transactions on Evolutionary Computation",
            "volume": "16",
            "number": "1",
            "pages": "86--95",
            "year": "2012",
        },
        "optuna": {
            "author": "Akiba, Takuya and others",
            "title": "Optuna: A Next-generation Hyperparameter Optimization Framework",
            "year": "2019",
            "eprint": "1907.10902",
            "archiveprefix": "arXiv",
        },
        "coralx": {
            "title": "{CORAL-X}",
            "howpublished": "github.com/skishore23/coralx",
            "note": "commit fd75b33",
        },
    }
)
_USES = {"tpe": ("optuna",)}


def evolution_bibtex(material: SearchMaterial) -> str:
    """Entries for what was run and for the methods that played a part."""
    evolution = material.evolution
    name = f"{key(evolution.name)}-{key(evolution.base)}"
    title = f"{{{latex(evolution.name)}}}: adapters evolved for {{{latex(evolution.base)}}}"
    note = f"Graded under {evolution.profile}; settings SHA-256 {evolution.settings_sha256[:16]}"
    entries = [
        entry(name, title=title, note=latex(note)),
        benchmark_entry(evolution.benchmark),
        *(entry(work, kind=_kind(work), **WORKS[work]) for work in _used(material)),
        entry(
            "truegrade",
            kind="software",
            title="{Truegrade}",
            version=latex(evolution.versions.get("truegrade", "")),
        ),
    ]
    return "\n".join(filter(None, entries))


def _used(material: SearchMaterial) -> list[str]:
    """Works by the kinds of adapter and the strategies that the log holds."""
    kinds = [event.evaluated.genome.adapter.kind for event in material.events]
    names: list[str] = []
    for plan in material.evolution.searches:
        strategies = [plan.name, plan.args.get("of"), plan.args.get("searcher")]
        names += [work for name in strategies if isinstance(name, str) for work in _USES.get(name, (name,))]
    return [work for work in dict.fromkeys([*kinds, *names, "hypervolume"]) if work in WORKS]


def _kind(work: str) -> str:
    return "article" if "journal" in WORKS[work] else "misc"


# -------------------------------- The first section: the conclusion, the size of the effect, and the warnings.


BEST = "best"
"""Folder of the selected adapter."""


def overview(material: SearchMaterial) -> Section | None:
    """The section of the page."""
    judged = verdict(material)
    sentences = el("ul", (el("li", sentence) for sentence in judged.sentences), class_="said")
    card = el(
        "article",
        el("h3", judged.title, class_="judged"),
        _number(material),
        sentences,
        class_=f"card {judged.kind}",
    )
    return drawn_section(
        "result",
        "Result",
        draw([Beside([card], [Cautions([Prose(text=line) for line in judged.doubts], "No warnings.")])]),
        _tiles(material),
        _adapter(material),
    )


def _number(material: SearchMaterial) -> Child:
    chosen, final = material.chosen, material.final
    if chosen is None or final is None:
        return None
    gain = chosen.against_base
    interval = f"{confidence_of(final)} % CI {fmt.bounds(gain.low, gain.high)}"
    return [
        el("p", fmt.points(gain.value), " ", el("small", "points relative to the base"), class_="value"),
        el("p", f"{interval}, {gain.method}", class_="interval-text"),
    ]


def _tiles(material: SearchMaterial) -> Markup:
    searches = search_names(material)
    tiles = [
        ("evaluations", fmt.count(len(material.events)), "genomes scored"),
        (
            "searches × replicates",
            f"{len(searches)} × {material.evolution.replicates}",
            ", ".join(searches),
        ),
        ("on the front", fmt.count(len(material.front)), "not dominated by another genome"),
        ("hypervolume", fmt.quantity(material.volume), "of that front"),
    ]
    if material.clocks:
        tiles.append(("CPU", fmt.seconds(total_cpu_s(material)), "training and grading"))
    drawn = (
        el("div", el("dt", name), el("dd", number), el("dd", what, class_="what")) for name, number, what in tiles
    )
    return el("dl", drawn, class_="tiles")


def _adapter(material: SearchMaterial) -> Child:
    followed = focus(material)
    if followed is None:
        return None
    _, event = followed
    stored = (("in PEFT's format", f"{BEST}/"),) if (material.folder / BEST).is_dir() else ()
    seen = ((name.replace("_", " "), fmt.quantity(v)) for name, v in event.evaluated.scores.facts.items())
    name = "Selected adapter" if material.chosen is not None else f"Best {material.headline} so far"
    return folded(
        f"{name}: genome {event.evaluated.genome.id}",
        facts(
            *described(event.evaluated.genome).items(),
            ("origin", event.evaluated.genome.origin),
            ("adapter SHA-256", f"{event.adapter_sha256[:16]}…"),
            *stored,
            *seen,
        ),
    )


# ---------------- The final report: the search, its baselines and the base on problems not used for selection.


COSTS = ("k tokens", "CPU s", "problems seen")


def final_section(material: SearchMaterial) -> Section | None:
    """The section of the page; empty before the final report."""
    final, found = material.final, contenders(material)
    if final is None or not found:
        return None
    look = "once" if final.look == 1 else f"{final.look} times; this is evaluation {final.look}"
    corrected = "" if final.look == 1 else f", corrected for {final.look} evaluations by Bonferroni's rule"
    words = (
        f"{fmt.plural(final.base.tasks, 'problem')}, evaluated {look}. {final.rule.rstrip('.')}."
        f" {100 * final.base.confidence:.4g} % confidence intervals ({final.base.method}){corrected}."
    )
    shown: list[Part] = [
        Prose(text=words, tone="note"),
        Figure(rates_chart(material), "Pass rate on the final problems"),
        Prose(text=MEANT.format(ours=found[0].search), tone="note"),
        final_table(material),
        _fresh(material, final, found),
        _forgetting(found),
    ]
    return Section("final", "Final comparison", shown, "Final")


def rates_chart(material: SearchMaterial) -> Chart:
    """The base and every replicate of every search, with intervals."""
    final, names = material.final, search_names(material)
    assert final is not None
    rows = [DotRow("base", final.base, 5)]
    for one in contenders(material):
        rows += [DotRow(label(s, one), s.final, names.index(s.search)) for s in one.selected]
    return dot_range(rows, "Pass rate on the final problems", zoomed=True)


def label(selected: SelectedGenome, among: SearchReplicates) -> str:
    """A search's name, and which replicate where there are several."""
    return selected.search if len(among.selected) == 1 else f"{selected.search} #{selected.replicate + 1}"


MEANT = (
    "Differences in percentage points. Three columns compare {ours} with each search, on means over replicates; p"
    " is from the sign test over replicates. Tokens are those learned and generated, CPU seconds those of training"
    " and generation, both means over replicates; problems seen are those learned from, asked or selected by."
)


def final_table(material: SearchMaterial) -> Table:
    """A row for the base and for every search and replicate; a search's first row compares it with ours."""
    final, found = material.final, contenders(material)
    assert final is not None
    contest = (f"{found[0].search} minus this", "problems better : worse", "replicates better : worse")
    head = ("search", "selection", "final", "minus base", "forgetting", "final, mean", *contest, *COSTS)
    rows: list[list[Cell]] = [["base", None, final.base, *(9 * [None])]]
    for one in found:
        for place, selected in enumerate(one.selected):
            gains = change(selected.against_base), change(selected.forgetting)
            first = [doc.percent(one.final), *_contest(one), *costs(one)] if place == 0 else [None] * 7
            selection = doc.percent(selected.selection)
            rows.append([label(selected, one), selection, selected.final, *gains, *first])
    caption = (
        f"Pass rates on {fmt.plural(final.base.tasks, 'final problem')}; differences in points;"
        f" {confidence_of(final)} % confidence intervals"
    )
    spare = ("final, mean", *contest[::-1], *COSTS)
    return Table(slug="final", caption=caption, head=head, rows=rows, spare=spare, look="lasting")


def costs(one: SearchReplicates) -> list[Cell]:
    """What a search took, a mean over replicates."""
    return [round(one.cost.tokens / 1000), one.cost.cpu_s, one.cost.seen]


def _contest(one: SearchReplicates) -> list[Cell]:
    if one.contest is None:
        return [None] * 3
    replicates = f"{one.contest.wins} : {one.contest.losses}, p = {one.contest.sign_p:.2g}"
    return [change(one.contest.difference), f"{one.won} : {one.lost}", replicates]


def _fresh(material: SearchMaterial, final: Final, found: Sequence[SearchReplicates]) -> Markup:
    """Pass rates on selection and on final problems: the selection bias."""
    rate = base_on_selection(material)
    drawn = [] if rate is None else [Dumbbell(name="base, not selected", before=rate, after=final.base.value)]
    flattered: list[PassRateDifference | None] = [None] * len(drawn)
    for one in found:
        for selected in one.selected:
            drawn.append(
                Dumbbell(name=label(selected, one), before=selected.selection, after=selected.final.value)
            )
            flattered.append(flattery(selected, material))
    rows: list[list[Child]] = [
        [
            row.name,
            fmt.percent(row.before),
            fmt.percent(row.after),
            fmt.points(row.after - row.before),
            "–" if bias is None else change(bias),
        ]
        for row, bias in zip(drawn, flattered, strict=True)
    ]
    head = ["", "selection problems", "final problems", "difference, points", "selection flatters by, points"]
    caption = [
        el("b", "Selection and final problems."),
        " The score by which a genome was selected is biased upwards (winner's curse). ",
        "The base was not selected: its difference is that of the problems, and is taken off what selection adds;",
        " the interval is that of the final problems.",
    ]
    chart = dumbbells(drawn, "Selection and final problems", "selection problems", "final problems")
    return figure(chart, caption, table("Pass rates", head, rows, class_="numeric"))


def _forgetting(found: Sequence[SearchReplicates]) -> Markup:
    rows = [
        (label(selected, one), lost.value, lost.low, lost.high)
        for one in found
        for selected in one.selected
        if (lost := selected.forgetting) is not None
    ]
    if not rows:
        return el("p", "Forgetting was not measured.", class_="note")
    caption = [
        el("b", "Forgetting."),
        " Difference from the base on problems of the kinds that it was trained on; negative values are losses.",
    ]
    return el("figure", el("figcaption", caption), inline(difference_rows(rows, "Forgetting, in points")))


def change(difference: PassRateDifference | None) -> str:
    """Points with their interval; a dash where nothing was measured."""
    if difference is None:
        return "–"
    return f"{fmt.points(difference.value)} {fmt.bounds(difference.low, difference.high)}"


# -------------------------------------------- The methods section: a paragraph, BibTeX, and the configuration.


def methods_section(material: SearchMaterial) -> Section | None:
    """The section of the page."""
    evolution = material.evolution
    settings = msgspec.json.format(msgspec.json.encode(evolution.settings), indent=2).decode()
    versions = table("Versions", ["package", "version"], [[n, v] for n, v in evolution.versions.items()])
    return drawn_section(
        "methods",
        "Methods",
        el("p", " ".join(sentences(material)), class_="prose"),
        folded("BibTeX", el("pre", evolution_bibtex(material), tabindex=0)),
        folded(
            f"Configuration, defaults included (SHA-256 {evolution.settings_sha256[:16]}…)",
            el("pre", settings, tabindex=0),
        ),
        folded("Versions", versions),
    )


def sentences(material: SearchMaterial) -> list[str]:
    """The methods paragraph, sentence by sentence."""
    evolution = material.evolution
    roles = ", ".join(f"{fmt.count(len(problems))} for {role}" for role, problems in evolution.roles.items())
    kinds = sorted({"DoRA" if e.evaluated.genome.adapter.kind == "dora" else "LoRA" for e in material.events})
    adapters = f"{' and '.join(kinds)} adapters" if kinds else "Adapters"
    plans = [_plan(plan) for plan in evolution.searches]
    model = f"{evolution.base} (SHA-256 {evolution.base_sha256[:16]}…)"
    replicates = f"{fmt.plural(evolution.replicates, 'replicate')} of each search, each with its own seed"
    version = evolution.versions.get("truegrade", "of unknown version")
    return [
        f"{adapters} of {model} were optimised on {evolution.benchmark}, graded under {evolution.profile}.",
        f"The problems were split once: {roles}.",
        f"Objectives (all maximised): {', '.join(evolution.objectives)}.",
        (
            f"Strategies: {'; '.join(plans)}; {replicates}, {fmt.plural(len(material.events), 'evaluation')} in"
            " total."
        ),
        (
            "Fronts contain full evaluations only; hypervolume is exact, above a reference point fixed before the"
            " search."
        ),
        *_final(material),
        f"Truegrade {version}; settings {evolution.settings_sha256[:16]} (SHA-256).",
    ]


def _final(material: SearchMaterial) -> list[str]:
    final, chosen = material.final, material.chosen
    if final is None or chosen is None:
        return []
    return [
        (
            f"{final.rule.rstrip('.')}; the selected genome was then scored on the final problems (evaluation"
            f" {final.look})."
        ),
        f"Differences are paired by problem ({chosen.against_base.method}).",
        "Searches are compared by the sign test over problems, on means over replicates.",
    ]


def _plan(plan: SearchPlan) -> str:
    args = ", ".join(f"{name} = {_short(value)}" for name, value in plan.args.items() if value != plan.name)
    words = f"{plan.name} ({args})" if args else plan.name
    return f"{words} as a baseline" if plan.baseline else words


def _short(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


FILE = "report.html"
STYLES = ("evolution.css",)


def write_report(material: SearchMaterial, path: Path | None = None) -> Path:
    """Write the page of an evolution, finished or not, and return its path.

    Args:
        material: of the evolution (`truegrade.apps.evolve.reporting.search_material.gather`).
        path: of the page; None for ``report.html`` in its folder.
    """
    content = render(material).encode("utf-8", "replace")
    path = path or material.folder / FILE
    write_atomically(path, content)
    return path


def render(material: SearchMaterial) -> str:
    """The whole page; pure."""
    evolution = material.evolution
    done = "finished" if material.final is not None else "not finished"
    evaluations = fmt.plural(len(material.events), "evaluation")
    asked = f"{evolution.benchmark} · graded under {evolution.profile} · {evaluations} · {done}"
    made = Document(
        kind="evolution",
        about=(evolution.name, evolution.base),
        lines=(Prose(text=asked, tone="asked"),),
        sections=[
            overview(material),
            final_section(material),
            front_section(material),
            budget_section(material),
            problems_section(material),
            objectives_section(material),
            lineage_section(material),
            genes_section(material),
            apart_section(material),
            methods_section(material),
        ],
        styles=STYLES,
    )
    return render_page(made)
