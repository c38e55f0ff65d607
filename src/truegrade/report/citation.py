"""BibTeX of a run: the run itself, the benchmark, and the program that measured."""

from __future__ import annotations

import re

from truegrade.benchmarks import known_benchmark
from truegrade.errors import UnknownName
from truegrade.pipeline.summary import Summary
from truegrade.report.exhibit_text import latex
from truegrade.store import Manifest

_ARXIV = re.compile(r"arXiv[: ]((\d{2})\d{2}\.\d{4,5})", re.IGNORECASE)
_DOI = re.compile(r"doi:(\S+)")
_PAPER = re.compile(r"(?P<author>[^,]+?) et al\., (?P<title>.+), (?:arXiv|doi):")


def bibtex(manifest: Manifest, summary: Summary) -> str:
    """Entries for what is measured and with what; what the manifest does not say is left out."""
    version = manifest.environment.get("truegrade", "")
    rules = ", ".join(profile.profile for profile in summary.profiles)
    benchmark = manifest.benchmark
    entries = [
        entry(
            f"{key(benchmark.name)}-{key(summary.model)}",
            key=latex(summary.model),
            title=f"{{{latex(benchmark.name)}}} answered by {{{latex(summary.model)}}}",
            year=manifest.created[:4],
            note=latex(
                f"Graded under {rules}; data set SHA-256 {benchmark.dataset_sha256[:16]};"
                f" prompts SHA-256 {(manifest.prompts_sha256 or 'unknown')[:16]}"
            ),
        ),
        benchmark_entry(benchmark.name),
        entry(
            "truegrade",
            kind="software",
            author="{The Truegrade authors}",
            title="{Truegrade}",
            version=latex(version),
            url="https://github.com/truegrade/truegrade",
            note=latex(f"git {manifest.environment['git']}") if "git" in manifest.environment else "",
        ),
    ]
    return "\n".join(filter(None, entries))


def benchmark_entry(name: str) -> str:
    """Entry of a benchmark and its paper; nothing for one that this version does not know."""
    try:
        spec = known_benchmark(name)
    except UnknownName:
        return ""
    paper, arxiv, doi = _PAPER.match(spec.citation), _ARXIV.search(spec.citation), _DOI.search(spec.citation)
    return entry(
        key(name),
        author=f"{latex(paper['author'])} and others" if paper else "",
        key="" if paper else latex(name),
        title=f"{{{latex(paper['title'])}}}" if paper else f"{{{latex(name)}}}: {latex(spec.summary)}",
        year=f"20{arxiv[2]}" if arxiv else "",
        eprint=arxiv[1] if arxiv else "",
        archiveprefix="arXiv" if arxiv else "",
        doi=doi[1] if doi else "",
        note=latex(f"The benchmark {name}" if paper else spec.citation),
    )


def entry(citekey: str, /, *, kind: str = "misc", **fields: str) -> str:
    """One entry; empty fields are left out."""
    lines = [f"  {field} = {{{value}}}," for field, value in fields.items() if value]
    return "\n".join([f"@{kind}{{{citekey},", *lines, "}", ""])


def key(text: str) -> str:
    """Letters, digits and hyphens, as every BibTeX takes them."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower() or "unnamed"
