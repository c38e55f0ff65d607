"""What the judge asks of tests before and after they run: which calls come, what failed, what was raised."""

from __future__ import annotations

import builtins
import re
import sys
from _signal import ITIMER_VIRTUAL, SIGVTALRM, setitimer  # type: ignore[import-not-found]
from _signal import signal as set_handler
from marshal import dumps
from opcode import opmap

from truegrade.sandbox.frames import MARSHAL_DEPTH, MARSHAL_VERSION, is_plain
from truegrade.sandbox.objects import TESTS_MODULE
from truegrade.sandbox.wire import MAX_BASES, MAX_TEXT, Unsupported

TYPE_CHECKING = False  # `typing` costs a spawned interpreter 8 ms
if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Container, Sequence
    from types import CodeType, FrameType
    from typing import Any, NoReturn


# ------------- How the judge words a failed test: the statement, what was expected, what the program returned.
# The modules imported here are imported when something has failed, never before.

MAX_STATEMENT = 200


def failing_frame(error: BaseException, file_name: str) -> tuple[FrameType, int] | None:
    """The innermost frame of a source in a traceback, and its line; None if it does not occur there."""
    found = None
    at = error.__traceback__
    while at is not None:
        if at.tb_frame.f_code.co_filename == file_name:
            found = at.tb_frame, at.tb_lineno
        at = at.tb_next
    return found


def cannot_run(error: BaseException, tests: str) -> bool:
    """Whether tests fail in this way whatever a program returns: by an import, or a name that they never bind.

    A name that they bind somewhere depends on the program: a loop over what it returned made no turn. So does all
    that happens in code which they make of a text, since the text may be the program's.
    """
    at = error.__traceback__
    while at is not None:
        if at.tb_frame.f_code.co_filename == "<string>":
            return False
        at = at.tb_next
    if isinstance(error, NameError):
        return error.name is not None and not _binds(tests, error.name)  # UnboundLocalError: None in Python 3.11
    return isinstance(error, ImportError)


def _binds(source: str, name: str) -> bool:
    """Whether any scope of a source gives the name a value."""
    import symtable

    tables = [symtable.symtable(source, "<tests>", "exec")]
    for table in tables:
        tables += table.get_children()
        if name in table.get_identifiers():
            symbol = table.lookup(name)
            if symbol.is_assigned() or symbol.is_imported() or symbol.is_parameter():
                return True
    return False


def statement_at(source: str, line: int) -> tuple[str, ast.stmt | None]:
    """The text of the smallest statement that covers a line, and its tree."""
    import ast

    best: ast.stmt | None = None
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
            best = node if best is None or node.lineno >= best.lineno else best
    # As the parser counts lines; `ast.get_source_segment` would look at every letter, for 30 ms.
    lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    found = lines[line - 1 : line] if best is None else lines[best.lineno - 1 : best.end_lineno]
    if best is not None:
        found[-1] = found[-1].encode()[: best.end_col_offset].decode()
        found[0] = found[0].encode()[best.col_offset :].decode()
    return " ".join(" ".join(found).split())[:MAX_STATEMENT], best


def expected_value(
    statement: ast.stmt | None, frame: FrameType, program: Sequence[object], returned: tuple[Any, ...]
) -> str:
    """What an ``assert a == b`` expected, where one side is spelled with names and the other is an answer of the
    program: it has a name of it, or is what it returned last. Else nothing.

    Only names, constants, subscripts and displays are evaluated: no call, so nothing runs again.

    Args:
        statement: that failed.
        frame: in which it did.
        program: what stands for it in the tests.
        returned: the last value that came from it, if one did.
    """
    import ast

    if not (isinstance(statement, ast.Assert) and isinstance(statement.test, ast.Compare)):
        return ""
    compare = statement.test
    if len(compare.ops) != 1 or not isinstance(compare.ops[0], ast.Eq):
        return ""
    plain = (ast.Name, ast.Constant, ast.Subscript, ast.Tuple, ast.List, ast.expr_context)
    sides = compare.comparators[0], compare.left
    for side, other in (sides, sides[::-1]):
        nodes = list(ast.walk(side))
        named = all(isinstance(node, plain) for node in nodes) and any(
            isinstance(node, ast.Name) for node in nodes
        )
        if not named or not _is_answer(other, frame, program, returned):
            continue
        code = compile(ast.Expression(side), "<expected>", "eval", dont_inherit=True)
        try:
            value = eval(code, frame.f_globals, frame.f_locals)
        except Exception:  # the name was bound to something else since
            return ""
        return "" if any(value is one for one in returned) else short(value)
    return ""


def is_about(
    statement: ast.stmt | None,
    frame: FrameType,
    program: Sequence[object],
    names: Container[str],
    returned: tuple[Any, ...],
) -> bool:
    """Whether a statement asks for what the program returned last: it calls the program, or has a name of that
    value, if it is one that nothing can have changed since.

    Args:
        statement: that failed.
        frame: in which it did.
        program: what stands for it in the tests.
        names: of the program that the tests are given.
        returned: the last value that came from it, if one did.
    """
    import ast
    from types import FunctionType

    solid = tuple(one for one in returned if type(one) in (int, float, bool, str, bytes, complex))
    known = {**frame.f_globals, **frame.f_locals}
    for node in ast.walk(statement) if statement else ():
        if isinstance(node, ast.Call):
            called = known.get(node.func.id) if isinstance(node.func, ast.Name) else None
            # A function of the tests' of that name is how they call a method.
            by_name = type(called) is FunctionType and called.__name__ in names
            if by_name or _is_answer(node.func, frame, program, ()):
                return True
        if solid and isinstance(node, ast.Name) and _is_answer(node, frame, (), solid):
            return True
    return False


def _is_answer(side: ast.expr, frame: FrameType, program: Sequence[object], returned: tuple[Any, ...]) -> bool:
    """Whether a side of a comparison has a name of the program, or is the name of what it returned last."""
    import ast

    known = {**frame.f_globals, **frame.f_locals}
    if isinstance(side, ast.Name) and any(known.get(side.id) is one for one in returned):
        return True
    named = [known.get(node.id) for node in ast.walk(side) if isinstance(node, ast.Name)]
    for node in ast.walk(side):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = known.get(node.value.id)
            named += [vars(module).get(node.attr)] if type(module) is type(sys) else []
    return any(found is one or type(found) is one for found in named if found is not None for one in program)


def short(value: Any) -> str:
    """A value as a person can read it on one line."""
    import reprlib

    shortener = reprlib.Repr()
    shortener.maxlist = shortener.maxtuple = shortener.maxdict = shortener.maxset = 10
    shortener.maxstring = shortener.maxother = shortener.maxlong = 120
    try:
        return shortener.repr(value)
    except ValueError:  # an integer of more digits than Python prints
        return f"<{type(value).__name__} too long to print>"


# ---------- Which calls tests will make: found by running the tests once on values that agree with everything.
# Most tests call the program with arguments of their own, one assertion after the other. Calls that are known
# before the first is answered are sent together, and the program answers them without anybody waiting for
# anybody. Nothing depends on the forecast being right: the tests then run on the real answers, in order, and
# where they make another call than the one foretold, the sample is judged anew, one call at a time (`DEVIATED`).
#
# The program learns later arguments before it has answered earlier calls; no expected value is among them. What
# it does in a call that the tests no longer come to, they do not see.

DEVIATED = "deviated"
"""Status of a judgement that is to be made without foresight."""
MAX_CALLS, MAX_BYTES = 128, 1 << 12
"""Of what is foretold: it fits into any stream's buffer (8 KiB on macOS), so that sending it waits for nobody."""
REHEARSAL_S = 0.05
"""CPU time of a rehearsal; what takes longer is not worth knowing ahead."""


class Enough(BaseException):
    """Ends a rehearsal."""


class Agreeable:
    """Stands for a value of the program: every comparison with it holds, and arithmetic leaves it as it is."""

    def _holds(self, _: object) -> bool:
        return True

    def _same(self, *_: object) -> Agreeable:
        return self

    __hash__ = None  # type: ignore[assignment]
    __eq__ = __ne__ = _holds
    __lt__ = __le__ = __gt__ = __ge__ = _holds
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _same
    __neg__ = __abs__ = __round__ = _same


def foreseen(
    trusted: CodeType, tests: CodeType, names: Sequence[str], namespace: dict[str, Any]
) -> tuple[bytes, ...]:
    """The calls with which these tests begin, each as marshalled name, arguments and keyword arguments.

    Args:
        trusted: what runs before the tests.
        tests: they must leave the interpreter as they find it, for they run.
        names: of the program's functions.
        namespace: to run them in; it is emptied.
    """
    notes = _Notes()
    try:
        try:
            set_handler(SIGVTALRM, _late)
            setitimer(ITIMER_VIRTUAL, REHEARSAL_S, REHEARSAL_S)
            exec(trusted, namespace)
            namespace.update({name: notes.taker(name) for name in names})
            exec(tests, namespace)
        finally:
            setitimer(ITIMER_VIRTUAL, 0)
    except BaseException:  # they asked more of a value than it has, or failed: what they called before stands
        pass
    namespace.clear()
    return tuple(notes.calls)


def _late(*_: object) -> NoReturn:
    raise Enough


class _Notes:
    def __init__(self) -> None:
        self.calls: list[bytes] = []
        self._bytes_left = MAX_BYTES

    def taker(self, name: str) -> Callable[..., Agreeable]:
        def function(*args: Any, **kwargs: Any) -> Agreeable:
            if not (is_plain(args, MARSHAL_DEPTH) and is_plain(kwargs, MARSHAL_DEPTH)):
                self._bytes_left = 0  # nothing that follows comes next
            call = dumps((name, args, kwargs), MARSHAL_VERSION) if self._bytes_left else b""
            self._bytes_left = max(0, self._bytes_left - len(call))
            if not self._bytes_left or len(self.calls) == MAX_CALLS:
                raise Enough
            self.calls.append(call)
            return AGREEABLE

        return function


AGREEABLE = Agreeable()


# ---------------------------------------------------- Exceptions of a program, made again where the tests run.
# An exception crosses as names and plain data (`truegrade.sandbox.child.describe`), and nothing of them is
# believed: it becomes one of a built-in type, one that the tests know by that name, or a new type of its name.

_EXCEPTIONS = {
    name: kind
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, BaseException)
}


_ENDS_LOOPS = (StopIteration, StopAsyncIteration, GeneratorExit)
"""``all(map(f, inputs))`` would take one for the end of the inputs."""
_IN_PLACE: dict[type, type[BaseException]] = {
    kind: type(kind.__name__, (Exception if issubclass(kind, Exception) else BaseException,), {})
    for kind in (*_ENDS_LOOPS, BaseExceptionGroup, ExceptionGroup)  # whose members do not cross
}
"""What stands for these: no loop of the tests ends by them, and what names none of them catches the same."""


def may_miss(error: BaseException | None, tests: str) -> bool:
    """Whether tests name a class of which an exception of the program is one, and what stands for it is not."""
    held = [kind for kind, stand_in in _IN_PLACE.items() if isinstance(error, stand_in)]
    names = {above.__name__ for kind in held for above in kind.__mro__ if above in _IN_PLACE}
    groups = any(issubclass(kind, BaseExceptionGroup) for kind in held)
    named = any(re.search(rf"\b{name}\b", tests) for name in names)
    return named or (groups and re.search(r"\bexcept\s*\*", tests) is not None)


def rebuild(
    names: Any, bases: Any, args: Any, text: Any, namespace: dict[str, Any], given: Container[str] = ()
) -> BaseException:
    """The program's exception as one of a built-in type, or of a new type of its name below such.

    Args:
        names, bases, args, text: as the program says (`truegrade.sandbox.child.describe`).
        namespace: of the tests: an exception of such a name that stands in it, or in a module in it, is the one.
        given: names of the tests' source that the program knows too; it can raise no other class of theirs.
    """
    told = all(type(one) is tuple and one and len(one) <= MAX_BASES for one in (names, bases))
    if not told or {*map(type, (*names, *bases))} != {str} or type(args) is not tuple or type(text) is not str:
        return RuntimeError("the program described its exception in no known form")
    kinds = [_EXCEPTIONS.get(name, RuntimeError) for name in bases]
    kinds = [_IN_PLACE.get(kind, kind) for kind in kinds]
    of_unicode = any(issubclass(kind, UnicodeError) for kind in kinds)
    if of_unicode and any(type(one) is int and one < 0 for one in args):
        return RuntimeError(text)  # CPython 3.11 reads memory there when it words them
    try:
        named = kinds[0]
        if names[0] != bases[0]:
            found = [_exception_in(namespace, name, given) for name in names]
            above = [kind for kind in found if kind is not None][:1]
            named = found[0] or type(names[0], tuple(dict.fromkeys(above or kinds)), {})
        error = _made(named, args)
        message = text.removeprefix(names[0]).removeprefix(": ")
        whole = len(message) < MAX_TEXT or any(type(one) is Unsupported for one in args)
        if whole and str(error) != message:  # what it says is not its arguments alone
            error = _made(type(named.__name__, (named,), {"__str__": lambda _: message}), args)
    except Exception:  # types that take no such arguments
        error = RuntimeError(text)
    return error


def _made(kind: type[BaseException], args: tuple[Any, ...]) -> BaseException:
    try:
        return kind(*args)
    except TypeError:  # a class of its own that takes others, as `json.JSONDecodeError` does
        error = kind.__new__(kind, *args)
        error.args = args
        return error


def _exception_in(namespace: dict[str, Any], name: str, given: Container[str]) -> type[Exception] | None:
    module = type(sys)
    for held in list(namespace.values()):
        found = vars(held).get(name) if type(held) is module else held
        if isinstance(found, type) and issubclass(found, Exception) and found.__name__ == name:
            tests_own = found.__module__ in (TESTS_MODULE, "builtins") and name not in given
            steers = issubclass(found, _ENDS_LOOPS) or any(map(_steers_tests, found.__mro__))
            return None if tests_own or steers else found
    return None


def _steers_tests(kind: type) -> bool:
    """Whether raising it says to those who run tests what to do with one, as `unittest.SkipTest` does."""
    return kind.__module__.partition(".")[0] in {"unittest", "pytest", "_pytest"}


# ------------------------- Whether tests leave the interpreter as they found it, as far as their code can say.
# The answer is a matter of speed alone: tests that may change something outside their own namespace get an
# interpreter that serves no other tests afterwards. It is read off the code because state cannot be compared
# cheaply: a copy of every module's dictionary costs more than the fork that it would save.
#
# Not covered: tests that set out to deceive; they are trusted.

MODULES = frozenset(
    (
        *("bisect", "cmath", "collections", "copy", "datetime", "fractions", "functools", "hashlib", "heapq"),
        *("itertools", "json", "math", "numbers", "numpy", "operator", "random", "re", "statistics", "string"),
        "typing",
    )
)
"""What may be imported: nothing that starts threads, opens files or changes settings of the interpreter. The
generators of `random` and numpy are seeded anew for each sample (`truegrade.sandbox.judge`)."""
_NAMES = frozenset(
    (
        *("open", "exec", "eval", "compile", "globals", "vars", "locals", "delattr", "input", "exit", "quit"),
        *("breakpoint", "help", "register", "seterr", "seterrcall", "save", "savetxt", "savez"),
        *("memmap", "tofile"),
    )
)
_HARMLESS = frozenset(
    (
        *("_", "set", "setdefault", "__name__", "__module__", "__qualname__", "__doc__", "__annotations__"),
        *("__init__", "__eq__", "__repr__", "__len__", "__iter__", "__getitem__", "__contains__", "__class__"),
        # What the compiler itself writes into classes and beside annotations, the last seven since 3.12 to 3.14.
        *("__classcell__", "__type_params__", "__firstlineno__", "__static_attributes__", "__classdictcell__"),
        *("__annotate__", "__annotate_func__", "__conditional_annotations__"),
    )
)
_CHANGES = frozenset([opmap["STORE_ATTR"], opmap["DELETE_ATTR"]])
_IMPORT, _EXTENDED = opmap["IMPORT_NAME"], opmap["EXTENDED_ARG"]


def is_stateless(code: CodeType) -> bool:
    """Whether nothing in this code can outlast its namespace."""
    if not all(map(_is_harmless, code.co_names)):
        return False
    if not _CHANGES.isdisjoint(code.co_code[::2]) or not imports(code) <= MODULES:
        return False
    return all(is_stateless(part) for part in code.co_consts if isinstance(part, type(code)))


def imports(code: CodeType) -> set[str]:
    """The top-level modules that this code imports, apart from the functions in it."""
    found, high = set(), 0
    steps = code.co_code
    for number, argument in zip(steps[::2], steps[1::2], strict=True):
        high = (high | argument) << 8 if number == _EXTENDED else high
        if number == _IMPORT:
            found.add(code.co_names[high | argument].partition(".")[0])
        if number != _EXTENDED:
            high = 0
    return found


def _is_harmless(name: str) -> bool:
    return name in _HARMLESS or not (name in _NAMES or name.startswith(("_", "set")))
