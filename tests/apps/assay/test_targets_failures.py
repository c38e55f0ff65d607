"""Every way in which a foreign grader fails to give a verdict, or cannot be used at all."""

from __future__ import annotations

import http.server
import threading
import time
from contextlib import suppress

import pytest
from targets_support import (
    RAISES,
    RIGHT,
    WRONG,
    asked,
    fixture_kept_sandboxes,  # noqa: F401
    fixture_write,  # noqa: F401
    jailed,
    sending,
    service,
)

from truegrade.apps.assay.records import DOES_NOT_END, Witness
from truegrade.apps.assay.targets.asking import MAX_ANSWER_BYTES
from truegrade.apps.assay.targets.opening import open_target
from truegrade.apps.assay.targets.programs import missing_in, started_in_vain
from truegrade.errors import UserError


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
def test_answers_of_every_kind(write, body, passed, score, begins):
    file = write(f"def reward(program, tests):\n    {body}\n")
    target = open_target(f"{file}:reward", timeout_s=1.0 if "sleep" in body else 60.0, packages=("numpy",))
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
        ("def other(): pass\n", "plain", "has no reward; it defines other"),
        ("def reward(a): pass\n", "plain", "`call` plain hands it 2 arguments"),
        ("def reward(data, answer): pass\n", "verl", "data_source, solution_str, ground_truth"),
        ("class reward:\n    def __init__(self, a, b): pass\n", "plain", "it is a class"),
    ],
)
def test_a_grader_that_cannot_be_used_at_all(write, text, call, message):
    with pytest.raises(UserError, match=message) as raised:
        asked(open_target(f"{write(text)}:reward", call=call, tests_as="asserts"), sending(RIGHT))
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


PYTEST = """
    import subprocess, sys
    def named(program, tests):
        return run(program, tests, "pytest")
    def module(program, tests):
        return run(program, tests, sys.executable, "-m", "pytest")
    def run(program, tests, *command):
        with open("test_it.py", "w") as file:
            file.write(program + "def test_all():\\n" + "".join(f"    {test}\\n" for test in tests))
        {start}
        return done.returncode == 0
"""


@jailed
def test_what_the_jail_lacks_is_said_with_how_to_offer_it(write):
    file = write(PYTEST.replace("{start}", "done = subprocess.run([*command, '-q', 'test_it.py'])"))
    (said,) = asked(open_target(f"{file}:named"), sending(RIGHT))
    assert missing_in(said.detail) == "the jail has no command 'pytest'; `packages` pytest offers it"
    for name in ("named", "module"):
        target = open_target(f"{file}:{name}", packages=("pytest",))
        assert [one.passed for one in asked(target, sending(RIGHT), sending(WRONG))] == [True, False]


def test_commands_that_a_file_starts_by_name_are_looked_for_before(write):
    """A reward that counts a failed start as a failed test refuses everything, and no exception says why."""
    no = "`jail=False` runs the grader outside the jail, where it is sent harmless programs alone"
    for start, said in {
        "subprocess.run(['pytest', '-q'])": ["the jail has no command 'pytest'; `packages` pytest offers it"],
        "os.system('pytest -q')": ["the jail has no command 'pytest'; `packages` pytest offers it"],
        "run([sys.executable, '-m', 'pytest'])": ["the jail has no module 'pytest'; `packages` pytest offers it"],
        "run(['no-such-judge'])": [
            f"the jail has no command 'no-such-judge', and no installed package offers it; {no}"
        ],
        "run(['python', '-m', 'unittest'])": [],
        "run([sys.executable, 'x.py'])": [],
        "run(command)": [],
        "run()": [],
        "run(": [],
    }.items():
        spec = f"{write(start)}:reward"
        assert started_in_vain(spec, ()) == said
        if "pytest" in start:
            assert started_in_vain(spec, ["pytest"]) == []


@jailed
def test_a_grader_without_a_time_limit_costs_one_and_not_each_program_that_does_not_end(write):
    """Each would take all of `timeout_s`, and has no verdict either way."""
    file = write("""
        def reward(program, tests):
            space = {}
            exec(program, space)
            try:
                [exec(test, space) for test in tests]
            except AssertionError:
                return False
            return True
    """)
    endless = "def add(a, b):\n    while True:\n        pass\n"
    proof = Witness(call="add(1, 2)", expected="3", got=f"{DOES_NOT_END} in 100,000 steps", source="own")
    sent = [sending(endless + f"# {turn}\n", witness=proof) for turn in range(3)]
    said = asked(open_target(f"{file}:reward", timeout_s=2.0), *sent, sending(RIGHT), sending(WRONG))
    assert [one.passed for one in said] == [None, None, None, True, False]
    assert [one.detail.startswith("grader_hung: not sent") for one in said[:3]] == [False, True, True]


def test_a_service_that_fails():
    answers = {RIGHT: (200, "1"), WRONG: (500, "broken\nmuch"), RAISES: (200, "<html>")}
    with service(lambda body: answers[body["program"]]) as (address, _):
        said = asked(open_target(address), *map(sending, answers))
    assert [one.detail for one in said] == ["", "grader_raised: HTTP 500: broken much", "grader_text: <html>"]
    with pytest.raises(UserError, match="cannot be reached"):
        asked(open_target(address), sending(RIGHT))
    with service(lambda body: (time.sleep(1.5), (200, "1"))[1]) as (address, _):
        assert asked(open_target(address, timeout_s=0.2), sending(RIGHT))[0].detail.startswith("grader_hung:")


BOMB = "x" * (MAX_ANSWER_BYTES + 1)
HOSTILE = ["[" * 500_000, "1e999", "9" * 5000, "9" * 400, '{"score": {}}', BOMB, ""]


@pytest.mark.parametrize("call", ["plain", "truegrade", "open-instruct", "sandboxfusion"])
@pytest.mark.parametrize(
    "answer", [*HOSTILE, '{"verdicts": [3]}', '{"results": [[]]}', '{"status": [], "run_result": 3}']
)
def test_no_answer_of_a_service_ends_the_measurement(call, answer):
    with service(lambda body: (200, answer)) as (address, _):
        tests_as = {"tests_as": "stdio"} if call == "sandboxfusion" else {}
        target = open_target(address, call=call, **tests_as)
        (said,) = asked(target, sending(RIGHT))
    assert said.passed is None and said.detail and len(said.detail) < 1000


def test_an_answer_that_does_not_end_is_read_to_a_bound_and_for_a_time(tmp_path):
    class Endless(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()
            with suppress(OSError):
                while True:
                    self.wfile.write(b"1" * (1 if slow else 1 << 16))
                    time.sleep(0.05 if slow else 0)

        def log_message(self, *_):
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endless)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        for slow, told in ((False, "grader_text: an answer of over"), (True, "grader_hung: no answer in 0.5 s")):
            target = open_target(f"http://127.0.0.1:{server.server_port}/grade", timeout_s=30 if not slow else 0.5)
            assert asked(target, sending(RIGHT))[0].detail.startswith(told)
    finally:
        server.shutdown()
        server.server_close()


def test_keys_in_the_address_of_a_service_are_not_shown():
    echo = (500, "no entry for dXNlcjpzM2NyM3Q5OQ== with QUERYKEY77")
    with service(lambda body: echo) as (address, _):
        given = address.replace("http://", "http://user:s3cr3t99@") + "?key=QUERYKEY77"
        (said,) = asked(open_target(given), sending(RIGHT))
    assert said.grader == f"{address}?key=[key]"
    assert said.detail == "grader_raised: HTTP 500: no entry for [key] with [key]"
    with pytest.raises(UserError) as caught:
        asked(open_target(given), sending(RIGHT))
    assert "s3cr3t99" not in str(caught.value) and "QUERYKEY77" not in str(caught.value)


def test_a_callable_that_fails():
    def reward(program: str, tests: object) -> object:
        if program == WRONG:
            raise SystemExit(0)
        time.sleep(1.0 if program == RAISES else 0)
        return True

    said = asked(open_target(reward, timeout_s=0.3), sending(RIGHT), sending(WRONG), sending(RAISES))
    assert [one.detail.partition(":")[0] for one in said] == ["", "grader_raised", "grader_hung"]
