"""What models and programs write is shown on a terminal and not obeyed; a pipe gets it as it is."""

import json
import os
import pty
import subprocess
import sys

import pytest
from click.testing import CliRunner

from support.thorough import one_in
from truegrade.cli import main

OWNED = "\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\b"
SHOWN = r"\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\x08"
FORBIDDEN = ("\x1b]0;", "\x1b[2J", "\x07", "\x9b", "\x7f", "\b")


def on_a_terminal(*command):
    """What a command writes to a terminal that is its standard output and error."""
    master, slave = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "200", "LINES": "50"}
    process = subprocess.Popen(
        [sys.executable, *command], stdin=subprocess.DEVNULL, stdout=slave, stderr=slave, env=environment
    )
    os.close(slave)
    read = b""
    try:
        while chunk := os.read(master, 65536):
            read += chunk
    except OSError:  # Linux: the last writer has closed it
        pass
    finally:
        os.close(master)
        process.wait(timeout=60)
    return read.decode()


def obeyed(screen):
    return [sequence for sequence in FORBIDDEN if sequence in screen]


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(
        f"import sys\nprint({OWNED!r}, 'a\\tb')\nprint({OWNED!r}, file=sys.stderr)\nraise ValueError({OWNED!r})\n"
    )
    return path


def test_exec_shows_what_a_program_would_do_to_the_terminal(program):
    screen = on_a_terminal("-m", "truegrade", "exec", str(program))
    assert obeyed(screen) == []
    assert screen.count(SHOWN) >= 3 and "a\tb\r\n" in screen


def test_a_pipe_gets_the_bytes_as_they_are(program):
    command = [sys.executable, "-m", "truegrade", "exec", str(program)]
    said = subprocess.run(command, capture_output=True)
    assert said.stdout == f"{OWNED} a\tb\n".encode()
    assert f"{OWNED}\n".encode() in said.stderr


@pytest.mark.parametrize("options", one_in(2, ["", "--json"]))
def test_errors_that_name_what_a_file_holds(tmp_path, options):
    path = tmp_path / "samples.jsonl"
    path.write_text(json.dumps({"task_id": f"HumanEval/{OWNED}", "completion": "x"}) + "\n")
    screen = on_a_terminal("-m", "truegrade", "grade", str(path), "-b", "humaneval", *options.split())
    assert "truegrade: " in screen and obeyed(screen) == []


TABLE = f"""
from truegrade.report.terminal import fact_grid, open_terminal, plain_table, row
from truegrade.report.progress_lines import TerminalProgress
from rich.text import Text
table = plain_table("task", {OWNED!r})
row(table, {OWNED!r}, "b")
console = open_terminal()
console.print(table)
console.print(fact_grid([({OWNED!r}, "c")]))
console.print(Text({OWNED!r}, "bold"), {OWNED!r})
progress = TerminalProgress()
progress.start({OWNED!r}, 2, 0)
progress.advance()
progress.finish()
"""


def test_tables_and_progress():
    screen = on_a_terminal("-c", TABLE)
    assert obeyed(screen) == []
    assert screen.count(r"\x1b]0;owned") >= 5 and "\x1b[1m" in screen


@pytest.mark.parametrize(
    ("command", "code"), one_in(2, [("list models", 0), ("doctor", 0), ("check 1 none", 2), ("data list", 0)])
)
def test_a_reader_that_has_seen_enough_is_no_failure_of_what_only_tells(command, code):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "truegrade", *command.split()], stdout=writer, stderr=subprocess.PIPE
    )
    os.close(writer)
    assert done.returncode == code and b"Traceback" not in done.stderr and b"Exception" not in done.stderr


def test_the_doctor_says_in_four_lines_whether_one_can_begin():
    said = CliRunner().invoke(main, ["doctor"]).stdout.splitlines()
    assert [line.partition(" ")[0] for line in said[:4]] == ["truegrade", "sandbox:", "models:", "data:"]
    assert len(said) - sum(line.startswith("warning: ") for line in said) == 5
    assert all(len(line) <= 80 for line in said if not line.startswith(("warning: ", "sandbox: ")))
    everything = CliRunner().invoke(main, ["doctor", "--all"]).stdout
    assert "packages of programs" in everything and "extra png" in everything
