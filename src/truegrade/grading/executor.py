"""The one door between grading and the machine that runs untrusted programs.

Grading asks; an executor answers with a `truegrade.sandbox.outcome.Outcome`. `truegrade.sandbox` implements it,
tests may implement it in five lines, and grading knows neither: the pipeline hands it an executor already bound to
a profile's limits.

Four ways to run a program, from safest to most faithful to the harnesses:

``call``    inputs go in, outputs come out, the caller compares: the program never sees an expected value.
``judge``   test source runs in a trusted judge process; calls of the entry point are forwarded to the program.
``inside``  tests and program share one process, as the published harnesses do it. A hostile program can
            reach the tests, so a verdict made this way carries the mark ``tests-inside``.
``script``  the same as a script of its own, judged by its exit code alone: a program that leaves early with 0
            passes. Only for harnesses that do so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from truegrade.sandbox.outcome import CallResult, Outcome

_FROM_OS = ("multiprocessing.util:_close_stdin", "tempfile:gettempdir")
"""Published harnesses run a program in a process of multiprocessing, which closes its stdin, and have looked for
the folder of temporary files. Under their guard neither module is of use unless it was loaded before."""
_MENTIONS_THEM = re.compile("multiprocessing|tempfile|concurrent|__stdin__")


class Executor(Protocol):
    """Runs untrusted Python under fixed limits. Implementations are safe to call from several threads."""

    @property
    def level(self) -> int:
        """Protection level: 3 namespaces, Landlock and seccomp; 2 without namespaces; 1 rlimits only."""

    @property
    def conditions(self) -> str:
        """Everything besides a program that decides what it returns: equal texts, equal conditions."""

    def call(
        self,
        program: str,
        function: str,
        calls: Sequence[Sequence[Any]],
        on_result: Callable[[int, CallResult], bool],
        *,
        cpu_s: float | None = None,
        wall_s: float | None = None,
        forks: bool = False,
    ) -> Outcome:
        """Run ``program``, then ``function(*args)`` for each of ``calls``; see `truegrade.sandbox.Sandbox`."""

    def judge(
        self,
        program: str,
        tests: str,
        entry_points: Sequence[str],
        *,
        trusted: str = "",
        code: bytes = b"",
        classes: Sequence[str] | None = None,
        files: bool = False,
        origins: Sequence[str] | None = None,
        lent: Sequence[str] = (),
        carries: bool = False,
        preload: Sequence[str] = (),
        cpu_s: float | None = None,
    ) -> Outcome:
        """Run ``program`` in one process and ``tests`` in another; see `truegrade.sandbox.Sandbox`."""

    def inside(
        self,
        source: str,
        *,
        disabled: Sequence[str] = (),
        preload: Sequence[str] = (),
        swallow: bool = False,
        given: bytes | None = None,
        cpu_s: float | None = None,
    ) -> Outcome:
        """Run ``source`` as one program, the tests in it; see `truegrade.sandbox.Sandbox`."""

    def decide(self, function: Callable[..., Any], got: CallResult | str, *trusted: object) -> Any:
        """What a function says of something that a program returned or wrote, within limits of memory and time.

        Args:
            function: a module's, whose answer is small; it gets ``got``, then ``trusted``, of results the values.
            got: result of a call, or a text.
            trusted: whatever else it takes.

        Raises:
            ValueError: it took too much; raised in ``on_result`` of `call`, that ends the run as ``output_limit``.
            Exception: what the function raises.
        """

    def script(
        self, source: str, stdin: str = "", *, cpu_s: float | None = None, wall_s: float | None = None
    ) -> Outcome:
        """Run ``source`` as ``__main__``; passing means that its process ends with exit code 0.

        Args:
            source: program and tests.
            stdin: what it reads.
            cpu_s: CPU limit for this run, instead of the executor's own.
            wall_s: wall limit for this run, instead of the executor's own.
        """


def loaded_before(source: str) -> tuple[str, ...]:
    """What a published harness had loaded before its guard took functions out of ``os``, where a source needs it.

    Under the guard these modules, numpy among them, cannot be imported or do not work.

    Args:
        source: what will run.

    Returns:
        Values for ``preload`` of `Executor.inside`.
    """
    numpy = ("numpy",) if "numpy" in source else ()
    return numpy if _MENTIONS_THEM.search(source) is None else (*_FROM_OS, *numpy)
