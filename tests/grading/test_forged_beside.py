"""No unmarked pass rests on a run beside the tests, where every test can be made to pass."""

import pytest

from support.beside_forgeries import GIVEN, KINDS, LEFT_OUT, MARKED, OF_MODULES, SEEN_IN_THE_PROGRAM
from support.outside_suites import suite
from truegrade.grading.functions import TESTS_INSIDE
from truegrade.grading.suite_grading import grade_by_suite
from truegrade.grading.suite_reference import ReferencesShown
from truegrade.sandbox import Limits, Sandbox

PACKAGES = {"numpy": "import numpy", "pandas": "import pandas"}


def made(body, reference, entry_point="f", **more):
    packages = tuple(name for name, text in PACKAGES.items() if text in body)
    for name in packages:
        pytest.importorskip(name, reason=f"{name} is not installed")
    return suite(body, reference, entry_point, packages=packages, **more)


def tasks():
    for name, (body, reference, wrong) in {**KINDS, **SEEN_IN_THE_PROGRAM, **MARKED}.items():
        yield pytest.param(body, reference, wrong, {}, name in MARKED, id=name)
    for name, (body, reference, wrong) in OF_MODULES.items():
        entry = "Box" if "class Box" in reference else "f"
        yield pytest.param(body, reference, wrong, {"module": "held", "entry_point": entry}, None, id=name)
    for name, (body, reference, wrong, prefix) in GIVEN.items():
        yield pytest.param(body, reference, wrong, {"prefix": prefix}, None, id=name)


@pytest.fixture(scope="module", params=[3, pytest.param(2, marks=[pytest.mark.slow, pytest.mark.thorough])])
def graded(request, tmp_path_factory):
    limits = Limits(cpu_s=5.0, wall_s=20.0, packages=("numpy", "pandas"))
    with Sandbox(limits, workers=1, max_level=request.param) as sandbox:
        if sandbox.level != request.param:
            pytest.skip(f"protection level {sandbox.level} here")
        kept = ReferencesShown(tmp_path_factory.mktemp("suites"))
        yield lambda task, program: grade_by_suite(task, program, kept, sandbox, min_cpu_s=5.0)


@pytest.mark.parametrize(("body", "reference", "wrong", "more", "marked"), [*tasks()])
def test_what_one_process_shows_is_decided_outside_or_marked(graded, body, reference, wrong, more, marked):
    task = made(body, reference, **more)
    right = graded(task, reference)
    assert right.passed, right
    if marked is not None:
        assert (TESTS_INSIDE in right.marks) is marked, right
    honest = graded(task, wrong)
    assert not honest.passed, honest
    forged = graded(task, LEFT_OUT + wrong)
    assert not forged.passed or TESTS_INSIDE in forged.marks, forged
    assert graded(task, LEFT_OUT + reference).passed, "the forgery is one that works"
