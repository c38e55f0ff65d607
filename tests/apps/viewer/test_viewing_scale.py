"""A thousand runs and ten thousand samples: what requests cost, in CPU time, so that other work does not count."""

import shutil
import time

import pytest
from report_runs import House, build_run
from viewing_runs import whole

from truegrade.apps.viewer import run_catalogue, sample_table
from truegrade.apps.viewer.run_catalogue import FRESH_FOR_S, RunCatalogue, look
from truegrade.apps.viewer.sample_table import Tables

RUNS, TASKS = 1000, 2000


def cpu_s(work):
    began = time.process_time()
    result = work()
    return result, time.process_time() - began


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    return whole(build_run(tmp_path_factory.mktemp("template") / "run", tasks=164, samples=1)).path


@pytest.mark.slow
def test_a_thousand_runs_are_listed_within_a_second(template, tmp_path, monkeypatch):
    root = tmp_path / "runs"
    for number in range(RUNS):
        folder = root / f"run-{number}"
        folder.mkdir(parents=True)
        for name in ("manifest.json", "completions.jsonl", "verdicts.house@1.jsonl", "summary.json"):
            (folder / name).hardlink_to(template / name)
    read, read_line = [], run_catalogue.read_line
    monkeypatch.setattr(
        run_catalogue, "read_line", lambda *given, **more: read.append(1) or read_line(*given, **more)
    )
    known = RunCatalogue(root)
    first, first_s = cpu_s(lambda: run_catalogue.page(known.lines(), run_catalogue.RunQuery()))
    assert (first.total, len(first.runs)) == (RUNS, 100)
    assert all(one.run.state == "finished" for one in first.runs)
    assert first_s < 1.0
    assert len(read) == RUNS
    time.sleep(FRESH_FOR_S)
    shutil.rmtree(root / "run-7")
    again = run_catalogue.page(known.lines(), run_catalogue.RunQuery())
    assert again.total == RUNS - 1
    assert len(read) == RUNS, "what has not changed is not read again"


@pytest.mark.slow
def test_ten_thousand_samples_are_paged_in_milliseconds(tmp_path):
    run = build_run(tmp_path / "run", tasks=TASKS, samples=5, profiles=(House(),)).path
    tables = Tables()
    table, first_s = cpu_s(lambda: tables.of(look(tmp_path, run)))
    assert first_s < 2.0
    query = sample_table.SampleQuery(run="run", order="failing")
    page, _ = cpu_s(lambda: sample_table.page(table, query))
    assert page.total == 5 * TASKS

    def scroll():
        for offset in range(0, 10_000, 500):
            asked = sample_table.SampleQuery(run="run", order="failing", offset=offset)
            assert len(sample_table.page(tables.of(look(tmp_path, run)), asked).samples) == 100

    _, pages_s = cpu_s(scroll)
    assert pages_s / 20 < 0.05
    _, opened_s = cpu_s(lambda: [table.open(key) for key in list(table.rows)[:100]])
    assert opened_s / 100 < 0.02
