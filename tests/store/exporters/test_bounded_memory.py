"""A run is written as it is read: of large texts few are held at once, and the last record counts."""

import csv
import tracemalloc
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from truegrade.pipeline.finishing import export_run
from truegrade.profiles import find_profile
from truegrade.records import Completion, ContestTask, FunctionTask, Problem, Reason, Usage, Verdict
from truegrade.report.export import SAMPLE_TABLES, sample_rows
from truegrade.store import BenchmarkIdentity, Manifest, Run, environment, spool
from truegrade.store.exporters import find_exporter

DATA, HEAD = "d" * 64, "def f(x):\n"
PROBLEMS, SAMPLES, CHARS = 40, 10, 20_000
WHOLE = PROBLEMS * SAMPLES * CHARS
"""Bytes of all texts together; at most a quarter may be in memory at once."""


def problem(number, benchmark):
    tags = {"platform": "leetcode", "contest_id": "c", "contest_date": "2024-01-01", "difficulty": "easy"}
    task = (
        ContestTask(title="", question="", public_tests="[]", private_tests="[]")
        if benchmark == "livecodebench"
        else FunctionTask(prompt=HEAD, entry_point="f", prefix=HEAD, tests="", reference="")
    )
    return Problem(
        id=f"p{number}", benchmark=benchmark, dataset_sha256=DATA, cluster=f"c{number}", task=task, tags=tags
    )


def completion(problem_id, sample, text):
    return Completion(
        benchmark="b", dataset_sha256=DATA, problem_id=problem_id, sample=sample, config_sha256="c" * 64,
        prompt_sha256="", text=text, form="program", model="m", usage=Usage(output_tokens=sample),
    )  # fmt: skip


def verdict(profile, of, reason=Reason.PASSED, detail=""):
    return Verdict(
        benchmark="b", dataset_sha256=DATA, problem_id=of.problem_id, sample=of.sample, config_sha256="c" * 64,
        completion_sha256=of.sha256, profile=profile, passed=reason is Reason.PASSED, reason=reason, detail=detail,
    )  # fmt: skip


def new_run(folder, benchmark, samples=SAMPLES):
    identity = BenchmarkIdentity(name=benchmark, dataset_sha256=DATA, source="test", problems=PROBLEMS)
    return Run.create_or_resume(
        folder,
        Manifest(
            created="2026-01-01T00:00:00+00:00", benchmark=identity, generation=None, samples_per_task=samples,
            environment=environment(),
        ),
    )  # fmt: skip


def add(run, profile, pairs):
    with run.append_completions() as replies, run.append_verdicts(profile) as verdicts:
        for of, judged in pairs:
            replies.append(of)
            verdicts.append(judged)
    run.record_grading(profile, None)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Runs of many large texts, by benchmark; the samples of a problem lie far apart."""

    def made(benchmark, profile):
        run = new_run(tmp_path_factory.mktemp("runs") / benchmark, benchmark)
        replies = (
            completion(f"p{number}", sample, f"x = {number:{CHARS}}")
            for sample in range(SAMPLES)
            for number in range(PROBLEMS)
        )
        add(run, profile, ((each, verdict(profile, each, detail="y" * CHARS)) for each in replies))
        return run

    benchmarks = {"humaneval": "human-eval", "livecodebench": "livecodebench", "own": "strict"}
    return {name: made(name, find_profile(profile).id) for name, profile in benchmarks.items()}


def peak_of(write):
    tracemalloc.start()
    try:
        write()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("benchmark", "file_format"),
    [
        ("humaneval", "human-eval"),
        ("humaneval", "bigcode"),
        ("humaneval", "blog"),
        ("humaneval", "evalplus-results"),
        ("livecodebench", "livecodebench"),
        ("livecodebench", "livecodebench-eval-all"),
        ("livecodebench", "livecodebench-eval"),
        ("own", "inspect"),
    ],
)
def test_a_format_holds_few_samples_at_once(large, tmp_path, monkeypatch, benchmark, file_format):
    monkeypatch.setattr(spool, "IN_MEMORY_BYTES", 1 << 16)
    problems = {each.id: each for each in (problem(number, benchmark) for number in range(PROBLEMS))}
    profile = {"humaneval": "human-eval", "livecodebench": "livecodebench", "own": "strict"}[benchmark]
    exporter = find_exporter(file_format)
    out = tmp_path / "out"
    held = peak_of(lambda: export_run(large[benchmark], problems, find_profile(profile), exporter, out))
    assert held < WHOLE / 4
    assert out.stat().st_size > (0 if file_format in ("livecodebench-eval", "inspect") else WHOLE)


def material(run, profile, samples):
    tasks = [SimpleNamespace(id=f"p{number}", cluster="c") for number in range(PROBLEMS)]
    summary = SimpleNamespace(
        profiles=[SimpleNamespace(profile=profile, tasks=tasks)], samples_per_task=samples, model="m"
    )
    return SimpleNamespace(summary=summary)


@pytest.mark.parametrize("file_format", SAMPLE_TABLES)
def test_a_table_of_samples_holds_few_of_them(large, tmp_path, monkeypatch, file_format):
    if file_format == "parquet":
        pytest.importorskip("pyarrow.parquet")
        monkeypatch.setattr("truegrade.report.export.ROWS_OF_A_BATCH", 10)
    run = large["own"]

    def write():
        with (tmp_path / "out").open("wb") as file:
            SAMPLE_TABLES[file_format](sample_rows(run, material(run, *run.profiles, SAMPLES)), file)

    write()  # loads what it is made of
    assert peak_of(write) < WHOLE / 4


def test_row_groups_of_parquet_hold_every_row_in_order(large, tmp_path, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr("truegrade.report.export.ROWS_OF_A_BATCH", 30)
    run = large["own"]
    rows = list(sample_rows(run, material(run, *run.profiles, SAMPLES)))
    with (tmp_path / "out").open("wb") as file:
        SAMPLE_TABLES["parquet"](iter(rows), file)
    found = parquet.ParquetFile(tmp_path / "out")
    assert found.num_row_groups == 2
    assert found.read().to_pylist() == rows


def test_the_last_verdict_and_the_last_reply_of_a_sample_count_where_the_first_stood(tmp_path):
    run = new_run(tmp_path / "run", "own", samples=2)
    profile = find_profile("strict").id
    failed, first, other, beyond = (completion("p1", 0, None), *(completion("p0", n, "x") for n in range(3)))
    answered = completion("p1", 0, "now")
    pairs = [
        (failed, verdict(profile, failed, Reason.NO_ANSWER)),
        (first, verdict(profile, first)),
        (other, verdict(profile, other)),
        (beyond, verdict(profile, beyond)),
        (completion("elsewhere", 0, "x"), verdict(profile, completion("elsewhere", 0, "x"))),
        (replace(first, model="later"), verdict(profile, first, Reason.TIME_LIMIT)),
        (answered, verdict(profile, answered, Reason.WRONG_ANSWER)),
    ]
    add(run, profile, pairs)
    with (tmp_path / "out").open("w+b") as file:
        SAMPLE_TABLES["csv"](sample_rows(run, material(run, profile, 2)), file)
    with (tmp_path / "out").open(newline="") as file:
        rows = [(row["problem_id"], row["sample"], row["reason"], row["model"]) for row in csv.DictReader(file)]
    assert rows == [
        ("p1", "0", "wrong_answer", "m"),
        ("p0", "0", "time_limit", "later"),
        ("p0", "1", "passed", "m"),
    ]
    problems = {each.id: each for each in (problem(0, "own"), problem(1, "own"))}
    out = export_run(run, problems, find_profile("strict"), _table, tmp_path / "table")
    assert out.read_text().split() == ["p0-time_limit", "p0-passed", "p0-time_limit", "p1-wrong_answer"]


def _write_table(samples, problems, file):
    for sample in samples:
        file.write(f"{sample.problem.id}-{sample.reason}\n".encode())


_table = replace(find_exporter("inspect"), name="table", write=_write_table)
