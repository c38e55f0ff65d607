"""The package without one function: the text before every answer, and whether the answer is still in there."""

from __future__ import annotations

import ast
import base64
import copy
import inspect
import json
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from truegrade.apps.repository.functions import FunctionPlace, ParsedModule, bare, first_line_of
from truegrade.apps.repository.source import lines_of
from truegrade.datasets.executions import NotRecorded
from truegrade.datasets.identity import name_free_identity
from truegrade.files import syntax
from truegrade.grading.programs import statements

# The text of this function is the beginning of a problem's prefix, so it imports the standard library alone.


def load_without_answer(packed: str, module: str, answer: str, namespace: dict[str, Any]) -> None:
    """Make the modules importable, import one, and give a namespace its names, all but one.

    Args:
        packed: JSON, compressed, in base 85: dotted names to path, whether it is a package, and text.
        module: the one that the answer belongs to.
        answer: name of the function that is missing; what stands for it in the module looks for it in the
            namespace when it is called.
        namespace: of the program.
    """
    import base64
    import importlib
    import importlib.util
    import json
    import sys
    import zlib

    run, to_code = exec, compile  # the module may have its own, and its names become this one's
    texts = json.loads(zlib.decompress(base64.b85decode(packed)))
    its_own = ("__name__", "__doc__", "__loader__", "__spec__", "__builtins__", "__path__", "__cached__")
    hidden = (*its_own, answer, "_truegrade_answer")
    given: dict[str, Any] = {}

    def follow(names: dict[str, Any]) -> None:
        """Give the namespace what the module's names are now: a test may have put others there for a while."""
        for name, value in [*names.items()]:
            if name not in hidden and given.get(name, namespace) is not value:
                namespace[name] = given[name] = value

    class Answer:
        def __init__(self, names: dict[str, Any]) -> None:
            self.names = names

        def __getitem__(self, name: str) -> Any:
            if given:
                follow(self.names)
            return namespace[name]

    class Finder:
        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> Any:
            if name not in texts:
                return None
            return importlib.util.spec_from_loader(name, Finder, is_package=texts[name][1])  # type: ignore[arg-type]

        @staticmethod
        def create_module(spec: object) -> None:
            return None

        @staticmethod
        def exec_module(loaded: Any) -> None:
            path, _, text = texts[loaded.__name__]
            loaded.__file__ = path
            if loaded.__name__ == module:
                loaded._truegrade_answer = Answer(loaded.__dict__)
            run(to_code(text, path, "exec", dont_inherit=True), loaded.__dict__)

    for name in texts:
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, Finder)
    follow(vars(importlib.import_module(module)))


_MOST_CHARS = 1_500_000
"""Of the modules that one imports."""
_MOST_PACKED_BYTES = 8 * _MOST_CHARS
_STAND_IN = "def {name}(*args, **kwargs):\n    ''\n    return _truegrade_answer['{name}'](*args, **kwargs)"
_FUTURE = "from __future__ import annotations\n"
_EXAMPLES = ">>>"


class Package:
    """The modules of a package, and what of them importing one loads.

    Args:
        modules: all of them.
    """

    def __init__(self, modules: Sequence[ParsedModule]) -> None:
        self.by_name = {module.file.dotted: module for module in modules}
        self._closures: dict[str, tuple[str, ...]] = {}
        self._texts: dict[str, str] = {}
        self._bodies: dict[str, list[tuple[str, str]]] = {}

    def closure(self, dotted: str) -> tuple[str, ...]:
        """The modules that a module imports, itself among them, by name: wherever in a text an import stands."""
        if dotted not in self._closures:
            found: set[str] = set()
            waiting = [dotted]
            while waiting:
                name = waiting.pop()
                if name in found or name not in self.by_name:
                    continue
                found.add(name)
                waiting += [*_parents(name), *imported_names(self.by_name[name])]
            self._closures[dotted] = tuple(sorted(found))
        return self._closures[dotted]

    def prefix(self, function: FunctionPlace, others: Collection[str] = (), *, as_code: bool = False) -> str:
        """Python that makes the module's namespace without the function.

        Args:
            function: the one to leave out.
            others: further modules that can then be imported.
            as_code: whether it is one call that runs a text, so that it defines no function that a reader of the
                program would take for a part of the answer.

        Raises:
            NotRecorded: it would be too long.
        """
        module = function.module
        names = sorted({name for one in (module.dotted, *others) for name in self.closure(one)})
        texts = {
            name: (self.by_name[name].file.path, self.by_name[name].file.is_package, self._text(name, function))
            for name in names
        }
        spaces = {above for name in names for above in _parents(name)} - texts.keys()
        texts |= dict.fromkeys(sorted(spaces), ("", True, ""))  # namespace packages have no file
        if sum(len(text) for _, _, text in texts.values()) > _MOST_CHARS:
            raise NotRecorded(f"its module imports more than {_MOST_CHARS:,} characters of the package")
        future = _FUTURE if "from __future__ import annotations" in module.text else ""
        text = loading_text(texts, module.dotted, function.node.name)
        return f"{future}exec({text!r}, globals())\n" if as_code else f"{future}{text}"

    def _text(self, name: str, function: FunctionPlace) -> str:
        if name == function.module.dotted:
            return ast.unparse(without_function(self.by_name[name].tree, function.name))
        if name not in self._texts:
            self._texts[name] = ast.unparse(_without_examples(copy.deepcopy(self.by_name[name].tree)))
        return self._texts[name]

    def texts(self, *dotted: str) -> list[str]:
        """The texts of the modules that importing some loads, as they stand."""
        return [
            self.by_name[name].file.text for name in sorted({each for one in dotted for each in self.closure(one)})
        ]

    def copies(self, function: FunctionPlace, others: Collection[str] = ()) -> list[str]:
        """Other functions that importing its module or others loads, and that equal it but for names, by place."""
        wanted = name_free_identity(bare(function.node))
        return [
            place
            for name in sorted({each for one in (function.module.dotted, *others) for each in self.closure(one)})
            for place, identity in self._identities(name)
            if identity == wanted and place != _place(name, function.node)
        ]

    def _identities(self, name: str) -> list[tuple[str, str]]:
        if name not in self._bodies:
            self._bodies[name] = [
                (_place(name, node), name_free_identity(bare(node)))
                for node in ast.walk(self.by_name[name].tree)
                if isinstance(node, ast.FunctionDef)
            ]
        return self._bodies[name]


def loading_text(texts: Mapping[str, Sequence[Any]], module: str, answer: str) -> str:
    """Python that makes modules importable, and one's names its own, but for the answer's.

    Args:
        texts: path, whether it is a package, and text of each by name; see `load_without_answer`.
        module: the one.
        answer: name of what is to be written.
    """
    packed = base64.b85encode(zlib.compress(json.dumps(texts).encode(), 9)).decode()
    call = f"{load_without_answer.__name__}({packed!r}, {module!r}, {answer!r}, globals())\n"
    return f"from typing import Any\n{inspect.getsource(load_without_answer)}\n{call}"


def unpacked(prefix: str) -> tuple[dict[str, Sequence[Any]], str]:
    """What a prefix of `Package.prefix` holds: ``texts`` and ``module`` of `loading_text`.

    Raises:
        ValueError: it is no such prefix.
    """
    try:
        call: Any = syntax.parse(prefix).body[-1]
        if call.value.func.id == "exec":
            call = syntax.parse(call.value.args[0].value).body[-1]
        packed, module = (argument.value for argument in call.value.args[:2])
        content = zlib.decompressobj().decompress(base64.b85decode(packed), _MOST_PACKED_BYTES)
        return json.loads(content), module
    except (SyntaxError, RecursionError, LookupError, AttributeError, TypeError, zlib.error) as error:
        raise ValueError("not the text before an answer to a function of a repository") from error


def place_in(tree: ast.Module, name: str) -> tuple[Any, int]:
    """What holds a function, or ``Class.method``, in its body, and where.

    Raises:
        ValueError: there is none.
    """
    *classes, own = name.split(".")
    owner: Any = tree
    try:
        for each in classes:
            owner = next(node for node in owner.body if isinstance(node, ast.ClassDef) and node.name == each)
        named = (n for n, node in enumerate(owner.body) if isinstance(node, ast.FunctionDef) and node.name == own)
        return owner, next(named)
    except StopIteration:
        raise ValueError(f"there is no `{name}`") from None


def without_function(tree: ast.Module, name: str) -> ast.Module:
    """A copy of a module in which a function, or ``Class.method``, only calls the answer to it."""
    made = copy.deepcopy(tree)
    owner, number = place_in(made, name)
    stand_in: Any = statements(_STAND_IN.format(name=name.rpartition(".")[2]))[0]
    if owner is not made:  # an answer brings its own
        stand_in.decorator_list = owner.body[number].decorator_list
    owner.body[number] = stand_in
    return _without_examples(made)


class BodyLines(NamedTuple):
    """Where the body of a function stands in its file: whole lines, docstring apart, with its comments."""

    begin: int
    """0-based."""
    end: int
    """Behind the last one."""
    indent: str


def body_lines(node: ast.FunctionDef | ast.AsyncFunctionDef, lines: Sequence[str]) -> BodyLines | None:
    """The lines of a body; None where it shares one with the head or the docstring."""
    first: Any = node.body[0]
    documented = ast.get_docstring(node, clean=False) is not None
    indent = lines[first.lineno - 1].encode()[: first.col_offset].decode()
    begin = first.end_lineno if documented else first_line_of(first) - 1
    if indent.strip() or (documented and len(node.body) > 1 and node.body[1].lineno <= begin):
        return None
    while not documented and lines[begin - 1].lstrip().startswith("#"):
        begin -= 1
    end = node.end_lineno or begin
    while end < len(lines) and lines[end].startswith(f"{indent}#"):
        end += 1
    return BodyLines(begin, max(end, begin), indent)


def body_removed(function: FunctionPlace, given: Sequence[str] = ()) -> str:
    """The text of a file in which of a function's body no more stands than what is given.

    Args:
        function: its body stands on lines of its own.
        given: lines with their indentation; ``...`` without any.
    """
    lines = lines_of(function.module.text)
    body = body_lines(function.node, lines)
    assert body is not None
    return "".join([*lines[: body.begin], *(given or [f"{body.indent}...\n"]), *lines[body.end :]])


def outline(text: str, name: str) -> str:
    """The text of a file in which the bodies of all functions but one are left out, with their docstrings."""
    lines = lines_of(text)
    for node in sorted(_outermost(statements(text)), key=lambda one: -one.lineno):
        body = body_lines(node, lines)
        if node.name != name and body is not None:
            lines[node.body[0].lineno - 1 : body.end] = [f"{body.indent}...\n"]
    return "".join(lines)


def _outermost(body: Iterable[ast.stmt]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
        elif isinstance(node, ast.ClassDef):
            yield from _outermost(node.body)


def _place(module: str, node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    return f"{module}:{node.lineno} {node.name}"


def _without_examples(tree: ast.Module) -> ast.Module:
    """The tree, changed: docstrings that hold examples are empty."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            match first:
                case ast.Expr(value=ast.Constant(value=str(text))) if _EXAMPLES in text:
                    first.value = ast.Constant("")
    return tree


def _parents(dotted: str) -> list[str]:
    parts = dotted.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts))]


def imported_names(module: ParsedModule) -> Iterator[str]:
    """Dotted names that a module may import; some are names of functions."""
    own = module.file.dotted.split(".")
    package = own if module.file.is_package else own[:-1]
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from (*_parents(alias.name), alias.name)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            name = ".".join([*base, *([node.module] if node.module else [])])
            yield from (*_parents(name), name, *(f"{name}.{alias.name}" for alias in node.names))
