"""`strict`: Truegrade's own rules, which each kind has itself. What of right answers is not read is named in
`strict.toml`; which forgeries were tried against them, and with what result, in docs/sandbox.md.

The expected values never enter the candidate's process; CPU time decides and wall time is a backstop; every
verdict has a reason; perfect answers score 100 %.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from truegrade.extraction.parsing import NotLiteral, parse_literal
from truegrade.extraction.programs import SAID_NOT_TO_USE
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement, TestCount
from truegrade.grading.marks import DISOWNED, READS_TESTS
from truegrade.kinds import built_in_kinds, kind_names, kind_of
from truegrade.profiles.base import Profile
from truegrade.records import Answer, Problem
from truegrade.sandbox import Limits

_SHOWN_CAUSES = 3


class Strict(Profile):
    """Grading outside the program's process, with a reason for every verdict."""

    name = "strict"
    version = "6"
    prompt_version = "1"
    covers = kind_names()
    everything = True
    judges_outside = True
    variants = tuple(dict.fromkeys(name for kind in built_in_kinds() for name in kind.variants))
    limits = Limits(cpu_s=10.0, output_bytes=64 * 2**20)
    """MBPP+ holds right answers of tens of megabytes (Mbpp/255)."""

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Decide whether the answer is right; one that the reply says is not to be used is marked."""
        judged = super().judgement(problem, answer, executor)
        if SAID_NOT_TO_USE not in answer.found:
            return judged
        return msgspec.structs.replace(judged, marks=(*judged.marks, DISOWNED))

    def tally(self, outcomes: Sequence[tuple[bool, tuple[str, ...]]]) -> tuple[int, int]:
        """A program that passes tests in its own process and reads what they are made of is no pass."""
        return super().tally([(passed and READS_TESTS not in marks, marks) for passed, marks in outcomes])

    def tests_passed(self, problem: Problem, answer: Answer, executor: Executor) -> TestCount | None:
        """As the kind counts them; none of predictions."""
        return kind_of(problem.task).count(problem, problem.task, answer, self.context(executor))

    def warnings(self, problems: Iterable[Problem]) -> list[str]:
        """The number of problems whose own output no reply can state, since it would not be read as a literal."""
        tasks = [problem.task for problem in problems]
        stated = [outputs for task in tasks if (outputs := kind_of(task).outputs(task))]
        unread = Counter(why for outputs in stated if (why := _why_unread(outputs)) is not None)
        if not unread:
            return []
        causes = "; ".join(f"{why} ({count})" for why, count in unread.most_common(_SHOWN_CAUSES))
        count = f"{unread.total()} of {len(stated)} problems"
        return [f"{count} have an output that strict reads in no reply: {causes}"]

    def executes(self, problem: Problem) -> bool:
        """Predicted outputs and choices are graded without running anything."""
        return kind_of(problem.task).executes


def _why_unread(outputs: Iterable[str]) -> str | None:
    """Why one of these values is read in no reply; None if all are."""
    return next((found.why for found in map(parse_literal, outputs) if isinstance(found, NotLiteral)), None)
