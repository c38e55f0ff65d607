"""Graders under measurement, by name: our own profiles, and functions and commands of others.

One conversation with a jailed grader keeps one process, probe after probe, so that what a probe leaves behind is
met by the next. Where a probe ends that process, another is started for the rest.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from itertools import chain, islice
from pathlib import Path
from pprint import pformat
from types import MappingProxyType
from typing import Any, ClassVar

from truegrade.apps.assay.records import DANGERS, Danger, Dispatch, Probe, Said, probe_id
from truegrade.apps.assay.targets import Target, host, programs
from truegrade.apps.assay.targets.asking import (
    AskedTarget,
    CallableTarget,
    HttpTarget,
    ProbeAsker,
    is_endless,
    is_this_machine,
)
from truegrade.apps.assay.targets.calls import CALLS, DIED, RAISED, Call, ProbeQuestion, Reading, no_verdict
from truegrade.apps.assay.targets.programs import files_of
from truegrade.errors import UserError
from truegrade.files.threads import in_order
from truegrade.files.writing import without_keys
from truegrade.grading.judgement import from_outcome
from truegrade.grading.problem_tests import CallTests, SourceTests
from truegrade.grading.tests_forms import other_form, tests_form
from truegrade.kinds import kind_of
from truegrade.pipeline.grade import LocalGrader
from truegrade.profiles import Profile
from truegrade.records import Completion, Problem, Reason
from truegrade.sandbox import CallResult, GraderNeeds, Limits, Outcome, Sandbox
from truegrade.sandbox.levels import detect
from truegrade.sandbox.limits import LIMITS_ONLY, MIB

LOADING_S = 120.0
"""Wall seconds that a grader may take to be imported."""
PROCESSES, OPEN_FILES = 64, 1024
OUTPUT_BYTES = 256 * MIB
END_S = 1.0
"""How long a conversation whose answers are all there may take to end."""
CPU_S = 1e6
"""No limit: wall seconds decide for each probe."""


class HostedTarget(AskedTarget):
    """A grader whose process is ours to start and to end: one for each call of `grade`.

    Args:
        shown: paths that it may read.
        packages: installed packages that it may import.
        workers: conversations at the same time.
        jailed: whether it runs in the jail; else only limits of resources bind it.
    """

    restarts: ClassVar[bool] = True

    def __init__(
        self,
        asker: ProbeAsker,
        program: programs.CommandProgram | programs.FunctionProgram,
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
            wall_s=max(LOADING_S, 2 * asker.limit_s),
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
        self.close, self.lanes = self._sandbox.close, self._sandbox.workers
        self._source = Path(host.__file__).read_text(encoding="utf-8")

    def grade(self, sent: Sequence[Dispatch]) -> Iterator[Said]:
        """See `truegrade.apps.assay.targets.Target`; raises SandboxError where nothing can be run."""
        left = list(sent)
        while left:
            questions = [self._asker.question(one) for one in left]
            done = 0
            for said in self._conversation(left, questions):
                done += 1
                yield said
            left = left[done:]

    def _readings(
        self, batches: Sequence[Sequence[ProbeQuestion]], limit_s: float
    ) -> Iterator[list[Reading] | Reading]:
        program, call = self._program, self._asker.call
        asked = [(program.step, call.payload_of_batch(one)) for one in batches]
        with _talk(self._sandbox, self._source, [("open", program.settings), *asked], limit_s) as answers:
            next(answers)  # it was opened before
            for heard, _ in islice(answers, len(asked)):
                if isinstance(heard, Outcome):
                    yield self._asker.late() if heard.status == "time_limit" else no_verdict(DIED, heard.detail)
                    return
                yield no_verdict(RAISED, heard.error) if heard.error is not None else call.readings(heard.value)

    def _conversation(self, sent: Sequence[Dispatch], questions: Sequence[ProbeQuestion | Said]) -> Iterator[Said]:
        """What one process of the grader says, up to the probe that ended it."""
        program = self._program
        asked = [(program.step, program.payload(one)) for one in questions if isinstance(one, ProbeQuestion)]
        if not asked:
            yield from (one for one in questions if isinstance(one, Said))
            return
        with _talk(self._sandbox, self._source, [("open", program.settings), *asked], self.limit_s) as answers:
            first, _ = next(answers)
            why_not = first.detail if isinstance(first, Outcome) else first.error
            if why_not is not None:
                raise program.unusable(why_not)
            for dispatch, question in zip(sent, questions, strict=True):
                if isinstance(question, Said):
                    yield question
                    continue
                heard, wall_s = next(answers)
                if isinstance(heard, Outcome):
                    late = heard.status == "time_limit"
                    yield self._asker.said(
                        dispatch, self._asker.late() if late else no_verdict(DIED, heard.detail)
                    )
                    return
                raised = heard.error is not None
                reading = no_verdict(RAISED, heard.error) if raised else program.reading(heard.value)
                yield self._asker.said(dispatch, reading, wall_s)


_Heard = tuple[CallResult | Outcome, float]
"""An answer, or last how the conversation ended; and how long it took."""


@contextmanager
def _talk(
    sandbox: Sandbox, source: str, calls: Sequence[tuple[str, dict[str, Any]]], timeout_s: float
) -> Iterator[Iterator[_Heard]]:
    """A conversation in a thread of its own: each answer as it comes, then how it ended.

    Where it is left, no more is heard: the grader ends with its next answer, or when the sandbox closes.
    """
    told: queue.SimpleQueue[_Heard | BaseException] = queue.SimpleQueue()
    over, last = threading.Event(), time.monotonic()

    def hear(_: int, result: CallResult) -> bool:
        nonlocal last
        began, last = last, time.monotonic()
        told.put((result, last - began))
        return not over.is_set()

    def hold() -> None:
        try:
            told.put((sandbox.call(source, "answer", calls, hear, call_wall_s=timeout_s), 0.0))
        except BaseException as error:
            told.put(error)

    def answers() -> Iterator[_Heard]:
        while True:
            heard = told.get()
            if isinstance(heard, BaseException):
                raise heard
            yield heard

    thread = threading.Thread(target=hold, name="grader", daemon=True)
    thread.start()
    try:
        yield answers()
    finally:
        over.set()
        thread.join(END_S)  # so that the next conversation finds its worker


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
    timeout_s: float | None = None,
    allow_unsafe: bool = False,
    jail: bool = True,
    fields: Mapping[str, Any] = NO_FIELDS,
) -> Target:
    """A grader of somebody else's, ready to be asked.

    Python functions that are named, and commands, run in the jail and are sent every probe. A service, a callable,
    and whatever runs outside the jail are sent probes of danger ``h0`` only, unless ``danger`` says more.

    Args:
        grader: ``rewards.py:code_reward``, ``module:name``, ``cmd:./judge {program} {tests}``, an address
            ``http://…``, or a callable, which runs in this process.
        call: as `truegrade.apps.assay.assay` has it; an adapter makes arguments of a problem, as plain values, and
            a reply: a tuple, a dictionary of named ones, or ``(tuple, dictionary)``.
        workers: processes of the grader at the same time; by default as many as there are cores.
        allow_unsafe: run it where the machine offers no jail.
        fields: arguments, columns or fields of a request that ``call`` hands over besides, or in place of its own.
        tests_as, danger, mine, packages, timeout_s, jail: as `truegrade.apps.assay.assay` has them.

    Raises:
        UserError: there is no such grader, or it cannot be used so. What loading it raises is told when it is
            first asked.
    """
    found, adapter = call_of(grader, call)
    named = getattr(grader, "__qualname__", type(grader).__qualname__)
    jailed = isinstance(grader, str) and not is_address(grader) and jail and detect().level > LIMITS_ONLY
    asker = ProbeAsker(
        name=without_keys(grader) if isinstance(grader, str) else named,
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
    if is_address(grader):
        return HttpTarget(asker, grader)
    program: programs.CommandProgram | programs.FunctionProgram
    if grader.startswith("cmd:"):
        program = programs.CommandProgram(grader, programs.words_of_command(grader), found, jailed=jailed)
        shown, needed = program.shown, (*packages,)
    else:
        located = programs.locate(grader)
        program = programs.FunctionProgram(located, found, adapter, jailed=jailed)
        both = [located] if adapter is None else [located, adapter]
        shown = tuple(path for one in both for path in one.shown)
        needed = (*packages, *(name for one in both for name in one.packages))
    return HostedTarget(
        asker,
        program,
        shown=tuple(dict.fromkeys((*programs.tools(), *programs.scripts_of(packages), *shown))),
        packages=tuple(dict.fromkeys(needed)),
        workers=workers,
        jailed=jail,
        allow_unsafe=allow_unsafe,
    )


def is_address(grader: str) -> bool:
    """Whether a grader is named by an address of HTTP."""
    return grader.startswith(("http://", "https://"))


def call_of(grader: str | Callable[..., Any], call: str) -> tuple[Call, programs.Located | None]:
    """The way to call it, and the adapter that makes arguments in its place."""
    usual = "exit-code" if isinstance(grader, str) and grader.startswith("cmd:") else "plain"
    name = call or usual
    if name in CALLS:
        return CALLS[name], None
    if ":" not in name:
        raise UserError(f"`call`: {name!r} is none of {', '.join(CALLS)}, nor MODULE:ADAPTER")
    if isinstance(grader, str) and (is_address(grader) or usual == "exit-code"):
        raise UserError("`call`: an adapter makes the arguments of a Python function; name a way to call")
    return Call(name=name, of_replies=True, needs_tests=False), programs.locate(name)


def _danger(grader: str | Callable[..., Any], danger: Danger | None, *, mine: bool, jailed: bool) -> Danger:
    if danger is not None and danger not in DANGERS:
        raise UserError(f"`danger`: {danger!r} is none of {', '.join(DANGERS)}")
    if jailed:
        return danger or DANGERS[-1]
    raised = danger not in {None, HARMLESS}
    if raised and isinstance(grader, str) and is_address(grader) and not is_this_machine(grader) and not mine:
        raise UserError(
            f"`danger={danger}` sends {grader} programs that may end its process or write files there; pass "
            "`mine=True` if it is yours, or leave `danger` out"
        )
    return danger or HARMLESS


# ----- Our own profiles as graders under measurement, and the plainest rule: program and tests in one process.


TESTS_INSIDE = "tests-inside"
ENDLESS_CPU_S = 1.0
"""CPU seconds of programs that are proven not to end on an input of the problem's own tests: whatever the grader's
limit, they would reach it."""
_CONFIG = "0" * 64


class ProfileTarget:
    """A profile, every program in a process of its own in the jail: whatever is sent is harmless."""

    danger: ClassVar[Danger] = "h2"
    of_replies: ClassVar[bool] = False
    keeps_state: ClassVar[bool] = False
    restarts: ClassVar[bool] = True
    lanes: ClassVar[int] = 1  # programs run side by side in a call
    limit_s: ClassVar[None] = None

    def __init__(self, profile: Profile, *, workers: int, allow_unsafe: bool = False) -> None:
        self.profile, self.name = profile, profile.id
        self._grader = LocalGrader(workers, allow_unsafe=allow_unsafe)
        self.close = self._grader.close

    def derive_limit(self, slowest_s: float) -> None:
        """Its limit is its own."""

    def grade(self, sent: Sequence[Dispatch]) -> Iterator[Said]:
        """See `truegrade.apps.assay.targets.Target.grade`."""
        problems = {each.problem.id: each.problem for each in sent}
        completions = [_completion(number, each) for number, each in enumerate(sent)]
        endless = [one for one in completions if is_endless(sent[one.sample].probe)]
        rest = [one for one in completions if not is_endless(sent[one.sample].probe)]
        impatient = copy(self.profile)
        impatient.timeout_s = min(ENDLESS_CPU_S, self.profile.timeout_s or ENDLESS_CPU_S)
        for verdict in chain(
            self._grader.verdicts(rest, problems, self.profile),
            self._grader.verdicts(endless, problems, impatient),
        ):
            no_verdict = verdict.reason is Reason.GRADER_ERROR
            yield Said(
                probe=sent[verdict.sample].probe.id,
                grader=self.name,
                passed=None if no_verdict else verdict.passed,
                detail=verdict.explanation,
                cpu_s=verdict.cpu_s,
                wall_s=verdict.wall_s,
            )


def _completion(number: int, sent: Dispatch) -> Completion:
    return Completion(
        benchmark=sent.problem.benchmark,
        dataset_sha256=sent.problem.dataset_sha256,
        problem_id=sent.problem.id,
        sample=number,
        config_sha256=_CONFIG,
        prompt_sha256=_CONFIG,
        text=sent.probe.code,
        form=sent.probe.form,
        model="assay",
    )


class InsideTarget:
    """Program and tests in one process, passing without an exception: the rule of most public harnesses, bare.

    It is here to be compared with: what it accepts and ``strict`` does not was bought.
    """

    name: ClassVar[str] = TESTS_INSIDE
    danger: ClassVar[Danger] = "h2"
    of_replies: ClassVar[bool] = False
    keeps_state: ClassVar[bool] = False
    restarts: ClassVar[bool] = True
    lanes: ClassVar[int] = 1  # programs run side by side in a call
    limit_s: ClassVar[None] = None

    def __init__(self, *, workers: int, allow_unsafe: bool = False) -> None:
        self._sandbox = Sandbox(Limits(), workers=workers, allow_unsafe=allow_unsafe)
        self._workers, self.close = workers, self._sandbox.close

    def derive_limit(self, slowest_s: float) -> None:
        """Its limit is its own."""

    def grade(self, sent: Sequence[Dispatch]) -> Iterator[Said]:
        """See `truegrade.apps.assay.targets.Target.grade`."""
        yield from in_order(sent, self._graded, workers=self._workers)

    def _graded(self, sent: Dispatch) -> Said:
        cpu_s = ENDLESS_CPU_S if is_endless(sent.probe) else None
        program = f"{sent.probe.code}\n{inside_tests(sent.problem)}\n"
        judged = from_outcome(self._sandbox.inside(program, cpu_s=cpu_s))
        return Said(
            probe=sent.probe.id,
            grader=self.name,
            passed=judged.passed,
            detail=f"{judged.reason}: {judged.detail}" if judged.detail else str(judged.reason),
            cpu_s=judged.cpu_s,
            wall_s=judged.wall_s,
        )


def inside_tests(problem: Problem) -> str:
    """The tests of a problem as source to stand behind a program.

    Raises:
        UserError: its tests are no source.
    """
    tests = kind_of(problem.task).tests(problem.task)
    if isinstance(tests, SourceTests):
        return f"{tests.setup}\n{tests.source}"
    if isinstance(tests, CallTests):
        cases = [case for number, case in enumerate(tests.cases) if number not in tests.skipped]
        calls = [f"{tests.entry_point}({', '.join(map(repr, case.arguments))})" for case in cases]
        return "\n".join(f"assert {call} == {case.expected!r}" for call, case in zip(calls, cases, strict=True))
    raise UserError(f"{problem.id}: its tests are no source that could stand behind a program")


# ------------------------- One exact call of a grader, as an assay makes it: what is handed over, in which shapes.


WIDTH = 100
"""Characters of a line of values."""
USUAL = "a truth value, or a number, of which 1 and more passes: alone, in a list of one, or as score or reward"
READ: Mapping[str, str] = MappingProxyType(
    {
        "exit-code": "exit status 0 passes",
        "open-instruct": "results, a list of 0 and 1: it passes if all are 1",
        "sandboxfusion": "status and run_result of each test, which is a request of its own: it passes if all give"
        " the output wanted, or end with exit status 0",
        "truegrade": "the verdict of the service",
        "trl": "a list of one number, of which 1 and more passes; None is no verdict",
        "trl-text": "a list of one number, of which 1 and more passes; None is no verdict",
        "verl-batch": "a list of one verdict",
    }
)
"""Call to what is read of the answer, where that is not `USUAL`."""
KINDS = {
    "function": "a Python function, called with these arguments",
    "service": "a service, to which this JSON object is posted",
    "command": "a command, in whose words the paths of these files stand",
    "adapter": "an adapter, which is given a problem and a reply and returns the arguments",
}


def shape(value: Any) -> str:
    """What a value is: ``list of 1: list of 2: str``."""
    if isinstance(value, list):
        return ": ".join([f"list of {len(value)}", " or ".join(dict.fromkeys(map(shape, value)))]).rstrip(": ")
    if isinstance(value, dict):
        return f"dict with {', '.join(map(str, value)) or 'nothing'}"
    return "None" if value is None else type(value).__name__


def kinds_of(call: Call) -> list[str]:
    """What can be called so."""
    called = {"function": call.arguments is not None, "service": call.ask is not None, "command": call.command}
    return [kind for kind, so in called.items() if so] or ["adapter"]


def handed_over(call: Call, asked: ProbeQuestion, kind: str) -> Iterator[tuple[str, Any, str]]:
    """Name, value and shape of everything that a grader of a kind gets for one program."""
    named: dict[str, Any] = {}
    if kind == "function" and call.arguments:
        args, kwargs = call.arguments(asked)
        named = {f"argument {place}": value for place, value in enumerate(args, start=1)} | kwargs
    elif kind == "service" and call.ask:
        bodies: list[dict[str, Any]] = []
        call.ask(asked, bodies.append)
        named = bodies[0]
    elif kind == "command":
        named = {f"{{{name}}}, {file}": text for name, (file, text) in files_of(asked).items()}
    elif kind == "adapter":
        named = call.payload(asked, adapted=True)
    yield from ((name, value, shape(value)) for name, value in named.items())
    for name in call.of_trainer if kind == "function" else ():
        yield name, None, "an object" if name == "trainer_state" else "a function"


def show_call(
    problem: Problem, grader: str = "", call: str = "", tests_as: str = "", timeout_s: float | None = None
) -> Iterator[str]:
    """Lines that show the call about a problem's right program; nothing is run.

    Args:
        problem: whose tests are handed over, and whose reference.
        grader: the first that was named; empty for none.
        call, tests_as, timeout_s: as `truegrade.apps.assay.assay` has them.

    Raises:
        UserError: there is no such call or form, or the problem's tests have no such form.
    """
    found, adapter = call_of(grader, call)
    form = tests_form(tests_as or found.tests_as)
    asker = ProbeAsker(
        name=grader, call=found, form=form, danger="h2", timeout_s=timeout_s, fields={}, allow_unsafe=False
    )
    reference = kind_of(problem.task).reference(problem.task)
    code = reference if reference and isinstance(reference, str) else "print(input())\n"
    probe = Probe(
        id=probe_id(problem.id, "right", "reference", code, ""), problem_id=problem.id, kind="right",
        origin="reference", code=code, label="right",
    )  # fmt: skip
    asked = asker.question(Dispatch(probe=probe, problem=problem))
    if not isinstance(asked, ProbeQuestion):
        tests = kind_of(problem.task).tests(problem.task)
        raise UserError(f"{asked.detail.partition(': ')[2]}; {other_form([tests]) or 'choose another `tests_as`'}")
    kinds = kinds_of(found)
    kind = "command" if grader.startswith("cmd:") else "service" if is_address(grader) else "function"
    kind = kind if grader and not adapter else kinds[0]
    if kind not in kinds:
        raise UserError(f"`call`: {found.name} is no way to call a {kind}")
    tests = f"`tests_as` {form}" if found.needs_tests else "the tests travel with the problem"
    program = f"{'the reference' if reference else 'a program that prints a line'} of {problem.id}"
    yield f"`call` {found.name}, {tests}: {KINDS[kind]}; here for {program}"
    alike: dict[str, list[str]] = {}
    for name, value, said in handed_over(found, asked, kind):
        lines = [] if name in found.of_trainer else [f"    {line}" for line in _written(value).splitlines()]
        alike.setdefault("\n".join([said, *lines]), []).append(name)
    for shown, names in alike.items():
        yield f"{', '.join(names)}: {shown}"
    yield f"read of the answer: {READ.get(found.name, USUAL)}"


def _written(value: Any) -> str:
    if isinstance(value, str) and "\n" in value:
        return value
    return pformat(value, width=WIDTH, compact=True, sort_dicts=False)
