"""Foreign graders: the same one in three dresses, what they may be sent, and every way in which they fail."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
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
    asked,
    fixture_kept_sandboxes,  # noqa: F401
    fixture_write,  # noqa: F401
    jailed,
    sending,
    service,
    verdicts,
)

from truegrade.apps.assay.running import dry
from truegrade.apps.assay.targets.opening import open_target
from truegrade.apps.assay.targets.programs import locate
from truegrade.errors import UserError

PROBES = (RIGHT, WRONG, RAISES, EQUAL_TO_ALL)


def function_of(source: str) -> Any:
    """The grader itself."""
    space: dict[str, Any] = {}
    exec(dedent(source), space)
    return space["reward"]


@jailed
@pytest.mark.parametrize(
    ("source", "wanted"), [(LEAKY, [True, False, False, True]), (HONEST, [True] + [False] * 3)]
)
def test_the_same_grader_as_file_command_and_service_gives_equal_verdicts(write, source, wanted):
    sent = [sending(code) for code in PROBES]
    file = write(source)
    judge = write(source + "\nimport sys\nprogram, tests = (open(p).read() for p in sys.argv[1:3])\n"
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
def test_a_dangerous_probe_in_the_jail_leaves_nothing_outside(write):
    file = write(LEAKY)
    folders = [str(file.parent), os.getcwd(), str(Path.home()), "/tmp", "/var/tmp"]
    before = [Path(folder, "marker").exists() for folder in folders]
    probe = sending(MARKER.format(folders=folders), danger="h2")
    # Of an exit in the grader's own process, the grader dies and not we.
    leaves = sending("import os\nos._exit(0)\n", danger="h1")
    said = asked(open_target(f"{file}:reward"), probe, leaves, sending(WRONG))
    assert [one.passed for one in said] == [True, None, False]
    assert said[1].detail.startswith("grader_died:")
    assert [Path(folder, "marker").exists() for folder in folders] == before


@jailed
def test_outside_the_jail_a_file_gets_harmless_probes_only(write, tmp_path):
    seen = tmp_path / "seen"
    file = write(f"""
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


def test_without_a_jail_it_is_refused(write, monkeypatch):
    from truegrade.errors import SandboxError
    from truegrade.sandbox import pool
    from truegrade.sandbox.limits import Protection

    bare = Protection(level=1, why="resource limits only")
    monkeypatch.setattr(pool, "detect", lambda *_: bare)
    monkeypatch.setattr("truegrade.apps.assay.targets.opening.detect", lambda: bare)
    file = write(LEAKY)
    target = open_target(f"{file}:reward")
    assert target.danger == "h0"
    with pytest.raises(SandboxError, match="allow_unsafe"):
        asked(target, sending(RIGHT))
    assert verdicts(asked(open_target(f"{file}:reward", allow_unsafe=True), sending(RIGHT))) == [True]


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
def test_ordinary_graders_work_in_the_jail(write, kind):
    file = write(KINDS[kind])
    sent = [sending(code) for code in (RIGHT, WRONG, RAISES, RIGHT)]
    if "limits" in kind:
        sent = sent[:1]  # a limit can be lowered once
    assert verdicts(asked(open_target(f"{file}:reward"), *sent)) == [True, False, False, True][: len(sent)]


@jailed
@pytest.mark.parametrize("start", ["main", "run"])
def test_a_grader_that_runs_pytest(write, start):
    file = write(f"""
        import os, pathlib, pytest, subprocess, sys, tempfile
        def reward(program, tests):
            os.chdir(tempfile.mkdtemp())
            pathlib.Path("solution.py").write_text(program)
            pathlib.Path("test_solution.py").write_text(tests)
            for name in ("solution", "test_solution"):
                sys.modules.pop(name, None)
            sys.path[:] = [os.getcwd(), *sys.path]
            return STARTS[{start!r}]() == 0
        words = [sys.executable, "-m", "pytest", "-q", "test_solution.py"]
        STARTS = {{
            "main": lambda: pytest.main(["-q", "test_solution.py"]),
            "run": lambda: subprocess.run(words, capture_output=True).returncode,
        }}
    """)  # fmt: skip
    target = open_target(f"{file}:reward", tests_as="pytest", packages=("pytest",))
    assert verdicts(asked(target, sending(RIGHT), sending(WRONG))) == [True, False]


@jailed
def test_files_beside_a_grader_are_read_and_never_written(write):
    folder = write("", "known.json").parent / "package"
    folder.mkdir()
    write("", "package/__init__.py")
    write("[1.0]", "package/known.json")
    write("import pathlib\nHERE = pathlib.Path(__file__).parent\n", "package/near.py")
    file = write(
        """
        import json
        from .near import HERE
        def reward(program, tests):
            try:
                (HERE / "known.json").write_text("[0.0]")
            except OSError:
                return json.loads((HERE / "known.json").read_text())
        """,
        "package/grader.py",
    )
    assert verdicts(asked(open_target(f"{file}:reward"), sending(RIGHT))) == [True]


@jailed
def test_what_a_probe_leaves_behind_is_met_by_the_next_and_not_by_the_next_group(write):
    file = write(LEAKY)
    poison = sending("import json\njson.poisoned = True\n" + WRONG, danger="h1")
    control = sending("import json\ndef add(a, b):\n    return a + b if hasattr(json, 'poisoned') else None\n")
    target = open_target(f"{file}:reward")
    assert verdicts(list(target.grade([poison, control]))) == [False, True]
    assert verdicts(asked(target, control)) == [False]


@jailed
def test_commands(write):
    sent = (sending(RIGHT), sending(WRONG))
    checks = write("import sys\nexec(open(sys.argv[1]).read() + open(sys.argv[2]).read())\n", "c.py")
    target = open_target(f"cmd:python3 {checks} {{program}} {{tests}}", tests_as="pytest")
    assert asked(target, *sent)[0].detail.startswith("exit status 1")  # there is no module `solution`
    words = "cmd:sh -c 'cat \"$0\" | python3 -; echo 0.5' {program}"
    assert [one.score for one in asked(open_target(words, call="plain"), *sent)] == [0.5, 0.5]
    missing = asked(open_target("cmd:sh -c 'no-such-tool {program}'"), *sent)
    assert missing[0].passed is None
    assert missing[0].detail.startswith("grader_died: exit status 127")
    for lacking in (
        "-m no_such_module",
        "-m no_such_module.judge",
        "no_such_file.py",
    ):  # exit status 1 is no verdict
        silent = asked(open_target(f"cmd:python3 {lacking} {{program}}"), *sent)
        assert all(one.passed is None and one.detail.startswith("grader_died") for one in silent), lacking
    tells = "import sys\nsys.exit('python3: No module named another')\n"
    refused = asked(open_target(f"cmd:python3 {write(tells, 'tells.py')} {{program}}"), *sent)
    assert [one.passed for one in refused] == [False, False]


@jailed
@pytest.mark.slow
def test_a_killed_assay_leaves_no_grader_behind(write):
    token = f"sleep_of_{os.getpid()}"
    file = write(f"""
        import subprocess, sys, time
        def reward(program, tests):
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "{token}"])
            time.sleep(600)
    """)  # fmt: skip
    script = f"""
from targets_support import RIGHT, asked, sending
from truegrade.apps.assay.targets.opening import open_target
from truegrade.apps.assay.targets.programs import locate
asked(open_target({f"{file}:reward"!r}, timeout_s=600), sending(RIGHT))
"""
    paths = [str(Path(__file__).parent), *sys.path]
    assay = subprocess.Popen(
        [sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    )
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
    deadline = time.monotonic() + 180
    while not (true := what()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return bool(true)


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("def other(p, t): return 1", True),
        ("", False),
        ("1 / 0", False),
        ("reward = lambda p, t: 1", False),
        ("from os import path as reward", False),
        ("if True:\n    class reward: pass", False),
        ("from os import *", False),
        ("def f(p, t): exec(p)\nglobals()['reward'] = len", False),
        ("def __getattr__(name): return len", False),
        ("def reward(", False),  # which loading it tells
    ],
)
def test_a_file_that_binds_no_such_name_is_refused_before_anything_runs(tmp_path, text, refused):
    path = tmp_path / "rewards.py"
    path.write_text(text)
    if refused:
        with pytest.raises(UserError, match=r"rewards\.py: has no reward"):
            locate(f"{path}:reward.each")
    else:
        assert locate(f"{path}:reward").attribute == "reward"
