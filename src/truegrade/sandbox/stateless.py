"""Whether tests leave the interpreter as they found it, as far as their code can say.

The answer is a matter of speed alone: tests that may change something outside their own namespace get an
interpreter that serves no other tests afterwards. It is read off the code because state cannot be compared
cheaply: a copy of every module's dictionary costs more than the fork that it would save.

Not covered: tests that set out to deceive; they are trusted.
"""

from __future__ import annotations

from opcode import opmap

TYPE_CHECKING = False  # `typing` costs a spawned interpreter 8 ms
if TYPE_CHECKING:
    from types import CodeType

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
