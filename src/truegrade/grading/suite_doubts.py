"""What tests may ask of a program's process that does not cross to the judge's, as far as their source shows.

There the tests read the state of their own process, so that no program fails by it: `assertNotIn("X", os.environ)`
holds whatever the program did. What such a suite says rests on a run beside the program as well, where it can be
forged, so its verdicts have the mark ``tests-inside``.

Not covered: state of which no name or attribute tells, such as that of a package of the tests' own.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from truegrade.grading.programs import statements
from truegrade.grading.suite_source import SuiteSource

_STATE = re.compile(
    r"stdout|stderr|stdin|environb?|getenv|putenv|getcwdb?|cwd|chdir|umask|warnings|catch_warnings|assertWarns\w*"
    r"|assert(No)?Logs|logging|getLogger|caplog|capfd|recwarn|gc|getrefcount|weakref|tracemalloc|resource|psutil"
    r"|set(trace|profile)|[gs]etrecursionlimit|getswitchinterval|getsignal|locale|getlocale|getcontext|localcontext"
    r"|getstate|get_state|get_fignums|fignum_exists|gcf|gca|rcParams|get_option|option_context|get_printoptions|geterr"
    r"|threading|active_count|process_time(_ns)?|thread_time(_ns)?|getrusage|atexit|inspect|globals|attrs"
    r"|expanduser|gettempdir|islink|is_symlink|symlink\w*|readlink|lstat|mkfifo|hardlink_to|samefile|chown"
    r"|st_(ino|nlink|uid|gid|atime\w*|ctime\w*)|get[ac]time"
)
"""Names by which tests read what a process, its libraries or the system keep to themselves."""
_OF_OBJECTS = frozenset(
    [
        "callable",
        "Callable",
        "Iterable",
        "Iterator",
        "Sized",
        "Container",
        "Collection",
        "Hashable",
        "Reversible",
        "Sequence",
        "Mapping",
        "deepcopy",
    ]
)
"""Names by which tests ask what an object of the program can do, which what stands for it answers itself."""
_OF_NAMES = frozenset({"id", "vars", "dir", "setattr", "delattr"})
_HARMLESS = frozenset({"__name__", "__class__", "__init__", "__members__"})
_ELSEWHERE = re.compile(r"(/tmp|/var/tmp|/dev/shm|/home|/root|~)(/|$)")


def doubts_of(source: SuiteSource, trusted: str, *, objects: bool) -> tuple[str, ...]:
    """What the tests may ask for that does not cross, in plain words.

    Args:
        source: the suite.
        trusted: source of which tests and program have a copy each.
        objects: whether objects of the program cross.
    """
    nodes = list(ast.walk(source.tree))
    found = {f"the tests name {one}" for node in nodes for one in _names(node) if _STATE.fullmatch(one)}
    if objects:
        found |= {f"the tests name {one}" for node in nodes for one in _names(node) if one in _OF_OBJECTS}
    imported = {one for node in nodes if isinstance(node, ast.Import | ast.ImportFrom) for one in _bound(node)}
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.attr.startswith("__") and node.attr not in _HARMLESS:
            found.add(f"the tests name {node.attr}")
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load) and _root(node) in imported:
            found.add(f"the tests set an attribute of {_root(node)}")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _OF_NAMES:
            found.add(f"the tests call {node.func.id}")
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _ELSEWHERE.match(node.value):
            found.add("the tests name a file outside the working folder")
    wanted = set(source.spelled.split())
    for node in statements(trusted):  # other names of the prompt are compared as the tests run
        written = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        if isinstance(node, written) and node.name in wanted - source.entry_points:
            found.add(f"the tests have a copy of {node.name}")
    return tuple(sorted(found))


def _names(node: ast.AST) -> Iterator[str]:
    """The names that a node spells, parts of a dotted one each."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.alias):
        yield from node.name.split(".")
    elif isinstance(node, ast.ImportFrom):
        yield from (node.module or "").split(".")
    elif isinstance(node, ast.arg):  # a fixture
        yield node.arg


def _bound(node: ast.Import | ast.ImportFrom) -> list[str]:
    return [one.asname or one.name.partition(".")[0] for one in node.names]


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
