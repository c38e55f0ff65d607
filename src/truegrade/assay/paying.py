"""What a grader pays beside right or wrong: by form of the reply, and by share of the tests passed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from math import fsum

from truegrade.assay.acceptance import REFERENCE, Acceptance
from truegrade.assay.probes.outputs import EVERY_TEST, HALF_OF_TESTS, ONE_TEST
from truegrade.assay.probes.right import FORMS, NO_FENCE
from truegrade.assay.records import Probe

SHARES = {EVERY_TEST: "none", HALF_OF_TESTS: "half", ONE_TEST: "all but one", REFERENCE: "all"}
"""Origin of a program to the share of its problem's own tests that it passes."""


def accepted_by_form(probes: Iterable[Probe], acceptance: Acceptance) -> dict[str, tuple[int, int]]:
    """Form of a reply to how many right programs in it are accepted, and of how many.

    Empty for a grader that accepts most of no form with a fence: it takes programs, not replies.
    """
    found: dict[str, list[bool]] = defaultdict(list)
    for probe in probes:
        accepted = acceptance.accepted(probe)
        if probe.kind == "form" and accepted is not None and probe.problem_id not in acceptance.refused:
            found[probe.origin].append(accepted)
    if not any(2 * sum(answers) > len(answers) for name, answers in found.items() if name != NO_FENCE):
        return {}
    return {name: (sum(found[name]), len(found[name])) for name in FORMS if name in found}


def pay_by_share(probes: Iterable[Probe], acceptance: Acceptance) -> dict[str, float]:
    """Share of the tests passed to the mean score, over problems whose reference is accepted and that have a
    program of each share; empty where the grader gives no numbers."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for probe in probes:
        score = acceptance.score(probe)
        if probe.kind in ("right", "output") and probe.origin in SHARES and score is not None:
            found[probe.problem_id][SHARES[probe.origin]].append(score)
    whole = [
        {share: fsum(paid) / len(paid) for share, paid in by_share.items()}
        for problem, by_share in found.items()
        if problem not in acceptance.refused and len(by_share) == len(SHARES)
    ]
    return {share: fsum(one[share] for one in whole) / len(whole) for share in SHARES.values()} if whole else {}
