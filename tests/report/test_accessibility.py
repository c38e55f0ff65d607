"""Every kind of page that is a file under axe-core, narrow and light, wide and dark."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from reasoning_runs import build_reasoning_run
from report_runs import House, Lenient, build_run, task_id

sys.path += [str(Path(__file__).parents[1] / folder) for folder in ("comparison", "apps/evolve/reporting")]

from comparison_runs import build, single

from support.accessibility import findings, unguarded_window
from support.evolution_folders import MAIN, build_folder
from truegrade.analysis.audit.findings import CODES, Audit, Finding, Severity
from truegrade.analysis.comparison import compare_runs
from truegrade.analysis.replication import AUDIT
from truegrade.analysis.standings import LeftOutBenchmark, SuiteStanding, pair_standing
from truegrade.apps.evolve.reporting.page import write_report as write_evolution
from truegrade.apps.evolve.reporting.search_material import gather
from truegrade.profiles import open_profile
from truegrade.report.comparison_document import export_comparison
from truegrade.report.html import write_report
from truegrade.report.standings_document import write_suite

pytestmark = pytest.mark.slow


def report(folder: Path) -> Path:
    """Of several profiles, one of which has rules with long sources; a program stands beside refused answers."""
    run = build_run(
        folder / "run", samples=3, profiles=(House(), Lenient(), open_profile("strict")), reasoning="hm"
    )
    return write_report(run, references={task_id(n): "def f(x):\n    return x + 2\n" for n in range(12)})


def checked(folder: Path) -> Path:
    """The page that ``check`` leaves: a run with the audit of its file, one finding of each weight."""
    run = build_run(folder / "run")
    found = [
        Finding(code=code, severity=severity, count=2, rows=["Toy/1", "Toy/2"], sentence=f"2 rows: {CODES[code]}")
        for code, severity in zip(CODES, Severity, strict=False)
    ]
    audited = Audit(
        file="samples.jsonl", file_sha256="0" * 64, benchmark="toy", dataset_sha256="1" * 64, profile="house@1",
        tasks=12, samples=60, recorded={"passed": 30}, estimates=[], findings=found,
    )  # fmt: skip
    run.write(AUDIT, msgspec.json.encode(audited))
    return write_report(run)


def reasoning(folder: Path) -> Path:
    return write_report(build_reasoning_run(folder / "run"))


def comparison(folder: Path) -> Path:
    runs = [build(folder / name, single(marks), model=name) for name, marks in (("a", "0011"), ("b", "0111"))]
    export_comparison(compare_runs(runs), "html", folder / "page.html")
    return folder / "page.html"


def suite(folder: Path) -> Path:
    """Of two models and benchmarks, under two profiles, with a run that is not there and a benchmark left out."""
    pairs = []
    for name, marks in (("a", "0011"), ("b", "0111")):
        for benchmark in ("toy", "toy x=1"):
            run = folder / f"{name}-{len(pairs)}"
            if name == "a" or benchmark == "toy":
                build(run, single(marks), model=f"toy/{name}", lenient=single("1111"))
            failure = None if run.exists() else "not run"
            pairs.append(
                pair_standing(
                    run, ["house@1", "lenient@1"], benchmark=benchmark, model=f"toy/{name}", failure=failure
                )
            )
    left_out = [LeftOutBenchmark(benchmark="gone", why="its data are not here")]
    return write_suite(
        SuiteStanding(
            name="s", description="d", updated="2026-01-02T03:04", folder=folder, pairs=pairs, left_out=left_out
        )
    )


def evolution(folder: Path) -> Path:
    return write_evolution(
        gather(build_folder(folder / "done", plans=MAIN[:2], generations=2, population=4, replicates=1))
    )


@pytest.mark.parametrize("make", [report, checked, reasoning, comparison, suite, evolution])
def test_a_page_is_accessible(chromium, tmp_path: Path, make: Callable[[Path], Path]) -> None:
    with unguarded_window(chromium) as window:
        window.goto(make(tmp_path).as_uri())
        assert findings(window) == []
