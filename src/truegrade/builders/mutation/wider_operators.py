"""Mutation operators on statements, calls and names: what the default operators leave alone.

Kept apart from `truegrade.builders.mutation.operators.OPERATORS`, so that a file mutated by default stays the same
byte for byte. The ideas, not the code, are those of mutpy/mutpy@5c8b3ca
``mutpy/operators/{misc,logical,loop,exception}.py`` (statement deletion, constant replacement, conditional
operator insertion, zero and one iteration of a loop, exception handler deletion), boxed/mutmut@523a19c
``src/mutmut/mutation/mutators.py`` (argument removal, swaps of string methods) and
sixty-north/cosmic-ray@952fe4d ``src/cosmic_ray/operators/`` (``variable_replacer``,
``zero_iteration_for_loop``).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from truegrade.builders.mutation.operators import Operator, changed, is_number
from truegrade.builders.mutation.sites import MutationSite

_PAIRS = (
    *(("lower", "upper"), ("lstrip", "rstrip"), ("find", "rfind"), ("index", "rindex")),
    *(("ljust", "rjust"), ("partition", "rpartition"), ("removeprefix", "removesuffix")),
    *(("startswith", "endswith"), ("isupper", "islower"), ("append", "extend"), ("keys", "values")),
)
_LIKE = {one: other for pair in _PAIRS for one, other in (pair, pair[::-1])}
_LIKE |= {"strip": "lstrip", "capitalize": "title", "title": "capitalize"}

_KEPT = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal)
_BODIES = {"body", "orelse", "finalbody"}
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_OTHER_NAMES = 2
"""By which a variable is replaced: the next that its function binds."""


def delete_statement(site: MutationSite) -> Iterator[ast.AST]:
    """A statement becomes ``pass``. Definitions, imports, docstrings and declarations stay."""
    node = site.node
    if not isinstance(node, ast.stmt) or site.field not in _BODIES or isinstance(node, (*_KEPT, ast.Pass)):
        return
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    is_declaration = isinstance(node, ast.AnnAssign) and node.value is None
    if not is_text and not is_declaration:
        yield ast.Pass()


def negate_condition(site: MutationSite) -> Iterator[ast.AST]:
    """The condition ``a`` becomes ``not a``; the operator ``unary`` does the reverse."""
    is_condition = site.field == "test" or (isinstance(site.parent, ast.comprehension) and site.field == "ifs")
    if is_condition and isinstance(site.node, ast.expr) and not isinstance(site.node, ast.UnaryOp | ast.Constant):
        yield ast.UnaryOp(ast.Not(), site.node)


def return_none(site: MutationSite) -> Iterator[ast.AST]:
    """``return a`` becomes ``return None``."""
    if isinstance(site.parent, ast.Return) and not _is_none(site.node):
        yield ast.Constant(None)


def delete_handler(site: MutationSite) -> Iterator[ast.AST]:
    """What an exception handler does goes: it raises what it caught."""
    if isinstance(site.node, ast.ExceptHandler) and not isinstance(site.node.body[0], ast.Raise):
        yield changed(site.node, body=[ast.Raise()])


def zero_iterations(site: MutationSite) -> Iterator[ast.AST]:
    """A ``for`` has nothing to go over, and the condition of a ``while`` is false."""
    if isinstance(site.parent, ast.For) and site.field == "iter":
        yield ast.List([], ast.Load())
    if isinstance(site.parent, ast.While) and site.field == "test":
        yield ast.Constant(False)


def one_iteration(site: MutationSite) -> Iterator[ast.AST]:
    """The body of a loop ends in ``break``."""
    leaves = ast.Break | ast.Return | ast.Raise | ast.Continue
    if isinstance(site.node, ast.For | ast.While) and not isinstance(site.node.body[-1], leaves):
        yield changed(site.node, body=[*site.node.body, ast.Break()])


def remove_argument(site: MutationSite) -> Iterator[ast.AST]:
    """A call loses one of its arguments."""
    if isinstance(site.node, ast.Call):
        args, keywords = site.node.args, site.node.keywords
        for place in range(len(args)):
            yield changed(site.node, args=[*args[:place], *args[place + 1 :]])
        for place in range(len(keywords)):
            yield changed(site.node, keywords=[*keywords[:place], *keywords[place + 1 :]])


def swap_method(site: MutationSite) -> Iterator[ast.AST]:
    """A method becomes one that is easily taken for it: ``lower`` and ``upper``, ``find`` and ``rfind``."""
    if isinstance(site.parent, ast.Call) and site.field == "func" and isinstance(site.node, ast.Attribute):
        other = _LIKE.get(site.node.attr)
        if other is not None:
            yield changed(site.node, attr=other)


def change_text(site: MutationSite) -> Iterator[ast.AST]:
    """A text becomes empty, and gets other letters around it; docstrings stay."""
    match site.node:
        case ast.Constant(value=str(text)) if not isinstance(site.parent, ast.Expr):
            if text:
                yield ast.Constant("")
            yield ast.Constant(f"XX{text}XX")
            if text != text.swapcase():
                yield ast.Constant(text.swapcase())


def change_default(site: MutationSite) -> Iterator[ast.AST]:
    """The default of a parameter becomes ``None``, and ``None`` becomes 0; numbers are left to ``number``."""
    is_default = isinstance(site.parent, ast.arguments) and site.field in {"defaults", "kw_defaults"}
    if is_default and not is_number(site.node):
        yield ast.Constant(0 if _is_none(site.node) else None)


def replace_variable(site: MutationSite) -> Iterator[ast.AST]:
    """A variable is read in place of another of the same function: the two that are bound next."""
    match site.node:
        case ast.Name(id=name, ctx=ast.Load()) if site.function is not None:
            bound = _bound_in(site.function)
            if name in bound:
                place = bound.index(name)
                for other in (bound[place + 1 :] + bound[:place])[:_OTHER_NAMES]:
                    yield ast.Name(other, ast.Load())


def _bound_in(function: ast.AST) -> list[str]:
    """Parameters and variables of a function, each once, in order; not those of functions within it."""
    names: dict[str, None] = {}
    pending: list[ast.AST] = list(ast.iter_child_nodes(function))
    while pending:
        node = pending.pop(0)
        match node:
            case ast.arg(arg=name) if name not in {"self", "cls"}:
                names[name] = None
            case ast.Name(id=name, ctx=ast.Store()):
                names[name] = None
        if not isinstance(node, (*_SCOPES, *_COMPREHENSIONS)):
            pending[:0] = ast.iter_child_nodes(node)
    return list(names)


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


WIDER_OPERATORS: dict[str, Operator] = {
    "delete-statement": delete_statement,
    "negate-condition": negate_condition,
    "return-none": return_none,
    "delete-handler": delete_handler,
    "zero-iterations": zero_iterations,
    "one-iteration": one_iteration,
    "remove-argument": remove_argument,
    "swap-method": swap_method,
    "text": change_text,
    "default-argument": change_default,
    "replace-variable": replace_variable,
}
"""By name; used where they are named."""
