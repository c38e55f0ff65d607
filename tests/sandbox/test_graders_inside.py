"""What a grader under measurement may do in the jail, and that no candidate may."""

from __future__ import annotations

import ast
import re
import socket
from pathlib import Path

import pytest

import truegrade
from truegrade.sandbox import GraderNeeds, Limits, Sandbox
from truegrade.sandbox.levels import detect
from truegrade.sandbox.seccomp import X86_64, jail_filter, local

jailed = pytest.mark.skipif(detect().level < 3, reason="needs protection level 3: install bubblewrap")

TRIES = """
import multiprocessing, os, resource, socket, subprocess, sys

def attempt(name, *args):
    try:
        return globals()[name](*args)
    except (OSError, EOFError, ValueError) as error:
        return type(error).__name__

def listens():
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("here")
        server.listen()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect("here")
            client.sendall(b"x")
            return server.accept()[0].recv(1).decode()

def other_socket(family, kind):
    return socket.socket(family, kind).fileno()

def manages():
    with multiprocessing.Manager() as manager:
        return list(manager.list([1]))

def connects(path):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
    return "connected"

def reads(path):
    return open(path).read()

def writes(path):
    return open(path, "w").write("x")

def starts(*words):
    return subprocess.run(words, capture_output=True, text=True).stdout.strip()

def raises_limit():
    resource.setrlimit(resource.RLIMIT_AS, (30 << 30, 30 << 30))
    return "raised"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("grader")
    (place / "beside.txt").write_text("beside")
    return place


@pytest.fixture(scope="module")
def grader(folder):
    needs = GraderNeeds(shown=(str(folder), "/bin/sh"))
    with Sandbox(Limits(cpu_s=20, processes=16, packages=("pytest",), grader=needs), workers=1) as opened:
        yield opened


@pytest.fixture(scope="module")
def candidate():
    with Sandbox(Limits(cpu_s=20, processes=16), workers=1) as opened:
        yield opened


def tried(sandbox, *calls):
    """What each call gives, in one process."""
    results = []
    sandbox.call(TRIES, "attempt", calls, lambda _, result: results.append(result) is None)
    assert [result.error for result in results] == [None] * len(calls)
    return [result.value for result in results]


@jailed
def test_a_grader_makes_local_sockets_and_a_candidate_none(grader, candidate):
    calls = [("listens",), ("manages",)]
    assert tried(grader, *calls) == ["x", [1]]
    assert tried(candidate, *calls) == ["PermissionError", "EOFError"]


@jailed
def test_no_other_socket_is_made(grader):
    kinds = [(socket.AF_INET, socket.SOCK_STREAM), (socket.AF_INET6, socket.SOCK_DGRAM),
             (socket.AF_UNIX, socket.SOCK_DGRAM), (socket.AF_NETLINK, socket.SOCK_RAW)]  # fmt: skip
    calls = [("other_socket", int(family), int(kind)) for family, kind in kinds]
    assert set(tried(grader, *calls)) == {"PermissionError"}


@jailed
def test_sockets_of_the_machine_are_out_of_reach(grader, tmp_path):
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as abstract:
        server.bind(str(tmp_path / "outside"))
        server.listen()
        abstract.bind("\0truegrade-outside")
        abstract.listen()
        said = tried(grader, ("connects", str(tmp_path / "outside")), ("connects", "\0truegrade-outside"))
    assert set(said) <= {"PermissionError", "FileNotFoundError", "ConnectionRefusedError"}


@jailed
def test_what_is_shown_is_read_and_never_written(grader, candidate, folder):
    beside = str(folder / "beside.txt")
    assert tried(grader, ("reads", beside), ("writes", beside)) == ["beside", "OSError"]
    assert tried(candidate, ("reads", beside))[0] in {"PermissionError", "FileNotFoundError"}
    assert (folder / "beside.txt").read_text() == "beside"


@jailed
def test_interpreters_that_a_grader_starts_find_its_packages(grader):
    import sys

    words = ("starts", sys.executable, "-I", "-c", "import pytest; print(pytest.__name__)")
    assert tried(grader, words, ("starts", "/bin/sh", "-c", "echo shell")) == ["pytest", "shell"]
    gone = tried(grader, ("starts", sys.executable, "-I", "-c", "import msgspec; print(1)"))
    assert gone == [""]


@jailed
def test_a_grader_may_lower_its_limits_from_a_high_place(grader, candidate):
    assert tried(grader, ("raises_limit",)) == ["raised"]
    assert tried(candidate, ("raises_limit",)) == ["ValueError"]


def test_each_call_has_a_clock_of_its_own():
    source = "import time\ndef f(s):\n    time.sleep(s)\n    return s\n"
    heard = []
    with Sandbox(Limits(cpu_s=20, wall_s=30), workers=1, allow_unsafe=True) as sandbox:
        calls = [(0.4,)] * 4 + [(20,), (0,)]
        outcome = sandbox.call(
            source, "f", calls, lambda _, result: heard.append(result.value) is None, call_wall_s=1.0
        )
    assert heard == [0.4] * 4  # 1.6 s together
    assert outcome.status == "time_limit"


def test_sockets_stand_in_no_filter_of_candidates():
    number = local(X86_64)["socket"]
    plain, with_sockets = jail_filter(X86_64), jail_filter(X86_64, sockets=True)
    assert number not in [step[3] for step in plain]
    assert number in [step[3] for step in with_sockets]


def test_only_targets_of_assays_give_a_grader_its_needs():
    """Whoever grades candidates never lets them have any of it."""
    root = Path(truegrade.__file__).parent
    users = set()
    for path in root.rglob("*.py"):
        text = path.read_text()
        # To parse all of them takes seconds.
        for node in ast.walk(ast.parse(text)) if re.search(r"\bgrader\s*=", text) else ():
            if isinstance(node, ast.Call) and any(word.arg == "grader" for word in node.keywords):
                called = ast.unparse(node.func)
                if called in {"Limits", "replace"}:
                    users.add(path.relative_to(root).as_posix())
    assert users == {"apps/assay/targets/opening.py"}
