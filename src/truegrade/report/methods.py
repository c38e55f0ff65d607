"""The methods paragraph of a report, written from the manifest: what is needed to repeat the run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit

from truegrade.benchmarks import known_benchmark
from truegrade.errors import RemovedName, UnknownName, UserError
from truegrade.pipeline.summary import ProfileSummary, Summary
from truegrade.profiles import open_profile, open_stored
from truegrade.records.config import GenerationConfig, Sampling
from truegrade.report import document as doc
from truegrade.report import format as fmt
from truegrade.report import wording
from truegrade.report.document import On, Prose, Section, only
from truegrade.report.markup import Markup, el
from truegrade.report.text_files import latex
from truegrade.store import Manifest

# ------------------------------ BibTeX of a run: the run itself, the benchmark, and the program that measured.


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
            title=f"{{{latex(benchmark.label)}}} answered by {{{latex(summary.model)}}}",
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


def methods(manifest: Manifest, summary: Summary) -> Section:
    """The section of the page."""
    rules = [_profile_rules(profile.profile, manifest) for profile in summary.profiles]
    shown = [
        Prose(text=" ".join(sentences(manifest, summary)), tone="prose"),
        doc.Folded("BibTeX", [el("pre", bibtex(manifest, summary), tabindex=0)]),
        _exclusions(summary),
        *rules,
    ]
    return Section("methods", "Methods", [only(On.PAGE, *shown)])


def sentences(manifest: Manifest, summary: Summary) -> list[str]:
    """The methods paragraph, sentence by sentence."""
    return [
        _benchmark(manifest, summary),
        *(_imported(manifest) if manifest.generation is None else _generated(manifest, manifest.generation)),
        *_graded(summary.profiles),
        _interval(summary),
        _environment(manifest),
    ]


def _benchmark(manifest: Manifest, summary: Summary) -> str:
    of = manifest.benchmark
    args = "".join(f", {key} = {value}" for key, value in {**of.args, **summary.window}.items())
    whole = "" if summary.tasks == of.problems else f" of {fmt.count(of.problems)}"
    each = fmt.plural(manifest.samples_per_task, "sample")
    return (
        f"{of.label}{args}: {fmt.count(summary.tasks)}{whole} problems"
        f" (data set SHA-256 {of.dataset_sha256[:16]}…), {each} per problem."
    )


def _imported(manifest: Manifest) -> list[str]:
    file_format = f" ({manifest.import_format})" if manifest.import_format else ""
    return [
        (
            f"The answers were imported from {manifest.imported_from}{file_format}; how they were generated is not"
            " known."
        )
    ]


def _place(url: str) -> str:
    """Where a model was served; an address that means nothing to a reader of the paper is left out."""
    host = urlsplit(url).hostname or ""
    try:
        private = ip_address(host).is_private
    except ValueError:
        private = "." not in host or host.endswith((".local", ".internal", ".localhost"))
    return "on a server of our own" if private else f"at {url}"


def _generated(manifest: Manifest, config: GenerationConfig) -> list[str]:
    model = f"{config.model} {_place(config.base_url)}" if config.base_url else config.model
    prompts = f" (SHA-256 over all prompts {manifest.prompts_sha256[:16]}…)" if manifest.prompts_sha256 else ""
    said = [
        f"The answers were generated by {model} on {manifest.created[:10]} with {_sampling(config.sampling)}.",
        f"The prompts are those of {config.prompt_rule}{prompts}.",
    ]
    if config.agent is not None:
        settings = ", ".join(f"{key} = {value}" for key, value in config.agent.args.items())
        said.append(f"Agent {config.agent.name}@{config.agent.version} called the model, with {settings}.")
    if config.model_args:
        listed = ", ".join(f"{key} = {value}" for key, value in config.model_args.items())
        said.append(f"Model arguments: {listed}.")
    if manifest.adaptations:
        said.append(f"Parameters changed after the service refused them: {'; '.join(manifest.adaptations)}.")
    return said


def _sampling(sampling: Sampling) -> str:
    named = {
        "temperature": sampling.temperature,
        "top-p": sampling.top_p,
        **{name.replace("_", "-"): value for name, value in sampling.in_process_only.items()},
        "token limit": sampling.max_tokens,
        "reasoning effort": sampling.reasoning_effort,
    }
    given = [f"{name} {value}" for name, value in named.items() if value is not None]
    if sampling.seed is not None:
        given.append(f"seed {sampling.seed} + sample number")
    if sampling.stop:
        given.append(f"stop strings {', '.join(map(repr, sampling.stop))}")
    left = [name for name in ("temperature", "top-p", "token limit") if named[name] is None]
    if left:
        given.append(f"the model's default {', '.join(left)}")
    return ", ".join(given)


def _graded(profiles: Sequence[ProfileSummary]) -> list[str]:
    """A sentence for each level of protection."""
    levels = dict.fromkeys(profile.level for profile in profiles)
    names = {level: ", ".join(p.profile for p in profiles if p.level == level) for level in levels}
    return [f"Graded under {names[level]}; {wording.level(level)}." for level in levels]


def _interval(summary: Summary) -> str:
    first = summary.profiles[0].estimates[0]
    return (
        f"{100 * first.confidence:g} % confidence intervals: {wording.interval(first)}. Samples of one cluster"
        " are not"
        " treated as independent."
        " A reply without an answer counts as a failure; a missing reply is left out."
    )


def _environment(manifest: Manifest) -> str:
    known = dict(manifest.environment)
    made_by = f"Truegrade {known.pop('truegrade', 'of unknown version')}"
    rest = ", ".join(f"{name} {value}" for name, value in known.items())
    return f"{made_by}{f' ({rest})' if rest else ''}."


def _exclusions(summary: Summary) -> Markup | None:
    if not summary.excluded:
        return None
    listed = el("ul", (el("li", f"{task}: {why}") for task, why in summary.excluded.items()))
    return el(
        "details", el("summary", f"{fmt.plural(len(summary.excluded), 'problem')} excluded from scoring"), listed
    )


def _profile_rules(profile_id: str, manifest: Manifest) -> Markup:
    """The rules, if the profile can be had at that version; of a file, if this machine was told to run it."""
    origin = manifest.origin(profile_id)
    try:
        profile = open_profile(profile_id) if origin is None else open_stored(profile_id, origin)
    except RemovedName as error:
        return el("p", f"{profile_id}: {error}.")
    except UserError:
        return el("p", f"{profile_id} is not installed in this version of Truegrade, so its rules are not shown.")
    rules = (el("li", el("b", rule.step), f": {rule.text} ", el("small", rule.source)) for rule in profile.rules)
    defects = (el("li", el("b", "known defect, reproduced"), f": {defect}") for defect in profile.defects)
    return el(
        "details", el("summary", f"{profile_id}: {profile.summary}"), el("ul", rules, defects, class_="rules")
    )
