"""Markdown fences as models write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegrade.extraction.blocks import fenced_blocks, without_fence_lines

LINES = st.sampled_from(
    [
        "```",
        "```python",
        "~~~",
        "````",
        "  ```py",
        "x = 1",
        "return x```",
        "```python x```",
        "",
        "> ```",
        "prose: ```",
        "\t```\r",
    ]
)


@pytest.mark.parametrize(
    ("text", "language", "code", "closed"),
    [
        ("```python\nx\n```", "python", "x\n", True),
        ("```\nx\n```\nprose", "", "x\n", True),
        ("~~~py\nx\n~~~", "py", "x\n", True),
        ("````\n```\nx\n```\n````", "", "```\nx\n```\n", True),
        ("```python\nx", "python", "x", False),
        ("```Python title=a.py\nx\n```", "python", "x\n", True),
        ("```{.python}\nx\n```", "python", "x\n", True),
        ("``` python\nx\n```", "python", "x\n", True),
        ("   ```python\n   x\n     y\n   ```", "python", "x\n  y\n", True),
        ("\t```\n\tx\n\t```", "", "x\n", True),
        ("> ```python\n> x\n> ```", "python", "x\n", True),
        ("```python\r\nx\r\n```\r\n", "python", "x\r\n", True),
        ("Answer: ```python\nx\n```", "python", "x\n", True),
        ("```\nreturn x```", "", "return x", True),
        ("```python x = 1```", "python", "x = 1\n", True),
        ("```x = 1```", "", "x = 1\n", True),
        ("```\n~~~\n```", "", "~~~\n", True),
    ],
)
def test_one_block(text, language, code, closed):
    (block,) = fenced_blocks(text)
    assert (block.language, block.code, block.closed) == (language, code, closed)


def test_blocks_come_in_order_and_may_be_empty():
    blocks = fenced_blocks("a\n```\n```\nb\n```sh\nls\n```\n```\nopen\n")
    assert [(block.language, block.code, block.closed) for block in blocks] == [
        ("", "", True),
        ("sh", "ls\n", True),
        ("", "open\n", False),
    ]


@pytest.mark.parametrize("text", ["", "no fence", "a `tick` and ``two``", "inline ```code``` in a sentence"])
def test_no_block(text):
    assert fenced_blocks(text) == []


def test_fence_lines_go_and_code_stays():
    assert without_fence_lines("a\n```python\nx = '```'\n  ```\nb") == "a\n\nx = '```'\n\nb"


@given(st.lists(LINES | st.text(max_size=8), max_size=30).map("\n".join))
def test_offsets_are_ordered_and_inside_the_text(text):
    blocks = fenced_blocks(text)
    places = [place for block in blocks for place in (block.start, block.end)]
    assert places == sorted(places)
    assert all(0 <= place <= len(text) for place in places)
    assert all(block.closed for block in blocks[:-1])
    assert all(len(block.code) <= block.end - block.start + 1 for block in blocks)
