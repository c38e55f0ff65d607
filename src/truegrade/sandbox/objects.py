"""Objects that tests hand to a program and get back, though each side lives in a process of its own.

Over the calls of `truegrade.sandbox.frames` the tests send bytes, made and read here, and get bytes back. Two
kinds of objects cross, each under a number that both sides know it by, so that identity holds:

- Objects of the tests' own classes cross as their attributes. Each side has real objects of its own copy of the
  class, so a method or a comparison runs in the process that asks for it. Every message carries the attributes of
  all that have crossed: each side sees what the other did to them. What the tests hand to nobody stays with them.
- Objects of the program stay in its process. The tests hold stand-ins (`truegrade.sandbox.stand_ins.Remote`):
  calling one, reading and setting its attributes and items, its length and a loop over it ask the program;
  comparison is by identity. There are some only where the tests name a class of the program, or, of a suite, those
  of packages that it imports; of a suite, only in the places in which its reference hands one over, as the second
  of a tuple: elsewhere an object that says yes to whatever it is asked would pass. There it is opaque, as in any
  other call.

A message, in the format of `truegrade.sandbox.wire` with the tag ``o`` for an object, which its key follows:

    a list of those that cross for the first time: whether of the tests' classes, and the name of the type
    each object of the tests' classes and its attributes as a dict; after the last, None
    the value

Of an object of the program, with plain values, the tests may ask by a tuple, marshalled, as long as no object of
theirs has crossed: action, the object's key, other arguments.

The tests' side believes nothing: keys are of known objects, classes are the tests', attributes are data. A program
can say no more of an object than it could have done to it.

Not covered: changes to lists and dicts that objects share, or that the tests read off an object of the program;
changes made in a call that raised; own classes with slots or below built-in types.
"""

from __future__ import annotations

import builtins
from marshal import loads
from types import MethodType

from truegrade.sandbox.decode import _Decoder
from truegrade.sandbox.encode import _Encoder
from truegrade.sandbox.frames import MARSHALLED
from truegrade.sandbox.wire import MAX_NAME, ValueTooLarge, WireError

TYPE_CHECKING = False  # `typing` costs a spawned interpreter 8 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    Ask = Callable[[str, tuple[Any, ...], dict[str, Any]], Any]

PROGRAM = "the program"
"""The function that the tests' side calls, and its name in messages about what it returned."""
TESTS_MODULE = "truegrade_tests"
"""``__name__`` of the tests' source, by which their own classes are known."""
MAX_OBJECTS = 100_000
"""Objects that may have crossed."""
OBJECT = b"o"
INVOKE = "invoke"
"""Reads an attribute and calls it at once."""
_ACTIONS: dict[str, Callable[..., Any]] = {
    "call": lambda target, /, *args, **kwargs: target(*args, **kwargs),
    "get": getattr,
    "set": setattr,
    "value": lambda target: target,
    "len": len,
    "list": list,
    "bool": bool,
    "item": lambda target, key: target[key],
    "put": lambda target, key, value: target.__setitem__(key, value),
    "drop": lambda target, key: target.__delitem__(key),
    "in": lambda target, value: value in target,
}


def own_classes(namespace: Mapping[str, Any]) -> dict[str, type]:
    """The classes that a source defined whose objects are their attributes and nothing else, by name."""
    own = {kind for kind in namespace.values() if isinstance(kind, type) and kind.__module__ == TESTS_MODULE}
    return {kind.__name__: kind for kind in own if kind.__dictoffset__ and own.issuperset(kind.__mro__[:-1])}


class ObjectTable:
    """What one side knows; the tables of both grow alike, message by message.

    Args:
        classes: of the tests, by name.
        remote: whether objects of the program cross.
        strict: refuse what does not cross instead of sending the name of its type.
        lent: packages whose objects cross like those of the program.
    """

    def __init__(
        self, classes: Mapping[str, type], *, remote: bool, strict: bool, lent: Sequence[str] = ()
    ) -> None:
        self.classes, self.remote, self.strict, self._lent = classes, remote, strict, frozenset(lent)
        self._objects: list[Any] = []
        self._owned: list[Any] = []
        """Those of the tests' classes."""
        self._keys: dict[int, int | str] = {}
        """By id; what stands in it is kept alive by `_objects` or for good."""

    def owns(self, value: object) -> bool:
        """Whether it is of one of the tests' own classes."""
        kind = type(value)
        return self.classes.get(kind.__name__) is kind

    def lends(self, value: object) -> bool:
        """Whether it is of a class of a package whose objects cross, or a method of such an object."""
        held = value.__self__ if type(value) is MethodType else value
        return type(held).__module__.partition(".")[0] in self._lent

    def knows(self, value: object) -> bool:
        """Whether it has a key."""
        return id(value) in self._keys

    def key(self, value: object) -> int | str:
        """What it is known by, from now on if it was not.

        Raises:
            ValueTooLarge: too many have crossed.
        """
        key = self._keys.get(id(value))
        if key is None:
            key = len(self._objects)
            if key == MAX_OBJECTS:
                raise ValueTooLarge(f"more than {MAX_OBJECTS} objects")
            self._keys[id(value)] = key
            self._objects.append(value)
            if self.owns(value):
                self._owned.append(value)
        return key

    def encode(self, value: object, max_bytes: int, made: object = None) -> bytes:
        """A message.

        Args:
            value: what it says.
            max_bytes: bound on the result.
            made: object of the program that crosses as such, though it may be a tuple, say, to others.

        Raises:
            ValueTooLarge: over a bound, or the value contains itself.
            Unencodable: only if strict.
        """
        crossed, owned = len(self._objects), len(self._owned)
        writer = _Writer(self, max_bytes, made)
        try:
            writer.value(value, 0)
            said, writer.parts = writer.parts, []
            for item in self._owned:  # their attributes may add to them
                writer.value(item, 0)
                writer.value(dict(vars(item)), 0)
            writer.value(None, 0)
            states, writer.parts = writer.parts, []
            writer.value([(self.owns(x), self._type_name(x)) for x in self._objects[crossed:]], 0)
        except BaseException:  # nothing is sent: the other side's table does not grow
            for item in self._objects[crossed:]:
                del self._keys[id(item)]
            del self._objects[crossed:], self._owned[owned:]
            raise
        return b"".join(writer.parts + states + said)

    def decode(self, data: bytes) -> Any:
        """What a message says; the objects in it get their attributes.

        Raises:
            WireError: it is none that the other side may send.
        """
        reader = _Reader(self, data)
        try:
            for own, name in reader.exact(list, 0):
                self.key(self.blank(name) if own is True else self.meet(name))
            while (item := reader.value(0)) is not None:
                attributes = reader.exact(dict, 0)
                if not self.owns(item) or any(type(name) is not str for name in attributes):
                    raise WireError("attributes of no object of the tests")
                held = vars(item)
                held.clear()
                held.update(attributes)
            reader.part = "value"
            value = reader.value(0)
        except WireError:
            raise
        except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError) as error:
            raise WireError(f"malformed message: {error}") from error
        if reader.at != len(data):
            raise WireError("bytes are left over after the value")
        return value

    def _type_name(self, value: object) -> str:
        kind = type(value)
        return (f"{kind.__module__}:{kind.__qualname__}" if self.lends(value) else kind.__name__)[:MAX_NAME]

    def placed(self, value: Any, place: str) -> Any:
        """What stands for an object where it is found in a message."""
        return value

    def blank(self, name: object) -> Any:
        """An object of one of the tests' classes, as yet without attributes."""
        return object.__new__(self.classes[name])  # type: ignore[index]

    def meet(self, name: object) -> Any:
        """An object of the program, of a type of this name, that has not crossed before.

        Raises:
            WireError: there can be none.
        """
        raise WireError("an object of the program")

    def known(self, key: object) -> Any:
        """The object of this key.

        Raises:
            LookupError: there is none.
        """
        if type(key) is not int or key < 0:
            raise LookupError(f"no object has the key {key!r}")
        return self._objects[key]


class _Writer(_Encoder):
    def __init__(self, table: ObjectTable, max_bytes: int, made: object) -> None:
        super().__init__(max_bytes, table.strict)
        self._table, self._made = table, made

    def inexact(self, value: Any, depth: int) -> None:
        if self._table.owns(value) or value is self._made or self._table.knows(value):
            self._refer(value)
        else:
            super().inexact(value, depth)

    def opaque(self, value: Any) -> None:
        if not self.strict and (self._table.remote or self._table.lends(value)):
            self._refer(value)
        else:
            super().opaque(value)

    def _refer(self, value: Any) -> None:
        self.put(OBJECT)
        self.value(self._table.key(value), 0)


class _Reader(_Decoder):
    def __init__(self, table: ObjectTable, data: bytes) -> None:
        super().__init__(data, 0)
        self._table, self.part = table, ""
        self._open: list[list[Any]] = [[b"", 0]]
        """Of each value that is being read its tag, and how many values of it were begun."""

    def value(self, depth: int) -> Any:
        self._open[-1][1] += 1
        tag = self.data[self.at : self.at + 1]
        if tag == OBJECT:
            self.take(1)
            known = self._table.known(super().value(depth))
            places = [f"{'*' if of == b'l' else ''}{count}" for of, count in self._open[1:]]
            return self._table.placed(known, ".".join((self.part, *places)))
        self._open.append([tag, 0])
        value = super().value(depth)
        self._open.pop()
        return value


class Held(ObjectTable):
    """The program's side.

    Args:
        classes: of the tests, by name.
        program: its names.
        max_bytes: bound on an answer.
        remote: whether objects of the program cross.
        lent: packages whose objects do.
    """

    def __init__(
        self,
        classes: dict[str, type],
        program: dict[str, Any],
        max_bytes: int,
        *,
        remote: bool,
        lent: Sequence[str] = (),
    ) -> None:
        super().__init__(classes, remote=remote, strict=False, lent=lent)
        self._max_bytes = max_bytes
        self._scopes = {"": program, "tests": classes, "builtins": vars(builtins)}

    def known(self, key: object) -> Any:
        """An object that has crossed, or what the tests call by name."""
        if type(key) is not str:
            return super().known(key)
        scope, _, entry = key.rpartition(".")
        if entry not in self._scopes[scope]:
            raise NameError(f"name {entry!r} is not defined")
        return self._scopes[scope][entry]

    def perform(self, request: bytes) -> bytes:
        """Do what the tests ask; the answer."""
        if request.startswith(MARSHALLED):
            action, key, args, kwargs = loads(request)
            args = (self.known(key), *args)
        else:
            action, args, kwargs = self.decode(request)
        if action == INVOKE:
            action, args = "call", (getattr(args[0], args[1]), *args[2:])
        value = _ACTIONS[action](*args, **kwargs)
        made = value if action == "call" and isinstance(args[0], type) else None
        return self.encode(value, self._max_bytes, made)
