"""`agentcoder`: rules from golden rows, function scope, and parity with the published modules."""

import pytest
from peer_process import ask, rows, tasks
from peer_replies import ALWAYS_EQUAL, CHEATS, REPLIES, fenced
from profile_rows import GOLDEN, both, extracted, grade_all, humaneval_replies, passed, problem

from support.thorough import one_in
from truegrade.profiles import open_profile
from truegrade.profiles.function_scope import IMPORT_HELPER
from truegrade.records import Reason

PROFILE = open_profile("agentcoder")
TASK = problem("humaneval")


def test_golden_extractions():
    assert [extracted(PROFILE, TASK, reply) for reply in GOLDEN["replies"]] == GOLDEN["agentcoder"]


def test_an_unclosed_fence_loses_its_last_character():
    assert extracted(PROFILE, TASK, "```python\ndef f(x):\n    return x1") == "\ndef f(x):\n    return x"


SCOPE = {
    "whole": ("def add(a, b):\n    return a + b\n", Reason.PASSED),
    "body": ("    return a + b\n", Reason.SYNTAX_ERROR),
    "helper": ("def plus(a, b):\n    return a + b\ndef add(a, b):\n    return plus(a, b)\n", Reason.RUNTIME_ERROR),
    "recursion": ("def add(a, b):\n    return b if not a else add(a - 1, b + 1)\n", Reason.RUNTIME_ERROR),
    "import": ("import math\ndef add(a, b):\n    return int(math.fsum([a, b]))\n", Reason.RUNTIME_ERROR),
    "import inside": ("def add(a, b):\n    import math\n    return int(math.fsum([a, b]))\n", Reason.PASSED),
    "script's import": ("def add(a, b):\n    return json.loads(str(a + b))\n", Reason.PASSED),
    "script's numpy": ("def add(a, b):\n    return int(np.add(a, b))\n", Reason.PASSED),
    "helper's import": ("def add(a: List[int], b):\n    return a + b\n", Reason.PASSED),
    "main block": ("def add(a, b): return a + b\nif __name__ == '__main__': add(1)\n", Reason.RUNTIME_ERROR),
    "wrong": ("def add(a, b):\n    return a - b\n", Reason.WRONG_ANSWER),
    "future import": ("from __future__ import annotations\ndef add(a, b): return a + b\n", Reason.SYNTAX_ERROR),
    "exit": ("def add(a, b):\n    raise SystemExit(0)\n", Reason.RUNTIME_ERROR),
    "always equal": (f"def add(a, b):\n    return {ALWAYS_EQUAL}\n", Reason.PASSED),
    "endless": ("def add(a, b):\n    while True:\n        pass\n", Reason.TIME_LIMIT),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", one_in(3, SCOPE))
def test_function_scope(name):
    code, reason = SCOPE[name]
    (judgement,) = grade_all(PROFILE, [(TASK, fenced(code))])
    if name == "wrong":
        # An assert that fails inside the program is an exception like any other.
        assert not judgement.passed and "AssertionError" in judgement.detail
    else:
        assert judgement.reason is reason, judgement


# ------------------------------------------------------------------------------------------------- parity


@pytest.mark.slow
def test_parity_of_extraction_and_prompts(data_dir):
    humaneval, he_rows = both("humaneval", data_dir)
    asked = [he_rows[name] for name in ("HumanEval/0", "HumanEval/23")]
    peer = ask("agentcoder", {"replies": REPLIES, "rows": [], "prompts": asked, "imports": []})
    assert [extracted(PROFILE, TASK, reply) for reply in REPLIES] == peer["extracted"]
    for row, messages in zip(asked, peer["prompts"], strict=True):
        ours = PROFILE.render_prompt(humaneval[row["task_id"]]).messages
        assert [{"role": message.role, "content": message.content} for message in ours] == messages


@pytest.mark.slow
def test_parity_of_verdicts(data_dir):
    humaneval, he_rows = both("humaneval", data_dir)
    ids = tasks(humaneval, "HumanEval/32", "HumanEval/0", "HumanEval/10", "HumanEval/23")
    pairs = humaneval_replies(humaneval, ids)
    pairs += [("HumanEval/23", fenced(code.replace("add(a, b)", "strlen(a)").replace("a + b", "len(a)")))
              for code, _ in list(SCOPE.values())[:6]]  # fmt: skip
    pairs = rows([*pairs[::2], ("HumanEval/23", "def strlen(s):\n" + CHEATS["SystemExit"])], 15)
    asked = [he_rows[name] | {"completion": extracted(PROFILE, humaneval[name], reply)} for name, reply in pairs]
    peer = ask("agentcoder", {"replies": [], "prompts": [], "imports": IMPORT_HELPER, "rows": asked})
    ours = passed(PROFILE, [(humaneval[name], reply) for name, reply in pairs])
    assert ours == peer["verdicts"]
    assert {True, False} == set(ours)
