"""Which cores programs run on."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from truegrade.sandbox import Limits, Sandbox

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2,
    reason="one core, or no way to choose",
)
ON = "import os\nprint(*sorted(os.sched_getaffinity(0)))\n"
BUSY = f"{ON}import time\ntime.sleep(1)"


def cores_of(sandbox: Sandbox, program: str = ON) -> set[int]:
    """Those that a program may use."""
    outcome = sandbox.script(program)
    assert outcome.status == "passed", outcome
    return set(map(int, outcome.stdout.split()))


@pytest.mark.parametrize(("patience_s", "workers"), [(60.0, 1), (0.1, 2)])
def test_another_worker_is_started_when_programs_have_waited_for_the_first(monkeypatch, patience_s, workers):
    monkeypatch.setattr("truegrade.sandbox.pool.PATIENCE_S", patience_s)
    with Sandbox(workers=2, allow_unsafe=True) as sandbox, ThreadPoolExecutor(2) as threads:
        assert all(threads.map(lambda _: cores_of(sandbox, BUSY), range(2)))
        assert len(sandbox._idle) == workers


def test_workers_that_keep_every_core_busy_stay_on_one_each():
    own = os.sched_getaffinity(0)
    with Sandbox(allow_unsafe=True) as sandbox, ThreadPoolExecutor(len(own)) as threads:
        used = list(threads.map(lambda _: cores_of(sandbox, BUSY), own))
    assert sorted(core for cores in used for core in cores) == sorted(own)


@pytest.mark.parametrize(
    "more", [{"workers": 1}, {"limits": Limits(processes=2)}], ids=["few workers", "programs of several processes"]
)
def test_others_go_where_there_is_room(more):
    with Sandbox(allow_unsafe=True, **more) as sandbox:
        assert cores_of(sandbox) == os.sched_getaffinity(0)
