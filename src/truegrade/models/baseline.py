"""Models that are no models: anchors which say what a score means. Offline, free and deterministic.

``reference`` is what a perfect model would score, so that anything below 100 % is the grader's doing; ``lookup``
is what memorising the prompt's examples is worth; ``empty`` is what a function that does nothing is worth;
``constant`` is what one and the same answer to every question about a value is worth; ``buggy`` hands a program
back unrepaired.

What a prompt shows: the function asked for, examples of it, or a question about one call.

Only the prompt's text is read, line by line, with Python's parser as judge; nothing of it is ever executed.
"""

from __future__ import annotations

import ast
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from textwrap import indent

from truegrade.errors import UnknownName, UserError
from truegrade.extraction.parsing import Fault, Parser, is_literal, parse_expression, unix_newlines
from truegrade.grading.literals import most_frequent
from truegrade.kinds import CallClaim, asked_value, kind_at_fault, kind_of
from truegrade.models.base import Model, Reply, no_sample
from truegrade.records import Attempt, Problem, Prompt, SampleKey
from truegrade.records.config import RequestPolicy, Sampling

MAX_LINES = 40
"""Lines that one call or value may take."""

_DEF = re.compile(r"\s*(?:async\s+)?def\s+(\w+)\s*\(")
_ASSERT = re.compile(r"\s*assert\b\s*(.*)")
_DOCTEST = re.compile(r"\s*>>>\s?(.*)")
_WRAPPERS = frozenset(
    {"set", "sorted", "list", "tuple", "dict", "round", "abs", "len", "str", "int", "float", "bool", "isinstance"}
)
"""Functions that a test may put around the call it is about."""


@dataclass(frozen=True, slots=True)
class ShownExample:
    """One call and the value it should give, both as the prompt writes them."""

    call: ast.Call
    value: ast.expr

    @property
    def name(self) -> str:
        """Name of the called function."""
        return self.call.func.id if isinstance(self.call.func, ast.Name) else ""


@dataclass(frozen=True, slots=True)
class TargetFunction:
    """The function that a prompt asks for."""

    name: str
    parameters: ast.arguments | None
    """None where the prompt shows calls but no signature."""
    body_indent: str | None = None
    """Indentation of the body if the text ends inside this function, so that it can be continued."""


@dataclass(frozen=True, slots=True)
class ShownQuestion:
    """``assert f(arguments) == ??`` (or ``# TODO``, or nothing at all) or ``assert f(??) == value``."""

    call: str
    """Source of the call; for a question about arguments, the function's name."""
    known: str | None
    """Source of what is shown: the first literal argument, or the value to reach."""
    asks_arguments: bool


def find_question(text: str) -> ShownQuestion | None:
    """The last assertion that leaves open its value or its arguments; None if there is none."""
    lines = _lines(text)
    for start in range(len(lines) - 1, -1, -1):
        if (match := _ASSERT.match(lines[start])) is None:
            continue
        source = _rest(lines, start, match[1])
        question = _about_arguments(source) or _about_value(source)
        if question is not None:
            return question
    return None


def _about_arguments(source: str) -> ShownQuestion | None:
    match = re.match(r"(\w+)\(\s*\?\?\s*\)\s*==\s*", source)
    if match is None:
        return None
    value = next(filter(is_literal, _growing(source[match.end() :])), None)
    return ShownQuestion(match[1], None if value is None else ast.unparse(value), asks_arguments=True)


def _about_value(source: str) -> ShownQuestion | None:
    for match in re.finditer(r"\s*==\s*(?:\?\?|# TODO|\Z)", source):
        call = source[: match.start()]
        tree = parse_expression(call)
        if isinstance(tree, ast.Call):
            arguments = [*tree.args, *(keyword.value for keyword in tree.keywords)]
            first = next((argument for argument in arguments if is_literal(argument)), None)
            return ShownQuestion(call, None if first is None else ast.unparse(first), asks_arguments=False)
    return None


def find_target(text: str) -> TargetFunction | None:
    """The function asked for: that of the last assertion, unless a ``def`` comes later.

    A prompt with worked examples ends with the task itself, so the last one counts.
    """
    lines = _lines(text)
    signatures = {row: match[1] for row, line in enumerate(lines) if (match := _DEF.match(line))}
    asserted = [(row, name) for row, name in _asserted_names(lines) if name]
    last_def = max(signatures, default=-1)
    last_assert, name = asserted[-1] if asserted else (-1, "")
    if last_def < 0 and last_assert < 0:
        return None
    if last_assert < last_def:
        return _signature(lines, last_def) or TargetFunction(signatures[last_def], None)
    own = [row for row, defined in signatures.items() if defined == name]
    target = _signature(lines, own[-1]) if own else None
    return TargetFunction(name, None) if target is None else replace(target, body_indent=None)


def _asserted_names(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Row and called function of each assertion; the call may be wrapped, as in ``set(f(x)) == set(y)``."""
    for row, line in enumerate(lines):
        if match := _ASSERT.match(line):
            tree = next(_growing(_rest(lines, row, match[1])), None)
            calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)] if tree is not None else []
            names = [call.func.id for call in calls if isinstance(call.func, ast.Name)]
            yield row, next((name for name in names if name not in _WRAPPERS), "")


def _signature(lines: Sequence[str], row: int) -> TargetFunction | None:
    """The ``def`` that starts on a row; it is open if all that follows is its docstring."""
    source = "\n".join(lines[row:]).lstrip()
    for colon in re.finditer(":", source[:4000]):
        tree = Parser().module(source[: colon.end()] + " pass")
        if isinstance(tree, Fault) or not isinstance(tree.body[0], ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        after = re.match(r"[^\n]*\s*\n([ \t]+)\S", source[colon.end() :])
        indent = after[1] if after else "    "
        whole = Parser().module(f"{source}\n{indent}pass\n")
        is_open = isinstance(whole, ast.Module) and len(whole.body) == 1
        return TargetFunction(tree.body[0].name, tree.body[0].args, indent if is_open else None)
    return None


def find_examples(text: str, name: str) -> list[ShownExample]:
    """Doctests and assertions that call ``name`` with literals and compare with a literal, in order."""
    lines = _lines(text)
    found = [_doctest(lines, row) or _assertion(lines, row) for row in range(len(lines))]
    return [example for example in found if example is not None and example.name == name and _is_plain(example)]


def _is_plain(example: ShownExample) -> bool:
    arguments = [*example.call.args, *(keyword.value for keyword in example.call.keywords)]
    return all(is_literal(tree) for tree in [*arguments, example.value])


def _assertion(lines: Sequence[str], row: int) -> ShownExample | None:
    match = _ASSERT.match(lines[row])
    if match is None:
        return None
    tree: ast.AST | None = next(_growing(_rest(lines, row, match[1])), None)
    if isinstance(tree, ast.Tuple) and tree.elts:
        tree = tree.elts[0]  # what follows the comma is the assertion's message
    match tree:
        case ast.UnaryOp(op=ast.Not(), operand=ast.Call() as call):
            return ShownExample(call, ast.Constant(False))
        case ast.Call() as call:
            return ShownExample(call, ast.Constant(True))
        case _:
            return _comparison(tree)


def _doctest(lines: Sequence[str], row: int) -> ShownExample | None:
    match = _DOCTEST.match(lines[row])
    if match is None:
        return None
    following = list(lines[row + 1 : row + MAX_LINES])
    source = [match[1]]
    while following and following[0].lstrip().startswith("..."):
        source.append(following.pop(0).lstrip()[3:])
    tree = parse_expression("\n".join(source).strip())
    if not isinstance(tree, ast.Call):
        return None if isinstance(tree, Fault) else _comparison(tree)
    value = next(filter(is_literal, _growing("\n".join(following))), None)
    return None if value is None else ShownExample(tree, value)


def _comparison(tree: ast.AST | None) -> ShownExample | None:
    """``f(x) == y``, ``f(x) is y``, or both sides in the same wrapper."""
    match tree:
        case ast.Compare(left=ast.Call() as left, ops=[ast.Eq() | ast.Is()], comparators=[right]):
            pass
        case _:
            return None
    match left, right:
        case (
            ast.Call(func=ast.Name(id=outer), args=[ast.Call() as inner]),
            ast.Call(func=ast.Name(id=other), args=[value]),
        ) if outer == other and outer in _WRAPPERS:
            return ShownExample(inner, value)
        case _:
            return ShownExample(left, right)


def _lines(text: str) -> list[str]:
    """Lines as Python reads them; `str.splitlines` would also cut inside literals."""
    return unix_newlines(text).split("\n")


def _rest(lines: Sequence[str], row: int, first: str) -> str:
    """``first``, which is what matters of a row, and the rows that may belong to it."""
    return "\n".join([first, *lines[row + 1 : row + MAX_LINES]])


def _growing(source: str) -> Iterator[ast.expr]:
    """Expressions that the first 1, 2, ... lines of a text form, up to the first blank line."""
    lines = source.split("\n")
    for count in range(1, min(len(lines), MAX_LINES) + 1):
        if not lines[count - 1].strip():
            return
        tree = parse_expression("\n".join(lines[:count]).strip())
        if not isinstance(tree, Fault):
            yield tree


# ------ The form in which a prompt wants its answer: a baseline is graded for its values, not for its manners.


_ANSWER = "[ANSWER]"


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
NO_VALUE = "The problem does not ask for a value."


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
    """The baseline ``reference``, ``constant``, ``lookup``, ``empty`` or ``buggy``.

    Args:
        name: without ``baseline/``.
        problems: by id; all but ``lookup`` and ``empty`` answer these and no others.

    Raises:
        UnknownName: there is no such baseline.
    """
    values = (asked_value(problem.task) for problem in problems.values())
    usual = most_frequent(value for value in values if value is not None)
    informed: dict[str, Callable[[Problem, Prompt], str]] = {
        "reference": _reference, "buggy": _buggy, "constant": partial(_constant, usual[0] if usual else "None"),
    }  # fmt: skip
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
    kind = kind_of(problem.task)
    with kind_at_fault(problem):
        known = kind.reference(problem.task)
        if isinstance(known, CallClaim):
            return claim_in_form(prompt_text(prompt), known)
        if not known:
            return NO_REFERENCE
        return _code(prompt, _continuation(prompt, known, kind.begun(problem.task)), kind.language)


def _constant(value: str, problem: Problem, prompt: Prompt) -> str:
    """This value, whatever is shown."""
    right = kind_of(problem.task).reference(problem.task) if asked_value(problem.task) is not None else None
    if not isinstance(right, CallClaim):
        return NO_VALUE
    return claim_in_form(prompt_text(prompt), CallClaim(right.call, value))


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
    kind = kind_of(problem.task)
    given = kind.buggy(problem.task)
    return _code(prompt, _continuation(prompt, given, kind.begun(problem.task))) if given else NO_PROGRAM


def prompt_text(prompt: Prompt) -> str:
    """All that the model sees, in order."""
    return "\n".join(message.content for message in prompt.messages)


def continues(prompt: Prompt) -> bool:
    """Whether the reply is appended to the prompt's own text: a base model's prompt, or an answer begun."""
    return prompt.style == "text" or prompt.messages[-1].role == "assistant"


def _continuation(prompt: Prompt, code: str, begun: str) -> str:
    """The part of a program that the prompt lacks, where the prompt ends with the code it starts with."""
    begun = begun.rstrip()
    if not (begun and continues(prompt) and code.startswith(begun)):
        return code
    if not prompt_text(prompt).rstrip().endswith(begun):
        return code
    return code[len(begun) :].lstrip("\n")


def _code(prompt: Prompt, code: str, language: str = "python") -> str:
    """Code as a reply: in a fence, or bare where it continues the prompt."""
    if not continues(prompt):
        return f"```{language}\n" + code.strip("\n") + "\n```"
    return code if prompt_text(prompt).endswith("\n") else f"\n{code}"
