"""Programs on stdin, asked as if they were functions from the text of an input to the text of an output.

Each input has a process of its own, as under `strict`, whose preamble is offered here too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from truegrade.grading.contests.separate import PREAMBLE
from truegrade.grading.executor import Executor
from truegrade.grading.programs import assemble
from truegrade.records import Answer, Reason
from truegrade.sandbox.encode import encode
from truegrade.sandbox.outcome import CallResult, Outcome

OUTPUT = "output"
"""Name of the comparison: two texts are the same by `truegrade.grading.contests.output_comparison`."""
EXIT_CODE = "exit code"
"""How the error of a run begins that ended with another exit code than 0, and with no exception."""
MOST_INPUT_CHARS = 20_000
"""Inputs of more are left out of an oracle, as a witness holds its input."""
MOST_TRACED_CHARS = 1_000
"""Of longer inputs no steps are counted: a right program may take many times those of the reference on them."""
_MOST_BYTES = 1 << 27


def ask_stdin(
    program: str,
    inputs: Sequence[Sequence[str]],
    on_result: Callable[[int, CallResult], bool],
    executor: Executor,
    *,
    cpu_s: float,
) -> Outcome:
    """Run a program on inputs in order, as `Executor.call` calls a function.

    Args:
        program: whole.
        inputs: each the text that is read, alone in its tuple.
        on_result: gets each number and output as it becomes known; False ends the run early. A run that ends with
            an exception or an exit code other than 0 counts as raising.
        executor: the jail.
        cpu_s: CPU seconds of one input.

    Returns:
        How the last input ended that was run, ``passed`` where it ended by itself; the CPU seconds are those of
        the input that took longest.
    """
    source = assemble(PREAMBLE, Answer(value=program, found=""))
    longest = 0.0
    for number, (text,) in enumerate(inputs):
        outcome = executor.script(source, text, cpu_s=cpu_s)
        longest = max(longest, outcome.cpu_s)
        if outcome.status == Reason.PASSED:
            result = CallResult(encode(outcome.stdout, _MOST_BYTES))
        elif outcome.status == Reason.RUNTIME_ERROR:
            result = CallResult(error=outcome.detail)
        else:
            return _of(outcome, longest)
        if not on_result(number, result):
            break
    return Outcome(status=Reason.PASSED, detail="", cpu_s=longest, wall_s=0.0)


def _of(outcome: Outcome, longest: float) -> Outcome:
    return Outcome(status=outcome.status, detail=outcome.detail, cpu_s=longest, wall_s=outcome.wall_s)


def watched_stdin(program: str, text: str) -> tuple[str, str]:
    """Source and a call in it that runs a program on an input in such a way that its steps are counted."""
    source = assemble(PREAMBLE, Answer(value=program, found=""))
    return f"SOURCE = {source!r}\n{_WATCHED}", f"_truegrade_run({text!r})"


def inputs_of(given: Sequence[str]) -> tuple[tuple[Any, ...], ...]:
    """Texts as arguments, the shortest first, without those that are too long for a witness."""
    return tuple((text,) for text in sorted(given, key=len) if len(text) <= MOST_INPUT_CHARS)


_WATCHED = """
def _truegrade_run(text):
    import io
    import sys
    import threading

    class Nowhere(io.RawIOBase):
        def writable(self):
            return True

        def write(self, data):
            return len(data)

    sys.stdin = io.TextIOWrapper(io.BytesIO(text.encode("utf-8", "surrogateescape")), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(Nowhere()), encoding="utf-8")
    before = threading.enumerate()
    threading.settrace(sys.gettrace())
    try:
        exec(compile(SOURCE, "<observed>", "exec", dont_inherit=True), {"__name__": "__main__"})
    except SystemExit:
        pass
    for thread in threading.enumerate():  # as an interpreter does before it ends
        if thread not in before and not thread.daemon:
            thread.join()
"""
"""The name of the file is that of `truegrade.builders.mutation.observer`, which counts the steps of such code."""
