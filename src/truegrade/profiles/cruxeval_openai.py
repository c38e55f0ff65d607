"""`cruxeval-openai`: the OpenAI runs of facebookresearch/cruxeval @190faf1, graded by its evaluator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from truegrade.profiles.answered_prompt import answered_prompt
from truegrade.profiles.base import NO_EXAMPLES, Rule
from truegrade.profiles.cruxeval import (
    EVALUATOR_DEFECTS,
    EVALUATOR_RULES,
    Cruxeval,
    after_equals,
    call_of_f,
    published_prompts,
)
from truegrade.profiles.refusals import check_variant
from truegrade.records import Answer, Completion, OutputTask, Problem, Prompt

_OPENAI = "facebookresearch/cruxeval@190faf1 openai/openai_prompt.py"
_DIRECT, _COT = "cruxeval-openai", "cruxeval-openai-cot"


class CruxevalOpenai(Cruxeval):
    """A system message, a chat reply, and extraction of its own; the evaluator is the same."""

    name: ClassVar[str] = "cruxeval-openai"
    summary: ClassVar[str] = "CRUXEval's OpenAI runs: system message, own extraction, Meta's evaluator"
    current: ClassVar[bool] = False
    variants: ClassVar[tuple[str, ...]] = ("default", "cot")
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("prompt", "direct (max_tokens 100) or cot (1000) behind a system message, stop at [/ANSWER];"
             " n = 10, temperature 0.2 for pass@1 and 0.8 for pass@5", f"{_OPENAI}, openai_run.py"),
        Rule("extraction", "a reply that a service did not stop at [/ANSWER] is cut there", _OPENAI),
        Rule("extraction", "direct: text after the first == (output); before it, then 'f' + text after the first"
             " 'assert f' (input)", f"{_OPENAI} extract_answer_direct_*"),
        Rule("extraction", "cot: the same in the text after the first [ANSWER]; without that tag the last line as"
             " it is. A reply to none of its prompts is taken for cot's", f"{_OPENAI} extract_answer_cot_*"),
        *EVALUATOR_RULES,
    )  # fmt: skip
    defects: ClassVar[tuple[str, ...]] = (
        *EVALUATOR_DEFECTS,
        "the first [ANSWER] counts, be it the word between two tags of a sentence (cot)",
        "without a tag the last line is the generation, whole: `assert f(1) == 2` is skipped or a syntax error",
    )

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """CRUXEval's words behind its system message: ``default`` (direct) or ``cot``."""
        name = check_variant(self, variant)
        return published_prompts(self, problem)[_DIRECT if name == "default" else _COT]()

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """The extraction of the OpenAI runs; what is already extracted stays as it is."""
        text = completion.text or ""
        if completion.form == "answer":
            return Answer(value=text, found="as given", form="answer")
        prompt = answered_prompt(completion, published_prompts(self, problem), (_DIRECT, _COT))
        text = text.split("[/ANSWER]", maxsplit=1)[0]
        if prompt != _DIRECT:
            if "[ANSWER]" not in text:
                return Answer(value=text.split("\n")[-1].strip(), found="the last line", form="answer")
            text = text.split("[ANSWER]")[1].strip()
        if isinstance(problem.task, OutputTask):
            return Answer(value=after_equals(text), found="after the first ==", form="answer")
        return Answer(value=call_of_f(text), found="the call of f", form="answer")
