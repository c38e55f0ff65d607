"""What the tests of a function do with values, as far as their source shows: whether they are plain, and whether a
program has a part in what they expect."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator
from functools import lru_cache
from marshal import dumps

from truegrade.extraction.parsing import quietly
from truegrade.files import syntax
from truegrade.grading.names_in_tests import NUMPY_FILES, imported_names, tree_of


@lru_cache(256)
def are_plain(tests: str, entry_point: str) -> bool:
    """Whether tests see no more of a value than what is in it when it crosses.

    They call the program with values made for that call, and are done with what it returns before the next:
    nothing is said of tests in which anything else stands.
    """
    return _Plain(tree_of(tests), entry_point).all_is_plain()


@lru_cache(256)
def compare_with_fixed_values(tests: str, entry_point: str) -> bool:
    """Whether tests make values, hand them over, and assert that arguments and results equal others, all of which
    are written in them, one statement after the other: no program has a part in what is expected."""
    return _Plain(tree_of(tests), entry_point).expects_what_is_written()


@lru_cache(256)
def identity_code(tests: str) -> bytes:
    """Tests in which the judge is asked whether two values are one, marshalled; empty where nothing asks."""
    with quietly():
        tree = syntax.parse(tests)
        asked = AskingSame()
        made = asked.visit(tree)
        return dumps(syntax.compiled(made, "<tests>", "exec")) if asked.found else b""


class AskingSame(ast.NodeTransformer):
    """Has ``truegrade_same`` say whether two values are one."""

    found = False

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """A question about identity as a call."""
        self.generic_visit(node)
        if not _asks_identity(node) or len(node.ops) != 1:
            return node
        self.found = True
        made: ast.expr = ast.Call(ast.Name("truegrade_same", ast.Load()), [node.left, *node.comparators], [])
        if isinstance(node.ops[0], ast.IsNot):
            made = ast.UnaryOp(ast.Not(), made)
        return ast.fix_missing_locations(ast.copy_location(made, node))


def _asks_identity(node: ast.Compare) -> bool:
    sides = [node.left, *node.comparators]
    pairs = zip(node.ops, sides, sides[1:], strict=False)
    return any(
        isinstance(op, ast.Is | ast.IsNot) and not any(isinstance(one, ast.Constant) for one in (left, right))
        for op, left, right in pairs
    )


_NOT_PLAIN = frozenset(
    (
        *("globals", "locals", "vars", "dir", "eval", "exec", "compile", "__import__"),
        *("getattr", "hasattr", "setattr", "delattr", "id", "type", "iter", "next", "super", "open", "input"),
        "callable",
    )
)
_BUILT_IN = frozenset(vars(builtins)) - _NOT_PLAIN
"""Functions that keep nothing of what they are given, and look at nothing but what is in it."""
_OF_TYPES = frozenset({"repr", "str", "ascii", "format", "hash"})
"""What a class may answer in another way than the one that crosses in its place."""
_PURE = frozenset(
    ("math", "cmath", "numpy", "string", "collections", "datetime", "decimal", "fractions", "statistics", "typing")
)
"""Packages whose functions keep nothing of what they are given, and of a value look at what is in it alone."""
_CONSTANTS = frozenset(
    (
        *("pi", "e", "tau", "inf", "nan", "ascii_letters", "ascii_lowercase", "ascii_uppercase", "digits"),
        *(
            "punctuation",
            "printable",
            "whitespace",
            "hexdigits",
            "octdigits",
            "int64",
            "float64",
            "int32",
            "float32",
        ),
    )
)
"""Numbers, texts and types of these."""
_METHODS = frozenset(
    (
        *("items", "keys", "values", "get", "split", "rsplit", "splitlines", "strip", "lstrip", "rstrip", "lower"),
        *("upper", "title", "capitalize", "join", "count", "index", "find", "startswith", "endswith", "replace"),
        *("isdigit", "isalpha", "isalnum", "isupper", "islower", "isspace", "zfill", "encode", "decode", "tolist"),
        *(
            "union",
            "intersection",
            "difference",
            "issubset",
            "issuperset",
            "isdisjoint",
            "is_integer",
            "bit_length",
        ),
        *("isoformat", "all", "any", "sum", "min", "max", "mean", "item", "total", "most_common", "elements"),
    )
)
"""Methods that change nothing."""
_FIELDS = frozenset(
    {"real", "imag", "shape", "size", "ndim", "T", "year", "month", "day", "numerator", "denominator"}
)
_SHARES = frozenset({"fromkeys", "repeat", "cycle", "tee", "full"})
"""What makes a value that holds one other several times."""
_SHOWN = frozenset({"list", "tuple", "sorted", "len", "dict", "set", "sum", "frozenset"})
"""What shows a value, or says one thing of it, without a comparison."""
_REPEATED = (ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp, ast.Lambda)
_MADE = (
    *(ast.Constant, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.UnaryOp, ast.BinOp, ast.Call, ast.keyword),
    *(ast.Name, ast.Attribute, ast.operator, ast.unaryop, ast.expr_context),
)
"""What an expression consists of that makes a value."""
_READ = (
    *(*_MADE, *_REPEATED, ast.comprehension, ast.arguments, ast.arg, ast.Subscript, ast.Slice),
    *(ast.Compare, ast.cmpop, ast.BoolOp, ast.boolop, ast.IfExp),
)
"""What an expression consists of that is done with a result."""
_SAYS_NOTHING = (ast.Import, ast.ImportFrom, ast.Pass)
_SHOWS = (
    *(ast.Name, ast.Constant, ast.Subscript, ast.Slice, ast.Tuple, ast.List, ast.Call, ast.UnaryOp, ast.USub),
    ast.Load,
)


def _is_pure(module: str) -> bool:
    return module.partition(".")[0] in _PURE


class _Plain:
    """Tests, read as a list of statements in a language so small that all they do with values shows."""

    def __init__(self, tree: ast.Module, entry_point: str) -> None:
        self._nodes, self._body = list(ast.walk(tree)), tree.body
        self._callers = {entry_point, "candidate"}
        self._checks = self._wrappers()
        bound = [one.id for one in self._nodes if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)]
        arguments = (one.arg for one in self._nodes if isinstance(one, ast.arg))
        self._bound = {*bound, *arguments, *self._checks} - self._callers
        """Names that the tests bind."""
        self._modules = frozenset(self._imported()) - {*bound} - NUMPY_FILES
        self._bound |= imported_names(self._nodes) - self._modules
        self._unchanging = self._names_of_constants()
        self._tries = any(isinstance(one, ast.Try) for one in self._nodes)

    def all_is_plain(self) -> bool:
        """See `are_plain`."""
        return all(map(self._is_plain, self._body))

    def expects_what_is_written(self) -> bool:
        """See `compare_with_fixed_values`."""
        return all(map(self._is_written, self._body))

    def _wrappers(self) -> frozenset[str]:
        """Functions of the tests that are given the program, by the name ``candidate``, and nothing else."""
        defined = [
            one for one in self._nodes if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        ]
        return frozenset(
            one.name
            for one in defined
            if isinstance(one, ast.FunctionDef)
            and not one.decorator_list
            and ast.unparse(one.args) == "candidate"
            and one in self._body
        )

    def _imported(self) -> Iterator[str]:
        """Names of packages in `_PURE`, and of what they hold."""
        for node in self._nodes:
            if isinstance(node, ast.Import):
                yield from ((one.asname or one.name).partition(".")[0] for one in node.names if _is_pure(one.name))
            elif isinstance(node, ast.ImportFrom) and not node.level and _is_pure(node.module or ""):
                yield from (one.asname or one.name for one in node.names)

    def _names_of_constants(self) -> frozenset[str]:
        """Names that are bound to numbers and texts alone."""
        good, bad = set[str](), set[str]()
        for node in self._nodes:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                good.update(one.id for one in node.targets if isinstance(one, ast.Name))
            elif isinstance(node, ast.For) and isinstance(node.target, ast.Name) and self._is_range(node.iter):
                good.add(node.target.id)
            else:
                targets = [*getattr(node, "targets", ()), *filter(None, [getattr(node, "target", None)])]
                bad.update(one.id for each in targets for one in ast.walk(each) if isinstance(one, ast.Name))
                bad.update(filter(None, [getattr(node, each, None) for each in ("name", "arg", "asname")]))
        return frozenset(good - bad - self._callers)

    def _is_range(self, node: ast.expr) -> bool:
        named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"
        return named and "range" not in self._bound | self._modules

    # ------------------------------------------------------------------------------------------- plain statements

    def _is_plain(self, node: ast.stmt) -> bool:
        match node:
            case ast.FunctionDef():
                plain = self._is_function(node, self._is_plain)
            case ast.Expr():
                plain = self._is_check(node.value) or self._is_read(node.value)
            case ast.Assert():  # what a failure says comes when all is over, unless that is caught
                plain = self._is_read(node.test) and not (self._tries and node.msg and self._calls(node.msg))
            case ast.Assign():
                plain = all(isinstance(one, ast.Name) for one in node.targets) and self._is_made(node.value)
            case ast.For(target=ast.Name()):
                plain = self._is_range(node.iter) and self._is_made(node.iter)
                plain = plain and all(map(self._is_plain, [*node.body, *node.orelse]))
            case ast.Try():
                caught = [one for each in node.handlers for one in each.body]
                calls = [one for each in node.handlers if each.type for one in ast.walk(each.type)]
                plain = all(map(self._is_plain, [*node.body, *caught, *node.orelse, *node.finalbody]))
                plain = plain and not any(isinstance(one, ast.Call) for one in calls)
                plain = plain and not any(map(self._calls, caught))  # the exception holds what it was given
            case _:
                plain = isinstance(node, _SAYS_NOTHING)
        return plain

    def _is_function(self, node: ast.FunctionDef, of: Callable[[ast.stmt], bool]) -> bool:
        """Whether it calls a method, or is given the program and holds statements of which that is true."""
        if len(node.body) == 1 and isinstance(node.body[0], ast.Return):
            return self._calls_a_method(node)
        return node.name in self._checks and all(map(of, node.body))

    def _calls_a_method(self, node: ast.FunctionDef) -> bool:
        """``def f(a, b): return Solution().f(a, b)``, perhaps sorted: the program, called as LeetCode does."""
        given = [one.arg for one in node.args.args]
        plain = ast.unparse(node.args) == ", ".join(given) and not node.decorator_list and node in self._body
        value = node.body[0].value if isinstance(node.body[0], ast.Return) else None
        if value is None or not plain or node.name not in self._callers:
            return False
        call = f"Solution().{node.name}({', '.join(given)})"
        return ast.unparse(value) in (call, f"sorted({call})")

    def _is_check(self, node: ast.expr) -> bool:
        """``check(f)``"""
        if (
            not isinstance(node, ast.Call)
            or not isinstance(node.func, ast.Name)
            or node.func.id not in self._checks
        ):
            return False
        return not node.keywords and len(node.args) == 1 and self._is_program(node.args[0])

    def _is_program(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id in self._callers

    def _calls(self, node: ast.AST) -> list[ast.Call]:
        return [one for one in ast.walk(node) if isinstance(one, ast.Call) and self._is_program(one.func)]

    def _is_read(self, node: ast.expr) -> bool:
        """Whether an expression makes one call of the program at most, with values made for it, looks at what is
        in the result, and keeps nothing of it."""
        calls = self._calls(node)
        named = sum(map(self._is_program, ast.walk(node)))
        if len(calls) > 1 or named != len(calls):
            return False
        made = [*calls[0].args, *(one.value for one in calls[0].keywords)] if calls else []
        if not all(map(self._is_made, made)):
            return False
        if any(map(self._repeats, ast.walk(node))):
            return False
        inside = {id(one) for each in made for one in ast.walk(each)}
        return all(id(one) in inside or self._is_reading(one) for one in ast.walk(node))

    def _repeats(self, node: ast.AST) -> bool:
        """Whether it may make a call of the program more than once, or later."""
        if not isinstance(node, _REPEATED):
            return False
        once = [] if isinstance(node, ast.Lambda) else self._calls(node.generators[0].iter)
        return len(self._calls(node)) > len(once)

    def _is_reading(self, node: ast.AST) -> bool:
        match node:
            case ast.Call():
                reads = self._is_program(node.func) or (self._is_known(node) and not self._may_keep(node))
            case ast.Name():
                reads = node.id not in _NOT_PLAIN
            case ast.Compare():
                reads = not _asks_identity(node)
            case ast.Subscript():  # of a dict, what is not in it may be made
                at = node.slice.operand if isinstance(node.slice, ast.UnaryOp) else node.slice
                reads = isinstance(at, ast.Slice) or (isinstance(at, ast.Constant) and isinstance(at.value, int))
            case ast.Attribute():
                reads = node.attr in _METHODS | _FIELDS | _CONSTANTS or self._is_of_package(node)
            case ast.BinOp(left=ast.Constant(value=str()), op=ast.Mod()):  # the text of a value
                reads = False
            case _:
                reads = isinstance(node, _READ) and getattr(node, "arg", "") != "out"
        return reads

    def _is_of_package(self, node: ast.expr) -> bool:
        """``math.floor``"""
        while isinstance(node, ast.Attribute) and node.attr not in NUMPY_FILES:
            node = node.value
        return isinstance(node, ast.Name) and node.id in self._modules

    def _may_keep(self, call: ast.Call) -> bool:
        """Whether a function is given a result together with something that may hold it later."""
        if not self._calls(call):
            return False
        own = {
            one.id if isinstance(one, ast.Name) else one.arg
            for each in ast.walk(call)
            if isinstance(each, _REPEATED)
            for one in ast.walk(each)
            if isinstance(one, ast.arg) or (isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))
        }
        named = {one.id for one in ast.walk(call) if isinstance(one, ast.Name)}
        return bool(named & self._bound - own - self._unchanging)

    def _is_known(self, call: ast.Call) -> bool:
        """Whether it calls a function of Python's or of a pure package, or a method that changes nothing."""
        function = call.func
        if isinstance(function, ast.Name):
            handed = (
                {one.id for one in call.args if isinstance(one, ast.Name)}
                if function.id != "isinstance"
                else set()
            )
            handed |= {one.value.id for one in call.keywords if isinstance(one.value, ast.Name)}
            texts = not _OF_TYPES.isdisjoint({function.id, *handed}) and self._calls(call)
            return function.id in (_BUILT_IN | self._modules) - self._bound and not texts
        return isinstance(function, ast.Attribute) and (function.attr in _METHODS or self._is_of_package(function))

    def _is_made(self, node: ast.expr) -> bool:
        """Whether an expression makes a value that has no other name, and holds none twice."""
        called = {id(one.func) for one in ast.walk(node) if isinstance(one, ast.Call)}
        inner = {id(one.value) for one in ast.walk(node) if isinstance(one, ast.Attribute)}
        return all(self._is_making(one, free=id(one) not in called | inner) for one in ast.walk(node))

    def _is_making(self, node: ast.AST, *, free: bool) -> bool:
        """``free``: whether the node is neither called nor has an attribute asked for."""
        match node:
            case ast.Call():
                makes = (
                    self._is_known(node)
                    and getattr(node.func, "attr", getattr(node.func, "id", "")) not in _SHARES
                )
            case ast.Name():  # what a package holds may change, and only what is called gives something new
                makes = node.id in self._unchanging | (_BUILT_IN | self._modules) - self._bound
                makes = makes and not (free and node.id in self._modules - _CONSTANTS)
            case ast.Attribute():
                makes = not free or (node.attr in _CONSTANTS and self._is_of_package(node))
            case ast.BinOp(op=ast.Mult()):  # of a list, each item may be there several times
                sides = [one for side in (node.left, node.right) for one in ast.walk(side) if one is not side]
                makes = not any(
                    isinstance(one, ast.List | ast.Set | ast.Dict | ast.Call | ast.BinOp) for one in sides
                )
            case _:
                makes = isinstance(node, _MADE)
        return makes

    # ------------------------------------------------------------------------------ expectations that are written

    def _is_written(self, node: ast.stmt) -> bool:
        match node:
            case ast.FunctionDef():
                written = self._is_function(node, self._is_written)
            case ast.Expr():
                constant = isinstance(node.value, ast.Constant)
                written = constant or self._is_check(node.value) or self._is_step(node.value)
            case ast.Assign(targets=[ast.Name()]):
                written = self._is_step(node.value) or self._is_made(node.value)
            case ast.Assert(test=ast.Compare(ops=[ast.Eq()], left=left, comparators=[right])):
                made = [self._is_made(left), self._is_made(right)]
                written = any(made) and (made[0] or self._shows(left)) and (made[1] or self._shows(right))
            case _:
                written = isinstance(node, _SAYS_NOTHING)
        return written

    def _is_step(self, node: ast.expr) -> bool:
        """Whether it is one call of the program, with names and values that are made for it."""
        if not isinstance(node, ast.Call) or not self._is_program(node.func):
            return False
        given = [*node.args, *(one.value for one in node.keywords)]
        return all(isinstance(one, ast.Name) or self._is_made(one) for one in given) and not any(
            map(self._is_program, given)
        )

    def _shows(self, node: ast.expr) -> bool:
        """Whether it shows what is in named values, or a call's result, without comparing them."""
        inside = {id(one) for each in self._calls(node) if self._is_step(each) for one in ast.walk(each)}
        for one in ast.walk(node):
            if id(one) in inside:
                continue
            shown = (
                isinstance(one, ast.Call)
                and isinstance(one.func, ast.Name)
                and one.func.id in _SHOWN - self._bound
            )
            if not isinstance(one, _SHOWS) or (isinstance(one, ast.Call) and not shown) or self._is_program(one):
                return False
        return True
