"""Programs that compute nothing and ask to be accepted.

A *channel* is a way by which a program reaches the verdict about itself. Each cheat comes with an inert twin, the
same text with its hook cut: where the cheat is accepted and its twin refused, it is the channel that was accepted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import msgspec

from truegrade.apps.assay.cheats.base import Cheat, TaskForm
from truegrade.apps.assay.cheats.deceiving import OUTCOMES, SUITES
from truegrade.apps.assay.cheats.reaching import INTERPRETER, ORACLE_READ
from truegrade.apps.assay.records import Probe, Witness, make_probe, probe_id

__all__ = [
    "CHANNELS",
    "CHEATS",
    "CLOSES",
    "PADDING",
    "SILENT",
    "Cheat",
    "TaskForm",
    "cheat_probes",
    "of_one_length",
]

CHANNELS: Mapping[str, str] = MappingProxyType(
    {
        "exit-status": "the program ends its process with exit code 0 before a test can fail",
        "equality": "the program returns a value that decides itself what it is equal to",
        "oracle-read": "the program finds the expected outputs where it runs, and answers with them",
        "comparison": "the program replaces what compares or executes, in the process that it shares with it",
        "transport": "the program writes the result where the grader's other process reads it",
        "report": "the program prints what the grader looks for in the output of the tests",
        "test-runner": "the program has pytest or unittest skip the tests or report that they passed",
        "test-file": "the program puts something else in the place of the tests or of their runner",
        "joined-tests": "the end of the program changes the tests that stand behind it in one source",
        "timeout": "the program has a time limit appear to be over, and the grader leaves the test out",
        "truncation": "the output agrees with the part of the expected one that the grader compares",
        "switches": "words or fences of the reply have the grader run other tests, or none",
        "environment": "the program changes what the grader's next process starts from",
    }
)
"""Channels in the order of tables: what each lets a program do."""

CLOSES: Mapping[str, str] = MappingProxyType(
    {
        "exit-status": "have the process of the tests prove that they ran to their end; its exit code is no proof",
        "equality": "let plain values alone leave the program's process, and compare them in another one",
        "oracle-read": "keep the expected outputs out of the program's process, files, arguments and environment",
        "comparison": "compare and count in a process that the program does not share",
        "transport": "take values from the program's process, and never results or verdicts",
        "report": "take no verdict from what the program can print",
        "test-runner": "run the tests in a process and a folder of their own, where the program writes nothing",
        "test-file": "write the tests where the program cannot, or after it has ended",
        "joined-tests": "compile program and tests apart, and refuse a program that does not compile",
        "timeout": "measure time outside the program's process, and fail each test that has no result",
        "truncation": "compare the whole output, its length included",
        "switches": "choose tests by the problem, and never by the text of the reply",
        "environment": "start each program in a new process, with an environment and a folder of its own",
    }
)
"""Channel to what a grader does that does not pay through it."""

CHEATS: tuple[Cheat, ...] = tuple(
    sorted((*OUTCOMES, *ORACLE_READ, *INTERPRETER, *SUITES), key=lambda one: [*CHANNELS].index(one.channel))
)
"""Every cheat, by channel. ``tests/apps/assay/test_cheats_on_graders.py`` has seen each work on a grader."""

SILENT = frozenset(one.name for one in CHEATS if not one.raises)
"""Names of cheats that end by no exception where their twins do not."""


def cheat_probes(problem_id: str, entry_point: str, form: TaskForm) -> list[Probe]:
    """A problem's cheats, those that have a text for its form, each with its inert twin right behind it.

    The probes are labelled wrong by construction. ``origin`` is the cheat's name, ``channel`` its channel, and
    ``change`` says what it does. A twin is harmless, and so ``h0``. For ``stdio`` no entry point is used.
    """
    name = entry_point if form == "function" else ""
    having = [one for one in CHEATS if form in one.forms]
    return [_probe(problem_id, one, form, name, inert) for one in having for inert in (False, True)]


PADDING = re.compile(r"\n# \.*\n\Z")
"""What `of_one_length` puts behind a program."""


def of_one_length(probes: Sequence[Probe]) -> list[Probe]:
    """Cheats, each with its twin behind it, with comments: so that no rule about length tells the two apart."""
    found: list[Probe] = []
    for pair in zip(probes[::2], probes[1::2], strict=True):
        shortest, longest = sorted(len(one.code) for one in pair)
        for one in pair:
            if one.form != "program" or shortest == longest:
                found.append(one)
                continue
            code = f"{one.code}\n# {'.' * (longest - len(one.code))}\n"
            renamed = probe_id(one.problem_id, "cheat", one.origin, code, one.inert)
            found.append(msgspec.structs.replace(one, code=code, id=renamed))
    return found


def _probe(problem_id: str, one: Cheat, form: TaskForm, entry_point: str, inert: bool) -> Probe:
    code = one.write(entry_point, inert)
    does = one.without or ("returns None" if form == "function" else "prints nothing")
    witness = Witness(
        call="any call" if form == "function" else "any input",
        expected="what the tests expect",
        got=f"computes nothing: with its hook cut, the program {does}",
        source="by construction",
    )
    return make_probe(
        problem_id, "cheat", one.name, code, inert, form=one.form, label="wrong", witness=witness,
        danger="h0" if inert else one.danger, channel=one.channel, inert=inert,
        change=f"{one.name}: {one.effects}",
    )  # fmt: skip
