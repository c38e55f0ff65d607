"""Problems arrive as they were sent, and an actor keeps a bounded part of them."""

import hashlib
import json

import pytest

from truegrade.apps.ray import crew
from truegrade.apps.ray.crew import Received, ship
from truegrade.benchmarks import load_benchmark
from truegrade.errors import UserError
from truegrade.grading.contests.tests import UndecodableTests, decode
from truegrade.records import ContestTask, FileSpan, FunctionTask, Problem


def problem(number, task):
    return Problem(id=f"p/{number}", benchmark="b", dataset_sha256="", cluster=str(number), task=task)


def function(size):
    return FunctionTask(prompt="", entry_point="f", tests="#" * size, reference="")


class Store:
    """Ray's object store, as far as it is used: a list, and how often it was asked."""

    def __init__(self):
        self.objects, self.fetched = [], []

    def put(self, packed):
        self.objects.append(packed)
        return len(self.objects) - 1

    def get(self, reference):
        self.fetched.append(reference)
        return self.objects[reference]


def test_values_of_every_kind_arrive(data_dir):
    """EvalPlus' inputs hold tuples, sets and complex numbers."""
    problems = load_benchmark("humanevalplus", data_dir).problems[:40]
    store = Store()
    received = Received(ship(problems, store.put), store.get)
    assert [received[p.id] for p in problems] == list(problems)
    assert store.fetched == [0], "a small data set is one object, fetched once"


def test_groups_are_bounded_and_so_is_what_an_actor_keeps(monkeypatch):
    monkeypatch.setattr(crew, "GROUP_BYTES", 3_000)
    monkeypatch.setattr(crew, "KEPT_BYTES", 8_000)
    problems = [problem(number, function(1_000)) for number in range(12)] + [problem(99, function(20_000))]
    store = Store()
    received = Received(ship(problems, store.put), store.get)
    assert len(store.objects) == 7, "two and two, and the large one by itself"
    for each in problems:
        assert received[each.id] == each
    assert store.fetched == [0, 1, 2, 3, 4, 5, 6]
    assert received["p/99"] == problems[-1]
    assert len(store.fetched) == 7, "the group in use stays however large it is"
    assert received["p/0"] == problems[0]
    assert store.fetched[7:] == [0], "the oldest had to go"


def contest(path):
    line = path.read_bytes()
    span = FileSpan(path=str(path), offset=0, length=len(line), sha256=hashlib.sha256(line).hexdigest())
    return problem(1, ContestTask(title="", question="", public_tests="[]", private_tests=span))


def test_tests_that_lie_in_a_file_travel_along(tmp_path):
    row = tmp_path / "rows.jsonl"
    tests = json.dumps([{"input": "1", "output": "2", "testtype": "stdin"}])
    row.write_text(json.dumps({"private_test_cases": tests}) + "\n")
    store = Store()
    shipment = ship([contest(row)], store.put)
    row.unlink()
    assert decode(Received(shipment, store.get)["p/1"].task).outputs == ("2",)


def test_a_file_that_is_gone_is_named(tmp_path):
    row = tmp_path / "rows.jsonl"
    row.write_text("{}\n")
    gone = contest(row)
    row.unlink()
    with pytest.raises(UndecodableTests, match=r"rows\.jsonl"):
        ship([gone], Store().put)
    assert issubclass(UndecodableTests, UserError)
