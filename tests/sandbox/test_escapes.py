"""Nothing gets out of the jail, at level 3 and at level 2; every technique works where nothing forbids it."""

import contextlib
import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
from dataclasses import replace

import pytest
from hostile_programs import BOMBS, ENDLESS, ESCAPES, NOTES

from support.thorough import one_in, thorough
from truegrade.sandbox import Limits, Sandbox
from truegrade.sandbox.bubblewrap import spare_uid
from truegrade.sandbox.levels import detect
from truegrade.sandbox.limits import MIB
from truegrade.sandbox.tree import tree

BRIEF = {"cpu_s": 0.3, "wall_s": 0.8}
"""Limits of what must end by them."""
LIMITS = Limits(cpu_s=10, wall_s=60, memory_bytes=256 * MIB, output_bytes=MIB, scratch_bytes=16 * MIB)
X86 = platform.machine() == "x86_64"
NOT_CONTROLLED = {
    "secret through proc": "no namespace of its own, so nothing to go round",
    "exec": "would replace the control itself",
    "32-bit calls": "machines without 32-bit emulation end the process",
    "keyring": "missing in some kernels",
    "io_uring": "switched off on some machines",
    "user namespace": "forbidden on some machines",
    "raw call": "shown by tcp",
    "message queue": "a program in a container may have none",
    "affinity of the parent": "only of the same user",
    "raised limit": "containers drop the capability",
    "extended attribute": "not every file system has them",
    "notice of changes": "missing in some kernels",
    "urgent data": "missing in some kernels",
    "urgent message": "missing in some kernels",
    "read only what is in memory": "not every file system can",
}
ROOT_ONLY = {"write to the library", "mount", "chroot", "other user", "host name", "device node"} | {
    "mode by a descriptor",
    "mode for every jail",
}
SHARED = "2, with the user's own number"
APART = ("unshare", "--mount", "--uts", "--")


@pytest.fixture(scope="module", params=[3, 2, thorough(SHARED)])
def jail(request, tmp_path_factory):
    level = 2 if request.param == SHARED else request.param
    if detect(level).level != level:
        pytest.skip(detect(level).why)
    with pytest.MonkeyPatch.context() as patch:
        if request.param == SHARED:
            if spare_uid([*tree(LIMITS.packages).opened, tempfile.gettempdir()]) is None:
                pytest.skip("level 2 has no other number here")
            closed = tmp_path_factory.mktemp("closed")
            closed.chmod(0o700)
            patch.setattr("tempfile.tempdir", str(closed))
        with Sandbox(LIMITS, workers=2, max_level=level) as opened:
            yield opened


def shares_our_number(jail):
    """Whether its programs own what we own."""
    return jail.level == 2 and run(jail, "import os\ndef f(): return os.getuid()")[1].value == os.getuid()


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    """Things outside that a program must not reach."""
    home = tmp_path_factory.mktemp("home")
    (home / "secret").write_text("content-of-the-secret")
    home.chmod(0o755)
    (home / "secret").chmod(0o644)
    (home / "victim").write_text("not to be emptied")
    with contextlib.ExitStack() as stack:
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        unix, abstract, datagram = (stack.enter_context(socket.socket(socket.AF_UNIX, kind)) for kind in (1, 1, 2))
        name = f"\0truegrade-{os.getpid()}"
        for server, address in ((unix, str(home / "unix")), (abstract, name), (datagram, str(home / "datagram"))):
            server.bind(address)
        for server in (unix, abstract):
            server.listen()
        for path in home.iterdir():
            path.chmod(0o777)
        yield {
            "home": str(home),
            "secret": str(home / "secret"),
            "victim": str(home / "victim"),
            "content": "content-of-the-secret",
            "port": tcp.getsockname()[1],
            "unix": str(home / "unix"),
            "abstract": name,
            "datagram": str(home / "datagram"),
            "parent": os.getpid(),
            "target": 0,
            "true": shutil.which("true"),
            "socket_call": 41 if X86 else 198,
            "clone_call": 56 if X86 else 220,
            "keyctl_call": 250 if X86 else 219,
        }


def run(sandbox, program, *args, **limits):
    results = []
    outcome = sandbox.call(program, "f", [args], lambda _, result: results.append(result) or True, **limits)
    return outcome, results[0] if results else None


@pytest.mark.parametrize("name", ESCAPES)
def test_no_escape(jail, target, name):
    if name == "time of a device" and jail.level == 2 and not shares_our_number(jail):
        pytest.skip("whoever may write to a file may say that it was changed now")
    outcome, result = run(jail, ESCAPES[name], target)
    assert result is None or result.value is not True, (outcome, result)
    assert result is not None or outcome.status in {"killed", "runtime_error"}, outcome


@pytest.mark.parametrize("processes", [0, 4])
def test_the_first_process_of_the_jail_is_hidden(processes):
    if detect().level < 3:
        pytest.skip(detect().why)
    look = (
        "import os\ndef f():\n    own = os.path.exists('/proc/self/stat'), os.listdir('/proc/self/task')\n"
        "    return *own, os.path.exists('/proc/1'), str(os.getpid()) == own[1][0]"
    )
    with Sandbox(replace(LIMITS, processes=processes), workers=1) as small:
        own, threads, first, same = run(small, look)[1].value
    assert (own, len(threads), first, same) == (True, 1, False, True)


@pytest.mark.parametrize("name", one_in(3, [name for name in ESCAPES if name not in NOT_CONTROLLED]))
def test_the_technique_works_outside(target, name, tmp_path):
    if name in ROOT_ONLY and subprocess.run([*APART, "true"], capture_output=True).returncode != 0:
        pytest.skip("needs root, and namespaces in which to do it")
    sentry = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(60)"]
    )  # what "the parent" means here
    given = {**target, "target": sentry.pid}
    program = ESCAPES[name].replace("os.getppid()", str(sentry.pid))
    command = [sys.executable, "-c", f"{program}\nassert f({given!r}) is True"]
    if name in ROOT_ONLY:
        command = [*APART, *command]
    try:
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, timeout=30, env={**os.environ, "SECRET": target["content"]}
        )
    finally:
        sentry.kill()
        sentry.wait()
        (tmp_path.parent / "note").unlink(missing_ok=True)
    if name == "caller's environment":
        assert b"AssertionError" in done.stderr  # it can read; the secret is not in ours
    else:
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", NOTES)
def test_nothing_reaches_the_next_sample(jail, name):
    leave, look = NOTES[name]
    outcome, result = run(jail, f"{leave}\ndef f(): return {look}")
    if result is None:
        assert (name, jail.level) == ("shared memory file", 2), outcome  # refused outright
    elif name in {"mode of the scratch", "times of the scratch"} and shares_our_number(jail):
        assert result.value is False  # nothing is changed
    else:
        assert result.value is True, (outcome, result)  # seen by the program itself, so the next line can fail
    for _ in range(3):
        assert run(jail, f"def f(): return {look}")[1].value is False


@pytest.mark.parametrize(
    "name", ["closed directory", "closed directory below", "hidden deep", "names of the sweep"]
)
def test_whatever_a_program_made_of_its_scratch_is_swept_away(jail, name):
    zygotes = set()
    for _ in range(3):
        run(jail, f"{NOTES[name][0]}\ndef f(): return 1")
        zygotes |= {zygote.pid for worker in jail._idle for zygote in worker._zygotes.values()}
    run(jail, "def f(): return 1")
    zygotes |= {zygote.pid for worker in jail._idle for zygote in worker._zygotes.values()}
    assert len(zygotes) == 1  # it is replaced where something is left


@pytest.mark.parametrize("name", one_in(2, ENDLESS))
def test_endless_programs_end_by_their_limit(jail, name):
    if jail.level == 2 and name not in {"ignored signals", "stopped", "alarm", "threads"}:
        pytest.skip("the clocks are the same at every level; these are what signals and threads could change")
    outcome, _ = run(jail, ENDLESS[name] + "\ndef f(): return 1", **BRIEF)
    assert outcome.status == "time_limit", outcome
    assert outcome.cpu_s <= BRIEF["cpu_s"] + 0.5
    assert outcome.wall_s < LIMITS.wall_backstop_s / 2  # half of what others have


@pytest.mark.parametrize("name", BOMBS)
def test_no_program_uses_up_the_machine(jail, name):
    if (name, jail.level) == ("disk", 2):
        pytest.skip("level 2 bounds the size of a file, not of the directory")
    source, statuses = BOMBS[name]
    limits = BRIEF if "time_limit" in statuses else {}
    outcome, _ = run(jail, source + "\ndef f(): return 1", **limits)
    assert outcome.status in statuses, outcome
    assert run(jail, "def f(): return 1")[1].value == 1
