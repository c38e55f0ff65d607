"""Tests written in Python, as data sets of trainers hold them, made tasks whose tests run apart from the program.

The trainers run tests and program as one source, so names are shared freely. Here each name that the tests leave
unbound is told apart: the program's, the standard library's, or one that trainers put in front of every program.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from types import MappingProxyType

import msgspec

from truegrade.benchmarks.base import unbound_names
from truegrade.benchmarks.ground_truths.pytest_modules import Unreadable, as_script, is_pytest
from truegrade.errors import UserError
from truegrade.files import syntax
from truegrade.grading.contests.driver import import_string
from truegrade.grading.programs import statements
from truegrade.records import FunctionTask

# ------ The classes of LeetCode's problems, and helpers that tests of LeetCodeDataset and rLLM expect to find.
# Names and meanings as in newfacade/LeetCodeDataset@182cd19 and rllm-org/rllm@9beb6e0
# ``rllm/rewards/code_utils/utils.py``: lists in level order with None for a missing child.

LEETCODE_NAMES = frozenset({"ListNode", "TreeNode", "list_node", "tree_node", "is_same_list", "is_same_tree"})

LEETCODE_CLASSES = """
class ListNode:
    def __init__(self, val=0, next=None):
        self.val = val
        self.next = next


class TreeNode:
    def __init__(self, val=0, left=None, right=None):
        self.val = val
        self.left = left
        self.right = right


def list_node(values):
    head = None
    for value in reversed(values):
        head = ListNode(value, head)
    return head


def tree_node(values):
    nodes = [None if value is None else TreeNode(value) for value in values]
    children = iter(nodes[1:])
    for node in nodes:
        if node is not None:
            node.left, node.right = next(children, None), next(children, None)
    return nodes[0] if nodes else None


def is_same_list(one, other):
    for _ in range(1_000_000):
        if one is None or other is None:
            return one is other
        if one.val != other.val:
            return False
        one, other = one.next, other.next
    return False


def is_same_tree(one, other):
    pairs = [(one, other)]
    for _ in range(1_000_000):
        if not pairs:
            return True
        one, other = pairs.pop()
        if one is None and other is None:
            continue
        if one is None or other is None or one.val != other.val:
            return False
        pairs += [(one.left, other.left), (one.right, other.right)]
    return False
"""


MODULE = "solution"
"""What tests import the program as (KodCode)."""

_LENT = MappingProxyType(
    {
        **dict.fromkeys(("ceil", "floor", "inf", "isclose", "nan", "pi", "sqrt"), "math"),
        **dict.fromkeys(("Counter", "OrderedDict", "defaultdict", "deque"), "collections"),
        **dict.fromkeys(("date", "timedelta"), "datetime"),
        **dict.fromkeys(("Any", "Dict", "List", "Optional", "Set", "Tuple", "Union"), "typing"),
        "Decimal": "decimal",
        "Fraction": "fractions",
    }
)
"""Names that asserts take from the program's own imports, and the module that lends them here."""
_OF_PLAIN_VALUES = frozenset(
    name for kind in (str, bytes, int, float, complex, list, dict, set, frozenset, tuple) for name in dir(kind)
)
_BUILTIN = frozenset(dir(builtins))


def asserts_task(texts: Sequence[str], entry_point: str | None, setup: str = "") -> FunctionTask:
    """The task that a list of asserts is.

    Args:
        texts: source each, as a rule one statement.
        entry_point: the function that they call, if known.
        setup: source that runs ahead of them.

    Raises:
        Unreadable: one is no Python, or none tests a program.
    """
    body: list[ast.stmt] = list(_parsed(setup, "the setup of its tests"))
    for number, text in enumerate(texts, 1):
        body += _parsed(text, f"test {number}")
    return _task(body, entry_point, offered=False)


def source_task(source: str, entry_point: str | None) -> tuple[str, FunctionTask]:
    """The shape and the task of a module of tests.

    Args:
        source: its text.
        entry_point: the function that they call, if known; also ``Solution().method``.

    Raises:
        Unreadable: it is no Python, tests no program, or needs what a process apart cannot give.
    """
    body = [node for node in _parsed(source, "the text") if not _is_main(node)]
    bound = {target.id for node in body if isinstance(node, ast.Assign) for target in node.targets
             if isinstance(target, ast.Name)}  # fmt: skip
    check = _check(body)
    if check and (not is_pytest(body) or any(_checked(node) for node in body)):
        return "check", _check_task(body, check, entry_point)
    if is_pytest(body):
        return "pytest", _task(as_script(body, MODULE), entry_point, offered=True)
    if {"inputs", "results"} <= bound:
        return "inputs-results", _task(_in_functions(body), entry_point, offered=True)
    return "asserts", _task(_in_functions(body), entry_point, offered=False)


# ------------------------------------------------------------------------------------------------ shapes


def _check(body: Sequence[ast.stmt]) -> ast.FunctionDef | None:
    found = [node for node in body if isinstance(node, ast.FunctionDef) and node.name == "check"]
    return found[-1] if found and len(found[-1].args.args) == 1 else None


def _check_task(body: list[ast.stmt], check: ast.FunctionDef, entry_point: str | None) -> FunctionTask:
    """HumanEval's and LeetCode's ``check(candidate)``; its call is added where it is missing."""
    name = check.args.args[0].arg
    if not any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(check)):
        raise Unreadable(f"check({name}) never uses what it is given, so every program would pass")
    calls = [node for node in body if (given := _checked(node)) is not None]
    if not calls:
        if entry_point is None:
            raise Unreadable("nothing says which function check(candidate) is given; add its name as entry_point")
        if entry_point == check.name:  # of the program: the tests' own function gives way
            check.name = "check_candidate"
        calls = statements(f"{check.name}({_expression(entry_point)})")
        body = [*body, *calls]
    given = _checked(calls[0])
    root = next(node.id for node in ast.walk(given) if isinstance(node, ast.Name)) if given else ""
    return _task(body, root, offered=True)


def _checked(node: ast.stmt) -> ast.expr | None:
    """What a top-level ``check(...)`` is given."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Name(id="check" | "check_candidate"), args=[given])):
            if any(isinstance(name, ast.Name) for name in ast.walk(given)):
                return given
    return None


def _expression(entry_point: str) -> str:
    """``entry_point`` as source; `Unreadable` if it is anything but names, calls and attributes."""
    try:
        tree = syntax.parse(entry_point, mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        tree = None
    allowed = (ast.Expression, ast.Name, ast.Attribute, ast.Call, ast.Load)
    if tree is None or not all(isinstance(node, allowed) for node in ast.walk(tree)):
        raise Unreadable(f"the entry point {entry_point[:60]!r} is no name of a function")
    return entry_point


def _is_main(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)


def _in_functions(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements, with a lone loop made a function that is called: a test can then be counted."""
    compound = [node for node in body if isinstance(node, ast.For | ast.While | ast.With | ast.Try | ast.If)]
    if len(compound) != 1 or body[-1] is not compound[0] or any(map(_runs, body[:-1])):
        return body
    function = statements("def test_all():\n    pass\ntest_all()")
    assert isinstance(function[0], ast.FunctionDef)
    function[0].body = [compound[0]]
    return [*body[:-1], *function]


# -------------------------------------------------------------------------------------------------- names


class _Names(msgspec.Struct, frozen=True, kw_only=True):
    """What the names are that tests leave unbound."""

    entry: str
    program: tuple[str, ...]
    """Others of the program."""
    modules: tuple[str, ...]
    imports: str
    """Source that binds what the standard library lends."""


def _task(body: Sequence[ast.stmt], entry_point: str | None, *, offered: bool) -> FunctionTask:
    """The task of these statements.

    Args:
        body: all that the tests are.
        entry_point: the function that they call, if known.
        offered: whether trainers put imports in front of programs in this shape.
    """
    if not any(map(_runs, body)):
        raise Unreadable("it holds no test: nothing in it asserts anything when it is run")
    tests = ast.unparse(ast.Module(list(body), []))
    lent = LEETCODE_NAMES & _unbound(tests)
    names = _names(body, tests, entry_point, lent)
    setup = ""
    own = [node for node in body if isinstance(node, ast.ClassDef) and not node.name.startswith("Test")]
    if own:
        imports = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
        shared: list[ast.stmt] = [*(node for node in imports if "pytest" not in ast.unparse(node)), *own]
        setup = ast.unparse(ast.Module(shared, [])) + "\n"
        tests = ast.unparse(ast.Module([node for node in body if node not in shared], []))
    front = import_string if offered or lent else ""
    front += LEETCODE_CLASSES if lent else ""
    return FunctionTask(
        prompt="",
        entry_point=names.entry,
        # Nothing in front of the program may be taken for the function that it has to define.
        prefix=f"{front}\nglobals().pop({names.entry!r}, None)\n" if front else "",
        tests=f"{names.imports}{tests}\n",
        setup=setup,
        reference="",
        tests_use=(*names.program, *names.modules),
        plain_arguments=not setup and not lent and not _passes_builtins(body, names.entry),
    )


def _names(body: Sequence[ast.stmt], tests: str, entry_point: str | None, lent: frozenset[str]) -> _Names:
    free = _unbound(tests) - lent - {"__name__", "__file__"}
    called = _count_calls(body)
    entry = entry_point if entry_point in free else _most_called(called, free - _BUILTIN - set(_LENT))
    entry = entry or _most_called(called, free & (_BUILTIN | set(_LENT)), every=True)
    if entry is None:
        raise Unreadable("it calls no function that a program could define, so every program would pass or fail")
    others = sorted(free - {entry} - _BUILTIN)
    imports = "".join(f"from {_LENT[name]} import {name}\n" for name in others if name in _LENT)
    imports += "import numpy as np\n" if "np" in others else ""
    compared = _only_compared(body)
    rest = [name for name in others if name not in _LENT and name != "np" and name not in compared]
    modules = tuple(name for name in rest if name in sys.stdlib_module_names and name not in called)
    program = tuple(name for name in rest if name not in modules)
    # Objects of the program stay with it, and the tests get stand-ins, where a class of its is named.
    if not program and (entry[0].isupper() or _reads_attributes(body, lent)):
        program = (entry,)
    return _Names(entry=entry, program=program, modules=modules, imports=imports)


def _parsed(source: str, name: str) -> list[ast.stmt]:
    try:
        return statements(source)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        words = getattr(error, "msg", None) or str(error) or type(error).__name__
        raise Unreadable(f"{name} is no Python: {words}") from None


def _unbound(source: str) -> set[str]:
    try:
        return unbound_names("the tests", source)
    except UserError as error:
        raise Unreadable(str(error)) from None


def _count_calls(body: Sequence[ast.stmt]) -> Counter[str]:
    """How many statements call each name; in the order of the first call."""
    found: Counter[str] = Counter()
    for node in body:
        calls = list(_calls(node))
        inner = {each.func.id: None for each in calls if isinstance(each.func, ast.Name)}
        given = [each.args[0] for each in calls if _is_name(each.func, "check") and each.args]
        handed = {each.id: None for each in given if isinstance(each, ast.Name)}
        found.update([*inner, *handed])
    return found


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    """Calls, the earlier in the text first."""
    calls = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
    return iter(sorted(calls, key=lambda call: (getattr(call, "lineno", 0), getattr(call, "col_offset", 0))))


def _most_called(called: Counter[str], among: set[str], *, every: bool = False) -> str | None:
    counts = [(name, count) for name, count in called.items() if name in among]
    if not counts or (every and len(counts) > 1):
        return None
    return max(counts, key=lambda pair: pair[1])[0]  # the first of equals


def _runs(node: ast.stmt) -> bool:
    """Whether a statement of the top level tests anything when it is run."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom | ast.Assign | ast.AnnAssign):
        return False
    return any(isinstance(each, ast.Assert | ast.Raise | ast.Call) for each in ast.walk(node))


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _only_compared(body: Sequence[ast.stmt]) -> set[str]:
    """Names whose value alone is compared, which a stand-in for the program's has not: such tests do not run."""
    compared, used = set[str](), set[str]()
    for statement in body:
        for node in ast.walk(statement):
            names = {it.id for it in ast.iter_child_nodes(node) if isinstance(it, ast.Name)}
            (compared if isinstance(node, ast.Compare) else used).update(names)
    return compared - used


def _passes_builtins(body: Sequence[ast.stmt], entry: str) -> bool:
    """Whether a built-in type or function is an argument of the program."""
    given = [argument for node in body for call in _calls(node) if _is_name(call.func, entry)
             for argument in (*call.args, *(keyword.value for keyword in call.keywords))]  # fmt: skip
    return any(isinstance(each, ast.Name) and each.id in _BUILTIN for each in given)


def _reads_attributes(body: Sequence[ast.stmt], lent: frozenset[str]) -> bool:
    """Whether an attribute is read off what a call of some name returned, and no plain value has it."""
    return any(
        isinstance(node, ast.Attribute)
        and node.attr not in _OF_PLAIN_VALUES
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id not in lent
        for statement in body
        for node in ast.walk(statement)
    )
