"""The lookup baseline: a model that memorises the examples in its prompt and understands nothing.

What it scores is what a benchmark gives away: problems whose hidden tests repeat the shown examples, or whose
answer is nearly always the same value.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from textwrap import indent

from truegrade.models.baseline_forms import CallClaim
from truegrade.models.baseline_reading import (
    ShownExample,
    ShownQuestion,
    TargetFunction,
    find_examples,
    find_question,
    find_target,
)


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
