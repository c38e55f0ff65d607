"""`enamel`: the evaluator of q-rz/enamel @b97da79, the library ``enam`` with the parameters of ``demo.py``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from truegrade.extraction.programs import extract_program
from truegrade.grading.efficiency_inside import InsideMeasure
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement
from truegrade.profiles.base import NO_EXAMPLES, Profile, Rule
from truegrade.profiles.refusals import check_variant, covered_task
from truegrade.profiles.strict_prompts import render_prompt
from truegrade.records import Answer, Completion, EfficiencyTask, Problem, Prompt
from truegrade.records.kinds import Kind
from truegrade.sandbox import Limits

_EVALUATE = "q-rz/enamel@b97da79 enam/evaluate.py"
_EXECUTE = "q-rz/enamel@b97da79 enam/execute.py"
_DEMO = "q-rz/enamel@b97da79 demo.py"
CUTS = ("\n# Examples\n", "\n# Example usage:\n", "\n# Test cases\n")
"""Where ``demo.py`` ends code that it reads."""


class Enamel(Profile):
    """Right answers scored by wall time, which their own process takes."""

    name: ClassVar[str] = "enamel"
    version: ClassVar[str] = "b97da79"
    summary: ClassVar[str] = "ENAMEL: right answers scored by wall time of their own process; eff@k"
    covers: ClassVar[tuple[Kind, ...]] = ("efficiency",)
    variants: ClassVar[tuple[str, ...]] = ("default", "base")
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("prompt", "upstream grades files of code and asks no model; asked as strict asks", "ours"),
        Rule("extraction", "upstream takes code as it is, less what stands behind a line `# Examples`,"
             " `# Example usage:` or `# Test cases`; a chat model's reply is read as strict reads it",
             f"{_DEMO}; ours"),
        Rule("program", "prompt, newline, answer, run anew for each call in names of its own; input and print are"
             " None, streams take texts and refuse to be read, no garbage is collected",
             f"{_EVALUATE}, {_EXECUTE}"),
        Rule("comparison", "8 tests of the easiest level and 4 of each other; outputs against the reference's by"
             " the problem's checker: of the same type and equal, or for 4, 20, 21 and 32 within 1e-4", _EVALUATE),
        Rule("comparison", "here checkers look at the outputs outside the program's process, as plain values",
             "ours"),
        Rule("comparison", "cost: time.time() around the call, six times a test, the Hodges-Lehmann estimate, the"
             " most expensive test of a level", _EVALUATE),
        Rule("comparison", "cost=steps: lines executed, once, by sys.settrace", "ours"),
        Rule("limits", "a call may cost twice what the reference's most expensive call costs, and 0.01 s more"
             " (100,000 steps). Time, memory or OverflowError end an answer there, which stays right behind the"
             " easiest level", f"{_EVALUATE}, {_DEMO}"),
        Rule("aggregation", "level: max(0, limit - cost) / (limit - reference); sample: mean by hardness 3, 3, 4;"
             " eff@k: the expected best of k, mean over tasks; a wrong answer has 0",
             f"{_EVALUATE}; arXiv:2406.06647"),
    )  # fmt: skip
    defects: ClassVar[tuple[str, ...]] = (
        "the program's process measures: it may replace time.time, or end the trace of steps (mark cost-inside)",
        "wall time: what else the machine does changes the score",
        "references of a few microseconds, an eighth of them, are about as short as the clock's steps",
        "an answer that a limit ends behind the easiest level passes, whatever it would have returned there",
    )  # fmt: skip
    limits: ClassVar[Limits] = Limits(cpu_s=60.0, output_bytes=64 * 2**20)

    def __init__(self) -> None:
        self._measure = InsideMeasure()

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """The prompt that `strict` asks, in a variant of this profile's."""
        check_variant(self, variant)
        covered_task(self, problem, EfficiencyTask)
        return render_prompt(problem, variant, examples)

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """Code as it is, cut; or the program in a reply."""
        task = covered_task(self, problem, EfficiencyTask)
        text = completion.text or ""
        if completion.form == "reply":
            return extract_program(text, task.entry_point, prefix=task.prefix)
        for line in CUTS:
            text = text.partition(line)[0]
        return Answer(value=text, found="as given", form="program")

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Run the answer on every test and let its process say what each call costs."""
        task = covered_task(self, problem, EfficiencyTask)
        key = f"{problem.dataset_sha256}/{problem.id}"
        return self._measure.grade(key, task, answer.value or "", executor)
