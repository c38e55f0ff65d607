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

Values that can change are carried, too, where a job says so (`truegrade.sandbox.carried`).

A message, in the format of `truegrade.sandbox.wire` with the tag ``o`` for an object or a carried value, which its
key follows, ``W`` for a carried value that crosses for the first time: its key, its kind, and what is in it, and
``v`` for a view that does: ``keys``, ``values`` or ``items``, the carried dict, and the view's key:

    a list of keys of carried values that the tests have let go of
    a list of objects that cross for the first time: key, whether of the tests' classes, and the name of the type
    each object of the tests' classes and its attributes as a dict; after the last, None
    each carried value that changed since the last message, and what is in it; after the last, None
    where values are carried, a dict of what there is to say of the value: whether it is raised
    the value

Of an object of the program, with plain values, the tests may ask by a tuple, marshalled, as long as no object of
theirs has crossed: action, the object's key, other arguments.

The tests' side believes nothing: keys are of known objects, classes are the tests', attributes are data. A program
can say no more of an object than it could have done to it.

Not covered: own classes with slots or below built-in types; where values are not carried, changes to lists and
dicts that objects share, or that the tests read off an object of the program, and changes made in a call that
raised.
"""

from __future__ import annotations

import builtins
from gc import get_referents
from marshal import loads
from types import MethodType

from truegrade.sandbox.actions import ACTIONS, INVOKE
from truegrade.sandbox.carried import (
    DICTS,
    TABLES,
    VIEWS,
    Unfit,
    blank,
    change,
    has_changed,
    holds_changeable,
    is_copied,
    is_shared,
    kind_of,
    laid_out,
    makes_others,
    reduction,
    said_of,
    snapshot,
)
from truegrade.sandbox.decode import _Decoder
from truegrade.sandbox.encode import _EXACT, _PIECE_TYPES, _Encoder
from truegrade.sandbox.frames import MARSHALLED
from truegrade.sandbox.wire import MAX_NAME, NESTED, Unsupported, ValueTooLarge, WireError, encoded

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
OBJECT, NEW, VIEW, OPAQUE = b"o", b"W", b"v", b"U"
"""The first three are no tags of `truegrade.sandbox.wire`."""
LAZY = frozenset((b"G", b"K", b"V", b"I"))
"""Of iterators and of the views of a dict."""
NOTHING: Mapping[str, Any] = {}


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
        carries: whether values that can change are carried.
    """

    def __init__(
        self,
        classes: Mapping[str, type],
        *,
        remote: bool,
        strict: bool,
        lent: Sequence[str] = (),
        carries: bool = False,
    ) -> None:
        self.classes, self.remote, self.strict, self._lent = classes, remote, strict, frozenset(lent)
        self.carries = carries
        self._objects: dict[int, Any] = {}
        self._owned: list[Any] = []
        """Those of the tests' classes."""
        self._carried: dict[int, Any] = {}
        """What was in each carried value at the last message, by key."""
        self._next = 0
        """Above all keys that were ever given."""
        self._keys: dict[int, int | str] = {}
        """By id; what stands in it is kept alive by `_objects` or for good."""
        self._gone: list[int] = []
        """Of carried values that are known no more, which is still to be said."""
        self._changed: list[int] = []
        self._first = 0
        """Where the keys begin that the message that is read gives."""
        self.told: dict[str, object] = {}
        """What the last message that was read says of its value."""
        self.reduced = 0
        """Whether a value crossed as one of a class above its own (`truegrade.sandbox.carried.reduction`)."""
        self.shares = False
        """Whether arrays or frames were sent that may share memory, so that one may change with another."""
        self.copied = False
        """Whether a value was sent that can change and is not carried (`truegrade.sandbox.carried.is_copied`)."""
        self.cells = self.remade = self.indexes = False
        """Whether a frame with cells that can change, a dict that makes others than before, an index was sent."""
        self.stirred = False
        """Whether an iterator that was sent changed carried values as it was read, or was there twice."""
        self.drawn: dict[int, tuple[Any, tuple[bool, list[Any], Any]]] = {}
        """By id, iterators that the message holds, and what was in them."""
        self.unsent: set[int] = set()
        """Carried values that are still to cross."""

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

    def has(self, key: int) -> bool:
        """Whether a value has this key."""
        return key in self._objects

    def key(self, value: object) -> int | str:
        """What it is known by, from now on if it was not.

        Raises:
            ValueTooLarge: too many have crossed.
        """
        key = self._keys.get(id(value))
        if key is None:
            key = self.learn(self._next, value)
            if self.owns(value):
                self._owned.append(value)
        return key

    def learn(self, key: int, value: object) -> int:
        """Know a value by a key that none had before."""
        if len(self._objects) == MAX_OBJECTS:
            raise ValueTooLarge(f"more than {MAX_OBJECTS} objects")
        self._objects[key] = value
        self._keys[id(value)] = key
        self._next = max(self._next, key + 1)
        return key

    def forget(self, keys: Sequence[int]) -> None:
        """Know these values no more."""
        for key in keys:
            del self._keys[id(self._objects.pop(key))]
            self._carried.pop(key, None)

    def encode(self, value: object, max_bytes: int, made: object = None, *, raised: bool = False) -> bytes:
        """A message.

        Args:
            value: what it says.
            max_bytes: bound on the result.
            made: object of the program that crosses as such, though it may be a tuple, say, to others.
            raised: whether the value describes an exception.

        Raises:
            ValueTooLarge: over a bound, or the value contains itself.
            Unencodable: only if strict.
        """
        self._gone += self.let_go()
        first, owned, self.drawn = self._next, len(self._owned), {}
        try:
            parts = self._written(value, max_bytes, made, raised)
            # What is in their attributes comes first, and is known only now; so is what an iterator changed.
            if self.carries and (self._owned or self.drawn):
                self.unsent = {key for key in self._objects if key >= first and kind_of(self._objects[key])}
                parts = self._written(value, max_bytes, made, raised)
            head = _Writer(self, max_bytes)
            head.whole = True
            head.value(self._gone, 0)
            new = [self._objects[key] for key in range(first, self._next)]
            said = [(self.key(x), self.owns(x), self._type_name(x)) for x in new if not self._is_carried(x)]
            head.value(said, 0)
        except BaseException as error:  # nothing is sent: the other side's table does not grow
            self.forget([key for key in self._objects if key >= first])
            self.unsent = set()
            del self._owned[owned:]
            raise ValueTooLarge(NESTED) if isinstance(error, RecursionError) else error  # noqa: B904
        self._gone = []
        for key in [*self._changed, *range(first, self._next)]:
            self._note(key)
        return b"".join(head.parts + parts)

    def _written(self, value: object, max_bytes: int, made: object, raised: bool) -> list[bytes]:
        """The parts of a message that hold attributes, changes and the value."""
        writer = _Writer(self, max_bytes, made)
        if not self.carries:
            writer.value(value, 0)
            said, writer.parts = writer.parts, []
        for item in self._owned:  # their attributes may add to them
            writer.value(item, 0)
            writer.attributes(vars(item))
        writer.value(None, 0)
        self._changed = [key for key, held in self._carried.items() if has_changed(self._objects[key], held)]
        for key in self._changed:
            self.remade |= makes_others(self._objects[key], self._carried[key])
            writer.value(self._objects[key], 0)
            writer.content(self._objects[key], 0)
        writer.value(None, 0)
        if not self.carries:
            return writer.parts + said
        at = len(writer.parts)
        writer.value(value, 0)
        value_parts, writer.parts = writer.parts[at:], writer.parts[:at]
        writer.whole = True
        writer.value(
            {
                "raised": raised,
                "reduced": self.reduced,
                "shares": self.shares,
                "copied": self.copied,
                "stirred": self.stirred,
                "cells": self.cells,
                "remade": self.remade,
                "indexes": self.indexes,
                "rebound": self.rebound(),
            },
            0,
        )
        return writer.parts + value_parts

    def _is_carried(self, value: object) -> bool:
        return self.carries and kind_of(value) != ""

    def _note(self, key: int) -> None:
        """Note what is in a carried value now."""
        if self._is_carried(self._objects[key]):
            self._carried[key] = snapshot(self._objects[key])

    def contents(self) -> dict[int, Any]:
        """What is in carried values now, by key."""
        return {key: snapshot(self._objects[key]) for key in self._carried}

    def are_other(self, before: dict[int, Any]) -> bool:
        """Whether something else is in carried values than was."""
        return any(has_changed(self._objects[key], held) for key, held in before.items())

    def rebound(self) -> list[str]:
        """Names of the prompt that the program binds to something else."""
        return []

    def tables(self, apart_from: object = None) -> list[Any]:
        """Arrays and frames that are carried."""
        return [one for one in self._objects.values() if kind_of(one) in TABLES and one is not apart_from]

    def met(self, value: object, kind: str) -> None:
        """Take note of a carried value that crossed for the first time, and what was said of its kind."""

    def seen(self, value: object) -> None:
        """Take note of what stands for a value that does not cross as it is."""

    def tie(self, done: bytes) -> None:
        """Take note of what the other side did to carried values, as its message says it."""

    def drained(self) -> None:
        """Take note of an iterator that was sent."""

    def let_go(self) -> list[int]:
        """Forget carried values that nobody else holds; their keys."""
        return []

    def decode(self, data: bytes) -> Any:
        """What a message says; the objects in it get their attributes, and carried values change.

        Raises:
            WireError: it is none that the other side may send.
        """
        reader = _Reader(self, data)
        self._first, changed = self._next, list[int]()
        try:
            self.forget(reader.exact(list, 0))
            for key, own, name in reader.exact(list, 0):
                self.expect(key)
                self.learn(key, self.blank(name) if own is True else self.meet(name))
                if own is True:
                    self._owned.append(self._objects[key])
            while (item := reader.value(0)) is not None:
                attributes = reader.exact(dict, 0)
                if not self.owns(item) or any(type(name) is not str for name in attributes):
                    raise WireError("attributes of no object of the tests")
                held = vars(item)
                held.clear()
                held.update(attributes)
            reader.part, began_at = "changed", reader.at
            while (item := reader.value(0)) is not None:
                changed.append(self.changed_by_the_other(item, reader.value(0)))
            if changed:
                self.tie(data[began_at : reader.at])
            self.told = reader.exact(dict, 0) if self.carries else {}
            reader.part = "value"
            value = reader.value(0)
        except WireError:
            raise
        except RecursionError:
            raise ValueTooLarge(NESTED) from None
        except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError) as error:
            raise WireError(f"malformed message: {error}") from error
        if reader.at != len(data):
            raise WireError("bytes are left over after the value")
        for key in [*changed, *(key for key in self._objects if key >= self._first)]:
            self._note(key)
        return value

    def expect(self, key: object) -> None:
        """Take this for a key that none had before.

        Raises:
            WireError: it is none.
        """
        if type(key) is not int or not self._first <= key < self._first + MAX_OBJECTS or key in self._objects:
            raise WireError("a key that is not due")

    def _type_name(self, value: object) -> str:
        kind = type(value)
        return (f"{kind.__module__}:{kind.__qualname__}" if self.lends(value) else kind.__name__)[:MAX_NAME]

    def placed(self, value: Any, place: str) -> Any:
        """What stands for an object where it is found in a message."""
        return value

    def blank(self, name: object) -> Any:
        """An object of one of the tests' classes, as yet without attributes."""
        return object.__new__(self.classes[name])  # type: ignore[index]

    def changed_by_the_other(self, value: object, content: object) -> int:
        """Make what the other side did to a carried value; its key.

        Raises:
            WireError: it is no such value.
        """
        key = self._keys.get(id(value))
        known = type(key) is int and key in self._carried
        if known and type(content) is Unsupported:  # what is in it does not cross any more
            raise Unfit
        if type(key) is not int or not known or kind_of(content) != kind_of(value):
            raise WireError("a change of no carried value")
        change(value, content)
        return key

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


_MOST_COMPARED = 5_000_000
"""Items of carried values that are looked at while an iterator is read."""


class _Writer(_Encoder):
    def __init__(self, table: ObjectTable, max_bytes: int, made: object = None) -> None:
        super().__init__(max_bytes, table.strict)
        self._table, self._made = table, made
        self._drained: set[int] = set()
        self._before: dict[int, Any] = {}
        """What was in carried values before the iterator that is read."""
        self._compared = 0
        self.whole = not table.carries
        """Whether values that can change are written as all others."""

    def value(self, value: Any, depth: int) -> None:
        is_view = type(value) in VIEWS
        if self.whole or not kind_of(value) or (is_view and kind_of(get_referents(value)[0]) not in DICTS):
            super().value(value, depth)
            return
        if self._table.knows(value) and self._table.key(value) not in self._table.unsent:
            self._refer(value)
            return
        if is_view:
            self._view(value, depth)
            return
        key = self._table.key(value)
        self._table.unsent.discard(key)
        self.put(NEW)
        self.value(key, 0)
        self.value(said_of(value), 0)
        if kind_of(value) in TABLES:
            self._table.shares |= is_shared(value, self._table.tables(value))
        self.content(value, depth)

    def _view(self, value: Any, depth: int) -> None:
        """A view of a carried dict that crosses for the first time."""
        self.put(VIEW)
        super().value(VIEWS[type(value)], depth)
        self.value(get_referents(value)[0], depth + 1)  # in which the view may be
        key = self._table.key(value)
        self._table.unsent.discard(key)
        super().value(key, depth)

    def content(self, value: Any, depth: int) -> None:
        """What is in a carried value."""
        whole, self.whole = self.whole, self.whole or kind_of(value) in TABLES
        (_Encoder.value if type(value) in _EXACT else _Encoder.inexact)(self, value, depth)
        self.whole = whole

    def attributes(self, held: dict[str, Any]) -> None:
        """Those of an object, which are a copy."""
        super().value(dict(held), 0)

    def several(self, tag: bytes, values: tuple[Any, ...], depth: int) -> None:
        self.put(tag)
        for value in values:  # parts, which nobody holds
            super().value(value, depth + 1)

    def drain(self, value: Any) -> tuple[bool, list[Any], Any]:
        table = self._table
        table.stirred |= id(value) in self._drained
        self._drained.add(id(value))
        if (drawn := table.drawn.get(id(value))) is None:
            table.drained()
            self._before = table.contents()
            drawn = table.drawn[id(value)] = value, super().drain(value)
            table.stirred |= table.are_other(self._before)
            self._before = {}
        return drawn[1]

    def taken(self) -> None:
        if self._before and not self._table.stirred:
            self._compared += sum(map(len, self._before.values()))
            self._table.stirred |= self._compared > _MOST_COMPARED or self._table.are_other(self._before)

    def table(self, value: Any, depth: int) -> None:
        self._table.cells |= holds_changeable(value)
        self._table.indexes |= not self.whole and "Index" in type(value).__qualname__
        whole, self.whole = self.whole, True
        super().table(value, depth)
        self.whole = whole

    def together(self, some: list[Any], depth: int) -> bool:
        return (self.whole or _PIECE_TYPES.issuperset(map(type, some))) and super().together(some, depth)

    def inexact(self, value: Any, depth: int) -> None:
        if self._table.owns(value) or value is self._made or self._table.knows(value):
            self._refer(value)
        else:
            self._table.reduced = max(self._table.reduced, reduction(value))
            self._table.copied |= is_copied(value)
            super().inexact(value, depth)

    def opaque(self, value: Any) -> None:
        if not self.strict and (self._table.remote or self._table.lends(value)):
            self._refer(value)
        else:
            super().opaque(value)

    def _refer(self, value: Any) -> None:
        self.put(OBJECT)
        _Encoder.value(self, self._table.key(value), 0)


class _Reader(_Decoder):
    def __init__(self, table: ObjectTable, data: bytes) -> None:
        super().__init__(data, 0)
        self._table, self.part = table, ""
        self._open: list[list[Any]] = [[b"", 0]]
        """Of each value that is being read its tag, and how many values of it were begun."""

    def value(self, depth: int) -> Any:
        tag = self.data[self.at : self.at + 1]
        if tag == NEW:
            return self._new(depth)
        self._open[-1][1] += 1
        if tag == OBJECT:
            self.take(1)
            known = self._table.known(super().value(depth))
            places = [f"{'*' if of == b'l' else ''}{count}" for of, count in self._open[1:]]
            return self._table.placed(known, ".".join((self.part, *places)))
        self._open.append([tag, 0])
        value = self._view(depth) if tag == VIEW else super().value(depth)
        self._open.pop()
        if tag == OPAQUE or tag in LAZY:
            self._table.seen(value)
        return value

    def _view(self, depth: int) -> Any:
        """A view of a carried dict, which changes with it."""
        self.take(1)
        name, shown = super().value(depth), self.value(depth + 1)
        key = super().value(depth)
        if name not in VIEWS.values() or kind_of(shown) not in DICTS:
            raise WireError("a view of nothing that has any")
        if type(key) is not int or not self._table.has(key):
            self._table.expect(key)
            self._table.learn(key, getattr(shown, name)())
        found = self._table.known(key)
        if VIEWS.get(type(found)) != name or get_referents(found)[0] is not shown:
            raise WireError("a view of another dict")
        return found

    def _new(self, depth: int) -> Any:
        """A carried value that crosses for the first time."""
        self.take(1)
        key, said = super().value(depth), super().value(depth)
        self._table.expect(key)
        if type(said) is not str or not self._table.carries:
            raise WireError("a carried value of no known kind")
        kind, held = said.partition(":")[0], blank(said)
        if kind not in TABLES:
            self._table.learn(key, held)  # what is in it may refer to it
        content = self.value(depth)
        if kind_of(content) != kind and type(content) is not Unsupported:
            raise WireError("a carried value of another kind than was said")
        if kind in TABLES:
            held = laid_out(content, said.partition(":")[2]) if kind == kind_of(content) == "ndarray" else content
            self._table.learn(key, held)
        else:
            change(held, content)
        self._table.met(held, said)
        return held


class Held(ObjectTable):
    """The program's side.

    Args:
        classes: of the tests, by name.
        program: its names.
        max_bytes: bound on an answer.
        remote: whether objects of the program cross.
        lent: packages whose objects do.
        describe: where values that can change are carried, an exception as plain data.
        given: what the source of the tests' own classes defines besides; the tests have a copy of it.
    """

    def __init__(
        self,
        classes: dict[str, type],
        program: dict[str, Any],
        max_bytes: int,
        *,
        remote: bool,
        lent: Sequence[str] = (),
        describe: Callable[[BaseException], tuple[Any, ...]] | None = None,
        given: Mapping[str, Any] = NOTHING,
    ) -> None:
        super().__init__(classes, remote=remote, strict=False, lent=lent, carries=describe is not None)
        self._max_bytes, self._describe, self._given = max_bytes, describe, given
        self._scopes = {"": program, "tests": classes, "builtins": vars(builtins)}

    def known(self, key: object) -> Any:
        """An object that has crossed, or what the tests call by name."""
        if type(key) is not str:
            return super().known(key)
        scope, _, entry = key.rpartition(".")
        if entry not in self._scopes[scope]:
            raise NameError(f"name {entry!r} is not defined")
        return self._scopes[scope][entry]

    def rebound(self) -> list[str]:
        """Names of the prompt that the program binds to something else; functions and classes it writes anew."""
        bound, found = self._scopes[""], []
        for name, due in self._given.items():
            now = bound.get(name, due)
            written = getattr(due, "__module__", None) == TESTS_MODULE or name.startswith("__")
            if now is due or written:
                continue
            try:
                same = type(now) is type(due) and bool(now == due)
            except Exception:
                same = False
            if not same:
                found.append(name)
        return found

    def perform(self, request: bytes) -> bytes:
        """Do what the tests ask; the answer."""
        if request.startswith(MARSHALLED):
            action, key, args, kwargs = loads(request)
            args = (self.known(key), *args)
        else:
            action, args, named = self.decode(request)
            kwargs = dict(named)
        try:
            if action == INVOKE:
                action, args = "call", (getattr(args[0], args[1]), *args[2:])
            value = ACTIONS[action](*args, **kwargs)
        except MemoryError:
            raise
        except BaseException as error:
            if self._describe is None:
                raise
            described = self._describe(error)
            # What was changed is sent along, and where that fails, the call has not raised it.
            return encoded(lambda _: self.encode(described, self._max_bytes, raised=True), None)
        crosses = self.remote or self._lent
        made = value if crosses and action == "call" and isinstance(args[0], type) else None
        return encoded(lambda one: self.encode(one, self._max_bytes, made), value)
