"""One pool for all processes of a node: shared, taken over, forked from, and left at exit."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from pathlib import Path

import pytest

import truegrade
from support.reward_replies import RIGHT, SLOW, WRONG, square
from support.thorough import one_in
from truegrade.apps.rewards import node_pool as places
from truegrade.apps.rewards.grader import RewardGrader
from truegrade.apps.rewards.node_pool import NodePool, private_folder
from truegrade.errors import UserError

OWNER = """
    import sys, time
    grader = RewardGrader(workers=2)
    assert grader.grade_sync([square()])[0].value == 1.0
    print("ready", flush=True)
"""


def started(code):
    """A process that has the grader at hand, as a trainer's would."""
    head = (
        "from support.reward_replies import ENDLESS, square\n"
        "from truegrade.apps.rewards.grader import RewardGrader, reward_grader\n"
    )
    source = Path(truegrade.__file__).parents[1]
    tests = Path(__file__).parents[2]
    return subprocess.Popen(
        [sys.executable, "-c", head + textwrap.dedent(code)],
        env=os.environ | {"PYTHONPATH": f"{source}{os.pathsep}{tests}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextlib.contextmanager
def owner(code=""):
    process = started(OWNER + textwrap.indent(textwrap.dedent(code or "time.sleep(600)"), "    "))
    try:
        assert process.stdout.readline() == "ready\n", process.communicate()[1]
        yield process
    finally:
        process.kill()
        process.communicate()


def test_the_pool_needs_no_counters(monkeypatch):
    """It serves for this user alone, who never asked for a service."""
    hidden = "import sys\nsys.modules['prometheus_client'] = None\n"
    with tempfile.TemporaryDirectory(prefix="tg-", dir="/tmp") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        process = started(hidden + textwrap.dedent(OWNER) + "grader.close()\n")
        assert process.communicate()[0] == "ready\n"


def owns(grader):
    return places._askers[grader._place].place.owns


def test_the_second_process_uses_the_pool_of_the_first():
    with RewardGrader(workers=2) as grader:
        assert grader.grade_sync([square()])[0].value == 1.0 and owns(grader)
        other = started("""
            import json
            from truegrade.apps.rewards import node_pool
            with RewardGrader() as grader:
                values = [it.value for it in grader.grade_sync([square(), square("0")])]
                print(json.dumps([values, [it.place.owns for it in node_pool._askers.values()]]))
        """)
        said, errors = other.communicate(timeout=180)
        assert other.returncode == 0 and not errors
        assert json.loads(said) == [[1.0, 0.0], [False]]


def test_another_takes_over_when_the_owner_is_killed():
    """What the owner had under way is asked again: the slow programs run when it dies."""
    with owner() as first, RewardGrader() as grader:
        assert grader.grade_sync([square()])[0].value == 1.0 and not owns(grader)
        earned = []
        replies = [square(SLOW)] * 2 + [square(WRONG), square(RIGHT)]
        asking = threading.Thread(target=lambda: earned.extend(it.value for it in grader.grade_sync(replies)))
        asking.start()
        time.sleep(0.3)
        first.send_signal(signal.SIGKILL)
        asking.join(60)
        assert earned == [1.0] * 2 + [0.0, 1.0] and owns(grader)


@pytest.mark.slow
def test_another_takes_over_when_the_owner_closes_even_where_errors_are_raised():
    with (
        owner("""
            time.sleep(.5)
            grader.close()
            print("closed", flush=True)
            time.sleep(600)
        """) as first,
        RewardGrader(on_error="raise") as grader,
    ):
        replies = [square(SLOW)] * 4
        assert [it.value for it in grader.grade_sync(replies)] == [1.0] * 4
        assert first.stdout.readline() == "closed\n"
        assert grader.grade_sync([square()])[0].value == 1.0 and owns(grader)


@pytest.mark.slow
def test_a_killed_owner_is_missed_though_its_forked_child_lives():
    """A loader of data, say: it has the owner's lock and sockets, unless it lets go of them."""
    with (
        owner("""
        import os
        if os.fork() == 0:
            time.sleep(600)
        print("forked", flush=True)
        time.sleep(600)
    """) as first,
        RewardGrader(retry_s=60) as grader,
    ):
        assert first.stdout.readline() == "forked\n"
        children = Path(f"/proc/{first.pid}/task/{first.pid}/children").read_text().split()
        child = next(int(it) for it in children if b"reward_replies" in Path(f"/proc/{it}/cmdline").read_bytes())
        try:
            first.kill()
            first.wait()
            assert grader.grade_sync([square()])[0].value == 1.0 and owns(grader)
        finally:
            os.kill(child, signal.SIGKILL)


FORKING = """
    import os
    grader = reward_grader({settings})
    assert grader.grade_sync([square()])[0].value == 1.0
    child = os.fork()
    values = [it.value for it in reward_grader({settings}).grade_sync([square(), square("0")])]
    if child == 0:
        os._exit(7 if values == [1.0, 0.0] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert values == [1.0, 0.0] and grader.grade_sync([square()])[0].value == 1.0
"""


@pytest.mark.slow
def test_a_forked_process_asks_by_a_connection_of_its_own():
    process = started(FORKING.format(settings=""))
    assert process.communicate(timeout=180) == ("", "") and process.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    one_in(
        2,
        [
            # A thread that the interpreter waits for is still asking.
            """
        import threading, time
        grader = reward_grader()
        grader.grade_sync([square()])
        slow = [square(ENDLESS)] * 50
        threading.Thread(target=grader.grade_sync, args=(slow,)).start()
        time.sleep(.2)
        """,
            # Much is under way in threads that nobody waits for.
            """
        import threading, time
        grader = reward_grader()
        slow = [square(ENDLESS)] * 50
        for _ in range(4):
            threading.Thread(target=grader.grade_sync, args=(slow,), daemon=True).start()
        time.sleep(1)
        """,
            # A process of multiprocessing, which ends in a way of its own.
            """
        import multiprocessing
        reward_grader().grade_sync([square()])
        context = multiprocessing.get_context("fork")
        child = context.Process(target=lambda: reward_grader().grade_sync([square()]))
        child.start()
        child.join()
        assert child.exitcode == 0
        """,
            # A loop ends in the middle.
            """
        import asyncio
        async def go():
            asyncio.ensure_future(reward_grader().grade([square(ENDLESS)] * 50))
            await asyncio.sleep(1)
        asyncio.run(go())
        """,
        ],
    ),
    ids=["thread", "daemon threads", "multiprocessing", "loop"],
)
def test_an_interpreter_ends_without_waiting(code):
    process = started(code)
    assert process.communicate(timeout=180) == ("", "") and process.returncode == 0


@pytest.mark.slow
def test_nothing_is_left_behind():
    with RewardGrader() as grader:
        grader.grade_sync([square()])
        socket = places._askers[grader._place].place.socket
        assert socket.is_socket()
    assert not socket.exists()
    process = started("reward_grader().grade_sync([square()])")  # nobody closes it
    assert process.communicate(timeout=60) == ("", "") and process.returncode == 0
    assert not socket.exists()


def test_a_folder_that_others_can_write_to_is_refused(monkeypatch, tmp_path):
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    mine = private_folder()
    assert mine == tmp_path / f"truegrade-{os.geteuid()}" and mine.stat().st_mode & 0o777 == 0o700
    mine.chmod(0o755)
    with pytest.raises(UserError, match="open to other users"):
        RewardGrader().grade_sync([square()])
    mine.rmdir()
    mine.symlink_to(tmp_path)
    with pytest.raises(UserError, match="open to other users"):
        private_folder()


def test_a_path_too_long_for_a_socket_is_told(monkeypatch, tmp_path):
    deep = tmp_path / ("d" * 90)
    deep.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(deep))
    with pytest.raises(UserError, match="too long for a Unix socket"):
        NodePool(None)
