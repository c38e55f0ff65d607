"""Sends probes through strict, several at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from truegrade.benchmarks import load_benchmark
from truegrade.pipeline.verdicts import limits_for
from truegrade.profiles import open_profile
from truegrade.records import Answer
from truegrade.sandbox import Sandbox


def problems_of(name, data_dir=None, every=1, **args):
    """Every so many problems of a benchmark."""
    return load_benchmark(name, data_dir, args).problems[::every]


def judged(sent):
    """What strict says of each pair of a program and the problem that it is graded by."""
    strict = open_profile("strict")
    with (
        Sandbox(limits_for(strict, [problem for _, problem in sent]), 2, allow_unsafe=True) as sandbox,
        ThreadPoolExecutor(2) as pool,
    ):
        return list(
            pool.map(
                lambda one: strict.judgement(one[1], Answer(value=one[0], found="whole"), sandbox),
                sent,
            )
        )
