"""`bigcode` and `bigcode-instruct`: golden rows, defects, and parity with the harness itself."""

import json
from pathlib import Path

import msgspec
import pytest
from peer_process import ask, rows, tasks
from peer_replies import REPLIES
from profile_rows import both, completion, extracted, grade_all, humaneval_replies, mbpp_replies, passed, problem

from truegrade.errors import UserError
from truegrade.profiles import open_profile
from truegrade.profiles.bigcode import HUMANEVAL_STOP, INSTRUCT_STOP, MBPP_STOP

BASE, INSTRUCT = open_profile("bigcode"), open_profile("bigcode-instruct")
GOLDEN = json.loads(Path(__file__).with_name("golden_cuts.json").read_text())
"""What the harness itself (bigcode-evaluation-harness@8fc5bae6) cut out of a selection of replies."""

_PROMPT = problem("humaneval").task.prompt
_DOC = {"prompt": _PROMPT, "context": _PROMPT, "entry_point": "add", "test": "", "instruction": ""}
ROWS = {
    "humaneval": _DOC,
    "humaneval-unstripped": _DOC,
    "mbpp": {"text": "Add two numbers.", "test_list": ["assert add(1, 2) == 3"]},
    "context": _DOC,
    "nocontext": _DOC,
}


def cut(rule, reply):
    """What the profile makes of a reply, as the rule's task of the harness gets it."""
    if rule == "mbpp":
        return extracted(BASE, problem("mbpp"), reply)
    task = problem("humaneval")
    if rule in ("context", "nocontext"):
        return extracted(INSTRUCT, task, reply, "completion" if rule == "context" else "reply")
    sent = BASE.render_prompt(task, "unstripped" if rule == "humaneval-unstripped" else None).sha256
    return BASE.extract(task, msgspec.structs.replace(completion(reply), prompt_sha256=sent)).value


@pytest.mark.parametrize("rule", ROWS)
def test_golden_extractions(rule):
    assert [cut(rule, reply) for reply in GOLDEN["replies"]] == GOLDEN[f"bigcode {rule}"]


def test_stripped_prompt_breaks_a_body_that_begins_with_code():
    body = "    return a + b\n"
    assert cut("humaneval", body).endswith('"""    return a + b\n')
    assert cut("humaneval", "\n" + body).endswith('"""\n    return a + b\n')
    # A completion from elsewhere continues the prompt as stored.
    assert passed(BASE, [(problem("humaneval"), body)]) == [True]


def test_instruct_drops_helpers_and_what_follows_the_last_return():
    helper = "```python\ndef plus(a, b):\n    return a + b\n\ndef add(a, b):\n    return plus(a, b)\n# end\n```"
    task = problem("humaneval")
    assert extracted(INSTRUCT, task, helper) == "\ndef add(a, b):\n    return plus(a, b)"
    assert extracted(INSTRUCT, task, "def add(a, b):\n    print(a)\n") == "\ndef add(a, b):"
    assert extracted(INSTRUCT, task, "```py\ndef add(a): pass") == "\ndef add(a): pass"
    assert extracted(INSTRUCT, task, "    return a + b\nprint(1)", "completion") == _PROMPT + "    return a + b"


def test_exit_codes_fail_and_equal_to_everything_passes():
    task = problem("humaneval")
    equal = "    return type('E', (), {'__eq__': lambda s, o: True})()\n"
    replies = ["    raise SystemExit(0)\n", "    import os\n    os._exit(0)\n", equal]
    found = grade_all(BASE, [(task, reply) for reply in replies])
    assert [judgement.passed for judgement in found] == [False, False, True]
    assert found[2].marks == ("tests-inside",)


def test_whole_programs_are_graded_as_they_are():
    program = "import math\ndef add(a, b):\n    return a + b\nprint(1)\n"
    for profile in (BASE, INSTRUCT):
        assert profile.extract(problem("humaneval"), completion(program, "program")).value == program


def test_mbpp_367_cannot_be_solved(data_dir):
    problems, _ = both("mbpp", data_dir)
    task = problems["MBPP/367"]
    assert passed(BASE, [(task, task.task.reference)]) == [False]
    assert passed(open_profile("strict"), [(task, task.task.reference)]) == [True]


def test_prompts():
    assert BASE.render_prompt(problem("humaneval")).messages[0].content == _PROMPT.strip()
    assert BASE.render_prompt(problem("humaneval"), "unstripped").messages[0].content == _PROMPT
    shown = BASE.render_prompt(problem("mbpp"))
    assert shown.messages[0].content == '"""\nAdd two numbers.\nassert add(1, 2) == 3\n"""\n'
    assert shown.stop == MBPP_STOP and shown.style == "text"
    with pytest.raises(UserError, match="instructhumaneval"):
        INSTRUCT.render_prompt(problem("humaneval"))
    with pytest.raises(UserError, match="no rules for 'mbpp-sanitized'"):
        BASE.render_prompt(problem("mbpp-sanitized"))


# ------------------------------------------------------------------------------------------------- parity


@pytest.mark.slow
def test_parity_of_extraction_and_prompts():
    peer = ask("bigcode", {"replies": REPLIES, "rows": ROWS, "generations": []})
    for rule in ROWS:
        assert [cut(rule, reply) for reply in REPLIES] == peer["cuts"][rule], rule
    asked = {"humaneval": None, "humaneval-unstripped": "unstripped"}
    for rule, variant in asked.items():
        prompt = BASE.render_prompt(problem("humaneval"), variant)
        assert [prompt.messages[0].content, list(prompt.stop)] == [peer["prompts"][rule], peer["stops"][rule]]
    assert BASE.render_prompt(problem("mbpp")).messages[0].content == peer["prompts"]["mbpp"]
    stops = [peer["stops"][rule] for rule in ("humaneval", "mbpp", "context", "nocontext")]
    assert stops == [list(ours) for ours in (HUMANEVAL_STOP, MBPP_STOP, INSTRUCT_STOP, INSTRUCT_STOP)]


@pytest.mark.slow
def test_parity_of_verdicts(data_dir):
    humaneval, he = both("humaneval", data_dir)
    mbpp, mb = both("mbpp", data_dir)
    bodies = humaneval_replies(humaneval, tasks(humaneval, "HumanEval/0", "HumanEval/32", "HumanEval/23"))
    functions = mbpp_replies(mbpp, tasks(mbpp, "MBPP/367", "MBPP/11", "MBPP/12"))
    cases = [("humaneval", BASE, humaneval, he, pair) for pair in rows(bodies[1::2], 9)]
    cases += [("nocontext", INSTRUCT, humaneval, he, pair) for pair in rows(bodies[::2], 9)]
    cases += [("mbpp", BASE, mbpp, mb, pair) for pair in rows(functions[1::2] + functions[-4:], 9)]
    generations, ours = [], []
    for rule, profile, problems, stored, (name, reply) in cases:
        generations.append((rule, stored[name], extracted(profile, problems[name], reply)))
        ours += passed(profile, [(problems[name], reply)])
    assert ours == ask("bigcode", {"replies": [], "rows": {}, "generations": generations})["verdicts"]
    assert True in ours and False in ours
