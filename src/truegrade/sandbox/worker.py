"""What one worker keeps warm: a zygote of each role and kind that its runs have needed so far, and judges."""

from __future__ import annotations

import logging

from truegrade.errors import SandboxError
from truegrade.sandbox.judges import Judge
from truegrade.sandbox.limits import Limits
from truegrade.sandbox.process import Process
from truegrade.sandbox.protection import Protection
from truegrade.sandbox.zygotes import Zygote, ZygoteLost

_log = logging.getLogger(__name__)


class Worker:
    """Serves one run at a time.

    Args:
        protection: of everything it starts.
        limits: of every program.
        hash_seed: of the interpreters.
        core: on which everything runs; None for any. A program that may start processes may use them all.
    """

    def __init__(
        self, protection: Protection, limits: Limits, hash_seed: int = 0, core: int | None = None
    ) -> None:
        self.protection, self._limits, self._hash_seed = protection, limits, hash_seed
        self._core = None if limits.processes else core
        self._zygotes: dict[tuple[str, str], Zygote] = {}
        self._judges: dict[str, Judge] = {}

    def spawn(self, role: str, kind: str) -> Process:
        """A process of this role and kind, of a zygote that is started if there is none or the last was given up.

        Raises:
            SandboxError: it cannot be started.
        """
        for _ in range(2):  # a zygote may have died since its last process, of whatever
            zygote = self.zygote(role, kind)
            try:
                return Process(zygote)
            except ZygoteLost:
                _log.info("the process that %s programs are started from has died; another takes its place", kind)
                zygote.close()
        raise SandboxError(
            "the processes that run programs die as soon as they are started; free memory and run again"
        )

    def zygote(self, role: str, kind: str) -> Zygote:
        """The zygote of this role and kind; errors are those of `spawn`."""
        zygote = self._zygotes.get((role, kind))
        if zygote is None or not zygote.open:
            zygote = Zygote(role, kind, self.protection, self._limits, self._hash_seed, self._core)
            self._zygotes[role, kind] = zygote
        return zygote

    def take_judge(self, kind: str) -> Judge:
        """A judge of this kind for one run, which owns it; errors are those of `spawn`."""
        judge = self._judges.pop(kind, None)
        # Looked at before a run: since its last it may have died, or have said what nobody asked.
        if judge is not None and not judge.fit():
            judge.stop()
            judge = None
        return judge or Judge(self.spawn("judge", kind))

    def keep_judge(self, kind: str, judge: Judge) -> None:
        """Have a judge, whose run is over, back for the next."""
        self._judges[kind] = judge

    def close(self) -> None:
        """End every judge and zygote."""
        for judge in self._judges.values():
            judge.stop()
        for zygote in self._zygotes.values():
            zygote.close()
