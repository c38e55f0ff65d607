"""The sentences of a comparison, shared by terminal, page and files."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from truegrade.analysis.comparison import Comparison, RunPairing, Side
from truegrade.pipeline.cautions import Caution, folded
from truegrade.report import format as fmt
from truegrade.report import wording
from truegrade.statistics.windows import described


def title(pair: RunPairing) -> str:
    """``after − before``."""
    return f"{pair.second} − {pair.first}"


def forced(comparison: Comparison) -> list[str]:
    """Why pairs are not comparable, each reason once; empty unless the comparison was forced."""
    return list(dict.fromkeys(sentence for pair in comparison.pairs for sentence in pair.obstacles))


def noted(comparison: Comparison) -> list[str]:
    """What else differs, with the pair it holds for where there are several; then the warnings of the runs."""
    several = len(comparison.pairs) > 1
    differing = [
        f"{title(pair)}: {sentence}" if several else sentence
        for pair in comparison.pairs
        for sentence in pair.remarks
    ]
    own = folded({side.label: _bare(side.warnings) for side in comparison.sides})
    return [*differing, *(one.line for one in own)]


def _bare(warnings: Sequence[Caution]) -> list[Caution]:
    """Warnings of one side, without the profiles that they hold for."""
    return [msgspec.structs.replace(one, profiles=()) for one in warnings]


def outcomes(comparison: Comparison) -> tuple[str, str]:
    """As `truegrade.report.wording.outcomes`."""
    return wording.outcomes(same_replies=comparison.same_replies)


def correction(comparison: Comparison) -> str | None:
    """How the p-values were corrected; None for a single pair."""
    if comparison.correction is None:
        return None
    return (
        f"p-values are corrected for {fmt.plural(len(comparison.pairs), 'comparison')} ({comparison.correction});"
        " the intervals are not corrected"
    )


def scope(comparison: Comparison) -> str:
    """What is compared, in one line."""
    names = [side.label for side in comparison.sides]
    if comparison.baseline is None:
        return f"all pairs of {', '.join(names)}"
    others = [name for name in names if name != comparison.baseline]
    return f"{', '.join(others)} against {comparison.baseline}"


def sentences(comparison: Comparison) -> list[str]:
    """The methods paragraph."""
    first, draws = comparison.pairs[0].paired, comparison.pairs[0].bootstrap
    tests = (
        "sign flips of clusters (Fisher 1935), or the score test where its p is larger"
        if p.paired.mcnemar_p is None
        else "McNemar's exact test (McNemar 1947)"
        for p in comparison.pairs
    )
    paired = (
        "paired by problem: a difference is the mean share of correct samples of the second run minus that"
        " of the first"
    )
    shown = f"{fmt.count(draws.draws)} draws, seed {draws.seed}"
    sources = f"{first.method} (Tango 1998; Miller 2024, arXiv 2411.00640)"
    said = [
        f"The comparison is {scope(comparison)}, {paired}, over the problems that both runs answered.",
        f"{100 * first.confidence:g} % confidence intervals: {sources}.",
        f"A percentile bootstrap of whole clusters ({shown}) is given for comparison.",
        f"p-values are two-sided: {' or '.join(dict.fromkeys(tests))}.",
    ]
    if comparison.correction is not None:
        several = fmt.plural(len(comparison.pairs), "comparison")
        said.append(f"They are corrected for {several} by Holm's method (Holm 1979).")
        said.append("Intervals and the metrics of execution reasoning are not corrected.")
    powers = [pair.power for pair in comparison.pairs if pair.power is not None]
    for method in dict.fromkeys(power.method for power in powers):
        chance, level = f"{100 * powers[0].power:g} %", f"{100 * powers[0].alpha:g} %"
        said.append(
            f"The minimum detectable difference is given at {chance} power and a significance level of"
            f" {level} ({method})."
        )
    return [*said, *map(_described, comparison.sides)]


def _described(side: Side) -> str:
    rule = f"prompt by {side.prompt_rule}" if side.prompt_rule else "imported"
    each = fmt.plural(side.samples_per_task, "sample")
    window = f" ({described(side.window)})" if side.window else ""
    named = side.model if side.label == side.model else f"{side.label}: {side.model}"
    return (
        f"{named} on {side.benchmark} (data set SHA-256 {side.dataset_sha256[:16]}…),"
        f" {fmt.plural(len(side.tasks), 'problem')}{window}, {each} per problem, {rule}, graded under"
        f" {side.profile}, {side.created[:10]}."
    )
