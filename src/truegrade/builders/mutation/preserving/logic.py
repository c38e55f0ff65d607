"""Other forms of the same condition."""

from __future__ import annotations

import ast

from truegrade.builders.mutation.preserving.names import is_builtin

_MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.Gt: ast.Lt,
    ast.LtE: ast.GtE,
    ast.GtE: ast.LtE,
    ast.Eq: ast.Eq,
    ast.NotEq: ast.NotEq,
}


def apply_de_morgan(tree: ast.Module) -> ast.Module:
    """``not (a and b)`` becomes ``not a or not b``; the condition ``a and b`` becomes ``not (not a or not b)``.

    The second only where nothing but the truth of the value counts: in ``if``, ``while``, conditional expressions
    and comprehensions. The operands are evaluated in the same order and equally often.
    """
    return _DeMorgan().visit(tree)  # type: ignore[no-any-return]


def swap_comparisons(tree: ast.Module) -> ast.Module:
    """``a < b`` becomes ``b > a`` where evaluating the operands in the other order makes no difference."""
    return _Swap(is_builtin(tree, "len")).visit(tree)  # type: ignore[no-any-return]


class _DeMorgan(ast.NodeTransformer):
    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """Push a ``not`` inwards."""
        self.generic_visit(node)
        if isinstance(node.op, ast.Not) and isinstance(node.operand, ast.BoolOp):
            return _turned(node.operand)
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        """A condition."""
        return self._condition(node)

    def visit_While(self, node: ast.While) -> ast.AST:
        """A condition."""
        return self._condition(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        """A condition."""
        return self._condition(node)

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        """Conditions."""
        self.generic_visit(node)
        node.ifs = [_doubly_negated(test) for test in node.ifs]
        return node

    def _condition(self, node: ast.If | ast.While | ast.IfExp) -> ast.AST:
        was_negated = isinstance(node.test, ast.UnaryOp)
        self.generic_visit(node)
        if not was_negated:
            node.test = _doubly_negated(node.test)
        return node


def _negated(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), test)


def _turned(test: ast.BoolOp) -> ast.expr:
    """``not test``, with the ``not`` on the operands."""
    other = ast.Or() if isinstance(test.op, ast.And) else ast.And()
    return ast.BoolOp(other, [_negated(value) for value in test.values])


def _doubly_negated(test: ast.expr) -> ast.expr:
    return _negated(_turned(test)) if isinstance(test, ast.BoolOp) else test


class _Swap(ast.NodeTransformer):
    def __init__(self, len_is_builtin: bool) -> None:
        self._len_is_builtin = len_is_builtin

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Mirror a comparison of two operands; a literal on the right stays a literal on the left."""
        self.generic_visit(node)
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _MIRRORED:
                if self._is_plain(left) and self._is_plain(right) and not (_looks_up(left) and _looks_up(right)):
                    return ast.Compare(right, [_MIRRORED[type(op)]()], [left])
        return node

    def _is_plain(self, node: ast.expr) -> bool:
        """Whether evaluating has no effect but its value: names, literals, lookups, arithmetic and lengths."""
        match node:
            case ast.Name() | ast.Constant():
                return True
            case ast.Attribute(value=value) | ast.UnaryOp(operand=value):
                return self._is_plain(value)
            case ast.BinOp(left=left, right=right) | ast.Subscript(value=left, slice=right):
                return self._is_plain(left) and self._is_plain(right)
            case ast.Call(func=ast.Name(id="len"), args=[value], keywords=[]):
                return self._len_is_builtin and self._is_plain(value)
        return False


def _looks_up(node: ast.expr) -> bool:
    """Whether a default may be stored on the way, as in a ``defaultdict``: two of them have an order."""
    return any(isinstance(part, (ast.Subscript, ast.Attribute)) for part in ast.walk(node))
