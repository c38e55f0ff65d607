"""`blog`: its scorer's rules, and parity with the code blocks of the post."""

import json

import pytest
from peer_process import ask, rows, tasks
from peer_replies import CHEATS, REPLIES, fenced
from profile_rows import both, completion, extracted, grade_all, humaneval_replies, passed, problem

import truegrade
from truegrade.benchmarks import load_benchmark
from truegrade.errors import UserError
from truegrade.profiles import open_profile
from truegrade.profiles.blog import last_def
from truegrade.profiles.function_scope import cut_fence
from truegrade.records import Reason

PROFILE = open_profile("blog")
TASK = problem("humaneval")


def test_the_test_is_its_last_def():
    tests = "import math\n\ndef helper():\n    pass\n\ndef check(candidate):\n    pass\n\n\ncheck(add)"
    assert last_def(problem("humaneval", tests=tests).task) == "def check(candidate):\n    pass"


def test_an_answer_without_def_is_dropped():
    answer = PROFILE.extract(TASK, completion("    return a + b\n"))
    assert answer.value is None and answer.reason is Reason.NO_CODE


def test_the_first_def_is_graded_and_scope_is_the_functions():
    helper_first = "def plus(a, b):\n    return a + b\ndef add(a, b):\n    return a - b\n"
    recursive = "def add(a, b):\n    return b if not a else add(a - 1, b + 1)\n"
    judgements = grade_all(PROFILE, [(TASK, fenced(code)) for code in (helper_first, recursive)])
    assert [judgement.passed for judgement in judgements] == [True, False]
    assert "NameError" in judgements[1].detail


def test_the_shots_come_from_the_data_set():
    with pytest.raises(UserError, match="HumanEval/0"):
        PROFILE.render_prompt(TASK)


def test_the_shots_are_scored_as_in_the_post(data_dir):
    examples = load_benchmark("humaneval", data_dir).by_id()
    prompt = PROFILE.render_prompt(examples["HumanEval/0"], examples=examples)
    assert prompt.shots == ("HumanEval/0", "HumanEval/1")
    assert PROFILE.scores_shots == ("humaneval",)
    assert examples["HumanEval/0"].task.prompt in prompt.messages[1].content


# ------------------------------------------------------------------------------------------------- parity


@pytest.mark.slow
def test_parity_of_prompts(data_dir):
    examples, he_rows = both("humaneval", data_dir)
    asked = list(he_rows.values())[:4]
    peer = ask("blog", {"rows": [], "prompts": asked})["prompts"]
    for row, messages in zip(asked, peer, strict=True):
        ours = PROFILE.render_prompt(examples[row["task_id"]], examples=examples).messages
        assert [{"role": message.role, "content": message.content} for message in ours] == messages


@pytest.mark.slow
def test_parity_of_scores(data_dir):
    humaneval, he_rows = both("humaneval", data_dir)
    ids = tasks(humaneval, "HumanEval/32", "HumanEval/0", "HumanEval/10", "HumanEval/23")
    pairs = humaneval_replies(humaneval, ids)
    pairs = rows([*pairs[::2], ("HumanEval/23", "def strlen(s):\n" + CHEATS["SystemExit"])], 14)
    asked = [{"test": he_rows[name]["test"], "answer": cut_fence(reply)[0]} for name, reply in pairs]
    scores = ask("blog", {"rows": asked, "prompts": []})["scores"]
    ours = passed(PROFILE, [(humaneval[name], reply) for name, reply in pairs])
    assert ours == [score == [1] for score in scores]
    assert {True, False} == set(ours)


@pytest.mark.slow
def test_the_scorer_reads_the_file_that_a_run_leaves(data_dir, tmp_path):
    humaneval, _ = both("humaneval", data_dir)
    replies = humaneval_replies(humaneval, ["HumanEval/0", "HumanEval/23"])
    pairs = [
        *((name, reply) for name, reply in replies[::3] if "exit" not in reply.lower()),
        ("HumanEval/23", "no"),
    ]
    given = tmp_path / "m.raw.jsonl"
    given.write_text("".join(json.dumps({"task_id": name, "solution": reply}) + "\n" for name, reply in pairs))
    run = truegrade.grade(given, benchmark="humaneval", profiles=["blog"], data=data_dir, out=tmp_path / "run")
    written = json.loads((run.path / "blog.json").read_text()).values()
    asked = [{"test": row["test"], "answer": text} for row in written for text in row["completion_list"]]
    scores = ask("blog", {"rows": asked, "prompts": []})["scores"]
    verdicts = sorted(run.verdicts("blog"), key=lambda v: (int(v.problem_id.split("/")[1]), v.sample))
    assert [verdict.passed for verdict in verdicts] == [score == [1] for score in scores]
    assert {True, False} == {verdict.passed for verdict in verdicts}


@pytest.mark.slow
def test_parity_of_dropped_answers():
    replies = [reply for reply in REPLIES[::25] if "exit" not in reply]
    answers = [cut_fence(reply)[0] for reply in replies]
    scores = ask("blog", {"rows": [{"test": "def check(f): pass", "answer": a} for a in answers], "prompts": []})
    dropped = [extracted(PROFILE, TASK, reply) == "" for reply in replies]
    assert dropped == [score == [] for score in scores["scores"]]
