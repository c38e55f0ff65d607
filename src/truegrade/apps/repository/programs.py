"""The modules of a package as trees, and a function with all that it needs as a program of its own.

Nothing is imported or run. A program may be put together from several modules: names that an import takes from
another module of the same repository are looked up there.
"""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import cast

from truegrade.apps.repository.functions import ParsedModule
from truegrade.apps.repository.source import RepositoryFile
from truegrade.datasets.executions import NotRecorded
from truegrade.datasets.identity import free_names, without_docstrings
from truegrade.extraction.parsing import Fault, parse_expression, parse_module
from truegrade.grading.programs import statements

ALLOWED_MODULES = frozenset({
    "__future__", "_collections_abc", "abc", "array", "ast", "base64", "binascii", "bisect", "codecs",
    "collections", "colorsys", "contextlib", "copy", "dataclasses", "decimal", "difflib", "enum", "errno",
    "fnmatch", "fractions", "functools", "heapq", "html", "ipaddress", "itertools", "json", "keyword", "math",
    "numbers", "operator", "re", "reprlib", "shlex", "statistics", "string", "struct", "textwrap", "types",
    "typing", "unicodedata", "urllib.parse", "warnings", "weakref", "zlib",
})  # fmt: skip
"""Modules whose functions depend on their arguments alone."""

_LEXICAL = frozenset({
    "basename", "commonpath", "commonprefix", "dirname", "isabs", "join", "normcase", "normpath", "split",
    "splitext", "_check_arg_types", "_splitext",
})  # fmt: skip
ALLOWED_MEMBERS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "genericpath": _LEXICAL,
        "gettext": frozenset({"gettext", "ngettext"}),
        "io": frozenset({"BytesIO", "StringIO"}),
        "logging": frozenset({"getLogger"}),
        "ntpath": _LEXICAL,
        "os": frozenset({"PathLike", "fspath"}),
        "os.path": _LEXICAL,
        "posixpath": _LEXICAL,
        "sys": frozenset({"hexversion", "implementation", "maxsize", "maxunicode", "version_info"}),
        "threading": frozenset({"Lock", "RLock", "local"}),
    }
)
"""What may be used of modules that are otherwise refused."""

FORBIDDEN_BUILTINS = frozenset({
    "__import__", "breakpoint", "compile", "delattr", "dir", "eval", "exec", "exit", "globals", "help", "id",
    "input", "locals", "memoryview", "open", "quit", "setattr", "vars",
})  # fmt: skip
FORBIDDEN_SPECIAL = frozenset({
    "__builtins__", "__closure__", "__code__", "__dict__", "__file__", "__globals__", "__loader__", "__module__",
    "__package__", "__path__", "__spec__", "__subclasses__",
})  # fmt: skip
_MAX_PROGRAM_CHARS = 20_000
"""A longer program is no item that a model could be asked about."""
_MAX_LINKS = 10
"""Modules that a name may be handed through."""

Function = ast.FunctionDef


class Repository:
    """The modules of a package as trees.

    Args:
        modules: all of them.
        stubs: texts of the ``.pyi`` files, by path.
    """

    def __init__(self, modules: Sequence[ParsedModule], stubs: Mapping[str, str]) -> None:
        self.modules = {
            module.file.path: RepositoryModule(module.file, module.tree, _stub(stubs, module.file.path))
            for module in modules
        }
        self._by_name = {module.dotted: module for module in self.modules.values()}

    def program(self, module: RepositoryModule, function: Function) -> str:
        """A function and all it reads, modules that are imported first, each in its own order.

        Raises:
            NotRecorded: it is not pure, or does not stand alone.
        """
        lifted = copy.copy(function)
        lifted.decorator_list = [each for each in function.decorator_list if ast.unparse(each) != "staticmethod"]
        assembly = _Assembly(self)
        assembly.add(module, function.name, lifted, module.position(function))
        text = assembly.text()
        if len(text) > _MAX_PROGRAM_CHARS:
            raise NotRecorded(f"it needs more than {_MAX_PROGRAM_CHARS:,} characters of program")
        return text

    def imported(self, module: RepositoryModule, node: ast.ImportFrom) -> RepositoryModule | None:
        """The module of this repository that an import takes names from."""
        if not node.level:
            return self._by_name.get(node.module or "")
        package = module.dotted.split(".")
        package = package[: len(package) - node.level + module.is_package]
        return self._by_name.get(".".join([*package, *([node.module] if node.module else [])]))

    def aliases(self, module: RepositoryModule) -> dict[str, ast.expr]:
        """What a module's names for types stand for, those that it imports from others of the repository too."""
        found: dict[str, ast.expr] = {}
        for node in module.imports:
            if (target := self.imported(module, node)) is not None:
                names = {alias.name: alias.asname or alias.name for alias in node.names}
                found |= target.aliases  # which its own aliases may name
                found |= {names[name]: value for name, value in target.aliases.items() if name in names}
        return found | module.aliases


class RepositoryModule:
    """The top level of a module: what each name stands for."""

    def __init__(self, file: RepositoryFile, tree: ast.Module, stub: ast.Module | None) -> None:
        self.dotted, self.is_package = file.dotted, file.is_package
        self.stubs = {node.name: node for node in _defined(stub)} if stub is not None else {}
        self.aliases = {**_aliases(tree), **(_aliases(stub) if stub is not None else {})}
        """Names that module or stub give to expressions; an annotation may be one."""
        self.imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        self._stars = [
            node for node in tree.body if isinstance(node, ast.ImportFrom) and node.names[0].name == "*"
        ]
        self.statements: dict[str, ast.stmt] = {}
        self.ambiguous: set[str] = set()
        self._order = {id(node): number for number, node in enumerate(tree.body)}
        for node in tree.body:
            if _is_overload(node):
                continue
            for name in _binds(node):
                earlier = self.statements.get(name, node)
                if earlier is not node and ast.unparse(earlier) != ast.unparse(node):
                    self.ambiguous.add(name)
                self.statements[name] = node
        for nested in ast.walk(tree):
            if isinstance(nested, ast.Global):
                self.ambiguous.update(nested.names)

    def position(self, node: ast.stmt) -> int:
        """Where a statement stands; a method after all statements, since its program has no class around it."""
        return self._order.get(id(node), len(self._order))

    def lookup(self, name: str, repository: Repository) -> ast.stmt:
        """The statement that gives a name its meaning.

        Raises:
            NotRecorded: there is none, or more than one.
        """
        node = self.statements.get(name) or self._starred(name, repository)
        if node is None:
            raise NotRecorded(f"it reads a name that its module does not define: {name}")
        if name in self.ambiguous:
            raise NotRecorded(f"it reads a name that is bound more than once: {name}")
        return node

    def _starred(self, name: str, repository: Repository) -> ast.stmt | None:
        """The import of a name that ``from module import *`` brings."""
        for star in self._stars:
            target = repository.imported(self, star)
            standard = star.module if star.level == 0 and star.module in ALLOWED_MODULES else None
            known = target.statements if target else dir(import_module(standard)) if standard else ()
            if name in known:
                return ast.ImportFrom(star.module, [ast.alias(name)], star.level)
        return None


class _Assembly:
    """A program in the making."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._ranks: dict[str, int] = {}
        self._meaning: dict[str, str] = {}
        self._parts: dict[str, tuple[int, int]] = {}

    def text(self) -> str:
        """The program, imported modules first."""
        ordered = sorted(self._parts, key=lambda part: self._parts[part])
        return ast.unparse(ast.Module(body=_merged(ordered), type_ignores=[])) + "\n"

    def add(self, module: RepositoryModule, name: str, node: ast.stmt, position: int) -> None:
        """Take in a statement that binds a name, and what it reads.

        Raises:
            NotRecorded: something of it is not pure, or a name means two things.
        """
        _refuse_impure(name, node)
        bare = _bare(node, name)
        part = ast.unparse(bare)
        if self._meaning.setdefault(name, part) != part:
            raise NotRecorded(f"it reads a name that means two things in two modules: {name}")
        rank = self._ranks.setdefault(module.dotted, -len(self._ranks))
        if part in self._parts:
            return
        self._parts[part] = (rank, position)
        if isinstance(node, ast.Import | ast.ImportFrom):
            return
        for read in free_names(part):
            if read != name:
                self._follow(module, read, node, _MAX_LINKS)

    def _follow(self, module: RepositoryModule, name: str, reader: ast.stmt, links: int) -> None:
        node = module.lookup(name, self._repository)
        if isinstance(node, ast.ImportFrom):
            target = self._repository.imported(module, node)
            if target is not None and links:
                self._link(module, target, node, name, links)
                return
        _refuse_modules(node, name, reader)
        self.add(module, name, node, module.position(node))

    def _link(
        self, module: RepositoryModule, target: RepositoryModule, node: ast.ImportFrom, name: str, links: int
    ) -> None:
        """Find in another module what is imported from it."""
        original = next(alias.name for alias in node.names if (alias.asname or alias.name) == name)
        self._ranks.setdefault(module.dotted, -len(self._ranks))
        self._follow(target, original, node, links - 1)
        if original != name:
            renamed = ast.Assign([ast.Name(name, ast.Store())], ast.Name(original, ast.Load()), lineno=node.lineno)
            part = ast.unparse(renamed)
            self._meaning.setdefault(name, part)
            self._parts[part] = (self._ranks[module.dotted], module.position(node))


def _stub(stubs: Mapping[str, str], path: str) -> ast.Module | None:
    """The tree of the ``.pyi`` beside a file; None if there is none that can be read."""
    tree = parse_module(stubs.get(f"{path}i", ""))
    return None if isinstance(tree, Fault) else tree


def _defined(tree: ast.Module) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def _is_overload(node: ast.stmt) -> bool:
    decorators = node.decorator_list if isinstance(node, Function) else []
    return any(ast.unparse(each).rpartition(".")[2] == "overload" for each in decorators)


def _binds(node: ast.stmt) -> list[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            return [alias.asname or alias.name.partition(".")[0] for alias in aliases]
        case ast.If() | ast.Try():
            return [
                name
                for inner in ast.walk(node)
                if isinstance(inner, ast.stmt) and inner is not node
                for name in _binds(inner)
            ]
    return [
        name.id
        for name in ast.walk(node)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store | ast.Del)
    ]


def _aliases(tree: ast.Module) -> dict[str, ast.expr]:
    return {
        name: node.value
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        for name in _binds(node)
    }


def _refuse_impure(name: str, statement: ast.stmt) -> None:
    """Refuse a statement of a module's top level that may do more than give a name its meaning."""
    if not isinstance(
        statement,
        ast.FunctionDef
        | ast.ClassDef
        | ast.Import
        | ast.ImportFrom
        | ast.Assign
        | ast.AnnAssign
        | ast.If
        | ast.Try,
    ):
        raise NotRecorded(f"it reads a name that is no function, class, constant or import: {name}")
    own = {node.arg for node in ast.walk(statement) if isinstance(node, ast.arg)} | {*_binds(statement)}
    for node in ast.walk(statement):
        match node:
            case ast.Global() | ast.Await() | ast.AsyncFunctionDef():
                raise NotRecorded(f"it uses `{type(node).__name__.lower()}`: {name}")
            case ast.Import() | ast.ImportFrom() if node is not statement:
                for bound in _binds(node):
                    _refuse_modules(node, bound, statement)
            case ast.Name(id=used) if used in FORBIDDEN_BUILTINS - own:
                raise NotRecorded(f"it uses a built-in that reads or changes more than its arguments: {used}")
            case ast.Attribute(attr=used) if used in FORBIDDEN_SPECIAL:
                raise NotRecorded(f"it uses a special attribute: {used}")


def _refuse_modules(node: ast.stmt, name: str, reader: ast.stmt) -> None:
    """Refuse the import of a name whose module may depend on more than its arguments."""
    match node:
        case ast.Import(names=aliases):
            modules = [alias.name for alias in aliases if (alias.asname or alias.name.partition(".")[0]) == name]
            members = {
                each.attr
                for each in ast.walk(reader)
                if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id == name
            }
        case ast.ImportFrom(module=module, level=level, names=aliases):
            modules = [module or "" if level == 0 else f".{module or ''}"]
            members = {alias.name for alias in aliases if (alias.asname or alias.name) == name}
        case _:
            return
    for module in modules:
        allowed = module in ALLOWED_MODULES or module.partition(".")[0] in ALLOWED_MODULES
        if not allowed and not (members and members <= ALLOWED_MEMBERS.get(module, frozenset())):
            raise NotRecorded(f"it imports a module that may depend on more than its arguments: {module}")


def _bare(node: ast.stmt, name: str) -> ast.stmt:
    """A statement without docstrings and foreign annotations, and an import of the one name that is needed.

    Docstrings often hold the answers, as examples. Annotations are kept where they read built-ins only.
    """
    if isinstance(node, ast.Import):
        return ast.Import([each for each in node.names if (each.asname or each.name.partition(".")[0]) == name])
    if isinstance(node, ast.ImportFrom):
        kept = [each for each in node.names if (each.asname or each.name) == name]
        return ast.ImportFrom(node.module, kept, node.level)
    return cast("ast.stmt", _Unannotated().visit(without_docstrings(copy.deepcopy(node))))


class _Unannotated(ast.NodeTransformer):
    """Takes annotations away that read more than built-ins; a field of a class keeps its place."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        """A parameter."""
        node.annotation = None if _is_foreign(node.annotation) else node.annotation
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """What a function returns."""
        node.returns = None if _is_foreign(node.returns) else node.returns
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Fields of a class stay fields."""
        for field in node.body:
            if isinstance(field, ast.AnnAssign) and _is_foreign(field.annotation):
                field.annotation = ast.Name("object", ast.Load())
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """A variable: an assignment, or nothing at all."""
        self.generic_visit(node)
        if not _is_foreign(node.annotation):
            return node
        if node.value is None:
            return ast.Pass()
        return ast.Assign([node.target], node.value, lineno=node.lineno)


def _is_foreign(annotation: ast.expr | None) -> bool:
    """Whether an annotation, quoted or not, reads more than built-ins."""
    for node in ast.walk(annotation) if annotation is not None else ():
        match node:
            case ast.Constant(value=str(text)):
                quoted = parse_expression(text)
                if isinstance(quoted, Fault) or _is_foreign(quoted):
                    return True
            case ast.Name(id=name) if name not in dir(builtins):
                return True
    return False


def _merged(parts: Iterable[str]) -> list[ast.stmt]:
    """Statements of the texts; imports from one module that follow each other become one."""
    body: list[ast.stmt] = []
    for part in parts:
        node = statements(part)[0]
        last = body[-1] if body else None
        if isinstance(node, ast.ImportFrom) and isinstance(last, ast.ImportFrom) and node.module == last.module:
            last.names += node.names
        else:
            body.append(node)
    return body
