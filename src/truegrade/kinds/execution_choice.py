"""Choose between a program and its mutant, and predict what the chosen one returns. Nothing runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from truegrade.extraction.choices import Choice, extract_choice, extract_choice_answer
from truegrade.grading import marks
from truegrade.grading.judgement import Judgement
from truegrade.grading.predictions import differing, judge_value, marked_call
from truegrade.kinds.base import CallClaim, Context, Kind, UpstreamField
from truegrade.prompts.making import RenderPrompt, base, chat
from truegrade.records import Answer, ChoiceTask, Completion, Pairing, Problem, Reason
from truegrade.statistics.reasoning_records import Pair


class ExecutionChoice(Kind[ChoiceTask]):
    """Read two programs and a call; name the one of which one is surer, and predict its value."""

    task = ChoiceTask
    names = ("execution_choice",)
    gives = "value"
    executes = False
    variants = (
        *("default", "one-shot", "base", "one-shot-base"),
        *("bedrock", "leetcode-notebook", "dsl-notebook"),
    )

    def prompts(self, task: ChoiceTask, examples: Mapping[str, Problem]) -> Mapping[str, RenderPrompt]:
        """``default`` is the prompt of `seed-regex`, the others are texts that published runs really sent."""
        first, second = task.programs
        values: Mapping[str, str] = {
            "program": first,
            "program2": second,
            "fn": task.function,
            "args": task.arguments,
        }
        return {
            "default": lambda: chat("exec.choice.zero_shot", values),
            "one-shot": lambda: chat("exec.choice.one_shot", values),
            "base": lambda: base("exec.choice.zero_shot", values),
            "one-shot-base": lambda: base("exec.choice.one_shot", values),
            "bedrock": lambda: chat("exec.choice.bedrock", values, system="exec.system.bedrock"),
            "leetcode-notebook": lambda: chat("exec.choice.leetcode_notebook", values),
            "dsl-notebook": lambda: chat("exec.choice.dsl_notebook", values),
        }

    def extract(self, task: ChoiceTask, completion: Completion) -> Answer:
        """Which program a reply names, and the value that it states; or text that somebody already extracted."""
        text = completion.text or ""
        if completion.form == "answer":
            return extract_choice_answer(text)
        return extract_choice(text, task.function, task.arguments)

    def reference(self, task: ChoiceTask) -> CallClaim:
        """What the first program returns."""
        return CallClaim(f"{task.function}({task.arguments})", task.expected[0])

    def judge(self, problem: Problem, task: ChoiceTask, answer: Answer, context: Context) -> Judgement:
        """Whether the predicted value is that of the program that the reply chose."""
        return grade_choice(task, answer)

    def pairing(self, task: ChoiceTask) -> Pairing:
        """Row and case, which the two orders of one pair share."""
        return Pairing(item=task.item, case=task.case, shown="original", mutation=task.mutation)

    def question(self, problem: Problem, task: ChoiceTask) -> Pair:
        """The pair."""
        differs, boolean, _ = differing(*task.expected)
        return Pair(
            id=problem.id,
            cluster=problem.cluster,
            item=task.item,
            case=task.case,
            original=task.original,
            mutation=task.mutation,
            differs=differs,
            boolean=boolean,
        )

    def outputs(self, task: ChoiceTask) -> tuple[str, ...]:
        """What either program returns."""
        return task.expected

    def upstream(self, task: ChoiceTask) -> Iterator[UpstreamField]:
        """The original program."""
        yield "prompt", "code", task.programs["AB".index(task.original)]


def grade_choice(task: ChoiceTask, answer: Answer) -> Judgement:
    """Compare the predicted literal with what the chosen program returns, and mark what was chosen.

    Args:
        task: the pair.
        answer: its ``value`` is the canonical JSON of `truegrade.extraction.choices`. A choice without a value is
            wrong for the reason that the answer gives, and counts as the choice that it is.
    """
    choice = msgspec.json.decode(answer.value or "", type=Choice)
    own, other = task.expected if choice.chosen_program == "A" else task.expected[::-1]
    chosen = (
        marks.CHOSE_A if choice.chosen_program == "A" else marks.CHOSE_B,
        marks.CHOSE_ORIGINAL if choice.chosen_program == task.original else marks.CHOSE_MUTANT,
    )
    if choice.value is None:
        return Judgement(reason=answer.reason or Reason.NO_ANSWER, detail=answer.found, marks=chosen)
    judgement = marked_call(judge_value(choice.value, own, other), answer)
    return msgspec.structs.replace(judgement, marks=(*chosen, *judgement.marks))


KIND = ExecutionChoice()
"""The object that everything asks."""
