"""Where a directory of control groups is named, what the programs of a worker use together is bounded."""

import os
from contextlib import suppress
from pathlib import Path

import pytest

from truegrade.errors import SandboxError
from truegrade.sandbox import Limits, Sandbox, levels
from truegrade.sandbox.bubblewrap import HEADROOM_BYTES, VARIABLE
from truegrade.sandbox.limits import MIB

HIERARCHIES = (Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup"))
"""Of version 1; of version 2."""
LIMITS = Limits(cpu_s=5, wall_s=10, memory_bytes=128 * MIB, scratch_bytes=8 * MIB, processes=12)
EATING = """
import os, time
for _ in range(12):
    if os.fork() == 0:
        x = b'x' * (40 << 20)
        time.sleep(60)
def f(): time.sleep(60)
"""
"""Twelve processes, each within its own limit, for an instant between two looks of the supervisor."""


def delegated(hierarchy, name):
    """A directory of our own, in which groups with a limit can be made; None if there is none to be had."""
    own = hierarchy / name
    try:
        own.mkdir()
        if not (own / "memory.limit_in_bytes").exists():
            (own / "cgroup.subtree_control").write_text("+memory")
    except OSError:
        with suppress(OSError):
            own.rmdir()
        return None
    return own


@pytest.fixture
def groups(monkeypatch):
    name = f"truegrade-test-{os.getpid()}"
    own = next(filter(None, (delegated(hierarchy, name) for hierarchy in HIERARCHIES)), None)
    if own is None:
        pytest.skip("no control group can be made here")
    monkeypatch.setenv(VARIABLE, str(own))
    yield own
    left = [path.name for path in own.iterdir() if path.is_dir()]
    for path in left:
        (own / path).rmdir()
    own.rmdir()
    assert left == []


@pytest.mark.parametrize("level", [3, 2])
def test_all_processes_of_a_program_are_bounded_together(groups, monkeypatch, level):
    if levels.detect(level).level != level:
        pytest.skip(levels.detect(level).why)
    monkeypatch.setattr("truegrade.sandbox.supervisor.memory_bytes", lambda pids: 0)  # so only the kernel looks
    with Sandbox(LIMITS, workers=1, max_level=level) as sandbox:
        eaten = sandbox.call(EATING, "f", [()], lambda _, result: True)
        (group,) = [path for path in groups.iterdir() if path.is_dir()]
        peak = group / "memory.max_usage_in_bytes"
        if peak.exists():
            assert int(peak.read_text()) <= 136 * MIB + HEADROOM_BYTES
        assert sandbox.call("def f(): return 1", "f", [()], lambda _, result: True).status == "passed"
    assert eaten.status == "memory_limit", eaten
    assert "together" in eaten.detail


def test_the_protection_says_so(groups):
    levels.forget()
    try:
        assert levels.detect().level < 2 or "a control group for memory" in levels.detect().why
    finally:
        levels.forget()


def test_a_directory_that_is_none_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "missing"))
    with (
        Sandbox(LIMITS, workers=1, max_level=1, allow_unsafe=True) as sandbox,
        pytest.raises(SandboxError, match=rf"{VARIABLE}.*missing.*unset it"),
    ):
        sandbox.inside("pass")
