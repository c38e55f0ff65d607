"""What the rewritings for graders share: the entry point's definition, and when it may be moved."""

from __future__ import annotations

import ast
import copy

from truegrade.builders.mutation.preserving.names import names_are_data

_OWN_SCOPE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def entry_of(tree: ast.Module, entry_point: str) -> ast.FunctionDef | None:
    """The one definition of the entry point at the top of a module; None where it is defined in another way."""
    found = [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == entry_point
    ]
    bound_otherwise = any(
        isinstance(node, ast.Name) and node.id == entry_point and isinstance(node.ctx, ast.Store)
        for node in ast.walk(tree)
    )
    match found:
        case [ast.FunctionDef() as entry] if not bound_otherwise:
            return entry
    return None


def movable(tree: ast.Module, entry_point: str) -> ast.FunctionDef | None:
    """The entry point, if another function may do its work: then it calls itself nowhere, since each of its calls
    would be two; it is no generator, has plain defaults and no decorator, and nothing looks names up."""
    entry = entry_of(tree, entry_point)
    if entry is None or entry.decorator_list or names_are_data(tree) or names_anywhere(tree, entry_point):
        return None
    defaults = [default for default in (*entry.args.defaults, *entry.args.kw_defaults) if default is not None]
    if not all(isinstance(default, ast.Constant) for default in defaults):
        return None
    if any(isinstance(node, ast.Yield | ast.YieldFrom | ast.Await) for node in within(entry.body)):
        return None
    return entry


def names_anywhere(tree: ast.AST, name: str) -> bool:
    """Whether a name is read anywhere."""
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(tree))


def within(body: list[ast.stmt]) -> list[ast.AST]:
    """All nodes of a body that belong to the function itself, and not to one within it."""
    found: list[ast.AST] = []
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        found.append(node)
        if not isinstance(node, _OWN_SCOPE):
            pending += ast.iter_child_nodes(node)
    return found


def same_call(entry: ast.FunctionDef, function: ast.expr) -> ast.expr:
    """A call of another function with the parameters of this one, each as it was given."""
    arguments = entry.args
    given: list[ast.expr] = [_read(each) for each in (*arguments.posonlyargs, *arguments.args)]
    if arguments.vararg is not None:
        given.append(ast.Starred(_read(arguments.vararg), ast.Load()))
    named = [ast.keyword(each.arg, _read(each)) for each in arguments.kwonlyargs]
    if arguments.kwarg is not None:
        named.append(ast.keyword(None, _read(arguments.kwarg)))
    return ast.Call(function, given, named)


def _read(argument: ast.arg) -> ast.Name:
    return ast.Name(argument.arg, ast.Load())


def split_docstring(entry: ast.FunctionDef) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """The docstring of a function, if it has one, and the rest of its body; the rest is never empty."""
    has_one = ast.get_docstring(entry, clean=False) is not None
    head, rest = entry.body[:has_one], entry.body[has_one:]
    return head, rest or [ast.Pass()]


def clone(entry: ast.FunctionDef, **fields: object) -> ast.FunctionDef:
    """A copy of a function with other fields."""
    other = copy.deepcopy(entry)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def opening(tree: ast.Module) -> int:
    """Place of the first statement that is neither the module's docstring nor a future import."""
    place = 1 if ast.get_docstring(tree, clean=False) is not None else 0
    while place < len(tree.body):
        node = tree.body[place]
        if not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            break
        place += 1
    return place
