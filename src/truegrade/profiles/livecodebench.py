"""`livecodebench`, its versions `-base` and `-2025-01`, and `livecodebench-exec`: the graders of LiveCodeBench.

The words of contest problems as LiveCodeBench has them, for each model style.

LiveCodeBench/LiveCodeBench@28fef95 ``lcb_runner/prompts/code_generation.py``; styles are those of
``lcb_runner/lm_styles.py`` under their own names. Starter code decides the wording, whatever decides the grading.
Where upstream applies a tokenizer's chat template (LLaMa3), the messages are given and the server applies its own;
``LLaMa3-text`` is the text that the template makes of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import msgspec

from truegrade import prompts
from truegrade.datasets.download import PinnedFile, locate, read_content, sha256
from truegrade.errors import BadRecord, UnknownName, UserError
from truegrade.extraction.contest_programs import base_reply, last_pair
from truegrade.files.extras import require
from truegrade.grading.contests import Rules
from truegrade.grading.contests.harness import Harness
from truegrade.grading.judgement import Judgement
from truegrade.kinds import Context
from truegrade.kinds.contest import kind_of_prompt, question
from truegrade.profiles.base import NO_EXAMPLES, Profile, Way, check_variant, covered_task
from truegrade.profiles.contest_profile import OFFICIAL_RULES, ContestProfile
from truegrade.profiles.cruxeval import SKIPPED, grade_assertion, literal_verdict, skipped
from truegrade.profiles.livecodebench_repair import VLLM_STOP, claude_completion
from truegrade.prompts.making import RenderPrompt, answered_prompt, base, chat
from truegrade.records import Answer, Completion, ContestTask, OutputTask, Problem, Prompt
from truegrade.sandbox import Limits
from truegrade.statistics.tally import OFFICIAL

# ----------------------------- The worked example that LiveCodeBench shows to base models (style GenericBase).
# It is a contest's text, which is not ours to ship: it is read from the checkout's own file, found as data sets
# are (``TRUEGRADE_DATA``, the cache, else the pinned address), and checked against its hash.


Kind = Literal["stdin", "functional"]

_FOLDER = (
    "https://github.com/LiveCodeBench/LiveCodeBench/raw/28fef95ea8c9f7a547c8329f2cd3d32b92c1fa24"
    "/lcb_runner/prompts/few_shot_examples/generation"
)
_FILES: dict[Kind, tuple[str, str]] = {
    "stdin": ("stdin.json", "28a3a50b79869aa9cc5cc2e3c611c8b39e1ab2d192f6b2b9ce0f6a4b014ee726"),
    "functional": ("func.json", "75b50ffef185c71aa702499b015da50b03d7732195332186c759dfa0304bf1aa"),
}


class SolvedProblem(msgspec.Struct, frozen=True):
    """One solved problem."""

    question: str
    answer: str
    sample_code: str = ""
    """Starter code; not shown for stdin."""


@cache
def worked_example(kind: Kind) -> SolvedProblem:
    """The first example of upstream's file for this kind of problem.

    Raises:
        UserError: the file is not at hand and cannot be downloaded.
        BadRecord: it is another file.
    """
    file, digest = _FILES[kind]
    located = locate(
        PinnedFile(
            name=f"livecodebench-example-{kind}",
            file=file,
            url=f"{_FOLDER}/{file}",
            sha256=digest,
            content_sha256=digest,
            id_field="question",
            id_prefix="",
            id_numbers="0-1",
            licence="the contests' own",
            citation="Jain et al., arXiv:2403.07974",
        )
    )
    content = read_content(located.path)
    if sha256(content) != digest:
        raise BadRecord(located.path, f"is not LiveCodeBench's {file} at 28fef95; remove it, and it is downloaded")
    return msgspec.json.decode(content, type=list[SolvedProblem])[0]


RenderContest = Callable[[ContestTask], Prompt]

SYSTEM = "lcb.official.system"
DEFAULT_STYLE = "OpenAIChat"


def official_prompt(task: ContestTask, style: str = DEFAULT_STYLE) -> Prompt:
    """The official prompt for a model style, at 28fef95; b95a71c has the same words for the styles it has.

    Raises:
        UnknownName: no such style.
        UserError: the style is one that upstream itself has no words for, or its example cannot be had.
    """
    if style in UNWORDED:
        raise UserError(
            f"style {style}: LiveCodeBench@28fef95 raises NotImplementedError for it; use another style"
        )
    if style not in STYLES:
        raise UnknownName("LiveCodeBench model style", style, {*STYLES, *UNWORDED})
    return STYLES[style](task)


def _chat(task: ContestTask) -> Prompt:
    return question("lcb.official.chat.user", task, system=SYSTEM)


def _claude3(task: ContestTask) -> Prompt:
    return question("lcb.official.claude3.user", task, system=SYSTEM)


def _before_264e841(task: ContestTask) -> Prompt:
    """The chat prompt before 2024-12-26; the words for starter code are the same since."""
    family = "lcb.official" if task.starter_code else "lcb.official_before_264e841"
    return question(f"{family}.chat.user", task, system="lcb.official_before_264e841.system")


def _claude(task: ContestTask) -> Prompt:
    return claude_completion(_chat(task).messages[-1].content, SYSTEM)


def _one_message(family: str) -> RenderContest:
    return lambda task: question(family, task)


def _text(family: str) -> RenderContest:
    """A chat template written out by hand: one text to continue."""
    return lambda task: _as_text(question(family, task))


def _generic_base(task: ContestTask) -> Prompt:
    kind = kind_of_prompt(task)
    example = worked_example(kind)
    values = {"question": task.question, "example_question": example.question, "example_answer": example.answer}
    if kind == "functional":
        values |= {"starter": task.starter_code, "example_starter": example.sample_code}
    return base(f"lcb_base.{kind}", values, stop=VLLM_STOP)


def _llama3(task: ContestTask) -> Prompt:
    return msgspec.structs.replace(_chat(task), stop=VLLM_STOP)


def _llama3_text(task: ContestTask) -> Prompt:
    """What the tokenizer's template makes of the messages: as upstream sends them, for servers of bare text."""
    system, user = (message.content.strip() for message in _chat(task).messages)
    return base("lcb_llama3.template", {"system": system, "user": user}, stop=VLLM_STOP)


def _as_text(prompt: Prompt) -> Prompt:
    return msgspec.structs.replace(prompt, style="text", stop=VLLM_STOP)


STYLES: Mapping[str, RenderContest] = MappingProxyType(
    {
        "OpenAIChat": _chat,
        "OpenAIReasonPreview": _one_message("lcb.official.reason_preview.user"),
        "OpenAIReason": _one_message("lcb.official.reason.user"),
        "Claude": _claude,
        "Claude3": _claude3,
        "Claude3Thinking": _claude3,
        "Gemini": _one_message("lcb.official.gemini"),
        "GeminiThinking": _one_message("lcb.official.gemini_thinking"),
        "Grok": _one_message("lcb.official.reason_preview.user"),
        "MistralWeb": _chat,
        "CohereCommand": _chat,
        "DeepSeekAPI": _chat,
        "GenericBase": _generic_base,
        "DeepSeekCodeInstruct": _text("lcb.official.deepseek_code_instruct"),
        "CodeQwenInstruct": _text("lcb.official.codeqwen_instruct"),
        "QwQ": _text("lcb.official.qwq"),
        "LLaMa3": _llama3,
        "LLaMa3-text": _llama3_text,
        "DeepSeekR1": _text("lcb.official.deepseek_r1"),
        "TogetherAI": _chat,
        "before-264e841": _before_264e841,
    }
)
"""By the name of the style at 28fef95, LLaMa3 as messages and as text; and the chat prompt of 2024."""

UNWORDED = ("DataBricks", "CodeLLaMaInstruct", "StarCoderInstruct")
"""Styles of the enum for which ``format_prompt_generation`` raises NotImplementedError."""

STYLES_SINCE_B95A71C = ("Claude3Thinking", "Grok", "CohereCommand", "QwQ", "DeepSeekR1", "TogetherAI")
"""Styles without words in the version of January 2025."""


# ---- `livecodebench` and `livecodebench-2025-01`: the official runner of LiveCodeBench @28fef95 and @b95a71c.


BASE_STYLE = "GenericBase"


def _runner_error(error: str) -> dict[str, Any]:
    return {"error": error, "error_code": -5, "error_message": "TestRunnerError"}


_HEAD = Harness(
    rules=Rules(**OFFICIAL_RULES),
    added_s=5.0,
    runner_error=_runner_error,
)


class LiveCodeBench(ContestProfile):
    """The runner of July 2025, the newest."""

    name = "livecodebench"
    version = "28fef95"
    variants = ("default", *(style for style in STYLES if style != BASE_STYLE))
    harness = _HEAD
    contest_scale = OFFICIAL

    def cut(self, reply: str) -> str:
        """The last two fences."""
        return last_pair(reply)

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """The words for a model style; without one, style OpenAIChat's system and user message."""
        style = check_variant(self, variant)
        return official_prompt(
            covered_task(self, problem, ContestTask), DEFAULT_STYLE if style == "default" else style
        )

    def render_contest(self, task: ContestTask) -> Prompt:
        """Style OpenAIChat."""
        return official_prompt(task)


class LiveCodeBench202501(LiveCodeBench):
    """The runner of January 2025, before its standard input was changed."""

    name = "livecodebench-2025-01"
    version = "b95a71c"
    variants = tuple([style for style in LiveCodeBench.variants if style not in STYLES_SINCE_B95A71C])
    current = False
    harness = msgspec.structs.replace(_HEAD, rules=_HEAD.rules | {"world": "string"})


class LiveCodeBenchBase(LiveCodeBench):
    """The newest runner with a base model: one worked example, and the whole text as the program."""

    name = "livecodebench-base"
    variants = ("default",)

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """The example, downloaded when first used, then the question."""
        check_variant(self, variant)
        return self.render_contest(covered_task(self, problem, ContestTask))

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """The whole text, stripped."""
        answer = super().extract(problem, completion)
        return (
            answer if completion.form != "reply" else Answer(value=answer.value, found="the whole text, stripped")
        )

    def cut(self, reply: str) -> str:
        """The whole text, stripped."""
        return base_reply(reply)

    def render_contest(self, task: ContestTask) -> Prompt:
        """Style GenericBase."""
        return official_prompt(task, BASE_STYLE)


# ------------------------------- `livecodebench-exec`: code execution of LiveCodeBench/LiveCodeBench @28fef95.


_DIRECT = ("default", "base")
_STOP = ("###",)


def _prompts(problem: Problem, task: OutputTask, examples: object) -> dict[str, RenderPrompt]:
    """LiveCodeBench's words, direct or ``cot``, for a chat model or a ``base`` model."""
    values = {"code": task.program, "call": f"{task.function}({task.arguments})"}
    system = "lcb.execution.system"
    return {
        "default": lambda: chat("lcb.execution.direct", values, system=system, stop=_STOP),
        "cot": lambda: chat("lcb.execution.cot", values, system=system, stop=_STOP),
        "base": lambda: base("lcb.execution.direct", values, stop=_STOP),
        "base-cot": lambda: base("lcb.execution.cot", values, stop=_STOP),
    }


def _extract(problem: Problem, task: OutputTask, completion: Completion) -> Answer:
    """The published post-processing of replies; what is already extracted stays as it is."""
    text = completion.text or ""
    if completion.form == "answer":
        return Answer(value=text, found="as given", form="answer")
    worded = _prompts(problem, task, None)
    if answered_prompt(completion, worded, tuple(worded)) not in _DIRECT and "[ANSWER]" in text:
        text = text.split("[ANSWER]")[1].strip()
    if "==" in text:
        text = text.split("==")[1].strip()
    end = "[/ANSWER]" if "[/ANSWER]" in text else "\n"
    return Answer(value=text.split(end, maxsplit=1)[0].strip(), found="after the first ==", form="answer")


def _judge(problem: Problem, task: OutputTask, answer: Answer, context: Context) -> Judgement:
    """Run imports, program and assertion, unless the call itself is in the generation."""
    generation = answer.value or ""
    if f"{task.function}({task.arguments})" in generation:
        return skipped("LiveCodeBench skips a generation that holds the call")
    assertion = f"assert {task.expected} == {generation}"
    if literal_verdict(assertion) is None:
        said = f"profile 'livecodebench-exec' imports pandas before every program; to run {problem.id} it"
        require("pandas", said)
    program = f"{prompts.render('livecodebench.base_imports')}\n{task.program}"
    return grade_assertion(program, assertion, context.executor, preload=("pandas",))


class LivecodebenchExec(Profile):
    """``assert <output> == <generation>`` executed behind a block of imports and the program."""

    name = "livecodebench-exec"
    version = "28fef95"
    ways: ClassVar[Mapping[str, Way]] = {
        "output_prediction": Way(prompts=_prompts, extract=_extract, judge=_judge)
    }
    variants = ("default", "cot", "base", "base-cot")
    limits = Limits(cpu_s=3.0, wall_s=10.0, packages=("numpy", "pandas"))

    def tally(self, outcomes: Sequence[tuple[bool, tuple[str, ...]]]) -> tuple[int, int]:
        """Skipped generations leave the denominator, unless nothing else is left."""
        ran = sum(SKIPPED not in marks for _, marks in outcomes)
        return ran or len(outcomes), sum(right for right, _ in outcomes)
