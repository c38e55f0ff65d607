"""CRUXEval as EleutherAI/lm-evaluation-harness @4e7e0d47f has it: the part of `lm-eval` for predictions.

Its tasks ``cruxeval_output``, ``cruxeval_input`` and the two with ``_cot`` behind their names (added in fbbadbb9f)
have prompts and an extraction of their own; the truth in their own format scores about 53 % on outputs.
"""

from __future__ import annotations

from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement
from truegrade.profiles.base import Rule
from truegrade.profiles.prompt_building import RenderPrompt, answered_prompt, base
from truegrade.profiles.reliability_guard import grade_guarded
from truegrade.records import Answer, Completion, InputTask, OutputTask

_TASKS = "EleutherAI/lm-evaluation-harness@4e7e0d47f lm_eval/tasks/cruxeval"
_UNTIL = ("[/ANSWER]", "</seed:think>[ANSWER]")

VARIANTS = ("default", "cot")

RULES = (
    Rule("prompt", "CRUXEval: two shots (default) or CRUXEval's own cot text; 10 repeats, temperature 0.2, top_p"
         " 0.95, 1024 tokens (cruxeval_input_cot: 512)", f"{_TASKS}/*.yaml"),
    Rule("extraction", "CRUXEval: the reply up to [/ANSWER] or </seed:think>[ANSWER]; cot: from the first [ANSWER]"
         " on. A reply to none of its prompts is taken for cot's", f"{_TASKS}/*.yaml, utils.py"),
    Rule("extraction", "CRUXEval output: between the first == and the next, quotes at both ends stripped, first"
         " line, up to the first #", f"{_TASKS}/utils.py extract_code_output"),
    Rule("extraction", "CRUXEval input: behind 'assert f(' up to its closing parenthesis, counted, else up to the"
         " first one; without 'assert f' the text before ==, or f(...) unwrapped; first line, up to the first #",
         f"{_TASKS}/utils.py extract_code_input"),
    Rule("program", "CRUXEval: code + newline + assert f(<input>)==<output>, one of the two from the reply",
         f"{_TASKS}/utils.py"),
)  # fmt: skip

DEFECTS = (
    "CRUXEval output: quotes are stripped and right strings lost: perfect answers score about 53 %",
    "CRUXEval output: `0 or 1` and the echo of the call are right answers to every item; nothing is skipped",
    "CRUXEval output: # in a string and a second == end the value, and so does the first line end",
    "CRUXEval input: parentheses and # inside strings are counted: perfect answers score about 98 %",
    "CRUXEval input: the arguments are pasted: `x)!=0 or (1` passes",
    "CRUXEval: the second shot shows strings without quotes (assert f(x9j) == x9ja), which is no Python",
)


def renderers(task: OutputTask | InputTask) -> dict[str, RenderPrompt]:
    """The prompts of the four tasks, for a base model."""
    if isinstance(task, OutputTask):
        values, kind = {"code": task.program, "input": task.arguments}, "output"
    else:
        values, kind = {"code": task.program, "output": task.expected}, "input"
    return {
        "default": lambda: base(f"cruxeval.lm_eval.{kind}", values, stop=_UNTIL),
        "cot": lambda: base(f"cruxeval.{kind}.cot", values, stop=_UNTIL),
    }


def extract(task: OutputTask | InputTask, completion: Completion) -> Answer:
    """What the harness' filter pastes into its assertion; text that is already extracted stays as it is."""
    text = completion.text or ""
    if completion.form == "answer":
        return Answer(value=text, found="as given", form="answer")
    for stop in _UNTIL:
        text = text.split(stop, maxsplit=1)[0]
    if answered_prompt(completion, renderers(task), VARIANTS) != "default" and "[ANSWER]" in text:
        text = text.split("[ANSWER]")[1].strip()
    value = _predicted_output(text) if isinstance(task, OutputTask) else _predicted_input(text)
    return Answer(value=value.split("\n")[0].split("#")[0].strip(), found="CRUXEval's filter", form="answer")


def judgement(task: OutputTask | InputTask, answer: Answer, executor: Executor) -> Judgement:
    """Run the program and the assertion that the reply completes."""
    predicted = answer.value or ""
    if isinstance(task, OutputTask):
        assertion = f"assert f({task.arguments})=={predicted}"
    else:
        assertion = f"assert f({predicted})=={task.expected}"
    return grade_guarded(f"{task.program}\n{assertion}", executor)


def _predicted_output(text: str) -> str:
    value = text.split("==")[1] if "==" in text else text
    return value.strip().strip("\"'")


def _predicted_input(text: str) -> str:
    if "assert f(" in text:
        return _inside_parentheses(text.partition("assert f(")[2]).strip()
    if "==" in text or "assert f" in text:
        return text.split("==", maxsplit=1)[0].replace("assert f", "").strip("()").strip()
    text = text.strip()
    return text[2:-1] if text.startswith("f(") and text.endswith(")") else text


def _inside_parentheses(text: str) -> str:
    """Up to the parenthesis that closes one opened before the text; strings are not known."""
    opened = 1
    for place, character in enumerate(text):
        opened += (character == "(") - (character == ")")
        if opened == 0:
            return text[:place]
    return text.split(")", maxsplit=1)[0]
