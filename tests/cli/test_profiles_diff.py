"""`truegrade profiles diff A B`: two harnesses, rule by rule."""

from __future__ import annotations

import json

from click.testing import CliRunner

from truegrade.cli import main
from truegrade.profiles import PROFILES, open_profile
from truegrade.profiles.difference import difference


def told(*words, code=0):
    done = CliRunner().invoke(main, ["profiles", "diff", *words], catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done.output


def test_the_two_harnesses_of_the_seed_differ_in_more_than_it_says():
    found = json.loads(told("evalscope", "lm-eval-fork", "--json"))
    facts = {fact["name"]: (fact["first"], fact["second"]) for fact in found["facts"]}
    assert facts["harness world"] == ("encoded", "string")
    assert "harness whole_seconds" in facts
    steps = {step["step"]: step for step in found["rules"]}
    assert any("last two" in rule["text"] for rule in steps["extraction"]["first"])
    assert any("first two" in rule["text"] for rule in steps["extraction"]["second"])
    assert all(rule["source"] for step in found["rules"] for rule in (*step["first"], *step["second"]))
    said = told("evalscope", "lm-eval-fork")
    assert "harness world" in said and "the same in both" in said


def test_every_rule_is_on_one_side_or_the_same_in_both():
    for name in PROFILES:
        one, two = open_profile("strict"), open_profile(name)
        found = difference(one, two)
        alone = sum(len(step.first) for step in found.rules)
        same = sum(step.same for step in found.rules)
        assert alone + same == len({(rule.step, rule.text) for rule in one.rules}), name
    nothing = difference(open_profile("strict"), open_profile("strict"))
    assert not nothing.facts and not any(step.first or step.second for step in nothing.rules)


def test_an_unknown_name_is_refused():
    assert "no profile 'strikt'" in told("strict", "strikt", code=2)
