"""What references return is found once a machine, and stays what it was."""

import tracemalloc

import msgspec
import pytest

from truegrade.cli.diagnosis import examine
from truegrade.errors import UserError
from truegrade.grading.evalplus import ground_truths, run_reference
from truegrade.grading.functions import ReferenceFailed, _run_reference, expected_outputs
from truegrade.grading.references import REFERENCES, REFERENCES_MB, references_kept
from truegrade.profiles import open_profile
from truegrade.records import Answer, OracleTask, Problem
from truegrade.sandbox import Limits, Sandbox
from truegrade.sandbox.encode import encode
from truegrade.sandbox.outcome import CallResult

REFERENCE = """
def f(a, b):
    return {1: float("nan"), 2: [1, (2.5, {"x": b"y", None: {3}})], 3: "\\ud800", 4: [0] * 2_100_000,
            5: 2 ** 20_000, 6: iter([a, b]), 7: -0.0}[a]
"""
TASK = OracleTask(
    prompt="", entry_point="f", reference=REFERENCE, base_inputs=((1, 0),),
    plus_inputs=tuple((number, 0) for number in range(2, 8)),
)  # fmt: skip
LIMITS = Limits(cpu_s=5.0, output_bytes=1 << 20)
SIMPLE = OracleTask(
    prompt="", entry_point="f", reference="def f(a):\n    return a + 1\n", base_inputs=((1,), (2,)),
    plus_inputs=((3,),),
)  # fmt: skip


class Counting:
    """An executor that notes which programs it calls."""

    def __init__(self, sandbox, level=None):
        self._sandbox, self.called = sandbox, 0
        self.level = sandbox.level if level is None else level

    def call(self, *arguments, **more):
        self.called += 1
        return self._sandbox.call(*arguments, **more)

    def __getattr__(self, name):
        return getattr(self._sandbox, name)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(REFERENCES, str(tmp_path / "references"))
    return tmp_path / "references"


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(LIMITS, workers=2) as made:
        if made.level < 2:
            pytest.skip("at level 1 nothing is kept on disk")
        yield made


def test_what_is_kept_is_what_was_found(folder, sandbox):
    found = _run_reference(TASK, sandbox)
    executor = Counting(sandbox)
    for _ in range(2):
        again = expected_outputs().of("p", TASK, executor)
        assert again.results == found.results
        assert [one.is_solid for one in again.results] == [one.is_solid for one in found.results]
    assert executor.called == 1
    truth, again = (ground_truths().of("p", TASK, executor) for _ in range(2))
    assert truth == again and truth.plus.values == run_reference(TASK, sandbox).plus.values
    assert truth.plus.absent and executor.called == 2


def test_a_large_value_is_kept_as_its_bytes_alone():
    """Floats take four times their bytes, and what a reference returned stays for all samples of a problem."""
    encoded = encode([number / 7 for number in range(100_000)], 1 << 24)
    expected = CallResult(encoded)
    tracemalloc.start()
    try:
        assert CallResult(bytes(bytearray(encoded))).same_as(expected) and expected.is_solid
        assert tracemalloc.get_traced_memory()[0] < 100_000
    finally:
        tracemalloc.stop()


def test_it_is_found_once_however_many_problems_there_are(folder, sandbox):
    executor, references = Counting(sandbox), expected_outputs()
    tasks = [msgspec.structs.replace(SIMPLE, base_inputs=((number,),)) for number in range(40)]
    for _ in range(2):
        for number, task in enumerate(tasks):
            assert references.of(f"p{number}", task, executor).results[0].value == number + 1
    assert executor.called == 40


def test_whatever_decides_is_part_of_the_key(folder, sandbox):
    executor = Counting(sandbox)
    others = {
        "reference": "def f(a):\n    return a + 2\n", "base_inputs": ((True,), (2,)), "plus_inputs": (),
        "comparator": "not_none", "atol": 1e-3, "cpu_s": 50.0, "entry_point": "g",
    }  # fmt: skip
    expected_outputs().of("p", SIMPLE, executor)
    for number, (field, value) in enumerate(others.items()):
        task = msgspec.structs.replace(SIMPLE, **{field: value})
        if field == "entry_point":
            task = msgspec.structs.replace(
                task, reference=SIMPLE.reference.replace("f", "g").replace("deg", "def")
            )
        expected_outputs().of("p", task, executor)
        assert executor.called == number + 2, field
    with Sandbox(Limits(cpu_s=5.0, output_bytes=1 << 21), workers=1) as other:
        larger = Counting(other)
        expected_outputs().of("p", SIMPLE, larger)
    assert larger.called == 1


def test_a_reference_that_fails_is_not_kept(folder, sandbox):
    executor, task = Counting(sandbox), msgspec.structs.replace(SIMPLE, reference="def f(a):\n    return a / 0\n")
    for _ in range(2):
        with pytest.raises(ReferenceFailed, match="ZeroDivisionError"):
            expected_outputs().of("p", task, executor)
    assert executor.called == 2 and references_kept().state().entries == 0


def test_at_level_1_nothing_is_kept_or_looked_for(folder, sandbox):
    shallow = Counting(sandbox, level=1)
    expected_outputs().of("p", SIMPLE, shallow)
    assert not folder.exists()
    expected_outputs().of("p", SIMPLE, sandbox)
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    expected_outputs().of("p", SIMPLE, shallow)
    assert shallow.called == 2 and {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before


@pytest.mark.parametrize("name", ["strict", "evalplus", "bigcode"])
def test_a_damaged_entry_decides_no_verdict(name, folder, sandbox):
    problem = Problem(id="p", benchmark="mbppplus", dataset_sha256="d", cluster="p", task=SIMPLE)

    def verdicts():
        profile = open_profile(name)
        texts = ("def f(a):\n    return a + 1\n", "def f(a):\n    return a + 2\n")
        return [profile.judgement(problem, Answer(value=text, found=""), sandbox).reason for text in texts]

    first = verdicts()
    (entry,) = (path for path in folder.iterdir() if path.suffix != ".lock")
    right = entry.read_bytes()
    entry.write_bytes(right[:-1] + bytes([right[-1] ^ 1]))
    assert verdicts() == first == ["passed", "wrong_answer"] or name == "bigcode"
    assert verdicts() == first
    assert len(entry.read_bytes()) == len(right) and references_kept().read(entry.name) is not None


def test_a_bound_that_is_no_number_is_refused(monkeypatch):
    monkeypatch.setenv(REFERENCES_MB, "much")
    with pytest.raises(UserError, match="TRUEGRADE_REFERENCES_MB is 'much'"):
        references_kept()


def test_doctor_says_where_it_lies_and_how_large_it_is(folder, sandbox, monkeypatch):
    expected_outputs().of("p", SIMPLE, sandbox)
    (said,) = [each for each in examine() if each.name == "references"]
    assert said.state == "ok" and str(folder) in said.detail
    assert said.detail.startswith("outputs of 1 kept, 0.0 of at most 2000 MB")
    monkeypatch.setenv(REFERENCES_MB, "-")
    (said,) = [each for each in examine() if each.name == "references"]
    assert said.state == "warning" and REFERENCES_MB in said.detail
