"""What protection is found, what is said about it, and what is refused without it."""

import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from truegrade.errors import SandboxError
from truegrade.sandbox import Limits, Sandbox, levels, run_program
from truegrade.sandbox.limits import MIB
from truegrade.sandbox.zygotes import APART, PRELOADED, Zygote, kind_of


@pytest.fixture
def fresh(monkeypatch):
    """Detection without what was found before."""
    levels.forget()
    yield monkeypatch
    levels.forget()


def test_a_level_is_never_above_what_is_asked_for():
    assert [levels.detect(level).level <= level for level in (1, 2, 3)] == [True] * 3
    assert levels.detect(1).why == "resource limits only"


def test_level_1_refuses_untrusted_programs():
    with Sandbox(max_level=1) as sandbox:
        assert sandbox.level == 1
        with pytest.raises(
            SandboxError, match=r"level 1.*apt install bubblewrap.*`allow_unsafe=True`.*your files"
        ):
            sandbox.inside("pass")
    with Sandbox(max_level=1, allow_unsafe=True) as sandbox:
        assert sandbox.inside("pass").status == "passed"


def level_2(fresh, bubblewrap, *, namespaces_forbidden):
    """What is found out where level 3 is not to be had, for want of the one or by the other."""
    if levels.detect().level < 2:
        pytest.skip(levels.detect().why)
    levels.forget()
    fresh.setattr(shutil, "which", lambda name: bubblewrap)
    fresh.setattr(levels, "_namespaces_forbidden", lambda: namespaces_forbidden)
    found = levels.detect()
    assert found.level == 2
    return found


def test_without_bubblewrap_the_level_is_2_and_says_how_to_get_it(fresh):
    found = level_2(fresh, None, namespaces_forbidden=False)
    assert "not level 3: bubblewrap is not there; install bubblewrap" in found.why


@pytest.mark.parametrize("bubblewrap", [None, shutil.which("false")])
def test_nobody_is_told_to_install_what_a_container_forbids(fresh, bubblewrap):
    found = level_2(fresh, bubblewrap, namespaces_forbidden=True)
    assert found.why.endswith(f"; not level 3: {levels.NO_NAMESPACES}")


def test_a_filter_that_forbids_namespaces_is_noticed():
    # The filter of our own jail is one, and so stands in for a container's.
    look = (
        "import ctypes, os\nfrom truegrade.sandbox import levels\n"
        "from truegrade.sandbox.confine import MACHINES, Filter, jail_filter\n"
        "was = levels._namespaces_forbidden()\nctypes.CDLL(None).prctl(38, 1, 0, 0, 0)\n"
        "Filter(jail_filter(MACHINES[os.uname().machine])).install()\n"
        "print(was, levels._namespaces_forbidden())"
    )
    if levels.detect().level < 3:
        pytest.skip(levels.detect().why)
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True)
    assert done.stdout == "False True\n", done.stderr


def test_a_jail_that_lets_something_out_is_not_relied_upon(fresh):
    if levels.detect().level < 2:
        pytest.skip(levels.detect().why)
    levels.forget()
    fresh.setattr(shutil, "which", lambda name: "bwrap")
    fresh.setattr(levels, "_namespaces_forbidden", lambda: False)
    fresh.setattr(levels, "self_test", lambda *_: "the self-test's program reads the caller's files")
    found = levels.detect()
    assert found.level == 1
    assert found.why.count("reads the caller's files") == 2


@pytest.mark.parametrize(("limits", "zygotes"), [(Limits(cpu_s=2), 1), (Limits(packages=()), 2)])
def test_the_self_test_runs_in_the_first_worker_where_that_is_alike(fresh, limits, zygotes):
    offered = levels.detect().level  # above it, the test of what does not hold would start another
    if offered < 2:
        pytest.skip(levels.detect().why)
    levels.forget()
    started = []
    make = Zygote.__init__
    fresh.setattr(Zygote, "__init__", lambda *args: (started.append(args[1]), make(*args))[1])
    with Sandbox(limits, workers=1, max_level=offered) as sandbox:
        assert sandbox.script("pass").status == "passed"
    assert started == ["child"] * zygotes


def test_of_threads_that_begin_together_one_runs_the_self_test(fresh):
    tested = []
    fresh.setattr(levels, "self_test", lambda _: time.sleep(0.1) or tested.append(1))
    with ThreadPoolExecutor(4) as threads:
        assert len({found.level for found in threads.map(lambda _: levels.detect(2), range(4))}) == 1
    assert len(tested) <= 1


def test_the_self_test_finds_every_hole_at_level_1():
    protection = levels.detect(1)
    said = levels.self_test(protection)
    for hole in (
        "reads the caller's files",
        "changes the caller's files",
        "opens network connections",
        "makes sockets",
        "starts processes",
    ):
        assert hole in said


@pytest.mark.parametrize("level", [1, 2, 3])
def test_every_level_gives_the_same_outcomes(level):
    limits = Limits(cpu_s=20, memory_bytes=256 * MIB)
    with Sandbox(limits, workers=1, max_level=level, allow_unsafe=True) as sandbox:
        got = []
        sandbox.call(
            "def f(x): return x / 2", "f", [(3,), ("a",)], lambda _, r: got.append((r.value, r.error)) or True
        )
        statuses = [
            sandbox.judge("def f(x): return x", tests, ["f"]).status
            for tests in ("assert f(1) == 1", "assert f(1) == 2", "undefined")
        ]
        shown = sandbox.script("import os\nprint(input(), os.listdir())", "x")
    assert got == [(1.5, None), (None, "TypeError: unsupported operand type(s) for /: 'str' and 'int'")]
    assert statuses == ["passed", "wrong_answer", "grader_error"]
    assert (shown.status, shown.stdout) == ("passed", "x []\n")


def test_a_lost_zygote_is_replaced(monkeypatch):
    with Sandbox(Limits(cpu_s=20), workers=1, allow_unsafe=True) as sandbox:
        sandbox.inside("pass")
        zygote = next(iter(sandbox._idle[0]._zygotes.values()))
        zygote._popen.kill()
        zygote.close()
        assert sandbox.inside("pass").status == "passed"


def test_it_says_so_where_programs_have_nowhere_to_write(monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", "/proc/nowhere")
    with Sandbox(max_level=1, allow_unsafe=True) as sandbox, pytest.raises(SandboxError, match="set TMPDIR"):
        sandbox.inside("pass")


def test_a_script_cannot_change_its_input(tmp_path):
    outcome = run_program("import os\nos.write(0, b'x')", "input", allow_unsafe=True)
    assert outcome.status == "runtime_error"


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("import math", "standard"),
        ("import os, numpy as np", "numpy"),
        ("def f():\n    from numpy.linalg import norm", "numpy"),
        ("import pandas", "numpy"),
        ("x = 'numpy'", "standard"),
        ("import ast, faulthandler, shutil\nx = 1", "grading"),
        ("x = 1\nimport faulthandler", "standard"),
    ],
)
def test_the_kind_follows_the_imports(source, kind):
    assert kind_of(source) == kind


@pytest.mark.parametrize(
    ("preload", "kind"),
    [
        (["unittest"], "suite"),
        (["unittest", "numpy"], "suite with numpy"),
        (["unittest", "numpy", "pandas"], "science"),
        (["pytest", "numpy"], "pytest"),
        (["pytest", "scipy"], "science"),
    ],
)
def test_the_kind_of_a_suite_follows_its_packages(preload, kind):
    assert kind_of("import math", preload=preload) == kind
    assert kind in APART and ("numpy" in PRELOADED[kind]) == (kind == "suite with numpy")
