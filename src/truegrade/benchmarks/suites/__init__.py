"""Suites: benchmarks that one command runs, with the settings that they share."""

from __future__ import annotations

from truegrade.benchmarks.suites.reading import read_suite
from truegrade.benchmarks.suites.suite import Suite, SuiteBenchmark
from truegrade.benchmarks.suites.table import SUITES, find_suite, is_suite

__all__ = ["SUITES", "Suite", "SuiteBenchmark", "find_suite", "is_suite", "read_suite"]
