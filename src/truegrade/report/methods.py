"""How the numbers came about, in sentences made from the manifest: enough to repeat the run."""

from __future__ import annotations

from truegrade.errors import UserError
from truegrade.pipeline.summary import ProfileSummary, Summary
from truegrade.profiles import Profile, open_profile, open_stored
from truegrade.records.config import GenerationConfig, Sampling
from truegrade.registry import Origin
from truegrade.report import format as fmt
from truegrade.report import wording
from truegrade.report.citation import bibtex
from truegrade.report.markup import Child, Markup, el
from truegrade.report.parts import folded, section
from truegrade.store import Manifest


def methods(manifest: Manifest, summary: Summary) -> Markup:
    """The section of the page."""
    return section(
        "methods",
        "Methods",
        el("p", " ".join(sentences(manifest, summary)), class_="prose"),
        folded("BibTeX", el("pre", bibtex(manifest, summary), tabindex=0)),
        _exclusions(summary),
        (_profile_rules(profile.profile, manifest) for profile in summary.profiles),
    )


def sentences(manifest: Manifest, summary: Summary) -> list[str]:
    """The methods paragraph, sentence by sentence."""
    return [
        _benchmark(manifest, summary),
        *(_imported(manifest) if manifest.generation is None else _generated(manifest, manifest.generation)),
        *(_graded(profile) for profile in summary.profiles),
        _interval(summary),
        _environment(manifest),
    ]


def _benchmark(manifest: Manifest, summary: Summary) -> str:
    of = manifest.benchmark
    args = "".join(f", {key} = {value}" for key, value in {**of.args, **summary.window}.items())
    whole = "" if summary.tasks == of.problems else f" of {fmt.count(of.problems)}"
    each = fmt.plural(manifest.samples_per_task, "sample")
    return (
        f"{of.name}{args}: {fmt.count(summary.tasks)}{whole} problems"
        f" (data set SHA-256 {of.dataset_sha256[:16]}…), {each} of each."
    )


def _imported(manifest: Manifest) -> list[str]:
    file_format = f" ({manifest.import_format})" if manifest.import_format else ""
    return [
        f"The answers were imported from {manifest.imported_from}{file_format}; how they were made is not known."
    ]


def _generated(manifest: Manifest, config: GenerationConfig) -> list[str]:
    model = f"{config.model} at {config.base_url}" if config.base_url else config.model
    prompts = f" (SHA-256 over all prompts {manifest.prompts_sha256[:16]}…)" if manifest.prompts_sha256 else ""
    said = [
        f"They were answered by {model} on {manifest.created[:10]} with {_sampling(config.sampling)}.",
        f"The prompt is worded by {config.prompt_rule}{prompts}.",
    ]
    if config.agent is not None:
        settings = ", ".join(f"{key} = {value}" for key, value in config.agent.args.items())
        said.append(f"Agent {config.agent.name}@{config.agent.version} worked in front of it with {settings}.")
    if config.model_args:
        listed = ", ".join(f"{key} = {value}" for key, value in config.model_args.items())
        said.append(f"Model arguments: {listed}.")
    if manifest.adaptations:
        said.append(f"The service refused and Truegrade therefore changed: {'; '.join(manifest.adaptations)}.")
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
        given.append(f"the service's own {', '.join(left)}")
    return ", ".join(given)


def _graded(profile: ProfileSummary) -> str:
    return f"Graded under {profile.profile}; {wording.level(profile.level)}."


def _interval(summary: Summary) -> str:
    first = summary.profiles[0].estimates[0]
    return (
        f"Brackets are {100 * first.confidence:g} % intervals ({first.method};"
        f" {fmt.plural(first.clusters, 'cluster')}); samples of one cluster are not taken for independent."
        " A reply without an answer counts as a failure; a missing reply is not scored."
    )


def _environment(manifest: Manifest) -> str:
    known = dict(manifest.environment)
    made_by = f"Truegrade {known.pop('truegrade', 'of unknown version')}"
    rest = ", ".join(f"{name} {value}" for name, value in known.items())
    return f"{made_by}{f' ({rest})' if rest else ''}."


def _exclusions(summary: Summary) -> Child:
    if not summary.excluded:
        return None
    listed = el("ul", (el("li", f"{task}: {why}") for task, why in summary.excluded.items()))
    return el(
        "details", el("summary", f"{fmt.plural(len(summary.excluded), 'task')} excluded from scoring"), listed
    )


def _profile_rules(profile_id: str, manifest: Manifest) -> Child:
    profile = _at_hand(profile_id, manifest.origin(profile_id))
    if profile is None:
        return el("p", f"{profile_id} is not a profile of this version of Truegrade; its rules are not shown.")
    rules = (el("li", el("b", rule.step), f": {rule.text} ", el("small", rule.source)) for rule in profile.rules)
    defects = (el("li", el("b", "known defect, reproduced"), f": {defect}") for defect in profile.defects)
    return el(
        "details", el("summary", f"{profile_id}: {profile.summary}"), el("ul", rules, defects, class_="rules")
    )


def _at_hand(profile_id: str, origin: Origin | None) -> Profile | None:
    """The profile, if it can be had at that version; one of a file, if the user of this machine has named it."""
    try:
        return open_profile(profile_id) if origin is None else open_stored(profile_id, origin)
    except UserError:
        return None
