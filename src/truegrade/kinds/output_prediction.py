"""Predict what a program returns: the value of a call, or one inside it, or what a described function gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from truegrade.extraction.assertions import extract_output, extract_output_answer
from truegrade.grading.judgement import Judgement
from truegrade.grading.predictions import differing, judge_value, marked_call
from truegrade.kinds.base import CallClaim, Context, Kind, UpstreamField
from truegrade.prompts.making import RenderPrompt, base, chat
from truegrade.records import Answer, AskedState, Completion, OutputTask, Pairing, Problem
from truegrade.statistics.reasoning_records import PredictionPrompt

# The words, by the name one asks for with ``-T prompt=NAME``. ``default`` is that of `seed-regex`: zero-shot, one
# user message, no system message. The others are the texts that published runs really sent; they do not match each
# other, so a result names its own.

STOP = ("[/ANSWER]",)
_PHIND_STOP = ("# done",)
CRUXEVAL_OPENAI = "cruxeval.system.openai"
_LIVECODEBENCH = "lcb.execution.system"


class OutputPrediction(Kind[OutputTask]):
    """Read a program and a call, predict its value. Nothing runs."""

    task = OutputTask
    names = ("output_prediction", "test_output_prediction", "state_prediction")
    gives = "value"
    executes = False
    variants = (
        *("default", "one-shot", "base", "one-shot-base"),
        *("inference-py", "bedrock", "livecodebench", "livecodebench-cot"),
        *("cruxeval", "cruxeval-cot", "cruxeval-phind", "cruxeval-openai", "cruxeval-openai-cot"),
    )

    def name(self, task: OutputTask) -> str:
        """By whether a value inside the call is asked for, and whether a program is shown."""
        return self.names[2 if task.state else 1 if task.question else 0]

    def prompts(self, task: OutputTask, examples: Mapping[str, Problem]) -> Mapping[str, RenderPrompt]:
        """Of `output_prompts`."""
        return output_prompts(task)

    def extract(self, task: OutputTask, completion: Completion) -> Answer:
        """The value that a reply states of the asked call, or text that somebody already extracted."""
        text = completion.text or ""
        if completion.form == "answer":
            return extract_output_answer(text, asked=task.claimed)
        return extract_output(text, *task.claimed)

    def reference(self, task: OutputTask) -> CallClaim:
        """The true value."""
        function, arguments = task.claimed
        return CallClaim(f"{function}({arguments})", task.expected)

    def judge(self, problem: Problem, task: OutputTask, answer: Answer, context: Context) -> Judgement:
        """Compare a predicted literal with the true one, and with what the other program of the pair returns."""
        other = task.pairing.other if task.pairing else None
        return marked_call(judge_value(answer.value or "", task.expected, other), answer)

    def pairing(self, task: OutputTask) -> Pairing | None:
        """Of programs that may have several calls, and mutants."""
        return task.pairing

    def question(self, problem: Problem, task: OutputTask) -> PredictionPrompt:
        """A program without a pairing is an original with one call."""
        pairing = task.pairing
        if pairing is None:
            return PredictionPrompt(
                id=problem.id, cluster=problem.cluster, item=problem.id, case=0, shown="original"
            )
        differs, boolean, booleans = differing(task.expected, pairing.other)
        return PredictionPrompt(
            id=problem.id,
            cluster=problem.cluster,
            item=pairing.item,
            case=pairing.case,
            shown=pairing.shown,
            mutation=pairing.mutation,
            differs=differs,
            boolean=boolean,
            booleans=booleans,
            covariates=pairing.covariates,
        )

    def outputs(self, task: OutputTask) -> tuple[str, ...]:
        """The values that a reply is to state, as literals."""
        return (task.expected,)

    def upstream(self, task: OutputTask) -> Iterator[UpstreamField]:
        """The program."""
        yield "prompt", "code", task.program

    def programs_shown(self, task: OutputTask) -> tuple[str, ...]:
        """The program."""
        return (task.program,)


def output_prompts(task: OutputTask) -> dict[str, RenderPrompt]:
    """Prompts for a program and a call; where a question in words stands instead of the program, for that."""
    if task.question:
        return _question_prompts(task)
    if task.state:
        return _state_prompts(task, task.state)
    seed = {"program": task.program, "fn": task.function, "args": task.arguments}
    whole = {"code": task.program, "call": f"{task.function}({task.arguments})"}
    choices: dict[str, RenderPrompt] = {
        "default": lambda: chat("exec.prediction.zero_shot", seed),
        "one-shot": lambda: chat("exec.prediction.one_shot", seed),
        "base": lambda: base("exec.prediction.zero_shot", seed, stop=STOP),
        "one-shot-base": lambda: base("exec.prediction.one_shot", seed, stop=STOP),
        "inference-py": lambda: chat("exec.prediction.zero_shot", seed, system="exec.system.inference_py"),
        "bedrock": lambda: chat("exec.prediction.zero_shot", seed, system="exec.system.bedrock"),
        "livecodebench": lambda: chat("lcb.execution.direct", whole, system=_LIVECODEBENCH),
        "livecodebench-cot": lambda: chat("lcb.execution.cot", whole, system=_LIVECODEBENCH),
    }
    return choices | cruxeval_output_prompts(task)


def cruxeval_output_prompts(task: OutputTask) -> dict[str, RenderPrompt]:
    """CRUXEval's own prompts; none where the function is not called ``f``, as their texts call it."""
    if task.function != "f":
        return {}
    values = {"code": task.program, "input": task.arguments}
    return {
        "cruxeval": lambda: base("cruxeval.output.direct", values, stop=STOP),
        "cruxeval-cot": lambda: base("cruxeval.output.cot", values, stop=STOP),
        "cruxeval-phind": lambda: base("cruxeval.output.phind", values, stop=_PHIND_STOP),
        "cruxeval-openai": lambda: chat("cruxeval.output.direct", values, system=CRUXEVAL_OPENAI, stop=STOP),
        "cruxeval-openai-cot": lambda: chat("cruxeval.output.cot", values, system=CRUXEVAL_OPENAI, stop=STOP),
    }


def _state_prompts(task: OutputTask, state: AskedState) -> dict[str, RenderPrompt]:
    asked = "{}({})".format(*state.claimed)
    where = f"line {state.line}, `{task.program.split(chr(10))[state.line - 1].strip()}`,"
    meaning = f"{asked} stands for the number of times that {where} runs during the call, 0 if it does not run."
    if state.variable:
        times = "once" if state.time == 1 else f"{state.time} times"
        after = f"directly after {where} has run {times} during the call"
        meaning = f"{asked} stands for the value of the variable `{state.variable}` {after}."
    call = f"{task.function}({task.arguments})"
    values = {"program": task.program, "call": call, "asked": asked, "meaning": meaning}
    return {
        "default": lambda: chat("strict.state.user", values),
        "base": lambda: base("strict.state.user", values, stop=STOP),
    }


def _question_prompts(task: OutputTask) -> dict[str, RenderPrompt]:
    values = {
        "question": task.question,
        "starter": task.program,
        "fn": task.function,
        "args": task.arguments,
    }
    return {"default": lambda: chat("lcb.test_output.user", values, system="lcb.test_output.system")}


KIND = OutputPrediction()
"""The object that everything asks."""
