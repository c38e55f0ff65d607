from hypothesis import given
from hypothesis import strategies as st

from truegrade.extraction.contest_programs import base_reply, first_pair, last_pair

TWO = "a\n```python\nx = 1\n```\nwords\n```\nsample\n```"


def test_pairs_are_pairs_of_marks_not_blocks():
    assert first_pair(TWO) == "x = 1"
    assert last_pair(TWO) == "sample"
    assert last_pair("```\none\n```\nprose\n```python\nopen = 1") == "prose"
    assert last_pair("```\none\n```\nuse ```x``` here") == ""


def test_lines_are_cut_at_newlines_alone_and_kept_as_they_are():
    assert last_pair("  ```py\r\n  print(1)\r\n  ```") == "  print(1)\r"
    assert last_pair("```\u2028```") == ""
    assert last_pair("~~~\nx\n~~~") == ""


def test_families():
    assert base_reply("\n x \n") == "x"


@given(st.lists(st.sampled_from(["```", "```py", "a", "  b", "", "x ```"]), max_size=12))
def test_a_pair_never_holds_a_mark_and_is_part_of_the_reply(lines):
    reply = "\n".join(lines)
    for rule in (first_pair, last_pair):
        code = rule(reply)
        assert "```" not in code and code in reply
    if sum("```" in line for line in lines) == 2:
        assert first_pair(reply) == last_pair(reply)
