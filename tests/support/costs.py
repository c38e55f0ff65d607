"""What each test costs in CPU time, and the list of those that ``make test-fast`` leaves out.

``pytest --write-costly`` measures every test that it runs, whole files of them, and writes ``tests/costly.txt``
anew; a test that is not in that list counts as quick. CPU time of the process and of what it started is measured,
since a busy machine stretches every wall clock. What a fixture of a module or of the session costs counts for each
test that asks for it: were the first alone left out, the next would pay.
"""

from __future__ import annotations

import os
import resource
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

LIST = Path(__file__).parents[1] / "costly.txt"
COSTLY_S = 0.08
"""CPU seconds of a test function with all its parameters; above, it is left out."""
REPRESENTATIVE_S = 0.4
"""A file without a quick test keeps its cheapest one, where that costs less."""
HEAD = "# Test functions that `make test-fast` leaves out; written by `make costs`, see tests/support/costs.py.\n"


def function_of(nodeid: str) -> str:
    """``test_file.py::test_name`` of a test: without its folder, which may change, and its parameters."""
    return nodeid.partition("[")[0].rpartition("/")[2]


def file_of(function: str) -> str:
    return function.partition("::")[0]


def read_costly() -> set[str]:
    """The functions of the list."""
    return {line for line in LIST.read_text().splitlines() if line and not line.startswith("#")}


def costly(seconds: Mapping[str, float], skipped: Collection[str], before: Iterable[str]) -> list[str]:
    """The new list.

    Args:
        seconds: CPU time of each function that ran, all its parameters together.
        skipped: functions of which no test ran; they stay as they were.
        before: the list as it was; files of which nothing was seen keep their lines.
    """
    seen = {file_of(name) for name in (*seconds, *skipped)}
    found = {name for name in before if file_of(name) not in seen or name in skipped}
    by_file = defaultdict(list)
    for name, spent in seconds.items():
        by_file[file_of(name)].append((spent, name))
    for tests in by_file.values():
        expensive = [(spent, name) for spent, name in tests if spent > COSTLY_S]
        if len(expensive) == len(tests) and min(tests)[0] < REPRESENTATIVE_S:
            expensive.remove(min(tests))
        found |= {name for _, name in expensive}
    return sorted(found)


class Costs:
    """The plugin: workers measure and tell with each report, the process that has no master writes."""

    def __init__(self) -> None:
        self._at = cpu_s()
        self._shared: dict[object, float] = {}
        """CPU time of the fixtures of more than one test."""
        self._paid: set[object] = set()
        """Those that the test under way was the first to ask for."""
        self._seconds: dict[str, float] = defaultdict(float)
        self._skipped: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        began = cpu_s()
        made = yield
        if fixturedef.scope != "function":
            self._shared[fixturedef] = cpu_s() - began
            self._paid.add(fixturedef)
        return made

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        now = cpu_s()
        report.cpu_s, self._at = now - self._at, now
        if call.when == "setup":
            asked = {found[-1] for found in item._fixtureinfo.name2fixturedefs.values()}
            report.cpu_s += sum(self._shared.get(one, 0.0) for one in asked - self._paid)
            self._paid.clear()
        return report

    def pytest_runtest_logreport(self, report):
        name = function_of(report.nodeid)
        if report.when == "call":
            self._seconds[name] += 0
        if report.skipped:
            self._skipped.add(name)
        if name in self._seconds or not report.skipped:
            self._seconds[name] += report.cpu_s

    def pytest_sessionfinish(self, session):
        if not hasattr(session.config, "workerinput"):
            names = costly(self._seconds, self._skipped - set(self._seconds), read_costly())
            LIST.write_text(HEAD + "".join(f"{name}\n" for name in names))


def cpu_s() -> float:
    """CPU seconds so far of this process, of its ended children, and of its living ones with all of theirs."""
    ended = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in ended) + _below(os.getpid()) / os.sysconf("SC_CLK_TCK")


def _below(pid: int) -> int:
    """Clock ticks of living descendants; a process that ends meanwhile is passed over."""
    ticks = 0
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                with suppress(OSError):
                    stat = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
                    ticks += sum(map(int, stat[11:15])) + _below(int(child))
    return ticks
