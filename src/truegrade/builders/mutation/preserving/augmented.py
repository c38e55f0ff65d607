"""``x += y`` written out."""

from __future__ import annotations

import ast
import copy

_OF_NUMBERS = (ast.Add, ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
"""Operators that no built-in container has with a number on the right, so a number stands on the left as well."""


def expand_augmented(tree: ast.Module) -> ast.Module:
    """``x += 1`` becomes ``x = x + 1`` where ``x`` holds a number or a text, which have no ``+=`` of their own.

    That is known where a number literal stands on the right, or where the name starts as a literal wherever it is
    bound.
    """
    return _Expand(_literal_names(tree)).visit(tree)  # type: ignore[no-any-return]


class _Expand(ast.NodeTransformer):
    def __init__(self, literal_names: set[str]) -> None:
        self._literal_names = literal_names

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """Write the target twice, if reading it has no effect."""
        by_value = _is_number(node.value) and isinstance(node.op, _OF_NUMBERS)
        by_name = isinstance(node.target, ast.Name) and node.target.id in self._literal_names
        if not (by_value or by_name) or not _is_plain(node.target):
            return node
        read = copy.deepcopy(node.target)
        read.ctx = ast.Load()
        value = ast.BinOp(read, node.op, node.value)
        return ast.Assign(targets=[node.target], value=value, lineno=node.lineno)


def _literal_names(tree: ast.AST) -> set[str]:
    """Names that are bound by ``name = number or text``, or an augmented assignment, and in no other way."""
    augmented = {id(node.target) for node in ast.walk(tree) if isinstance(node, ast.AugAssign)}
    literal = {
        id(node.targets[0]): node
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and _is_immutable(node.value)
    }
    started: set[str] = set()
    otherwise: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                if id(node) in literal:
                    started.add(name)
                elif id(node) not in augmented:
                    otherwise.add(name)
            case ast.arg(arg=name) | ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                otherwise.add(name)
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                otherwise.add(name)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                otherwise.update(names)
    return started - otherwise


def _is_immutable(node: ast.expr) -> bool:
    return _is_number(node) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _is_number(node: ast.expr) -> bool:
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(inner, ast.Constant) and type(inner.value) in {int, float}


def _is_plain(target: ast.expr) -> bool:
    """Whether evaluating a target twice is evaluating it once: names, and lookups by names and literals."""
    match target:
        case ast.Name() | ast.Constant():
            return True
        case ast.Attribute(value=value):
            return _is_plain(value)
        case ast.Subscript(value=value, slice=index):
            return _is_plain(value) and _is_plain(index)
    return False
