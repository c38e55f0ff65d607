"""The page of evidence says what the comparisons printed."""

from __future__ import annotations

from parity_page import compared, page

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
    text = page(PRINTED, TOTALS)
    assert "| mbppplus | 692 | 1897 | 691 | 1 | 0 | 482 |" in text
    assert "differs: MBPP/2 ours True" in text
    assert "Not in these logs: `blog` on humaneval." in text
    assert "a limit decided" not in page(PRINTED.replace("    differs", "rc"), {("bigcode", "mbpp"): 2388})


def test_files_that_others_published_have_a_table_of_their_own():
    line = "evalplus  humanevalplus:completion:samples.jsonl  20  19  1  0  15  3 s\n"
    text = page(f"{PRINTED}{line}    differs: HumanEval/0 ours True\n", TOTALS)
    assert "| humanevalplus:completion | samples.jsonl | 20 | 19 | 1 | 0 | 15 |" in text
    assert "evalplus, humanevalplus:completion:samples.jsonl\n    differs: HumanEval/0" in text
