"""Graders of others, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from truegrade.assay.records import DANGERS, Danger
from truegrade.assay.targets import host
from truegrade.assay.targets.asking import ProbeAsker
from truegrade.assay.targets.base import Target
from truegrade.assay.targets.calls import CALLS, Call
from truegrade.assay.targets.commands import CommandProgram, words_of_command
from truegrade.assay.targets.functions import FunctionProgram, Located, all_packages, locate
from truegrade.assay.targets.http import HttpTarget, is_loopback
from truegrade.assay.targets.in_process import CallableTarget
from truegrade.assay.targets.jailed import HostedTarget, Program
from truegrade.assay.targets.surroundings import tools
from truegrade.errors import UserError
from truegrade.files.addresses import without_keys
from truegrade.grading.tests_forms import tests_form
from truegrade.sandbox.levels import detect
from truegrade.sandbox.protection import LIMITS_ONLY

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
    form = tests_form(tests_as or found.tests_as)
    jailed = isinstance(grader, str) and not _is_address(grader) and jail and detect().level > LIMITS_ONLY
    asker = ProbeAsker(
        without_keys(_name(grader)),
        found,
        form,
        _danger(grader, danger, mine=mine, jailed=jailed),
        timeout_s,
        fields,
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
    if raised and isinstance(grader, str) and _is_address(grader) and not is_loopback(grader) and not mine:
        raise UserError(
            f"`danger={danger}` sends {grader} programs that may end its process or write files there; pass "
            "`mine=True` if it is yours, or leave `danger` out"
        )
    return danger or HARMLESS
