"""Questions about the definitions in a module's tree: what is defined, what is missing, where to borrow it."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import msgspec

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_IMPLICIT = frozenset({*dir(builtins), "__name__", "__file__", "__doc__", "__class__"})


class SourceModule(msgspec.Struct, frozen=True):
    """A piece of source that compiles, its tree, and what to call it in ``Answer.found``."""

    source: str
    tree: ast.Module
    label: str
    position: int = 0
    """Where it stands among other pieces; borrowed statements keep this order."""


class Borrowed(msgspec.Struct, frozen=True):
    """Statements to put before a program that uses names it does not define."""

    source: str
    steps: tuple[str, ...]
    """What came from where, e.g. ``imports from fence 1``."""


def definition(tree: ast.Module, name: str) -> ast.stmt | None:
    """The last statement at module level that binds a name, inside ``if``, ``try`` and the like as well."""
    return next((stmt for stmt in reversed(list(_module_level(tree))) if name in _bound(stmt)), None)


def method_owner(tree: ast.Module, name: str) -> ast.ClassDef | None:
    """The last class at module level that has a method of this name."""
    owners = [
        stmt
        for stmt in _module_level(tree)
        if isinstance(stmt, ast.ClassDef)
        and any(isinstance(item, _FUNCTIONS) and item.name == name for item in stmt.body)
    ]
    return owners[-1] if owners else None


def implements(tree: ast.Module, name: str) -> bool:
    """Whether a module defines a function, or a method, of this name that does something."""
    found = definition(tree, name)
    if found is None:
        owner = method_owner(tree, name)
        found = _method(owner, name) if owner is not None else None
    return found is not None and not is_stub(found)


def only_names(tree: ast.Module, name: str) -> bool:
    """Whether a module only assigns or imports this name, as code that uses a function of that name may do."""
    return isinstance(definition(tree, name), ast.Assign | ast.AnnAssign | ast.Import | ast.ImportFrom)


def is_stub(statement: ast.stmt) -> bool:
    """Whether a statement is a function without a body to speak of: a docstring, ``pass``, ``...``, a refusal."""
    if not isinstance(statement, _FUNCTIONS):
        return False
    return all(_does_nothing(inner) for inner in statement.body)


def returns(tree: ast.Module, name: str) -> bool:
    """Whether the function of this name returns or yields anywhere; prose that happens to parse does not."""
    function = definition(tree, name)
    if function is None:
        return False
    return any(isinstance(node, ast.Return | ast.Yield | ast.YieldFrom) for node in ast.walk(function))


def alias_for_method(owner: ast.ClassDef, name: str) -> str:
    """A statement that gives a method a name at module level: ``f = Solution().f``."""
    method = _method(owner, name)
    assert method is not None
    first = [argument.arg for argument in (*method.args.posonlyargs, *method.args.args)][:1]
    holder = owner.name if first not in (["self"], ["cls"]) or method.decorator_list else f"{owner.name}()"
    return f"{name} = {holder}.{name}"


def is_code(tree: ast.Module) -> bool:
    """Whether a module does anything: words and data that happen to parse are no program."""
    return any(not isinstance(stmt, ast.Expr) or _calls(stmt) for stmt in tree.body)


def without_prose(source: str, tree: ast.Module, first_line: int = 1) -> str:
    """The source with bare names at module level made empty lines, from a line on.

    A line such as ``Explanation`` parses, does nothing in a right program, and raises NameError in any other.
    """
    lines = source.split("\n")
    for stmt in tree.body:
        if isinstance(stmt, ast.Expr) and stmt.lineno >= first_line and _is_words(stmt.value):
            end = stmt.end_lineno or stmt.lineno
            lines[stmt.lineno - 1 : end] = [""] * (end - stmt.lineno + 1)
    return "\n".join(lines)


def borrow(program: ast.Module, donors: Sequence[SourceModule]) -> Borrowed | None:
    """Imports and definitions of the donors for names that the program uses and does not define.

    Args:
        program: what needs them.
        donors: where to look, the preferred first; what is found is put in the order of their positions.
    """
    index = _index(donors)
    wanted = _missing(program)
    provided = wanted | _all_bound(program)
    taken: dict[tuple[int, int], ast.stmt] = {}
    unknown = False
    while wanted:
        where = index.get(wanted.pop())
        if where is None:
            unknown = True
            continue
        donor, statement = where
        taken[donor, statement.lineno] = statement
        needed = _missing(ast.Module([statement], [])) - provided
        wanted |= needed
        provided |= needed
    if unknown:
        taken |= dict(_star_imports(donors))
    if not taken:
        return None
    order = sorted(taken, key=lambda key: (donors[key[0]].position, key[1]))
    lines = [donor.source.split("\n") for donor in donors]
    source = "\n".join(_text(lines[donor], taken[donor, line]) for donor, line in order)
    groups = groupby(order, key=lambda key: key[0])
    steps = [f"{_kind([taken[key] for key in keys])} from {donors[donor].label}" for donor, keys in groups]
    return Borrowed(source, tuple(steps))


def _kind(statements: Iterable[ast.stmt]) -> str:
    return (
        "imports" if all(isinstance(stmt, ast.Import | ast.ImportFrom) for stmt in statements) else "definitions"
    )


def _index(donors: Sequence[SourceModule]) -> dict[str, tuple[int, ast.stmt]]:
    """Where each name is bound: in the first donor that does, its last statement directly at module level."""
    where: dict[str, tuple[int, ast.stmt]] = {}
    for number, donor in reversed(list(enumerate(donors))):
        where |= {name: (number, statement) for statement in donor.tree.body for name in _bound(statement)}
    return where


def _module_level(tree: ast.Module) -> Iterator[ast.stmt]:
    """Statements that run at module level, in order."""
    pending: list[ast.AST] = list(reversed(tree.body))
    while pending:
        node = pending.pop()
        if isinstance(node, ast.stmt):
            yield node
        if not isinstance(node, (*_FUNCTIONS, ast.ClassDef, ast.expr)):
            pending.extend(reversed(list(ast.iter_child_nodes(node))))


def _bound(statement: ast.stmt) -> set[str]:
    """Names that a statement itself binds."""
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return {alias.asname or alias.name.partition(".")[0] for alias in names}
        case ast.Assign(targets=targets):
            return {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
            return {name}
    return set()


def _all_bound(tree: ast.Module) -> set[str]:
    """Every name bound anywhere in a module, in whatever scope."""
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                names.add(name)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                names.add(name)
            case ast.MatchMapping(rest=str(name)):
                names.add(name)
            case ast.stmt():
                names |= _bound(node)
    return names


def _missing(tree: ast.Module) -> set[str]:
    """Names that a module reads and binds nowhere."""
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return read - _all_bound(tree) - _IMPLICIT


def _star_imports(donors: Sequence[SourceModule]) -> Iterator[tuple[tuple[int, int], ast.stmt]]:
    for number, donor in enumerate(donors):
        for statement in donor.tree.body:
            if isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*":
                yield (number, statement.lineno), statement


def _text(lines: Sequence[str], statement: ast.stmt) -> str:
    """The lines of a statement, its decorators included."""
    decorators: Iterable[ast.expr] = getattr(statement, "decorator_list", ())
    first = min([statement.lineno, *(decorator.lineno for decorator in decorators)])
    return "\n".join(lines[first - 1 : statement.end_lineno])


def _method(owner: ast.ClassDef, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    methods = [item for item in owner.body if isinstance(item, _FUNCTIONS) and item.name == name]
    return methods[-1] if methods else None


def _does_nothing(statement: ast.stmt) -> bool:
    match statement:
        case ast.Pass() | ast.Expr(value=ast.Constant()) | ast.Import() | ast.ImportFrom():
            return True
        case ast.Raise(exc=ast.Name(id=name) | ast.Call(func=ast.Name(id=name))):
            return name == "NotImplementedError"
    return False


def _calls(statement: ast.stmt) -> bool:
    return any(isinstance(node, ast.Call) for node in ast.walk(statement))


def _is_words(value: ast.expr) -> bool:
    """Whether an expression is made of names alone, as `Note` or `self-contained`."""
    kinds = (ast.Name, ast.Attribute, ast.BinOp, ast.Tuple, ast.operator, ast.expr_context)
    return not isinstance(value, ast.Constant) and all(isinstance(node, kinds) for node in ast.walk(value))
