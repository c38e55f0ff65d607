"""`truegrade exec`: one program in the jail."""

import json

import pytest
from click.testing import CliRunner

from truegrade.cli import main


def run(tmp_path, source, *options, given=""):
    path = tmp_path / "program.py"
    path.write_text(source)
    return CliRunner().invoke(main, ["exec", str(path), *options], input=given)


def test_input_goes_in_and_output_comes_out(tmp_path):
    result = run(tmp_path, "print(int(input()) * 2)", "--stdin", "-", given="21\n")
    assert result.exit_code == 0
    assert result.stdout == "42\n"
    assert result.stderr.startswith("passed: ")


@pytest.mark.parametrize(
    ("source", "status"),
    [
        ("1 / 0", "runtime_error"),
        ("while True: pass", "time_limit"),
        ("x = [0] * 10**9", "memory_limit"),
        ("(", "syntax_error"),
    ],
)
def test_a_program_that_fails_says_why_and_exits_1(tmp_path, source, status):
    result = run(tmp_path, source, "--cpu", "0.5", "--memory", "300", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["status"] == status
