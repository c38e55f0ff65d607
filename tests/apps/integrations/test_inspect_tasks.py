"""Inspect itself runs our tasks and comes to the verdicts of our own run."""

import json

import pytest

import truegrade
from truegrade.analysis.audit import Evidence, audit_file
from truegrade.benchmarks import load_benchmark
from truegrade.profiles import open_profile
from truegrade.settings import Silent

inspect_log = pytest.importorskip("inspect_ai.log", reason="the extra [inspect] is not installed")

pytestmark = pytest.mark.slow

HUMANEVAL_LIKE = """
import gzip, json
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import includes
from inspect_ai.solver import generate

@task
def humaneval(prompts: str):
    rows = [Sample(id=name, input=words, target="return") for name, words in json.loads(open(prompts).read())]
    return Task(dataset=MemoryDataset(rows), solver=generate(), scorer=includes())
"""
"""A task of somebody else's: it asks HumanEval's questions, and calls right what holds the word return."""


def test_inspect_gives_every_reply_the_verdict_of_our_own_run(inspect_runs, replies):
    path = inspect_runs("--limit", str(len(replies.passed)), "-T", "profile=strict")
    log = inspect_log.read_eval_log(str(path))
    assert log.status == "success"
    scores = {sample.id: sample.scores["verdict"] for sample in log.samples}
    assert {name: score.value == "C" for name, score in scores.items()} == replies.passed
    told = {name: score.metadata["verdict"]["reason"] for name, score in scores.items()}
    assert told == replies.reasons
    metrics = log.results.scores[0].metrics
    assert metrics["accuracy"].value == pytest.approx(replies.accuracy)
    n, p = len(scores), replies.accuracy
    assert metrics["stderr"].value == pytest.approx((p * (1 - p) / (n - 1)) ** 0.5)


def test_epochs_are_samples_of_one_task(inspect_runs, replies):
    log = inspect_log.read_eval_log(
        str(inspect_runs("--limit", "4", "--epochs", "2", "--epochs-reducer", "pass_at_2"))
    )
    verdicts = {(s.id, s.epoch): s.scores["verdict"].metadata["verdict"] for s in log.samples}
    assert len(verdicts) == 8 and all(told["sample"] == epoch - 1 for (_, epoch), told in verdicts.items())
    assert all(told["passed"] == replies.passed[name] for (name, _), told in verdicts.items())
    assert log.results.scores[0].reducer == "pass_at_2"


def test_its_log_is_graded_again_by_truegrade_with_the_same_verdicts(inspect_runs, replies, tmp_path):
    pytest.importorskip("backports.zstd", reason="the extra [zstd] is not installed")
    log = inspect_runs("--limit", str(len(replies.passed)))
    run = truegrade.grade(log, data=replies.data, out=tmp_path / "again")
    assert {verdict.problem_id: verdict.passed for verdict in run.verdicts()} == replies.passed
    assert {verdict.problem_id: verdict.reason.value for verdict in run.verdicts()} == replies.reasons


def test_a_log_of_somebody_else_s_task_is_graded_and_its_scores_audited(inspect_runs, replies, tmp_path):
    pytest.importorskip("backports.zstd", reason="the extra [zstd] is not installed")
    humaneval = load_benchmark("humaneval", replies.data)
    profile, known = open_profile("strict"), humaneval.by_id()
    words = [(name, profile.render_prompt(known[name]).messages[-1].content) for name in replies.passed]
    (tmp_path / "prompts.json").write_text(json.dumps(words))
    (tmp_path / "humaneval.py").write_text(HUMANEVAL_LIKE)
    log = inspect_runs("-T", f"prompts={tmp_path / 'prompts.json'}", task="humaneval.py")
    run = truegrade.grade(log, data=replies.data, out=tmp_path / "again")
    assert {verdict.problem_id: verdict.passed for verdict in run.verdicts()} == replies.passed
    found = audit_file(Evidence(path=log, progress=Silent()), humaneval)
    said = {s.id: s.scores["includes"].value == "C" for s in inspect_log.read_eval_log(str(log)).samples}
    assert found.recorded == {"passed": sum(said.values())}
    assert any(said[name] and not replies.passed[name] for name in said)
    contradicted = {row for finding in found.findings for row in finding.rows}
    assert contradicted >= {name for name in said if said[name] and not replies.passed[name]}


def test_a_profile_that_words_texts_to_continue_is_refused_with_a_sentence(inspect_runs):
    with pytest.raises(AssertionError, match="choose another profile or prompt"):
        inspect_runs("-T", "profile=human-eval")


def test_every_benchmark_is_a_task():
    from inspect_ai._util.registry import registry_find, registry_info

    from truegrade.apps.integrations import inspect_ai
    from truegrade.benchmarks import BENCHMARKS

    assert inspect_ai.make_task
    names = {registry_info(found).name for found in registry_find(lambda info: info.type == "task")}
    assert {f"truegrade/{name}" for name in BENCHMARKS} <= names
