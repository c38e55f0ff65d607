"""The terms of an assay, explained where they stand on its page and listed at its end."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

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
