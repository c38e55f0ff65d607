"""The tests' side of objects that cross (`truegrade.sandbox.objects`): what stands for those of the program."""

from __future__ import annotations

import builtins
import re
import sys
from binascii import b2a_base64, crc32
from marshal import dumps

from truegrade.sandbox.frames import MARSHAL_DEPTH, MARSHAL_VERSION, REQUEST_BYTES, is_plain
from truegrade.sandbox.objects import INVOKE, PROGRAM, ObjectTable, own_classes
from truegrade.sandbox.wire import (
    MAX_NAME,
    OUTPUT_LIMIT,
    TAMPERING,
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


class StandIns(ObjectTable):
    """The tests' side.

    Args:
        link: to the program.
        classes: of the tests, by name.
        remote: whether objects of the program cross.
        origins: where they may; None for everywhere, which is then noted.
        lent: packages whose objects cross too.
    """

    def __init__(
        self,
        link: Link,
        classes: dict[str, type],
        *,
        remote: bool,
        origins: frozenset[str] | None = None,
        lent: Sequence[str] = (),
    ) -> None:
        super().__init__(classes, remote=remote, strict=True, lent=lent)
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

    def meet(self, name: object) -> Remote:
        """A stand-in for an object that the program hands over for the first time."""
        if type(name) is not str or not (self.remote or self._lent):
            raise WireError("an object of the program that no test can use")
        _, _, shown = name.rpartition(":")
        return Remote(self.ask, shown[:MAX_NAME], self._origin, self._claimed(name))

    def placed(self, value: Any, place: str) -> Any:
        """An object of the program only where one of the reference's was; elsewhere a value was due."""
        if type(value) is not Remote:
            return value
        if not self._origin.endswith("|()"):  # the items of a list that no function of the program made are alike
            place = re.sub(r"\*\d+", "*", place)
        origin = code_of(f"{self._origin}@{place}")
        if self._origins is None:
            self.met.add(origin)
        elif origin not in self._origins:
            return Unsupported(value._Remote__type_name)
        return value

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
        """What the program says to one of `_ACTIONS`, or raises."""
        link = self._link
        self._origin = _origin(action, args)
        self._requests_left -= 1
        if self._requests_left < 0:
            raise link.end(OUTPUT_LIMIT, f"the program's objects were asked more than {MAX_REQUESTS} times")
        try:
            request = self._request(action, args, kwargs)
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

    def _request(self, action: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
        if not self._owned and self.knows(args[0]) and is_plain((args[1:], kwargs), MARSHAL_DEPTH):
            return dumps((action, self.key(args[0]), args[1:], kwargs), MARSHAL_VERSION)
        return self.encode((action, args, kwargs), REQUEST_BYTES)

    def invoke(self, target: Any, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """``target.name(*args, **kwargs)``, of an object of the program in one request."""
        if type(target) is Remote:
            return self.ask(INVOKE, (target, name, *args), kwargs)
        return getattr(target, name)(*args, **kwargs)


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
    values: Sequence[str] = (),
    origins: frozenset[str] | None = None,
    lent: Sequence[str] = (),
) -> tuple[StandIns, dict[str, Any]]:
    """What the tests get for the names of the program.

    Args:
        link: to the program.
        names: functions that the tests call.
        classes: of the program, which the tests name; if there are none, its objects are opaque.
        trusted: what the source with the tests' own classes has defined.
        values: names of the program that stand for values.
        origins: where objects of the program may cross; None for everywhere.
        lent: packages whose objects cross as well.

    Returns:
        The table of what crosses, and what each name stands for.
    """
    table = StandIns(link, own_classes(trusted), remote=bool(classes), origins=origins, lent=lent)
    found: dict[str, Any] = {name: table.named(name) for name in (*names, *classes)}
    found |= {name: table.ask("value", (table.named(name),), {}) for name in values}
    return table, found | {INVOKED_BY: table.invoke}
