"""Foreign graders that are asked one probe after the other: what all have in common, services and callables.

Nothing of a service can be jailed, and a callable runs in this process, which nothing protects: both are sent
harmless probes by default.
"""

from __future__ import annotations

import json
import queue
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from itertools import chain, islice
from math import ceil
from typing import Any, ClassVar
from urllib.parse import urlsplit

import msgspec

from truegrade.apps.assay.records import BY_CONSTRUCTION, DANGERS, DOES_NOT_END, Danger, Dispatch, Probe, Said
from truegrade.apps.assay.targets import calls, host
from truegrade.errors import TruegradeError, UserError
from truegrade.files.kept import LastKept
from truegrade.files.writing import HIDDEN, keys_in, without_keys
from truegrade.grading.problem_tests import ReferenceTests
from truegrade.grading.tests_forms import Outputs, TestsForm, put_tests
from truegrade.kinds import kind_of
from truegrade.records import Problem
from truegrade.sandbox import CallResult, Limits, Sandbox
from truegrade.web.messages import is_loopback

REFERENCE_CPU_S = 60.0
MOST_S, LEAST_S, TIMES_RIGHT = 60.0, 12.0, 10.0
"""Seconds for one answer where the user names none: so many times the slowest right program's, within these ends.
Limits of 10 s, which are usual, are met before the least; right programs themselves get the most."""
TOLD_S = 10.0
"""Seconds that a grader which takes a limit with each program is told where the user names none."""
SIDE_BY_SIDE = 4
"""Replies of a batch for which a grader gets the time of one, before its limit."""
_OUTPUTS_KEPT = 16
"""Problems whose reference's outputs are kept, since several are sent side by side."""


def is_endless(probe: Probe) -> bool:
    """Whether a program is known not to end on an input of the tests that it is graded by."""
    witness = probe.witness
    if witness is None or witness.source not in ("own", BY_CONSTRUCTION):
        return False
    return witness.got.startswith(DOES_NOT_END)


@dataclass(kw_only=True)
class ProbeAsker:
    """Puts probes into the words of one grader."""

    name: str
    """Of the grader."""
    call: calls.Call
    form: TestsForm
    danger: Danger
    """The most dangerous probes that it is sent."""
    timeout_s: float | None
    """For one program; None for what right programs take (`derive_limit`)."""
    fields: Mapping[str, Any]
    """Given by the user besides."""
    allow_unsafe: bool
    """Run references where only limits protect the machine."""
    _outputs: LastKept[Outputs | None] = field(default_factory=lambda: LastKept(_OUTPUTS_KEPT))
    _hung: bool = False
    """Whether it gave no answer in time on a program that is proven not to end."""

    def __post_init__(self) -> None:
        self.limit_s = MOST_S if self.timeout_s is None else self.timeout_s

    def derive_limit(self, slowest_s: float) -> None:
        """See `truegrade.apps.assay.targets.Target`."""
        if self.timeout_s is None:
            self.limit_s = min(MOST_S, max(LEAST_S, TIMES_RIGHT * slowest_s))

    def late(self) -> calls.Reading:
        """What is read of a grader that did not answer in time."""
        return calls.no_verdict(calls.HUNG, f"no answer in {self.limit_s:.3g} s")

    def question(self, sent: Dispatch) -> calls.ProbeQuestion | Said:
        """What the grader is asked, or what is known without asking: nothing is sent then."""
        probe, problem = sent.probe, sent.problem
        if DANGERS.index(probe.danger) > DANGERS.index(self.danger):
            return self.said(sent, calls.no_verdict(calls.NOT_SENT, f"its danger is {probe.danger}"))
        if self._hung and is_endless(probe):
            why = "not sent, as it gave no answer on another program that does not end"
            return self.said(sent, calls.no_verdict(calls.HUNG, why))
        tests: Any = None
        if self.call.needs_tests:
            held = kind_of(problem.task).tests(problem.task)
            outputs = self._reference_outputs(problem, held) if isinstance(held, ReferenceTests) else None
            put = put_tests(problem.id, held, self.form, outputs)
            if put.why_not:
                return self.said(sent, calls.no_verdict(calls.NOT_PUT, put.why_not))
            tests = put.tests
        reply = f"```python\n{probe.code.rstrip()}\n```" if probe.form == "program" else probe.code
        turns = json.loads(probe.code) if sent.of_messages else None
        return calls.ProbeQuestion(
            problem=problem,
            turns=turns,
            program=probe.code,
            reply=reply if turns is None else "\n".join(one["content"] for one in turns),
            tests=tests,
            form=self.form,
            timeout_s=TOLD_S if self.timeout_s is None else self.timeout_s,
            fields=dict(self.fields),
        )

    def said(self, sent: Dispatch, reading: calls.Reading, wall_s: float | None = None) -> Said:
        """The record of an answer."""
        self._hung |= reading.detail.startswith(calls.HUNG) and is_endless(sent.probe)
        return Said(probe=sent.probe.id, grader=self.name, wall_s=wall_s, **msgspec.structs.asdict(reading))

    def _reference_outputs(self, problem: Problem, tests: ReferenceTests) -> Outputs | None:
        """What the reference returns; of the last problems it is kept, since probes of a problem follow each
        other."""
        key = f"{problem.benchmark} {problem.id} {hash(tests.reference)}"
        return self._outputs.of(key, lambda: self._run_reference(problem, tests))

    def _run_reference(self, problem: Problem, tests: ReferenceTests) -> Outputs | None:
        results: list[CallResult] = []

        def keep(_: int, result: CallResult) -> bool:
            results.append(result)
            return result.error is None

        inputs = [*tests.inputs, *tests.further]
        limits = Limits(cpu_s=REFERENCE_CPU_S, packages=("numpy", *problem.packages))
        try:
            with Sandbox(limits, workers=1, allow_unsafe=self.allow_unsafe) as sandbox:
                sandbox.call(tests.reference, tests.entry_point, inputs, keep)
            values = [result.value for result in results if result.error is None]
        except TruegradeError:
            return None
        return list(zip(inputs, values, strict=True)) if len(values) == len(inputs) else None


class AskedTarget(ABC):
    """What every foreign grader has in common; ``asker`` puts probes into its words."""

    keeps_state: ClassVar[bool] = True
    restarts: ClassVar[bool] = False
    lanes: int = 1

    def __init__(self, asker: ProbeAsker) -> None:
        self._asker, self.name, self.danger = asker, asker.name, asker.danger
        self.of_replies, self.takes_batches = asker.call.of_replies, asker.call.batched
        self.takes_messages = asker.call.of_messages
        self.derive_limit = asker.derive_limit

    @property
    def limit_s(self) -> float:
        """See `truegrade.apps.assay.targets.Target`."""
        return self._asker.limit_s

    def grade_batches(
        self, batches: Sequence[Sequence[Dispatch]]
    ) -> Iterator[list[calls.Reading] | calls.Reading]:
        """See `truegrade.apps.assay.targets.BatchTarget`."""
        if self._asker.call.batched:
            asked = [[self._asker.question(one) for one in batch] for batch in batches]
            questions = [[one for one in batch if isinstance(one, calls.ProbeQuestion)] for batch in asked]
            most = max(map(len, batches))
            yield from self._readings(questions, self.limit_s * max(1, ceil(most / SIDE_BY_SIDE)))
            return
        said = self.grade([*chain.from_iterable(batches)])
        for batch in batches:
            yield [calls.Reading(one.passed, one.score, one.detail) for one in islice(said, len(batch))]

    @abstractmethod
    def grade(self, sent: Sequence[Dispatch]) -> Iterator[Said]:
        """See `truegrade.apps.assay.targets.Target`."""

    def _readings(
        self, batches: Sequence[Sequence[calls.ProbeQuestion]], limit_s: float
    ) -> Iterator[list[calls.Reading] | calls.Reading]:
        """What one grader that is called with batches says of each, in so many seconds at most."""
        raise NotImplementedError


class OneByOneTarget(AskedTarget):
    """A grader that is asked one probe after the other; groups may be graded from several threads."""

    def grade(self, sent: Sequence[Dispatch]) -> Iterator[Said]:
        """See `truegrade.apps.assay.targets.Target`."""
        for one in sent:
            question = self._asker.question(one)
            if isinstance(question, Said):
                yield question
                continue
            began = time.monotonic()
            reading = self._reading(question)
            yield self._asker.said(one, reading, time.monotonic() - began)

    @abstractmethod
    def _reading(self, question: calls.ProbeQuestion) -> calls.Reading:
        """What the grader says."""


SERVICE_PATHS = {"truegrade": "/v1/grade"}
"""Where a service is asked that was named by its address alone."""


MAX_ANSWER_BYTES = 1 << 20
"""Bytes of an answer that are read, unpacked; a verdict takes fewer than a thousand."""


class HttpTarget(OneByOneTarget):
    """Asks a service at an address.

    Raises:
        UserError: services are not called in this way.
    """

    def __init__(self, asker: ProbeAsker, address: str) -> None:
        import httpx2

        if asker.call.ask is None:
            raise UserError(f"`call`: {asker.call.name} is no way to ask an HTTP address")
        super().__init__(asker)
        self._ask = asker.call.ask
        alone = urlsplit(address).path in {"", "/"}
        self._address = address.rstrip("/") + SERVICE_PATHS.get(asker.call.name, "") if alone else address
        self._http = httpx2.Client(trust_env=False)
        self._answered, self.close = False, self._http.close

    def _reading(self, question: calls.ProbeQuestion) -> calls.Reading:
        import httpx2

        try:
            value = self._ask(question, self._post)
        except _NoAnswer as error:
            shown = error.reading.detail
            for key in keys_in(self._address):
                shown = shown.replace(key, HIDDEN)
            return msgspec.structs.replace(error.reading, detail=shown)
        except httpx2.TimeoutException:
            return self._asker.late()
        except httpx2.HTTPError as error:
            if not self._answered:
                raise UserError(
                    f"`grader`: {without_keys(self._address)} cannot be reached: {error}; start it first"
                ) from None
            return calls.no_verdict(calls.DIED, f"{type(error).__name__}: {error}")
        return self._asker.call.reading(value)

    def _post(self, body: dict[str, Any]) -> Any:
        import httpx2

        until = time.monotonic() + self._asker.limit_s
        with self._http.stream("POST", self._address, json=body, timeout=self._asker.limit_s) as reply:
            self._answered = True
            content = b""
            for piece in reply.iter_bytes():
                content += piece
                if len(content) > MAX_ANSWER_BYTES:
                    raise _NoAnswer(calls.TEXT, f"an answer of over {MAX_ANSWER_BYTES} bytes")
                if time.monotonic() > until:
                    raise httpx2.ReadTimeout("the answer did not end in time")
        text = content.decode("utf-8", "replace")
        if reply.status_code != HTTPStatus.OK:
            raise _NoAnswer(calls.RAISED, f"HTTP {reply.status_code}: {text}")
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise _NoAnswer(calls.TEXT, text) from None


class _NoAnswer(Exception):
    """The service answered, and not with a value."""

    def __init__(self, prefix: str, text: str) -> None:
        super().__init__(text)
        self.reading = calls.no_verdict(prefix, text)


def is_this_machine(address: str) -> bool:
    """Whether an address is this machine's own.

    Raises:
        UserError: it is no address.
    """
    try:
        host = urlsplit(address).hostname
    except ValueError:
        host = None
    if not host:
        raise UserError(f"`grader`: {without_keys(address)} is no address; write http://HOST:PORT/PATH")
    return is_loopback(host)


class CallableTarget(OneByOneTarget):
    """Calls a function here, with what an adapter makes of problem and reply if there is one.

    A function that hangs is left behind in its thread, for nothing can end it.

    Raises:
        UserError: it cannot be called so.
    """

    def __init__(
        self, asker: ProbeAsker, function: Callable[..., Any], adapter: Callable[..., Any] | None
    ) -> None:
        super().__init__(asker)
        self._function, self._adapter = function, adapter
        asker.call.payload(calls.EXAMPLE, adapted=adapter is not None)

    def close(self) -> None:
        """Nothing was started."""

    def _readings(
        self, batches: Sequence[Sequence[calls.ProbeQuestion]], limit_s: float
    ) -> Iterator[list[calls.Reading] | calls.Reading]:
        for asked in batches:
            value = self._called(partial(self._asker.call.payload_of_batch, asked), limit_s)
            yield value if isinstance(value, calls.Reading) else self._asker.call.readings(*value)

    def _reading(self, question: calls.ProbeQuestion) -> calls.Reading:
        call, adapted = self._asker.call, self._adapter is not None
        value = self._called(partial(call.payload, question, adapted=adapted), self._asker.limit_s)
        return value if isinstance(value, calls.Reading) else call.reading(*value)

    def _called(self, made: Callable[[], dict[str, Any]], limit_s: float) -> tuple[Any] | calls.Reading:
        """What the function returns, or that it returned nothing in its time."""
        answered: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()

        def call() -> None:
            try:
                payload = made()
                answered.put((host.called(self._function, payload, self._adapter), None))
            except BaseException as error:
                answered.put((None, error))

        threading.Thread(target=call, name="grader", daemon=True).start()
        try:
            value, error = answered.get(timeout=limit_s)
        except queue.Empty:
            return self._asker.late()
        if error is not None:
            return calls.no_verdict(calls.RAISED, f"{type(error).__name__}: {error}")
        return (value,)
