"""What the tests of a function do with values, as far as their source shows: whether they are plain, what they ask
for that does not cross, and whether a program has a part in what they expect."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from marshal import dumps

from truegrade.extraction.parsing import quietly
from truegrade.files import syntax
from truegrade.grading.programs import statements

_EXECUTES = re.compile(
    r"pickle|cPickle|dill|joblib|shelve|marshal|read_pickle|allow_pickle|importlib|runpy|subprocess|ctypes"
    r"|exec|eval|compile|__import__|system|popen|spawn\w*|read_hdf|HDFStore|full_load|load_model|extractall"
    r"|unpack_archive|timeit|cProfile|numexpr|sympify|parse_expr|lambdify|jinja2|query|unsafe_load"
    r"|yaml\.load|sys\.(?:path|modules)"
)
"""Names by which tests may run what the program wrote or returned."""
_STATE = re.compile(
    r"stdout|stderr|stdin|environb?|getenv|putenv|getcwdb?|cwd|chdir|umask|warnings|catch_warnings|assertWarns\w*"
    r"|assert(No)?Logs|logging|getLogger|caplog|capfd|recwarn|gc|getrefcount|weakref|tracemalloc|resource|psutil"
    r"|set(trace|profile)|[gs]etrecursionlimit|getswitchinterval|getsignal|locale|getlocale|getcontext|localcontext"
    r"|getstate|get_state|get_fignums|fignum_exists|gcf|gca|rcParams|get_option|option_context|get_printoptions"
    r"|geterr|threading|active_count|process_time(_ns)?|thread_time(_ns)?|getrusage|atexit|inspect|globals|attrs"
    r"|expanduser|gettempdir|islink|is_symlink|symlink\w*|readlink|lstat|mkfifo|hardlink_to|samefile|chown"
    r"|st_(ino|nlink|uid|gid|atime\w*|ctime\w*)|get[ac]time"
)
"""Names by which tests read what a process, its libraries or the system keep to themselves."""
_HARMLESS = frozenset({"__name__", "__class__", "__init__", "__members__"})
_PROCESS = re.compile(
    rf"{_STATE.pattern}|redirect_std\w+|capsys|locals|vars|dir|builtins|setattr|delattr|sleep|shares_memory"
    r"|may_share_memory|flags|strides|_thread|futures|multiprocessing|asyncio|seed|filterwarnings|prec"
)
"""The same of tests of functions, which have a process of their own in any case."""


def names_of(tree: ast.AST) -> Iterator[str]:
    """The names that a source spells, parts of a dotted one each."""
    return chain.from_iterable(map(_spelled, ast.walk(tree)))


def _spelled(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        return [node.attr]
    if isinstance(node, ast.alias):
        return node.name.split(".")
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").split(".")
    return [node.arg] if isinstance(node, ast.arg) else []  # a fixture


def state_named(tree: ast.AST, names: re.Pattern[str] = _STATE) -> set[str]:
    """Names in a source by which it reads what does not cross, attributes of Python's own among them."""
    own = {
        one.attr
        for one in ast.walk(tree)
        if isinstance(one, ast.Attribute) and one.attr.startswith("__") and one.attr not in _HARMLESS
    }
    return own | {one for one in names_of(tree) if names.fullmatch(one)}


def reads_state(tests: str) -> bool:
    """Whether the tests of a function may read what the program leaves in its process and not in its values."""
    return bool(state_named(_tree(tests), _PROCESS))


@lru_cache(256)
def may_execute(tests: str) -> bool:
    """Whether tests might run what the program wrote or returned: nothing of it may in the judge's process."""
    nodes = list(ast.walk(_tree(tests)))
    attributes = [one for one in nodes if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name)]
    dotted = [ast.unparse(one) for one in attributes]
    harmless = [one for one, name in zip(attributes, dotted, strict=True) if name == "re.compile"]
    texts = (one.value for one in nodes if isinstance(one, ast.Constant) and isinstance(one.value, str))
    names = (name for one in nodes if one not in harmless for name in _spelled(one))
    return any(map(_EXECUTES.fullmatch, (*names, *dotted, *texts)))


@lru_cache(256)
def are_plain(tests: str, entry_point: str) -> bool:
    """Whether tests see no more of a value than what is in it when it crosses.

    They call the program with values made for that call, and are done with what it returns before the next:
    nothing is said of tests in which anything else stands.
    """
    return _Plain(_tree(tests), entry_point).all_is_plain()


@lru_cache(256)
def compare_with_fixed_values(tests: str, entry_point: str) -> bool:
    """Whether tests make values, hand them over, and assert that arguments and results equal others, all of which
    are written in them, one statement after the other: no program has a part in what is expected."""
    return _Plain(_tree(tests), entry_point).expects_what_is_written()


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
    asks = any(isinstance(one, ast.Is | ast.IsNot) for one in node.ops)
    return asks and not any(isinstance(one, ast.Constant) for one in (node.left, *node.comparators))


def _tree(tests: str) -> ast.Module:
    return ast.Module(statements(tests), [])


_NOT_PLAIN = frozenset(
    (
        *(
            "globals",
            "locals",
            "vars",
            "eval",
            "exec",
            "compile",
            "getattr",
            "setattr",
            "delattr",
            "id",
            "type",
            "dir",
        ),
        *("iter", "next", "super", "open", "input", "__import__"),
    )
)
_BUILT_IN = frozenset(vars(builtins)) - _NOT_PLAIN
"""Functions that keep nothing of what they are given, and look at nothing but what is in it."""
_OF_TYPES = frozenset({"repr", "str", "ascii", "format", "hash"})
"""What a class may answer in another way than the one that crosses in its place."""
_CONSTANTS = frozenset({"math", "cmath", "string", "sys", "np", "numpy"})
"""Modules of which tests name numbers and texts."""
_SHOWN = frozenset({"list", "tuple", "sorted", "len", "dict", "set", "sum", "frozenset"})
"""What shows a value, or says one thing of it, without a comparison."""
_REPEATED = (ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp, ast.Lambda)
_MADE = (
    *(ast.Constant, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.UnaryOp, ast.BinOp, ast.Call, ast.keyword),
    *(ast.Name, ast.Attribute, ast.operator, ast.unaryop, ast.expr_context),
)
"""What an expression consists of that makes a value."""
_READ = (
    *(
        *_MADE,
        *_REPEATED,
        ast.comprehension,
        ast.arguments,
        ast.arg,
        ast.Compare,
        ast.cmpop,
        ast.BoolOp,
        ast.boolop,
    ),
    *(ast.Subscript, ast.Slice, ast.IfExp),
)
"""What an expression consists of that is done with a result."""
_SAYS_NOTHING = (ast.Import, ast.ImportFrom, ast.Pass)
_SHOWS = (
    *(ast.Name, ast.Constant, ast.Subscript, ast.Slice, ast.Tuple, ast.List, ast.Call, ast.UnaryOp, ast.USub),
    ast.Load,
)


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
        self._unchanging = self._names_of_constants()
        self._modules = {
            (one.asname or one.name).partition(".")[0]
            for node in self._nodes
            if isinstance(node, ast.Import | ast.ImportFrom)
            for one in node.names
        } - {*bound}

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
                bad.update(filter(None, [getattr(node, "name", None), getattr(node, "arg", None)]))
        return frozenset(good - bad - self._callers)

    @staticmethod
    def _is_range(node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"

    # ------------------------------------------------------------------------------------------- plain statements

    def _is_plain(self, node: ast.stmt) -> bool:
        match node:
            case ast.FunctionDef(body=[ast.Return()]):
                plain = self._calls_a_method(node)
            case ast.FunctionDef():
                plain = node.name in self._checks and all(map(self._is_plain, node.body))
            case ast.Expr():
                plain = self._is_check(node.value) or self._is_read(node.value)
            case ast.Assert():  # what a failure says comes when all is over
                plain = self._is_read(node.test)
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
            case _:
                plain = isinstance(node, _SAYS_NOTHING)
        return plain

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
        if not isinstance(node, _READ):
            return False
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id in _OF_TYPES and self._calls(node):
                return False
            return self._is_program(node.func) or (self._is_known(node.func) and not self._may_keep(node))
        if isinstance(node, ast.Compare):
            return not _asks_identity(node)
        if isinstance(node, ast.Subscript):  # of a dict, what is not in it may be made
            at = node.slice.operand if isinstance(node.slice, ast.UnaryOp) else node.slice
            return isinstance(at, ast.Slice) or (isinstance(at, ast.Constant) and isinstance(at.value, int))
        return not isinstance(node, ast.Attribute) or not node.attr.startswith("_")

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

    def _is_known(self, function: ast.expr) -> bool:
        """Whether it is a function of Python's or of a package, or a method."""
        if isinstance(function, ast.Name):
            return function.id in (_BUILT_IN | self._modules) - self._bound
        return isinstance(function, ast.Attribute)

    def _is_made(self, node: ast.expr) -> bool:
        """Whether an expression makes a value that has no other name."""
        called = {id(one.func) for one in ast.walk(node) if isinstance(one, ast.Call)}
        inner = {id(one.value) for one in ast.walk(node) if isinstance(one, ast.Attribute)}
        for one in ast.walk(node):
            if not isinstance(one, _MADE) or not self._is_making(one):
                return False
            # What a module holds may change, and only what is called gives something new.
            held = isinstance(one, ast.Attribute) or (isinstance(one, ast.Name) and one.id in self._modules)
            if held and id(one) not in called | inner and ast.unparse(one).partition(".")[0] not in _CONSTANTS:
                return False
        return True

    def _is_making(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Call):
            return self._is_known(node.func) and not self._is_program(node.func)
        if isinstance(node, ast.Name):
            return node.id in self._unchanging | (_BUILT_IN | self._modules) - self._bound
        return True

    # ------------------------------------------------------------------------------ expectations that are written

    def _is_written(self, node: ast.stmt) -> bool:
        match node:
            case ast.FunctionDef(body=[ast.Return()]):
                written = self._calls_a_method(node)
            case ast.FunctionDef():
                written = node.name in self._checks and all(map(self._is_written, node.body))
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
