"""Arguments that have to be computed: plain ones pass, those that could forge a result do not."""

import pytest

from truegrade.extraction.assertions import computed_arguments, extract_input, extract_input_answer
from truegrade.records import Reason

PROGRAM = "import sys\ntable: list = [1]\nfirst, second = 1, 2\ndef f(*x): return x"


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("''.join(['A'] * 20)", "''.join(['A'] * 20)"),
        ("'a', 'b'+'c'", "'a', 'b' + 'c'"),
        ("[1], (lambda x: x.reverse())", "[1], lambda x: x.reverse()"),
        ("dict(f = 1), k=range(2)", "dict(f=1), k=range(2)"),
        ("table[:], second", "table[:], second"),
        ("[c.upper() for c in 'ab']", "[c.upper() for c in 'ab']"),
        ("str.upper('a')", "str.upper('a')"),
    ],
)
def test_plain(text, plain):
    assert computed_arguments(text, PROGRAM) == plain


@pytest.mark.parametrize(
    "text",
    [
        "type('E', (), {'__eq__': lambda s, o: True})()",
        "__import__('os').system('ls')",
        "(1).__class__",
        "(lambda: 1)._x",
        "sys.exit(0)",
        "sys",
        "table.append(2)",
        "[table].pop().append(2)",
        "(x for x in '').gi_frame.f_builtins.update(len=lambda x: 3)",
        "str.mro()",
        "globals()",
        "exec('x = 1')",
        "getattr('', 'x')",
        "open('x')",
        "(x := 1)",
        "*[1]",
        "**{'a': 1}",
        "unknown",
        "g(1)",
        "1) + f(2",
        "??",
        "'" + "a" * 3000 + "'.upper()",
    ],
)
def test_refused(text):
    assert computed_arguments(text, PROGRAM) is None


def test_literals_win_in_their_block_and_blocks_over_the_rest():
    reply = "so f('abc') is\n[ANSWER]assert f('a' * 2) == 2[/ANSWER]"
    assert extract_input(reply, "f").value == "'a' * 2"
    both = "[ANSWER]f('b' * 2) gives 2\nassert f('aa') == 2[/ANSWER]"
    assert extract_input(both, "f").value == "'aa'"
    assert extract_input("[ANSWER]assert f(table) == 2[/ANSWER]", "f", PROGRAM).found == "block:computed"
    assert extract_input("[ANSWER]assert f(other) == 2[/ANSWER]", "f", PROGRAM).reason is Reason.NOT_LITERAL
    assert extract_input_answer("f('a'.upper())").value == "'a'.upper()"
