"""`inspect-evals`: rules from golden rows, defects, and parity with the tasks of that version."""

import pytest
from peer_process import ask, rows, tasks
from peer_replies import CHEATS, REPLIES, fenced
from profile_rows import GOLDEN, both, extracted, humaneval_replies, mbpp_replies, passed, problem, read_rows

from truegrade.profiles import open_profile

PROFILE = open_profile("inspect-evals")
RULES = {"humaneval": "humaneval", "mbpp": "mbpp-sanitized"}


@pytest.mark.parametrize("rule", RULES)
def test_golden_extractions(rule):
    task = problem(RULES[rule])
    assert [extracted(PROFILE, task, reply) for reply in GOLDEN["replies"]] == GOLDEN[f"inspect {rule}"]


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("```python\nimport re\n\ndef f(x):\n    return x\n```", "    return x\n"),
        (
            "def g(a):\n    return a\n\ndef f(x):\n    return g(x)\n",
            "    return a\n\ndef f(x):\n    return g(x)\n",
        ),
        ("return x\n", "eturn x\n"),
        ("    for x in y:\n        pass\n    return x\n", "        pass\n    return x\n"),
    ],
)
def test_the_signature_is_cut_off_and_more(reply, value):
    assert extracted(PROFILE, problem("humaneval"), reply) == value


def test_exit_codes_pass():
    names = ("sys.exit(0)", "os._exit(0)", "SystemExit")
    humaneval = [(problem("humaneval"), fenced("def add(a, b):\n" + CHEATS[name])) for name in names]
    mbpp = [(problem("mbpp-sanitized"), fenced("def add(a, b):\n" + CHEATS[name])) for name in names]
    assert passed(PROFILE, humaneval + mbpp) == [True] * 6


def test_the_first_assert_is_glued_to_the_answer():
    answer = "def add(a, b):\n    return a + b"
    rows = [(problem("mbpp-sanitized"), text) for text in (answer, answer + "\n", fenced(answer))]
    assert passed(PROFILE, rows) == [False, True, True]


# ------------------------------------------------------------------------------------------------- parity


@pytest.mark.slow
def test_parity_of_extraction():
    peer = ask("inspect_evals", {"replies": REPLIES, "humaneval": [], "mbpp_rows": [], "shots": []})
    for rule, benchmark in RULES.items():
        assert [extracted(PROFILE, problem(benchmark), reply) for reply in REPLIES] == peer[rule], rule


@pytest.mark.slow
def test_parity_of_verdicts_and_prompts(data_dir):
    humaneval, he_rows = both("humaneval", data_dir)
    mbpp, mbpp_rows = both("mbpp-sanitized", data_dir)
    ids = tasks(humaneval, "HumanEval/32", "HumanEval/0", "HumanEval/23")
    he = rows(humaneval_replies(humaneval, ids)[4:], 14)
    mb = rows(mbpp_replies(mbpp, tasks(mbpp, "MBPP/98", "MBPP/12")), 12)
    peer = ask("inspect_evals", {
        "replies": [], "shots": read_rows(data_dir / "mbpp.jsonl")[:10],
        "humaneval": [(he_rows[name], reply) for name, reply in he],
        "mbpp_rows": [(mbpp_rows[name], reply) for name, reply in mb],
    })  # fmt: skip
    for problems, pairs, rule in ((humaneval, he, "humaneval"), (mbpp, mb, "mbpp")):
        verdicts = passed(PROFILE, [(problems[name], reply) for name, reply in pairs])
        assert verdicts == peer[f"{rule} verdicts"]
        assert {True, False} == set(verdicts)
    assert [PROFILE.render_prompt(humaneval[name]).messages[0].content for name, _ in he] == peer["prompts"]
    assert [PROFILE.render_prompt(mbpp[name]).messages[0].content for name, _ in mb] == peer["mbpp prompts"]
