"""From what graders said to what is concluded of them: rates by class with intervals, channels, findings."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, partial
from math import fsum
from types import MappingProxyType
from typing import get_args

from msgspec import structs

from truegrade.apps.assay import causes, paying
from truegrade.apps.assay.acceptance import (
    NATURAL,
    REFERENCE,
    Acceptance,
    GraderVerdicts,
    counted_class,
    is_undecided,
    left_out,
    look_at_channels,
    problem_counts,
    settle,
)
from truegrade.apps.assay.batch_faults import accepts, measure_batches
from truegrade.apps.assay.batches import BatchSaid
from truegrade.apps.assay.measures import AcceptedShare, GraderMeasure, MeasuredValue, ProblemMeasure
from truegrade.apps.assay.records import BY_CONSTRUCTION, CODES, AssayFinding, Probe, ProbeClass, Said
from truegrade.apps.assay.targets.calls import NOT_PUT
from truegrade.apps.assay.turns import measure_turns, turns_in_words
from truegrade.grading.tests_forms import other_form
from truegrade.kinds import kind_of
from truegrade.records import Problem
from truegrade.report import format as fmt
from truegrade.statistics import error_rates
from truegrade.statistics.claims import holm
from truegrade.statistics.intervals import binomial_tail, clopper_pearson
from truegrade.statistics.ratios import Ratios
from truegrade.statistics.summaries import shrunken_shares

BASE_RATES = ("0.5", "0.1")
"""Shares of right programs at which the worth of an accepted one is told."""
DOUBTFUL_FPR = 0.2
VACUOUS_FPR = 0.5
LEAST_STUBS = 3
"""Stubs that return a value and are all accepted, from which on a problem is said to accept anything."""
SHOWN = 20
"""Ids that a finding of a whole grader names."""

_UNPUT = NOT_PUT.rstrip(":")
NOTHING: Mapping[str, bool] = MappingProxyType({})
NO_BATCHES: Mapping[str, Sequence[BatchSaid]] = MappingProxyType({})

_CLASSES: tuple[ProbeClass, ...] = get_args(ProbeClass)
_WRONG: tuple[ProbeClass, ...] = (*NATURAL, "stub")


def measure(
    probes: Sequence[Probe],
    said: Iterable[Said],
    problems: Mapping[str, Problem],
    *,
    confidence: float = 0.95,
    pass_at: float | None = None,
    graders: Sequence[str] = (),
    own: Mapping[str, bool] = NOTHING,
    one_at_a_time: Collection[str] = (),
    batches: Mapping[str, Sequence[BatchSaid]] = NO_BATCHES,
) -> tuple[tuple[GraderMeasure, ...], list[AssayFinding]]:
    """Measure every grader on every benchmark that it was sent probes of.

    Equal rows give equal results in whatever order they come.

    Args:
        probes: the whole battery, those not sent included.
        said: rows of all graders, read once; of probes that are not in the battery, none counts.
        problems: by the `Probe.problem_id` of every probe.
        confidence: of all intervals, strictly between 0 and 1.
        pass_at: the score from which on a program is accepted; None for the score that the reference gets.
        graders: in whose order the measures come; graders that are not named here follow, sorted by name.
        own: id of an accepted program to whether the problem's own tests accept it under ``strict``.
        one_at_a_time: graders of replies.
        batches: grader to what it said of batches.
    """
    by_benchmark: dict[str, list[Probe]] = defaultdict(list)
    for probe in sorted(probes, key=lambda probe: probe.id):
        by_benchmark[problems[probe.problem_id].benchmark].append(probe)
    measures: list[GraderMeasure] = []
    findings: list[AssayFinding] = []
    settled = settle(said)
    for grader in dict.fromkeys((*(name for name in graders if name in settled), *settled)):
        verdicts = settled[grader]
        for benchmark, battery in sorted(by_benchmark.items()):
            if any(probe.id in verdicts.given for probe in battery):
                rows = [
                    row for row in batches.get(grader, ()) if problems.get(row.items[0].problem_id) is not None
                ]
                rows = [row for row in rows if problems[row.items[0].problem_id].benchmark == benchmark]
                one = _GraderOnBenchmark(grader, battery, verdicts, problems, confidence, pass_at, own, rows)
                measured = one.measure(benchmark)
                alone = grader in one_at_a_time and not (measured.batches and measured.batches.at_once)
                measures.append(
                    structs.replace(
                        measured,
                        forgeable=None if measured.unknown and not measured.forgeable else measured.forgeable,
                        one_at_a_time=alone,
                    )
                )
                findings += one.findings()
    return tuple(measures), findings


class _GraderOnBenchmark:
    """One grader's verdicts on the probes of one benchmark, sorted by id."""

    def __init__(
        self,
        grader: str,
        probes: Sequence[Probe],
        verdicts: GraderVerdicts,
        problems: Mapping[str, Problem],
        confidence: float,
        pass_at: float | None,
        own: Mapping[str, bool],
        batches: Sequence[BatchSaid],
    ) -> None:
        self._grader, self._probes, self._verdicts = grader, probes, verdicts
        self._problems, self._confidence, self._own = problems, confidence, own
        self._acceptance = Acceptance(probes, verdicts, pass_at)
        self._channels, self._steadiness = look_at_channels(probes, self._acceptance)
        self._unearned = paying.UnearnedPrograms(probes, self._acceptance, own)
        self._another = causes.judged_by_another(probes, self._acceptance, self._steadiness.explains)
        references = {
            one.problem_id: one for one in reversed(probes) if one.kind == "right" and one.origin == REFERENCE
        }
        explains = self._steadiness.explains
        found = measure_batches(batches, self._acceptance, references, explains)
        self._chance = causes.decided_by_chance(probes, self._acceptance)
        if self._another is not None or (found is not None and found.cause):
            self._chance = None
        if self._chance is not None:
            found = measure_batches(batches, self._acceptance, references, lambda flips, of: True)
        self._batches = found
        turns = measure_turns(
            batches, lambda one, score: accepts(self._acceptance, references[one.problem_id], score)
        )
        # Where what came before decides, these replies tell of their messages only if one of these explains all.
        apart = self._another is None and not (self._batches is not None and self._batches.flipped)
        self._turns = turns if apart or (turns is not None and turns.cause) else None
        self._members: dict[ProbeClass, list[Probe]] = defaultdict(list)
        """Probes by the class that they are counted in."""
        for probe in probes:
            kind = counted_class(probe)
            if kind is not None and not left_out(kind, probe, self._acceptance.refused):
                self._members[kind].append(probe)
        self._natural = self._counts(("right", *NATURAL))
        flaky = verdicts.flaky
        self._flaky = tuple(probe.id for probe in probes if probe.id in flaky)

    def _counts(
        self, kinds: Sequence[ProbeClass], of: Callable[[Probe], bool] = lambda _: True
    ) -> list[error_rates.GraderCount]:
        probes = [probe for kind in kinds for probe in self._members.get(kind, ()) if of(probe)]
        return problem_counts(probes, self._acceptance, lambda problem: self._problems[problem].cluster, kinds)

    def measure(self, benchmark: str) -> GraderMeasure:
        """All figures of a summary."""
        counts, confidence = self._natural, self._confidence
        ratios = error_rates.error_ratios(counts, confidence=confidence)
        channels = tuple(record.measure() for record in self._channels)
        shares = tuple(self._share(kind, self._members[kind]) for kind in _CLASSES if kind in self._members)
        right = next((share for share in shares if share.kind == "right" and share.probes), None)
        best, unearned = self._unearned.best_cheat(), self._unearned.measure(self._steadiness)
        judged = [probe for probe in self._probes if self._acceptance.accepted(probe) is not None]
        unanswered = self._silent()

        def of(span: Callable[[Ratios], error_rates.RateSpan | None]) -> MeasuredValue:
            return MeasuredValue.of(None if ratios is None else span(ratios))

        return GraderMeasure(
            grader=self._grader,
            benchmark=benchmark,
            problems=len({probe.problem_id for probe in judged}),
            probes=len(judged),
            shares=shares,
            fpr=MeasuredValue.of(error_rates.accepted_span(counts, confidence=confidence)),
            j=of(error_rates.j_span),
            j_bootstrap=of(error_rates.j_bootstrap_span),
            j_adversarial=float(Fraction(right.accepted, right.probes) - best[1]) if right and best else None,
            best_cheat=best[0] if best and best[1] else "",
            forgeable=unearned.all_paid > 0 or (self._batches is not None and self._batches.paid > 0),
            batches=self._batches,
            turns=self._turns,
            wrong_above_right=self._above.sentence if self._above else "",
            unearned=unearned,
            open_channels=tuple(channel.channel for channel in channels if channel.open),
            differences={
                kind: (len(of.accepted), of.number)
                for kind, of in paying.by_difference(self._probes, self._acceptance).items()
            },
            overlooks=tuple(said for _, said, _ in self._overlooks()),
            causes=tuple(cause.sentence for cause in self._causes()),
            shortest=tuple(
                paying.shortest_paid(
                    self._channels,
                    self._overlooks(),
                    self._unearned.all_paid(),
                    self._unearned.loose(self._steadiness),
                    self._acceptance,
                    self._causes(),
                )
            ),
            ppv={rate: of(partial(error_rates.ppv_span, base_rate=float(rate))) for rate in BASE_RATES},
            per_problem=tuple(_per_problem(counts, self._all_problems(counts), confidence)),
            channels=channels,
            operators=self._operators(),
            forms=paying.accepted_by_form(self._probes, self._acceptance),
            pay=paying.pay_by_share(self._probes, self._acceptance),
            pays_in_part=paying.pays_in_part(self._probes, self._acceptance),
            with_bonus=self._acceptance.with_bonus,
            nearly=paying.nearly_accepted(self._probes, self._acceptance),
            flaky=self._flaky,
            flips=self._steadiness.measure(confidence),
            references_refused=len(self._acceptance.refused),
            unanswered={code: len(found) for code, found in sorted(unanswered.items())},
            left_out=len(
                {probe.problem_id for probe in unanswered.get(_UNPUT, ())} - {p.problem_id for p in judged}
            ),
        )

    def _all_problems(self, counts: Sequence[error_rates.GraderCount]) -> dict[str, int]:
        """Undecided probes of natural classes by problem, accepted or not."""
        known = {count.problem_id for count in counts}
        return Counter(
            probe.problem_id
            for probe in self._probes
            if probe.label == "undecided"
            and probe.kind in NATURAL
            and probe.problem_id in known
            and self._acceptance.accepted(probe) is not None
        )

    def _share(self, kind: ProbeClass, members: Sequence[Probe]) -> AcceptedShare:
        right = kind == "right"
        counts = self._counts((kind,))
        span = error_rates.accepted_span(counts, right=right, confidence=self._confidence)
        rows = [
            (each.right, each.right_accepted) if right else (each.wrong, each.wrong_accepted) for each in counts
        ]
        probes, accepted = sum(n for n, _ in rows), sum(k for _, k in rows)
        open_ones = [probe for probe in members if is_undecided(kind, probe)]
        answers = [self._acceptance.accepted(probe) for probe in open_ones]
        also = answers.count(True)
        scores = [self._acceptance.score(probe) for probe in members if not is_undecided(kind, probe)]
        given = [score for score in scores if score is not None]
        value = MeasuredValue.of(span)
        return AcceptedShare(
            kind=kind,
            accepted=accepted,
            probes=probes,
            value=value.value,
            upper=(accepted + also) / (probes + also) if probes else None,
            low=value.low,
            high=value.high,
            mean_of_problems=fsum(k / n for n, k in rows if n) / sum(n > 0 for n, _ in rows) if probes else None,
            undecided=len(answers) - answers.count(None),
            undecided_accepted=also,
            problems=sum(n > 0 for n, _ in rows),
            problems_hit=sum(k < n if right else k > 0 for n, k in rows),
            no_verdict=sum(not self._why(probe).startswith(NOT_PUT) for probe in self._unanswered(members)),
            mean_score=fsum(given) / len(given) if given else None,
            method=value.method,
        )

    def _unanswered(self, probes: Iterable[Probe]) -> list[Probe]:
        """Those that were sent and got no verdict."""
        return [
            probe for probe in probes if self._acceptance.sent(probe) and self._acceptance.accepted(probe) is None
        ]

    def _why(self, probe: Probe) -> str:
        """Why a probe got no verdict."""
        return self._verdicts.why[probe.id]

    def _silent(self) -> dict[str, list[Probe]]:
        """Those of all probes by the code of the finding that says so."""
        silent: dict[str, list[Probe]] = defaultdict(list)
        for probe in self._unanswered(self._probes):
            code = self._why(probe).partition(":")[0]
            silent[code if code in CODES else "no_verdict"].append(probe)
        return silent

    def _operators(self) -> dict[str, tuple[int, int]]:
        """Mutants by operator, changed outputs by kind: accepted, and proven wrong."""
        tally: dict[str, list[bool]] = defaultdict(list)
        for probe in self._probes:
            accepted = self._acceptance.accepted(probe)
            counts = probe.kind in ("mutant", "output") and probe.label == "wrong" and accepted is not None
            if counts and probe.problem_id not in self._acceptance.refused:
                tally[probe.origin].append(accepted is True)
        return {origin: (sum(found), len(found)) for origin, found in sorted(tally.items())}

    @cached_property
    def _kinds_overlooked(self) -> list[tuple[str, str, list[Probe]]]:
        kinds = paying.by_difference(self._not_right, self._acceptance)
        found = list(paying.overlooked(kinds, self._steadiness.explains))
        if (nothing := paying.tells_nothing(self._not_right, self._acceptance)) is None:
            return found
        return [nothing, *(one for one in found if one[0] in paying.MADE_APART)]

    @cached_property
    def _not_right(self) -> list[Probe]:
        """All but programs that the problem's own tests accept."""
        return [probe for probe in self._probes if self._own.get(probe.id) is not True]

    @cached_property
    def _text(self) -> causes.Cause | None:
        """What of the text decides, unless an open channel or one kind of difference says as much of all."""
        if self._another is not None or any(record.open_by for record in self._channels):
            return None
        text = causes.decided_by_text(self._not_right, self._acceptance)
        paid = {probe.id for probe in text.programs if paying.difference(probe)} if text is not None else set()
        told = any(
            paid <= {probe.id for probe in programs} and sentence.startswith("accepts every program")
            for _, sentence, programs in self._kinds_overlooked
        )
        return None if told else text

    def _overlooks(self) -> list[tuple[str, str, list[Probe]]]:
        """What the grader does not see; a program that the problem's own tests accept says nothing of that.

        Nothing is said of it where the verdict on one program decides that on the next; where that is so of some,
        nothing but what programs were made to tell.
        """
        if (self._another is not None and self._another.blurs) or self._text is not None:
            return []
        if self._chance is not None:
            return []
        if self._batches is not None and self._batches.paid:
            return [one for one in self._kinds_overlooked if one[0] in paying.MADE_APART]
        return self._kinds_overlooked

    def _causes(self) -> list[causes.Cause]:
        """What decides verdicts in place of the program, and what right programs are refused for."""
        explains = self._steadiness.explains
        refused: list[causes.Cause | None] = [
            *causes.misread(causes.refused_kinds(self._probes, self._acceptance), explains)
        ]
        text = causes.refused_by_text(self._probes, self._acceptance) if len(refused) > 1 else None
        refused = [text] if text is not None else refused  # kinds that have one thing in common
        return [one for one in (self._another, self._chance, self._text, *refused) if one is not None]

    @cached_property
    def _above(self) -> causes.Cause | None:
        return causes.wrong_above_right(self._not_right, self._acceptance)

    def findings(self) -> list[AssayFinding]:
        """Everything worth a person's time, sorted by code and problem."""
        found = [*self._of_probes(), *self._of_channels(), *self._of_grader(), *self._of_problems()]
        return sorted(found, key=lambda finding: (finding.code, finding.problem_id, finding.probes))

    def _finding(self, code: str, sentence: str, probes: Iterable[str] = (), problem: str = "") -> AssayFinding:
        return AssayFinding(
            code=code, grader=self._grader, problem_id=problem, probes=tuple(probes), sentence=sentence
        )

    def _of_probes(self) -> Iterable[AssayFinding]:
        """Right programs refused, impossible tests passed."""
        for problem, reference in sorted(self._acceptance.refused.items()):
            said = f"{problem}: the reference is refused; the problem's wrong programs are left out"
            yield self._finding("reference_refused", said, [reference], problem)
        passed: dict[tuple[str, str], list[str]] = defaultdict(list)
        for probe in self._probes:
            accepted, problem = self._acceptance.accepted(probe), probe.problem_id
            if probe.kind == "must-fail" and self._unearned.paid(probe):
                passed[problem, probe.tests].append(probe.id)
            elif counted_class(probe) == "right" and accepted is False and probe.origin != REFERENCE:
                said = f"{problem}: a right program is refused ({probe.origin})"
                yield self._finding("right_refused", said, [probe.id], problem)
        for (problem, tests), ids in sorted(passed.items()):
            said = f"{problem}: a program passes tests that contradict themselves or the reference ({tests})"
            yield self._finding("must_fail_accepted", said, ids, problem)

    def _of_channels(self) -> Iterable[AssayFinding]:
        for record in self._channels:
            for code, cheats, said in (
                ("channel_open", record.open_by, "accepted, and refused with the hook cut"),
                ("stub_like_cheat", record.stub_like, "accepted, with the hook cut as well"),
                ("cheat_stays", record.staying, "changed the verdict on the program graded next"),
            ):
                if cheats:
                    sentence = f"channel {record.channel}: {fmt.plural(len(cheats), 'cheat')} {said}"
                    yield self._finding(code, sentence, [probe.id for probe in cheats])

    def _of_grader(self) -> Iterable[AssayFinding]:
        flips, unearned = self._steadiness.measure(self._confidence), self._unearned.measure(self._steadiness)
        loose = f"{unearned.loose} of {unearned.natural} wrong programs are accepted that the tests refuse"
        differ = f"{flips.flips} of {flips.sends} verdicts on honest programs differ from the program's usual one"
        paid = f"{paying.paid_in_words(unearned)}; the shortest is named"
        batches, turns = paying.batches_in_words(self._batches), turns_in_words(self._turns)
        for found, code, said, ids in (
            (flips.flips or self._flaky, "flaky_verdict", differ, self._flaky[:SHOWN]),
            (unearned.all_paid, "paid_without_solving", paid, (unearned.shortest,)),
            (unearned.weak, "weak_tests", paying.weak_in_words(unearned), ()),
            *((True, "overlooks_difference", said, ()) for _, said, _ in self._overlooks()),
            *(
                (True, one.code, one.sentence, [each.id for each in one.programs[:SHOWN]])
                for one in (*self._causes(), *filter(None, [self._above]))
            ),
            (unearned.loose, "looser_than_tests", loose, ()),
            (batches, "depends_on_batch", batches, ()),
            (turns, "reads_other_messages", turns, ()),
        ):
            if found:
                yield self._finding(code, said, ids)
        for code, probes in self._silent().items():
            why = min(map(self._why, probes)).partition(f"{code}: ")
            example = why[2] or why[0]
            said = f"{fmt.plural(len(probes), 'program')} got no verdict" + (f": {example}" if example else "")
            if code == _UNPUT:
                names = dict.fromkeys(probe.problem_id for probe in probes)
                tasks = [self._problems[name].task for name in names]
                cure = other_form([kind_of(task).tests(task) for task in tasks])
                said = (
                    f"{fmt.plural(len(names), 'problem')} left out ({fmt.plural(len(probes), 'program')}), such as"
                    f" {example}{f'; {cure}' if cure else ''}"
                )
            yield self._finding(code, said, [probe.id for probe in probes[:SHOWN]])

    def _of_problems(self) -> Iterable[AssayFinding]:
        """Problems at which nearly everything passes, stubs among the evidence."""
        counts = [count for count in self._counts(_WRONG, _is_asked) if count.wrong]
        tails = [binomial_tail(count.wrong_accepted, count.wrong, VACUOUS_FPR) for count in counts]
        for count, p in zip(counts, holm(tails), strict=True):
            told = f"{count.problem_id}: {count.wrong_accepted} of {count.wrong} wrong programs are accepted"
            if p < (1 - self._confidence) / 2:
                yield self._finding("vacuous_comparison", told, problem=count.problem_id)
        stubs: dict[str, dict[str, bool]] = defaultdict(dict)
        for probe in self._probes:
            accepted = self._acceptance.accepted(probe)
            returns = probe.witness is None or not probe.witness.got.startswith("raises")
            stub = probe.kind == "stub" and probe.label == "wrong" and _is_asked(probe)
            if stub and returns and accepted is not None:
                stubs[probe.problem_id][probe.id] = accepted
        for problem, ids in stubs.items():
            if len(ids) >= LEAST_STUBS and all(ids.values()):
                said = f"{problem}: every stub that returns a value is accepted ({len(ids)} of them)"
                yield self._finding("accepts_anything", said, list(ids), problem)


def _is_asked(probe: Probe) -> bool:
    """Whether it was seen to answer a call of the problem; stubs that end in no call give no answer."""
    return probe.kind != "stub" or probe.witness is None or probe.witness.source != BY_CONSTRUCTION


def _per_problem(
    counts: Sequence[error_rates.GraderCount], undecided: Mapping[str, int], confidence: float
) -> Iterable[ProblemMeasure]:
    """Every problem with its exact interval; Holm's correction is over all of them."""
    shrunken = shrunken_shares([each.wrong_accepted for each in counts], [each.wrong for each in counts])
    tails = [
        binomial_tail(each.wrong_accepted, each.wrong, DOUBTFUL_FPR) if each.wrong else 1.0 for each in counts
    ]
    for count, mean, p in zip(counts, shrunken, holm(tails), strict=True):
        wrong, accepted, also = count.wrong, count.wrong_accepted, count.undecided_accepted
        yield ProblemMeasure(
            problem_id=count.problem_id,
            right=count.right,
            right_accepted=count.right_accepted,
            wrong=wrong,
            wrong_accepted=accepted,
            undecided=undecided.get(count.problem_id, 0),
            undecided_accepted=also,
            fpr_low=clopper_pearson(accepted, wrong, confidence)[0] if wrong else None,
            fpr_high=clopper_pearson(accepted + also, wrong + also, confidence)[1] if wrong else None,
            fpr_shrunken=mean,
            doubtful=p < 1 - confidence,
            j=count.right_accepted / count.right - accepted / wrong if count.right and wrong else None,
        )
