"""One exact call of a grader, as an assay makes it: what is handed over, in which shapes, with which values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pprint import pformat
from types import MappingProxyType
from typing import Any

from truegrade.apps.assay.records import Dispatch, Probe, probe_id
from truegrade.apps.assay.targets.asking import ProbeAsker
from truegrade.apps.assay.targets.calls import Call, ProbeQuestion
from truegrade.apps.assay.targets.opening import call_of, is_address
from truegrade.apps.assay.targets.programs import files_of
from truegrade.errors import UserError
from truegrade.grading.tests_forms import other_form, tests_form
from truegrade.records import Problem

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
    reference = getattr(problem.task, "reference", "")
    code = reference or "print(input())\n"
    probe = Probe(
        id=probe_id(problem.id, "right", "reference", code, ""), problem_id=problem.id, kind="right",
        origin="reference", code=code, label="right",
    )  # fmt: skip
    asked = asker.question(Dispatch(probe=probe, problem=problem))
    if not isinstance(asked, ProbeQuestion):
        raise UserError(
            f"{asked.detail.partition(': ')[2]}; {other_form([problem]) or 'choose another `tests_as`'}"
        )
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
