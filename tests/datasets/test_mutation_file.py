"""`truegrade data mutate`: from file to file, the same bytes however often it stops, one line for a bad row."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import msgspec
import pytest
from click.testing import CliRunner
from mutation_corpus import COUNTDOWN, ONE_LINE, SUM_OF_EVENS, row

from truegrade.builders.mutation.file import mutate_file
from truegrade.builders.mutation.mutants import MutationOptions
from truegrade.cli import main
from truegrade.datasets.executions import ExecutionRow
from truegrade.errors import BadRecord
from truegrade.sandbox import Limits, Sandbox

ROWS = [
    row(SUM_OF_EVENS, "f([0, 1, 2, 3, 4], 9)", "f([8], 3)", id="evens"),
    row(COUNTDOWN, "f(4)", id="countdown"),
    row("def f(a):\n    return {str(b) for b in range(a)}\n", "f(5)", id="set of texts"),
    row("def f(a):\n    return a\n", "f(1)", id="no place"),
    row(ONE_LINE, "f([0, 1, 2])", id="line"),
]
QUICK = ["--max-steps", "20000", "--preserve", "rename,loops"]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in ROWS))
    return path


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(Limits(memory_bytes=512 << 20), workers=2, allow_unsafe=True) as opened:
        yield opened


def command(*arguments):
    return CliRunner().invoke(main, ["data", "mutate", *map(str, arguments)])


def test_the_command_writes_every_row_in_order_and_says_what_became_of_it(file, tmp_path):
    out = tmp_path / "new" / "mutated.jsonl"
    result = command(file, "--out", out, *QUICK, "--workers", 2)
    assert result.exit_code == 0, result.output
    made = [msgspec.json.decode(line, type=ExecutionRow) for line in out.read_bytes().splitlines()]
    assert [each.id for each in made] == [each.id for each in ROWS]
    assert [each.has_mutation for each in made] == [True, True, True, False, True]
    assert "4 mutants of 5 programs" in result.stdout
    assert "no mutant of no place: no operator applies" in result.stdout
    assert list(out.parent.iterdir()) == [out]


def test_names_that_leetcode_imports_unseen_are_imported(tmp_path):
    code = "def maxLength(nums: List[int]) -> int:\n    return max(gcd(a, 1) + b for a, b in pairwise(nums))"
    call = "maxLength(nums=[1,2,1,2,1,1,1])"
    rows = [
        {"id": "seed", "function_name": "maxLength", "code": code, "input": call, "output": "3"},
        {
            "id": "own",
            "function_name": "f",
            "code": "def f(a):\n    return own(a) + 1",
            "input": "f(1)",
            "output": "2",
        },
    ]
    path, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    result = command(path, "--out", out)
    assert (
        "no mutant of own: " in result.stdout
        and "reads own; give a file of imports with --preamble" in result.stdout
    )
    made, _ = [json.loads(line) for line in out.read_text().splitlines()]
    assert made["has_mutation"] and "import" not in made["mutated_code"]
    assert made["metadata"]["mutation"]["imports"] == [
        "from itertools import pairwise",
        "from math import gcd",
        "from typing import List",
    ]
    checked = CliRunner().invoke(main, ["data", "check", str(out)])
    assert "maxLength" not in checked.stdout and "seed" not in checked.stdout


def test_rows_of_cruxeval_are_mutated(tmp_path):
    path, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    code = "def g(a):\n    return a\n\ndef f(a, b):\n    return g(a)[:1] + b"
    path.write_text(json.dumps({"code": code, "input": "(1, ), (2, )", "output": "(1, 2)", "id": "sample_0"}))
    assert command(path, "--out", out, "--json").exit_code == 0
    made = json.loads(out.read_text())
    assert made["function_name"] == "f" and made["mutated_output"] == "(2,)"


def test_json_counts_operators(file, tmp_path):
    result = command(
        file, "--out", tmp_path / "m.jsonl", "--json", "--operators", "number", "--select", "first", *QUICK
    )
    told = json.loads(result.stdout)
    assert told["rows"] == 5 and told["operators"] == {"number": told["mutants"]}
    assert "no place" in told["without"]


def test_the_bytes_hang_on_rows_and_options_alone(file, tmp_path):
    """Neither on the order of hashes in the command's own process nor on the number of workers."""
    arguments = ["data", "mutate", str(file), "--out", str(tmp_path / "other.jsonl"), "--workers", "2", *QUICK]
    other = {**os.environ, "PYTHONHASHSEED": "0" if os.environ.get("PYTHONHASHSEED") == "77" else "77"}
    subprocess.run([sys.executable, "-m", "truegrade", *arguments], check=True, env=other, capture_output=True)
    assert command(file, "--out", tmp_path / "here.jsonl", "--workers", 1, *QUICK).exit_code == 0
    assert (tmp_path / "other.jsonl").read_bytes() == (tmp_path / "here.jsonl").read_bytes()


class Interrupting:
    """An executor that fails for good after so many calls."""

    def __init__(self, executor, calls):
        self.executor, self.left, self.asked = executor, calls, 0

    def call(self, *arguments, **options):
        self.asked += 1
        if self.asked > self.left:
            raise KeyboardInterrupt
        return self.executor.call(*arguments, **options)


def test_an_interrupted_command_goes_on_where_it_stopped(file, tmp_path, sandbox):
    options = MutationOptions(max_steps=20_000)
    whole = mutate_file(file, tmp_path / "whole.jsonl", options, sandbox)
    out = tmp_path / "parts.jsonl"
    first, second = Interrupting(sandbox, 9), Interrupting(sandbox, 10_000)
    with pytest.raises(KeyboardInterrupt):
        mutate_file(file, out, options, first)
    assert not out.exists()
    (part,) = tmp_path.glob("parts.jsonl.*.part")
    done = len(part.read_bytes().splitlines())
    assert done >= 1
    part.write_bytes(part.read_bytes() + b'{"rows":[{"id":"torn')
    parts = mutate_file(file, out, options, second)
    assert parts == whole and out.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    complete = Interrupting(sandbox, 10_000)
    mutate_file(file, tmp_path / "again.jsonl", options, complete)
    assert second.asked < complete.asked
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize(
    ("change", "field", "problem"),
    [
        ({"output": ["1", "2", "3"]}, "output", "there are 2 inputs but 3 outputs"),
        ({"code": "def f(x) return"}, "code", "does not compile"),
        ({"function_name": "g"}, "function_name", "does not define 'g'"),
        ({"input": ["f(1", "f(2)"]}, "input", "is no call"),
        ({"input": 3}, "input", "Expected"),
    ],
)
def test_a_bad_row_is_one_line_that_names_file_line_and_field(file, tmp_path, change, field, problem):
    lines = file.read_text().splitlines()
    lines.insert(2, json.dumps({**json.loads(lines[0]), **change}))
    file.write_text("\n".join(lines) + "\n")
    result = command(file, "--out", tmp_path / "out.jsonl")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert f"{file}, line 3, field '{field}'" in result.stderr and problem in result.stderr
    assert not (tmp_path / "out.jsonl").exists()


def test_unknown_names_and_reading_and_writing_one_file_are_refused(file, tmp_path):
    unknown = command(file, "--out", tmp_path / "o", "--operators", "relationale")
    assert unknown.exit_code == 2 and "did you mean relational" in unknown.stderr
    same = command(file, "--out", file)
    assert same.exit_code == 2 and "choose another --out" in same.stderr
    assert len(file.read_text().splitlines()) == len(ROWS)


def test_an_empty_file_is_refused(tmp_path, sandbox):
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(BadRecord, match="holds no rows"):
        mutate_file(tmp_path / "empty.jsonl", tmp_path / "out", MutationOptions(), sandbox)
