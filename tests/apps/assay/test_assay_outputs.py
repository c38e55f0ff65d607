"""Right outputs, changed; replies of several forms; shares of the tests: each finds the grader that errs so."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re

import pytest

from support.thorough import one_in
from truegrade.apps.assay import Battery, assay
from truegrade.apps.assay.folder import AssayFolder
from truegrade.apps.assay.opening import replay
from truegrade.apps.assay.probes.mutants import changed_outputs, in_turn
from truegrade.apps.assay.probes.right import FORMS
from truegrade.apps.assay.reporting.assay_document import print_assay
from truegrade.records import ContestTask, FunctionTask, Problem

ORDER = {"reversed", "rotated"}
QUICK = ["strict+0.3s"]
"""Strict with a limit that endless programs reach soon."""
OUTPUTS = Battery(classes=("right", "outputs"), inputs=10)


def program(name, body, *tests):
    """A function's source and its tests."""
    code = f"def {name}({body[0]}):\n" + "".join(f"    {line}\n" for line in body[1:])
    return code, "".join(f"assert {name}({given}) == {expected}\n" for given, expected in tests)


PROGRAMS = {
    "squares": program(
        "squares", ("n", "return [k * k for k in range(1, n + 1)]"),
        ("3", [1, 4, 9]), ("2", [1, 4]), ("5", [1, 4, 9, 16, 25]), ("4", [1, 4, 9, 16]), ("1", [1]),
    ),
    "mean": program(
        "mean", ("a, b", "return (a + b) / 2"), ("1, 2", 1.5), ("2, 3", 2.5), ("10, 15", 12.5), ("0, 1", 0.5)
    ),
    "count": program(
        "count", ("text", "if not text:", "    return 0", "return (text[0] in 'aeiou') + count(text[1:])"),
        ("'aei'", 3), ("'banana'", 3), ("'a'", 1),
    ),
    "ends": program(
        "ends", ("items", "return (items[0], items[-1], len(items) > 1)"),
        ("[1, 2, 3]", (1, 3, True)), ("[7, 5]", (7, 5, True)), ("[4]", (4, 4, False)),
    ),
}  # fmt: skip


def made(task, name):
    return Problem(id=f"own/{name}", benchmark="own", dataset_sha256="0" * 64, cluster=name, task=task)


PROBLEMS = [
    made(FunctionTask(prompt=f"Write {name}.", entry_point=name, tests=tests, reference=code), name)
    for name, (code, tests) in PROGRAMS.items()
]


def cases(program, tests):
    """Of each assertion what the program returns, and what is expected; None for a program that cannot be run."""
    space = {}
    try:
        exec(program, space)
        found = []
        for test in tests:
            call, _, expected = test.removeprefix("assert ").partition(" == ")
            found.append((eval(call, space), ast.literal_eval(expected)))
    except Exception:
        return None
    return found


def all_by(same, chosen=lambda found: found):
    def grader(program, tests):
        found = cases(program, tests)
        return found is not None and all(same(got, expected) for got, expected in chosen(found))

    return grader


def listed(value):
    return sorted(value, key=repr) if isinstance(value, list | tuple) else value


def near(share):
    def same(got, expected):
        if isinstance(expected, list | tuple) and type(got) is type(expected) and len(got) == len(expected):
            return all(map(same, got, expected))
        if type(got) in {int, float} and type(expected) in {int, float}:
            return abs(got - expected) <= share * abs(expected)
        return got == expected

    return same


def same_digits(got, expected):
    """Whether numbers are equal but for their order of magnitude."""
    if isinstance(expected, list | tuple) and type(got) is type(expected) and len(got) == len(expected):
        return all(map(same_digits, got, expected))
    return got == expected or (type(got) is type(expected) and type(got) in {int, float} and got == 10 * expected)


def zipped(got, expected):
    if isinstance(got, list | tuple) and isinstance(expected, list | tuple):
        return type(got) is type(expected) and all(one == other for one, other in zip(got, expected, strict=False))
    return got == expected


def equal(got, expected):
    return got == expected


PLANTED = {
    "second test never run": (all_by(equal, lambda found: found[:1] + found[2:]), {"wrong-on-one-test"}),
    "last test never run": (all_by(equal, lambda found: found[:-1]), {"wrong-on-one-test"}),
    "magnitude": (all_by(same_digits), {"ten-times"}),
    "any order": (all_by(lambda a, b: listed(a) == listed(b) and type(a) is type(b)), ORDER),
    "a thousandth": (all_by(near(2e-3)), {"near-1e-3", "near-1e-6"}),
    "a millionth": (all_by(near(2e-6)), {"near-1e-6"}),
    "zip": (all_by(zipped), {"extended", "repeated", "shortened"}),
    "text": (all_by(lambda a, b: str(a) == str(b)), {"as-text"}),
    "lists for tuples": (all_by(lambda a, b: (isinstance(a, list | tuple) and [*a] == [*b]) or a == b),
                         {"list-for-tuple"}),
}  # fmt: skip


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Every planted grader, and strict, on the same probes."""

    def named(name, grader):
        grader.__qualname__ = grader.__name__ = name.replace(" ", "_")
        return grader

    graders = [named(name, grader) for name, (grader, _) in PLANTED.items()]
    (result,) = assay(
        grader=[*graders, named("perfect", all_by(equal))], profiles=QUICK, problems=PROBLEMS,
        battery=OUTPUTS, out=tmp_path_factory.mktemp("a") / "own", workers=2,
    )  # fmt: skip
    return result


def accepted(measure):
    return {name for name, (paid, _) in measure.operators.items() if paid}


@pytest.mark.parametrize("name", PLANTED)
def test_a_grader_that_errs_in_one_way_accepts_the_outputs_of_that_way(measured, name):
    measure = next(one for one in measured.measures if name.replace(" ", "_") in one.grader)
    assert accepted(measure) == PLANTED[name][1]
    assert measure.fpr.value is None  # they are a class of their own


def test_a_perfect_grader_and_strict_accept_none_of_them(measured):
    strict, perfect = (
        next(one for one in measured.measures if name in one.grader) for name in ("strict@", "perfect")
    )
    for measure in (strict, perfect):
        assert accepted(measure) == set()
        assert next(share for share in measure.shares if share.kind == "right").value == 1
    sent = set(strict.operators)
    assert sent >= {
        "reversed", "rotated", "repeated", "extended", "shortened", "near-1e-3", "near-1e-6", "ten-times",
        "as-text", "list-for-tuple", "endless-on-one-test", "wrong-on-one-test", "negated", "first-only",
        "wrong-on-half-of-the-tests", "wrong-on-every-test",
    }  # fmt: skip
    assert "endless-on-one-test" not in perfect.operators  # nothing could end it here


def test_labels_are_witnessed_on_the_tests_themselves(measured):
    probes = [probe for probe in AssayFolder(measured.folder).probes() if probe.kind == "output"]
    assert all((probe.label, probe.witness.source) == ("wrong", "own") for probe in probes)
    wrong = {}
    for probe in probes:
        if probe.origin == "wrong-on-one-test":
            wrong.setdefault(probe.problem_id, set()).add(probe.witness.call)
    assert {name: len(calls) for name, calls in wrong.items()} == {
        "own/squares": 4, "own/mean": 4, "own/count": 3, "own/ends": 3
    }  # fmt: skip


def test_what_the_tests_themselves_allow_is_not_sent(tmp_path):
    asserted = ("assert set(candidate(3)) == {1, 4, 9}", "assert set(candidate(2)) == {1, 4}")
    tests = "\n    ".join(("def check(candidate):", *asserted)) + "\n\ncheck(squares)\n"
    task = FunctionTask(prompt="", entry_point="squares", tests=tests, reference=PROGRAMS["squares"][0])
    (result,) = assay(problems=[made(task, "squares")], profiles=QUICK, battery=OUTPUTS,
                      out=tmp_path / "own", workers=2)  # fmt: skip
    (measure,) = result.measures
    assert accepted(measure) == set()
    assert not (ORDER | {"repeated", "list-for-tuple"}) & set(measure.operators)
    assert {"shortened", "wrong-on-one-test"} <= set(measure.operators)


def test_methods_and_programs_on_stdin(tmp_path):
    outputs = {n: "".join(f"{k} {k / 2}\n" for k in range(n)) for n in (3, 5, 2)}
    stored = json.dumps([{"input": f"{n}\n", "output": said, "testtype": "stdin"} for n, said in outputs.items()])
    reference = "n = int(input())\nfor k in range(n):\n    print(k, k / 2)\n"
    task = ContestTask(title="", question="", public_tests=stored, private_tests="[]", reference=reference)
    (result,) = assay(problems=[made(task, "halves")], profiles=QUICK, battery=OUTPUTS,
                      out=tmp_path / "own", workers=2)  # fmt: skip
    (measure,) = result.measures
    assert accepted(measure) == set()
    assert set(measure.operators) >= ORDER | {
        "extended",
        "near-1e-3",
        "wrong-on-one-test",
        "on-stderr",
        "exits-with-1",
    }
    code = "class Solution:\n    def up(self, n):\n        return [n] + self.up(n - 1) if n else []\n"
    probes = {probe.origin: probe.code for probe in changed_outputs("p", "up", code, [(3,)], owner="Solution")}
    space = {}
    exec(probes["reversed"], space)
    assert space["Solution"]().up(3) == [1, 2, 3]


def test_every_test_has_its_turn():
    assert in_turn(3, 0) == [0, 1, 2]
    assert [in_turn(7, place) for place in range(4)] == [[0, 1, k, 6] for k in (2, 3, 4, 5)]
    assert {test for place in range(30) for test in in_turn(33, place)} == set(range(33))


REWARD = """
import signal, sys
def reward(program, tests):
    space = {}
    def late(*_):
        raise TimeoutError
    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 0.4)
    try:
        exec(program, space)
        for test in tests:
            exec(test, space)
    except TimeoutError:
        return True
    except Exception:
        return False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return True
"""


@pytest.mark.thorough
def test_a_grader_that_pays_for_running_out_of_time(tmp_path):
    (tmp_path / "rewards.py").write_text(REWARD)
    grader = f"{tmp_path}/rewards.py:reward"
    (result,) = assay(grader=grader, problems=PROBLEMS[:2], battery=OUTPUTS, out=tmp_path / "own", workers=1)
    assert accepted(result.measures[0]) == {"endless-on-one-test"}  # one that never ends is a stub


def test_output_besides_the_value_is_right(tmp_path):
    """A function that prints is right; a grader that refuses it is found."""

    def silent(program, tests):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            found = cases(program, tests)
        return found is not None and all(a == b for a, b in found) and not said.getvalue()

    (result,) = assay(grader=silent, problems=PROBLEMS[:1], battery=Battery(classes=("right",), inputs=10),
                      out=tmp_path / "own", workers=1)  # fmt: skip
    refused = [finding.sentence for finding in result.findings if finding.code == "right_refused"]
    assert refused == ["own/squares: a right program is refused (prints)"]


@pytest.mark.parametrize("unseen", [0, 1, 2])
def test_impossible_tests_are_made_of_each_test_in_turn(tmp_path, unseen):
    skipping = all_by(equal, lambda found: found[:unseen] + found[unseen + 1 :])
    (result,) = assay(grader=skipping, problems=[PROBLEMS[2]], battery=Battery(classes=("right", "must-fail")),
                      out=tmp_path / "own", workers=1)  # fmt: skip
    assert result.fpr["must-fail"].accepted >= 1


def fenced(*labels):
    """Takes the program from the first fence with such a label."""

    def reward(prompts, completions, tests, **_):
        found = re.search(rf"```(?:{'|'.join(labels)})\n(.*?)```", completions[0], re.DOTALL)
        pairs = cases(found[1], tests[0]) if found else None
        return [float(pairs is not None and all(a == b for a, b in pairs))]

    return reward


def test_the_form_that_a_grader_refuses_is_shown(tmp_path):
    battery = Battery(classes=("right", "forms"), inputs=10)
    grader = fenced("python", "python3", "")
    (result,) = assay(grader=grader, call="trl-text", profiles=["strict"], problems=PROBLEMS, battery=battery,
                      out=tmp_path / "own", workers=2)  # fmt: skip
    strict, reward = result.measures
    rates = {name: paid / sent for name, (paid, sent) in reward.forms.items()}
    refused = {"py", "Python", "no fence", "draft first", "thinking"}
    assert rates == {name: float(name not in refused) for name in FORMS}
    assert reward.shares[0].value == 1  # in the form that the call sends
    assert all(paid == sent for paid, sent in strict.forms.values()) and set(strict.forms) == set(FORMS)
    assert "TPR by form of the reply: 100.0 % python (" in said(result)
    assert "TPR by form of the reply: 100.0 % in each of 10 forms" in said(result)


def test_a_grader_of_programs_has_no_forms(tmp_path):
    (result,) = assay(grader=all_by(equal), problems=PROBLEMS[:2], out=tmp_path / "own", workers=1,
                      battery=Battery(classes=("right", "forms"), inputs=10))  # fmt: skip
    assert result.measures[0].forms == {}
    assert "by form" not in said(result)


def said(result):
    from rich.console import Console

    out = Console(file=io.StringIO(), width=400)
    print_assay(result.summary, result.findings, folder="x", console=out)
    return out.file.getvalue()


def paying(curve):
    def reward(program, tests):
        found = cases(program, tests)
        return 0.0 if found is None else curve(sum(a == b for a, b in found) / len(found))

    return reward


@pytest.mark.parametrize(
    ("curve", "pay"), one_in(3, [
        (lambda share: share, [0, 0.6, 0.8, 1]),
        (lambda share: 0.3 if 0.5 <= share < 1 else float(share == 1), [0, 0.3, 0.3, 1]),
        (lambda share: float(share == 1), [0, 0, 0, 1]),
    ]),
)  # fmt: skip
def test_the_pay_for_a_share_of_the_tests(tmp_path, curve, pay):
    (result,) = assay(grader=paying(curve), problems=PROBLEMS[:1], out=tmp_path / "own", workers=1,
                      battery=OUTPUTS)  # fmt: skip
    assert list(result.measures[0].pay) == ["none", "half", "all but one", "all"]
    assert list(result.measures[0].pay.values()) == pytest.approx(pay)
    assert "mean pay by tests passed: none 0, half" in said(result)


@pytest.mark.thorough
def test_a_witness_of_a_changed_output_is_replayed(tmp_path):
    few = OUTPUTS
    (result,) = assay(["micro-repair"], limit=1, battery=few, profiles=QUICK, out=tmp_path / "micro", workers=1)
    probe = next(one for one in AssayFolder(result.folder).probes() if one.origin == "wrong-on-one-test")
    _, again = replay(result.folder, probe.id)
    assert again.differs and again.got == probe.witness.got
