"""What an answer has to know and no prompt tells: constants and exceptions, each judged by changing it."""

import ast

import pytest

from truegrade.apps.repository.functions import FunctionPlace
from truegrade.apps.repository.hidden_behaviour import HiddenBehaviour

BODY = """
def price(kind, count=3):
    \"\"\"The price of a kind.\"\"\"
    if re.match("[a-z]+9", kind) is None or count > 1_000:
        raise KeyError(f"no kind {kind}")
    return {"pear": 2.5, "plum": 40}[kind] * count + -1
"""


def place():
    node = ast.parse(BODY).body[0]
    return FunctionPlace(module=None, name="price", node=node, seen=None, obstacle="")


@pytest.mark.parametrize(
    "prompt, told",
    [
        ("Write price.", ["KeyError", "1000", "'pear'"]),
        ("A pear costs 2.5, a plum 40; more than 1000 are too many, with a KeyError; no kind", []),
        ("At most 1000. KeyErrors are raised; 12.5 and 400.", ["KeyError", "'pear'", "'plum'"]),
        ("A pear or a plum: 12.5 and 1,000, 1.40 and 400.5. KeyError", ["2.5", "40"]),
    ],
)
def test_what_stands_nowhere_and_decides_is_told(prompt, told):
    asked = []

    def refused(source):
        asked.append(source)
        return "no kind ~" not in source

    hidden = HiddenBehaviour(place(), refused)
    assert sorted(hidden.untold(prompt)) == sorted(told) and hidden.untold(prompt) == hidden.untold(prompt)
    assert not any("9~" in source for source in asked) and len(asked) == len({*asked})
    assert all(ast.parse(source).body[0].name == "price" for source in asked)


def test_a_detail_whose_change_is_accepted_is_none_and_the_function_stays_as_it_is():
    function = place()
    before = ast.dump(function.node)
    assert HiddenBehaviour(function, lambda source: False).untold("Write price.") == []
    assert HiddenBehaviour(function, lambda source: True).untold("") and ast.dump(function.node) == before
