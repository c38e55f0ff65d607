"""Checks of the samples: truncation, number per problem, duplicates, exchangeability."""

from __future__ import annotations

from collections.abc import Iterator

from truegrade.analysis.audit.evidence import Evidence
from truegrade.analysis.audit.findings import Finding, Severity, finding
from truegrade.analysis.audit.survey import label
from truegrade.pipeline.sample_cautions import aligned, repeated_samples, samples_named
from truegrade.pipeline.verdict_table import counted
from truegrade.records import SampleKey
from truegrade.statistics import exchangeability


def check_samples(evidence: Evidence) -> Iterator[Finding]:
    """Truncation, uneven numbers, repeated texts, positions that differ."""
    yield from _truncated(evidence)
    if evidence.survey.width > 1:
        yield from _uneven(evidence)
        yield from _repeated_positions(evidence)
        yield from _identical(evidence)
        yield from _positions(evidence)


def _truncated(evidence: Evidence) -> Iterator[Finding]:
    several = evidence.survey.width > 1
    rows, limited, failed = [], 0, 0
    for problem_id, facts in evidence.survey.samples.items():
        for sample, fact in facts.items():
            if not (fact.limited or fact.inside):
                continue
            rows.append(label(SampleKey(problem_id, sample), several))
            limited += fact.limited
            outcome = evidence.outcome(problem_id, sample)
            failed += outcome is not None and not outcome.passed
    if rows:
        yield finding(
            "truncated",
            Severity.WARNING,
            rows,
            f"{len(rows)} texts are cut: {limited} according to finish_reason,"
            f" {len(rows) - limited} end inside a statement; {failed} of them fail, possibly because of the"
            " cut",
        )


def _uneven(evidence: Evidence) -> Iterator[Finding]:
    width = evidence.survey.width
    short = [task for task, facts in evidence.survey.samples.items() if len(facts) < width]
    if short:
        yield finding(
            "samples-uneven",
            Severity.WARNING,
            short,
            f"{len(short)} of the file's {len(evidence.survey.samples)} problems have fewer than {width} samples;"
            " any-of-N favours the others",
        )


def _repeated_positions(evidence: Evidence) -> Iterator[Finding]:
    """A position whose text equals an earlier one's in every problem was not sampled."""
    texts = ({number: fact.sha256 for number, fact in facts.items()} for facts in evidence.survey.samples.values())
    repeated, whole = repeated_samples(texts)
    for first, seconds in repeated.items():
        yield finding(
            "position-repeated",
            Severity.ERROR,
            list(evidence.survey.samples),
            f"{samples_named(first, seconds)} for all {whole} problems: the same answers are counted again",
        )


def _identical(evidence: Evidence) -> Iterator[Finding]:
    """Problems whose samples are all equal: greedy decoding, a cache, copied rows or a confident model."""
    several = [task for task, facts in evidence.survey.samples.items() if len(facts) > 1]
    same = [task for task in several if len(set(evidence.survey.texts(task))) == 1]
    if same:
        share = len(same) / len(several)
        yield finding(
            "samples-identical",
            Severity.WARNING if share >= 0.5 else Severity.INFO,
            same,
            f"{len(same)} of {len(several)} problems have identical samples; possible causes are greedy"
            " decoding, a"
            " cache, copied rows or a confident model",
        )


def _positions(evidence: Evidence) -> Iterator[Finding]:
    judged = ({o.sample: o.passed for o in counted(samples)} for samples in evidence.outcomes.values())
    order = exchangeability(aligned(judged)[1])
    sentence = order.warning() if order is not None else None
    if order is not None and sentence is not None:
        rates = ", ".join(f"{100 * rate:.1f}" for rate in order.rates)
        yield finding(
            "not-exchangeable", Severity.WARNING, list(evidence.outcomes), f"{sentence} (by position: {rates} %)"
        )
