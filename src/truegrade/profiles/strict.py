"""`strict`: Truegrade's own rules. What of right answers is not read is named in them; which forgeries were tried
against them, and with what result, in docs/sandbox.md.

The expected values never enter the candidate's process; CPU time decides and wall time is a backstop; every
verdict has a reason; perfect answers score 100 %.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

import msgspec

from truegrade.extraction.assertions import (
    extract_input,
    extract_input_answer,
    extract_output,
    extract_output_answer,
)
from truegrade.extraction.blocks import between_markers
from truegrade.extraction.choices import extract_choice, extract_choice_answer
from truegrade.extraction.contest_programs import extract_contest_program
from truegrade.extraction.literals import NotLiteral, parse_literal
from truegrade.extraction.programs import extract_continuation, extract_program
from truegrade.grading.contests.separate import count_passed, grade_separately
from truegrade.grading.contests.tests import UndecodableTests, decode
from truegrade.grading.executor import Executor
from truegrade.grading.functions import (
    TESTS_INSIDE,
    References,
    count_by_oracle,
    grade_by_oracle,
    grade_by_tests,
)
from truegrade.grading.judgement import Judgement, TestCount
from truegrade.grading.marks import READS_TESTS, SECURE, TEST_CLASSES
from truegrade.grading.predictions import grade_choice, grade_input, grade_output
from truegrade.grading.programs import assemble, called_class
from truegrade.grading.repairs import grade_repair, suite_of
from truegrade.grading.static_findings import reads_tests
from truegrade.grading.suite_controls import ControlsKept
from truegrade.grading.suite_grading import count_by_suite, grade_parts, left_in
from truegrade.profiles.base import NO_EXAMPLES, Profile, Rule
from truegrade.profiles.strict_prompts import VARIANTS, render_prompt
from truegrade.records import (
    Answer,
    CasesTask,
    ChoiceTask,
    Completion,
    ContestTask,
    FunctionTask,
    InputTask,
    OracleTask,
    OutputTask,
    Problem,
    Prompt,
    Reason,
    SuiteTask,
    Task,
)
from truegrade.records.kinds import KINDS, Kind
from truegrade.sandbox import Limits

_CRUXEVAL = "facebookresearch/cruxeval@190faf1 prompts.py"
_CHOICE = "akshsgaur/code-reasoning-repro@6c43fa8 src/models/llm_list/gpt_oss_llm_list_final.ipynb cell 10"
_LIVECODEBENCH = "LiveCodeBench/LiveCodeBench@28fef95 lcb_runner/prompts/test_output_prediction.py"
_QUIXBUGS = "jkoppel/QuixBugs@4257f44 python_testcases"
_SHOWN_CAUSES = 3
_EVALPLUS = "evalplus/evalplus@26d6d00 evalplus/eval/__init__.py"


class Strict(Profile):
    """Grading outside the program's process, with a reason for every verdict."""

    name: ClassVar[str] = "strict"
    version: ClassVar[str] = "5"
    prompt_version: ClassVar[str] = "1"
    summary: ClassVar[str] = (
        "ours: judged outside the program's process, a reason for every verdict, names what it does not read"
    )
    covers: ClassVar[tuple[Kind, ...]] = KINDS
    judges_outside: ClassVar[bool] = True
    variants: ClassVar[tuple[str, ...]] = VARIANTS
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("prompt", "code tasks: complete the code in one fenced block; MBPP shows its tests", "ours"),
        Rule("prompt", "output prediction: exec.prediction.zero_shot, no system message",
             "akshsgaur/code-reasoning-repro@6561a25 src/models/EXECUTION_PREDICTION_UPDATE.md"),
        Rule("prompt", "choice: exec.choice.zero_shot, no system message", _CHOICE),
        Rule("prompt", "test output prediction: LiveCodeBench's system message and words", _LIVECODEBENCH),
        Rule("prompt", "input prediction: CRUXEval's direct prompt", _CRUXEVAL),
        Rule("prompt", "repair: quixbugs.repair, the function's name for the file's",
             "skishore23/coralx@93e9490 docs/archive/QUIXBUGS_USAGE_ANALYSIS.md create_quixbugs_prompt"),
        Rule("extraction", "final channel after thinking, by the markers of extraction/thinking.py: a"
             " draft in a thought is no answer, an end of thinking counts where an answer follows, a special token"
             " where one precedes it; a marker between back-ticks or quoted in the answer ends nothing", "ours"),
        Rule("extraction", "the fence that defines the entry point; imports and helpers kept; bodies, unclosed"
             " fences, raw code, <pre><code>, class wrappers, even indentation, CRLF, a byte order mark, [BEGIN]"
             " and [DONE] accepted", "ours"),
        Rule("extraction", "a closed fence that Python refuses is a syntax error; lines that cannot be kept are"
             " dropped only where a reply breaks off in its fence, stands between prose without a fence, or a"
             " base model runs on behind its function", "ours"),
        Rule("extraction", "output: the last block about the asked call decides, read by ast, never executed. No"
             " literal is not_literal (arithmetic, names, objects of classes, as Counter({'a': 1})), what cannot"
             " be read is no_answer (??, open brackets, raises TypeError), whatever stood in a block before. A"
             " value alone is about the call; what prose says behind a block is not read", "ours"),
        Rule("extraction", "output: without such a block, what is stated of another call counts, marked"
             " other-call: f(x=3) for f(x=2), or another function", "ours"),
        Rule("extraction", "output, where a reply has no answer in Python's spelling: typographic quotes, the sign"
             " U+2212, blanks that are no space, math.inf and math.nan (math, np, numpy), \\boxed{}, and =, ->,"
             " => or → behind the asked call", "ours"),
        Rule("extraction", "output: assert f(x) == 1, 2 is the tuple, as a message is text; assert f(x) == 'a',"
             " 'b' is 'a' with a message, so a tuple of texts needs its parentheses", "ours"),
        Rule("extraction", "choice: the last object that names a chosen_program, as JSON or a Python dictionary,"
             " else, or behind it, the two fields in the text; the letter is A or B, in either case, also behind"
             " the word program; its assertion as for outputs. Without a value the choice counts, and is wrong",
             "ours"),
        Rule("extraction", "input: the last block of the first example that calls the function decides; literals,"
             " or plain expressions by an allow-list of syntax and names (12 of CRUXEval's own inputs are such);"
             " the program runs on them in the jail", "ours"),
        Rule("program", "prefix + body, or prefix + newline + whole program; future imports first", "ours"),
        Rule("program", "MBPP setup and imports run after the solution, before the tests", "ours; MBPP 367, 927"),
        Rule("comparison", "tests run in a judge process and call the candidate in its own; outputs come back as"
             " frames that name no code. Objects of the solution's classes stay with it, and the tests hold"
             " stand-ins; those of the tests' own classes cross as their attributes", "ours"),
        Rule("comparison", "plus sets: every input's output against the reference program's, with EvalPlus'"
             " special oracles, tolerance not carried over between inputs", _EVALPLUS),
        Rule("comparison", "predictions: Python == of literals; marked where bool, int and float differ"
             " (types-differ), the repr does (text-differs), it is the other program's (reverted)", "ours"),
        Rule("comparison", "choice: right if the value is that of the chosen program; marks say which was chosen",
             "arXiv:2504.05518"),
        Rule("program", "contests: LiveCodeBench's preamble is offered, as built-ins are; a name that only it"
             " supplies is no answer. Every test in a process of its own, on a fresh object of class Solution",
             "ours"),
        Rule("comparison", "contests on standard input: a real script on a real file; exit code 0; lines stripped,"
             " empty ones at either end left out; lines equal, or all their words equal as numerals", "ours"),
        Rule("comparison", "contests on standard input: blanks are space, tab, LF, CR, FF and VT; a numeral is a"
             " sign, ASCII digits, a decimal point (0.5, .5, 5.) and an exponent, of which digits alone must be"
             " there; digits that begin with a further 0 (011), 1_000, nan and inf are texts", "ours"),
        Rule("comparison", "contests, functional: == after tuples became lists and numpy's values Python's; no"
             " tolerance", "ours"),
        Rule("comparison", "suites of unit tests run in the judge's process, and the program answers their calls,"
             " wherever the data set's reference passes so three times; a program that passes has to pass in one"
             " process with the tests as well. Values, files of the working folder and"
             " objects of the program's classes cross, where the reference's do. A name that only the tests import"
             " is no part of the program. A suite whose tests and reference read the clock, or wait, is run up to"
             " three times where it fails while a second ends", "ours"),
        Rule("comparison", "other suites share the program's process (mark tests-inside): those that patch or seed"
             " it, read its streams, could run what it wrote, go through its objects in a loop that asserts, or"
             " whose values do not cross. Where every assertion"
             " that the reference reaches can be shown with other constants, so that the reference fails it, they"
             " run as often as there are versions; a program has to hold each assertion exactly where the original"
             " is shown (mark controls:P, P the chance of a program that only guesses)", "ours"),
        Rule("aggregation", "a program that passes a suite in its own process counts as a failure where its text"
             " reads frames, code objects, gc or modules of tests, or reaches for names that it does not hold"
             " (mark reads-tests)", "ours"),
        Rule("comparison", "suites: tests of security are judged apart, in the mark secure; tests that no program"
             " passes elsewhere than at the data set's authors are left out (mark tests-skipped)", "ours"),
        Rule("comparison", "repairs: every test is run and counted; QuixBugs' outputs as its pytest modules"
             " compare them", _QUIXBUGS),
        Rule("limits", "1,000,000 characters of a reply are read and 200,000 parsed; a value has at most 100,000"
             " characters and brackets 200 deep, as Python has; beyond, it is extraction_limit", "ours"),
        Rule("limits", "repairs: the limits below for every test; behind one that overran its time none is run."
             " The two tests that QuixBugs skips are skipped, marked, unless the argument slow is run", _QUIXBUGS),
        Rule("limits", "contests: the limits below for every test", "ours"),
        Rule("limits", "10 s of CPU time, wall backstop 35 s; with a reference program at least 4 times its CPU"
             " time; where a data set's own solution is slower (MBPP/123: 60 s) the problem says so", "ours"),
        Rule("aggregation", "a reply without an answer is a failure, and counted apart too; a sample without a"
             " reply (its request failed, or was not made) is missing: in no estimate, and counted", "ours"),
    )  # fmt: skip
    limits: ClassVar[Limits] = Limits(cpu_s=10.0, output_bytes=64 * 2**20)
    """MBPP+ holds right answers of tens of megabytes (Mbpp/255)."""

    def __init__(self) -> None:
        self._references = References()
        self._controls = ControlsKept()

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """Word the problem; see `VARIANTS` for what ``variant`` may be."""
        return render_prompt(problem, variant, examples)

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """Take the answer out of a reply, a continuation, a program or an already extracted answer."""
        text = completion.text or ""
        task = problem.task
        if isinstance(task, OutputTask | InputTask | ChoiceTask):
            return _given(task, text) if completion.form == "answer" else _replied(task, text)
        if completion.form == "program" or (isinstance(task, ContestTask) and completion.form == "answer"):
            return Answer(value=text.removeprefix("\ufeff"), found="as given: a whole program", form="program")
        if isinstance(task, ContestTask):
            if task.function is None:
                return extract_contest_program(text)
            return extract_program(text, task.function, called_on="Solution")
        prefix = "" if isinstance(task, CasesTask) else task.prefix
        owner = called_class(task) if isinstance(task, FunctionTask) else ""
        if completion.form == "completion":
            return extract_continuation(between_markers(text), task.entry_point, prefix, owner)
        return extract_program(text, task.entry_point, prefix=prefix, called_on=owner)

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Decide whether the answer is right."""
        task = problem.task
        if isinstance(task, OutputTask | InputTask | ChoiceTask):
            return _predicted(task, answer, executor)
        if isinstance(task, ContestTask):
            return _contest_judgement(task, answer, executor)
        cpu_s = self.cpu_s(task.cpu_s or self.limits.cpu_s)
        if isinstance(task, CasesTask) or (isinstance(task, FunctionTask) and task.buggy):
            return grade_repair(suite_of(task), answer.value or "", executor, cpu_s=cpu_s, timeouts=1)
        program = assemble(task.prefix, answer)
        if isinstance(task, FunctionTask):
            return grade_by_tests(msgspec.structs.replace(task, cpu_s=cpu_s), program, executor)
        return self._by_reference(problem, task, program, executor, cpu_s)

    def _by_reference(
        self, problem: Problem, task: OracleTask | SuiteTask, program: str, executor: Executor, cpu_s: float
    ) -> Judgement:
        """What is known of the right outcome is found once with the reference."""
        if isinstance(task, SuiteTask):
            packages = problem.packages
            apart = TEST_CLASSES in problem.tags
            judged = grade_parts(
                task, program, self._controls, executor, min_cpu_s=cpu_s, packages=packages, by_class=apart
            )
            gains = judged.passed or SECURE in judged.marks
            if gains and TESTS_INSIDE in judged.marks and reads_tests(program, task.reference):
                return msgspec.structs.replace(judged, marks=(*judged.marks, READS_TESTS))
            return judged
        key = f"{problem.dataset_sha256}/{problem.id}"
        return grade_by_oracle(key, task, program, self._references, executor, min_cpu_s=cpu_s)

    def tally(self, outcomes: Sequence[tuple[bool, tuple[str, ...]]]) -> tuple[int, int]:
        """A program that passes tests in its own process and reads what they are made of is no pass."""
        return super().tally([(passed and READS_TESTS not in marks, marks) for passed, marks in outcomes])

    def tests_passed(self, problem: Problem, answer: Answer, executor: Executor) -> TestCount | None:
        """Tests of contests and suites, inputs of plus sets, top-level asserts of functions; no predictions."""
        task = problem.task
        if isinstance(task, OutputTask | InputTask | ChoiceTask):
            return None
        if isinstance(task, ContestTask):
            try:
                return count_passed(answer.value or "", decode(task), executor)
            except UndecodableTests:
                return None
        cpu_s = self.cpu_s(task.cpu_s or self.limits.cpu_s)
        if isinstance(task, OracleTask | SuiteTask):
            return self._counted(problem, task, assemble(task.prefix, answer), executor, cpu_s)
        program = answer.value or ""
        if isinstance(task, FunctionTask) and not task.buggy:
            program = assemble(task.prefix, answer)
        judged = grade_repair(suite_of(task), program, executor, cpu_s=cpu_s, timeouts=1)
        if judged.reason is Reason.GRADER_ERROR or judged.harness is None:
            return None
        return TestCount(judged.harness["passed"], judged.harness["tests"])

    def _counted(
        self, problem: Problem, task: OracleTask | SuiteTask, program: str, executor: Executor, cpu_s: float
    ) -> TestCount | None:
        if isinstance(task, SuiteTask):
            kept, packages = self._controls, problem.packages
            return count_by_suite(left_in(task), program, kept, executor, min_cpu_s=cpu_s, packages=packages)
        key = f"{problem.dataset_sha256}/{problem.id}"
        return count_by_oracle(key, task, program, self._references, executor, min_cpu_s=cpu_s)

    def warnings(self, problems: Iterable[Problem]) -> list[str]:
        """The number of problems whose own output no reply can state, since it would not be read as a literal."""
        stated = [outputs for problem in problems if (outputs := _outputs(problem.task))]
        unread = Counter(why for outputs in stated if (why := _why_unread(outputs)) is not None)
        if not unread:
            return []
        causes = "; ".join(f"{why} ({count})" for why, count in unread.most_common(_SHOWN_CAUSES))
        count = f"{unread.total()} of {len(stated)} problems"
        return [f"{count} have an output that strict reads in no reply: {causes}"]

    def executes(self, problem: Problem) -> bool:
        """Predicted outputs and choices are graded without running anything."""
        return not isinstance(problem.task, OutputTask | ChoiceTask)


def _outputs(task: Task) -> tuple[str, ...]:
    """The values that replies to a problem are to state."""
    if isinstance(task, ChoiceTask):
        return task.expected
    return (task.expected,) if isinstance(task, OutputTask) else ()


def _why_unread(outputs: Iterable[str]) -> str | None:
    """Why one of these values is read in no reply; None if all are."""
    return next((found.why for found in map(parse_literal, outputs) if isinstance(found, NotLiteral)), None)


def _replied(task: OutputTask | InputTask | ChoiceTask, text: str) -> Answer:
    """What a reply predicts."""
    if isinstance(task, OutputTask):
        return extract_output(text, task.function, task.arguments)
    if isinstance(task, InputTask):
        return extract_input(text, task.function, task.program)
    return extract_choice(text, task.function, task.arguments)


def _given(task: OutputTask | InputTask | ChoiceTask, text: str) -> Answer:
    """What text that somebody already extracted predicts."""
    if isinstance(task, OutputTask):
        return extract_output_answer(text, asked=(task.function, task.arguments))
    if isinstance(task, InputTask):
        return extract_input_answer(text, program=task.program)
    return extract_choice_answer(text)


def _predicted(task: OutputTask | InputTask | ChoiceTask, answer: Answer, executor: Executor) -> Judgement:
    """Only a predicted input needs its program run."""
    if isinstance(task, OutputTask):
        return grade_output(task, answer)
    if isinstance(task, InputTask):
        return grade_input(task, answer, executor)
    return grade_choice(task, answer)


def _contest_judgement(task: ContestTask, answer: Answer, executor: Executor) -> Judgement:
    """Every test in a process of its own; tests that cannot be decoded are the grader's fault."""
    try:
        tests = decode(task)
    except UndecodableTests as error:
        return Judgement(reason=Reason.GRADER_ERROR, detail=str(error))
    return grade_separately(answer.value or "", tests, executor)
