"""Inside a container with Docker's defaults the level is 2, and what must not get out does not.

The container is runc's, which Docker itself starts its containers with: Debian's and Ubuntu's package `runc`.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from support.docker_defaults import SUBORDINATE, configuration
from support.thorough import one_in
from truegrade.sandbox.bubblewrap import FIRST_UID
from truegrade.sandbox.levels import detect

REPOSITORY = Path(__file__).parents[2]
HOSTILE = ["test_levels.py", "test_escapes.py", "test_sandbox_forgeries.py"]
SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "usr")
HELD_AT_LEVEL_2 = 190
"""Tests that pass there at least; those of level 3 are skipped."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("runc") is None, reason="runc is not installed"),
    pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="containers are started by root"),
    pytest.mark.skipif(platform.machine() not in {"x86_64", "aarch64"}, reason="the filter is for other machines"),
]


@pytest.fixture
def bundle():
    """A folder that any user can reach, which those of pytest are not."""
    with tempfile.TemporaryDirectory(prefix="container-") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


@pytest.fixture
def contained(bundle):
    """Run a command of this Python in a container of its own: what `subprocess.run` gives."""
    if detect(2).level < 2:
        pytest.skip(detect(2).why)

    def run(*arguments, **given):
        done = _run(bundle, arguments, **given)
        if done.returncode and _run(bundle, ["-c", "print('started')"], **given).stdout != "started\n":
            pytest.skip(f"runc starts no such container here: {done.stderr.strip().splitlines()[-1:]}")
        return done

    return run


def _run(bundle, arguments, temporary="/tmp", **given):
    root = _root(bundle / "root", temporary, owner=SUBORDINATE[0]["hostID"] if given.get("remapped") else 0)
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": "/tmp",
        "TMPDIR": temporary,
        "PYTHONPATH": f"{REPOSITORY}/src",
        "PYTHONDONTWRITEBYTECODE": "1",
        "HYPOTHESIS_STORAGE_DIRECTORY": "/tmp/hypothesis",
    }
    command = [sys.executable, *arguments]
    config = configuration(root, command, environment=environment, read=_read(root), **given)
    (bundle / "config.json").write_text(json.dumps(config))
    runc, name = ["runc", "--root", str(bundle / "state")], f"truegrade-{os.getpid()}"
    try:
        started = [*runc, "run", "--bundle", str(bundle), name]
        return subprocess.run(started, capture_output=True, text=True, timeout=300)
    finally:
        subprocess.run([*runc, "delete", "--force", name], capture_output=True)
        shutil.rmtree(root)


def _root(root, temporary, owner):
    """A file system of empty directories, on which this machine's Python will be mounted."""
    root.mkdir()
    for name in SYSTEM:
        if Path("/", name).is_symlink():
            (root / name).symlink_to(os.readlink(Path("/", name)))
    for path in (root / "tmp", root / temporary[1:]):
        path.mkdir(exist_ok=True)
    (root / temporary[1:]).chmod(0o700)
    (root / "tmp").chmod(0o1777)
    for path in (root, *root.iterdir()):
        os.chown(path, owner, owner, follow_symlinks=False)
    return root


def _read(root):
    """What is mounted into it, outermost first."""
    paths = [f"/{name}" for name in SYSTEM if Path("/", name).is_dir() and not (root / name).is_symlink()]
    paths += ["/etc/ld.so.cache", "/etc/alternatives", sys.base_prefix, sys.prefix, f"{REPOSITORY}/src"]
    paths += [f"{REPOSITORY}/{name}" for name in ("tests", "pyproject.toml")]
    return sorted({path for path in paths if Path(path).exists()})


VARIANTS = {
    "root": {},
    "--user 1000": {"uid": 1000},
    "--cap-drop ALL": {"capabilities": []},
    "a user namespace": {"remapped": True},
    "a closed TMPDIR": {"temporary": "/closed"},
}


@pytest.mark.parametrize("variant", one_in(2, VARIANTS))
def test_the_level_is_2_and_says_why(contained, variant):
    done = contained("-m", "truegrade", "doctor", "--json", **VARIANTS[variant])
    assert done.returncode == 0, done.stderr
    (sandbox,) = (line["detail"] for line in json.loads(done.stdout) if line["name"] == "sandbox")
    assert sandbox.startswith("level 2, self-test passed: Landlock")
    assert sandbox.endswith("such as a container's, forbids namespaces")


@pytest.mark.thorough
@pytest.mark.parametrize("variant", ["root", "--user 1000"])
def test_hostile_programs_are_held_in_a_container(contained, variant):
    files = [f"{REPOSITORY}/tests/sandbox/{name}" for name in HOSTILE]
    done = contained("-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", *files, **VARIANTS[variant])
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) >= HELD_AT_LEVEL_2, done.stdout[-2000:]


@pytest.mark.parametrize("uid", [0, 1000])
def test_a_program_runs_in_a_container(contained, uid):
    program = "from truegrade.sandbox import run_program\nimport sys; print(run_program(sys.argv[1], 'x').stdout)"
    done = contained("-c", program, "import os; print(input(), os.getuid())", uid=uid)
    said, number = done.stdout.split()
    assert said == "x"
    assert int(number) == uid or (uid == 0 and int(number) >= FIRST_UID)
