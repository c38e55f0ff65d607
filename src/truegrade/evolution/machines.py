"""The interface through which an evolution uses other machines, by name of the executor.

Evolution does not know whose machines they are, and who has them does not know evolution: it takes a function
there, and orders for it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from pkgutil import resolve_name
from types import MappingProxyType
from typing import Any, Protocol

from truegrade.errors import UnknownName, UserError

LOCAL = "local"
MACHINES: Mapping[str, str] = MappingProxyType({"ray": "truegrade.integrations.ray:open_machines"})
"""Name to ``module:function`` (`OpenMachines`), imported when asked for: each needs a package of its own."""


class StoredValue(Protocol):
    """A value that was put where every machine can fetch it; it may be part of an order."""

    def fetch(self) -> Any:
        """The value."""


class MachineTask(Protocol):
    """Something to do."""

    @property
    def name(self) -> str:
        """What it is called in messages."""

    def order(self) -> Any:
        """What is sent; made when there is someone to take it, and again if it was lost."""


class Machines(Protocol):
    """Workers on other machines, each with a core or an accelerator of its own."""

    def employ(self, open_worker: Callable[[], Callable[[Any], Any]]) -> None:
        """Say what works there, before anything is to be done.

        Args:
            open_worker: can be pickled; every worker calls it once, and what it returns with each order.
        """

    def put(self, value: Any) -> StoredValue:
        """Store a value; it stays as long as what is returned, or an order with it that is under way."""

    def work(self, tasks: Sequence[MachineTask]) -> Generator[tuple[int, Any], None, None]:
        """Each task's place and answer, once, as they come; what was lost with its machine is done again.

        Closing the generator ends what is under way.

        Raises:
            UserError: the machines cannot be reached.
            SandboxError: none is left, or a task is lost again and again.
        """

    def close(self) -> None:
        """Give back what it holds; safe to call twice."""


class OpenMachines(Protocol):
    """How the table opens them."""

    def __call__(self, address: str, workers: int | None, accelerated: bool, /) -> Machines:
        """Check the address and what has to be installed; reach nothing.

        Args:
            address: what follows the name and a colon; empty if nothing does.
            workers: None for one a core or accelerator.
            accelerated: whether a worker can use an accelerator.

        Raises:
            UserError: one of them is at fault.
        """


def open_machines(executor: str, *, workers: int | None, accelerated: bool) -> Machines | None:
    """Other machines by name, or None for this one.

    Args:
        executor: ``local``, ``ray``, or with an address: ``ray:auto``, ``ray:HOST:PORT``, ``ray://HOST:PORT``.
        workers: see `OpenMachines`.
        accelerated: see `OpenMachines`.

    Raises:
        UnknownName: there are none of that name.
        UserError: see `OpenMachines`.
    """
    name, colon, address = executor.partition(":")
    if name == LOCAL:
        if colon:
            raise UserError(f"`executor` {executor}: this machine has no address; write `executor` local")
        return None
    if name not in MACHINES:
        raise UnknownName("executor", executor, (LOCAL, *MACHINES))
    opener: OpenMachines = resolve_name(MACHINES[name])
    return opener(address, workers, accelerated)
