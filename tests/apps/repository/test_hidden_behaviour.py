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
        ("A pearl, no plumber: 2.50, 4e1, one thousand and four hundred. KeyError", ["'pear'", "'plum'"]),
        ("    ...  # the rest is missing: 'pear', 'plum', 1000, 2.5, 40", ["KeyError", "1000", "'pear'"]),
    ],
)
def test_what_stands_nowhere_and_decides_is_told(prompt, told):
    asked = []

    def refused(source):
        asked.append(source)
        return "KeyError(f'no kind {kind}')" in source or "KeyError" not in source

    hidden = HiddenBehaviour(place(), refused)
    assert sorted(hidden.untold(prompt)) == sorted(told) and hidden.untold(prompt) == hidden.untold(prompt)
    assert not any("9~" in source for source in asked) and len(asked) == len({*asked})
    assert all(ast.parse(source).body[0].name == "price" for source in asked)


DETAILS = """
def f(x):
    if x > 70:
        raise decimal.InvalidOperation
    if x < 0:
        wrong = OverflowError
        raise wrong
    return -99 if x == b"ab" else x.decode("latin-1"), 12, -1, "", 2
"""


def test_bytes_negative_numbers_and_types_of_modules_are_details_and_variables_are_not():
    node = ast.parse(DETAILS).body[0]
    function = FunctionPlace(module=None, name="f", node=node, seen=None, obstacle="")
    found = HiddenBehaviour(function, lambda source: True)
    assert {*found._details} == {"70", "InvalidOperation", "-99", "b'ab'", "'latin-1'", "12"}
    assert found.untold("70, twelve, latin-1, -99 and ab") == ["InvalidOperation"]


def test_another_change_is_tried_where_the_first_is_accepted():
    """As of a codec that is written in several ways, and of a bound between two multiples."""
    node = ast.parse(DETAILS).body[0]
    function = FunctionPlace(module=None, name="f", node=node, seen=None, obstacle="")
    tried = HiddenBehaviour(function, lambda source: "x > 150" in source or "decode('~')" in source)
    assert tried.untold("") == ["70", "'latin-1'"]


def test_a_detail_whose_change_is_accepted_is_none_and_the_function_stays_as_it_is():
    function = place()
    before = ast.dump(function.node)
    assert HiddenBehaviour(function, lambda source: False).untold("Write price.") == []
    assert HiddenBehaviour(function, lambda source: True).untold("") and ast.dump(function.node) == before
