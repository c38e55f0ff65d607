"""Suites: what a file may say, how its faults are told, where suites are found, what the built-in ones name."""

import gzip
from pathlib import Path

import msgspec
import pytest

from truegrade.benchmarks import BENCHMARKS
from truegrade.builders.dsl_list import DslListOptions
from truegrade.builders.dsl_list import build as build_rows
from truegrade.builders.mutation.file import mutate_rows
from truegrade.builders.mutation.mutants import MutationOptions
from truegrade.datasets.executions import ExecutionRow
from truegrade.errors import BadRecord, UnknownName, UserError
from truegrade.pipeline import suites as built_in_suites
from truegrade.pipeline.suites import (
    REGISTRY,
    SUITES,
    BenchmarkSuite,
    SuiteBenchmark,
    find_suite,
    is_suite,
    read_suite,
)
from truegrade.sandbox import Limits, Sandbox

HEAD = 'name = "mine"\ndescription = "Two benchmarks."\n'
FIRST = '[[benchmarks]]\nname = "humaneval"\n\n'
SECOND = '[[benchmarks]]\nname = "mbpp"\n'


@pytest.fixture
def write(tmp_path):
    def written(text, name="mine.toml"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return written


def test_a_file_says_what_a_suite_can_say(write):
    path = write(
        HEAD + 'models = ["baseline/empty"]\nprofiles = ["human-eval"]\nn = 2\ntemperature = 0.5\nmax_tokens = 9\n'
        "cutoff = 2024-06-30\n" + FIRST + '[[benchmarks]]\nname = "own.jsonl"\ndata = "here/own.jsonl"\n'
        'profiles = ["strict", "rules.py:Mine"]\nlimit = "2-3"\nargs = { a = 1, b = true, c = "x" }\n'
    )
    suite = read_suite(path)
    assert (suite.models, suite.n, suite.temperature, suite.cutoff) == (("baseline/empty",), 2, 0.5, "2024-06-30")
    plain, own = suite.benchmarks
    assert plain == SuiteBenchmark(name="humaneval")
    folder = path.parent
    assert (own.name, own.data) == (f"{folder}/own.jsonl", f"{folder}/here/own.jsonl")
    assert own.profiles == ("strict", f"{folder}/rules.py:Mine")
    assert (own.limit, own.args) == ("2-3", {"a": 1, "b": True, "c": "x"})


FAULTS = {
    "no benchmarks": (HEAD, "the field is missing", None, "benchmarks"),
    "an unknown key": (HEAD + "colour = 1\n" + FIRST, "no key 'colour'", 3, "colour"),
    "a mistyped key of a benchmark": (
        HEAD + FIRST + SECOND + "limt = 3\n", "no key 'limt', did you mean 'limit'?", 8, "benchmarks[1].limt",
    ),
    "a number that is too small": (HEAD + "n = 0\n" + FIRST, "Expected `int` >= 1", 3, "n"),
    "a wrong type": (HEAD + FIRST + SECOND + "n = true\n", "got `bool`", 8, "benchmarks[1].n"),
    "a benchmark without a name": (
        HEAD + FIRST + "[[benchmarks]]\nn = 1\n", "the field is missing", 6, "benchmarks[1].name",
    ),
    "a benchmark that is none": (
        HEAD + FIRST + SECOND.replace("mbpp", "mbp"), "no benchmark 'mbp'; did you mean mbpp", 7,
        "benchmarks[1].name",
    ),
    "a profile that is none": (
        HEAD + FIRST + SECOND + 'profiles = ["stric"]\n', "no profile 'stric'; did you mean strict", 8,
        "benchmarks[1].profiles",
    ),
    "an argument that is none": (
        HEAD + FIRST + SECOND + "args = { splt = 1 }\n", "no mbpp argument 'splt'; did you mean split", 8,
        "benchmarks[1].args.splt",
    ),
    "an argument that is none, in a table": (
        HEAD + FIRST + SECOND + "[benchmarks.args]\nsplt = 1\n", "no mbpp argument 'splt'", 9,
        "benchmarks[1].args.splt",
    ),
    "an empty range": (HEAD + FIRST + SECOND + 'limit = "3-2"\n', "must not be empty", 8, "benchmarks[1].limit"),
    "a range in words": (HEAD + 'limit = "all"\n' + FIRST, "give a number", 3, "limit"),
    "a day that is none": (HEAD + 'cutoff = "June"\n' + FIRST, "must be a day", 3, "cutoff"),
    "no TOML": (HEAD + "n = \n", "is no TOML: Invalid value", 3, None),
}  # fmt: skip


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_is_told_with_its_line_and_field(write, case):
    text, said, line, field = FAULTS[case]
    with pytest.raises(BadRecord) as caught:
        read_suite(write(text))
    assert said in str(caught.value) and "\n" not in str(caught.value)
    assert (caught.value.line, caught.value.field) == (line, field)


def test_a_file_that_is_not_there_or_is_no_text(write):
    with pytest.raises(UserError, match=r"nowhere\.toml: no such file"):
        find_suite("nowhere.toml")
    path = write("")
    path.write_bytes(b"\xff")
    with pytest.raises(BadRecord, match="cannot be read"):
        read_suite(path)


def test_a_suite_is_found_in_four_ways(write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = write(HEAD + FIRST)
    found = find_suite(str(path))
    assert (found.name, found.origin.how) == ("mine", "file") and len(found.origin.sha256) == 64
    assert find_suite("quick").origin.how == "built-in"
    given = BenchmarkSuite(name="theirs", description="One.", benchmarks=(SuiteBenchmark(name="mbpp"),))
    assert find_suite(given).value is given
    write(
        "from truegrade.pipeline.suites import BenchmarkSuite, SuiteBenchmark\n"
        "SUITE = BenchmarkSuite(name='coded', description='One.', benchmarks=(SuiteBenchmark(name='mbpp'),))\n",
        "coded.py",
    )
    assert find_suite("coded.py:SUITE").name == "coded" and is_suite("coded.py:SUITE")
    info = tmp_path / "theirs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[truegrade.suites]\noffered = coded:SUITE\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert is_suite("offered")
    assert find_suite("offered").origin.place == "theirs 1.0"


def test_a_benchmark_s_name_is_no_suite_s_and_a_built_in_name_is_not_taken_over(write):
    assert not any(map(is_suite, [*BENCHMARKS, "own.jsonl", "own.py", "nothing"]))
    assert all(map(is_suite, [*SUITES, "any.toml"]))
    with pytest.raises(UserError, match="the name 'quick' is that of a built-in suite"):
        find_suite(str(write(HEAD.replace("mine", "quick") + FIRST)))
    with pytest.raises(UnknownName, match="did you mean quick"):
        find_suite("qick")


def test_the_built_in_suites_name_benchmarks_that_there_are():
    """Reading looks up names, profiles and arguments; here, that every file is read, and named as its suite."""
    folder = Path(built_in_suites.__file__).parent
    assert sorted(path.stem for path in folder.glob("*.toml")) == sorted(SUITES)
    for listed in REGISTRY.listed():
        assert listed.value is not None and listed.value.name == listed.name, listed
        assert {entry.name for entry in listed.value.benchmarks} <= BENCHMARKS.keys()


def test_quick_needs_no_file_that_is_not_in_the_package():
    for entry in find_suite("quick").value.benchmarks:
        assert entry.optional or entry.name == "micro-repair" or Path(entry.data).is_file()


def test_the_programs_of_quick_are_what_the_builder_makes():
    """The rows do not depend on how many are asked for, so a few are built again."""
    path = find_suite("quick").value.benchmarks[0].data
    stored = gzip.decompress(Path(path).read_bytes()).splitlines()
    assert len(stored) == 100
    limits = Limits(cpu_s=5.0, memory_bytes=1 << 30)
    with Sandbox(limits, 1, allow_unsafe=True) as sandbox:
        rows = build_rows(DslListOptions(size=4), sandbox, workers=1)
        made = list(mutate_rows(rows, MutationOptions(differ="all"), sandbox, workers=1))
    assert [msgspec.json.decode(line, type=ExecutionRow) for line in stored[:4]] == made
