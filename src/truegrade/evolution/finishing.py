"""The end of an evolution: the selected genomes on the final problems, and the exported adapter."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from statistics import fmean

from truegrade.datasets.learned import learned_places, read_learned, write_learned
from truegrade.errors import UserError
from truegrade.evolution.choosing import choose, rule
from truegrade.evolution.evaluation import Evaluator, Job
from truegrade.evolution.events import FINAL, Contest, Event, Final, PassRateDifference, SelectedGenome
from truegrade.evolution.final_look import Ledger, corrected_confidence, corrected_p, look_at_final, looks
from truegrade.evolution.folder import BEST, EvolutionFolder
from truegrade.evolution.workers import GenomeMap
from truegrade.evolution.workplace import Workplace
from truegrade.models.adapters import ARGUMENT, CONFIG, WEIGHTS, adapter_sha256
from truegrade.records import Estimate, Problem, sha256_json
from truegrade.statistics import TaskTally, compare_paired, mcnemar_p
from truegrade.statistics.tally import pass_at_k

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
        return pass_at_k(self._tallies(self._roles.final, shares), 1, corrected_confidence(self._look))

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
