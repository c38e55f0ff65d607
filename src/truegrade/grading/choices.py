"""Grading a choice: is the predicted value that of the program the reply chose? Nothing runs."""

from __future__ import annotations

import msgspec

from truegrade.extraction.choices import Choice
from truegrade.grading import marks
from truegrade.grading.judgement import Judgement
from truegrade.grading.predictions import judge_value, marked_call
from truegrade.records import Answer, ChoiceTask, Reason


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
