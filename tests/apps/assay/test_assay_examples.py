"""The examples of a statement: doctests, arrows, shown and public tests."""

from __future__ import annotations

import json

import pytest
from probe_grading import problems_of

from truegrade.apps.assay.probes.stubs import examples_of
from truegrade.records import ContestTask, FunctionTask, Problem


def examples(**fields):
    task = FunctionTask(**{"prompt": "", "entry_point": "f", "tests": "", "reference": "", **fields})
    return examples_of(Problem(id="p", benchmark="b", dataset_sha256="", cluster="p", task=task))


@pytest.mark.parametrize(
    ("prompt", "found"),
    [
        ("    >>> f([1, 2], 'a)')\n    [1]\n", [(([1, 2], "a)"), [1])]),
        ('    >>> f(1)\n    "b"\n    >>> f(2)\n    3"""', [((1,), "b"), ((2,), 3)]),
        ("f(1) == 2", [((1,), 2)]),
        ("For f(1, (2)) => -3. Then f(x) = 4", [((1, 2), -3)]),
        ("f(1) ➞ None # why", [((1,), None)]),
        ("* f('x') should return [1, 2];", [(("x",), [1, 2])]),
        ("f(1) -> g(2)", []),
        ("f(a) == 1, g(1) == 2, f(1", []),
        ("f(b=1) == 2", []),
    ],
)
def test_examples_in_words(prompt, found):
    assert examples(prompt=prompt) == found


def test_shown_tests_and_those_of_a_repair():
    assert examples(shown_tests=("assert f(1)==2", "assert g(f(1)) == 2", "assert f(")) == [((1,), 2)]
    tests = "\n".join(f"assert f({number}) == {number}" for number in range(5))
    assert examples(tests=tests) == [] and len(examples(tests=tests, buggy="def f(a): pass")) == 3


def test_public_tests_of_a_contest():
    def public(tests, function=None):
        task = ContestTask(title="", question="", function=function, public_tests=tests, private_tests="[]")
        return examples_of(Problem(id="p", benchmark="b", dataset_sha256="", cluster="p", task=task))

    assert public(json.dumps([{"input": "1\n", "output": "2\n"}])) == [(("1\n",), "2\n")]
    assert public(json.dumps([{"input": '[1]\n"a"', "output": "2"}, {"input": "", "output": "2"}]), "f") == [
        (([1], "a"), 2)
    ]
    assert public("{") == [] and public("3") == []


def test_two_thirds_of_humaneval_show_an_example(data_dir):
    assert sum(bool(examples_of(problem)) for problem in problems_of("humaneval", data_dir)) > 110
