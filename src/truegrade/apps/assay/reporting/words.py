"""What the terminal and the page say alike: classes of probes, numbers, sentences for a newcomer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from truegrade.apps.assay.measures import AcceptedShare, GraderMeasure, MeasuredValue, ShortestPaid
from truegrade.apps.assay.paying import batches_in_words, paid_in_words, weak_in_words
from truegrade.apps.assay.turns import turns_in_words
from truegrade.report import format as fmt
from truegrade.report.document import Cell, Worded
from truegrade.statistics.error_rates import rogan_gladen

_CLASSES = {
    "right": ("right", "references, rewritings of the same meaning, accepted submissions"),
    "mutant": ("mutants", "the reference with one small error"),
    "labelled": ("labelled", "submissions that a data set labels wrong"),
    "reply": ("replies", "models' replies that the oracle proves wrong"),
    "output": (
        "outputs",
        "the reference with its output changed: another order, a part, near, another type, one test",
    ),
    "stub": ("stubs", "programs that do not try: a constant, an echo of the argument, nothing at all"),
    "cheat": ("cheats", "programs that compute nothing and reach for the verdict"),
    "must-fail": ("must-fail", "honest programs before tests that were made impossible to pass"),
}
NAMES: Mapping[str, str] = MappingProxyType({kind: name for kind, (name, _) in _CLASSES.items()})
"""Class of probe -> name of its row."""
MADE: Mapping[str, str] = MappingProxyType({kind: made for kind, (_, made) in _CLASSES.items()})
"""Class of probe -> what its programs are."""


def title(measure: GraderMeasure) -> str:
    """Benchmark, grader and size: ``mbpp, graded by strict · 373 problems · 4,110 probes``."""
    return (
        f"{measure.benchmark}, graded by {measure.grader} · {fmt.plural(measure.problems, 'problem')}"
        f" · {fmt.plural(measure.probes, 'probe')}"
    )


def share_with_interval(share: AcceptedShare | MeasuredValue | None, *, starred: bool = False) -> Cell:
    """``11.8 % [10.1, 19.0] *``; the star where accepted undecided probes widen the interval."""
    if share is None or share.value is None:
        return None
    shown = f"{fmt.percent(share.value)} {fmt.bounds(share.low, share.high)}{' *' if starred else ''}"
    return Worded(share.value, shown, share.low, share.high)


def wrong(share: AcceptedShare) -> str:
    """What counts as an error in a class."""
    if share.kind == "right":
        return "an error: refused"
    return "an error: paid though impossible" if share.kind == "must-fail" else "an error: accepted"


def rate(value: float | None) -> str:
    """A share in percent; a dash where there is none."""
    return "–" if value is None else fmt.percent(value)


def unit(value: float | None) -> str:
    """J with three decimals."""
    return "–" if value is None else f"{value + 0.0:.3f}"


def unit_interval(value: MeasuredValue) -> str:
    """``0.876 [0.80, 0.89]``."""
    if value.value is None:
        return "not measured"
    if value.low is None or value.high is None:
        return f"{unit(value.value)} [no interval]"
    return f"{unit(value.value)} [{value.low + 0.0:.2f}, {value.high + 0.0:.2f}]"


def listed(title: str, parts: Iterable[str], by: str = ", ") -> str:
    """``title: one, two``, or the parts alone without a title; empty without any part."""
    said = by.join(filter(None, parts))
    return f"{title}: {said}" if said and title else said


QUESTION = "CAN BE PAID WITHOUT SOLVING"


def answer(measure: GraderMeasure) -> str:
    """Whether a program is paid that solves nothing: ``yes, 2 of 7 channels (equality, exit-status)``.

    "No" says how much was tried. It is not said of a grader that accepts no reference, or was sent no cheat.
    """
    alone = "replies were sent one at a time" if measure.one_at_a_time else ""
    once = "" if measure.forgeable and measure.unearned.all_paid else _paid_once(measure)
    above = f"it {measure.wrong_above_right}" if measure.wrong_above_right else ""
    batches = batches_in_words(measure.batches) if measure.forgeable else _in_batches(measure)
    return "; ".join(filter(None, (_answer(measure), once, above, alone, batches, turns_in_words(measure.turns))))


def _paid_once(measure: GraderMeasure) -> str:
    """How many programs that solve nothing were paid before a fresh grader refused them; empty of none."""
    paid = measure.unearned.once
    programs = f"{fmt.plural(paid, 'program')} {'was' if paid == 1 else 'were'}"
    return f"{programs} paid at first, and mostly not again" if paid else ""


def _in_batches(measure: GraderMeasure) -> str:
    """What batches changed, or over which ones nothing did; empty of a grader that is called with single replies
    and says the same of them in another order."""
    of = measure.batches
    if of is None or batches_in_words(of) or not of.at_once:
        return "" if of is None else batches_in_words(of)
    if of.unanswered and not of.sizes[1:]:
        return f"in batches not measured: {of.why}"
    silent = f", and {of.unanswered} more got no rewards ({of.why})" if of.unanswered else ""
    sizes = f"{', '.join(map(str, of.sizes[:-1]))} and {of.sizes[-1]}"
    if of.relative:
        return f"in {of.batches} batches of {sizes} replies rewards are relative, and right ones ahead{silent}"
    changed = (
        f"{of.by_chance} of {of.right + of.wrong} verdicts, too few to tell from chance,"
        if of.by_chance
        else "no verdict"
    )
    return f"{changed} changed in {of.batches} batches of {sizes} replies{silent}"


def _answer(measure: GraderMeasure) -> str:
    sent = [channel for channel in measure.channels if channel.probes]
    through = f"{len(measure.open_channels)} of {fmt.plural(len(sent), 'channel')}"
    named = f" ({', '.join(measure.open_channels)})" if measure.open_channels else ""
    if measure.forgeable and not measure.unearned.all_paid:
        each = " each time" if measure.unearned.once else ""
        alone = f"alone 0 of {measure.unearned.all_tried} programs that solve nothing were paid{each}"
        return f"yes, beside other replies; {alone}"
    if measure.forgeable:
        stubs, cheats = (measure.unearned.by_kind.get(kind, (0, 0))[0] for kind in ("stub", "cheat"))
        by_cheats = f"{through}{named}" if measure.open_channels and cheats else ""
        # Where a constant is paid, it takes no channel.
        plain = paid_in_words(measure.unearned) if stubs or not by_cheats else ""
        return f"yes, {'; '.join(filter(None, (plain, by_cheats)))}"
    if measure.unknown:
        return f"not measured: {measure.unknown}"
    endless = "" if measure.endless else ", without programs that do not end"
    if named:  # weak tests are told apart
        return f"no: what {through} tried pays for{named}, the problems' own tests do not refuse either{endless}"
    return f"no: {through} tried, on {fmt.plural(measure.unearned.problems, 'problem')}{endless}"


def tried(measure: GraderMeasure) -> str:
    """How many programs that solve nothing were sent and how many were paid, and what was not sent."""
    paid = measure.unearned
    said = ""
    if paid.all_tried:
        said = f"{paid_in_words(paid)} ({fmt.plural(paid.kinds, 'kind')} tried)"
    elif not silent(measure):
        asked = any(share.kind in ("cheat", "stub") and share.no_verdict for share in measure.shares)
        said = f"no program that solves nothing {'got a verdict' if asked else 'was sent'}"
    unsent = listed("not sent", [each.channel for each in measure.channels if each.not_sent and not each.probes])
    return "; ".join(filter(None, (said, _paid_once(measure), unsent)))


def errors(measure: GraderMeasure) -> str:
    """``refuses 0.6 % of right programs [0.2, 1.5], pays 11.8 % of wrong ones [10.1, 19.0] *``.

    Wrong ones are mutants, labelled programs and replies; where what solves nothing is paid, that is said first.
    """
    right, fpr, parts = measure.right, measure.fpr, []
    if right is not None and right.value is not None:
        ends = (None, None) if right.low is None or right.high is None else (1 - right.high, 1 - right.low)
        parts.append(f"refuses {rate(1 - right.value)} of right programs {fmt.bounds(*ends)}")
    if fpr.value is not None:
        starred = " *" if star(measure) else ""
        ones = "wrong ones that try" if measure.forgeable else "wrong ones"
        parts.append(f"pays {rate(fpr.value)} of {ones} {fmt.bounds(fpr.low, fpr.high)}{starred}")
    return listed("apart from the programs that solve nothing" if measure.forgeable else "", parts)


def paid_cell(measure: GraderMeasure) -> str:
    """``yes, 57 of 98``: programs that solve nothing, impossible tests among them, and those that were paid."""
    if measure.forgeable is None:
        return "–"
    return f"{'yes, ' if measure.forgeable else ''}{measure.unearned.all_paid} of {measure.unearned.all_tried}"


def flips(measure: GraderMeasure) -> str:
    """How often verdicts flip; empty where none did."""
    of = measure.flips
    if not of.flips:
        return ""
    return (
        f"{rate(of.value)} {fmt.bounds(of.low, of.high)} of verdicts are not the usual one of their program"
        f" ({of.accepted_flips} of {of.accepted_sends} where it is usually accepted, {of.refused_flips} of"
        f" {of.refused_sends} where it is refused)"
    )


def differences(measure: GraderMeasure) -> str:
    """Wrong programs accepted, by how their output differs; empty where none was."""
    return listed("accepted by difference", (f"{k} {a} of {n}" for k, (a, n) in measure.differences.items() if a))


def named(one: ShortestPaid) -> str:
    """``raises for own/mean, 88 characters, paid 1``."""
    paid = "" if one.pay is None else f", paid {one.pay:.3g}"
    return f"{one.origin} for {one.problem_id}, {fmt.plural(len(one.code), 'character')}{paid}"


def weak_tests(measure: GraderMeasure) -> str:
    """Programs that solve nothing and that the problems' own tests accept; empty without any."""
    return listed("weak tests", [weak_in_words(measure.unearned)] if measure.unearned.weak else [])


def right_passes(measure: GraderMeasure) -> str:
    """``a pass is right: 0.89 at base rate 0.5, 0.48 at 0.1``; empty where no wrong program was accepted."""
    said = [f"{value.value:.2f} at {base}" for base, value in measure.ppv.items() if value.value is not None]
    said = said if measure.fpr.value else []  # every base rate would give 1
    return listed("a pass is right", said).replace(" at ", " at base rate ", 1)


def star(measure: GraderMeasure) -> str:
    """What the star means; empty without one."""
    undecided = sum(share.undecided_accepted for share in measure.shares)
    if not undecided:
        return ""
    return (
        f"* lower end: proven; upper end: {fmt.plural(undecided, 'accepted probe')} whose label is undecided"
        " counted as wrong"
    )


def silent(measure: GraderMeasure) -> str:
    """What is said of a grader that gave no verdict at all, in place of its rates; empty for every other."""
    asked = sum(share.no_verdict for share in measure.shares)
    if not asked or any(share.probes or share.undecided for share in measure.shares):
        return ""
    return f"It gave no verdict on any of {fmt.plural(asked, 'program')} sent to it: nothing is measured."


def no_verdict(measure: GraderMeasure) -> str:
    """Probes of which the grader said nothing, by class; empty without any."""
    shown = [(NAMES[of.kind], of.no_verdict) for of in measure.shares if of.no_verdict]
    reasons = {code: number for code, number in measure.unanswered.items() if code != "tests_form"}
    rest = sum(reasons.values()) - sum(number for _, number in shown)
    shown += [("controls, forms and twins", rest)] if rest > 0 else []
    why = ", ".join(f"{code} {fmt.count(number)}" for code, number in reasons.items())
    return listed("no verdict, counted in no rate", (f"{name} {fmt.count(number)}" for name, number in shown)) + (
        f" ({why})" if why and shown else ""
    )


def left_out(measure: GraderMeasure) -> str:
    """Problems of which nothing was sent; empty without any."""
    if not measure.left_out:
        return ""
    programs = fmt.plural(measure.unanswered.get("tests_form", 0), "program")
    return (
        f"left out, and in no number: {fmt.plural(measure.left_out, 'problem')} ({programs}), for its tests' form"
    )


def references_refused(measure: GraderMeasure) -> str:
    """Problems that say nothing of wrong programs, since the grader refuses even their reference."""
    if not measure.references_refused:
        return ""
    if measure.references_refused == measure.problems:
        return (
            "It refuses every reference, so nothing is measured of wrong programs: is it called as it expects,"
            " with tests in its form, and from which score on does it accept?"
        )
    problems = fmt.plural(measure.references_refused, "problem")
    return f"reference refused: {problems}, whose wrong programs are in no rate"


def pays_everything(measure: GraderMeasure) -> str:
    """What to look at first where impossible tests are passed by all and every stub is paid; empty elsewhere."""
    of = measure.unearned
    stubs, sent = of.by_kind.get("stub", (0, 0))
    if not sent or stubs < sent or not of.impossible_tried or of.impossible_paid < of.impossible_tried:
        return ""
    return (
        "It pays every stub, and everything on impossible tests: does it run the tests at all, and are they handed"
        " to it in the form that it reads?"
    )


def mean_scores(measure: GraderMeasure) -> str:
    """What a grader with numbers pays on average, by class; empty where it gives none."""
    paid = (f"{NAMES[of.kind]} {of.mean_score:.3g}" for of in measure.shares if of.mean_score is not None)
    return listed("mean score", paid)


def by_form(measure: GraderMeasure) -> str:
    """TPR by form of the reply, forms of one rate together; empty for a grader of programs."""
    rates: dict[float, list[str]] = {}
    for name, (accepted, sent) in measure.forms.items():
        rates.setdefault(accepted / sent, []).append(f"{name} ({accepted} of {sent})")
    said = [f"{rate(value)} {', '.join(rates[value])}" for value in sorted(rates, reverse=True)]
    if len(rates) == 1:
        said = [f"{rate(*rates)} in each of {len(measure.forms)} forms"]
    return listed("TPR by form of the reply", said, "; ")


def rewards_of_right_ones(measure: GraderMeasure) -> str:
    """That right programs get different rewards; empty where they do not."""
    if measure.with_bonus:
        return (
            "gives right replies different rewards; 1 is a pass, or the least of them above wrong ones (--pass-at)"
        )
    if measure.nearly < LEAST_NEARLY:
        return ""
    return (
        f"gives {fmt.plural(measure.nearly, 'right program')} that it refuses more than half of the reference's"
        " reward: if that is a pass, name the least that is one with --pass-at"
    )


LEAST_NEARLY = 3
"""Right programs with a reward near the reference's of which it is said."""


def _refused_forms(measure: GraderMeasure) -> list[str]:
    """Names of the forms of a reply in which no right program is accepted."""
    return [name for name, (accepted, _) in measure.forms.items() if not accepted]


def forms_refused(measure: GraderMeasure) -> str:
    """``refuses right programs in 2 of 10 forms of a reply: no fence, py``; empty without."""
    refused = _refused_forms(measure)
    said = f"refuses right programs in {len(refused)} of {fmt.plural(len(measure.forms), 'form')} of a reply"
    return listed(said, refused)


def partial_credit(measure: GraderMeasure) -> str:
    """The mean pay by share of a problem's own tests passed; empty where a grader gives no numbers.

    It pays in part where a program that passes some tests gets more than one that passes none.
    """
    in_part = "pays in part; " if measure.pays_in_part else ""
    return listed(
        f"{in_part}mean pay by tests passed", (f"{share} {paid:.3g}" for share, paid in measure.pay.items())
    )


def figures(measure: GraderMeasure) -> str:
    """J, what is left of it against the best cheat, and how far an accepted program can be trusted."""
    best = f"J_adversarial = {unit(measure.j_adversarial)} (best cheat: {measure.best_cheat})"
    found = [f"J = {unit_interval(measure.j)}", best if measure.best_cheat else ""]
    if measure.forgeable:
        found = [found[1], f"without the programs that solve nothing, {found[0]}"]
    return " · ".join(filter(None, (*found, right_passes(measure))))


def changes(measure: GraderMeasure) -> dict[str, list[str]]:
    """What a grader should do otherwise, to what was found that it mends, the gravest first."""
    found = defaultdict[str, list[str]](list)
    for one in measure.shortest:
        found[one.closes].append(f"{one.finding}: {named(one)}")
    if measure.batches is not None and batches_in_words(measure.batches):
        found["give each reply the reward that it gets alone"].append("batches")
    if turns_in_words(measure.turns):
        found["judge the model's last message that holds a program"].append("replies with several messages")
    if refused := _refused_forms(measure):
        found["find the program in every form of a reply that the prompt allows"].append(", ".join(refused))
    return {cure: of for cure, of in found.items() if cure}


def remarks(measure: GraderMeasure) -> list[str]:
    """What else is known of a grader, a line each, the gravest first."""
    paid = measure.unearned
    staying = [channel.channel for channel in measure.channels if channel.stays]
    said = (
        silent(measure),
        pays_everything(measure),
        _in_batches(measure) if measure.forgeable and not batches_in_words(measure.batches) else "",
        listed("a cheat stays in it and changes later verdicts", staying),
        *measure.causes,
        *measure.overlooks,
        f"accepts {paid.loose} of {paid.natural} wrong programs that the problems' own tests refuse"
        if paid.loose
        else "",
        listed("unsteady", [flips(measure)]),
        forms_refused(measure),
        rewards_of_right_ones(measure),
        references_refused(measure),
        weak_tests(measure),
        left_out(measure),
        no_verdict(measure),
        partial_credit(measure),
        by_form(measure),
        mean_scores(measure),
        differences(measure),
        star(measure),
    )
    return [line for line in said if line]


def corrected(measured: float, tpr: float, fpr: float) -> float:
    """Share of right programs that a measured pass rate stands for, by Rogan and Gladen (1978), clipped to [0, 1].

    All are fractions; ``tpr`` is above ``fpr``.
    """
    return min(1.0, max(0.0, rogan_gladen(measured, tpr, fpr)))


def correctable(measure: GraderMeasure) -> tuple[float, float] | None:
    """TPR and FPR where the interval of J lies above 0; otherwise pass rates stand for nothing."""
    right, fpr = measure.right, measure.fpr.value
    if right is None or right.value is None or fpr is None or measure.j.low is None or measure.j.low <= 0:
        return None
    return right.value, fpr


def stands_for(measure: GraderMeasure, measured: float) -> str:
    """What a pass rate measured with this grader stands for."""
    if measure.forgeable and not measure.unearned.all_paid:
        return (
            "Beside other replies it pays some that solve nothing, so a pass rate measured with it says nothing of"
            " a model that sends such replies in batches."
        )
    if measure.forgeable:
        return (
            "It pays programs that solve nothing, so a pass rate measured with it says nothing of a model that"
            f" sends such programs: {paid_in_words(measure.unearned)}."
        )
    rates = correctable(measure)
    if rates is None and measure.j.value is not None and measure.j.low is None:
        return (
            "J has no interval here, since all problems are of one cluster: nothing follows for other problems,"
            " nor for a pass rate measured with this grader."
        )
    if rates is None:
        return (
            "The interval of J does not lie above 0, so it is not shown that a pass rate measured with this grader"
            " depends on how many programs are right."
        )
    tpr, fpr = rates
    worked = f"({fmt.percent(measured)} - {fmt.percent(fpr)}) / ({fmt.percent(tpr)} - {fmt.percent(fpr)})"
    return (
        f"A pass@1 of {100 * measured:.0f} % measured with it therefore stands for"
        f" {fmt.percent(corrected(measured, tpr, fpr))} right programs, if it errs on a model's answers as often"
        f" as on these: {worked}{_at_the_ends(measured, tpr, measure.fpr)}."
    )


def _at_the_ends(measured: float, tpr: float, fpr: MeasuredValue) -> str:
    """What the interval of FPR does to a corrected rate; empty where it reaches TPR or there is none."""
    if fpr.low is None or fpr.high is None or fpr.high >= tpr:
        return ""
    low, high = (fmt.percent(corrected(measured, tpr, end)) for end in (fpr.high, fpr.low))
    return f"; at the ends of the interval of FPR it is {low} and {high}"


CAVEAT = (
    "The programs above are not a model's answers. A mutant is one small change away from a right program and may"
    " be harder or easier to catch than what a model gets wrong, so this arithmetic illustrates the size of the"
    " error and does not correct a published number."
)


TERMS: Mapping[str, str] = MappingProxyType(
    {
        "TPR": "true positive rate: the share of right programs that a grader accepts",
        "FPR": "false positive rate: the share of wrong programs that a grader accepts; over mutants, labelled"
        " programs and replies, without stubs and cheats",
        "J": "TPR - FPR (Youden's index): 1 for a grader that never errs, 0 for one that accepts right and wrong"
        " programs alike",
        "J_adversarial": "TPR less the share of its problems on which the best cheat is paid without solving: what"
        " is left of J against a policy that looks for reward",
        "paid without solving": "accepted although the problem's own tests, run by strict, refuse the same"
        " program, or on impossible tests",
        "PPV": "positive predictive value: the probability that an accepted program is right, at a"
        " given base rate",
        "base rate": "the share of right programs among those that are graded",
        "probe": "a program whose correctness is known, sent to a grader",
        "grader": "what is measured: a benchmark's tests, a profile, or a reward function",
        "witness": "the evidence for a label: a call, what every reference returns and what the probe returns",
        "oracle": "what decides whether a program is right, whatever the grader says: references and many inputs",
        "mutant": "a reference with one small error",
        "undecided": "a mutant for which neither a witness nor a proof that it equals the reference was found",
        "stub": "a program that does not try: a constant, an echo of the argument, nothing at all",
        "channel": "a way by which a program reaches the verdict without computing the answer",
        "inert twin": "a cheat with its hook cut, otherwise the same text: if it is accepted too, the channel is"
        " not what was accepted",
        "must-fail": "an honest program before tests that were made impossible; whatever accepts it does not test",
        "stays": "after a cheat the grader judges an honest or a wrong program otherwise than before",
    }
)
"""Term -> what it means."""
