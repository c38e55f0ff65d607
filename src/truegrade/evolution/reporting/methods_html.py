"""The methods section: a paragraph, BibTeX, and the configuration."""

from __future__ import annotations

from typing import Any

import msgspec

from truegrade.evolution.events import SearchPlan
from truegrade.evolution.reporting.citations import evolution_bibtex
from truegrade.evolution.reporting.search_material import SearchMaterial
from truegrade.report import format as fmt
from truegrade.report.markup import Markup, el
from truegrade.report.page_parts import folded, section, table


def methods_section(material: SearchMaterial) -> Markup:
    """The section of the page."""
    evolution = material.evolution
    settings = msgspec.json.format(msgspec.json.encode(evolution.settings), indent=2).decode()
    versions = table("Versions", ["package", "version"], [[n, v] for n, v in evolution.versions.items()])
    return section(
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
