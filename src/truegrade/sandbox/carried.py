"""Lists, dicts, arrays, frames and other values that can change, of which tests and program hold a copy each.

Where a job says so, such a value is known to both sides by a key, as objects are (`truegrade.sandbox.objects`),
from the message in which it crosses for the first time until the tests let go of it. Every message says which of
them changed since the last one, and the other side changes its copy in place. So the tests see what the program
did to its arguments, in a call that raised and in a later one as well, and that it hands one of them back.

The program's process says itself what it did. If it says otherwise than it did, it is to the tests a program that
did what it says: one that had worked on copies of its arguments would have said the same.
"""

from __future__ import annotations

from collections import OrderedDict
from operator import is_
from types import CodeType, ModuleType, NoneType

from truegrade.sandbox.decode import UNBOUNDED
from truegrade.sandbox.encode import _LIBRARY, _PLAIN, encode

TYPE_CHECKING = False  # `typing` costs a spawned interpreter 8 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_BUILT_IN: dict[type, str] = {list: "list", dict: "dict", set: "set", bytearray: "bytearray"}
_OF_LIBRARIES = {
    **{("collections", name): name for name in ("deque", "OrderedDict", "Counter", "defaultdict")},
    ("numpy", "ndarray"): "ndarray",
    ("pandas", "DataFrame"): "DataFrame",
    ("pandas", "Series"): "Series",
}
"""By top-level package and type: naming them imports nothing."""
VIEWS = {type(getattr(of(), name)()): name for of in (dict, OrderedDict) for name in ("keys", "values", "items")}
"""Types of views of a dict, and the methods that make them; they are carried with their dict."""
DICTS = frozenset({"dict", "OrderedDict", "Counter", "defaultdict"})
_KNOWN: dict[type, str] = {**_BUILT_IN, **VIEWS}
TABLES = frozenset({"ndarray", "DataFrame", "Series"})
"""Kinds of which a copy is made at once, and whose items are not carried themselves."""
MAX_MADE = 200
"""Characters of the text of a value that a defaultdict makes."""
_FACTORIES = {kind.__name__: kind for kind in (list, dict, set, int, float, str, bool, tuple, bytes)}
_MAKERS = frozenset({*_FACTORIES, "collections", "defaultdict", "deque", "OrderedDict", "Counter"})
"""Names that a function may use that makes the same each time."""


class Unfit(Exception):
    """A copy cannot be changed so in place."""


def kind_of(value: object) -> str:
    """The kind of a value that can change; empty for all others."""
    kind = type(value)
    found = _KNOWN.get(kind)
    if found is None:
        name = kind.__module__.partition(".")[0] if type(kind.__module__) is str else ""
        found = _KNOWN[kind] = _OF_LIBRARIES.get((name, kind.__qualname__), "")
    return found


def said_of(value: Any) -> str:
    """The kind of a value, and behind a colon what it is made with.

    Of a deque its bound. Of an array that is not laid out row by row its strides in bytes, and whether it is
    `READ_ONLY`. Of a defaultdict the name of what makes its values, or, where that has none, the value that it
    makes: another such kind where it is empty, else the value's text. ``?`` where that does not cross.
    """
    kind = kind_of(value)
    if kind == "ndarray":
        said = f"{_strides_of(value)}{'' if value.flags.writeable else READ_ONLY}"
        return f"{kind}:{said}".removesuffix(":")
    if kind == "deque":
        return f"{kind}:{'' if value.maxlen is None else value.maxlen}"
    if kind == "defaultdict":
        factory = value.default_factory
        named = next((name for name, one in _FACTORIES.items() if one is factory), "")
        return f"{kind}:{named or ('' if factory is None else _made_by(factory))}"
    return kind


def _made_by(factory: Callable[[], Any]) -> str:
    """What is said of a function that makes values, if it can but make the same again."""
    code = getattr(factory, "__code__", None)
    if type(code) is not CodeType or code.co_freevars or code.co_argcount or code.co_kwonlyargcount:
        return "?"
    known = factory.__globals__
    others = [name for name in code.co_names if name in _FACTORIES and name in known]
    if (
        others
        or not _MAKERS.issuperset(code.co_names)
        or type(known.get("collections")) not in (ModuleType, NoneType)
    ):
        return "?"
    try:
        one = factory()
        if kind_of(one) and kind_of(one) not in TABLES and type(one) not in VIEWS and not one:
            return f"+{said_of(one)}"
        text = repr(one)
        return f"={text}" if len(text) <= MAX_MADE and repr(_literal(text)) == text else "?"
    except Exception:
        return "?"


def _literal(text: str) -> Any:
    from ast import literal_eval  # for few programs

    try:
        return literal_eval(text)
    except SyntaxError as error:
        raise ValueError(str(error)) from None


def blank(said: str) -> Any:
    """A copy that is still empty of what `said_of` said; None of the kinds in `TABLES`.

    Raises:
        KeyError, ValueError: there is no such kind.
    """
    kind, _, more = said.partition(":")
    if kind in TABLES:
        return None
    if kind in _BUILT_IN.values():
        return {name: made for made, name in _BUILT_IN.items()}[kind]()
    import collections

    if kind == "deque":
        return collections.deque(maxlen=int(more) if more else None)
    if kind == "defaultdict":
        how, text = more[:1], more[1 : MAX_MADE + 1]
        make = {"+": blank, "=": _literal}.get(how)
        if make is None:
            return collections.defaultdict(_FACTORIES.get(more))
        make(text)  # which the program may have made up
        return collections.defaultdict(lambda: make(text))
    return {"OrderedDict": collections.OrderedDict, "Counter": collections.Counter}[kind]()


def change(held: Any, content: Any) -> None:
    """Make a value equal to another of its kind, in place.

    Raises:
        Unfit: it cannot be.
    """
    kind = kind_of(held)
    if kind != kind_of(content):
        raise Unfit
    _CHANGES[kind](held, content)


def _fill(held: Any, content: Any) -> None:
    kinds = [(type(key), key) for key in held]
    if kinds != [(type(key), key) for key in content] or not all(one in _SIMPLE for one, _ in kinds):
        held.clear()  # which a loop over it would notice
    for key in content:  # not `update`, which adds to a Counter
        held[key] = content[key]


_SIMPLE = frozenset((str, int, bool, bytes, NoneType))
"""Types of keys that are one where they are equal."""


def _replace(held: Any, content: Any) -> None:
    try:
        held[:] = content
    except BufferError:
        raise Unfit from None


def _refill_deque(held: Any, content: Any) -> None:
    if len(held) == len(content):  # as long as it keeps its length, a loop over it goes on
        for place, item in enumerate(content):
            held[place] = item
    else:
        held.clear()
        held.extend(content)


def _refill_set(held: Any, content: Any) -> None:
    held.clear()
    held.update(content)


def _array(held: Any, content: Any) -> None:
    if held.dtype != content.dtype or held.size != content.size:
        raise Unfit
    writeable = held.flags.writeable
    try:
        held.flags.writeable = True
        held.shape = content.shape
        held[...] = content
    except (AttributeError, ValueError):
        raise Unfit from None
    finally:
        held.flags.writeable = writeable


def _table(held: Any, content: Any) -> None:
    held._update_inplace(content)
    if hasattr(held, "name") and held.ndim == 1:
        held.name = content.name


_CHANGES: dict[str, Callable[[Any, Any], None]] = {
    "list": _replace,
    "bytearray": _replace,
    "set": _refill_set,
    "deque": _refill_deque,
    **dict.fromkeys(("dict", "OrderedDict", "Counter", "defaultdict"), _fill),
    "ndarray": _array,
    "DataFrame": _table,
    "Series": _table,
}


def snapshot(value: Any) -> Any:
    """What is in a value: of a container the very items, which have keys of their own where they can change."""
    kind = kind_of(value)
    if kind in TABLES:
        return encode(value, UNBOUNDED)
    if kind == "bytearray":
        return bytes(value)
    if type(value) in VIEWS:
        return []
    if kind == "defaultdict":
        return [*value, *value.values(), value.default_factory]
    return [*value, *value.values()] if isinstance(value, dict) else [*value]


def makes_others(value: Any, held: Any) -> bool:
    """Whether a dict makes other values than it did when a snapshot was taken."""
    return kind_of(value) == "defaultdict" and held[-1] is not value.default_factory


def has_changed(value: Any, held: Any) -> bool:
    """Whether something else is in a value than when a snapshot was taken; equal items that are others count."""
    now = snapshot(value)
    return now != held if type(held) is bytes else len(now) != len(held) or not all(map(is_, now, held))


ANOTHER_TYPE, ANOTHER_TEXT, ANOTHER_WAY = 1, 2, 3
"""What a value loses that crosses as one of a class above its own: its type alone, its text or hash as well, or
other methods."""
_TEXTS = frozenset({"__repr__", "__str__", "__format__", "__hash__"})
_SILENT = frozenset(
    (
        *(
            "__new__",
            "__init__",
            "__repr__",
            "__str__",
            "__format__",
            "__hash__",
            "__doc__",
            "__setattr__",
            "__dir__",
        ),
        *("__reduce__", "__reduce_ex__", "__getnewargs__", "__class_getitem__", "__init_subclass__", "__sizeof__"),
    )
)
"""What a class may have of its own and still be compared and reckoned with as the one above."""
_OF_EVERY_CLASS = frozenset(
    (
        *(
            "__module__",
            "__qualname__",
            "__dict__",
            "__weakref__",
            "__slots__",
            "__annotations__",
            "__orig_bases__",
        ),
        *("__parameters__", "__match_args__", "__abstractmethods__", "__static_attributes__", "__firstlineno__"),
        *(
            "__replace__",
            "__getstate__",
            "__copy__",
            "__deepcopy__",
            "__annotate_func__",
            "__signature__",
            "__new_member__",
            "__set_name__",
        ),
    )
)
"""What says nothing of how a value of the class behaves where it was made."""


def reduction(value: object) -> int:
    """Whether a value crosses as one of a class above its own: 0, `ANOTHER_TYPE` or `ANOTHER_WAY`."""
    kind = type(value)
    if (kind.__module__, kind.__qualname__) in _LIBRARY:
        return 0
    numpys = [base.__name__ for base in kind.__mro__ if base.__module__ == "numpy"]
    if numpys:
        return ANOTHER_WAY if "ndarray" in numpys and numpys[0] != kind.__name__ else 0
    above = next((base for base in kind.__mro__ if base in _PLAIN), None)
    if above is None:
        return 0
    own = {name for base in kind.__mro__[: kind.__mro__.index(above)] for name in vars(base)}
    special = {name for name in own if name.startswith("__") and name not in _OF_EVERY_CLASS}
    if not special | own.intersection(dir(above)) <= _SILENT:
        return ANOTHER_WAY
    return ANOTHER_TEXT if own & _TEXTS else ANOTHER_TYPE


def is_copied(value: object) -> bool:
    """Whether a value that can change crosses as one of a class above its own, so that the copies part."""
    above = type(value).__mro__[1:]
    return any(base in _BUILT_IN or (base.__module__, base.__qualname__) in _OF_LIBRARIES for base in above)


def holds_changeable(value: Any) -> bool:
    """Whether a value that can change is in a frame or a series."""
    of_objects = [one for one in _arrays(value) if hasattr(one, "flat") and one.dtype == object]
    return any(any(map(kind_of, one.flat)) for one in of_objects)


READ_ONLY = "!"
_WIDEST = 16
"""So many times the bytes of its items an array of a layout of its own may reach over."""


def _strides_of(array: Any) -> str:
    """The bytes from one item to the next along each axis; empty where rows follow each other, ``?`` where they
    cannot be made again."""
    if array.flags.c_contiguous:
        return ""
    return ",".join(map(str, array.strides)) if _fit(array, array.strides) else "?"


def _fit(array: Any, strides: tuple[int, ...]) -> bool:
    """Whether items of an array that lie so are apart, and not too far."""
    reach = array.itemsize
    for step, size in sorted(zip(map(abs, strides), array.shape, strict=True)):
        if size > 1 and step < reach:
            return False
        reach += (size - 1) * step
    return bool(0 < reach <= _WIDEST * array.nbytes)


def laid_out(array: Any, said: str) -> Any:
    """An array as `said_of` said of it, behind the colon: another with its items, where they lie otherwise.

    Raises:
        ValueError: these are no strides of it.
    """
    strides = said.removesuffix(READ_ONLY)
    made = _spread(array, strides) if strides not in ("", "?") else array
    if said != strides:
        made.flags.writeable = False
    return made


def _spread(array: Any, strides: str) -> Any:
    import numpy

    steps = tuple(map(int, strides.split(",")))
    if len(steps) != array.ndim or not _fit(array, steps):
        return array
    below = sum((size - 1) * -step for step, size in zip(steps, array.shape, strict=True) if step < 0)
    reach = sum((size - 1) * abs(step) for step, size in zip(steps, array.shape, strict=True)) + array.itemsize
    made: Any = numpy.ndarray(array.shape, array.dtype, bytearray(reach), below, steps)
    made[...] = array
    return made


def is_shared(value: Any, others: list[Any]) -> bool:
    """Whether an array or frame may change with another one, or cannot be changed."""
    import numpy

    held = _arrays(value)
    if any(not one.flags.writeable or _overlaps(one) for one in held):
        return True
    return any(numpy.may_share_memory(one, other) for each in others for other in _arrays(each) for one in held)


def _overlaps(array: Any) -> bool:
    """Whether items of an array may lie in one place."""
    reach = sum((size - 1) * abs(step) for size, step in zip(array.shape, array.strides, strict=True))
    return bool(array.nbytes > reach + array.itemsize)


def _arrays(value: Any) -> list[Any]:
    """The arrays of numpy that hold what is in an array or a frame."""
    if not hasattr(value, "_mgr"):
        return [value]
    found = [getattr(one, "_ndarray", one) for one in value._mgr.arrays]
    return [one for one in found if hasattr(one, "flags")]
