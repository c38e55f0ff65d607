"""Which calls tests will make: found by running the tests once on values that agree with everything.

Most tests call the program with arguments of their own, one assertion after the other. Calls that are known before
the first is answered are sent together, and the program answers them without anybody waiting for anybody. Nothing
depends on the forecast being right: the tests then run on the real answers, in order, and where they make another
call than the one foretold, the sample is judged anew, one call at a time (`DEVIATED`).

The program learns later arguments before it has answered earlier calls; no expected value is among them. What it
does in a call that the tests no longer come to, they do not see.
"""

from __future__ import annotations

from _signal import ITIMER_VIRTUAL, SIGVTALRM, setitimer  # type: ignore[import-not-found]
from _signal import signal as set_handler
from marshal import dumps

from truegrade.sandbox.frames import MARSHAL_DEPTH, MARSHAL_VERSION, is_plain

TYPE_CHECKING = False  # `typing` costs a spawned interpreter 8 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import CodeType
    from typing import Any, NoReturn

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
        tests: they must leave the interpreter as they find it (`truegrade.sandbox.stateless`), for they run.
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
