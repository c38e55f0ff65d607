"""The terms of a report: explained where they stand, and listed at the end of the page, as it is printed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from truegrade.pipeline.summary import Summary
from truegrade.report import wording
from truegrade.report.document import Section
from truegrade.report.markup import Child, el

TERMS: Mapping[str, str] = MappingProxyType(
    {
        "95 % CI": "95 % confidence interval: in 95 of 100 such runs the interval so computed holds the true rate;"
        " numbers in brackets are its ends",
        "clusters": "problems that share a question and are not independent; intervals are computed over clusters",
        "disagreeing": "samples that pass under one profile and fail under another",
        "missing": "samples without a reply; they are not scored",
        "problem": "one item of a benchmark: what is asked, and the tests of an answer",
        "profile": "the rules of one evaluation harness at a named version: prompt, extraction, tests, limits",
        "protection": "what separates a graded program from this machine",
        "sample": "one reply of the model to a problem",
        "spread": "the largest result of a profile less the smallest, on the same replies",
        "truncated": "replies cut at the token limit; graded like any other",
        "without answer": "replies that hold no program or no answer; they count as failures",
        "verdict": "what grading one sample came to: passed, or why not",
    }
)
"""Term -> what it means; metrics are in `wording.metric`."""


@cache
def _words(terms: frozenset[str]) -> re.Pattern[str]:
    longest = sorted(map(re.escape, sorted(terms)), key=len, reverse=True)
    return re.compile(r"(?<![\w@/-])(" + "|".join(longest) + r"|(?:[a-z_]*pass|eff)@\d+)(s?)(?![\w-])")


def explained(text: str, terms: Mapping[str, str] = TERMS) -> Child:
    """A text in which each term, where it first stands, shows on hover what it means."""
    parts: list[Child] = []
    seen, place = set(), 0
    for found in _words(frozenset(terms)).finditer(text):
        term = found[1]
        meaning = terms.get(term) or wording.metric(term)
        if term in seen or not meaning:
            continue
        seen.add(term)
        parts += [text[place : found.start()], el("abbr", found[0], title=meaning)]
        place = found.end()
    return [*parts, text[place:]]


def glossary_section(summary: Summary) -> Section:
    """The terms that a page of this run uses."""
    metrics = dict.fromkeys(e.metric for profile in summary.profiles for e in profile.estimates)
    meant = {**{name: said for name in metrics if (said := wording.metric(name))}, **TERMS}
    return terms_section(meant)


def terms_section(terms: Mapping[str, str]) -> Section:
    """A list of terms and what they mean, as the last section of a page."""
    rows = (el("div", el("dt", name), el("dd", said)) for name, said in terms.items())
    return Section("glossary", "Terms", [el("dl", rows, class_="glossary")])
