"""A run that stops once its comparison with another one is decided: its order, and the test after each cluster."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import log
from pathlib import Path

import msgspec

from truegrade.errors import NotComparable, UserError
from truegrade.pipeline.prompts import PromptSet
from truegrade.pipeline.summary import TaskLine, profile_summary
from truegrade.profiles import Profile
from truegrade.records import ChoiceTask, OutputTask, Problem, Reason, Verdict
from truegrade.statistics.sequential import anytime_test, log_e_path, ordered_clusters
from truegrade.store import Manifest, Run
from truegrade.store.facts import CompletionFacts, VerdictFacts
from truegrade.store.manifest import Stopping

PORTION_SAMPLES = 10
"""Samples that a model in this process is asked before they are graded and it is seen whether to go on."""


class StopRequest(msgspec.Struct, frozen=True, kw_only=True):
    """With which run a new one is compared while it goes on, as `truegrade.api.run` documents it."""

    against: Run | str | Path
    order_seed: int
    alpha: float


def stop_request(against: Run | str | Path | None, order_seed: int, alpha: float) -> StopRequest | None:
    """The rule that arguments of a command ask for; None where they name no other run."""
    return None if against is None else StopRequest(against=against, order_seed=order_seed, alpha=alpha)


class Opponent(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the other run before the first problem is asked."""

    rule: Stopping
    results: Mapping[str, TaskLine]
    """Graded problems of the other run that this one asks too."""


def open_opponent(
    request: StopRequest, manifest: Manifest, prompt_set: PromptSet, profile: Profile, folder: Path
) -> Opponent:
    """Open the other run and see that a comparison will be a fair one.

    Args:
        request: which run, and how.
        manifest: of the run to be made.
        prompt_set: what it asks.
        profile: whose verdicts decide.
        folder: of the run to be made.

    Raises:
        UserError: the other run is this one, was not graded under the profile, or has none of the problems; the
            problems are compared by metrics of their own.
        NotComparable: data set or prompts differ.
    """
    if not 0 < request.alpha < 1:
        raise UserError(f"`alpha` {request.alpha:g}: a level lies between 0 and 1, both excluded")
    against = request.against if isinstance(request.against, Run) else Run.open(Path(request.against))
    name = f"`stop_when_decided` {against.given}"
    if against.path.resolve() == folder.resolve():
        raise UserError(f"{name} is the run itself; name another one, or choose another `out`")
    if any(_reasons_in_pairs(problem) for problem, _ in prompt_set.items):
        raise UserError(
            f"{name}: execution reasoning on pairs of programs has metrics of its own; run all problems"
        )
    _refuse_incomparable(name, against, manifest, prompt_set)
    asked = prompt_set.problems
    results = {line.id: line for line in profile_summary(against, profile.id).tasks if line.n and line.id in asked}
    if not results:
        raise UserError(f"{name} has a graded reply to none of the problems; choose others by `limit` or `ids`")
    moved = next((line.id for line in results.values() if line.cluster != asked[line.id].cluster), None)
    if moved is not None:
        raise NotComparable(f"{name}: problem {moved} is in another cluster there; grade that run again")
    rule = Stopping(
        against=against.given.resolve().name,
        against_created=against.manifest.created,
        profile=profile.id,
        order_seed=request.order_seed,
        alpha=request.alpha,
    )
    return Opponent(rule=rule, results=results)


def _reasons_in_pairs(problem: Problem) -> bool:
    task = problem.task
    return isinstance(task, ChoiceTask) or (isinstance(task, OutputTask) and task.pairing is not None)


def _refuse_incomparable(name: str, against: Run, manifest: Manifest, prompt_set: PromptSet) -> None:
    theirs, ours = against.manifest.benchmark, manifest.benchmark
    if (theirs.name, theirs.dataset_sha256) != (ours.name, ours.dataset_sha256):
        raise NotComparable(
            f"{name} answers {theirs.name} {theirs.dataset_sha256[:12]}…, this run {ours.name}"
            f" {ours.dataset_sha256[:12]}…: compare runs on the same data"
        )
    prompts = against.prompts()
    for problem, prompt in prompt_set.items:
        if problem.id in prompts and prompts[problem.id].sha256 != prompt.sha256:
            raise NotComparable(
                f"{name} was asked {problem.id} with another prompt: use the same profile and agent"
            )


def in_order(prompt_set: PromptSet, opponent: Opponent) -> PromptSet:
    """The same problems in the seeded order; those that the other run has no result for come last."""
    items = {problem.id: (problem, prompt) for problem, prompt in prompt_set.items}
    clusters = ordered_clusters({name: item[0].cluster for name, item in items.items()}, opponent.rule.order_seed)
    clusters.sort(key=lambda names: not any(name in opponent.results for name in names))
    return PromptSet([items[name] for names in clusters for name in names], prompt_set.excluded)


def portions(prompt_set: PromptSet, n: int) -> Iterator[PromptSet]:
    """The problems in pieces of at least `PORTION_SAMPLES` samples that leave clusters whole."""
    items, start = prompt_set.items, 0
    for place in range(1, len(items) + 1):
        ends = place == len(items) or items[place][0].cluster != items[place - 1][0].cluster
        if ends and (place == len(items) or (place - start) * n >= PORTION_SAMPLES):
            yield PromptSet(items[start:place], prompt_set.excluded)
            start = place


_Outcome = tuple[bool, tuple[str, ...]]
"""Whether a sample passed, and the marks of its verdict."""


class DecisionWatch:
    """Follows the verdicts of a run, and tests after each cluster of the order whether the comparison is decided.

    A cluster counts once every sample of it is graded or failed, and once those before it count: replies that come
    quickly must not decide before slow ones are in.

    Args:
        opponent: the other run.
        prompt_set: what is asked, in order.
        n: samples per problem.
        profile: whose verdicts decide, and who counts them.
    """

    def __init__(self, opponent: Opponent, prompt_set: PromptSet, n: int, profile: Profile) -> None:
        self._opponent, self._n, self._profile = opponent, n, profile
        clusters: dict[str, list[str]] = defaultdict(list)
        for problem, _ in prompt_set.items:
            if problem.id in opponent.results:
                clusters[problem.cluster].append(problem.id)
        self._order = list(clusters.values())
        self._single = (
            n == 1 and all(map(_alone, self._order)) and all(r.n == 1 for r in opponent.results.values())
        )
        self._outcomes: dict[str, dict[int, _Outcome | None]] = defaultdict(dict)
        self._gains: list[list[float]] = []
        self._next = self._seen = 0
        self._lock = threading.Lock()
        self.decided = False

    def begin(self, run: Run) -> None:
        """Take in what earlier commands left; samples that failed then are asked again."""
        self._seen = len(run.completion_facts())
        self.reread(run)

    def reread(self, run: Run) -> None:
        """Take in all verdicts that are stored, while nobody else writes to the run."""
        if self._profile.id in run.profiles:
            for facts in run.verdict_facts(self._profile.id):
                self._take(facts)
        self._advance()

    def add(self, verdict: Verdict) -> None:
        """Take a new verdict into account; one of another profile says nothing. Safe in any thread."""
        if verdict.profile == self._profile.id:
            with self._lock:
                self._take(verdict)
                self._advance()

    def look(self, facts: Sequence[CompletionFacts]) -> bool:
        """Note new completions whose every attempt failed; whether the comparison is decided."""
        with self._lock:
            for each in facts[self._seen :]:
                if not each.answered and each.sample < self._n:
                    self._outcomes[each.problem_id].setdefault(each.sample, None)
            self._seen = len(facts)
            self._advance()
        return self.decided

    def _take(self, verdict: Verdict | VerdictFacts) -> None:
        if verdict.sample < self._n:
            failed = verdict.reason is Reason.GRADER_ERROR
            outcome = None if failed else (verdict.passed, verdict.marks)
            self._outcomes[verdict.problem_id][verdict.sample] = outcome

    @property
    def stopping(self) -> Stopping:
        """The rule, with the test as it stands."""
        if not self._gains:
            return self._opponent.rule
        test = anytime_test(
            self._gains,
            single=self._single,
            sizes=[len(names) for names in self._order],
            alpha=self._opponent.rule.alpha,
        )
        return msgspec.structs.replace(self._opponent.rule, test=test)

    def _advance(self) -> None:
        while not self.decided and self._next < len(self._order):
            names = self._order[self._next]
            if any(len(self._outcomes.get(name, ())) < self._n for name in names):
                return
            self._next += 1
            if gains := list(self._differences(names)):
                self._gains.append(gains)
                self.decided = self._e() >= -log(self._opponent.rule.alpha)

    def _e(self) -> float:
        largest = max(map(len, self._order))
        return log_e_path(self._gains, single=self._single, largest=largest, alpha=self._opponent.rule.alpha)[-1]

    def _differences(self, names: Iterable[str]) -> Iterator[float]:
        """This run's share of right samples less the other's, of problems that both have a graded sample of."""
        for name in names:
            counted = [outcome for outcome in self._outcomes[name].values() if outcome is not None]
            n, passes = self._profile.tally(counted) if counted else (0, 0)
            if n:
                theirs = self._opponent.results[name]
                yield passes / n - theirs.c / theirs.n


def _alone(names: Sequence[str]) -> bool:
    return len(names) == 1
