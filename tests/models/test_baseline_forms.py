"""Baselines answer in the form that each prompt asks for."""

import json

import pytest

from truegrade.kinds import CallClaim
from truegrade.models.baseline import claim_in_form

CLAIM = CallClaim("f('a')", '"ä}"')
ASSERTION = "assert f('a') == \"ä}\""


@pytest.mark.parametrize(
    ("prompt", "reply"),
    [
        ("[PYTHON]\nassert f('a') == ??\n[/PYTHON]", f"[ANSWER]\n{ASSERTION}\n[/ANSWER]"),
        ("[PYTHON]\nassert f('a') == ??\n[/PYTHON]\n[ANSWER]\n", f"{ASSERTION}\n[/ANSWER]"),
        ("def f(x): ...\nassert f('a') ==", ' "ä}" # done'),
        ("```\nassert f('a') == # TODO\n```\n", f"```python\n{ASSERTION}\n```"),
    ],
)
def test_forms(prompt, reply):
    assert claim_in_form(prompt, CLAIM) == reply


def test_a_choice_is_json_and_always_a():
    reply = claim_in_form('{\n  "chosen_program": "A or B",\n  "assertion": ...}\nassert f(1) == ??', CLAIM)
    assert json.loads(reply) == {"chosen_program": "A", "assertion": ASSERTION}
