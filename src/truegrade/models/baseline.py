"""Models that are no models: anchors which say what a score means. Offline, free and deterministic.

``reference`` is what a perfect model would score, so that anything below 100 % is the grader's doing; ``lookup``
is what memorising the prompt's examples is worth; ``empty`` is what a function that does nothing is worth;
``buggy`` hands a program back unrepaired.
"""

from __future__ import annotations

import ast
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from textwrap import indent
from typing import NamedTuple

from truegrade.errors import UnknownName, UserError
from truegrade.models.base import Model, Reply, no_sample
from truegrade.models.baseline_reading import (
    ShownExample,
    ShownQuestion,
    TargetFunction,
    find_examples,
    find_question,
    find_target,
)
from truegrade.records import (
    Attempt,
    CasesTask,
    ChoiceTask,
    ContestTask,
    FunctionTask,
    InputTask,
    OracleTask,
    OutputTask,
    Problem,
    Prompt,
    SampleKey,
    SuiteTask,
)
from truegrade.records.config import RequestPolicy, Sampling

# ------ The form in which a prompt wants its answer: a baseline is graded for its values, not for its manners.


_ANSWER = "[ANSWER]"


class CallClaim(NamedTuple):
    """A call and the value it is said to have, both as source."""

    call: str
    value: str

    @property
    def assertion(self) -> str:
        """``assert CALL == VALUE``."""
        return f"assert {self.call} == {self.value}"


def claim_in_form(prompt: str, claim: CallClaim) -> str:
    """The claim as the prompt asks for it.

    Args:
        prompt: all of the prompt's text.
        claim: what is answered. Where the prompt shows two programs, it is about the first, A.
    """
    end = prompt.rstrip()
    if '"chosen_program"' in prompt:
        return json.dumps({"chosen_program": "A", "assertion": claim.assertion}, ensure_ascii=False)
    if end.endswith("=="):
        return f" {claim.value} # done"
    if "== # TODO" in prompt:
        return f"```python\n{claim.assertion}\n```"
    opening = "" if end.endswith(_ANSWER) else f"{_ANSWER}\n"
    return f"{opening}{claim.assertion}\n[/ANSWER]"


# ------------- The lookup baseline: a model that memorises the examples in its prompt and understands nothing.
# What it scores is what a benchmark gives away: problems whose hidden tests repeat the shown examples, or whose
# answer is nearly always the same value.


def answer_question(question: ShownQuestion) -> CallClaim:
    """Copy what is shown: the first argument as the value, or the value as the argument."""
    known = question.known or "None"
    return CallClaim(f"{question.call}({known})" if question.asks_arguments else question.call, known)


def lookup_code(text: str, *, continues: bool) -> str | None:
    """Code for the function that the prompt asks for; None if it shows no function.

    Args:
        text: all of the prompt.
        continues: the reply is appended to the text, so an open function gets its body only.
    """
    target = find_target(text)
    if target is None:
        return None
    examples = find_examples(text, target.name)
    parameters = parameters_of(target, examples)
    return write_function(target, parameters, lookup_body(parameters, examples), continues=continues)


def lookup_body(parameters: ast.arguments, examples: Sequence[ShownExample]) -> str:
    """One return statement: the value shown for these arguments, else the value shown most often.

    Arguments are compared by their ``repr``, which needs no hashing and tells 1 from True.
    """
    bound = [(bind(parameters, example), ast.unparse(example.value)) for example in examples]
    rows = [(arguments, value) for arguments, value in bound if arguments is not None]
    if not rows:
        return "return None"
    default = Counter(value for _, value in rows).most_common(1)[0][0]
    given = _tuple([parameter.arg for parameter in _plain(parameters)])
    table = "".join(f"    repr({arguments}): {value},\n" for arguments, value in rows)
    return f"return {{\n{table}}}.get(repr({given}), {default})"


def parameters_of(target: TargetFunction, examples: Sequence[ShownExample]) -> ast.arguments:
    """The shown signature without annotations, whose names may need imports; else one as long as the calls."""
    if target.parameters is not None:
        bare = deepcopy(target.parameters)
        for node in ast.walk(bare):
            if isinstance(node, ast.arg):
                node.annotation = None
        return bare
    lengths = [len(example.call.args) for example in examples if not example.call.keywords]
    if not lengths:
        return ast.arguments([], [], ast.arg("arguments"), [], [], None, [])
    names = [ast.arg(f"argument{i}") for i in range(max(lengths))]
    defaults: list[ast.expr] = [ast.Constant(None) for _ in range(max(lengths) - min(lengths))]
    return ast.arguments([], names, None, [], [], None, defaults)


def write_function(target: TargetFunction, parameters: ast.arguments, body: str, *, continues: bool) -> str:
    """The body alone where the prompt ends inside the function, else all of it; a method in LeetCode's class."""
    if continues and target.body_indent is not None:
        return _indented(body, target.body_indent)
    code = f"def {target.name}({ast.unparse(parameters)}):\n{_indented(body, '    ')}"
    method = [parameter.arg for parameter in parameters.args][:1] == ["self"]
    return f"class Solution:\n{indent(code, '    ')}" if method else code


def bind(parameters: ast.arguments, example: ShownExample) -> str | None:
    """Source of the tuple of values that the parameters take in an example; None if the call does not fit."""
    plain = _plain(parameters)
    names = [parameter.arg for parameter in plain]
    positional = len(parameters.posonlyargs) + len(parameters.args)
    if len(example.call.args) > positional or any(isinstance(value, ast.Starred) for value in example.call.args):
        return None
    first_default = positional - len(parameters.defaults)
    values: dict[str, ast.expr | None] = dict(zip(names[first_default:], parameters.defaults, strict=False))
    values.update(zip(names[positional:], parameters.kw_defaults, strict=True))
    values.update(zip(names, example.call.args, strict=False))
    for keyword in example.call.keywords:
        if keyword.arg not in names:
            return None
        values[keyword.arg] = keyword.value
    taken = [values.get(name) for name in names]
    sources = [ast.unparse(value) for value in taken if value is not None]
    return _tuple(sources) if len(sources) == len(names) else None


def lookup_claim(text: str) -> CallClaim | None:
    """What answers the prompt's question about a call; None if it asks none."""
    question = find_question(text)
    return None if question is None else answer_question(question)


def _plain(parameters: ast.arguments) -> list[ast.arg]:
    """Parameters that take one value each."""
    return [*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs]


def _tuple(sources: Sequence[str]) -> str:
    return f"({', '.join(sources)}{',' if len(sources) == 1 else ''})"


def _indented(code: str, indent: str) -> str:
    return "".join(f"{indent}{line}\n" for line in code.split("\n"))


NO_FUNCTION = "The prompt shows no function to write."
"""Said where the prompt holds neither a signature nor a call; it is graded as a reply without code."""
NO_REFERENCE = "The data set has no solution of this problem."
NO_PROGRAM = "The problem shows no program to repair."


class Baseline:
    """A model made of a rule: ``answer`` turns what the prompt shows into the text of the reply."""

    def __init__(self, name: str, answer: Callable[[Prompt], str]) -> None:
        self._name = f"baseline/{name}"
        self._answer = answer

    @property
    def name(self) -> str:
        """``baseline/NAME``."""
        return self._name

    @property
    def base_url(self) -> None:
        """Nowhere: it runs in this process."""
        return None

    @property
    def request_policy(self) -> RequestPolicy:
        """The default; nothing is waited for."""
        return RequestPolicy()

    async def generate(self, prompt: Prompt, sampling: Sampling) -> Reply:
        """Answer, cut at the first stop string as a service would do."""
        return self._reply(prompt, sampling, self._answer)

    async def close(self) -> None:
        """Nothing to release."""

    def _reply(self, prompt: Prompt, sampling: Sampling, answer: Callable[[Prompt], str]) -> Reply:
        start = time.perf_counter()
        text = cut_at_stop(answer(prompt), (*prompt.stop, *sampling.stop))
        latency_s = time.perf_counter() - start
        return Reply(
            text=text,
            finish_reason="stop",
            latency_s=latency_s,
            model=self._name,
            attempts=(Attempt(outcome="ok", latency_s=latency_s),),
        )


class InformedBaseline(Baseline):
    """A baseline that knows the problems, their references among them: it is given them when it is opened."""

    def __init__(
        self, name: str, answer: Callable[[Problem, Prompt], str], problems: Mapping[str, Problem]
    ) -> None:
        super().__init__(name, self._refuse)
        self._informed, self._problems = answer, problems

    async def generate_sample(self, key: SampleKey, prompt: Prompt, sampling: Sampling) -> Reply:
        """Answer one sample of a run.

        Raises:
            UserError: the baseline was opened without this problem.
        """
        if key.problem_id not in self._problems:
            raise UserError(
                f"{self.name} was opened without problem {key.problem_id!r}: pass its name as the model, or the"
                " problems to open_model"
            )
        return self._reply(prompt, sampling, partial(self._informed, self._problems[key.problem_id]))

    def _refuse(self, prompt: Prompt) -> str:
        raise no_sample(self.name)


def open_baseline(name: str, problems: Mapping[str, Problem]) -> Model:
    """The baseline ``reference``, ``lookup``, ``empty`` or ``buggy``.

    Args:
        name: without ``baseline/``.
        problems: by id; the first and the last answer these and no others.

    Raises:
        UnknownName: there is no such baseline.
    """
    informed = {"reference": _reference, "buggy": _buggy}
    if name in informed:
        return InformedBaseline(name, informed[name], problems)
    answers = {"lookup": _lookup, "empty": _empty}
    if name not in answers:
        raise UnknownName("baseline", name, [*informed, *answers])
    return Baseline(name, answers[name])


def cut_at_stop(text: str, stops: tuple[str, ...]) -> str:
    """The text before the first of the stop strings."""
    return text[: min((place for stop in stops if stop and (place := text.find(stop)) >= 0), default=len(text))]


def _reference(problem: Problem, prompt: Prompt) -> str:
    """The right answer, out of the problem."""
    match problem.task:
        case FunctionTask(reference=reference) | OracleTask(reference=reference) | SuiteTask(reference=reference):
            return _code(prompt, _continuation(prompt, reference, problem.task))
        case CasesTask(reference=reference):
            return _code(prompt, reference)
        case ContestTask(reference=reference):
            return _code(prompt, reference) if reference else NO_REFERENCE
        case OutputTask(function=function, arguments=arguments, expected=expected):
            claim = CallClaim(f"{function}({arguments})", expected)
        case ChoiceTask(function=function, arguments=arguments, expected=(expected, _)):
            claim = CallClaim(f"{function}({arguments})", expected)
        case InputTask(function=function, reference_arguments=arguments, expected=expected):
            claim = CallClaim(f"{function}({arguments})", expected)
    return claim_in_form(prompt_text(prompt), claim)


def _lookup(prompt: Prompt) -> str:
    """What the prompt's examples give away."""
    text = prompt_text(prompt)
    claim = lookup_claim(text)
    if claim is not None:
        return claim_in_form(text, claim)
    code = lookup_code(text, continues=continues(prompt))
    return NO_FUNCTION if code is None else _code(prompt, code)


def _empty(prompt: Prompt) -> str:
    """A function that does nothing; asked for a value, what such a function returns."""
    text = prompt_text(prompt)
    question = find_question(text)
    if question is not None and question.asks_arguments:
        return claim_in_form(text, CallClaim(f"{question.call}(None)", str(question.known)))
    if question is not None:
        return claim_in_form(text, CallClaim(question.call, "None"))
    target = find_target(text)
    if target is None:
        return NO_FUNCTION
    code = write_function(target, parameters_of(target, ()), "pass", continues=continues(prompt))
    return _code(prompt, code)


def _buggy(problem: Problem, prompt: Prompt) -> str:
    """The program to repair, as it was given."""
    task = problem.task
    if isinstance(task, FunctionTask) and task.buggy:
        return _code(prompt, _continuation(prompt, task.buggy, task))
    return _code(prompt, task.buggy) if isinstance(task, CasesTask) else NO_PROGRAM


def prompt_text(prompt: Prompt) -> str:
    """All that the model sees, in order."""
    return "\n".join(message.content for message in prompt.messages)


def continues(prompt: Prompt) -> bool:
    """Whether the reply is appended to the prompt's own text: a base model's prompt, or an answer begun."""
    return prompt.style == "text" or prompt.messages[-1].role == "assistant"


def _continuation(prompt: Prompt, code: str, task: FunctionTask | OracleTask | SuiteTask) -> str:
    """The part of a program that the prompt lacks, where the prompt ends with the code it starts with."""
    begun = (task.prefix or task.prompt).rstrip()
    if not (begun and continues(prompt) and code.startswith(begun)):
        return code
    if not prompt_text(prompt).rstrip().endswith(begun):
        return code
    return code[len(begun) :].lstrip("\n")


def _code(prompt: Prompt, code: str) -> str:
    """Code as a reply: in a fence, or bare where it continues the prompt."""
    if not continues(prompt):
        return "```python\n" + code.strip("\n") + "\n```"
    return code if prompt_text(prompt).endswith("\n") else f"\n{code}"
