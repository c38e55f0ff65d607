"""Rewritings that keep a meaning: assignments, code that changes nothing, conditions, loops.

``x += y`` written out.
"""

from __future__ import annotations

import ast
import copy

from truegrade.builders.mutation.preserving.names import all_names, fresh, is_builtin, names_are_data

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


# ---------------------------------------------------------------------------------- Code that changes nothing.


def add_dead_code(tree: ast.Module) -> ast.Module:
    """Begin every function with a variable that nothing reads and a branch that is never taken."""
    if names_are_data(tree):
        return tree
    taken = all_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            start = 1 if ast.get_docstring(node, clean=False) is not None else 0
            node.body[start:start] = _never(fresh("spare", taken))
    return tree


def _never(name: str) -> list[ast.stmt]:
    return ast.parse(f"{name} = 0\nif {name} > 0:\n    {name} = {name} - 1").body


# -------------------------------------------------------------------------- Other forms of the same condition.


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


# ------------------------------------------------------------------------------- Other forms of the same loop.


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
