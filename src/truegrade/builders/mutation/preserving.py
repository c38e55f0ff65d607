"""Rewritings that leave a program's meaning alone: what a model should answer the same."""

from __future__ import annotations

import ast
import copy
import symtable
from collections.abc import Callable, Iterator

from truegrade.files import syntax

# -------------------------------------------------------------------- Which names a program uses, and as what.

_SEES_NAMES = {"locals", "vars", "globals", "eval", "exec", "dir"}


def scopes(code: str) -> Iterator[symtable.SymbolTable]:
    """The scopes of a program, outermost first."""
    pending = [symtable.symtable(code, "<program>", "exec")]
    while pending:
        scope = pending.pop(0)
        yield scope
        pending += scope.get_children()


def all_names(tree: ast.AST) -> set[str]:
    """Every identifier of a program, in whatever role."""
    names: set[str] = set()
    for node in ast.walk(tree):
        for _, value in ast.iter_fields(node):
            names.update(item for item in (value if isinstance(value, list) else [value]) if isinstance(item, str))
    return names


def fresh(base: str, taken: set[str]) -> str:
    """``base``, or ``base`` with the first number that makes it a new name; it is then taken."""
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base}{number}"
    taken.add(name)
    return name


def names_are_data(tree: ast.AST) -> bool:
    """Whether the program may look its variables up by name, so that none can be renamed or added."""
    return any(isinstance(node, ast.Name) and node.id in _SEES_NAMES for node in ast.walk(tree))


def is_builtin(tree: ast.AST, name: str) -> bool:
    """Whether a name is nowhere bound by the program."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=bound, ctx=ast.Store() | ast.Del()) if bound == name:
                return False
            case ast.arg(arg=bound) | ast.ExceptHandler(name=bound) | ast.MatchAs(name=bound) if bound == name:
                return False
            case ast.FunctionDef(name=bound) | ast.ClassDef(name=bound) if bound == name:
                return False
            case ast.AsyncFunctionDef(name=bound) | ast.MatchStar(name=bound) if bound == name:
                return False
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                if any((alias.asname or alias.name) in {name, "*"} for alias in aliases):
                    return False
    return True


# ------------------ Rewritings that keep a meaning: assignments, code that changes nothing, conditions, loops.
# ``x += y`` written out.

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
    return syntax.parse(f"{name} = 0\nif {name} > 0:\n    {name} = {name} - 1").body


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
        moves = syntax.parse(
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


# ------------------------------------------------------------------- Other names for variables and parameters.


def rename_variables(tree: ast.Module) -> ast.Module:
    """Call variables and parameters ``v0``, ``v1``, ... in the order in which they appear.

    Kept: names that any scope reads from outside the program's functions, names of functions, classes and modules,
    what calls pass by keyword, and everything if the program looks variables up by name.
    """
    if names_are_data(tree):
        return tree
    taken = all_names(tree)
    renamed = _renamable(tree)
    new_names: dict[str, str] = {}
    for name in _appearing(tree):
        if name in renamed and name not in new_names:
            new_names[name] = fresh(f"v{len(new_names)}", taken)
    _Renamer(new_names).visit(tree)
    return tree


def _renamable(tree: ast.Module) -> set[str]:
    """Names that are a variable of a function wherever they stand."""
    local: set[str] = set()
    kept: set[str] = set()
    for scope in scopes(ast.unparse(tree)):
        for symbol in scope.get_symbols():
            name = symbol.get_name()
            if (
                scope.get_type() != "function"
                or symbol.is_global()
                or _is_defined(symbol)
                or name.startswith("__")
            ):
                kept.add(name)
            else:
                local.add(name)
    keywords = [node for node in ast.walk(tree) if isinstance(node, ast.keyword)]
    kept.update(keyword.arg for keyword in keywords if keyword.arg is not None)
    if any(keyword.arg is None for keyword in keywords):  # `**` may hold any parameter's name
        kept.update(node.arg for node in ast.walk(tree) if isinstance(node, ast.arg))
    return local - kept


def _is_defined(symbol: symtable.Symbol) -> bool:
    """Whether a name is that of a nested function, class or module."""
    return symbol.is_namespace() or symbol.is_imported()


def _appearing(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name):
                yield name


class _Renamer(ast.NodeTransformer):
    """Applies one mapping everywhere; the mapping holds only names that mean a variable wherever they stand."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def _new(self, name: str | None) -> str | None:
        return name if name is None else self._names.get(name, name)

    def visit(self, node: ast.AST) -> ast.AST:
        """Rename what this node calls by name, and all below."""
        match node:
            case ast.Name():
                node.id = self._names.get(node.id, node.id)
            case ast.arg():
                node.arg = self._names.get(node.arg, node.arg)
            case ast.Nonlocal():
                node.names = [self._names.get(name, name) for name in node.names]
            case ast.ExceptHandler() | ast.MatchAs() | ast.MatchStar():
                node.name = self._new(node.name)
            case ast.MatchMapping():
                node.rest = self._new(node.rest)
        return self.generic_visit(node)


Rewriting = Callable[[ast.Module], ast.Module]
"""Rewrites a tree, in place or not, wherever the rule applies and is safe."""

REWRITINGS: dict[str, Rewriting] = {
    "rename": rename_variables,
    "dead-code": add_dead_code,
    "loops": change_loops,
    "de-morgan": apply_de_morgan,
    "swap": swap_comparisons,
    "augmented": expand_augmented,
}
"""By name."""
