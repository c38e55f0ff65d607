"""Other forms of the same loop."""

from __future__ import annotations

import ast

from truegrade.builders.mutation.preserving.names import all_names, fresh, is_builtin, names_are_data


def change_loops(tree: ast.Module) -> ast.Module:
    """``for`` over a ``range`` becomes ``while``; ``while`` with a condition tests it inside ``while True``.

    A ``for`` is left alone where its step is no literal, its target is no name, or ``range`` is the program's own;
    a ``while`` where it has an ``else``.
    """
    if names_are_data(tree):
        return tree
    return _Loops(all_names(tree), is_builtin(tree, "range")).visit(tree)  # type: ignore[no-any-return]


class _Loops(ast.NodeTransformer):
    def __init__(self, taken: set[str], range_is_builtin: bool) -> None:
        self._taken, self._range_is_builtin = taken, range_is_builtin

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Only methods are visited: a loop in a class body would leave its counter behind as an attribute."""
        visited = (ast.FunctionDef, ast.ClassDef)
        node.body = [self.visit(child) if isinstance(child, visited) else child for child in node.body]
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        """The condition moves into the body, before everything else; ``continue`` meets it there as well."""
        self.generic_visit(node)
        if node.orelse or isinstance(node.test, ast.Constant):
            return node
        leave = ast.If(test=ast.UnaryOp(ast.Not(), node.test), body=[ast.Break()], orelse=[])
        return ast.While(test=ast.Constant(True), body=[leave, *node.body], orelse=[])

    def visit_For(self, node: ast.For) -> ast.AST | list[ast.stmt]:
        """Count by hand; the counter moves on first, so that neither ``continue`` nor the body disturbs it."""
        self.generic_visit(node)
        bounds = _bounds(node.iter) if self._range_is_builtin else None
        if bounds is None or not isinstance(node.target, ast.Name):
            return node
        start, stop, step = bounds
        name, end = fresh("at", self._taken), fresh("end", self._taken)
        moves = ast.parse(
            f"{node.target.id} = {name}\n{name} = {name} {'+' if step > 0 else '-'} {abs(step)}"
        ).body
        compare = ast.Lt() if step > 0 else ast.Gt()
        test = ast.Compare(ast.Name(name, ast.Load()), [compare], [ast.Name(end, ast.Load())])
        return [
            ast.Assign([ast.Name(name, ast.Store())], start, lineno=0),
            ast.Assign([ast.Name(end, ast.Store())], stop, lineno=0),
            ast.While(test=test, body=[*moves, *node.body], orelse=node.orelse),
        ]


def _bounds(iterated: ast.expr) -> tuple[ast.expr, ast.expr, int] | None:
    """Start, stop and step of a ``range`` whose step is known."""
    match iterated:
        case ast.Call(func=ast.Name(id="range"), args=[stop], keywords=[]):
            args = [ast.Constant(0), stop]
        case ast.Call(func=ast.Name(id="range"), args=[_, _, *_] as args, keywords=[]):
            pass
        case _:
            return None
    step = _literal_step(args[2]) if len(args) == 3 else 1
    if not step or len(args) > 3 or any(isinstance(arg, ast.Starred) for arg in args):
        return None
    return args[0], args[1], step


def _literal_step(node: ast.expr) -> int:
    """The value of an int literal, 0 for anything else."""
    match node:
        case ast.Constant(value=int(step)):
            return step
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(step))):
            return -step
    return 0
