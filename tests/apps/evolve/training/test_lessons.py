"""Lessons are worded as they are tested, and CORAL-X's set is CORAL-X's."""

import pytest

from truegrade.apps.evolve.training.lessons import INSTRUCTIONS, coralx_lessons, lessons_of, reply_to
from truegrade.datasets.checkouts import TRAIN
from truegrade.errors import UserError
from truegrade.profiles.strict import Strict
from truegrade.prompts import render
from truegrade.records import Completion, Message, Prompt


def test_a_lesson_is_the_very_prompt_and_a_reply_that_the_profile_reads_as_the_solution(quixbugs):
    strict = Strict()
    problems = [quixbugs[name] for name in sorted(TRAIN)]
    lessons = lessons_of(problems, strict)
    assert len(lessons) == 24
    for problem, lesson in zip(problems, lessons, strict=True):
        assert lesson.problem == problem.id and lesson.prompt == strict.render_prompt(problem)
        task = problem.task
        asked = render("quixbugs.repair", name=task.entry_point, buggy=task.buggy)
        assert lesson.prompt.messages[0].content == asked
        completion = Completion(
            benchmark="quixbugs", dataset_sha256="0", problem_id=problem.id, sample=0, config_sha256="0",
            prompt_sha256=lesson.prompt.sha256, text=lesson.reply, model="m",
        )  # fmt: skip
        assert strict.extract(problem, completion).value.strip() == lesson.reply[10:-4].strip()
        assert task.reference.strip().startswith(lesson.reply[10:-4][:40])


def test_alternatives_are_not_taught(quixbugs):
    (lesson,) = lessons_of([quixbugs["sieve"]], Strict())
    assert lesson.reply.startswith("```python\ndef sieve(max):") and lesson.reply.endswith("return primes\n```")
    assert "not any" not in lesson.reply


def test_a_text_that_has_opened_a_block_is_gone_on_with():
    def text(content, style="text"):
        return Prompt(messages=(Message(role="user", content=content),), style=style, source="test")

    opened = "Code:\n```python\nx = 1\n```\n\nCorrected:\n```python\n"
    assert reply_to(text(opened), "x = 2") == "x = 2\n```"
    assert reply_to(text(opened, "chat"), "x = 2") == "```python\nx = 2\n```"
    assert reply_to(text("Code:\n```python\nx = 1\n```\n"), "x = 2") == "```python\nx = 2\n```"
    assert reply_to(text("Write code.\n"), "x = 2") == "```python\nx = 2\n```"


def test_the_set_of_coralx_is_96_and_92_where_json_tests_are_required(quixbugs):
    every, some = coralx_lessons(quixbugs.values()), coralx_lessons(quixbugs.values(), json_only=True)
    assert (len(every), len(some)) == (96, 92)
    assert {lesson.problem for lesson in every} - {lesson.problem for lesson in some} == {
        "quixbugs/reverse_linked_list"
    }
    assert {lesson.problem.partition("/")[2] for lesson in every} == TRAIN


def test_the_text_of_coralx_to_the_byte(quixbugs):
    lessons = coralx_lessons([quixbugs["bitcount"], quixbugs["wrap"]])
    assert len(lessons) == len(INSTRUCTIONS) == 4
    task = quixbugs["bitcount"].task
    heads = [
        "Fix the bug in this Python function from bitcount:",
        "Debug and correct the following Python code for bitcount:",
        "The following function has a bug. Provide the corrected version:",
        "Analyze and fix the error in this bitcount implementation:",
    ]
    for lesson, head in zip(lessons, heads, strict=True):
        text = lesson.prompt.messages[0].content + lesson.reply
        assert text == (
            f"### Instruction: {head}\n### Input: {task.buggy.strip()}\n### Output: {task.reference.strip()}"
        )
        assert lesson.prompt.style == "text"


def test_the_targets_of_coralx_do_carry_the_alternatives(quixbugs):
    assert all('"""' in lesson.reply for lesson in coralx_lessons([quixbugs["lis"]]))


def test_what_is_not_in_the_list_of_coralx_is_skipped(quixbugs):
    assert coralx_lessons([quixbugs["sieve"], quixbugs["topological_ordering"]]) == ()


def test_nothing_is_learned_from_what_is_no_repair(repair):
    with pytest.raises(UserError, match="no program to repair"):
        lessons_of([repair("f", "def f(): return 1", buggy="")], Strict())
