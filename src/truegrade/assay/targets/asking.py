"""From a probe to what a foreign grader is asked."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from truegrade.assay.records import DANGERS, Danger, Dispatch, Said
from truegrade.assay.targets.calls import Call, ProbeQuestion
from truegrade.assay.targets.readings import NOT_PUT, NOT_SENT, Reading, no_verdict
from truegrade.errors import TruegradeError
from truegrade.grading.tests_forms import Outputs, TestsForm, tests_of
from truegrade.records import OracleTask, Problem
from truegrade.sandbox import CallResult, Limits, Sandbox

REFERENCE_CPU_S = 60.0


class ProbeAsker:
    """Puts probes into the words of one grader.

    Args:
        name: of the grader.
        call: how it is called.
        form: shape of the tests.
        danger: the most dangerous probes that it is sent.
        timeout_s: for one probe.
        fields: given by the user besides.
        allow_unsafe: run references where only limits protect the machine.
    """

    def __init__(
        self,
        name: str,
        call: Call,
        form: TestsForm,
        danger: Danger,
        timeout_s: float,
        fields: Mapping[str, Any],
        *,
        allow_unsafe: bool = False,
    ) -> None:
        self.name, self.call, self.danger = name, call, danger
        self._form, self.timeout_s, self._fields = form, timeout_s, dict(fields)
        self._allow_unsafe = allow_unsafe
        self._lock = threading.Lock()
        self._outputs: tuple[str, Outputs | None] = ("", None)

    def question(self, sent: Dispatch) -> ProbeQuestion | Said:
        """What the grader is asked, or what is known without asking: nothing is sent then."""
        probe, problem = sent.probe, sent.problem
        if DANGERS.index(probe.danger) > DANGERS.index(self.danger):
            return self.said(sent, Reading(None, None, f"{NOT_SENT} its danger is {probe.danger}"))
        tests: Any = None
        if self.call.needs_tests:
            put = tests_of(problem, self._form, self._reference_outputs(problem))
            if put.why_not:
                return self.said(sent, Reading(None, None, no_verdict(NOT_PUT, put.why_not)))
            tests = put.tests
        reply = f"```python\n{probe.code.rstrip()}\n```" if probe.form == "program" else probe.code
        return ProbeQuestion(
            problem=problem,
            program=probe.code,
            reply=reply,
            tests=tests,
            form=self._form,
            timeout_s=self.timeout_s,
            fields=self._fields,
        )

    def said(self, sent: Dispatch, reading: Reading, wall_s: float | None = None) -> Said:
        """The record of an answer."""
        return Said(
            probe=sent.probe.id,
            grader=self.name,
            passed=reading.passed,
            score=reading.score,
            detail=reading.detail,
            wall_s=wall_s,
        )

    def _reference_outputs(self, problem: Problem) -> Outputs | None:
        """What the reference returns, where a problem has that in place of values; probes of a problem follow
        each other, so those of the last problem are kept."""
        task = problem.task
        if not isinstance(task, OracleTask):
            return None
        key = f"{problem.benchmark} {problem.id} {hash(task.reference)}"
        with self._lock:
            if self._outputs[0] != key:
                self._outputs = key, self._run_reference(problem, task)
            return self._outputs[1]

    def _run_reference(self, problem: Problem, task: OracleTask) -> Outputs | None:
        results: list[CallResult] = []

        def keep(_: int, result: CallResult) -> bool:
            results.append(result)
            return result.error is None

        inputs = [*task.base_inputs, *task.plus_inputs]
        limits = Limits(cpu_s=REFERENCE_CPU_S, packages=("numpy", *problem.packages))
        try:
            with Sandbox(limits, workers=1, allow_unsafe=self._allow_unsafe) as sandbox:
                sandbox.call(task.reference, task.entry_point, inputs, keep)
            values = [result.value for result in results if result.error is None]
        except TruegradeError:
            return None
        return list(zip(inputs, values, strict=True)) if len(values) == len(inputs) else None


class AskedTarget:
    """What every foreign grader has in common.

    Args:
        asker: words for probes.
    """

    keeps_state: ClassVar[bool] = True
    restarts: ClassVar[bool] = False

    def __init__(self, asker: ProbeAsker) -> None:
        self._asker = asker

    @property
    def name(self) -> str:
        """As it was named."""
        return self._asker.name

    @property
    def danger(self) -> Danger:
        """The most dangerous probes that it is sent."""
        return self._asker.danger


class OneByOneTarget(AskedTarget, ABC):
    """A grader that is asked one probe after the other; groups may be graded from several threads."""

    def grade(self, sent: Sequence[Dispatch]) -> Iterator[Said]:
        """See `truegrade.assay.targets.base.Target`."""
        for one in sent:
            question = self._asker.question(one)
            if isinstance(question, Said):
                yield question
                continue
            began = time.monotonic()
            reading = self._reading(question)
            yield self._asker.said(one, reading, time.monotonic() - began)

    @abstractmethod
    def _reading(self, question: ProbeQuestion) -> Reading:
        """What the grader says."""
