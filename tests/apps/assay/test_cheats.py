"""Cheats do what they declare and no more; with their hooks cut they do nothing, and compute nothing."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from support.thorough import one_in
from truegrade.apps.assay.cheats import CHANNELS, CHEATS, CLOSES, cheat_probes
from truegrade.sandbox import Limits, Sandbox
from truegrade.sandbox.limits import MIB

WATCH = Path(__file__).with_name("cheat_watch.py")
NEVER = {"change", "process", "signal", "socket", "ctypes"}
TESTS = "def test_it():\n    assert add(1, 2) == 3\n"
PROGRAMS = [(one, form) for one in CHEATS if one.form == "program" for form in one.forms]
IDS = [f"{one.name}-{form}" for one, form in PROGRAMS]
ALONE = [row for row in PROGRAMS if row[0].channel != "joined-tests"]
"""Those that are programs without the tests behind them; the others cannot be compiled, and so do nothing."""


def _entry(form):
    return "add" if form == "function" else ""


def _watched(code, entry, tmp_path, name):
    """(kind, detail) of what a program did, and its folder; a file of tests lies there."""
    folder = tmp_path / name
    folder.mkdir()
    (folder / "test_add.py").write_text(TESTS)
    program, log = tmp_path / f"{name}.py", tmp_path / f"{name}.log"
    program.write_text(code)
    command = [sys.executable, "-B", "-S", str(WATCH), str(program), entry, str(log)]
    subprocess.run(command, cwd=folder, input="1 2\n", text=True, capture_output=True, timeout=60)
    return [tuple(line.split(" ", 1)) for line in log.read_text().splitlines()], folder


def _outside(found, folder):
    """Paths that were opened outside a folder."""
    paths = [Path(detail) for kind, detail in found if kind in {"write", "read"}]
    return [path for path in paths if not path.is_relative_to(folder) and str(path) != "/dev/null"]


@pytest.mark.parametrize(("one", "form"), one_in(6, ALONE), ids=[f"{one.name}-{form}" for one, form in ALONE])
def test_a_cheat_does_what_its_danger_allows(one, form, tmp_path):
    found, folder = _watched(one.write(_entry(form), False), _entry(form), tmp_path, "active")
    kinds = {kind for kind, detail in found if detail != "/dev/null"}
    assert not kinds & NEVER
    assert not _outside(found, folder)
    names = {path.name for path in folder.iterdir()}
    assert "test_add.py" in names
    if one.danger == "h0":
        assert not kinds
    if one.danger == "h2":
        assert kinds & {"write"} and (len(names) > 1)
    else:
        assert "write" not in kinds and names == {"test_add.py"}
    if (folder / "test_add.py").read_text() != TESTS:
        assert (folder / "truegrade-assay-marker-test_add.py").read_text() == TESTS


@pytest.mark.parametrize(("one", "form"), one_in(6, PROGRAMS), ids=IDS)
def test_an_inert_twin_does_nothing(one, form, tmp_path):
    found, folder = _watched(one.write(_entry(form), True), _entry(form), tmp_path, "inert")
    assert not found
    assert {path.name for path in folder.iterdir()} == {"test_add.py"}


def test_the_watch_sees_what_it_is_there_for(tmp_path):
    seen = {
        "write": "open('x', 'w')",
        "read": "open('/etc/hostname')",
        "change": "import os\nos.remove('test_add.py')",
        "process": "import os\nos.system('true')",
        "signal": "import os\nos.kill(os.getpid(), 0)",
        "socket": "import socket\nsocket.socket()",
        "ctypes": "import ctypes\nctypes.string_at(b'x')",
        "exit": "import os\nos._exit(0)",
        "looks": "import sys\nsys._getframe()",
        "interpreter": "import builtins\nbuiltins.all = 1",
    }
    for kind, code in seen.items():
        assert kind in {found for found, _ in _watched(code, "", tmp_path, kind)[0]}, kind


# ------------------------------------------------------------------------------------------------- in the jail


@pytest.fixture(scope="module")
def jail():
    limits = Limits(cpu_s=3, wall_s=6, memory_bytes=512 * MIB)
    with Sandbox(limits, workers=1, allow_unsafe=True) as opened:
        yield opened


def _value(jail, code):
    """(outcome, what the function gives for 1 and 2, or its error)."""
    results = []
    outcome = jail.call(code, "add", [(1, 2)], lambda _, result: results.append(result) or True)
    return outcome, results[0] if results else None


@pytest.mark.parametrize("channel", CHANNELS)
def test_cheats_in_the_jail(channel, jail):
    """None reaches the answers from there, none harms it, and what a twin gives is what its witness says."""
    for one in (one for one in CHEATS if one.channel == channel and one.form == "program"):
        for inert in (False, True):
            if "function" in one.forms:
                outcome, result = _value(jail, one.write("add", inert))
                assert outcome.status != "grader_error", one.name
                if inert:
                    assert outcome.status == "passed" and result.error is None, one.name
                    assert (result.value is None) or one.without, one.name
                if result is not None and result.error is None:
                    assert not (type(result.value) is int and result.value == 3), one.name
            if "stdio" in one.forms:
                outcome = jail.script(one.write("", inert), "3 4\n")
                assert outcome.status != "grader_error" and outcome.stdout.strip() != "7", one.name
                if inert:
                    assert outcome.status == "passed", one.name
                    assert outcome.stdout == ("truegrade-assay\n" if one.without else ""), one.name


def test_what_program_and_tests_in_one_process_accept(jail):
    """The twins never pass; of the cheats, those that look at the program's own process do."""
    passed = {}
    for inert in (False, True):
        functions = [one for one in CHEATS if "function" in one.forms and one.form == "program"]
        sources = {one: f"{one.write('add', inert)}\nassert add(1, 2) == 3\n" for one in functions}
        passed[inert] = {one.channel for one, source in sources.items() if jail.inside(source).status == "passed"}
    assert passed == {False: {"equality", "oracle-read", "joined-tests"}, True: set()}


# ------------------------------------------------------------------------------------------------------ texts


def test_every_cheat_is_named_once_and_every_channel_has_several():
    assert len({one.name for one in CHEATS}) == len(CHEATS)
    counts = {name: sum(one.channel == name for one in CHEATS) for name in CHANNELS}
    assert CLOSES.keys() == CHANNELS.keys()
    assert min(counts.values()) >= 3 and sum(counts.values()) == len(CHEATS)
    assert {one.benchjack for one in CHEATS} <= {"V1", "V2", "V5", "V6", "V7"}


@pytest.mark.parametrize("entry_point", ["add", "write", "answer", "check_sum", "replace"])
def test_texts_are_programs_with_and_without_their_hooks(entry_point):
    for one in CHEATS:
        for form in one.forms:
            name = entry_point if form == "function" else ""
            active, inert = (one.write(name, cut) for cut in (False, True))
            assert active != inert
            for text in (active, inert):
                assert not {"<<", "||", ">>", "ENTRY"} & set(text.split()) and "ENTRY" not in text
                if one.form == "program" and (text is inert or one.channel != "joined-tests"):
                    tree = ast.parse(text)
                    assert form == "stdio" or entry_point in {getattr(node, "name", "") for node in tree.body}


def test_the_probes_of_a_problem():
    probes = cheat_probes("HumanEval/0", "add", "function")
    assert len(probes) == 2 * sum("function" in one.forms for one in CHEATS)
    assert len({probe.id for probe in probes}) == len(probes)
    for active, inert in zip(probes[::2], probes[1::2], strict=True):
        assert (active.origin, active.channel, active.inert, inert.inert) == (
            inert.origin,
            inert.channel,
            False,
            True,
        )
        assert active.origin in active.change and active.label == inert.label == "wrong" and inert.danger == "h0"
        assert active.witness.source == "by construction"
    assert {probe.id for probe in probes}.isdisjoint(p.id for p in cheat_probes("HumanEval/1", "add", "function"))
