"""An evolution from its settings to its final report; the same call resumes it."""

from __future__ import annotations

from contextlib import ExitStack, closing
from pathlib import Path

from truegrade.apps.evolve.evaluation import Evaluator, Job
from truegrade.apps.evolve.finishing import Finish, Ledger
from truegrade.apps.evolve.folder import (
    Anchor,
    AnchorName,
    Evolution,
    EvolutionFolder,
    Final,
    SearchPlan,
    SearchWatcher,
    Unwatched,
)
from truegrade.apps.evolve.loop import GenomeMap, Loop, open_map, open_plan
from truegrade.apps.evolve.roles import Contamination, repair_of
from truegrade.apps.evolve.searchers import REGISTRY
from truegrade.apps.evolve.settings import EvolutionSettings
from truegrade.apps.evolve.subject import ROLES, Workplace, check_packages, prepare
from truegrade.pipeline.importing import RUNS, origins
from truegrade.profiles import find_profile
from truegrade.records import sha256_json
from truegrade.store.journal import Notice, ignore

_MARK = 12
"""Characters of a final problem's hash in the ledger: enough to tell some thousands apart."""

ANCHORS: tuple[AnchorName, ...] = ("base", "identity", "stub", "reference")


def evolve(
    settings: EvolutionSettings,
    *,
    out: str | Path | None = None,
    data: str | Path | None = None,
    adapters: str | Path | None = None,
    workers: int | None = None,
    allow_unsafe: bool = False,
    again: bool = False,
    exclude_seen: bool = False,
    watcher: SearchWatcher | None = None,
    notice: Notice = ignore,
) -> tuple[Path, Final]:
    """Evolve adapters of a model, compare with baselines, report once on problems that no choice has seen.

    Args:
        settings: what to do (`truegrade.apps.evolve.settings.read_settings`).
        out: folder; None for one named by the settings under ``runs``.
        data: local data file or folder of the task.
        adapters: folder of the adapter cache; None for the usual one.
        workers: processes; results do not depend on it.
        allow_unsafe: run programs even where only resource limits protect this machine (protection level 1).
        again: look at the final problems although another choice was looked at; the report says so, and its
            intervals are corrected for the number of looks.
        exclude_seen: leave out the problems to be tested that the base model, or an adapter that it comes with,
            learned from, instead of refusing them.
        watcher: told of everything.
        notice: told of what a person should know.

    Returns:
        The folder and the final report.

    Raises:
        Contamination: something is trained on and tested on.
        UserError: a setting, package or file is at fault.
        SandboxError: the sandbox failed.
    """
    watching = watcher or Unwatched()
    for search in settings.searches:
        open_plan(settings, search, 0)  # a bad argument is found before anything is trained
    check_packages(settings.model)
    watching.stage("draw the problems")
    workplace = prepare(
        settings,
        data=None if data is None else Path(data),
        adapters=None if adapters is None else Path(adapters),
        allow_unsafe=allow_unsafe,
        exclude_seen=exclude_seen,
    )
    folder = EvolutionFolder(default_folder(settings) if out is None else Path(out), notice=notice)
    with ExitStack() as stack:
        evaluator = stack.enter_context(closing(Evaluator(workplace)))
        evaluations = stack.enter_context(closing(open_map(workplace, evaluator, workers)))
        stack.callback(watching.finish)
        with folder.locked():
            identity = _identity(workplace, evaluator)
            ledger = _ledger(workplace, identity, notice)
            if not again:
                ledger.refuse_other()  # before the folder is begun: what is refused leaves none behind
            folder.begin(identity)
            watching.stage("score the anchors")
            _score_anchors(folder, evaluator, evaluations)
            Loop(settings, folder, evaluations, watching).run()
            watching.stage("final report")
            return folder.path, Finish(workplace, folder, evaluations, evaluator, ledger).report(again=again)


def _ledger(workplace: Workplace, identity: Evolution, notice: Notice) -> Ledger:
    """The user's ledger for the final problems, by their programs, with this base model."""
    programs = sorted(sorted(repair_of(problem).programs) for problem in workplace.roles.final)
    marks = [sha256_json([identity.base_sha256, each])[:_MARK] for each in programs]
    looked_at = sha256_json([identity.base_sha256, programs])
    return Ledger(looked_at, workplace.settings.sha256, marks=marks, notice=notice)


def default_folder(settings: EvolutionSettings) -> Path:
    """``runs/evolve-NAME-HASH``."""
    return RUNS / f"evolve-{settings.name}-{settings.sha256[:8]}"


def _identity(workplace: Workplace, evaluator: Evaluator) -> Evolution:
    settings, roles = workplace.settings, workplace.roles
    trainer = evaluator.subject.trainer
    overlap = roles.overlaps()
    if overlap.refused:
        first = overlap.refused[0]
        raise Contamination(f"CONTAMINATION: {first.tested} is {first.trained}, which is trained on")
    return Evolution(
        name=settings.name,
        settings=settings.facts(),
        settings_sha256=settings.sha256,
        versions=trainer.versions,
        base=trainer.base,
        base_sha256=trainer.base_sha256,
        benchmark=roles.benchmark,
        profile=find_profile(settings.profile).id,
        objectives=settings.objectives.names,
        reference_point=settings.objectives.reference,
        searches=tuple(
            SearchPlan(name=search.title, args={"searcher": search.searcher, **search.args}, baseline=place > 0)
            for place, search in enumerate(settings.searches)
        ),
        replicates=settings.replicates,
        roles={role: tuple(problem.id for problem in getattr(roles, role)) for role in ROLES},
        notes=roles.notes,
        contamination=overlap,
        origins=origins(**{each.searcher: REGISTRY.find(each.searcher).origin for each in settings.searches}),
    )


def _score_anchors(folder: EvolutionFolder, evaluator: Evaluator, evaluations: GenomeMap) -> None:
    """Base first; what an earlier process scored is kept."""
    known = {anchor.name for anchor in folder.anchors()}
    with folder.append_anchors() as journal:
        for name in ANCHORS:
            if name in known:
                continue
            if name == "base":
                (result,) = evaluations.map([Job(seed=evaluator.settings.seed)])
                scores = result.scores
            else:
                scores = evaluator.anchor(name)
            journal.append(Anchor(name=name, scores=scores))
