"""What a trainer may hand to a pool of processes travels by its settings, before its use and amid it."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import threading
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from support.reward_replies import RIGHT, SQUARES, WRONG, fenced, square
from truegrade.apps.rewards.grader import RewardGrader, reward_grader
from truegrade.apps.rewards.records import PolicyReply, RewardLimits, TruthCache
from truegrade.apps.rewards.rllm import TruegradeEvaluator
from truegrade.apps.rewards.telemetry import Telemetry
from truegrade.apps.rewards.trl import truegrade_reward
from truegrade.apps.rewards.verl import compute_score

COMPLETIONS = [fenced(f"def f(n):\n    return {value}") for value in (RIGHT, WRONG)]


def of_trl(reward):
    return reward(completions=COMPLETIONS, ground_truth=[SQUARES] * 2)


def of_grader(grader):
    return [each.value for each in grader.grade_sync([square(RIGHT), square(WRONG)])]


def counted(grader):
    """What it pays, and how many replies its telemetry has counted in this process."""
    return of_grader(grader), grader.telemetry.now.counts.replies, os.getpid()


def called(data):
    return pickle.loads(data)()


WAYS = {
    "pickle": lambda it: pickle.loads(pickle.dumps(it)),
    "old": lambda it: pickle.loads(pickle.dumps(it, 0)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


@pytest.fixture(params=WAYS)
def travelled(request):
    return WAYS[request.param]


@pytest.fixture
def in_process():
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        yield lambda function, *args: pool.submit(function, *args).result(120)


def open_files():
    return len(os.listdir("/proc/self/fd"))


def test_a_reward_function_travels(travelled):
    reward = truegrade_reward(profile="strict", column="ground_truth", unknown="none")
    other = travelled(reward)
    assert other is not reward and other.__name__ == reward.__name__ == "truegrade"
    assert of_trl(other) == of_trl(travelled(reward)) == [1.0, 0.0]
    assert travelled(truegrade_reward(unknown="raise"))._raises


def test_a_grader_travels_by_its_settings(travelled, tmp_path, monkeypatch):
    settings = {
        "url": "http://127.0.0.1:1", "token": "t", "profile": "strict", "benchmark": "humaneval",
        "scheme": "threshold(0.5)", "on_error": -0.5, "retry_s": 3.0, "tampering": -1.0, "truncated": "none",
        "tests_inside": True, "limits": {"cpu_s": 2.0},
    }  # fmt: skip
    grader = travelled(RewardGrader(**settings))
    for name in ("scheme", "on_error", "retry_s", "tampering", "truncated", "benchmark", "_under", "_place"):
        assert getattr(grader, name) == getattr(RewardGrader(**settings), name), name
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").touch()
    local = travelled(RewardGrader(workers=3, benchmark="humaneval=rows.jsonl", limits=RewardLimits(cpu_s=1)))
    assert local.benchmark == f"humaneval={Path('rows.jsonl').resolve()}" and local._place.workers == 3
    monkeypatch.setenv("TRUEGRADE_REWARD_SCHEME", "share")  # of the other process: it was settled before
    assert travelled(RewardGrader()).scheme.name == "all"


def test_nothing_is_opened_before_the_first_reply(travelled, tmp_path):
    folder = tmp_path / "not there"
    grader = RewardGrader(telemetry=Telemetry(folder=folder, shadow=None, step_replies=1))
    folder.rmdir()
    before = threading.active_count(), open_files()
    other = travelled(grader)
    assert (threading.active_count(), open_files()) == before and not folder.exists()
    if other.telemetry is grader.telemetry:  # of a copy that is not deep
        folder.mkdir()
    assert of_grader(other) == [1.0, 0.0] and (folder / "steps.jsonl").is_file()


def test_it_travels_while_it_is_used(travelled):
    with RewardGrader(telemetry=Telemetry(shadow_share=1.0)) as grader:
        first = of_grader(grader)
        waits = threading.Thread(target=of_grader, args=(grader,))
        waits.start()
        with grader._lock:
            other = travelled(grader)
        assert of_grader(other) == first == [1.0, 0.0]
        waits.join()
    assert of_grader(travelled(grader)) == [1.0, 0.0]  # the closed one's settings


def test_in_a_process_equal_settings_are_one(travelled):
    data = pickle.dumps(RewardGrader(telemetry=Telemetry(shadow=None), limits={"cpu_s": 3.0}))
    one = pickle.loads(data)
    assert pickle.loads(data) is one and one.telemetry is pickle.loads(data).telemetry
    one.close()
    assert of_grader(pickle.loads(data)) == [1.0, 0.0]


def test_a_spawned_process_grades_with_what_it_is_handed(in_process):
    grader = RewardGrader(telemetry=Telemetry(shadow=None))
    assert in_process(of_trl, truegrade_reward(unknown="none")) == [1.0, 0.0]
    assert [in_process(counted, grader)[:2] for _ in range(2)] == [([1.0, 0.0], 2), ([1.0, 0.0], 4)]
    assert grader.telemetry.now.counts.replies == 0
    assert of_grader(grader) == [1.0, 0.0] and in_process(of_grader, grader) == [1.0, 0.0]
    grader.close()


def test_cloudpickle_takes_it_within_a_function(in_process):
    cloudpickle = pytest.importorskip("cloudpickle", reason="cloudpickle comes with [ray]")
    reward = truegrade_reward(unknown="none")
    data = cloudpickle.dumps(lambda: of_trl(reward))
    assert in_process(called, data) == [1.0, 0.0]


@pytest.mark.parametrize(
    "made",
    [TruegradeEvaluator(profile="strict"), compute_score, Telemetry(), TruthCache(7, 9), reward_grader,
     RewardLimits(), PolicyReply(text="x", ground_truth=SQUARES),
     PolicyReply(messages=[{"role": "assistant", "content": "x"}])],
    ids=lambda it: getattr(it, "__name__", type(it).__name__),
)  # fmt: skip
def test_the_others_travel_too(made):
    other = pickle.loads(pickle.dumps(made))
    assert type(other) is type(made)
    if isinstance(made, PolicyReply):
        assert other == made
