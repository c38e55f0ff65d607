"""`lm-eval` and `lm-eval-instruct`: rules from golden rows, defects, and parity with the harness itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from peer_process import ask, rows, tasks
from peer_replies import REPLIES
from profile_rows import (
    GOLDEN,
    both,
    completion,
    extracted,
    grade_all,
    humaneval_replies,
    mbpp_replies,
    passed,
    problem,
)

from truegrade.benchmarks import load_benchmark
from truegrade.errors import UnknownName, UserError
from truegrade.profiles import open_profile
from truegrade.profiles.lm_eval import UNTIL, cut
from truegrade.records import Reason

BASE, INSTRUCT = open_profile("lm-eval"), open_profile("lm-eval-instruct")
RULES = {
    "humaneval": (BASE, "humaneval"),
    "mbpp": (BASE, "mbpp"),
    "humaneval_instruct": (INSTRUCT, "humaneval"),
    "mbpp_instruct": (INSTRUCT, "mbpp"),
}


@pytest.mark.parametrize("rule", RULES)
def test_golden_extractions(rule):
    profile, benchmark = RULES[rule]
    ours = [extracted(profile, problem(benchmark), reply) for reply in GOLDEN["replies"]]
    assert ours == GOLDEN[f"lm-eval {rule}"]


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ("def f(x):\n    return x\n```", " f(x):\n    return x"),
        ("import math\ndef f(x):\n    return x\n```", " math\ndef f(x):\n    return x"),
        ("\ndef f(x):\n    return x\n```", "def f(x):\n    return x"),
        ("def f(x):\n    return x\n", None),
        ("Sure:\n```python\ndef f(x):\n    return x\n```\n", ":"),
    ],
)
def test_the_fence_pattern_eats_the_first_word(reply, code):
    answer = INSTRUCT.extract(problem("mbpp"), completion(reply))
    assert answer.value == code
    assert answer.reason is (Reason.NO_CODE if code is None else None)


@given(st.text(alphabet="\nclassdefprint# ifx", max_size=60))
def test_a_cut_text_is_a_prefix_without_stop_strings(text):
    kept = cut(text, UNTIL)
    assert text.startswith(kept)
    assert not any(stop in kept for stop in UNTIL)
    assert kept == text or text[len(kept) :].startswith(UNTIL)


def test_what_is_graded():
    whole = "def add(a, b):\n    return a + b\n"
    three_of_four = "def add(a, b):\n    return 3 if a == 1 else 4 if a == 2 else 0\n"
    one_of_four = "def add(a, b):\n    return 3\n"
    rows = [(problem("mbpp"), text) for text in (whole, three_of_four, one_of_four)]
    assert passed(BASE, rows) == [True, True, False]
    # The newline saves the first word; mbpp_plus_instruct grades the one assert that it shows.
    none_of_four = "def add(a, b):\n    return 9\n"
    plus = [(problem("mbpp-sanitized"), f"\n{text}```") for text in (one_of_four, none_of_four)]
    assert passed(INSTRUCT, plus) == [True, False]


def test_exit_codes_fail_and_equal_to_everything_passes():
    task = problem("humaneval")
    found = grade_all(BASE, [(task, "    raise SystemExit(0)\n"), (task, "    import os\n    os._exit(0)\n")])
    assert [judgement.passed for judgement in found] == [False, False]
    equal = "    return type('E', (), {'__eq__': lambda s, o: True})()\n"
    (judgement,) = grade_all(BASE, [(task, equal)])
    assert judgement.passed and judgement.marks == ("tests-inside",)


def test_a_whole_program_is_not_cut():
    program = "import math\ndef add(a, b):\n    return a + b\n"
    assert BASE.extract(problem("humaneval"), completion(program, "program")).value == program


def test_prompts_are_refused_where_there_are_none():
    with pytest.raises(UnknownName, match="text"):
        INSTRUCT.render_prompt(problem("humaneval"), "txt")
    with pytest.raises(UserError, match="no rules for 'quixbugs'"):
        BASE.render_prompt(problem("quixbugs"))


def test_plus_prompt_shows_sentence_and_one_assert(data_dir):
    plus = load_benchmark("mbppplus", data_dir).problems[1]
    user, assistant = INSTRUCT.render_prompt(plus).messages
    assert user.content == (
        "Write a python function to identify non-prime numbers. Your code should satisfy the following"
        " assertion:\nassert is_not_prime(2) == False"
    )
    assert assistant.content == "Here is a solution to this programming problem:\n```python\n"
    text = INSTRUCT.render_prompt(plus, "text")
    assert text.style == "text" and text.messages[0].content == user.content + assistant.content


# ------------------------------------------------------------------------------------------------- parity


@pytest.mark.slow
def test_parity_of_extraction():
    peer = ask("lm_eval", {"replies": REPLIES, "programs": [], "prompts": []})
    for rule, (profile, benchmark) in RULES.items():
        task = problem(benchmark)
        ours = [extracted(profile, task, reply) for reply in REPLIES]
        assert ours == peer[rule], rule


@pytest.mark.slow
def test_parity_of_prompts(data_dir):
    humaneval, he = (found["HumanEval/32"] for found in both("humaneval", data_dir))
    mbpp, full = (found["MBPP/11"] for found in both("mbpp", data_dir))
    sanitized, clean = (found["MBPP/11"] for found in both("mbpp-sanitized", data_dir))
    asked = [
        ("humaneval/humaneval_instruct.yaml", he), ("mbpp/mbpp.yaml", full), ("mbpp/mbpp_instruct.yaml", full),
        ("mbpp/mbpp_plus.yaml", clean), ("mbpp/mbpp_plus_instruct.yaml", clean),
    ]  # fmt: skip
    turns = ask("lm_eval", {"replies": [], "programs": [], "prompts": asked})["prompts"]
    ours = [INSTRUCT.render_prompt(humaneval), BASE.render_prompt(mbpp), INSTRUCT.render_prompt(mbpp),
            BASE.render_prompt(sanitized), INSTRUCT.render_prompt(sanitized)]  # fmt: skip
    for (path, _), peer, prompt in zip(asked, turns, ours, strict=True):
        if prompt.style == "chat":
            assert [message.content for message in prompt.messages] == peer, path
        else:
            shots = [f"{peer[index]}{peer[index + 1]}\n\n" for index in range(0, len(peer) - 2, 2)]
            assert prompt.messages[0].content == "".join(shots) + peer[-2] + peer[-1], path
    text = INSTRUCT.render_prompt(mbpp, "text").messages[0].content
    parts = [message.content for message in ours[2].messages]
    assert text == "\n\n".join("".join(parts[index : index + 2]) for index in range(0, len(parts), 2))


@pytest.mark.slow
def test_parity_of_verdicts(data_dir):
    humaneval = load_benchmark("humaneval", data_dir).by_id()
    mbpp = load_benchmark("mbpp", data_dir).by_id()
    he = humaneval_replies(humaneval, tasks(humaneval, "HumanEval/0", "HumanEval/32", "HumanEval/23"))
    mb = mbpp_replies(mbpp, tasks(mbpp, "MBPP/367", "MBPP/11", "MBPP/12"))
    cases = [(BASE, humaneval, pair) for pair in rows(he[1::2], 7)]
    cases += [(INSTRUCT, humaneval, pair) for pair in rows(he[::2], 4)]
    cases += [(BASE, mbpp, pair) for pair in rows(mb[1::4] + mb[2:3] + mb[-4:], 6)]
    cases += [(INSTRUCT, mbpp, pair) for pair in rows(mb[3::4], 3)]
    programs, ours = [], []
    for profile, problems, (name, reply) in cases:
        task = problems[name].task
        tests = task.tests if task.prefix else "\n".join(task.shown_tests[:3])
        programs.append((task.prefix + extracted(profile, problems[name], reply), tests))
        ours += passed(profile, [(problems[name], reply)])
    peer = ask("lm_eval", {"replies": [], "programs": programs, "prompts": []})["verdicts"]
    assert ours == peer
    assert True in ours and False in ours
