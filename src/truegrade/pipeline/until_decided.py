"""Asking in a fixed order until a comparison with another run is decided, grading meanwhile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from truegrade.errors import UserError
from truegrade.models.base import Model
from truegrade.models.shortfall import Shortfall
from truegrade.pipeline.deciding import DecisionWatch, Opponent, portions
from truegrade.pipeline.generate import complete, generate, note_adaptations, wanted_samples
from truegrade.pipeline.grade import grade_run, grading_beside
from truegrade.pipeline.graders import Grader
from truegrade.pipeline.local_grader import LocalGrader
from truegrade.pipeline.progress import Progress
from truegrade.pipeline.prompts import PromptSet
from truegrade.profiles import Profile
from truegrade.records import Problem
from truegrade.store import Run
from truegrade.store.journal import Notice
from truegrade.store.manifest import Stopping


class Asking(NamedTuple):
    """What a run that may stop early is made with."""

    run: Run
    """Receives replies, verdicts and the test."""
    prompt_set: PromptSet
    """In the seeded order."""
    opponent: Opponent
    model: Model
    """Who answers."""
    problems: Mapping[str, Problem]
    """Those to grade, by id."""
    profiles: Sequence[Profile]
    """The verdicts of the first decide."""
    grader: Grader
    progress: Progress
    notice: Notice


def ask_until_decided(of: Asking, *, beside: bool, resident: bool) -> Shortfall:
    """Ask and grade until the comparison is decided or nothing is left to ask; the manifest keeps what came of it.

    Args:
        of: all that is needed.
        beside: grade while replies come in, and stop asking when it is decided; False asks portions, and grades
            each before the next.
        resident: the model's weights lie in this process, and are kept from one portion to the next.

    Returns:
        The samples that were to be asked and have no reply.

    Raises:
        UserError: the grader is that of a cluster.
        ModelError, SandboxError: as `generate` and `grade_run`.
    """
    if not isinstance(of.grader, LocalGrader):
        raise UserError("`stop_when_decided` needs the verdicts while it asks: leave `executor` out")
    shortfall = Shortfall(of.notice)
    watch = DecisionWatch(of.opponent, of.prompt_set, of.run.manifest.samples_per_task, of.profiles[0])
    watch.begin(of.run)
    answered = len(of.run.answered())
    try:
        if watch.decided:
            complete(of.model.close())
        elif beside:
            _ask_beside(of, of.grader, watch, shortfall)
        else:
            _ask_in_portions(of, of.grader, watch, shortfall, resident=resident)
    finally:
        of.run.update(stopping=watch.stopping)
    note_adaptations(of.run, of.model)
    of.notice(_said(watch.stopping, asked=len(of.run.answered()) - answered))
    if watch.decided:
        shortfall.not_asked = 0
    return shortfall


def _ask_beside(of: Asking, grader: LocalGrader, watch: DecisionWatch, shortfall: Shortfall) -> None:
    """A service is waited for while replies are graded here; no request starts after the decision."""
    run = of.run
    grading = grading_beside(
        run, of.problems, of.profiles, asked=(key for _, _, key in wanted_samples(run, of.prompt_set)),
        grader=grader, progress=of.progress, told=watch.add,
    )  # fmt: skip
    with grading as failed:
        generate(
            run, of.prompt_set, of.model, progress=of.progress, notice=of.notice, shortfall=shortfall,
            stopped=lambda: watch.look(run.completion_facts()) or failed(),
        )  # fmt: skip
    watch.look(run.completion_facts())


def _ask_in_portions(
    of: Asking, grader: LocalGrader, watch: DecisionWatch, shortfall: Shortfall, *, resident: bool
) -> None:
    """A model that answers faster than its replies are graded would be asked everything before the decision."""
    run, profiles = of.run, of.profiles
    wanted = {key for _, _, key in wanted_samples(run, of.prompt_set)}
    graded = sum(key in wanted for profile in profiles for key, _ in run.graded(profile.id))
    asking = _Whole(of.progress, len(wanted), len(wanted & run.answered()))
    grading = _Whole(of.progress.beside(), len(wanted) * len(profiles), graded)
    try:
        for portion in portions(of.prompt_set, run.manifest.samples_per_task):
            generate(
                run, portion, of.model, progress=asking, notice=of.notice, shortfall=shortfall, close=not resident
            )
            here = {name: of.problems[name] for name in portion.problems}
            for profile in profiles:
                grade_run(run, here, profile, progress=grading, grader=grader)
            watch.reread(run)
            if watch.look(run.completion_facts()) or shortfall.not_asked:
                return
    finally:
        asking.end()
        grading.end()
        if resident:
            complete(of.model.close())


class _Whole:
    """A progress of one stage that is done in portions.

    Args:
        progress: watches the whole stage.
        total: of all portions.
        done: finished by earlier commands.
    """

    def __init__(self, progress: Progress, total: int, done: int) -> None:
        self._progress, self._total, self._done = progress, total, done
        self._started = False
        self.advance, self.beside = progress.advance, progress.beside

    def start(self, stage: str, total: int, done: int) -> None:
        """A portion begins."""
        if not self._started:
            self._progress.start(stage, self._total, self._done)
        self._started = True

    def finish(self) -> None:
        """A portion is over."""

    def end(self) -> None:
        """The stage is over."""
        if self._started:
            self._progress.finish()


def _said(stopping: Stopping, *, asked: int) -> str:
    """What came of it, in a sentence."""
    test = stopping.test
    if test is None:
        return f"compared with {stopping.against}: nothing in common is graded yet"
    if test.decision is None:
        return (
            f"compared with {stopping.against}: not decided after {test.end.problems} of {test.problems} problems"
            f" (E = {test.e:.3g}, needed {1 / test.alpha:g})"
        )
    better = "better" if test.second_better else "worse"
    again = "" if asked else "; nothing more was asked"
    return (
        f"decided at problem {test.decision.problems} of {test.problems}: this run is {better} than"
        f" {stopping.against} (E = {test.e:.3g}, anytime-valid p = {test.p_value:.2g}){again}"
    )
