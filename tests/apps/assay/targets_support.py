"""Problems, probes and graders for the tests of foreign targets."""

from __future__ import annotations

import http.server
import itertools
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from truegrade.apps.assay.records import Danger, Dispatch, Probe, Said, probe_id
from truegrade.apps.assay.targets import Target
from truegrade.records import Case, CasesTask, FunctionTask, Problem
from truegrade.sandbox import Sandbox
from truegrade.sandbox.levels import detect

jailed = pytest.mark.skipif(detect().level < 3, reason="needs protection level 3: install bubblewrap")
_numbers = itertools.count()

RIGHT = "def add(a, b):\n    return a + b\n"
WRONG = "def add(a, b):\n    return a - b\n"
RAISES = "def add(a, b):\n    raise ValueError(a)\n"
EQUAL_TO_ALL = (
    "class Any:\n    def __eq__(self, other):\n        return True\n\ndef add(a, b):\n    return Any()\n"
)

LEAKY = '''
"""Believes what the program itself says: the tests run in its namespace."""
import json

def reward(program, tests):
    space = {}
    try:
        exec(program, space)
        for test in tests:
            exec(test, space)
    except Exception:
        return 0.0
    return 1.0
'''
HONEST = '''
"""Compares text that the program did not make."""
import ast, os, subprocess, sys

def reward(program, tests):
    for test in tests:
        call, wanted = ast.unparse(ast.parse(test).body[0].test).split(" == ")
        source = program + f"\\nprint(repr({call}))\\n"
        done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=20)
        if done.returncode or done.stdout.strip() != wanted:
            return 0.0
    return 1.0
'''


def add_problem(number: int = 0) -> Problem:
    """Add two numbers."""
    tests = "assert add(1, 2) == 3\nassert add(0, -4) == -4"
    task = FunctionTask(prompt="Add two numbers.", entry_point="add", tests=tests, reference=RIGHT)
    return problem_of(task, f"add/{number}")


def cases_problem(*cases: tuple[tuple[Any, ...], Any]) -> Problem:
    """A function with calls as tests."""
    made = tuple(Case(arguments=arguments, expected=expected) for arguments, expected in cases)
    return problem_of(CasesTask(entry_point="f", buggy="", reference="", cases=made), "f")


def problem_of(task: Any, name: str) -> Problem:
    """A problem of a set that nobody published."""
    return Problem(id=name, benchmark="own", dataset_sha256="0", cluster=name, task=task)


def sending(code: str, *, danger: Danger = "h0", problem: Problem | None = None, **more: Any) -> Dispatch:
    """A program on its way."""
    problem = problem or add_problem()
    kind = more.pop("kind", "mutant")
    probe = Probe(
        id=probe_id(problem.id, kind, "own", code), problem_id=problem.id, kind=kind, origin="own", code=code,
        label=more.pop("label", "wrong"), danger=danger, **more,
    )  # fmt: skip
    return Dispatch(probe=probe, problem=problem)


def asked(target: Target, *sent: Dispatch) -> list[Said]:
    """What it says, once it is closed."""
    try:
        return list(target.grade(sent))
    finally:
        target.close()


def verdicts(said: list[Said]) -> list[bool | None]:
    """Passed, refused, or no verdict."""
    return [one.passed for one in said]


class _Kept(Sandbox):
    """Stays open for the next target that is shown the same: to start one takes a second on a busy machine."""

    def close(self) -> None:
        """Not yet."""

    def close_at_last(self) -> None:
        """End its processes."""
        super().close()


@pytest.fixture(scope="module", name="kept_sandboxes")
def fixture_kept_sandboxes() -> Iterator[None]:
    """Targets of a module share their sandboxes."""
    kept: dict[str, _Kept] = {}

    def lend(*settings: Any, **more: Any) -> Sandbox:
        return kept.setdefault(repr((settings, more)), _Kept(*settings, **more))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("truegrade.apps.assay.targets.opening.Sandbox", lend)
        yield
    for one in kept.values():
        one.close_at_last()


@pytest.fixture(scope="module", name="write")
def fixture_write(tmp_path_factory: pytest.TempPathFactory, kept_sandboxes: None) -> Callable[..., Path]:
    """Writes a grader's file into the folder of all graders of a module."""
    folder = tmp_path_factory.mktemp("graders")

    def written(text: str, name: str = "") -> Path:
        path = folder / (name or f"rewards_{next(_numbers)}.py")
        path.write_text(dedent(text))
        return path

    return written


@contextmanager
def service(function: Any) -> Iterator[tuple[str, list[Any]]]:
    """An address that answers what the function makes of each body, and the bodies that it got."""
    got: list[Any] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            got.append(body)
            status, answer = function(body)
            self.send_response(status)
            self.end_headers()
            with suppress(BrokenPipeError):  # whoever asked waits no longer
                self.wfile.write(answer.encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/grade", got
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
