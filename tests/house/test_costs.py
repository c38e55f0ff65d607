"""Which tests `make test-fast` leaves out."""

import subprocess
import sys

import pytest

from support import costs
from support.costs import COSTLY_S, REPRESENTATIVE_S, costly, cpu_s, function_of

LOW, HIGH = COSTLY_S / 2, COSTLY_S * 2


def test_a_test_is_known_by_file_and_function():
    assert function_of("tests/a/b/test_x.py::test_y[p/q::r-1]") == "test_x.py::test_y"


def test_what_costs_more_is_left_out_and_what_is_unknown_is_not():
    seconds = {"test_a.py::quick": LOW, "test_a.py::slow": HIGH}
    assert costly(seconds, (), ["test_a.py::quick", "test_a.py::gone"]) == ["test_a.py::slow"]


def test_a_file_keeps_its_cheapest_test_unless_that_is_expensive_too():
    seconds = {"test_a.py::x": HIGH, "test_a.py::y": HIGH * 2, "test_b.py::x": REPRESENTATIVE_S}
    assert costly(seconds, (), ()) == ["test_a.py::y", "test_b.py::x"]


def test_what_did_not_run_stays_as_it_was():
    before = ["test_a.py::skipped", "test_b.py::elsewhere"]
    assert costly({"test_a.py::quick": LOW}, {"test_a.py::skipped", "test_a.py::new"}, before) == before


def test_time_of_this_process_and_of_those_that_it_started_counts():
    began = cpu_s()
    sum(range(10**6))
    own = cpu_s()
    subprocess.run([sys.executable, "-S", "-c", "sum(range(10**6))"], check=True)
    assert began < own < cpu_s()


def test_a_fixture_of_a_module_counts_for_every_test_that_asks_for_it(tmp_path, monkeypatch):
    (tmp_path / "test_shared.py").write_text(
        "import time, pytest\n"
        "@pytest.fixture(scope='module')\n"
        "def dear():\n"
        f"    end = time.process_time() + {3 * COSTLY_S}\n"
        "    while time.process_time() < end:\n"
        "        pass\n"
        "def test_first(dear):\n    pass\n"
        "def test_second(dear):\n    pass\n"
        "def test_without():\n    pass\n"
    )
    monkeypatch.setattr(costs, "LIST", tmp_path / "costly.txt")
    (tmp_path / "costly.txt").write_text(costs.HEAD)
    assert (
        pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)], [costs.Costs()])
        == 0
    )
    assert costs.read_costly() == {"test_shared.py::test_first", "test_shared.py::test_second"}
