"""Suites: benchmarks that one command runs, with the settings that they share."""

from __future__ import annotations

from truegrade.pipeline.suites.reading import read_suite
from truegrade.pipeline.suites.suite import BenchmarkSuite, SuiteBenchmark
from truegrade.pipeline.suites.table import SUITES, find_suite, is_suite

__all__ = ["SUITES", "BenchmarkSuite", "SuiteBenchmark", "find_suite", "is_suite", "read_suite"]
