"""The table of benchmarks, and how a name becomes a loaded one."""

from __future__ import annotations

from truegrade.benchmarks.base import Benchmark, BenchmarkSpec
from truegrade.benchmarks.table import BENCHMARKS, find_benchmark, known_benchmark, list_benchmarks, load_benchmark

__all__ = [
    "BENCHMARKS",
    "Benchmark",
    "BenchmarkSpec",
    "find_benchmark",
    "known_benchmark",
    "list_benchmarks",
    "load_benchmark",
]
