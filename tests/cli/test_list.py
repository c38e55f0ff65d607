"""`truegrade list KIND [NAME]`: every kind and one of each; two harnesses, rule by rule."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from truegrade.cli import main
from truegrade.cli.listings import kinds
from truegrade.profiles import PROFILES, open_profile
from truegrade.profiles.base import difference


def listed(*words, code=0):
    done = CliRunner().invoke(main, ["list", *words], catch_exceptions=False, env={"COLUMNS": "200"})
    assert done.exit_code == code, done.output
    return done.output


def told(first, second, *words, code=0):
    return listed("profiles", first, "--diff", second, *words, code=code)


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_a_kind_lists_its_things_and_says_all_about_each_that_is_named(kind):
    every = json.loads(listed(kind, "--json"))
    name = every[0]["name"]
    assert len({each["name"] for each in every}) == len(every)
    assert name in listed(kind) or name in listed(kind, "--all")
    one = json.loads(listed(kind, name, "--json"))
    assert one["name"] == name and one.items() >= every[0].items()
    assert name in listed(kind, name)
    wrong = listed(kind, f"{name}x", code=2)
    assert f"no {kind[:-1]} '{name}x'" in wrong and f"truegrade list {kind}" in wrong and wrong.count("\n") == 1


def test_without_a_kind_the_kinds_are_listed_those_of_apps_among_them():
    assert {"benchmarks", "searchers"} <= {each["name"] for each in json.loads(listed("--json"))}
    assert all(kind in listed() for kind in kinds())
    assert "no kind 'profile'; did you mean profiles" in listed("profile", code=2)


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
    for words in (("benchmarks", "humaneval"), ("profiles",), ()):
        assert "--diff compares profiles" in listed(*words, "--diff", "strict", code=2)
