"""The end of an evolution: which genome is selected, the final problems, and the exported adapter."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from statistics import fmean

import msgspec

from truegrade.apps.evolve.evaluation import Evaluator, Job
from truegrade.apps.evolve.folder import (
    BEST,
    FINAL,
    Contest,
    Event,
    EvolutionFolder,
    Final,
    PassRateDifference,
    SelectedGenome,
)
from truegrade.apps.evolve.genomes import Scores
from truegrade.apps.evolve.loop import GenomeMap
from truegrade.apps.evolve.search_order import Archive, point
from truegrade.apps.evolve.settings import EvolutionSettings
from truegrade.apps.evolve.subject import Workplace
from truegrade.datasets.learned import learned_places, read_learned, write_learned
from truegrade.errors import UserError
from truegrade.models.local import ARGUMENT, CONFIG, WEIGHTS, adapter_sha256
from truegrade.records import Estimate, Problem, sha256_json
from truegrade.statistics import TaskTally, compare_paired, mcnemar_p
from truegrade.statistics.tally import mean_pass_at_k
from truegrade.store.journal import Journal, Notice, ignore, read_journal
from truegrade.store.manifest import now

# ----------------------- Which genome a search submits: decided by its scores on the selection problems alone.


def rule(settings: EvolutionSettings) -> str:
    """The rule, as a sentence."""
    rest = [name for name in settings.objectives.names if name != settings.objectives.choose]
    ties = f", ties by {', then '.join(rest)}, then the earlier one" if rest else ", of ties the earlier one"
    return (
        f"the genome of the archive with the highest {settings.objectives.choose} on the selection problems{ties}"
    )


def choose(settings: EvolutionSettings, events: Sequence[Event], search: str, replicate: int) -> Event:
    """The evaluation that one replicate of one search hands in, by the rule.

    Args:
        settings: name the score.
        events: of the whole evolution.
        search: title of the search.
        replicate: from 0.

    Raises:
        UserError: nothing was evaluated fully.
    """
    own = [event for event in events if (event.search, event.replicate) == (search, replicate)]
    archive = archive_of(settings, own)
    ranked = sorted(
        archive.front,
        key=lambda one: (
            score(one.scores, settings.objectives.choose),
            *point(one.scores.objectives, archive.objectives),
        ),
        reverse=True,  # and stable: of equals the earlier stays first
    )
    if not ranked:
        raise UserError(f"{search} has evaluated no genome fully: raise generations, so that a bracket can end")
    return next(event for event in own if event.evaluated == ranked[0])


def archive_of(settings: EvolutionSettings, events: Iterable[Event]) -> Archive:
    """The archive that evaluations make, in their order."""
    archive = Archive(settings.objectives.names, settings.objectives.reference)
    for event in events:
        archive.add(event.evaluated)
    return archive


def score(scores: Scores, name: str) -> float:
    """A score by name; ``weighted_sum`` is a fact."""
    return scores.objectives[name] if name in scores.objectives else scores.facts[name]


# ----------------------- The final problems are evaluated once: each access to the test split is logged first.
# The record lies in the folder of the search and, so that another folder is no way round it, in the user's
# ledger. A further evaluation has to be asked for; it is counted, and its intervals are corrected for the count.


FILE = "final-looks.jsonl"
_LOCK = "final-looks.lock"

FAMILY_ERROR = 0.05
"""Probability, at most, that any of the intervals of several evaluations of the same problems misses its value."""
SHARED = 0.1
"""Share of the smaller of two sets of final problems from which on they count as the same problems: two draws of
micro-repair by different seeds share about 3 %."""


class FinalLook(msgspec.Struct, frozen=True, kw_only=True):
    """One access to the final problems."""

    subject: str
    """Hash of what is evaluated: adapters, problems, sampling. The same subject again is a resumption."""
    number: int
    """From 1, over all folders of the user; reports of later accesses state it and are corrected for it."""
    created: str
    """UTC, ISO 8601."""


class LedgerLine(msgspec.Struct, frozen=True, kw_only=True):
    """One access, as the ledger records it."""

    problems: str
    """Hash of the final problems and of the base model."""
    settings: str
    """Hash of the settings of the search."""
    subject: str
    """As `FinalLook.subject`."""
    folder: str
    created: str
    """UTC, ISO 8601."""
    marks: tuple[str, ...] = ()
    """A short hash of each final problem with the base model, so that a part of the problems is recognised."""


class Ledger:
    """A user's accesses to final problems, over all folders of searches.

    Args:
        problems: hash of the final problems and of the base model of the search in question.
        settings: hash of its settings.
        marks: a hash of each of these problems with the base model; sets that share a tenth are one.
        path: the ledger; None for the usual one.
        notice: told of a torn line, and where the ledger cannot be written.
    """

    def __init__(
        self,
        problems: str,
        settings: str,
        *,
        marks: Collection[str] = (),
        path: Path | None = None,
        notice: Notice = ignore,
    ) -> None:
        self.problems, self.settings, self.marks = problems, settings, frozenset(marks)
        self.path, self.notice = path or ledger_path(), notice

    def looks(self) -> list[LedgerLine]:
        """The accesses to these problems in order, each subject once."""
        lines = read_journal(self.path, LedgerLine, notice=self.notice) if self.path.exists() else ()
        first: dict[str, LedgerLine] = {}
        for line in lines:
            if line.problems == self.problems or self._shares(line):
                first.setdefault(line.subject, line)
        return list(first.values())

    def _shares(self, line: LedgerLine) -> bool:
        shared = len(self.marks & set(line.marks))
        return shared > 0 and shared >= SHARED * min(len(self.marks), len(line.marks))

    def refuse_other(self) -> None:
        """Check, before training, that no other search has accessed these problems.

        Raises:
            UserError: one has.
        """
        found = self.looks()
        others = [line for line in found if line.settings != self.settings]
        if others and len(others) == len(found):
            raise UserError(_refusal(others[0].folder, others[0].created, len(found) + 1))

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes from logging an access meanwhile, where the ledger can be written."""
        with ExitStack() as stack:
            with suppress(OSError):  # `note` says so
                self.path.parent.mkdir(parents=True, exist_ok=True)
                stack.enter_context(_locked(self.path.parent / _LOCK))
            yield

    def note(self, subject: str, folder: Path) -> None:
        """Log an access; the caller is `alone`."""
        line = LedgerLine(
            problems=self.problems, settings=self.settings, subject=subject, folder=str(folder.resolve()),
            created=now(), marks=tuple(sorted(self.marks)),
        )  # fmt: skip
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with Journal[LedgerLine](self.path, notice=self.notice, fsync_every=1) as journal:
                journal.append(line)
        except (OSError, UserError) as error:
            self.notice(f"{self.path}: the access to the final problems cannot be logged there ({error})")


def ledger_path() -> Path:
    """``final-looks.jsonl`` in ``truegrade`` of ``XDG_STATE_HOME`` or ``~/.local/state``."""
    base = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(base).expanduser() / "truegrade" / FILE


def corrected_confidence(look: int) -> float:
    """Confidence of every interval of the look-th evaluation, after Bonferroni: 1 - 0.05 / look."""
    return 1 - FAMILY_ERROR / look


def corrected_p(p_value: float, look: int) -> float:
    """A p-value of the look-th evaluation, after Bonferroni."""
    return min(1.0, look * p_value)


def look_at_final(
    folder: Path, subject: str, *, ledger: Ledger | None = None, again: bool = False, notice: Notice = ignore
) -> FinalLook:
    """Log an access; it is on disk before this returns.

    A killed report asks with the same subject and goes on: what it scores was decided before the first look. So
    does the same search in another folder: it has chosen the same.

    Args:
        folder: of the search.
        subject: hash of what is to be evaluated.
        ledger: the user's looks at the same problems from other folders; None to count this folder's alone.
        again: whether another subject may be looked at after the first.
        notice: told of a torn line, and of a second look.

    Raises:
        UserError: something else was looked at before, and ``again`` is not given.
        BadRecord: the record of the looks is damaged.
    """
    with _locked(folder / _LOCK), ledger.alone() if ledger else nullcontext():
        own = {look.subject: look for look in looks(folder, notice=notice)}
        if subject in own:
            return own[subject]
        before = {line.subject: (line.folder, line.created) for line in (ledger.looks() if ledger else ())}
        for look in own.values():
            before.setdefault(look.subject, (str(folder), look.created))
        others = [place for other, place in before.items() if other != subject]
        number = [*before, subject].index(subject) + 1
        if others and subject not in before and not again:
            raise UserError(_refusal(*others[0], number))
        look = FinalLook(subject=subject, number=number, created=now())
        if number > 1:
            notice(
                f"{folder}: evaluation {number} of these final problems; the report says so, and its intervals"
                f" have {100 * corrected_confidence(number):.4g} % confidence"
            )
        if ledger is not None:
            ledger.note(subject, folder)
        with Journal[FinalLook](folder / FILE, notice=notice, fsync_every=1) as journal:
            journal.append(look)
        return look


def _refusal(folder: str, created: str, number: int) -> str:
    return (
        f"the final problems were already evaluated on {created} for another result, in {folder}, so this choice"
        " may depend on what they showed: report that result; to evaluate them once more nevertheless, give"
        f" `again=True`, which counts evaluation {number}, says so in the report and widens its intervals to"
        f" {100 * corrected_confidence(number):.4g} % confidence"
    )


def looks(folder: Path, *, notice: Notice = ignore) -> tuple[FinalLook, ...]:
    """All accesses so far, in order."""
    return tuple(read_journal(folder / FILE, FinalLook, notice=notice))


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Alone with the record of the looks; the lock goes with its process, however that ends."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


Shares = Mapping[str, float]
"""By problem, the share of replies that pass every test."""


class Finish:
    """Makes the final report of an evolution whose searches have ended.

    Args:
        workplace: settings and problems.
        folder: holds the log.
        evaluations: where adapters are evaluated.
        evaluator: this process' own; writes the adapter out.
        ledger: the user's looks at the same problems; None to count the folder's alone.
    """

    def __init__(
        self,
        workplace: Workplace,
        folder: EvolutionFolder,
        evaluations: GenomeMap,
        evaluator: Evaluator,
        ledger: Ledger | None = None,
    ) -> None:
        self._workplace, self._settings, self._roles = workplace, workplace.settings, workplace.roles
        self._folder, self._evaluations, self._evaluator = folder, evaluations, evaluator
        self._ledger = ledger
        self._look = 1
        """Which evaluation of the final problems this is: intervals and p-values are corrected for it."""

    def report(self, *, again: bool = False) -> Final:
        """Select, log the access to the final problems, evaluate, compare, and write ``final.json``.

        A report that was made is read; one that was killed is made again, of the same choice.

        Args:
            again: look at the final problems although another choice was looked at; the report says so.

        Raises:
            UserError: another choice was looked at before.
        """
        events, settings = self._folder.events(), self._settings
        chosen = [
            choose(settings, events, search.title, replicate)
            for search in settings.searches
            for replicate in range(settings.replicates)
        ]
        subject = self._subject(chosen)
        path, notice = self._folder.path, self._folder.notice
        before = self._folder.final()
        if before is not None and (subject, before.look) in {(look.subject, look.number) for look in looks(path)}:
            return before
        look = look_at_final(path, subject, ledger=self._ledger, again=again, notice=notice)
        self._look = look.number
        final = self.compared(chosen)
        self._export(self._best(chosen))
        self._folder.write(FINAL, final)
        return final

    def _subject(self, chosen: Sequence[Event]) -> str:
        adapters = [[one.search, one.replicate, one.adapter_sha256] for one in chosen]
        problems = [[problem.id, problem.dataset_sha256] for problem in self._reported]
        return sha256_json([self._settings.sha256, adapters, problems])

    @property
    def _reported(self) -> tuple[Problem, ...]:
        return (*self._roles.final, *self._roles.forgetting)

    def compared(self, chosen: Sequence[Event]) -> Final:
        """Evaluate the base and what was chosen, and compare; nothing is logged or written."""
        jobs = [Job(seed=self._settings.seed, role="report"), *map(self._job, chosen)]
        shares = [
            {name: scores["solved"] for name, scores in result.scores.problems.items()}
            for result in self._evaluations.map(jobs)
        ]
        base, found = shares[0], shares[1:]
        return Final(
            look=self._look,
            confidence=corrected_confidence(self._look),
            rule=rule(self._settings),
            chosen=self._settings.search.title,
            base=self._rate(base),
            base_passed=base,
            selected=tuple(self._selected(one, base, own) for one, own in zip(chosen, found, strict=True)),
            contests=self._contests(chosen, found),
        )

    def _job(self, one: Event) -> Job:
        seed = self._settings.seed + one.replicate
        return Job(genome=one.evaluated.genome, seed=seed, role="report")

    def _selected(self, one: Event, base: Shares, own: Shares) -> SelectedGenome:
        roles = self._roles
        return SelectedGenome(
            search=one.search,
            replicate=one.replicate,
            genome=one.evaluated.genome,
            adapter_sha256=one.adapter_sha256,
            selection=one.evaluated.scores.mean("solved", [problem.id for problem in roles.selection]),
            final=self._rate(own),
            against_base=self._difference(roles.final, base, own),
            forgetting=self._difference(roles.forgetting, base, own) if roles.forgetting else None,
            passed=dict(own),
        )

    def _rate(self, shares: Shares) -> Estimate:
        """Of the final problems."""
        return mean_pass_at_k(self._tallies(self._roles.final, shares), 1, corrected_confidence(self._look))

    def _tallies(self, problems: Sequence[Problem], shares: Shares, replicates: int = 1) -> list[TaskTally]:
        """Shares as counts; every share is of the same number of replies."""
        n = self._settings.samples * replicates
        return [
            TaskTally(task_id=problem.id, cluster=problem.cluster, n=n, c=round(n * shares[problem.id]))
            for problem in problems
        ]

    def _difference(
        self, problems: Sequence[Problem], base: Shares, own: Shares, replicates: int = 1
    ) -> PassRateDifference:
        """Second minus first."""
        compared = compare_paired(
            self._tallies(problems, base, replicates),
            self._tallies(problems, own, replicates),
            corrected_confidence(self._look),
        )
        return PassRateDifference(
            value=compared.difference,
            low=-1.0 if compared.low is None else compared.low,
            high=1.0 if compared.high is None else compared.high,
            method=compared.method,
            tasks=compared.tasks,
        )

    def _contests(self, chosen: Sequence[Event], found: Sequence[Shares]) -> tuple[Contest, ...]:
        final, replicates = self._roles.final, self._settings.replicates
        by_search: dict[str, list[Shares]] = {}
        for one, shares in zip(chosen, found, strict=True):
            by_search.setdefault(one.search, []).append(shares)
        rates = {
            name: [fmean(shares[problem.id] for problem in final) for shares in runs]
            for name, runs in by_search.items()
        }
        means = {
            name: {problem.id: fmean(shares[problem.id] for shares in runs) for problem in final}
            for name, runs in by_search.items()
        }
        own = self._settings.search.title
        contests = []
        for name in [search.title for search in self._settings.baselines]:
            pairs = list(zip(rates[own], rates[name], strict=True))
            wins, losses = sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)
            contests.append(
                Contest(
                    baseline=name,
                    difference=self._difference(final, means[name], means[own], replicates),
                    wins=wins,
                    losses=losses,
                    sign_p=corrected_p(mcnemar_p(wins, losses), self._look),
                )
            )
        return tuple(contests)

    def _best(self, chosen: Sequence[Event]) -> Event:
        """Of the search itself the replicate that chose the highest score: by selection, never by the final."""
        own = [one for one in chosen if one.search == self._settings.search.title]
        return max(own, key=lambda one: one.evaluated.scores.objectives["solved"])

    def _export(self, best: Event) -> None:
        """Put the adapter into ``best/``, whole or not at all."""
        target, partial = self._folder.path / BEST, self._folder.path / f".{BEST}"
        job = self._job(best)
        assert job.genome is not None
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        adapter = self._evaluator.adapter(job)
        for name in (CONFIG, WEIGHTS):
            shutil.copyfile(adapter.folder / name, partial / name)
        known = {lesson.problem for lesson in adapter.lessons}
        bases = learned_places(self._settings.model, self._settings.model_args.get(ARGUMENT))
        earlier = [read_learned(place) for place in (adapter.folder, *bases)]
        learned = [problem for problem in self._roles.learned if problem.id in known]
        write_learned(partial, self._roles.benchmark, learned, earlier=earlier)
        if adapter_sha256(partial) != best.adapter_sha256:
            raise UserError(
                f"{target}: the adapter of genome {job.genome.id} came out otherwise than when it was scored"
                f" ({best.adapter_sha256[:12]}…); versions differ, so start anew with another `out`"
            )
        shutil.rmtree(target, ignore_errors=True)
        partial.rename(target)
