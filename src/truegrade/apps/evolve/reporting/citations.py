"""BibTeX of an evolution: the run, its benchmark, the program, and the methods that it used."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from truegrade.apps.evolve.reporting.search_material import SearchMaterial
from truegrade.report.methods import benchmark_entry, entry, key
from truegrade.report.text_files import latex

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
