"""What tests may ask of a program's process that does not cross to the judge's, as far as their source shows.

There the tests read the state of their own process, so that no program fails by it: `assertNotIn("X", os.environ)`
holds whatever the program did. What such a suite says rests on a run beside the program as well, where it can be
forged, so its verdicts have the mark ``tests-inside``.

Not covered: state of which no name or attribute tells, such as that of a package of the tests' own.
"""

from __future__ import annotations

import ast
import re

from truegrade.grading.names_in_tests import imported_names, names_of, state_named
from truegrade.grading.programs import statements
from truegrade.grading.suite_source import SuiteSource

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
_ELSEWHERE = re.compile(r"(/tmp|/var/tmp|/dev/shm|/home|/root|~)(/|$)")


def doubts_of(source: SuiteSource, trusted: str, *, objects: bool) -> tuple[str, ...]:
    """What the tests may ask for that does not cross, in plain words.

    Args:
        source: the suite.
        trusted: source of which tests and program have a copy each.
        objects: whether objects of the program cross.
    """
    nodes = list(ast.walk(source.tree))
    found = {f"the tests name {one}" for one in state_named(source.tree)}
    if objects:
        found |= {f"the tests name {one}" for one in names_of(source.tree) if one in _OF_OBJECTS}
    imported = imported_names(nodes)
    for node in nodes:
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


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
