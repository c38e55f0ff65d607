"""What a reader of a run's numbers must know: parts left out, replies cut, limits near, what a model has seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from truegrade.datasets.identity import identity
from truegrade.models.micro.shown import was_shown
from truegrade.pipeline.verdict_table import missing_packages
from truegrade.records import ChoiceTask, OutputTask, Problem
from truegrade.statistics import Exchangeability, TaskTally
from truegrade.statistics.windows import Window, described
from truegrade.store import Manifest
from truegrade.store.facts import VerdictFacts

IN_THE_BOX = "embedded/truegrade-micro"
"""How the names of the models that come with the package begin."""

_PLURAL = {"original": "originals", "mutant": "mutants", "preserved": "rewritings"}


def boxed_warnings(manifest: Manifest, problems: Mapping[str, Problem]) -> list[str]:
    """The warnings on the problems asked; none of other models."""
    return [*_trained_on(manifest, problems), *_not_trained(manifest, problems)]


def _trained_on(manifest: Manifest, problems: Mapping[str, Problem]) -> list[str]:
    """The warning that programs were shown to the model in the box when it was trained."""
    generation = manifest.generation
    if generation is None or not _is_shipped(generation.model):
        return []
    programs = dict.fromkeys(
        (problem.task.program, problem.task.pairing.shown)
        for problem in problems.values()
        if isinstance(problem.task, OutputTask) and problem.task.pairing is not None
    )
    asked = Counter(kind for _, kind in programs)
    shown = Counter(kind for program, kind in programs if _was_shown(program))
    if not shown:
        return []
    counts = ", ".join(f"{shown[kind]} of {asked[kind]} {_PLURAL[kind]}" for kind in asked)
    kept = "seed 0 of `truegrade data build dsl-list` was held out"
    return [f"{generation.model} was trained on programs of this data set: {counts}; {kept}"]


def _is_shipped(model: str) -> bool:
    """Whether it is the model whose training programs are known, with an adapter or without."""
    return model.startswith(IN_THE_BOX) and not model.startswith(f"{IN_THE_BOX}-early")


def _was_shown(program: str) -> bool:
    try:
        return was_shown(identity(program))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _not_trained(manifest: Manifest, problems: Mapping[str, Problem]) -> list[str]:
    """The warning that the model in the box was asked what it cannot answer."""
    generation = manifest.generation
    if generation is None or not generation.model.startswith(IN_THE_BOX):
        return []
    if not any(isinstance(problem.task, ChoiceTask) for problem in problems.values()):
        return []
    return [f"{generation.model} was not trained to choose between programs: use another model"]


def partial(manifest: Manifest, tasks: int, window: Window) -> list[str]:
    """The warning that a run covers a part of its benchmark."""
    whole = manifest.benchmark.problems
    chosen = f" ({described(window)})" if window else ""
    return [f"only {tasks} of the {whole} problems of {manifest.benchmark.name}{chosen}"] if tasks < whole else []


def unscored(shown: Sequence[str]) -> list[str]:
    """The warning that the run asked problems which this profile does not score."""
    return [f"not scored, because the prompts show their solutions: {', '.join(shown)}"] if shown else []


def count_warnings(
    tallies: Sequence[TaskTally],
    n: int,
    order: Exchangeability | None,
    outcomes: Sequence[VerdictFacts],
    advice: str,
) -> list[str]:
    """What a reader of the headline must know; ``advice`` is on replies that were cut."""
    warnings = []
    short = sum(tally.n < n for tally in tallies)
    if short:
        warnings.append(f"{short} of {len(tallies)} problems have fewer than {n} graded samples")
    warnings += missing_packages(outcomes)
    truncated = sum(o.truncated for o in outcomes)
    if truncated:
        warnings.append(f"{truncated} of {len(outcomes)} replies were cut at the token limit{advice}")
    sensitive = sum(o.time_sensitive for o in outcomes)
    if sensitive:
        warnings.append(
            f"{sensitive} verdicts were decided by a time limit or used half of one, and may differ on another"
            " machine; `truegrade grade RUN --timeout SECONDS` settles them"
        )
    if order is not None and (sentence := order.warning()):
        warnings.append(sentence)
    return warnings
