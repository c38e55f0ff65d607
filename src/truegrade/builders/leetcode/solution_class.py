"""From ``class Solution`` to plain functions, by the tree and not by the text."""

from __future__ import annotations

import ast

import msgspec

from truegrade.builders.leetcode.preamble import with_imports
from truegrade.datasets.docstrings import without_docstrings
from truegrade.datasets.recording import NotRecorded

_CLASS = "Solution"


class Solution(msgspec.Struct, frozen=True):
    """A submission as a program of functions."""

    program: str
    """Normalised by `ast.unparse`, its imports before it."""
    function: str
    parameters: tuple[str, ...]


def plain_functions(code: str) -> Solution:
    """Methods become functions, ``self.f(...)`` becomes ``f(...)``, attributes of the class become globals.

    Raises:
        NotRecorded: the code is no Python, has no class Solution, keeps state on ``self``, or uses ``self``, or a
            name that would collide, in some other way.
    """
    try:
        tree = without_docstrings(ast.parse(code))
        solution = _solution_class(tree)
        members = _members(solution)
        lifted = _Lift(members, _bound_elsewhere(tree, solution))
        body = [lifted.visit(node) for node in solution.body if not isinstance(node, ast.Pass)]
        at = tree.body.index(solution)
        tree.body[at : at + 1] = body
        entry = _entry(solution, body)
        program = with_imports(ast.unparse(ast.fix_missing_locations(tree)) + "\n")
        compile(program, "<submission>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise NotRecorded(f"it is no Python program: {error}") from None
    return Solution(program, entry.name, tuple(argument.arg for argument in entry.args.args))


def _solution_class(tree: ast.Module) -> ast.ClassDef:
    found = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == _CLASS]
    if len(found) != 1:
        raise NotRecorded(f"it has {len(found)} classes {_CLASS}")
    if found[0].bases or found[0].decorator_list:
        raise NotRecorded(f"its class {_CLASS} has a base or a decorator")
    return found[0]


def _members(solution: ast.ClassDef) -> set[str]:
    """Names of methods and attributes of the class."""
    names = set()
    for node in solution.body:
        match node:
            case ast.FunctionDef(name=name):
                names.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
            case _ if not isinstance(node, ast.Pass):
                raise NotRecorded(f"its class {_CLASS} holds more than methods and attributes")
    if "__init__" in names:
        raise NotRecorded("it keeps state in __init__")
    return names


def _bound_elsewhere(tree: ast.Module, solution: ast.ClassDef) -> set[str]:
    """Names bound outside the class or inside its methods: a member of that name cannot become a global."""
    own = {id(node) for node in solution.body}
    bound = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) if id(node) not in own:
                bound.add(name)
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                bound.add(name)
    return bound - {
        target.id
        for node in solution.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and _stores(tree, target.id) == 1
    }


def _stores(tree: ast.Module, name: str) -> int:
    return sum(isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
               for node in ast.walk(tree))  # fmt: skip


def _entry(solution: ast.ClassDef, body: list[ast.stmt]) -> ast.FunctionDef:
    """The one method that no other method calls."""
    methods = [node for node in body if isinstance(node, ast.FunctionDef)]
    called = {
        node.id
        for method in methods
        for node in ast.walk(method)
        if isinstance(node, ast.Name) and node.id != method.name
    }
    entries = [method for method in methods if method.name not in called and not method.name.startswith("_")]
    if len(entries) != 1:
        raise NotRecorded(f"{len(entries)} methods of its class {_CLASS} may be the one that is asked for")
    arguments = entries[0].args
    if arguments.vararg or arguments.kwarg or arguments.posonlyargs or arguments.kwonlyargs:
        raise NotRecorded("its method has other than plain parameters")
    return entries[0]


class _Lift(ast.NodeTransformer):
    """Takes ``self`` away."""

    def __init__(self, members: set[str], taken: set[str]) -> None:
        self._members, self._taken = members, taken
        self._self = ""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """The outermost ones are methods: without ``self`` and without ``staticmethod``."""
        if self._self:
            return self.generic_visit(node)
        static = [name for name in node.decorator_list if isinstance(name, ast.Name) and name.id == "staticmethod"]
        if not static and not node.args.args:
            raise NotRecorded("a method takes no self")
        self._self = _CLASS if static else node.args.args[0].arg
        node.args.args = node.args.args if static else node.args.args[1:]
        node.decorator_list = [name for name in node.decorator_list if name not in static]
        lifted = self.generic_visit(node)
        self._self = ""
        return lifted

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """``self.name`` as ``name``."""
        if not (isinstance(node.value, ast.Name) and node.value.id in {self._self, _CLASS}):
            return self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load) or node.attr not in self._members:
            raise NotRecorded(f"it keeps state on self ({node.attr})")
        if node.attr in self._taken:
            raise NotRecorded(f"the name {node.attr} means two things")
        return ast.Name(id=node.attr, ctx=ast.Load())

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """``self`` itself cannot be taken away."""
        if self._self and node.id in {self._self, _CLASS}:
            raise NotRecorded("it passes self on")
        return node
