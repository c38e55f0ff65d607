"""A comparison that was looked at after every problem, in words: for terminal, page, files and methods."""

from __future__ import annotations

from truegrade.analysis.anytime import Saving, SequentialPairing
from truegrade.analysis.comparison import Comparison, RunPairing
from truegrade.report import format as fmt
from truegrade.report.exhibits import Cell, Exhibit, PointsInterval
from truegrade.report.markup import Child, el
from truegrade.report.page_parts import section, table
from truegrade.statistics.sequential import Look

MEANING = (
    "An ordinary p-value holds for one look at a number of problems fixed before. E is the capital of a bet that"
    " the two runs differ. It starts at 1 and is fair if they do not: then it ever reaches 20 with a probability"
    " of at most 1/20, so one may look after every problem and stop. The intervals hold at all looks at once, and"
    " are wider for it."
)


def sequential_facts(pair: RunPairing) -> list[tuple[str, str]]:
    """Name and value, for the terminal; none where it was not asked for."""
    found = pair.sequential
    if found is None:
        return []
    end = found.test.end
    return [
        ("E", f"{evidence(found)}; {found.test.method}"),
        ("p, at any time", fmt.p_value(found.test.p_value, digits=3)),
        ("decided", decided(pair, found)),
        ("at the end", f"{_interval(end)} points on problems like these, at every look at once"),
        *([("saved", saved(found.saved))] if found.saved else []),
        ("order", assumed(found)),
    ]


def evidence(found: SequentialPairing) -> str:
    """The largest E, and the one that was needed."""
    return f"{found.test.e:.3g} (decided at {1 / found.test.alpha:.4g})"


def decided(pair: RunPairing, found: SequentialPairing) -> str:
    """At which problem, for whom, and what was known then."""
    test = found.test
    if test.decision is None:
        return f"no, after {fmt.count(test.end.problems)} of {fmt.plural(test.problems, 'problem')}"
    better = pair.second if test.second_better else pair.first
    return f"at problem {fmt.count(test.decision.problems)} of {fmt.count(test.problems)}: {better} is better"


def saved(saving: Saving) -> str:
    """What the second run would not have had to ask."""
    said = fmt.plural(saving.problems, "problem")
    if saving.tokens is not None:
        said += f", {fmt.count(saving.tokens)} tokens"
    return said + (f", {fmt.usd(saving.cost_usd)}" if saving.cost_usd is not None else "")


def assumed(found: SequentialPairing) -> str:
    """What it rests on."""
    said = f"problems ordered by seed {found.order_seed}, which must be chosen before anything is seen"
    if found.unfinished:
        said += (
            f"; {' and '.join(found.unfinished)} unfinished: problems without a graded reply are passed over, and"
            " which were asked must not depend on results"
        )
    return said


def _interval(look: Look) -> str:
    return f"{fmt.points(look.difference)} {fmt.bounds(look.low, look.high)}"


def sequential_section(comparison: Comparison) -> Child:
    """The section of the page; nothing where it was not asked for."""
    rows: list[list[Child]] = []
    for pair in comparison.pairs:
        found = pair.sequential
        if found is not None:
            at = found.test.decision
            rows.append(
                [
                    f"{pair.second} − {pair.first}",
                    evidence(found),
                    fmt.p_value(found.test.p_value, digits=3),
                    decided(pair, found),
                    "–" if at is None else f"{fmt.points(at.difference)} {_benchmark(at)}",
                    _interval(found.test.end),
                    saved(found.saved) if found.saved else "–",
                ]
            )
    if not rows:
        return None
    first = next(pair.sequential for pair in comparison.pairs if pair.sequential)
    confidence = f"{100 * (1 - first.test.alpha):g} %"
    head = [
        "difference", "largest E", "p, at any time", "decided", f"at the decision, this benchmark, {confidence}",
        f"at the end, problems like these, {confidence}", "second run saved",
    ]  # fmt: skip
    rests = dict.fromkeys(assumed(pair.sequential) for pair in comparison.pairs if pair.sequential)
    several = "" if len(rows) == 1 else " Not corrected for the number of comparisons."
    return section(
        "sequential",
        "Problem by problem",
        el("p", MEANING + several, class_="note"),
        table("Anytime-valid comparison", head, rows, class_="numeric"),
        el("ul", (el("li", f"Assumed: {said}.") for said in rests), class_="note"),
    )


def _benchmark(look: Look) -> str:
    return fmt.bounds(look.benchmark_low, look.benchmark_high)


def sequential_exhibit(comparison: Comparison) -> Exhibit:
    """The same as a table of a paper; without rows where it was not asked for."""
    rows: list[list[Cell]] = []
    for pair in comparison.pairs:
        if (found := pair.sequential) is not None:
            end, at = found.test.end, found.test.decision
            rows.append(
                [
                    f"{pair.second} − {pair.first}",
                    found.test.e,
                    found.test.p_value,
                    None if at is None else at.problems,
                    found.test.problems,
                    PointsInterval(100 * end.difference, 100 * end.low, 100 * end.high),
                    None if found.saved is None else found.saved.problems,
                    found.order_seed,
                ]
            )
    head = ("difference", "E", "p at any time", "decided at problem", "problems", "points", "saved", "order seed")
    return Exhibit(slug="sequential", caption="Anytime-valid comparison, problem by problem", head=head, rows=rows)


def sequential_sentence(comparison: Comparison) -> list[str]:
    """For the methods paragraph."""
    found = next((pair.sequential for pair in comparison.pairs if pair.sequential), None)
    if found is None:
        return []
    methods = dict.fromkeys(pair.sequential.test.method for pair in comparison.pairs if pair.sequential)
    said = (
        f"The runs were also compared problem by problem in the order of seed {found.order_seed} by"
        f" {' or '.join(methods)} at level {found.test.alpha:.3g} (Robbins 1970; Waudby-Smith & Ramdas 2024), with"
        " confidence sequences that hold at every look."
    )
    return [said]
