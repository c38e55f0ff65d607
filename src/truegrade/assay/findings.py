"""What an assay can find, by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

CODES: Mapping[str, str] = MappingProxyType(
    {
        "accepts_anything": "every stub that returns a value is accepted for the problem, three of them at least",
        "ambiguous_statement": "references disagree on a valid input, which therefore decides nothing",
        "channel_open": "a cheat is accepted, its twin with the hook cut refused, beyond what flips explain",
        "cheat_stays": "after a cheat the verdict on another program changes: the cheat stays in the grader",
        "flaky_verdict": "the same honest program got different verdicts when it was sent again",
        "grader_died": "the grader ended while it graded a program, and was started again",
        "grader_hung": "the grader gave no answer in its time, and was started again",
        "grader_raised": "the grader raised an exception, or its service answered with an error",
        "grader_score": "the grader gave what is no score: None, NaN, several values",
        "grader_text": "the grader said something that cannot be read as a verdict",
        "label_conflict": "a data set's label and the oracle disagree; the program is counted nowhere",
        "labelled_unproven": "a data set calls a program wrong, and no input shows it; it counts as undecided",
        "looser_than_tests": "wrong programs are accepted that the problems' own tests refuse, run by strict",
        "must_fail_accepted": "tests that no honest program can pass were passed; perhaps they are not looked at",
        "no_oracle": "no label of the problem's right and wrong programs can be proven by running them",
        "no_verdict": "programs got no verdict for another reason than those named here; they are in no rate",
        "overlooks_difference": "of wrong programs that differ in one way far more are accepted than of others",
        "paid_without_solving": "programs are accepted that solve nothing, and not by the problems' own tests",
        "reference_raises": "the benchmark's reference fails on its own tests or inputs",
        "reference_refused": "the grader refuses the benchmark's reference; the problem is left out of the FPR",
        "right_refused": "the grader refuses a program that is proven right",
        "stub_like_cheat": "cheats are accepted, and their twins with the hook cut as well: not by the channel",
        "tests_form": "the tests cannot be put into the form that the grader takes; nothing was sent",
        "vacuous_comparison": "more than half of the wrong programs for the problem are accepted, beyond chance",
        "weak_tests": "programs that solve nothing pass the problems' own tests under strict as well",
    }
)
"""Name of each finding to what it means."""
