"""Graders of others, by name; functions and commands of them in the jail.

One conversation with a jailed grader keeps one process, probe after probe, so that what a probe leaves behind is
met by the next. Where a probe ends that process, another is started for the rest.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Protocol

import msgspec

from truegrade.assay.records import DANGERS, Danger, Dispatch, Said
from truegrade.assay.targets import Target, host
from truegrade.assay.targets.asking import AskedTarget, CallableTarget, HttpTarget, ProbeAsker, is_this_machine
from truegrade.assay.targets.calls import CALLS, DIED, HUNG, RAISED, Call, ProbeQuestion, Reading, no_verdict
from truegrade.assay.targets.programs import (
    CommandProgram,
    FunctionProgram,
    Located,
    all_packages,
    locate,
    tools,
    words_of_command,
)
from truegrade.errors import UserError
from truegrade.files.addresses import without_keys
from truegrade.grading.tests_forms import tests_form
from truegrade.sandbox import CallResult, GraderNeeds, Limits, Outcome, Sandbox
from truegrade.sandbox.levels import detect
from truegrade.sandbox.limits import MIB
from truegrade.sandbox.protection import LIMITS_ONLY

LOADING_S = 120.0
"""Wall seconds that a grader may take to be imported."""
PROCESSES, OPEN_FILES = 64, 1024
OUTPUT_BYTES = 256 * MIB
END_S = 1.0
"""How long a conversation whose answers are all there may take to end."""
CPU_S = 1e6
"""No limit: wall seconds decide for each probe."""


class Program(Protocol):
    """A grader that the host (`truegrade.assay.targets.host`) starts."""

    settings: dict[str, Any]
    """For `host.open_grader`."""
    step: str
    """``grade`` or ``run``."""

    def payload(self, asked: ProbeQuestion) -> dict[str, Any]:
        """What that step gets for a probe."""

    def reading(self, value: Any) -> Reading:
        """What its answer means."""

    def unusable(self, why: str) -> UserError:
        """The error that says that it cannot be used, and what to do."""


class HostedTarget(AskedTarget):
    """A grader whose process is ours to start and to end: one for each call of `grade`.

    Args:
        asker: words for probes.
        program: the grader.
        shown: paths that it may read.
        packages: installed packages that it may import.
        workers: conversations at the same time.
        jailed: whether it runs in the jail; else only limits of resources bind it.
        allow_unsafe: whether it may run where the machine offers no jail.
    """

    restarts: ClassVar[bool] = True

    def __init__(
        self,
        asker: ProbeAsker,
        program: Program,
        *,
        shown: Sequence[str],
        packages: Sequence[str],
        workers: int | None,
        jailed: bool,
        allow_unsafe: bool,
    ) -> None:
        super().__init__(asker)
        self._program = program
        limits = Limits(
            cpu_s=CPU_S,
            wall_s=max(LOADING_S, 2 * asker.timeout_s),
            output_bytes=OUTPUT_BYTES,
            processes=PROCESSES,
            open_files=OPEN_FILES,
            packages=tuple(packages),
            grader=GraderNeeds(shown=tuple(shown)),
        )
        if jailed:
            self._sandbox = Sandbox(limits, workers, allow_unsafe=allow_unsafe)
        else:
            self._sandbox = Sandbox(limits, workers, max_level=1, allow_unsafe=True)
        self._source = Path(host.__file__).read_text(encoding="utf-8")

    def grade(self, sent: Sequence[Dispatch]) -> Iterator[Said]:
        """See `truegrade.assay.targets.Target`; raises SandboxError where nothing can be run."""
        left = list(sent)
        while left:
            questions = [self._asker.question(one) for one in left]
            done = 0
            for said in self._conversation(left, questions):
                done += 1
                yield said
            left = left[done:]

    def close(self) -> None:
        """End its processes."""
        self._sandbox.close()

    def _conversation(self, sent: Sequence[Dispatch], questions: Sequence[ProbeQuestion | Said]) -> Iterator[Said]:
        """What one process of the grader says, up to the probe that ended it."""
        asked = [one for one in questions if isinstance(one, ProbeQuestion)]
        if not asked:
            yield from (one for one in questions if isinstance(one, Said))
            return
        talk = _Talk(self._sandbox, self._source, self._calls(asked), self._asker.timeout_s)
        try:
            answers = iter(talk)
            first = next(answers)
            if isinstance(first, Outcome) or first.result.error is not None:
                raise self._program.unusable(_why_not_opened(first))
            for dispatch, question in zip(sent, questions, strict=True):
                if isinstance(question, Said):
                    yield question
                    continue
                heard = next(answers)
                if isinstance(heard, Outcome):
                    yield self._asker.said(dispatch, _ended(heard, self._asker.timeout_s))
                    return
                yield self._asker.said(dispatch, self._read(heard.result), heard.wall_s)
        finally:
            talk.end()

    def _calls(self, asked: Sequence[ProbeQuestion]) -> list[tuple[str, dict[str, Any]]]:
        step = self._program.step
        return [("open", self._program.settings), *((step, self._program.payload(one)) for one in asked)]

    def _read(self, result: CallResult) -> Reading:
        if result.error is not None:
            return no_verdict(RAISED, result.error)
        return self._program.reading(result.value)


class _Heard(msgspec.Struct, frozen=True):
    """An answer, and how long it took."""

    result: CallResult
    wall_s: float


class _Talk:
    """A conversation in a thread of its own: iterating gives each answer as it comes, then how it ended."""

    def __init__(
        self, sandbox: Sandbox, source: str, calls: Sequence[tuple[str, dict[str, Any]]], timeout_s: float
    ) -> None:
        self._heard: queue.SimpleQueue[_Heard | Outcome | BaseException] = queue.SimpleQueue()
        self._over = threading.Event()
        self._last = time.monotonic()
        self._thread = threading.Thread(
            target=self._hold, args=(sandbox, source, calls, timeout_s), name="grader", daemon=True
        )
        self._thread.start()

    def __iter__(self) -> Iterator[_Heard | Outcome]:
        while True:
            heard = self._heard.get()
            if isinstance(heard, BaseException):
                raise heard
            yield heard

    def end(self) -> None:
        """Hear no more: the grader ends with its next answer, or when the sandbox closes."""
        self._over.set()
        self._thread.join(END_S)  # so that the next conversation finds its worker

    def _hold(self, sandbox: Sandbox, source: str, calls: Sequence[Any], timeout_s: float) -> None:
        try:
            self._heard.put(sandbox.call(source, "answer", calls, self._hear, call_wall_s=timeout_s))
        except BaseException as error:
            self._heard.put(error)

    def _hear(self, _: int, result: CallResult) -> bool:
        now = time.monotonic()
        self._heard.put(_Heard(result, now - self._last))
        self._last = now
        return not self._over.is_set()


def _why_not_opened(heard: _Heard | Outcome) -> str:
    if isinstance(heard, Outcome):
        return heard.detail
    return heard.result.error or ""


def _ended(outcome: Outcome, timeout_s: float) -> Reading:
    """What it means that a conversation ended before the answer to a probe."""
    if outcome.status == "time_limit":
        return no_verdict(HUNG, f"no answer in {timeout_s:g} s")
    return no_verdict(DIED, outcome.detail)


HARMLESS: Danger = "h0"
NO_FIELDS: Mapping[str, Any] = MappingProxyType({})


def open_target(
    grader: str | Callable[..., Any],
    *,
    call: str = "",
    tests_as: str = "",
    danger: Danger | None = None,
    mine: bool = False,
    packages: Sequence[str] = (),
    workers: int | None = None,
    timeout_s: float = 60.0,
    allow_unsafe: bool = False,
    jail: bool = True,
    token: str | None = None,
    fields: Mapping[str, Any] = NO_FIELDS,
) -> Target:
    """A grader of somebody else's, ready to be asked.

    Python functions that are named, and commands, run in the jail and are sent every probe. A service, a callable,
    and whatever runs outside the jail are sent probes of danger ``h0`` only, unless ``danger`` says more.

    Args:
        grader: ``rewards.py:code_reward``, ``module:name``, ``cmd:./judge {program} {tests}``, an address
            ``http://…``, or a callable, which runs in this process.
        call: name of a way to call it (`truegrade.assay.targets.calls.CALLS`), or ``module:adapter``, a function
            that makes arguments of a problem, as plain values, and a reply: a tuple, a dictionary of named ones,
            or ``(tuple, dictionary)``. By default ``exit-code`` for commands, else ``plain``.
        tests_as: shape of the tests (`truegrade.grading.tests_forms`); by default the usual one of ``call``.
        danger: the most dangerous probes to send.
        mine: whether a service on another machine is yours to send more than harmless probes.
        packages: names of installed packages that a jailed grader may import, with what they require.
        workers: processes of the grader at the same time; by default as many as there are cores.
        timeout_s: wall seconds for one probe.
        allow_unsafe: run it where the machine offers no jail.
        jail: False runs a function or command outside the jail, under limits of resources only.
        token: of a service.
        fields: arguments, columns or fields of a request that ``call`` hands over besides, or in place of its own.

    Raises:
        UserError: there is no such grader, or it cannot be used so. What loading it raises is told when it is
            first asked.
    """
    found, adapter = _call(grader, call)
    jailed = isinstance(grader, str) and not _is_address(grader) and jail and detect().level > LIMITS_ONLY
    asker = ProbeAsker(
        name=without_keys(_name(grader)),
        call=found,
        form=tests_form(tests_as or found.tests_as),
        danger=_danger(grader, danger, mine=mine, jailed=jailed),
        timeout_s=timeout_s,
        fields=fields,
        allow_unsafe=allow_unsafe,
    )
    if not isinstance(grader, str):
        made = None if adapter is None else host.loaded(adapter.module, adapter.file, adapter.attribute)
        return CallableTarget(asker, grader, made)
    if _is_address(grader):
        return HttpTarget(asker, grader, token)
    program: Program
    if grader.startswith("cmd:"):
        program = CommandProgram(grader, words_of_command(grader), found, jailed=jailed)
        shown, needed = program.shown, tuple(packages)
    else:
        located = locate(grader)
        program = FunctionProgram(located, found, adapter, jailed=jailed)
        shown = (*located.shown, *(adapter.shown if adapter is not None else ()))
        needed = all_packages(located, adapter, named=packages)
    return HostedTarget(
        asker,
        program,
        shown=tuple(dict.fromkeys((*tools(), *shown))),
        packages=needed,
        workers=workers,
        jailed=jail,
        allow_unsafe=allow_unsafe,
    )


def _is_address(grader: str) -> bool:
    return grader.startswith(("http://", "https://"))


def _name(grader: str | Callable[..., Any]) -> str:
    if isinstance(grader, str):
        return grader
    return getattr(grader, "__qualname__", type(grader).__qualname__)


def _call(grader: str | Callable[..., Any], call: str) -> tuple[Call, Located | None]:
    """The way to call it, and the adapter that makes arguments in its place."""
    usual = "exit-code" if isinstance(grader, str) and grader.startswith("cmd:") else "plain"
    name = call or usual
    if name in CALLS:
        return CALLS[name], None
    if ":" not in name:
        raise UserError(f"`call`: {name!r} is none of {', '.join(CALLS)}, nor MODULE:ADAPTER")
    if isinstance(grader, str) and (_is_address(grader) or usual == "exit-code"):
        raise UserError("`call`: an adapter makes the arguments of a Python function; name a way to call")
    return Call(name=name, needs_tests=False), locate(name)


def _danger(grader: str | Callable[..., Any], danger: Danger | None, *, mine: bool, jailed: bool) -> Danger:
    if danger is not None and danger not in DANGERS:
        raise UserError(f"`danger`: {danger!r} is none of {', '.join(DANGERS)}")
    if jailed:
        return danger or DANGERS[-1]
    raised = danger not in {None, HARMLESS}
    if raised and isinstance(grader, str) and _is_address(grader) and not is_this_machine(grader) and not mine:
        raise UserError(
            f"`danger={danger}` sends {grader} programs that may end its process or write files there; pass "
            "`mine=True` if it is yours, or leave `danger` out"
        )
    return danger or HARMLESS
