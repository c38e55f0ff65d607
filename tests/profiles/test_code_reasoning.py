"""`seed-regex`, `code-reasoning`, its notebooks' fallback and `paper-tags`: which answer each takes."""

import json
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prediction_rows import NESTED, choice_problem, judge, output_problem, replies, reply, right, value

from truegrade.errors import UnknownName, UserError
from truegrade.profiles import open_profile
from truegrade.profiles.code_reasoning import (
    DOTTED_NAME,
    ONE_CHARACTER,
    asserted_value,
    first_block,
    published_equality,
)
from truegrade.records import Pairing, Reason

SEED, CODE, NOTEBOOK, PAPER, STRICT = (
    open_profile(name)
    for name in ("seed-regex", "code-reasoning", "code-reasoning-notebook", "paper-tags", "strict")
)
PROBLEM = output_problem(NESTED, "execution-prediction")

MINIMUM = 'No tags.\n```python\nassert minOperations(s="yz") == 24\n```'
ONE_MORE = "[ANSWER]assert f(1) == 6[/ANSWER]\nWait, I miscounted.\n[ANSWER]assert f(1) == 7[/ANSWER]"
TALKS = "I must use [ANSWER] and [/ANSWER] tags.\n[ANSWER]assert f(1) == 7[/ANSWER]"
THINKS = "analysis... [ANSWER] maybe 4 [/ANSWER]assistantfinal[ANSWER]assert f(1) == 5[/ANSWER]"
ROWS = "assert f(3) == [\n    [1, 0],\n    [0, 1],\n]"
PROGRAM_2 = "dsl_prog_2(a1=[3, 0, 4, 2]) == [-2, 0, -2, -2]"
CALLS = ("assert equals([1, 2], (1, 2)) == True", "assert f('w', '))', 7) == 'w))))))))))))'",
         "assert f(''.join(['A'] * 20)) == 20", "assert 12 == f(1)")  # fmt: skip

TWELVE = [  # reply, what the scripts take, what the rule as first written down takes (None: the whole reply)
    (f"[ANSWER]{CALLS[0]}[/ANSWER]", CALLS[0], None),
    (f"[ANSWER]{CALLS[1]}[/ANSWER]", CALLS[1], None),
    (f"[ANSWER]{CALLS[2]}[/ANSWER]", CALLS[2], None),
    (f"[ANSWER]{ROWS}[/ANSWER]", "[", "["),
    (f"[ANSWER]{PROGRAM_2}[/ANSWER]", PROGRAM_2, None),
    (TALKS, "and", None),
    (ONE_MORE, "6", "6"),
    ("So\n[ANSWER] assert f(1) == 1 [", "1 [", None),
    ("assert f(1) == ??\nThen\nassert f(1) == 12", "??", None),
    (f"[ANSWER]{CALLS[3]}[/ANSWER]", CALLS[3], None),
    (THINKS, "maybe 4", None),
    (MINIMUM, "24", None),
]


@pytest.mark.parametrize(("text", "scripts", "first"), TWELVE)
def test_the_twelve_replies_of_the_specification(text, scripts, first):
    assert value(CODE, PROBLEM, text) == scripts
    assert value(SEED, PROBLEM, text) == (text if first is None else first)


def test_the_notebooks_store_one_character_and_grade_it_right():
    assert value(NOTEBOOK, PROBLEM, MINIMUM) == "2"
    wrong = output_problem(("def f(s): return 2", "'yz'", "2"), "execution-prediction")
    assert right(NOTEBOOK, wrong, [MINIMUM], "reply") == [True]
    assert right(CODE, wrong, [MINIMUM], "reply") == [False]
    in_blocks = [text for text, _, _ in TWELVE if first_block(text) is not None]
    assert [value(NOTEBOOK, PROBLEM, text) for text in in_blocks] == [value(CODE, PROBLEM, t) for t in in_blocks]


# --------------------------------------------------------------------- the expressions, as they are written


def scripts_take(text, fallback=r"assert\s+\w+\([^)]*\)\s*==\s*(.+?)(?:\n|$)"):
    blocks = re.findall(r"\[ANSWER\](.*?)\[/ANSWER\]", text, re.DOTALL | re.IGNORECASE)
    if blocks:
        block = blocks[0].strip()
        found = re.search(r"assert\s+\w+\([^)]*\)\s*==\s*(.+)", block)
        return found[1].strip() if found else block
    found = re.findall(fallback, text, re.MULTILINE)
    return found[0].strip() if found else text.strip()


def seed_takes(text):
    blocks = re.findall(r"\[ANSWER\](.*?)\[/ANSWER\]", text, re.DOTALL | re.IGNORECASE)
    found = re.search(r"assert\s+\w+\([^)]*\)\s*==\s*(.+)", blocks[0].strip()) if blocks else None
    return found[1].strip() if found else text.strip()


PIECES = st.sampled_from(
    ["[ANSWER]", "[/ANSWER]", "[anſwer]", "assert", " ", "\n", "f", "(", ")", "==", "1", "a.b", "'", "\t", "\x1c"]
)
TEXTS = st.lists(PIECES, max_size=24).map("".join)


@given(TEXTS)
def test_the_linear_expressions_match_what_the_written_ones_match(text):
    assert value(CODE, PROBLEM, text) == scripts_take(text)
    assert value(NOTEBOOK, PROBLEM, text) == scripts_take(text, r"assert\s+\w+\([^)]*\)\s*==\s*(.+?)(?:|$)")
    assert value(SEED, PROBLEM, text) == seed_takes(text)
    dotted = re.search(r"assert\s+[\w\.]+\([^)]*\)\s*==\s*(.+)", text)
    assert asserted_value(text, head=DOTTED_NAME) == (dotted[1].strip() if dotted else None)


def test_all_awkward_replies():
    texts = replies("1")
    assert len(set(texts)) >= 200
    assert [value(CODE, PROBLEM, text) for text in texts] == [scripts_take(text) for text in texts]
    assert [value(SEED, PROBLEM, text) for text in texts] == [seed_takes(text) for text in texts]


@pytest.mark.parametrize("unit", ["assert f(", "[ANSWER]", "assert f()", "assert ", ")==", '{"chosen_program":'])
def test_hostile_replies_take_no_time(unit):
    text = unit * 200_000
    started = time.process_time()
    for profile in (SEED, CODE, NOTEBOOK, PAPER):
        value(profile, PROBLEM, text)
    value(CODE, choice_problem(), text)
    asserted_value(text, tail=ONE_CHARACTER)
    assert time.process_time() - started < 5


# ------------------------------------------------------------------------------------------------ comparison


@pytest.mark.parametrize(
    ("predicted", "expected", "same", "raised"),
    [
        (" [1, 2] ", "[1,2]", True, ""),
        ("True", "1", True, ""),
        ("2", "2.0", True, ""),
        ("nan", "nan", True, ""),
        ("nan ", "float('nan')", False, ""),
        ("(1,)", "[1]", False, ""),
        ("0 or 1", "1", False, ""),
        ("{[1]: 2}", "1", False, "TypeError"),
        ("[" * 100_000, "1", False, ""),
        ("9" * 10_000_000, "9", False, ""),
    ],
)
def test_published_equality(predicted, expected, same, raised):
    equality = published_equality(predicted, expected)
    assert equality.same is same
    assert equality.raised in (raised, "MemoryError") if predicted.startswith("[[") else equality.raised == raised


def test_the_first_rule_ends_its_run_and_says_so():
    (seed,) = judge(SEED, PROBLEM, ["{[1]: 2}"])
    (code,) = judge(CODE, PROBLEM, ["{[1]: 2}"])
    assert seed.reason is code.reason is Reason.WRONG_ANSWER
    assert "TypeError, which ends the published run" in seed.detail
    assert "(TypeError)" in code.detail


@pytest.mark.parametrize("profile", [SEED, CODE, NOTEBOOK], ids=lambda profile: profile.name)
def test_nothing_is_executed_and_reversion_is_marked(profile):
    pairing = Pairing(item="i", case=0, shown="original", other="[1, {1: 3}]")
    problem = output_problem(NESTED, "execution-prediction", pairing=pairing)
    tricks = ["0 or 1", "f(1)", "f (1)", "[1, {1: 1 + 1}]", "type('E', (), {'__eq__': lambda s, o: True})()"]
    assert right(profile, problem, tricks) == [False] * len(tricks)
    reverted, passed = judge(profile, problem, ["[1,{1:3}]", "[1,{1:2}]"])
    assert (reverted.passed, reverted.marks) == (False, ("reverted",))
    assert (passed.passed, passed.marks) == (True, ())
    assert not profile.executes(problem)


# ---------------------------------------------------------------------------------------------------- choice


def chosen(profile, text):
    found = profile.extract(choice_problem(), reply(text)).value
    return None if found is None else tuple(json.loads(found).values())


@pytest.mark.parametrize(
    ("text", "scripts", "notebooks"),
    [
        ('{"chosen_program": "A", "assertion": "assert f(1) == 1"}', ("A", "1"), ("A", "1")),
        ('Sure: {\n "chosen_program": "B", "assertion": "assert m.f(1) == [2]"} ok', ("B", "[2]"), ("B", "[2]")),
        ('{"chosen_program": "A", "assertion": "assert f(1) == {1: 2}"}', None, None),
        ('{"chosen_program": "A", "assertion": "assert f(\\\'x\\\') == 1"}', ("A", "1"), None),
        ('{"chosen_program": "A", "assertion": "assert f((1, 2)) == 1"}', *[("A", "assert f((1, 2)) == 1")] * 2),
        ('{"chosen_program": "A", "assertion": 1}', ("A", ""), ("A", "")),
        ('{"chosen_program": "A or B", "assertion": "assert f(1) == 1"}', None, None),
        ('{"assertion": "assert f(1) == 1", "chosen_program": "A"}', None, None),
        ("{'chosen_program': 'A', 'assertion': 'assert f(1) == 1'}", None, None),
        ("A", None, None),
    ],
)
def test_choices(text, scripts, notebooks):
    assert chosen(CODE, text) == scripts
    assert chosen(NOTEBOOK, text) == notebooks


def test_choices_are_graded_against_the_chosen_program():
    texts = [
        f'{{"chosen_program": "{letter}", "assertion": "assert f(1) == {n}"}}' for letter in "AB" for n in (1, 2)
    ]
    found = judge(CODE, choice_problem(), texts, "reply")
    assert [judgement.passed for judgement in found] == [True, False, False, True]
    assert [judgement.marks for judgement in found] == [
        ("chose-A", "chose-original"), ("chose-A", "chose-original", "reverted"),
        ("chose-B", "chose-mutant", "reverted"), ("chose-B", "chose-mutant"),
    ]  # fmt: skip


# ------------------------------------------------------------------------------------------------ paper-tags


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[ANSWER]\nassert f(1) == [1]\n[/ANSWER]", "[1]"),
        ("[ANSWER]```python\nassert f(1) == [1]\n```[/ANSWER]", "[1]"),
        (ONE_MORE, "7"),
        ("[ANSWER][1][/ANSWER]", "[1]"),
        ("assert f(1) == [1]", None),
        ("[ANSWER] assert f(1) == 1 [", None),
        ("[ANSWER] I think assert f(1) == 1 [/ANSWER]", None),
        ("[ANSWER] assert g(1) == 1 [/ANSWER]", None),
        ("[ANSWER] assert f(1) == 0 or 1 [/ANSWER]", None),
        ("", None),
    ],
)
def test_tags_are_required_and_nothing_else_is_read(text, found):
    assert value(PAPER, PROBLEM, text) == found


def test_policies_order_as_the_specification_says():
    """Tags required, the first rule, the scripts, ours: each finds at least what the one before it finds."""
    truth = output_problem(NESTED, "execution-prediction")
    scores = [sum(right(profile, truth, replies("1"), "reply")) for profile in (SEED, CODE, STRICT)]
    assert scores == sorted(scores) and len(set(scores)) == 3


# ---------------------------------------------------------------------------------------------------- prompts


def test_prompts_are_the_papers():
    for profile in (SEED, CODE, NOTEBOOK, PAPER):
        assert profile.render_prompt(PROBLEM) == STRICT.render_prompt(PROBLEM)
    assert CODE.render_prompt(PROBLEM, "inference-py").messages[0].role == "system"
    assert CODE.render_prompt(choice_problem()) == STRICT.render_prompt(choice_problem())
    with pytest.raises(UnknownName, match=r"no prompt variant 'inference-py'.*execution-choice"):
        CODE.render_prompt(choice_problem(), "inference-py")
    with pytest.raises(UserError, match="no rules for 'execution-choice'"):
        SEED.render_prompt(choice_problem())


def test_extracted_answers_are_taken_as_they_are():
    text = "assert f(1) == 3"
    for profile in (SEED, CODE, NOTEBOOK):
        assert profile.extract(PROBLEM, reply(text, form="answer")).value == text
    assert PAPER.extract(PROBLEM, reply(text, form="answer")).value == "3"
