"""No honest program is harmed: what the library asks of the kernel gives the same in the jail as outside."""

import subprocess
import sys
import textwrap
from dataclasses import replace

import pytest
from honest_calls import CALLS, PROCESSES

from support.thorough import one_in
from truegrade.sandbox import Limits, Sandbox, confine
from truegrade.sandbox.confine import FIRST_WITH_TRUNCATION
from truegrade.sandbox.levels import detect
from truegrade.sandbox.limits import MIB

LIMITS = Limits(cpu_s=5, wall_s=20, memory_bytes=1024 * MIB)


def program(body):
    return f"import os, shutil\ndef f():\n{textwrap.indent(body, '    ')}\n"


@pytest.fixture(scope="module", params=one_in(2, [3, 2]))
def level(request):
    if detect(request.param).level != request.param:
        pytest.skip(detect(request.param).why)
    return request.param


@pytest.fixture(scope="module")
def jail(level):
    with Sandbox(LIMITS, workers=1, max_level=level) as opened:
        yield opened


@pytest.fixture(scope="module")
def crowded_jail(level):
    with Sandbox(replace(LIMITS, processes=8), workers=1, max_level=level) as opened:
        yield opened


WHO = program("return os.getuid()")


def shown(source):
    return f"{source}\ng = f\ndef f(): return repr(g())\n"


def outside(source, folder):
    done = subprocess.run(
        [sys.executable, "-c", f"{shown(source)}\nprint(f())"], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def inside(sandbox, source):
    results = []
    outcome = sandbox.call(shown(source), "f", [()], lambda _, result: results.append(result) or True)
    assert results, outcome
    return results[0].error or results[0].value


@pytest.mark.parametrize("name", one_in(2, CALLS))
def test_a_program_gets_what_it_would_get_outside(jail, tmp_path, name):
    if jail.level == 2 and name == "cut off by its name" and confine.version() < FIRST_WITH_TRUNCATION:
        pytest.skip("refused, since this Landlock would let it cut off other files too")
    if jail.level == 2 and name == "modes and times" and inside(jail, WHO) == outside(WHO, tmp_path):
        pytest.skip("they stay as they are, since the program could change those of other files too")
    source = program(CALLS[name])
    assert inside(jail, source) == outside(source, tmp_path)


@pytest.mark.parametrize("name", PROCESSES)
def test_processes_where_they_are_allowed(crowded_jail, tmp_path, name):
    if (name, crowded_jail.level) == ("pool", 2):
        pytest.skip("its locks live in /dev/shm, which level 2 has none of")
    source = program(PROCESSES[name])
    assert inside(crowded_jail, source) == outside(source, tmp_path)
