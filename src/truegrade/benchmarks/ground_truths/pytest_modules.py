"""Modules of pytest (KodCode) as scripts, and what data loaders hand over as plain values.

A test that takes nothing and has no mark is called as it is; pytest itself runs the others, and gives what modules
import from it. Its own fixtures are refused, as they reach into a process that is not the program's.
"""

from __future__ import annotations

import ast
import base64
import binascii
import io
import pickle
import pickletools
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn, TypeGuard

from truegrade.extraction.parsing import quietly
from truegrade.files import syntax
from truegrade.files.unpacking import InflationMeter, UnpackedTooLarge, unpack, zlib_stream
from truegrade.grading.contests.tests import decoded
from truegrade.grading.programs import statements

# --------- What data loaders hand over, as plain values: numbers, texts, lists and dicts. Nothing is executed.

MOST_VALUES = 20_000_000
"""Values in one ground truth; arguments of contest problems are lists of up to a million numbers."""
MOST_CHARACTERS = 1 << 28
"""Of all its texts together, each counted as often as it occurs."""
MOST_DEPTH = 100
LITERAL_CHARACTERS = 1 << 22
"""Of a text that is read as a Python literal, which takes a hundred times its size."""
UNPACKED_BYTES = 1 << 28
_DENSE_BYTES = 1 << 26

_PACKED = re.compile(r"[A-Za-z0-9+/=\s]{8,}\Z")
_NUMBERED = frozenset({"PUT", "BINPUT", "LONG_BINPUT"})
_DATA = _NUMBERED | {
    *("PROTO", "FRAME", "MEMOIZE", "GET", "BINGET", "LONG_BINGET", "STOP", "MARK"),
    *("EMPTY_LIST", "LIST", "APPEND", "APPENDS", "EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"),
    *("EMPTY_DICT", "DICT", "SETITEM", "SETITEMS", "NONE", "NEWTRUE", "NEWFALSE"),
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"),
}
"""Opcodes of a pickle that make plain values; all others name, call or set up objects."""


class Unreadable(ValueError):
    """A ground truth is in no shape that is known; one line says why."""


def plain(value: Any, *, most: int = MOST_VALUES) -> Any:
    """The value with arrays, scalars and columns of numpy, pyarrow and pandas as Python's own.

    Args:
        value: of a data loader.
        most: values that it may hold.

    Raises:
        Unreadable: it is nested too deeply, too large, or holds something that is no plain value.
    """
    return _Plain(most).of(value, 0)


class _Plain:
    def __init__(self, most: int) -> None:
        self._values, self._characters = most, MOST_CHARACTERS

    def of(self, value: Any, depth: int) -> Any:
        self._values -= 1
        if self._values < 0:
            raise Unreadable("it holds too many values")
        if depth > MOST_DEPTH:
            raise Unreadable(f"it is nested more than {MOST_DEPTH} deep")
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, Mapping):
            return {self._key(key): self.of(item, depth + 1) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.of(item, depth + 1) for item in value]
        return self.of(_unwrapped(value), depth + 1)

    def _key(self, key: Any) -> str:
        if not isinstance(key, str):
            raise Unreadable(f"it has the key {str(key)[:40]!r}, and keys are texts in JSON")
        return self._text(key)

    def _text(self, text: str) -> str:
        self._characters -= len(text)
        if self._characters < 0:
            raise Unreadable("its texts are too long")
        try:
            text.encode()
        except UnicodeEncodeError:
            raise Unreadable("it holds half of a surrogate pair, which no program can read or print") from None
        return text


def _unwrapped(value: Any) -> Any:
    """What an array, a scalar or a column holds."""
    if isinstance(value, bytes | bytearray):
        try:
            return bytes(value).decode()
        except UnicodeDecodeError:
            raise Unreadable("it holds bytes that are no UTF-8") from None
    for method in ("as_py", "to_pylist", "tolist"):  # pyarrow's scalars, its arrays; numpy and pandas
        if callable(take := getattr(value, method, None)):
            return take()
    raise Unreadable(f"it holds an object of type {type(value).__name__}")


def from_text(text: str) -> Any:
    """The value that a text is the JSON, the Python literal, or base64 of a packed pickle of; else the text.

    Raises:
        Unreadable: it is packed, and holds anything but plain values.
    """
    try:
        return decoded(text)
    except (ValueError, RecursionError, ArithmeticError):
        pass
    stripped = text.strip()
    if stripped[:1] in {"{", "[", "("} and len(stripped) <= LITERAL_CHARACTERS:
        try:
            with quietly():
                return syntax.literal_eval(stripped)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return text
    return _unpacked(stripped) if _PACKED.match(stripped) else text


def _unpacked(text: str) -> Any:
    """What a packed text holds; the text itself where it is not packed.

    allenai/open-instruct@e6c3044 ``code_utils.encode_tests`` writes base64 of zlib of a pickle.
    """
    try:
        packed = base64.b64decode(text, validate=False)
        meter = InflationMeter("ground truth", free=_DENSE_BYTES, most=UNPACKED_BYTES)
        data = b"".join(unpack(io.BytesIO(packed).read, zlib_stream, meter))
    except UnpackedTooLarge as error:
        raise Unreadable(str(error)) from None
    except (binascii.Error, zlib.error, EOFError, ValueError):
        return text
    return unpickled(data)


def unpickled(data: bytes) -> Any:
    """The plain value that a pickle holds.

    Raises:
        Unreadable: it is damaged, or anything in it is not data: then nothing of it is carried out.
    """
    count = 0
    try:
        for opcode, argument, _ in pickletools.genops(data):
            count += 1
            if opcode.name not in _DATA:
                raise Unreadable(f"its pickle holds {opcode.name}, where only plain values may be")
            # The memo is an array: a large index alone would fill the memory.
            if opcode.name in _NUMBERED and not 0 <= int(argument or 0) <= count:
                raise Unreadable("its pickle numbers its values with gaps")
        value = _DataUnpickler(io.BytesIO(data)).load()
    except Unreadable:
        raise
    except Exception as error:
        raise Unreadable(f"its pickle is damaged: {str(error)[:80]}") from None
    # A list that refers to itself, or many times to one list, is small in a pickle and endless in JSON.
    return plain(value, most=4 * count + 16)


class _DataUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str, /) -> NoReturn:
        raise Unreadable(f"its pickle names {module}.{name}, where only plain values may be")

    def persistent_load(self, pid: Any, /) -> NoReturn:
        raise Unreadable("its pickle refers to something outside it")


_ERRORS = """
suite_by_name = type("suite_by_name", (type,), {
    "__instancecheck__": lambda cls, one: cls.__name__ in {above.__name__ for above in type(one).__mro__},
    "__subclasscheck__": lambda cls, kind: cls.__name__ in {above.__name__ for above in kind.__mro__},
})
"""
"""Exceptions of the program are rebuilt where its tests run, as classes of the same name."""
_PREPARES = re.compile(r"\b(?:autouse|pytestmark|def (?:setup|teardown)(?:_\w+)?)\b")
"""What concerns tests that do not ask for it."""
_UNSUPPORTED = frozenset({"skip", "skipif", "xfail", "importorskip", "warns", "monkeypatch", "mock", "patch"})


def is_pytest(body: Iterable[ast.stmt]) -> bool:
    """Whether a module holds tests that pytest or unittest would collect."""
    return any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and node.name.lower().startswith("test")
        for node in body
    )


def as_script(body: Sequence[ast.stmt], module: str) -> list[ast.stmt]:
    """The statements of a module of tests, and a call for each of its tests.

    Args:
        body: the module's.
        module: what it imports the program as; these imports are left out, and ``module.name`` becomes ``name``.

    Raises:
        Unreadable: it uses what has no counterpart outside pytest.
    """
    imports = _Imports(module)
    kept = [imports.visit(node) for node in body]
    kept = [ast.fix_missing_locations(node) for node in kept if not isinstance(node, ast.Pass)]
    for node in kept:
        _refuse(node)
    _refuse_fixtures(kept)
    prepared = _PREPARES.search(ast.unparse(ast.Module(kept, []))) is not None
    tests = {name: call for node in kept for name, call in _tests(node, prepared)}
    if not tests:
        raise Unreadable("it holds no test function")
    classes = [node.name for node in kept if isinstance(node, ast.ClassDef)]
    # A bare call is a test, and what is defined is none: see `truegrade.grading.repairs`. What runs by pytest
    # finds `truegrade.sandbox.by_pytest` in its process.
    calls = [call or f"suite_pytest.run_test(globals(), {classes!r}, {name!r})" for name, call in tests.items()]
    by_pytest = not all(tests.values())
    head = ["import pytest"] if imports.pytest or by_pytest else []
    head += ["import suite_pytest"] if by_pytest else []
    if imports.errors:
        head += [_ERRORS, *(f"{name} = suite_by_name({name!r}, (Exception,), {{}})" for name in imports.errors)]
    return [*statements("\n".join(head)), *kept, *statements("\n".join(calls))]


def _tests(node: ast.stmt, prepared: bool) -> list[tuple[str, str]]:
    """Name and call of each test in a statement of a module; the call is empty where pytest is to run it.

    Args:
        node: the statement.
        prepared: whether the module says what is done for each test.
    """
    if isinstance(node, ast.FunctionDef) and node.name.startswith("test") and not _is_fixture(node):
        plain = not (prepared or node.decorator_list or node.args.args)
        return [(node.name, f"{node.name}()" if plain else "")]
    if not isinstance(node, ast.ClassDef):
        return []
    methods = [each for each in node.body if isinstance(each, ast.FunctionDef) and each.name.startswith("test")]
    if any("TestCase" in ast.unparse(base) for base in node.bases):
        return [(f"{node.name}.{each.name}", f"{node.name}({each.name!r}).debug()") for each in methods]
    found = []
    for each in methods if node.name.startswith("Test") else ():
        asks = prepared or node.decorator_list or node.bases or each.decorator_list or len(each.args.args) > 1
        found.append((f"{node.name}.{each.name}", "" if asks else f"{node.name}().{each.name}()"))
    return found


def _refuse_fixtures(body: Sequence[ast.stmt]) -> None:
    """Refuse fixtures that the module does not define.

    Raises:
        Unreadable: a test, or a fixture, asks for one.
    """
    nodes = list(ast.walk(ast.Module(list(body), [])))
    given = {"self", "cls", "request", *(node.name for node in nodes if _is_fixture(node))}
    for node in nodes:
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("parametrize") and node.args:
            given.update(_names_of(node.args[0]))
    for node in nodes:
        if isinstance(node, ast.FunctionDef) and (node.name.startswith("test") or _is_fixture(node)):
            for asked in node.args.args[: len(node.args.args) - len(node.args.defaults)]:
                if asked.arg not in given:
                    raise Unreadable(f"{node.name} needs the fixture {asked.arg}, which only pytest gives")


def _names_of(node: ast.expr) -> list[str]:
    try:
        value = syntax.literal_eval(node)
    except ValueError:
        return []
    return value.replace(",", " ").split() if isinstance(value, str) else [str(name) for name in value]


def _is_fixture(node: ast.AST) -> TypeGuard[ast.FunctionDef]:
    return isinstance(node, ast.FunctionDef) and any(
        ast.unparse(each).startswith("pytest.fixture") for each in node.decorator_list
    )


def _refuse(tree: ast.AST) -> None:
    for node in ast.walk(tree):
        name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)
        if isinstance(node, ast.Attribute) and name in _UNSUPPORTED and "pytest" in ast.unparse(node.value):
            raise Unreadable(f"it uses pytest's {name}")
        if isinstance(node, ast.ImportFrom | ast.Import) and "mock" in ast.unparse(node):
            raise Unreadable("it replaces parts of a program, which runs in a process of its own")
        if isinstance(node, ast.AsyncFunctionDef | ast.Await):
            raise Unreadable("its tests are asynchronous")


class _Imports(ast.NodeTransformer):
    """Leaves out imports of the program and of pytest, and takes names of the program off its module."""

    def __init__(self, module: str) -> None:
        self._module, self._aliases = module, {module}
        self._names: set[str] = set()
        self.errors: dict[str, None] = {}
        """Exceptions of the program, by the names that the tests have for them."""
        self.pytest = False

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        if node.module == "pytest":
            raise Unreadable("it imports names from pytest")
        if node.module != self._module:
            return node
        self._names.update(each.asname or each.name for each in node.names)
        renamed = [f"{each.asname} = {each.name}" for each in node.names if each.asname not in (None, each.name)]
        return statements("; ".join(renamed))[0] if len(renamed) == 1 else self._left_out(renamed)

    def visit_Import(self, node: ast.Import) -> ast.AST:
        kept = []
        for each in node.names:
            if each.name == self._module:
                self._aliases.add(each.asname or each.name)
            elif each.name == "pytest":
                self.pytest = True
                if each.asname not in (None, "pytest"):
                    raise Unreadable("it imports pytest under another name")
            else:
                kept.append(each)
        return ast.Import(names=kept) if kept else ast.Pass()

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id in self._aliases:
            return ast.Name(id=node.attr, ctx=node.ctx)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if ast.unparse(node.func) == "pytest.raises" and node.args:
            for each in ast.walk(node.args[0]):
                if (name := self._of_program(each)) is not None:
                    self.errors[name] = None
        elif isinstance(node.func, ast.Attribute) and node.func.attr.startswith("assertRaises") and node.args:
            self._own_exception(node.args[0])
        return self.generic_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        if node.type is not None:
            self._own_exception(node.type)
        return self.generic_visit(node)

    def _of_program(self, node: ast.AST) -> str | None:
        """The name, where an expression is a name of the program."""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in self._aliases:
            return node.attr
        return node.id if isinstance(node, ast.Name) and node.id in self._names else None

    def _own_exception(self, node: ast.expr) -> None:
        if any(self._of_program(each) for each in ast.walk(node)):
            raise Unreadable("it catches an exception class of the program, which runs in a process of its own")

    def _left_out(self, renamed: Sequence[str]) -> ast.AST:
        if renamed:
            raise Unreadable(f"it gives several names of {self._module} other names in one import")
        return ast.Pass()
