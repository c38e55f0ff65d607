"""`evalscope`: rules from golden rows, defects, and parity with the harness itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from peer_process import ask, rows, tasks
from peer_replies import CHEATS, REPLIES, fenced
from profile_rows import (
    GOLDEN,
    both,
    completion,
    extracted,
    humaneval_replies,
    mbpp_replies,
    passed,
    problem,
)

from truegrade.profiles import open_profile
from truegrade.profiles.evalscope import freeform_code
from truegrade.records import Reason

PROFILE = open_profile("evalscope")
SETUP = {"setup": "import math"}
RULES = {"humaneval": "humaneval", "mbpp": "mbpp", "mbpp_plus": "mbpp-sanitized"}


def ours(rule, replies):
    """Extractions; where the harness goes on with an empty program, its setup is still in front."""
    task = problem(RULES[rule], **({} if rule == "humaneval" else SETUP))
    nothing = "import math\n" if rule == "mbpp" else ""
    return [extracted(PROFILE, task, reply) or nothing for reply in replies]


@pytest.mark.parametrize("rule", RULES)
def test_golden_extractions(rule):
    assert ours(rule, GOLDEN["replies"]) == GOLDEN[f"evalscope {rule}"]


@given(st.text(alphabet="`\n \tadefx():=[DONE]\r#\"'python", max_size=80))
def test_any_text_is_read_and_without_a_fence_the_code_is_part_of_it(text):
    code, found = freeform_code(text)
    assert "\r" not in code
    assert found != "no code" or not code
    if "```" not in text and code:
        assert code.split("\n")[0] in text.replace("\r", "")


def test_what_is_graded():
    whole = "def add(a, b):\n    return a + b\n"
    last_wrong = "def add(a, b):\n    return 9 if (a, b) == (1, 1) else a + b\n"
    task = problem("mbpp")
    rows = [(task, fenced(whole)), (task, fenced(last_wrong)), (task, "no code")]
    assert passed(PROFILE, rows) == [True, False, False]
    assert PROFILE.extract(task, completion("no code")).reason is Reason.NO_CODE


def test_exit_codes_pass_mbpp_and_fail_humaneval():
    names = ("sys.exit(0)", "os._exit(0)", "SystemExit")
    mbpp = [(problem("mbpp"), fenced("def add(a, b):\n" + CHEATS[name])) for name in names]
    assert passed(PROFILE, mbpp) == [True, True, True]
    humaneval = [(problem("humaneval"), CHEATS[name]) for name in names]
    assert passed(PROFILE, humaneval) == [False, False, False]


def test_setup_in_front_fails_the_class_it_needs():
    solution = "class Node:\n    pass\n\ndef add(a, b):\n    return a + b\n"
    needs = {"setup": "root = Node()", "shown_tests": ("assert add(1, 2) == 3 and root",)}
    rows = [(problem(name, **needs), fenced(solution)) for name in ("mbpp", "mbpp-sanitized")]
    assert passed(PROFILE, rows) == [False, False]
    free = {"setup": "root = 1", "shown_tests": ("assert add(1, 2) == 3 and root",)}
    # mbpp_plus leaves the setup out.
    rows = [(problem(name, **free), fenced(solution)) for name in ("mbpp", "mbpp-sanitized")]
    assert passed(PROFILE, rows) == [True, False]


# ------------------------------------------------------------------------------------------------- parity

NOTHING = {"replies": [], "humaneval": [], "mbpp": [], "mbpp_plus": [], "prompts": []}


@pytest.mark.slow
def test_parity_of_extraction():
    peer = ask("evalscope", NOTHING | {"replies": REPLIES})
    for rule in RULES:
        assert ours(rule, REPLIES) == peer[rule], rule


@pytest.mark.slow
def test_parity_of_prompts(data_dir):
    problems, mbpp_rows = both("mbpp", data_dir)
    few_shot, zero_shot = ask("evalscope", NOTHING | {"prompts": [mbpp_rows["MBPP/11"]]})["prompts"]
    mbpp = problems["MBPP/11"]
    assert PROFILE.render_prompt(mbpp).messages[0].content == few_shot
    assert PROFILE.render_prompt(mbpp, "zero-shot").messages[0].content == zero_shot


@pytest.mark.slow
def test_parity_of_verdicts(data_dir):
    humaneval, he_rows = both("humaneval", data_dir)
    mbpp, mbpp_rows = both("mbpp", data_dir)
    clean, clean_rows = both("mbpp-sanitized", data_dir)
    he = humaneval_replies(humaneval, tasks(humaneval, "HumanEval/32", "HumanEval/23"))
    mb = mbpp_replies(mbpp, tasks(mbpp, "MBPP/367", "MBPP/12"))
    sanitized = mbpp_replies(clean, tasks(clean, "MBPP/98", "MBPP/12"))
    he, mb, sanitized = rows(he[4:], 8), rows(mb[:1] + mb[4:], 8), rows(sanitized[:1] + sanitized[4:], 5)
    asked = {
        "humaneval": [(he_rows[name], reply) for name, reply in he],
        "mbpp": [(mbpp_rows[name], reply) for name, reply in mb],
        "mbpp_plus": [(clean_rows[name], reply) for name, reply in sanitized],
    }
    peer = ask("evalscope", NOTHING | asked)
    cases = {"humaneval": (humaneval, he), "mbpp": (mbpp, mb), "mbpp_plus": (clean, sanitized)}
    for rule, (problems, pairs) in cases.items():
        verdicts = passed(PROFILE, [(problems[name], reply) for name, reply in pairs])
        assert verdicts == peer[f"{rule} verdicts"], rule
        assert {True, False} == set(verdicts)
