"""A run that stops once its comparison with another one is decided: order, resuming, and what is refused."""

import json
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

import truegrade
from support import scripted_server as scripted
from truegrade.cli import main
from truegrade.errors import NotComparable, UserError
from truegrade.models.base import Reply
from truegrade.pipeline.deciding import PORTION_SAMPLES
from truegrade.pipeline.summary import read_summary
from truegrade.records import Attempt
from truegrade.records.config import RequestPolicy
from truegrade.statistics.sequential import seeded_order

PROBLEMS = 30
WRONG = "```python\ndef f(x):\n    return None\n```"


class Told:
    """A model in this process that answers everything alike, and fails where it is told to."""

    def __init__(self, name, text=WRONG, fails=()):
        self.name, self.text, self.fails = name, text, fails
        self.base_url, self.request_policy = None, RequestPolicy()
        self.asked = []

    async def generate(self, prompt, sampling):
        self.asked.append(prompt.sha256)
        failed = len(self.asked) in self.fails
        outcome = Attempt(outcome="error" if failed else "ok", latency_s=0.0, error="down" if failed else None)
        return Reply(text=None if failed else self.text, model=self.name, attempts=(outcome,))

    async def close(self):
        pass


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Problems that share no cluster and are cheap to grade."""
    path = tmp_path_factory.mktemp("rows") / "toys.jsonl"
    lines = [
        {"id": f"toy/{n:02}", "prompt": f"def f(x):\n    '''Add {n}.'''\n", "entry_point": "f",
         "tests": f"assert f(1) == {n + 1}", "reference": f"    return x + {n}\n"}
        for n in range(PROBLEMS)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture(scope="module")
def solved(rows, tmp_path_factory):
    """A run that solves every problem."""
    return truegrade.run(str(rows), model="baseline/reference", out=tmp_path_factory.mktemp("solved") / "solved")


@pytest.fixture
def heard():
    return []


def verdict_lines(folder):
    return sum(path.read_bytes().count(b"\n") for path in folder.glob("verdicts.*"))


def stopping(rows, solved, out, heard, **options):
    given = {"model": "baseline/empty", "stop_when_decided": solved, **options}
    return truegrade.run(str(rows), out=out, notice=heard.append, **given)


def test_it_stops_after_the_portion_that_decides_and_says_so(rows, solved, tmp_path, heard):
    run = stopping(rows, solved.path, tmp_path / "run", heard)
    summary = read_summary(run)
    test = summary.stopping.test
    assert test.decision.problems == 8
    assert test.e == pytest.approx(256 / 9)
    assert test.decision.difference == -1
    assert summary.answered == PORTION_SAMPLES
    assert summary.missing == PROBLEMS - PORTION_SAMPLES
    assert [one.code for one in summary.warnings][:1] == ["stopped-when-decided"]
    assert not {"missing-replies", "uneven-samples"} & {one.code for one in summary.warnings}
    assert summary.warnings[0].sentence.startswith("stopped early, decided at problem 8 of 30: worse than solved")
    assert "decided at problem 8 of 30: this run is worse than solved" in heard[-1]


def test_problems_are_asked_in_the_order_of_the_seed(rows, solved, tmp_path, heard):
    ids = [f"toy/{n:02}" for n in range(PROBLEMS)]
    for seed in (0, 5):
        run = stopping(rows, solved, tmp_path / f"run-{seed}", heard, order_seed=seed)
        asked = {key.problem_id for key in run.answered()}
        clusters = {line.cluster: line.id for line in read_summary(run).profiles[0].tasks}
        order = [clusters[cluster] for cluster in seeded_order(clusters, seed)]
        assert asked == set(order[:PORTION_SAMPLES])
        assert asked != set(ids[:PORTION_SAMPLES])


def test_its_pass_rate_has_a_confidence_sequence_in_place_of_an_interval(rows, solved, tmp_path, heard):
    run = stopping(rows, solved, tmp_path / "run", heard)
    (rate,) = read_summary(run).profiles[0].estimates
    assert rate.method.startswith("hedged-betting confidence sequence")
    assert rate.value == 0 and rate.low == 0
    wilson = truegrade.compare(solved, run).rate_b
    assert wilson == 0
    assert 0.3 < rate.high < 0.6  # the interval of ten problems ends at 0.28


def test_the_same_command_asks_nothing_more_and_without_the_option_all_is_asked(rows, solved, tmp_path, heard):
    first = stopping(rows, solved, tmp_path / "run", heard)
    lines = first.completions_path.read_text()
    again = stopping(rows, solved, tmp_path / "run", heard)
    assert again.completions_path.read_text() == lines
    assert heard[-1].endswith("nothing more was asked")
    assert read_summary(again) == read_summary(first)
    whole = truegrade.run(str(rows), model="baseline/empty", out=tmp_path / "run")
    summary = read_summary(whole)
    assert summary.stopping is None
    assert summary.answered == PROBLEMS
    assert "stopped-when-decided" not in {one.code for one in summary.warnings}
    assert summary.profiles[0].estimates[0].method.startswith("Wilson")


def test_a_run_that_was_cut_off_goes_on_in_its_order(rows, solved, tmp_path, heard):
    whole = stopping(rows, solved, tmp_path / "whole", heard)
    part = tmp_path / "part"
    stopping(rows, solved, part, heard)
    for journal in (part / "completions.jsonl", *part.glob("verdicts.*.jsonl")):
        journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:3]))
    resumed = stopping(rows, solved, part, heard)
    assert resumed.answered() == whole.answered()
    assert read_summary(resumed).stopping == read_summary(whole).stopping


def test_runs_that_are_alike_are_never_decided_and_stay_ordinary(rows, solved, tmp_path, heard):
    run = stopping(rows, solved, tmp_path / "run", heard, model="baseline/reference")
    summary = read_summary(run)
    assert summary.answered == PROBLEMS and summary.stopping is None
    assert run.manifest.stopping.test.decision is None
    assert "not decided after 30 of 30 problems" in heard[-1]


def test_samples_that_fail_do_not_hold_up_the_decision(rows, solved, tmp_path, heard):
    model = Told("told/fails", fails={2, 5})
    run = stopping(rows, solved, tmp_path / "run", heard, model=model)
    assert read_summary(run).stopping.test.decision.problems == 8
    assert len(model.asked) == PORTION_SAMPLES


def test_several_samples_are_bet_on(rows, solved, tmp_path, heard):
    run = stopping(rows, solved, tmp_path / "run", heard, model=Told("told/wrong"), n=3)
    test = read_summary(run).stopping.test
    assert test.method.startswith("hedged betting")
    assert test.decision.problems < PROBLEMS


def test_a_service_is_not_asked_after_the_decision(rows, solved, tmp_path, heard):
    def script(_):
        graded = len(server.requests) - 1
        until = time.monotonic() + 60
        while verdict_lines(tmp_path / "run") < graded and time.monotonic() < until:
            time.sleep(0.005)
        return scripted.Answer(scripted.chat(WRONG))

    with scripted.scripted_server(script) as server:
        policy = RequestPolicy(max_connections=1)
        run = stopping(rows, solved, tmp_path / "run", heard, model="openai-compatible/x", base_url=server.url,
                       request_policy=policy)  # fmt: skip
    summary = read_summary(run)
    assert summary.stopping.test.decision.problems == 8
    assert 8 <= summary.answered <= 10
    assert len(server.requests) == summary.answered


def test_another_order_or_level_of_a_run_that_was_begun_is_refused(rows, solved, tmp_path, heard):
    stopping(rows, solved, tmp_path / "run", heard)
    for changed in ({"order_seed": 1}, {"alpha": 0.01}):
        with pytest.raises(UserError, match="was begun to be compared with solved under strict@2, `order_seed` 0"):
            stopping(rows, solved, tmp_path / "run", heard, **changed)


def test_what_cannot_be_compared_is_refused_before_anything_is_asked(rows, solved, tmp_path, heard):
    model = Told("told/wrong")

    def refused(match, error=UserError, **options):
        with pytest.raises(error, match=match):
            stopping(rows, solved, tmp_path / "run", heard, model=model, **options)

    refused("with another prompt", NotComparable, profiles=("human-eval",))
    refused("lies between 0 and 1", alpha=1.0)
    refused("leave `batch` out", batch=True)
    refused("no manifest|manifest.json", stop_when_decided=tmp_path / "nowhere")
    other = tmp_path / "other.jsonl"
    other.write_text("".join(rows.read_text().splitlines(keepends=True)[:20]))
    with pytest.raises(NotComparable, match="compare runs on the same data"):
        truegrade.run(str(other), model=model, out=tmp_path / "other", stop_when_decided=solved)
    with pytest.raises(UserError, match="is the run itself"):
        truegrade.run(str(rows), model="baseline/reference", out=solved.path, stop_when_decided=solved)
    assert model.asked == []
    assert not (tmp_path / "run").exists()


def test_several_models_are_refused_on_the_command_line(rows, solved, tmp_path):
    command = ["run", str(rows), "-m", "baseline/empty", "-m", "baseline/reference", "--out", str(tmp_path)]
    done = CliRunner().invoke(main, [*command, "--stop-when-decided", str(solved.path)])
    assert done.exit_code == 2
    assert "--stop-when-decided" in done.output and "name one model" in done.output


def test_the_command_stores_the_rule_and_the_page_shows_the_warning(rows, solved, tmp_path):
    command = ["run", str(rows), "-m", "baseline/empty", "--out", str(tmp_path / "run"), "--json"]
    done = CliRunner().invoke(main, [*command, "--stop-when-decided", str(solved.path), "--order-seed", "2"])
    assert done.exit_code == 0
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["stopping"]["order_seed"] == 2
    assert manifest["stopping"]["test"]["decision"]["problems"] == 8
    page = (Path(tmp_path) / "run" / "report.html").read_text()
    assert "stopped early, decided at problem 8 of 30" in page
    assert "not asked: the comparison was decided before" in page
