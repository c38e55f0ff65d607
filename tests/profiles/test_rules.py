"""What `truegrade profiles show` prints: every rule has a source that can be followed."""

import re

import pytest

from truegrade.profiles import PROFILES, find_profile
from truegrade.prompts.index import PROMPTS, SUITE_PROMPTS

FOLLOWED = re.compile(r"ours\b|.*\barXiv[ :]\d{4}\.\d{4,5}|[\w.-]+/[\w.-]+@[0-9a-f]{7,40} \S", re.DOTALL)
"""Our own rule, a paper, or a repository at a commit and a path in it."""


@pytest.mark.parametrize("name", PROFILES)
def test_every_rule_has_a_source_that_can_be_followed(name):
    profile = find_profile(name)
    lost = [rule.source for rule in profile.rules if not FOLLOWED.match(rule.source)]
    assert lost == []
    said = " ".join((profile.summary, *profile.defects, *(f"{rule.text} {rule.source}" for rule in profile.rules)))
    assert not re.search(r"\bseed 0|\bthe seed('s)?\b", said), "a seed is a random seed"


@pytest.mark.parametrize("table", [PROMPTS, SUITE_PROMPTS])
def test_every_prompt_has_a_source_that_can_be_followed(table):
    assert [entry.source for entry in table.values() if not FOLLOWED.match(entry.source)] == []
