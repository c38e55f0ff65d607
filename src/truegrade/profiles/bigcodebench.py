"""`bigcodebench`: BigCodeBench as bigcode-project/bigcodebench @47eff25 asks, sanitizes and grades it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from truegrade import prompts
from truegrade.errors import UserError
from truegrade.grading.executor import Executor
from truegrade.grading.functions import TESTS_INSIDE
from truegrade.grading.joined_tests import with_joined
from truegrade.grading.judgement import Judgement, from_outcome
from truegrade.grading.programs import stub
from truegrade.profiles.base import NO_EXAMPLES, Profile, check_variant, covered_task
from truegrade.profiles.evalplus import kept_statements, longest_span, sanitized_answer
from truegrade.prompts.making import before_stop, chat, continuation
from truegrade.records import Answer, Completion, Message, Problem, Prompt, Reason, SuiteTask
from truegrade.sandbox import Limits

_REPO = "bigcode-project/bigcodebench@47eff25"
_GENERATE = f"{_REPO} bigcodebench/generate.py"

EOS = ("<|endoftext|>", "<|endofmask|>", "</s>", "\nif __name__", "\ndef main(", "\nprint(")
"""Stop strings of the back ends that take any."""
BASE_EOS = (*EOS, "\ndef ", "\nclass ", "\nimport ", "\nfrom ", "\nassert ")
"""Of models without a chat template."""
TIMEOUT_S = 241.0
"""``TIMEOUT_LIMIT`` and 1 s; a reference that took longer, which none does, would raise it."""
_FAILED = "AssertionError: tests: "
_RUNNER = """
import builtins, os, sys, types, unittest

def run(source):
    module = types.ModuleType("__test__")
    module.__dict__.update({"__builtins__": builtins, "__file__": "__test__.py", "__package__": None,
                            "__doc__": None, "sys": sys, "os": os, "environ": os.environ})
    exec(compile(source, "__test__.py", "exec", dont_inherit=True), module.__dict__)
    sys.modules["__test__"] = module
    result = unittest.TestResult()
    unittest.TestLoader().loadTestsFromTestCase(getattr(module, "TestCases")).run(result)
    issues = result.failures + result.errors
    if issues:
        words = issues[0][1].strip().splitlines()[-1]
        raise AssertionError(f"tests: {len(issues)} of {result.testsRun} failed; {issues[0][0].id()}: {words}")

"""


class BigCodeBench(Profile):
    """BigCodeBench's verdict, calibrated."""

    name = "bigcodebench"
    version = "47eff25"
    covers = ("suite",)
    only = MappingProxyType({"suite": ("bigcodebench",)})
    variants = ("default", "chat", "base")
    limits = Limits(
        cpu_s=TIMEOUT_S,
        wall_s=TIMEOUT_S + 1,
        memory_bytes=30 * 1024**3,
        output_bytes=64 * 2**20,
        processes=16,
        open_files=256,
    )

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """BigCodeBench's words for an API, for a chat template (the answer's turn is begun) or for a base model.

        Raises:
            UserError: a base model is asked for a description.
        """
        task = covered_task(self, problem, SuiteTask)
        style = check_variant(self, variant)
        split = "complete" if task.prompt == task.prefix else "instruct"
        if style == "base":
            if split == "instruct":
                raise UserError(
                    f"prompt variant 'base' of {self.name}: base models complete code; use split=complete, or"
                    " another variant"
                )
            return continuation(task.prompt, source=_GENERATE, stop=BASE_EOS)
        asked = chat(f"bigcodebench.{split}.user", {"prompt_stripped": task.prompt.strip()})
        if style == "default":
            return asked
        opening = Message(role="assistant", content=prompts.render("evalplus.chat.response_prefix"))
        return Prompt(messages=(*asked.messages, opening), source=asked.source, stop=EOS)

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """Sanitize a reply, or a base model's text behind its prompt; take what a file gives as it is."""
        task = covered_task(self, problem, SuiteTask)
        text = completion.text or ""
        if completion.form == "program":
            return Answer(value=text, found="as given: a whole program")
        if completion.form == "completion":
            if not completion.prompt_sha256:
                return Answer(value=task.prefix + text, found="as given: behind the prompt")
            text = task.prefix + before_stop(text, BASE_EOS).replace("\t", "    ")
        return sanitized_answer(sanitize(text, task.entry_point))

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Run solution and tests as one module."""
        task = covered_task(self, problem, SuiteTask)
        source = f"{stub(task.prefix)}\n{answer.value or ''}\n{task.tests}"
        outcome = executor.inside(
            f"{_RUNNER}run({source!r})\n",
            disabled=("builtins.exit", "builtins.quit"),
            preload=("unittest", *task.packages),
            swallow=True,
            cpu_s=self.cpu_s(TIMEOUT_S),
        )
        judged = with_joined(from_outcome(outcome, marks=(TESTS_INSIDE,)), source, task.tests)
        if not outcome.detail.startswith(_FAILED):
            return judged
        detail = outcome.detail.removeprefix(_FAILED)
        return msgspec.structs.replace(judged, reason=Reason.WRONG_ANSWER, detail=detail)


def sanitize(reply: str, entry_point: str) -> str:
    """What BigCodeBench grades of a reply.

    Its sanitizer is EvalPlus' (`truegrade.profiles.evalplus`) with three differences: white space around
    the reply is cut first, functions without a ``return`` are kept, and unindented lines at the end that name the
    entry point are left out, with what is between them.

    Raises:
        ExtractionLimitError: as `longest_span`.
    """
    kept = kept_statements(longest_span(reply.strip()), entry_point, returning=False)
    lines = kept.splitlines()
    first = len(lines)
    for place in reversed(range(len(lines))):
        if lines[place].startswith(" "):
            break
        if entry_point in lines[place]:
            first = place
    return "\n".join(lines[:first]).strip() or longest_span(reply)
