"""`simple-evals`: golden rows, its search for the first body, and parity with the harness itself."""

import json
from pathlib import Path

import pytest
from peer_process import ask, rows, tasks
from peer_replies import REPLIES, fenced
from profile_rows import both, completion, extracted, grade_all, humaneval_replies, passed, problem

from truegrade.errors import UserError
from truegrade.profiles import open_profile

PROFILE = open_profile("simple-evals")
GOLDEN = json.loads(Path(__file__).with_name("golden_cuts.json").read_text())
"""What the harness itself (simple-evals@ee3b031) cut out of a selection of replies."""


def test_golden_extractions():
    ours = [extracted(PROFILE, problem("humaneval"), reply) for reply in GOLDEN["replies"]]
    assert ours == GOLDEN["simple-evals"]


@pytest.mark.parametrize(
    ("reply", "body"),
    [
        ("def add(a, b):\n    return a + b\n", "    return a + b\n"),
        ("```python\ndef add(a, b):\n    return a + b\n```", "    return a + b\n"),
        ("    return a + b\n", "   return a + b\n"),
        ("```\ndef add(a, b):\n    return a + b\n```", "    return a + b\n```"),
        ("```python\nimport math\nK = 1\ndef add(a, b):\n    return K\n```", "    return K\n"),
        ("def add(a, b):\n\treturn a + b\n", "ef add(a, b):\n\treturn a + b\n"),
        ("Like this:\n    def add(a, b):\n        return a\n", "    def add(a, b):\n        return a\n"),
        ("```python\ndef add(a, b):\n    return a", "    return a"),
        ("", ""),
    ],
)
def test_the_head_is_cut_off(reply, body):
    assert extracted(PROFILE, problem("humaneval"), reply) == body


def test_right_answers_it_loses_and_strict_keeps():
    helper = fenced("def plus(a, b):\n    return a + b\n\n\ndef add(a, b):\n    return plus(a, b)\n")
    imports = fenced("import math\n\n\ndef add(a, b):\n    return int(math.fsum([a, b]))\n")
    task = problem("humaneval")
    replies = [(task, helper), (task, imports), (task, "```python\ndef add(a, b): return a + b\n```")]
    assert passed(PROFILE, replies) == [False, False, False]
    assert passed(open_profile("strict"), replies) == [True, True, True]


def test_exit_codes_fail_and_equal_to_everything_passes():
    equal = "def add(a, b):\n    return type('E', (), {'__eq__': lambda s, o: True})()\n"
    leaving = ["def add(a, b):\n    raise SystemExit(0)\n", "def add(a, b):\n    import os\n    os._exit(0)\n"]
    found = grade_all(PROFILE, [(problem("humaneval"), reply) for reply in (*leaving, equal)])
    assert [judgement.passed for judgement in found] == [False, False, True]
    assert found[2].marks == ("tests-inside",)


def test_a_whole_program_is_not_cut():
    program = "def add(a, b):\n    return a + b\n"
    assert PROFILE.extract(problem("humaneval"), completion(program, "program")).value == program


def test_other_benchmarks_are_refused():
    with pytest.raises(UserError, match="it covers function"):
        PROFILE.render_prompt(problem("mbpp"))


# ------------------------------------------------------------------------------------------------- parity


@pytest.mark.slow
def test_parity_of_extraction():
    peer = ask("simple_evals", {"replies": REPLIES, "sample": {"prompt": ""}, "rows": []})
    assert [extracted(PROFILE, problem("humaneval"), reply) for reply in REPLIES] == peer["cuts"]


@pytest.mark.slow
def test_parity_of_prompts_and_verdicts(data_dir):
    problems, stored = both("humaneval", data_dir)
    ids = tasks(problems, "HumanEval/0", "HumanEval/32", "HumanEval/23")
    cases = rows(humaneval_replies(problems, ids), 20)
    peer = ask(
        "simple_evals", {"replies": [], "sample": {}, "rows": [(stored[name], reply) for name, reply in cases]}
    )
    assert [PROFILE.render_prompt(problems[name]).messages[0].content for name, _ in cases] == peer["prompts"]
    ours = passed(PROFILE, [(problems[name], reply) for name, reply in cases])
    assert ours == peer["verdicts"]
    assert True in ours and False in ours
