"""Foreign graders: the same one in three dresses, what they may be sent, and every way in which they fail."""

from __future__ import annotations

import http.server
import json
import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from targets_support import (
    EQUAL_TO_ALL,
    HONEST,
    LEAKY,
    RAISES,
    RIGHT,
    WRONG,
    add_problem,
    asked,
    sending,
    verdicts,
)
from truegrade.assay.targets.dry import dry
from truegrade.assay.targets.opening import open_target
from truegrade.errors import UserError
from truegrade.sandbox.levels import detect

jailed = pytest.mark.skipif(detect().level < 3, reason="needs protection level 3: install bubblewrap")
PROBES = (RIGHT, WRONG, RAISES, EQUAL_TO_ALL)


def written(folder: Path, text: str, name: str = "rewards.py") -> Path:
    """A grader's file."""
    path = folder / name
    path.write_text(dedent(text))
    return path


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
            self.wfile.write(answer.encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/grade", got
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def function_of(source: str) -> Any:
    """The grader itself."""
    space: dict[str, Any] = {}
    exec(dedent(source), space)
    return space["reward"]


@jailed
@pytest.mark.parametrize(("source", "wanted"), [(LEAKY, [True, False, False, True]), (HONEST, [True] + [False] * 3)])
def test_the_same_grader_as_file_command_and_service_gives_equal_verdicts(tmp_path, source, wanted):
    sent = [sending(code) for code in PROBES]
    file = written(tmp_path, source)
    judge = written(tmp_path, source + "\nimport sys\nprogram, tests = (open(p).read() for p in sys.argv[1:3])\n"
                    "sys.exit(0 if reward(program, json.loads(tests)) == 1.0 else 1)\n", "judge")  # fmt: skip
    judge.write_text("#!/usr/bin/env python3\nimport json\n" + judge.read_text())
    judge.chmod(judge.stat().st_mode | stat.S_IXUSR | stat.S_IXOTH)
    reward = function_of(source)

    by_file = asked(open_target(f"{file}:reward"), *sent)
    by_command = asked(open_target(f"cmd:{judge} {{program}} {{tests}}"), *sent)
    with service(lambda body: (200, json.dumps(reward(body["program"], body["tests"])))) as (address, _):
        by_service = asked(open_target(address), *sent)
    in_process = asked(open_target(reward), *sent)

    assert verdicts(by_file) == verdicts(by_command) == verdicts(by_service) == verdicts(in_process) == wanted
    assert [one.probe for one in by_file] == [one.probe.id for one in sent]
    assert all(one.wall_s is not None for one in by_file)


# ----------------------------------------------------------------------------------------------- danger

MARKER = """
import os, pathlib
for folder in {folders!r}:
    try:
        pathlib.Path(folder, "marker").write_text("here")
    except OSError:
        pass
def add(a, b):
    return a + b
"""


def test_outside_the_jail_only_harmless_probes_arrive_unless_the_flag_says_so():
    sent = [sending(RIGHT), sending("# h1\n" + RIGHT, danger="h1"), sending("# h2\n" + RIGHT, danger="h2")]
    arrived: list[str] = []

    def reward(program: str, tests: object) -> bool:
        arrived.append(program)
        return True

    with service(lambda body: (200, "true")) as (address, got):
        for danger, number in ((None, 1), ("h0", 1), ("h1", 2), ("h2", 3)):
            got.clear()
            arrived.clear()
            said = asked(open_target(address, danger=danger), *sent)
            here = asked(open_target(reward, danger=danger), *sent)
            wanted = [one.probe.code for one in sent[:number]]
            assert [body["program"] for body in got] == arrived == wanted
            for answers in (said, here):
                assert [one.detail.startswith("not_sent:") for one in answers] == [n >= number for n in range(3)]


def test_off_loopback_danger_asks_for_the_word_that_it_is_ones_own():
    with pytest.raises(UserError, match=r"`mine=True`"):
        open_target("http://example.org/grade", danger="h1")
    target = open_target("http://example.org/grade", danger="h1", mine=True)
    assert target.danger == "h1"
    target.close()
    assert open_target("http://example.org/grade").danger == "h0"
    assert open_target("http://localhost:1/grade", danger="h2").danger == "h2"


@jailed
def test_a_dangerous_probe_in_the_jail_leaves_nothing_outside(tmp_path):
    file = written(tmp_path, LEAKY)
    folders = [str(tmp_path), os.getcwd(), str(Path.home()), "/tmp", "/var/tmp"]
    before = [Path(folder, "marker").exists() for folder in folders]
    probe = sending(MARKER.format(folders=folders), danger="h2")
    # Of an exit in the grader's own process, the grader dies and not we.
    leaves = sending("import os\nos._exit(0)\n", danger="h1")
    said = asked(open_target(f"{file}:reward"), probe, leaves, sending(WRONG))
    assert [one.passed for one in said] == [True, None, False]
    assert said[1].detail.startswith("grader_died:")
    assert [Path(folder, "marker").exists() for folder in folders] == before


@jailed
def test_outside_the_jail_a_file_gets_harmless_probes_only(tmp_path):
    seen = tmp_path / "seen"
    file = written(tmp_path, f"""
        def reward(program, tests):
            with open({str(seen)!r}, "a") as file:
                file.write(program + "---")
            return True
    """)  # fmt: skip
    sent = [sending(RIGHT), sending("# h1\n" + RIGHT, danger="h1")]
    tmp_path.chmod(0o777)
    said = asked(open_target(f"{file}:reward", jail=False), *sent)
    assert verdicts(said) == [True, None]
    assert seen.read_text() == RIGHT + "---"


def test_without_a_jail_it_is_refused(tmp_path, monkeypatch):
    from truegrade.errors import SandboxError
    from truegrade.sandbox import pool
    from truegrade.sandbox.protection import Protection

    bare = Protection(level=1, why="resource limits only")
    monkeypatch.setattr(pool, "detect", lambda _=3: bare)
    monkeypatch.setattr("truegrade.assay.targets.opening.detect", lambda: bare)
    target = open_target(f"{written(tmp_path, LEAKY)}:reward")
    assert target.danger == "h0"
    with pytest.raises(SandboxError, match="allow_unsafe"):
        asked(target, sending(RIGHT))
    assert verdicts(asked(open_target(f"{tmp_path}/rewards.py:reward", allow_unsafe=True), sending(RIGHT))) == [True]


def test_dry_writes_every_probe_and_sends_none(tmp_path):
    with service(lambda body: (200, "true")) as (address, got):
        target = open_target(address)
        index = dry([target], [sending(RIGHT), sending("# h2\n" + RIGHT, danger="h2")], tmp_path / "dry")
        target.close()
    assert got == []
    lines = [json.loads(line) for line in index.read_text().splitlines()]
    assert [line["sent_to"] for line in lines] == [[address], []]
    assert [(index.parent / line["file"]).read_text() for line in lines] == [RIGHT, "# h2\n" + RIGHT]


# ------------------------------------------------------------------------------------- what graders do

KINDS = {
    "subprocess": """
        import subprocess, sys
        def reward(program, tests):
            done = subprocess.run([sys.executable, "-c", program + "\\n" + "\\n".join(tests)], capture_output=True)
            return done.returncode == 0
    """,
    "interpreter by name": """
        import subprocess
        def reward(program, tests):
            source = program + "\\n" + "\\n".join(tests)
            return subprocess.run(["python3", "-"], input=source.encode(), capture_output=True).returncode == 0
    """,
    "shell": """
        import subprocess
        def reward(program, tests):
            open("a.py", "w").write(program + "\\n" + "\\n".join(tests))
            return subprocess.run("timeout 20 python a.py 2>/dev/null | cat; exit ${PIPESTATUS:-0}", shell=True,
                                  executable="/bin/bash").returncode == 0
    """,
    "multiprocessing with a manager": """
        import multiprocessing
        def work(program, tests, result):
            try:
                exec(program + "\\n" + "\\n".join(tests), {})
                result.append(True)
            except BaseException:
                result.append(False)
        def reward(program, tests):
            result = multiprocessing.Manager().list()
            process = multiprocessing.Process(target=work, args=(program, tests, result))
            process.start()
            process.join(20)
            if process.is_alive():
                process.kill()
            return bool(result) and result[0]
    """,
    "values, arrays and spawn": """
        import multiprocessing
        def work(program, tests, value):
            try:
                exec(program + "\\n" + "\\n".join(tests), {})
                value.value = 1
            except BaseException:
                value.value = 0
        def reward(program, tests):
            context = multiprocessing.get_context("spawn")
            value = context.Value("i", 0)
            process = context.Process(target=work, args=(program, tests, value))
            process.start()
            process.join(20)
            return value.value
    """,
    "a pool of processes": """
        import concurrent.futures
        def work(source):
            try:
                exec(source, {})
                return True
            except Exception:
                return False
        def reward(program, tests):
            with concurrent.futures.ProcessPoolExecutor(2) as pool:
                return all(pool.map(work, [program + "\\n" + test for test in tests]))
    """,
    "limits and alarms": """
        import resource, signal
        def late(*_):
            raise TimeoutError
        def reward(program, tests):
            signal.signal(signal.SIGALRM, late)
            signal.setitimer(signal.ITIMER_REAL, 20)
            resource.setrlimit(resource.RLIMIT_AS, (30 << 30, 30 << 30))
            try:
                exec(program + "\\n" + "\\n".join(tests), {})
                return True
            except Exception:
                return False
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    """,
    "asyncio": """
        import asyncio, sys
        async def reward(program, tests):
            source = program + "\\n" + "\\n".join(tests)
            process = await asyncio.create_subprocess_exec(sys.executable, "-c", source, stderr=-3)
            return await process.wait() == 0
    """,
}


@jailed
@pytest.mark.parametrize("kind", KINDS)
def test_ordinary_graders_work_in_the_jail(tmp_path, kind):
    file = written(tmp_path, KINDS[kind])
    sent = [sending(code) for code in (RIGHT, WRONG, RAISES, RIGHT)]
    if "limits" in kind:
        sent = sent[:1]  # a limit can be lowered once
    assert verdicts(asked(open_target(f"{file}:reward"), *sent)) == [True, False, False, True][: len(sent)]


@jailed
@pytest.mark.parametrize("start", ["pytest.main(['-q', 'test_solution.py'])", "subprocess.run([sys.executable, '-m', "
                                   "'pytest', '-q', 'test_solution.py'], capture_output=True).returncode"])  # fmt: skip
def test_a_grader_that_runs_pytest(tmp_path, start):
    file = written(tmp_path, f"""
        import os, pathlib, pytest, subprocess, sys, tempfile
        def reward(program, tests):
            os.chdir(tempfile.mkdtemp())
            pathlib.Path("solution.py").write_text(program)
            pathlib.Path("test_solution.py").write_text(tests)
            for name in ("solution", "test_solution"):
                sys.modules.pop(name, None)
            sys.path[:] = [os.getcwd(), *sys.path]
            return {start} == 0
    """)  # fmt: skip
    target = open_target(f"{file}:reward", tests_as="pytest", packages=("pytest",))
    assert verdicts(asked(target, sending(RIGHT), sending(WRONG))) == [True, False]


@jailed
def test_files_beside_a_grader_are_read_and_never_written(tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    (tmp_path / "package" / "known.json").write_text("[1.0]")
    written(tmp_path / "package", "import json, pathlib\nHERE = pathlib.Path(__file__).parent\n", "near.py")
    file = written(tmp_path / "package", """
        import json
        from .near import HERE
        def reward(program, tests):
            try:
                (HERE / "known.json").write_text("[0.0]")
            except OSError:
                return json.loads((HERE / "known.json").read_text())
    """)  # fmt: skip
    assert verdicts(asked(open_target(f"{file}:reward"), sending(RIGHT))) == [True]


@jailed
def test_what_a_probe_leaves_behind_is_met_by_the_next_and_not_by_the_next_group(tmp_path):
    file = written(tmp_path, LEAKY)
    poison = sending("import json\njson.poisoned = True\n" + WRONG, danger="h1")
    control = sending("import json\ndef add(a, b):\n    return a + b if hasattr(json, 'poisoned') else None\n")
    target = open_target(f"{file}:reward")
    assert verdicts(list(target.grade([poison, control]))) == [False, True]
    assert verdicts(asked(target, control)) == [False]


# ----------------------------------------------------------------------------------------------- failures


@jailed
@pytest.mark.parametrize(
    ("body", "passed", "score", "begins"),
    [
        ("return 'yes'", None, None, "grader_text: yes"),
        ("raise KeyError('tests')", None, None, "grader_raised: KeyError: 'tests'"),
        ("raise SystemExit(0)", None, None, "grader_raised: SystemExit"),
        ("import os; os._exit(0)", None, None, "grader_died:"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", None, None, "grader_died:"),
        ("import time; time.sleep(60)", None, None, "grader_hung:"),
        ("return None", None, None, "grader_score: None"),
        ("return float('nan')", None, None, "grader_score: nan"),
        ("return [1.0, 0.0]", None, None, "grader_score: a list of 2"),
        ("return object()", None, None, "grader_score: a value of type object"),
        ("print('PASSED'); return 0", False, 0.0, ""),
        ("import numpy; return numpy.float64(1)", True, 1.0, ""),
        ("import numpy; return numpy.array([0.25])", False, 0.25, ""),
        ("import fractions; return fractions.Fraction(1)", None, None, "grader_score:"),
        ("return {'score': 1.0, 'acc': True}", True, 1.0, ""),
        ("return {'score': 0.3, 'passed': True}", True, 0.3, ""),
        ("import types; return types.SimpleNamespace(reward=1.0, is_correct=False)", False, 1.0, ""),
    ],
)
def test_answers_of_every_kind(tmp_path, body, passed, score, begins):
    file = written(tmp_path, f"def reward(program, tests):\n    {body}\n")
    target = open_target(f"{file}:reward", timeout_s=1.0, packages=("numpy",))
    said = asked(target, sending(RIGHT), sending(WRONG))  # and a grader that died is started again
    assert len(said) == 2
    for one in said:
        assert (one.passed, one.score) == (passed, score)
        assert one.detail.startswith(begins), one.detail


@jailed
@pytest.mark.parametrize(
    ("text", "call", "message"),
    [
        ("import not_installed_anywhere\n", "plain", "`packages`"),
        ("1 / 0\n", "plain", "ZeroDivisionError.*correct it"),
        ("import os; os._exit(3)\n", "plain", "ended the process"),
        ("def other(): pass\n", "plain", "no attribute 'reward'"),
        ("def reward(a): pass\n", "plain", "`call=plain` hands it 2 arguments"),
        ("def reward(data, answer): pass\n", "verl", "data_source, solution_str, ground_truth"),
        ("class reward:\n    def __init__(self, a, b): pass\n", "plain", "it is a class"),
    ],
)
def test_a_grader_that_cannot_be_used_at_all(tmp_path, text, call, message):
    with pytest.raises(UserError, match=message) as raised:
        asked(open_target(f"{written(tmp_path, text)}:reward", call=call, tests_as="asserts"), sending(RIGHT))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("grader", "more", "message"),
    [
        ("nowhere.py:reward", {}, "no such file"),
        ("nowhere", {}, "is no grader"),
        ("no_such_module_at_all:reward", {}, "no module"),
        ("cmd:no-such-command-at-all {program}", {}, "no command"),
        ("cmd:cat tests", {}, "put {program}"),
        ("cmd:'", {}, "quotation"),
        ("cmd:cat {program}", {"call": "trl"}, "no way to run a command"),
        ("http://127.0.0.1:1/", {"call": "trl"}, "no way to ask"),
        ("http:///x", {"danger": "h1"}, "is no address"),
        (print, {"call": "exit-code"}, "no way to call"),
        ("os:getcwd", {"call": "unknown"}, "none of plain"),
        ("os:getcwd", {"tests_as": "unknown"}, "none of asserts"),
        ("os:getcwd", {"danger": "h9"}, "none of h0"),
    ],
)
def test_what_is_named_wrongly(grader, more, message):
    with pytest.raises(UserError, match=message):
        open_target(grader, **more)


def test_a_service_that_fails():
    answers = {RIGHT: (200, "1"), WRONG: (500, "broken\nmuch"), RAISES: (200, "<html>")}
    with service(lambda body: answers[body["program"]]) as (address, _):
        said = asked(open_target(address), *map(sending, answers))
    assert [one.detail for one in said] == ["", "grader_raised: HTTP 500: broken much", "grader_text: <html>"]
    with pytest.raises(UserError, match="cannot be reached"):
        asked(open_target(address), sending(RIGHT))
    with service(lambda body: (time.sleep(1.5), (200, "1"))[1]) as (address, _):
        assert asked(open_target(address, timeout_s=0.2), sending(RIGHT))[0].detail.startswith("grader_hung:")


def test_a_callable_that_fails():
    def reward(program: str, tests: object) -> object:
        if program == WRONG:
            raise SystemExit(0)
        time.sleep(1.0 if program == RAISES else 0)
        return True

    said = asked(open_target(reward, timeout_s=0.3), sending(RIGHT), sending(WRONG), sending(RAISES))
    assert [one.detail.partition(":")[0] for one in said] == ["", "grader_raised", "grader_hung"]


@jailed
def test_commands(tmp_path):
    sent = (sending(RIGHT), sending(WRONG))
    checks = written(tmp_path, "import sys\nexec(open(sys.argv[1]).read() + open(sys.argv[2]).read())\n", "c.py")
    target = open_target(f"cmd:python3 {checks} {{program}} {{tests}}", tests_as="pytest")
    assert asked(target, *sent)[0].detail.startswith("exit status 1")  # there is no module `solution`
    words = "cmd:sh -c 'cat \"$0\" | python3 -; echo 0.5' {program}"
    assert [one.score for one in asked(open_target(words, call="plain"), *sent)] == [0.5, 0.5]
    missing = asked(open_target("cmd:sh -c 'no-such-tool {program}'"), *sent)
    assert missing[0].passed is None
    assert missing[0].detail.startswith("grader_died: exit status 127")


@jailed
@pytest.mark.slow
def test_a_killed_assay_leaves_no_grader_behind(tmp_path):
    token = f"sleep_of_{os.getpid()}"
    file = written(tmp_path, f"""
        import subprocess, sys, time
        def reward(program, tests):
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "{token}"])
            time.sleep(600)
    """)  # fmt: skip
    script = f"""
from targets_support import RIGHT, asked, sending
from truegrade.assay.targets.opening import open_target
asked(open_target({f"{file}:reward"!r}, timeout_s=600), sending(RIGHT))
"""
    paths = [str(Path(__file__).parent), *sys.path]
    assay = subprocess.Popen([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)})
    try:
        assert _comes_true(lambda: _running(token))
    finally:
        assay.kill()
        assay.wait()
    assert _comes_true(lambda: not _running(token))


def _running(token: str) -> bool:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if token.encode() in path.read_bytes() and b"targets_support" not in path.read_bytes():
                return True
        except OSError:
            continue
    return False


def _comes_true(what: Any) -> bool:
    deadline = time.monotonic() + 20
    while not (true := what()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return bool(true)


def test_closing_twice_is_harmless(tmp_path):
    target = open_target(f"{written(tmp_path, LEAKY)}:reward")
    target.close()
    target.close()
    assert add_problem().id == "add/0"
