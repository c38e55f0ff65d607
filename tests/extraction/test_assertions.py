"""Predicted outputs and inputs: every way of writing the answer, and nothing that only looks like one."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from value_strategies import values

from truegrade.extraction import assertions
from truegrade.extraction.assertions import (
    extract_input,
    extract_input_answer,
    extract_output,
    extract_output_answer,
    of_another_call,
    parse_arguments,
)
from truegrade.extraction.parsing import Fault, Parser
from truegrade.grading.literals import compare
from truegrade.records import Reason

PROSE = st.sampled_from(
    [
        "",
        "Let's execute it: f adds one, so it's 4 (not 5).",
        "I must use [ANSWER] and [/ANSWER] tags.",
        "First guess:\n[ANSWER]\nassert f(0) == 'wrong'\n[/ANSWER]\nWait.",
        "```python\ndef f(x):\n    assert x == 3, 'no'\n    return x\n```",
        "The prompt ends with `assert f(1) == ??`.",
        "1. {'a': [1\n2. unbalanced ( \" '",
    ]
)


def block(text):
    return f"[ANSWER]{text}[/ANSWER]"


TWELVE = [  # the twelve replies of the notes on execution reasoning, section 4.4, column "truth"
    (block("assert equals([1, 2], (1, 2)) == True"), "equals", "[1, 2], (1, 2)", "True", "block"),
    (block("assert f('w', '))', 7) == 'w))))))))))))'"), "f", "'w', '))', 7", "'w))))))))))))'", "block"),
    (block("assert f(''.join(['A'] * 20)) == 20"), "f", "''.join(['A'] * 20)", "20", "block"),
    (block("assert f(3) == [\n[1, 0],\n[0, 1],\n]"), "f", "3", "[[1, 0], [0, 1]]", "block"),
    (
        block("dsl_prog_2(a1=[3, 0, 4, 2]) == [-2, 0, -2, -2]"),
        "dsl_prog_2",
        "[3, 0, 4, 2]",
        "[-2, 0, -2, -2]",
        "block",
    ),
    ("I must use [ANSWER] and [/ANSWER] tags.\n" + block("assert f(1) == 7"), "f", "1", "7", "block"),
    (block("assert f(1) == 6") + " Wait, I miscounted. " + block("assert f(1) == 7"), "f", "1", "7", "block"),
    ("[ANSWER] assert f(1) == 1 [", "f", "1", "1", "open_block"),
    (
        "First assert f(1) == ?? is given. " + block("assert f(1) == ??\nassert f(1) == 12"),
        "f",
        "1",
        "12",
        "block",
    ),
    (block("assert 12 == f(1)"), "f", "1", "12", "block"),
    ("analysis... [ANSWER] maybe 4 [/ANSWER]assistantfinal" + block("assert f(1) == 5"), "f", "1", "5", "block"),
    ('```\nassert minOperations(s="yz") == 24\n```', "minOperations", '"yz"', "24", "body"),
]


@pytest.mark.parametrize(("reply", "function", "arguments", "value", "found"), TWELVE)
def test_twelve_replies_that_a_regex_gets_wrong(reply, function, arguments, value, found):
    answer = extract_output(reply, function, arguments)
    assert answer.value is not None
    assert compare(value, answer.value).repr_exact
    assert answer.found == found


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("assert (f(1) == 5)", "5"),
        ("assert (f(1)) == (5)", "5"),
        ("assert f(1) == 5, 'should be 5'", "5"),
        ("assert (f(1) == 5, 'inside the parentheses')", "5"),
        ("assert f(1) is None", "None"),
        ("f(1) is True", "True"),
        ("assert f(1) == 5. That is it", "5"),
        ("assert f(1) == 5 (as it adds four)", "5"),
        ("assert f(1) == 'a'. Done", "'a'"),
        ("assert f(1) == 5  # done", "5"),
        ("assert f(1) == 5; print('x')", "5"),
        ("assert f(1) == [1,\n # one\n 2]\nbecause", "[1,\n # one\n 2]"),
        ("assert f(1) == \\\n  5", "5"),
        ("assert f(1) == ('a'\n  'b')", "('a'\n  'b')"),
        ("assert f(\n    1\n) == 5", "5"),
        ("`assert f(1) == 5`", "5"),
        ("**assert f(1) == 5**", "5"),
        ("```python\nassert f(1) == 5\n```", "5"),
        ("assert Solution().f(1) == 5", "5"),
        ("assert f(1) == -inf", "-inf"),
        ("assert f(1) == set()", "set()"),
        ("assert f(1) == float('nan')", "float('nan')"),
        ("assert f(1) == (1 + 2j)", "1 + 2j"),
        ("assert f(1) == 'it\\'s == fine'", "'it\\'s == fine'"),
        ("assert f(2) == 9\nassert f(1) == 5", "5"),
        ("assert f(1) == 5\nassert f(2) == 9", "5"),
        ("assert g(1) == 9\nf(1) == 5", "5"),
        ("So f(1) == 5 holds", "5"),
        ("== 5", "5"),
        ("5", "5"),
        ("\n[1, 2]\n", "[1, 2]"),
    ],
)
def test_accepted_ways_of_writing(text, value):
    answer = extract_output(block(text), "f", "1")
    assert (answer.value, answer.reason) == (value, None)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"\boxed{4}", "4"),
        (r"$\boxed{4}$", "4"),
        (r"\[\boxed{{1: 2}}\]", "{1: 2}"),
        (r"assert f(1) == \boxed{4}", "4"),
        ("f(1) = 4", "4"),
        ("f(1) -> 4", "4"),
        ("f(1) → 4", "4"),
        ("f(1) => 4", "4"),
        ("assert f(1) = 4", "4"),
        ("f(1) = 4, 5", "(4, 5)"),
        ("assert f(1) == “abc”", '"abc"'),
        ("assert f(1) == ‘abc’", "'abc'"),
        ("[”a”, “it’s”]", '["a", "it’s"]'),
        ("[“a”, 'say “b”']", "[\"a\", 'say “b”']"),
        ("assert f(1)\u00a0==\u00a04", "4"),
        ("[1,\u202f'\u00a0']", "[1, '\u00a0']"),
        ("\ufeff4", "4"),
        ("assert f(1) == \u22125", "-5"),
        ("assert f(1) == math.inf", "inf"),
        ("[-np.inf, math.nan, 'math.inf']", "[-inf, nan, 'math.inf']"),
    ],
)
def test_spellings_that_python_does_not_read(text, value):
    answer = extract_output(block(text), "f", "1")
    assert (answer.value, answer.reason) == (value, None)
    assert answer.found.endswith(":respelled")
    assert extract_output_answer(text, "f").value is None, "text that was extracted by others is read as it is"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("assert f(1) == 1, 2", "(1, 2)"),
        ("f(1) == 1, [2,\n3], 'x'", "(1, [2,\n3], 'x')"),
        ("f(1) == 'a', 'b'", "('a', 'b')"),
        ("assert f(1) == 'a', 'b'", "'a'"),
        ("assert f(1) == 1, '2'", "1"),
        ("assert f(1) == 1, f'got {2}'", "1"),
        ("f(1) == 1, 2 steps later", "1"),
        ("f(1) == 1, so 2", "1"),
        ("assert (f(1) == 1), 2", "1"),
        ("assert f(2) == 1, f(1) == 2", "1"),
    ],
)
def test_a_tuple_without_parentheses_is_no_message(text, value):
    assert extract_output(block(text), "f", "1").value == value


@pytest.mark.parametrize("marker", ["</think>", "assistantfinal", "<|channel|>final<|message|>", "<|im_end|>"])
def test_a_marker_in_a_value_ends_nothing(marker):
    quoted = repr(f"a{marker}b")
    for written in (f"assert f({quoted}) == 4", f"assert f({quoted}) == 4, 'because'", f"f({quoted}) == 4"):
        reply = f"<think>f({quoted}) is [ANSWER] 5?</think>{block(written)}"
        assert extract_output(reply, "f", quoted).value == "4"
        assert extract_input(reply, "f").value == quoted
    assert extract_output(f"it's 5.</think>\n{block(quoted)}", "f", "1").value == quoted
    assert extract_output(quoted, "f", "1").value == quoted


def test_values_of_any_number_of_digits_and_of_any_depth_that_python_reads():
    for value in ("9" * 4301, "-" + "9" * 40_000, "[" * 200 + "]" * 200, "{1:" * 190 + "2" + "}" * 190):
        for text in (value, f"assert f(1) == {value}"):
            answer = extract_output(block(text), "f", "1")
            assert answer.value == value
            assert compare(value, answer.value).repr_exact
            assert not compare(f"[{value}, 0]"[: len(value)], value).python_eq
        assert extract_output_answer(f"assert f(1) == {value}", "f").value == value
        arguments = extract_input(block(f"assert f({value[1:-1]}) == 1"), "f").value
        assert arguments == value[1:-1] or value.startswith("{")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("assert f(1) == 0 or 1", Reason.NOT_LITERAL),
        ("assert f(1) == 3 or True", Reason.NOT_LITERAL),
        ("assert f(1) == f(1)", Reason.NOT_LITERAL),
        ("assert f(1) == f (1)", Reason.NOT_LITERAL),
        ("assert f(1) == (lambda: 1)()", Reason.NOT_LITERAL),
        ("assert f(1) == __import__('os').system('true')", Reason.NOT_LITERAL),
        ("assert f(1) == 'a' + str(1)", Reason.NOT_LITERAL),
        ("assert f(1) == 5 == 5", Reason.NOT_LITERAL),
        ("assert f(1) == 5 if x else 6", Reason.NOT_LITERAL),
        ("assert not f(1) == 5", Reason.NOT_LITERAL),
        ("assert f(1) != 5", Reason.NOT_LITERAL),
        ("assert f(1) == ...", Reason.NOT_LITERAL),
        ("f(1)", Reason.NOT_LITERAL),
        ("0 or 1", Reason.NOT_LITERAL),
        ("assert f(1) == ??", Reason.NO_ANSWER),
        ("assert f(1) == [1, 2", Reason.NO_ANSWER),
        ("I cannot tell", Reason.NO_ANSWER),
        ("and", Reason.NO_ANSWER),
        ("", Reason.NO_ANSWER),
        ("f(2) = 4", Reason.NO_ANSWER),
        ("f(1) = 4 + 1", Reason.NOT_LITERAL),
        ("assert f(1) == ‘don’t’", Reason.NO_ANSWER),
        ("Counter({'a': 1})", Reason.NOT_LITERAL),
        ("assert f(1) == [" + "1," * 60_000 + "]", Reason.EXTRACTION_LIMIT),
        ("'" + "a" * 100_001 + "'", Reason.EXTRACTION_LIMIT),
        ("assert f(1) == '" + "a" * 100_001 + "'", Reason.EXTRACTION_LIMIT),
        ("[" * 201 + "]" * 201, Reason.EXTRACTION_LIMIT),
        ("assert f(1) == " + "[" * 201 + "]" * 201, Reason.EXTRACTION_LIMIT),
    ],
)
def test_no_answer_has_a_reason(text, reason):
    answer = extract_output(block(text), "f", "1")
    assert (answer.value, answer.reason) == (None, reason)


@pytest.mark.parametrize(
    ("reply", "value", "found"),
    [
        (block("assert f(1) == 5") + block("assert f(2) == 9"), "5", "block"),
        (block("assert f(7) == 5") + block("assert f(8) == 9"), "9", "other_call"),
        (block("assert f(n=1) == 5") + block("assert f(8) == 9"), "5", "block"),
        (block("5") + block("assert g(1) == 9"), "5", "bare"),
        (block("assert g(1) == 5") + block("assert g(2) == 9"), "5", "other_fn"),
        (block("x y z") + "assert f(1) == 5", "5", "body"),
        ("assert f(1) == 5\n[/ANSWER]\n[PYTHON]\n...\n" + block("assert f(2) == 9"), "5", "block"),
        ("[ANSWER]\n[1, 2]\n[/ANS", "[1, 2]", "open_block"),
        ("[answer]assert f(1) == 5[/Answer]", "5", "block"),
        ("[ANSWER] [ANSWER]assert f(1) == 5[/ANSWER]", "5", "block"),
        ("so assert f(1) == 4, no: assert f(1) == 5.", "5", "body"),
        ("**assert f(1) == 5** the end", "5", "body"),
        ("assert g(1) == 5", "5", "other_fn"),
        ("5", "5", "bare"),
    ],
)
def test_which_of_several_answers_counts(reply, value, found):
    answer = extract_output(reply, "f", "1")
    assert (answer.value, answer.found) == (value, found)


RIGHT = block("assert f(2) == [2, 5]")
WAIT = "\nNo wait, that is wrong.\n"
UNREAD = [  # what a last block says of f(2), and why it is no answer
    ("assert f(2) == [2, 2 + 3]", Reason.NOT_LITERAL),
    ("assert f(2) == sorted([2, 5])", Reason.NOT_LITERAL),
    ("assert f(2) == [2, 5] or True", Reason.NOT_LITERAL),
    ("assert f(2) != [2, 5]", Reason.NOT_LITERAL),
    ("assert f(2) == TypeError", Reason.NOT_LITERAL),
    ("assert f(2) == [2, ...]", Reason.NOT_LITERAL),
    ("assert f(x=2) == 2 + 3", Reason.NOT_LITERAL),
    ("f(2) -> [2, 2 + 3]", Reason.NOT_LITERAL),
    ("[2, 2 + 3]", Reason.NOT_LITERAL),
    ("assert f(2) == [2, 5", Reason.NO_ANSWER),
    ("assert f(2) == [2, 5))", Reason.NO_ANSWER),
    ("assert f(2) == '[2, 5]", Reason.NO_ANSWER),
    ("assert f(2 == [2, 5]", Reason.NO_ANSWER),
    ("assert f(2) raises TypeError", Reason.NO_ANSWER),
    ("f(2) raises TypeError", Reason.NO_ANSWER),
    ("raises TypeError", Reason.NO_ANSWER),
    ("TypeError", Reason.NO_ANSWER),
    ("with pytest.raises(TypeError):\n    f(2)", Reason.NO_ANSWER),
    ("assert f(2) == ??", Reason.NO_ANSWER),
    ("assert f(x=2) == ??", Reason.NO_ANSWER),
    ("```python\nassert f(2) == ??\n```", Reason.NO_ANSWER),
    ("f(2) -> ??", Reason.NO_ANSWER),
    ("f(2) = ??", Reason.NO_ANSWER),
    ("??", Reason.NO_ANSWER),
    ("assert f(2)", Reason.NO_ANSWER),
    ("assert f(2) ==", Reason.NO_ANSWER),
    ("[2, 5", Reason.NO_ANSWER),
    ("\n\n", Reason.NO_ANSWER),
    ("\n```\n```\n", Reason.NO_ANSWER),
    ("\nI am not sure\n", Reason.NO_ANSWER),
    ("assert f(2) == [" + "1," * 60_000 + "]", Reason.EXTRACTION_LIMIT),
    ("assert f(2) == " + "[" * 201 + "]" * 201, Reason.EXTRACTION_LIMIT),
]


@pytest.mark.parametrize(("last", "reason"), UNREAD)
@pytest.mark.parametrize("closed", [True, False], ids=["closed", "left open"])
def test_a_last_block_on_the_asked_call_that_cannot_be_read_is_no_answer(last, reason, closed):
    reply = f"{RIGHT}{WAIT}{block(last) if closed else f'[ANSWER]{last}'}"
    answer = extract_output(reply, "f", "2")
    if not closed and not last.strip():
        assert answer.value == "[2, 5]", "a tag at the end of a reply is not yet a block"
    else:
        assert (answer.value, answer.reason) == (None, reason)


@pytest.mark.parametrize(("last", "reason"), [pair for pair in UNREAD if pair[0].startswith(("assert", "f("))])
def test_neither_is_a_last_assertion_in_one_block_or_without_any(last, reason):
    together = extract_output(block(f"assert f(2) == [2, 5]{WAIT}{last}"), "f", "2")
    without = extract_output(f"assert f(2) == [2, 5]{WAIT}{last}", "f", "2")
    if last.startswith("f(") or "f(2 ==" in last:  # beside an assertion, only assertions count
        assert together.value == without.value == "[2, 5]"
    else:
        assert (together.value, without.value) == (None, None)
        assert together.reason == without.reason == reason


@pytest.mark.parametrize(
    ("last", "value"),
    [
        ("assert f(2) == [2, 6]", "[2, 6]"),
        ("f(2) = [2, 6]", "[2, 6]"),
        ("f(2) → [2, 6]", "[2, 6]"),
        ("[2, 6]", "[2, 6]"),
        ("None", "None"),
        ("assert f(2) == ‘2’", "'2'"),
        ("assert f(3) == ??", "[2, 5]"),
        ("assert f(3) == [3, 3 + 3]", "[2, 5]"),
        ("assert f(3) == [3, 6]", "[2, 5]"),
        ("assert g(2) == 7", "[2, 5]"),
        ("assert g(2) == ??", "[2, 5]"),
        ("assert g(2) == [1, 2", "[2, 5]"),
        ("g(2) == 1 + 1", "[2, 5]"),
        ("g(2) -> ??", "[2, 5]"),
        (" and ", "[2, 5]"),
        ("", "[2, 5]"),
        ("...", "[2, 5]"),
        ("\n...\n", "[2, 5]"),
        ("your answer", "[2, 5]"),
    ],
)
def test_what_a_last_block_says_of_the_asked_call_counts_and_nothing_else(last, value):
    assert extract_output(f"{RIGHT}{WAIT}{block(last)}", "f", "2").value == value


def test_what_a_base_model_invents_behind_its_answer_takes_nothing_back():
    example = "\n[PYTHON]\ndef f(x):\n    return x\nassert f(9) == ??\n[/PYTHON]\n"
    for last in ("7", "[1, 2", "??", "assert f(9) == 3", "assert f(9) == [1", "assert g(1) == 2 + 3", "\n\n"):
        for end in (block(last), f"[ANSWER]{last}"):
            assert extract_output(f"{RIGHT}{example}{end}", "f", "2").value == "[2, 5]", (last, end)
            assert extract_output(f"{block('[2, 5]')}{example}{end}", "f", "2").value in {"[2, 5]", "7", "3"}
    assert extract_output(f"{block('5')}{block('[2, 2 + 3')}{example}{block('??')}", "f", "2").value is None


def test_a_text_that_quotes_a_call_is_a_value():
    for text in ("'i f (x) {y = 1;}'", "['f(2)', 'f(']", "'f(3) raises'"):
        for reply in (text, block(text), f"{RIGHT}{block(text)}"):
            assert extract_output(reply, "f", "2").value == text


def test_a_tag_that_a_call_or_a_value_quotes_ends_no_block():
    for quoted in ("'[ANSWER]'", "'[/ANSWER]'", "'a [ANSWER] 1 [/ANSWER] b'", "'[PYTHON]'"):
        for arguments, value in ((quoted, "5"), ("2", quoted), (quoted, quoted)):
            reply = f"[ANSWER]\nassert f({arguments}) == {value}\n[/ANSWER]"
            assert extract_output(reply, "f", arguments).value == value
            assert extract_input(reply, "f").value == arguments
            wrong = f"{reply}{WAIT}{block(f'assert f({arguments}) == 1 + 1')}"
            assert extract_output(wrong, "f", arguments).value is None, wrong


def test_words_behind_a_block_are_not_read():
    assert extract_output(f"{RIGHT} No wait, it is [2, 6].", "f", "2").value == "[2, 5]"


@pytest.mark.parametrize(
    ("reply", "function", "found"),
    [
        (block("assert f(x=3) == 5"), "f", "other_call"),
        (block("assert f(3) == 5"), "f", "other_call"),
        (block("assert g(x=2) == 5"), "f", "other_fn"),
        ("[ANSWER]assert f(3) == 5", "f", "other_call"),
        ("assert f(3) == 5", "f", "other_call"),
        ("assert g(2) == 5", "f", "other_fn"),
        (block("assert f(x=3) == ‘5’"), "f", "other_call:respelled"),
    ],
)
def test_a_value_of_another_call_says_so(reply, function, found):
    answer = extract_output(reply, function, "x=2")
    assert answer.found == found and of_another_call(answer)
    assert not of_another_call(extract_output(reply.replace("3)", "2)").replace("g(", "f("), function, "x=2"))


def test_a_value_that_was_extracted_already_says_of_which_call_it_is():
    asked = ("f", "2")
    for text, found in (("assert f(2) == 5", "equality"), ("f(x=2) == 5", "equality"), ("5", "bare"),
                        ("f(3) == 5", "other_call"), ("g(2) == 5", "other_fn")):  # fmt: skip
        assert extract_output_answer(text, asked=asked).found == found


def test_a_tag_inside_the_value_does_not_lose_it():
    assert extract_output(block("assert f(1) == 'a [ANSWER] b'"), "f", "1").value == "'a [ANSWER] b'"


def test_keywords_name_the_asked_call_in_any_order():
    reply = block("assert f(b=2, a=1) == 'right'") + block("assert f(a=2, b=1) == 'wrong'")
    assert extract_output(reply, "f", "a=1, b=2").value == "'right'"


def test_thinking_that_was_cut_off_is_truncation():
    answer = extract_output("<think>assert f(1) == 5", "f", "1")
    assert (answer.value, answer.reason) == (None, Reason.TRUNCATED)


@given(values(), values(), PROSE, PROSE)
@example(1, "assert f(1) == 2", "", "")
@example("f(1) == 2", "x", "", "")
def test_a_perfect_answer_is_always_recovered(argument, value, before, after):
    reply = f"{before}\n[ANSWER]\nassert f({argument!r}) == {value!r}\n[/ANSWER]\n{after}"
    answer = extract_output(reply, "f", repr(argument))
    if after.startswith("First guess"):  # a later block answers another call
        assert answer.found == "block"
    assert answer.value is not None
    assert compare(repr(value), answer.value).repr_exact


@given(values(), values())
def test_a_perfect_input_is_always_recovered(argument, value):
    answer = extract_input(f"[ANSWER]\nassert f({argument!r}, k={value!r}) == 1\n[/ANSWER]", "f")
    assert answer.value is not None
    (positional,), keywords = parse_arguments(answer.value)
    assert compare(repr(argument), repr(positional)).repr_exact
    assert compare(repr(value), repr(keywords["k"])).repr_exact


@pytest.mark.parametrize(
    ("reply", "value", "found"),
    [
        (block("assert f(16) == 17"), "16", "block"),
        (block('assert f("ba", "na)na") == "banana"'), '"ba", "na)na"', "block"),
        (block("f([1, (2)])"), "[1, (2)]", "block"),
        (block("assert 17 == f(16)"), "16", "block"),
        (block("assert f() == 17"), "", "block"),
        (block("assert Solution().f(16) == 17"), "16", "block"),
        (block("assert f(15) == 17") + "no: " + block("assert f(16) == 17"), "16", "block"),
        (
            "assert f(16) == 17\n[/ANSWER]\n[PYTHON]\nassert f(??) == 2\n[/PYTHON]\n" + block("assert f(1) == 2"),
            "16",
            "block",
        ),
        (
            "[ANSWER] and [/ANSWER] tags, [PYTHON] def f(x): [/PYTHON]\n" + block("assert f(16) == 17"),
            "16",
            "block",
        ),
        ("[ANSWER]assert f(16) == 17", "16", "open_block"),
        ("def f(x):\n    return x\nso `f(16)` gives 17", "16", "body"),
    ],
)
def test_inputs_from_replies(reply, value, found):
    answer = extract_input(reply, "f")
    assert (answer.value, answer.found) == (value, found)


@pytest.mark.parametrize(
    ("last", "value"),
    [
        ("assert f(15) == 17", "15"),
        ("assert f(g(1)) == 17", None),
        ("assert f(??) == 17", None),
        ("assert f([1 == 17", None),
        ("f(", None),
        ("assert g(2) == 17", "16"),
        ("and", "16"),
        ("", "16"),
    ],
)
def test_the_last_block_that_calls_the_function_decides_the_input(last, value):
    right, example = block("assert f(16) == 17"), "\n[PYTHON]\nassert f(??) == 2\n[/PYTHON]\n"
    for end in (block(last), f"[ANSWER]{last}"):
        assert extract_input(f"{right}{WAIT}{end}", "f").value == value
        assert extract_input(f"{right}{example}{end}", "f").value == "16", "an invented example takes nothing back"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (block("assert f(g(1)) == 17"), Reason.NOT_LITERAL),
        (block("assert f(*[1]) == 17"), Reason.NOT_LITERAL),
        (block("assert f(??) == 17"), Reason.NO_ANSWER),
        (block("none"), Reason.NO_ANSWER),
        ("<think>f(1)", Reason.TRUNCATED),
        ("", Reason.NO_ANSWER),
    ],
)
def test_no_input_has_a_reason(reply, reason):
    answer = extract_input(reply, "f")
    assert (answer.value, answer.reason) == (None, reason)


@pytest.mark.parametrize(
    ("text", "value", "reason"),
    [
        ("'a'", "'a'", None),
        (" `[1]` ", "[1]", None),
        ("assert f(1) == 5", "5", None),
        ("f(1) == 5", "5", None),
        ("assert f(1) == 5, 'x'", "5", None),
        ("f(1)", None, Reason.NOT_LITERAL),
        ("g(1) == 5", None, Reason.NOT_LITERAL),
        ("f(1) == 5 or 6", None, Reason.NOT_LITERAL),
        ("5 is right", None, Reason.NOT_LITERAL),
        ("f(1) == 5 is right", None, Reason.NOT_LITERAL),
        ('"ff!"?', None, Reason.NOT_LITERAL),
        ("'<' * 10", None, Reason.NOT_LITERAL),
        ("", None, Reason.NO_ANSWER),
    ],
)
def test_outputs_already_extracted(text, value, reason):
    answer = extract_output_answer(text, "f")
    assert (answer.value, answer.reason) == (value, reason)


@pytest.mark.parametrize(
    ("text", "value", "reason"),
    [
        ("f(1, x='a')", "1, x='a'", None),
        ("assert f(1) == 5", "1", None),
        ("f(1) == 5", "1", None),
        ("[1, 2]", "[1, 2]", None),
        ("1, 2", "1, 2", None),
        ("g(1)", None, Reason.NOT_LITERAL),
        ("f(x)", None, Reason.NOT_LITERAL),
        ("f(1", None, Reason.NOT_LITERAL),
        ("", None, Reason.NO_ANSWER),
    ],
)
def test_inputs_already_extracted(text, value, reason):
    answer = extract_input_answer(text, "f")
    assert (answer.value, answer.reason) == (value, reason)


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("", ((), {})),
        ("1, 'a)'", ((1, "a)"), {})),
        ("1, k=[2], # done", ((1,), {"k": [2]})),
        ("k=1, k=2", None),
        ("*[1]", None),
        ("**{'a': 1}", None),
        ("x", None),
        ("1)(2", None),
        ("1), f(2", None),
        ("1, ...", None),
    ],
)
def test_arguments_are_literals_only(text, parsed):
    assert parse_arguments(text) == parsed


@given(
    st.text()
    | st.lists(
        st.sampled_from(["[ANSWER]", "[/ANSWER]", "assert ", "f(1)", " == ", "5", "\n", "(", "'", "**", "or "])
    ).map("".join)
)
def test_any_text_gives_an_answer_or_a_reason(text):
    for answer in (
        extract_output(text, "f", "1"),
        extract_output(text, text, text),
        extract_input(text, "f"),
        extract_output_answer(text),
        extract_input_answer(text),
    ):
        assert (answer.value is None) == (answer.reason is not None)
        assert answer.form == "answer"


def test_all_cruxeval_truths_score_full_marks(data_dir):
    rows = [json.loads(line) for line in (data_dir / "cruxeval.jsonl").read_text("utf-8").splitlines()]
    for row in rows:
        reply = f"[ANSWER]\nassert f({row['input']}) == {row['output']}\n[/ANSWER]"
        answer = extract_output(reply, "f", row["input"])
        assert answer.found == "block", row["id"]
        assert compare(row["output"], answer.value).repr_exact, row["id"]
    assert len(rows) == 800


def test_published_generations_get_their_published_verdicts(data_dir):
    folder = data_dir / "cruxeval_codellama7b"
    generations = json.loads((folder / "output_generations.json").read_text("utf-8"))
    published = json.loads((folder / "output_scored.json").read_text("utf-8"))["raw_scored_generations"]
    lines = (data_dir / "cruxeval.jsonl").read_text("utf-8").splitlines()
    truths = {row["id"]: row["output"] for row in map(json.loads, lines)}
    compared = 0
    for name, texts in generations.items():
        ours = []
        for text in texts:
            answer = extract_output_answer(text, "f")
            ours.append(answer.value is not None and compare(truths[name], answer.value).python_eq)
        assert ours == published[name], name
        compared += len(ours)
    assert compared == 8000


_BEHIND = st.sampled_from(
    ["", ", 2", ", 'no'", ", 2, 3", " # no", "\n", "; 1", ".", " or 1", " if x else 2", ")", " == 1", "\r"]
)
_VALUES = st.sampled_from(
    ["1", "5.", "-0.0", "[1, 2]", "'a' 'b'", "'== ='", "(yield)", "(yield 1)", "(await x)", "f'{x}'", "{**a}",
     "'é'", "(x := 1)", "[y async for y in z]", "lambda: 1", "float('nan')", "???", "...", "{1: 2}", "g(x=1, x=1)"]
)  # fmt: skip
_WORDS = st.sampled_from(["assert ", "assert", "assert\r", "assert\t", "assert ("])
_ASSERTIONS = st.one_of(
    st.tuples(_WORDS, st.just("f(1) == "), _VALUES, _BEHIND),
    st.tuples(_WORDS, _VALUES, st.just(" == f(1)"), _BEHIND),
).map("".join)


@given(_ASSERTIONS)
@example("assert f(1) == 1, 2, 3")
@example("assert f((yield)) == 1")
@example("assert f([y async for y in z]) == 1")
@example("assert f(x=1, x=1) == 1")
@example("assert\rf(1) == 1")
def test_an_assertion_that_is_only_parsed_is_read_as_one_that_is_compiled_too(text):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assertions, "_parsing_decides", lambda _: False)
        compiled = assertions._output_answer(text, "f", ("f", "1"))
    assert assertions._output_answer(text, "f", ("f", "1")) == compiled
    assert extract_output_answer(text, "f", ("f", "1")) == compiled
    assert Parser().is_module(text) == (not isinstance(Parser().module(text), Fault))
