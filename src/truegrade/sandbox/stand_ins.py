"""The tests' side of objects that cross (`truegrade.sandbox.objects`): what stands for those of the program."""

from __future__ import annotations

import builtins
import re
import sys
from binascii import b2a_base64, crc32
from gc import get_referrers
from marshal import dumps
from sys import getrefcount

from truegrade.sandbox.actions import INVOKE
from truegrade.sandbox.carried import (
    ANOTHER_TEXT,
    ANOTHER_TYPE,
    ANOTHER_WAY,
    DICTS,
    READ_ONLY,
    TABLES,
    Unfit,
    has_changed,
    kind_of,
)
from truegrade.sandbox.frames import MARSHAL_DEPTH, MARSHAL_VERSION, REQUEST_BYTES, is_plain
from truegrade.sandbox.judging import rebuild
from truegrade.sandbox.objects import PROGRAM, ObjectTable, own_classes
from truegrade.sandbox.wire import (
    DESCRIBED,
    MAX_NAME,
    OUTPUT_LIMIT,
    TAMPERING,
    Drained,
    Unencodable,
    Unsupported,
    ValueTooLarge,
    WireError,
)

TYPE_CHECKING = False  # `typing` costs a spawned interpreter 8 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from truegrade.sandbox.judge import Link

    Ask = Callable[[str, tuple[Any, ...], dict[str, Any]], Any]

INVOKED_BY = "truegrade_invoke"
"""Name, in the namespace of tests, of what calls a method."""
SAME_BY, ASSERTED_BY = "truegrade_same", "truegrade_asserted"
"""What asks whether two values are one, and what calls an assertion that asks so."""
VALUE_BY = "truegrade_value"
"""What asks the program for what one of its names is bound to."""
_TYPES = frozenset({"type", "__class__"})
_TEXTS = frozenset({*_TYPES, "repr", "str", "format", "ascii", "hash", "print", "f"})
_OF_INDEXES = frozenset({"name", "names", "freq"})
_NO_WORDS = frozenset[str]()
_HELD_BY_TABLE = 2
"""References to a carried value that nobody else holds, that of the question included."""
MAX_REQUESTS = 100_000
"""Calls and reads of a program's objects: a linked list may never end."""


class Remote:
    """Stands for an object of the program, or for what one of its names is bound to."""

    __slots__ = ("__ask", "__kind", "__origin", "__type_name")

    def __init__(self, ask: Ask, type_name: str, origin: str, kind: type | None = None) -> None:
        object.__setattr__(self, "_Remote__kind", kind or Remote)
        object.__setattr__(self, "_Remote__ask", ask)
        object.__setattr__(self, "_Remote__type_name", type_name)
        object.__setattr__(self, "_Remote__origin", origin)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """The class that the program's object says it has, if that is one of a package; for `isinstance`."""
        kind: type = self.__kind
        return kind

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


def _operator(name: str) -> Callable[..., Any]:
    def operator(self: Remote, *others: object) -> Any:
        if others and others[0] is self and name == "__eq__":
            return True
        self._Remote__ask.__self__.doubts.add("objects of the program are compared or reckoned with")
        return object.__hash__(self) if name == "__hash__" else NotImplemented

    return operator


_BINARY = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "matmul", "lshift", "rshift"),
    *("and", "or", "xor"),
)
for _name in ("hash", "eq", "lt", "le", "gt", "ge", *_BINARY, *(f"r{one}" for one in _BINARY)):
    # What Python would make of them is no word of the program: they are different objects without an order.
    setattr(Remote, f"__{_name}__", _operator(f"__{_name}__"))


class StandIns(ObjectTable):
    """The tests' side.

    Args:
        link: to the program.
        classes: of the tests, by name.
        remote: whether objects of the program cross.
        origins: where they may; None for everywhere, which is then noted.
        lent: packages whose objects cross too.
        carries: whether values that can change are carried (`truegrade.sandbox.carried`).
    """

    def __init__(
        self,
        link: Link,
        classes: dict[str, type],
        *,
        remote: bool,
        origins: frozenset[str] | None = None,
        lent: Sequence[str] = (),
        carries: bool = False,
    ) -> None:
        super().__init__(classes, remote=remote, strict=True, lent=lent, carries=carries)
        self._link, self._origins = link, origins
        self.met_at: set[str] = set()
        """Where objects of the program have crossed."""
        self.tied = ""
        """Hash of all that the program did to what the tests gave it: carried values that it changed, or handed
        over when they had crossed before, and files that it changed. Empty where it did nothing; behind a letter:
        ``v`` where values are among it, ``f`` where it is files alone."""
        self.doubts: set[str] = set()
        """What of the program's process the tests may ask for that does not cross, in plain words."""
        self.words: frozenset[str] = frozenset()
        """That the tests' source holds."""
        self._lazy: list[Drained] = []
        """Iterators of the program that the tests may hold."""
        self._shares = self._copied = False
        self._origin = ""
        """Of what the program was asked for last."""
        self._requests_left = MAX_REQUESTS
        self._named: dict[str, Remote] = {}
        self._keys |= {id(value): f"builtins.{name}" for name, value in vars(builtins).items()}
        self._keys |= {id(kind): f"tests.{name}" for name, kind in classes.items()}

    def named(self, name: str) -> Remote:
        """A stand-in for what the program binds this name to."""
        remote = self._named.get(name)
        if remote is None:
            remote = self._named[name] = Remote(self.ask, name, name)
            self._keys[id(remote)] = name
        return remote

    def bound_to(self, name: str) -> Any:
        """What the program binds a name to now."""
        return self.ask("value", (self.named(name),), {})

    def meet(self, name: object) -> Remote:
        """A stand-in for an object that the program hands over for the first time."""
        if type(name) is not str or not (self.remote or self._lent):
            raise WireError("an object of the program that no test can use")
        _, _, shown = name.rpartition(":")
        return Remote(self.ask, shown[:MAX_NAME], self._origin, self._claimed(name))

    def placed(self, value: Any, place: str) -> Any:
        """An object of the program only where one of the reference's was; elsewhere a value was due."""
        if type(value) is not Remote:
            if self.carries and kind_of(value):
                self.tie(f"{place}:{self._keys[id(value)]}".encode())
            return value
        if not self._origin.endswith("|()"):  # the items of a list that no function of the program made are alike
            place = re.sub(r"\*\d+", "*", place)
        origin = code_of(f"{self._origin}@{place}")
        if self._origins is None:
            self.met_at.add(origin)
        elif origin not in self._origins:
            return Unsupported(value._Remote__type_name)
        return value

    def met(self, value: object, kind: str) -> None:
        """Take note of what a carried value does not show."""
        if kind.rstrip(READ_ONLY).endswith("?"):
            is_array = kind.startswith("ndarray")
            self.doubts.add(
                "an array has a layout that does not cross" if is_array else "a dict makes values of its own"
            )

    def seen(self, value: object) -> None:
        """Take note of what stands for a value that does not cross, or not as it is."""
        if type(value) is Unsupported:
            self.doubts.add("a value does not cross")
        elif type(value) is not Drained:
            self.doubts.add("a view of a dict that is not carried")
        elif not self.words.isdisjoint(_TYPES):
            self.doubts.add("it is asked what kind of iterator one is")
        else:
            self._lazy.append(value)

    def tie(self, done: bytes) -> None:
        """Take note of what the program did to carried values."""
        self._tie("v", done)

    def tie_files(self, done: bytes) -> None:
        """Take note of what the program did to files."""
        self._tie(self.tied[:1] or "f", done)

    def _tie(self, what: str, done: bytes) -> None:
        import hashlib  # for few programs

        self.tied = what + hashlib.sha256(self.tied.encode() + done).hexdigest()[:16]

    def drained(self) -> None:
        """Take note of an iterator of the tests, of which the program may use a part."""
        self.doubts.add("the tests hand over an iterator")

    def changed_by_the_other(self, value: object, content: object) -> int:
        """Change a value as the program did; what cannot be done so is a doubt."""
        if self.shares and kind_of(value) in TABLES:
            self.doubts.add("the program changed one of two arrays that share memory")
        if _is_looped_over(value, content):
            self.doubts.add("the program changed what a loop goes on over")
        try:
            return super().changed_by_the_other(value, content)
        except Unfit:
            self.doubts.add("a value changed in a way that does not cross")
            return int(self._keys[id(value)])

    def let_go(self) -> list[int]:
        """Forget carried values that nobody else holds and whose changes are all sent; their keys."""
        self.look_for_changes()
        gone: list[int] = []
        while found := [key for key, held in self._carried.items() if self._is_to_forget(key, held)]:
            self.forget(found)
            gone += found
        return gone

    def _is_to_forget(self, key: int, held: Any) -> bool:
        return getrefcount(self._objects[key]) == _HELD_BY_TABLE and not has_changed(self._objects[key], held)

    def look_for_changes(self, *, at_end_of_iterator: bool = False) -> None:
        """Find doubts in what the tests have changed since the last message."""
        any_kind = at_end_of_iterator or self._may_part()
        for key in self._carried if any_kind or self._shares else ():
            value = self._objects[key]
            if (any_kind or kind_of(value) in TABLES) and has_changed(value, self._carried[key]):
                self.doubts.add("the tests changed a value that something else of the program's may hang on")

    def _may_part(self) -> bool:
        """Whether the tests hold what may be another value in the program by now: an iterator that they have not
        read to its end, or what can change and is not carried."""
        self._link.returned = None  # which may be all that holds one
        made = {id(one) for one in Drained.made or ()}  # which holds them as well
        held = [
            getrefcount(self._lazy[at]) > _HELD_BY_TABLE + (id(self._lazy[at]) in made)
            for at in range(len(self._lazy))
        ]
        self._lazy = [one for one, is_held in zip(self._lazy, held, strict=True) if is_held and not one.is_at_end]
        return self._copied or self._lazy != []

    def _read_flags(self) -> None:
        """Take over what the program says of its last answer, and what was in it."""
        self._shares |= self.told.get("shares") is True
        self._copied |= self.told.get("copied") is True
        if self.told.get("stirred") is True:
            self.doubts.add("an iterator changed values as it was read, or was there twice")
        if self.cells or self.told.get("cells") is True:
            self.doubts.add("a frame or series holds values that can change")
        if self.remade or self.told.get("remade") is True:
            self.doubts.add("a dict makes other values than before")
        if (self.indexes or self.told.get("indexes") is True) and not self.words.isdisjoint(_OF_INDEXES):
            self.doubts.add("the name of an index may change")
        if self.reduced:
            self.doubts.add("the tests hand over a value of a class of their own")
        reduced, rebound = self.told.get("reduced"), self.told.get("rebound")
        asked = {ANOTHER_TYPE: _TYPES, ANOTHER_TEXT: _TEXTS}.get(reduced if type(reduced) is int else 0, _NO_WORDS)
        if reduced == ANOTHER_WAY or not self.words.isdisjoint(asked):
            self.doubts.add("a value crossed as one of a class above its own")
        for name in rebound if type(rebound) is list else ():
            if name in self.words:
                self.doubts.add(f"the program has another {name} than the tests")

    def same(self, one: object, other: object) -> bool:
        """``one is other``, and a doubt where neither has an identity that crosses."""
        known = type(one) is Remote or kind_of(one) or self.owns(one)
        if one is not other and type(one) is type(other) and not known:
            try:
                equal = bool(one == other)
            except Exception:  # an index is not equal or other as a whole
                equal = True
            if equal:
                self.doubts.add("it is asked whether two equal values are one")
        return one is other

    def asserted(self, assertion: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """An assertion about the identity of its first two arguments."""
        self.same(*[*args, *kwargs.values()][:2])
        return assertion(*args, **kwargs)

    def _claimed(self, name: str) -> type | None:
        """The class of this name, if it is one of a package whose objects cross and that the tests have loaded.

        That an object has it is the program's word. It could as well have made one.
        """
        module, _, path = name.partition(":")
        found: Any = sys.modules.get(module) if module.partition(".")[0] in self._lent else None
        for part in path.split("."):
            found = getattr(found, "__dict__", {}).get(part)
        # A module holds others, so a path through it may end anywhere.
        return found if isinstance(found, type) and str(found.__module__).partition(".")[0] in self._lent else None

    def ask(self, action: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the program says to one of `truegrade.sandbox.actions`, or raises."""
        with self._link.lock:
            return self._ask(action, args, kwargs)

    def _ask(self, action: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        link = self._link
        self._origin = _origin(action, args)
        self._requests_left -= 1
        if self._requests_left < 0:
            raise link.end(OUTPUT_LIMIT, f"the program's objects were asked more than {MAX_REQUESTS} times")
        try:
            request = self._request(action, args, kwargs)
        except (Unencodable, ValueTooLarge) as error:
            raise link.refusal(PROGRAM, error) from None
        if self._may_part():
            self.doubts.add("the tests hold a value over a later call that may hang on others of the program")
        answer = link.call(PROGRAM, (request,), {})
        try:
            if type(answer) is not bytes:
                raise WireError("no message")
            value = self.decode(answer)
            self._read_flags()
            if self.told.get("raised") is True:
                if type(value) is not tuple or len(value) != DESCRIBED:
                    raise WireError("an exception of no known form")
                link.returned, described = None, (*value, link.namespace, link.given)
                link.raised = rebuild(*described)
                raise link.raised
        except WireError as error:
            raise link.end(TAMPERING, f"the program answered with no answer about objects: {error}") from None
        except ValueTooLarge as error:
            raise link.end(OUTPUT_LIMIT, f"{PROGRAM} returned {error}") from None
        link.returned = (value,)
        return value

    def _request(self, action: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
        depth = 1 if self.carries else MARSHAL_DEPTH  # what is carried needs a key
        if not (self._owned or self._carried) and self.knows(args[0]) and is_plain((args[1:], kwargs), depth):
            return dumps((action, self.key(args[0]), args[1:], kwargs), MARSHAL_VERSION)
        return self.encode((action, args, tuple(kwargs.items())), REQUEST_BYTES)

    def invoke(self, target: Any, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """``target.name(*args, **kwargs)``, of an object of the program in one request."""
        if type(target) is Remote:
            return self.ask(INVOKE, (target, name, *args), kwargs)
        return getattr(target, name)(*args, **kwargs)


def _is_looped_over(value: object, content: object) -> bool:
    """Whether an iterator runs over a deque, or over a dict or set that gets other keys, which keeps its length.

    In one process the iterator may end then, or go on otherwise.
    """
    kind = kind_of(value)
    if kind != kind_of(content) or kind not in _LOOPED or len(value) != len(content):  # type: ignore[arg-type]
        return False
    if kind != "deque" and [*value] == [*content]:  # type: ignore[misc]
        return False
    return any("iterator" in type(one).__name__ for one in get_referrers(value))


_LOOPED = frozenset({"deque", "set", *DICTS})


def code_of(origin: str) -> str:
    """A short word for where an object crosses: a report has few characters.

    That two of a suite's places share one has a chance of one in 2^32 a pair; no program has a say in it.
    """
    checksum = crc32(origin.encode("utf-8", "surrogatepass"))
    return b2a_base64(checksum.to_bytes(4, "big"))[:6].decode()


def _origin(action: str, args: tuple[Any, ...]) -> str:
    """Where the answer to a request comes from, in the tests' words alone: a name of the program, and the last
    attribute or call behind it. Objects of the program cross only where the reference's do."""
    asked: str = args[0]._Remote__origin if type(args[0]) is Remote else "tests"
    root = asked.partition("|")[0]
    if action == INVOKE:
        return f"{root}|get {args[1]}()"
    if action == "call":
        return f"{root}|{asked.rpartition('|')[2]}()" if "|" in asked else f"{root}|()"
    return f"{root}|{action} {args[1] if action == 'get' else ''}"


def stand_ins(
    link: Link,
    names: Sequence[str],
    classes: Sequence[str],
    trusted: Mapping[str, Any],
    *,
    origins: frozenset[str] | None = None,
    lent: Sequence[str] = (),
    carries: bool = False,
) -> tuple[StandIns, dict[str, Any]]:
    """What the tests get for the names of the program.

    Args:
        link: to the program.
        names: functions that the tests call.
        classes: of the program, which the tests name; if there are none, its objects are opaque.
        trusted: what the source with the tests' own classes has defined.
        origins: where objects of the program may cross; None for everywhere.
        lent: packages whose objects cross as well.
        carries: whether values that can change are carried.

    Returns:
        The table of what crosses, and what each name stands for.
    """
    table = StandIns(link, own_classes(trusted), remote=bool(classes), origins=origins, lent=lent, carries=carries)
    found: dict[str, Any] = {name: table.named(name) for name in (*names, *classes)}
    return table, {
        **found,
        VALUE_BY: table.bound_to,
        INVOKED_BY: table.invoke,
        SAME_BY: table.same,
        ASSERTED_BY: table.asserted,
    }
