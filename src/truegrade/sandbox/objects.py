"""Objects that tests hand to a program and get back, though each side lives in a process of its own.

Over the calls of `truegrade.sandbox.frames` the tests send bytes, made and read here, and get bytes back. Two
kinds of objects cross, each under a number that both sides know it by, so that identity holds:

- Objects of the tests' own classes cross as their attributes. Each side has real objects of its own copy of the
  class, so a method or a comparison runs in the process that asks for it. Every message carries the attributes of
  all that have crossed: each side sees what the other did to them. What the tests hand to nobody stays with them.
- Objects of the program stay in its process. The tests hold stand-ins (`Remote`): calling one, reading and setting
  its attributes and items, its length and a loop over it ask the program; comparison is by identity. There are
  some only where the tests name a class of the program, and, of a suite, only where its reference hands one over:
  elsewhere an object that says yes to whatever it is asked would pass. There it is opaque, as in any other call.

A message, in the format of `truegrade.sandbox.wire` with the tag ``o`` for an object, which its key follows:

    a list of those that cross for the first time: whether of the tests' classes, and the name of the type
    each object of the tests' classes and its attributes as a dict; after the last, None
    the value

The tests' side believes nothing: keys are of known objects, classes are the tests', attributes are data. A program
can say no more of an object than it could have done to it.

Not covered: changes to lists and dicts that objects share, or that the tests read off an object of the program;
changes made in a call that raised; own classes with slots or below built-in types.
"""

from __future__ import annotations

import builtins

from truegrade.sandbox.decode import _Decoder
from truegrade.sandbox.encode import _Encoder
from truegrade.sandbox.frames import REQUEST_BYTES
from truegrade.sandbox.statuses import OUTPUT_LIMIT, TAMPERING
from truegrade.sandbox.values import Unsupported
from truegrade.sandbox.wire import MAX_NAME, Unencodable, ValueTooLarge, WireError

TYPE_CHECKING = False  # `typing` costs a spawned interpreter 8 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from truegrade.sandbox.judge import Link

    Ask = Callable[[str, tuple[Any, ...], dict[str, Any]], Any]

PROGRAM = "the program"
"""The function that the tests' side calls, and its name in messages about what it returned."""
TESTS_MODULE = "truegrade_tests"
"""``__name__`` of the tests' source, by which their own classes are known."""
MAX_OBJECTS = 100_000
"""Objects that may have crossed."""
MAX_REQUESTS = 100_000
"""Calls and reads of a program's objects: a linked list may never end."""
OBJECT = b"o"
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
    """

    def __init__(self, classes: Mapping[str, type], *, remote: bool, strict: bool) -> None:
        self.classes, self.remote, self.strict = classes, remote, strict
        self._objects: list[Any] = []
        self._keys: dict[int, int | str] = {}
        """By id; what stands in it is kept alive by `_objects` or for good."""

    def owns(self, value: object) -> bool:
        """Whether it is of one of the tests' own classes."""
        kind = type(value)
        return self.classes.get(kind.__name__) is kind

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
        crossed = len(self._objects)
        writer = _Writer(self, max_bytes, made)
        try:
            writer.value(value, 0)
            said, writer.parts = writer.parts, []
            for item in self._objects:  # their attributes may add to them
                if self.owns(item):
                    writer.value(item, 0)
                    writer.value(dict(vars(item)), 0)
            writer.value(None, 0)
            states, writer.parts = writer.parts, []
            writer.value([(self.owns(x), type(x).__name__[:MAX_NAME]) for x in self._objects[crossed:]], 0)
        except BaseException:  # nothing is sent: the other side's table does not grow
            for item in self._objects[crossed:]:
                del self._keys[id(item)]
            del self._objects[crossed:]
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
            value = reader.value(0)
        except WireError:
            raise
        except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError) as error:
            raise WireError(f"malformed message: {error}") from error
        if reader.at != len(data):
            raise WireError("bytes are left over after the value")
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
        if self._table.remote and not self.strict:
            self._refer(value)
        else:
            super().opaque(value)

    def _refer(self, value: Any) -> None:
        self.put(OBJECT)
        self.value(self._table.key(value), 0)


class _Reader(_Decoder):
    def __init__(self, table: ObjectTable, data: bytes) -> None:
        super().__init__(data, 0)
        self._table = table

    def value(self, depth: int) -> Any:
        if not self.data.startswith(OBJECT, self.at):
            return super().value(depth)
        self.take(1)
        return self._table.known(super().value(depth))


# ----------------------------------------------------------------------------------- the program's process


class Held(ObjectTable):
    """The program's side.

    Args:
        classes: of the tests, by name.
        program: its names.
        max_bytes: bound on an answer.
        remote: whether objects of the program cross.
    """

    def __init__(self, classes: dict[str, type], program: dict[str, Any], max_bytes: int, *, remote: bool) -> None:
        super().__init__(classes, remote=remote, strict=False)
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
        action, args, kwargs = self.decode(request)
        value = _ACTIONS[action](*args, **kwargs)
        made = value if action == "call" and isinstance(args[0], type) else None
        return self.encode(value, self._max_bytes, made)


# ------------------------------------------------------------------------------------- the tests' process


class Remote:
    """Stands for an object of the program, or for what one of its names is bound to."""

    __slots__ = ("__ask", "__origin", "__type_name")

    def __init__(self, ask: Ask, type_name: str, origin: str) -> None:
        object.__setattr__(self, "_Remote__ask", ask)
        object.__setattr__(self, "_Remote__type_name", type_name)
        object.__setattr__(self, "_Remote__origin", origin)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """What the program's object returns to this call, or raises."""
        return self.__ask("call", (self, *args), kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("__", "_Remote__")):  # what Python itself looks for, and a half-made copy
            raise AttributeError(name)
        return self.__ask("get", (self, name), {})

    def __setattr__(self, name: str, value: object) -> None:
        self.__ask("set", (self, name, value), {})

    def __repr__(self) -> str:
        return f"<{self.__type_name} object>"

    def __len__(self) -> int:
        return int(self.__ask("len", (self,), {}))

    def __bool__(self) -> bool:
        return bool(self.__ask("bool", (self,), {}))

    def __iter__(self) -> Any:
        return iter(self.__ask("list", (self,), {}))

    def __contains__(self, value: object) -> bool:
        return bool(self.__ask("in", (self, value), {}))

    def __getitem__(self, key: object) -> Any:
        return self.__ask("item", (self, key), {})

    def __setitem__(self, key: object, value: object) -> None:
        self.__ask("put", (self, key, value), {})

    def __delitem__(self, key: object) -> None:
        self.__ask("drop", (self, key), {})


class StandIns(ObjectTable):
    """The tests' side.

    Args:
        link: to the program.
        classes: of the tests, by name.
        remote: whether objects of the program cross.
        origins: where they may; None for everywhere, which is then noted.
    """

    def __init__(
        self, link: Link, classes: dict[str, type], *, remote: bool, origins: frozenset[str] | None = None
    ) -> None:
        super().__init__(classes, remote=remote, strict=True)
        self._link, self._origins = link, origins
        self.met: set[str] = set()
        """Where objects of the program have crossed."""
        self._origin = ""
        """Of what the program was asked for last."""
        self._requests_left = MAX_REQUESTS
        self._named: list[Remote] = []
        self._keys |= {id(value): f"builtins.{name}" for name, value in vars(builtins).items()}
        self._keys |= {id(kind): f"tests.{name}" for name, kind in classes.items()}

    def named(self, name: str) -> Remote:
        """A stand-in for what the program binds this name to."""
        remote = Remote(self.ask, name, name)
        self._named.append(remote)
        self._keys[id(remote)] = name
        return remote

    def meet(self, name: object) -> Remote | Unsupported:
        """A stand-in for an object that the program hands over for the first time."""
        if not self.remote or type(name) is not str:
            raise WireError("an object of the program that no test can use")
        if self._origins is None:
            self.met.add(self._origin)
        elif self._origin not in self._origins:
            return Unsupported(name[:MAX_NAME])
        return Remote(self.ask, name[:MAX_NAME], self._origin)

    def ask(self, action: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the program says to one of `_ACTIONS`, or raises."""
        link = self._link
        self._origin = _origin(action, args)
        self._requests_left -= 1
        if self._requests_left < 0:
            raise link.end(OUTPUT_LIMIT, f"the program's objects were asked more than {MAX_REQUESTS} times")
        try:
            request = self.encode((action, args, kwargs), REQUEST_BYTES)
        except (Unencodable, ValueTooLarge) as error:
            raise link.refusal(PROGRAM, error) from None
        answer = link.call(PROGRAM, (request,), {})
        try:
            if type(answer) is not bytes:
                raise WireError("no message")
            value = self.decode(answer)
        except WireError as error:
            raise link.end(TAMPERING, f"the program answered with no answer about objects: {error}") from None
        link.returned = (value,)
        return value


def _origin(action: str, args: tuple[Any, ...]) -> str:
    """Where the answer to a request comes from, in the tests' words alone: a name of the program, and the last
    attribute or call behind it. Objects of the program cross only where the reference's do."""
    asked: str = args[0]._Remote__origin if type(args[0]) is Remote else "tests"
    root = asked.partition("|")[0]
    if action == "call":
        return f"{root}|{asked.rpartition('|')[2]}()" if "|" in asked else f"{root}|()"
    return f"{root}|{action} {args[1] if action == 'get' else ''}"


def stand_ins(
    link: Link,
    names: Sequence[str],
    classes: Sequence[str],
    trusted: Mapping[str, Any],
    *,
    values: Sequence[str] = (),
    origins: frozenset[str] | None = None,
) -> tuple[StandIns, dict[str, Any]]:
    """What the tests get for the names of the program.

    Args:
        link: to the program.
        names: functions that the tests call.
        classes: of the program, which the tests name; if there are none, its objects are opaque.
        trusted: what the source with the tests' own classes has defined.
        values: names of the program that stand for values.
        origins: where objects of the program may cross; None for everywhere.

    Returns:
        The table of what crosses, and what each name stands for.
    """
    table = StandIns(link, own_classes(trusted), remote=bool(classes), origins=origins)
    found: dict[str, Any] = {name: table.named(name) for name in (*names, *classes)}
    return table, found | {name: table.ask("value", (table.named(name),), {}) for name in values}
