"""New tests: chosen by half of the wrong programs, measured on the other half, written in several forms."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegrade.apps.assay.answers import read_call, written
from truegrade.apps.assay.hardening import harden, hardened_lines
from truegrade.apps.assay.hardening_forms import (
    ExportMaterial,
    KnownPrograms,
    NewTest,
    assertion,
    choose_inputs,
    exported_rows,
    with_tests,
)
from truegrade.benchmarks import load_benchmark
from truegrade.errors import UserError
from truegrade.profiles import open_profile
from truegrade.records import Answer, CasesTask, FunctionTask, OracleTask, Problem
from truegrade.sandbox import Sandbox

PROMPT = 'def between(values, low, high):\n    """The values from low to high, both included, in order."""\n'
BODY = (
    "    kept = []\n    for value in values:\n        if low <= value <= high:\n            kept.append(value)\n"
)
ROW = {
    "id": "own/1",
    "prompt": PROMPT,
    "tests": "assert between([2], 1, 3) == [2]\nassert between([5, 4, 1], 1, 9) == [1, 4, 5]",
    "entry_point": "between",
    "reference": f"{BODY}    return sorted(kept)\n",
}
FEW = {"mutants": 16, "inputs": 80, "workers": 2}


@pytest.fixture(scope="module")
def hardened(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hard")
    (folder / "weak.jsonl").write_text(json.dumps(ROW) + "\n")
    found = harden(str(folder / "weak.jsonl"), out=folder / "hard.jsonl", **FEW)
    return folder, found


def test_survivors_are_refused_and_right_programs_are_not(hardened):
    _, found = hardened
    (line,) = found.lines
    assert 1 <= len(line.tests) <= 10
    assert line.seen.before > line.seen.after
    assert line.held_out.after <= line.held_out.before
    assert line.right.after == line.right.programs > 0
    assert all(test.victims for test in line.tests)
    table = "\n".join(hardened_lines(found))
    assert "wrong mutants, not used to choose" in table
    assert "hard.manifest.json" in table


def test_the_hardened_file_is_a_benchmark_whose_reference_passes(hardened):
    folder, found = hardened
    (problem,) = load_benchmark(str(folder / "hard.jsonl")).problems
    assert problem.task.prompt == PROMPT
    assert problem.task.tests.count("assert") == 2 + len(found.lines[0].tests)
    with Sandbox(workers=1) as sandbox:
        strict = open_profile("strict")
        right = Answer(value=PROMPT + ROW["reference"], found="", form="program")
        wrong = Answer(value=right.value.replace("low <=", "low <"), found="", form="program")
        assert strict.judgement(problem, right, sandbox).passed
        assert not strict.judgement(problem, wrong, sandbox).passed


def test_the_other_forms_hold_the_same_tests(hardened):
    folder, found = hardened
    calls = [test.call for test in found.lines[0].tests]
    (evalplus,) = map(json.loads, (folder / "hard.evalplus.jsonl").read_text().splitlines())
    assert evalplus["task_id"] == "own/1"
    assert [f"between({', '.join(map(repr, one))})" for one in evalplus["plus_input"]] == calls
    assert evalplus["prompt"] + evalplus["canonical_solution"] == PROMPT + ROW["reference"]
    (trainer,) = map(json.loads, (folder / "hard.trainer.jsonl").read_text().splitlines())
    assert trainer["fn_name"] == "between"
    assert evalplus["base_input"] == [[[2], 1, 3], [[5, 4, 1], 1, 9]]
    arguments = [[json.loads(line) for line in text.split("\n")] for text in trainer["inputs"]]
    assert arguments == evalplus["base_input"] + evalplus["plus_input"]
    assert [json.loads(text) for text in trainer["outputs"]] == [
        sorted(v for v in values if low <= v <= high) for values, low, high in arguments
    ]
    manifest = json.loads((folder / "hard.manifest.json").read_text())
    assert manifest["hardened"] == 1
    assert [(one["file"], one["rows"], one["left_out"]) for one in manifest["files"]] == [
        ("hard.jsonl", 1, {}), ("hard.evalplus.jsonl", 1, {}), ("hard.trainer.jsonl", 1, {}),
    ]  # fmt: skip
    for one in found.exported:
        assert one.right.after == one.right.before == one.right.programs > 0
        assert (one.stubs.after, one.stubs.programs > 0) == (0, True)
        assert one.held_out.after <= one.held_out.before
    card = (folder / "hard.card.md").read_text()
    assert "| `hard.trainer.jsonl` | 1 | 0 of " in card
    assert "nothing." in card
    assert {victim for test in manifest["lines"][0]["tests"] for victim in test["victims"]}


def exported(
    reference, tests, calls, *, stub, comparator="equal", benchmark="own", name="own/1", own=((1,), (2,)), atol=0.0
):
    """The rows of a function ``f`` with new tests, and one stub that the present and the new tests refuse."""
    task = FunctionTask(prompt="Write f.", entry_point="f", tests=tests, reference=f"def f(x):\n    {reference}\n")
    problem = Problem(id=name, benchmark=benchmark, dataset_sha256="0" * 64, cluster=name, task=task)
    new = [NewTest(call=call, expected=value) for call, value in calls]
    further = tuple(read_call(call) for call, _ in calls)
    scope = {}
    exec(task.reference, scope)
    values = tuple(written(scope["f"](*each)) for each in (*own, *further))
    material = ExportMaterial(
        problem=problem,
        hardened=with_tests(problem, new, comparator),
        comparator=comparator,
        atol=atol,
        own=own,
        further=further,
        expected=values,
    )
    wrong = {f"def f(x):\n    {stub}\n": False}
    known = KnownPrograms(right={task.reference: True}, stubs=wrong, seen={}, held_out=wrong)
    with Sandbox(workers=1) as sandbox:
        return exported_rows(material, known, sandbox)


def test_every_form_holds_the_own_tests_as_well():
    # The new tests alone expect True everywhere, which a constant is.
    rows = exported("return x != 2", "assert f(1)\nassert not f(2)", [("f(3)", "True")], stub="return True")
    for row in rows.values():
        assert (row.reason, row.stubs.after, row.held_out.after, row.right.after) == ("", 0, 0, 1)
    assert json.loads(rows["trainer"].text)["outputs"] == ["true", "false", "true"]
    assert json.loads(rows["evalplus"].text)["base_input"] == [[1], [2]]


def test_every_form_has_the_problems_comparison_or_no_row():
    sets = exported(
        "return [x, 0]", "assert set(f(1)) == {0, 1}", [("f(3)", "[3, 0]")], stub="return []",
        comparator="set_equal", benchmark="mbpp", name="MBPP/7",
    )  # fmt: skip
    assert "by the rule set_equal" in sets["trainer"].reason
    assert json.loads(sets["evalplus"].text)["task_id"] == "Mbpp/7"
    assert "assert set(f(3)) == set([3, 0])" in json.loads(sets["benchmark"].text)["tests"]
    # EvalPlus goes by the id: elsewhere it compares in order.
    other = exported("return [x, 0]", "assert set(f(1)) == {0, 1}", [], stub="return []", comparator="set_equal")
    assert "EvalPlus compares its outputs by the rule equal" in other["evalplus"].reason
    assert other["benchmark"].reason == ""
    # EvalPlus takes every root within the row's tolerance, which for zero is none of the reference's own.
    roots = exported(
        "return -x[0] / x[1] + 1e-9", "assert abs(1 + 3 * f([1, 3])) < 1e-4", [], own=(([1, 3],),),
        stub="return 0", comparator="root", name="HumanEval/32", atol=1e-4,
    )  # fmt: skip
    assert roots["evalplus"].reason == ""
    assert json.loads(roots["evalplus"].text)["atol"] == 1e-4
    near = exported(
        "return x / 3", "assert abs(f(1) - 0.33) < 0.01", [("f(2)", "0.6666666666666666")], stub="return 0"
    )
    assert "floating point" in near["trainer"].reason
    assert near["evalplus"].reason == near["benchmark"].reason == ""


def test_a_row_whose_consumer_pays_or_loses_what_it_must_not_is_left_out():
    paid = exported("return x", "assert f(1) == 1", [], stub="return 1", own=((1,),))
    assert {row.reason for row in paid.values()} == {"as exported it accepts 1 of 1 stubs"}
    tuples = exported("return (x, x)", "assert f(1) == (1, 1)", [], stub="return 1", own=((1,),))
    assert "JSON cannot hold" in tuples["trainer"].reason
    assert tuples["evalplus"].reason == ""
    given = exported("return x[0]", "assert f((1, 2)) == 1", [], stub="return 2", own=(((1, 2),),))
    assert "JSON cannot hold" in given["evalplus"].reason
    assert "JSON cannot hold" in given["trainer"].reason


def test_a_budget_that_ends_leaves_the_rest_to_the_same_command(tmp_path):
    rows = [{**ROW, "id": f"own/{number}"} for number in range(2)]
    (tmp_path / "weak.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = {"out": tmp_path / "hard.jsonl", "mutants": 6, "inputs": 20, "workers": 1}
    first = harden(str(tmp_path / "weak.jsonl"), budget_s=1e-6, **arguments)
    assert first.left > 0
    assert first.files == ()
    assert "the same command goes on" in "\n".join(hardened_lines(first))
    done = (tmp_path / "hard.journal.jsonl").read_bytes()
    second = harden(str(tmp_path / "weak.jsonl"), **arguments)
    assert second.left == 0
    assert (tmp_path / "hard.journal.jsonl").read_bytes().startswith(done)
    with pytest.raises(UserError, match="other settings"):
        harden(str(tmp_path / "weak.jsonl"), seed=1, **arguments)


@pytest.mark.thorough
def test_a_wrong_program_whose_values_are_large_is_cut_and_said(tmp_path):
    """Of this one a mutant returns lists that hold each other: a million items for 20 letters, and twice as many
    for each further one."""
    body = "    kept = []\n    for i in range(len(text)):\n        kept.append(text[:i + 1])\n    return kept\n"
    row = {
        "id": "own/1",
        "prompt": "def starts(text):\n    pass\n",
        "tests": "assert starts('ab') == ['a', 'ab']\nassert len(starts('abcdefghijklmnopqrstuv')) == 22",
        "entry_point": "starts",
        "reference": body,
    }
    (tmp_path / "starts.jsonl").write_text(json.dumps(row) + "\n")
    found = harden(str(tmp_path / "starts.jsonl"), out=tmp_path / "hard.jsonl", mutants=40, inputs=60, workers=1)
    (line,) = found.lines
    assert "wrong programs are not judged on every generated input" in line.notes[-1]
    assert line.tests


def test_what_cannot_be_hardened_is_said(tmp_path, execution_rows):
    with pytest.raises(UserError, match="jsonl"):
        harden("micro-repair", out=tmp_path / "hard.json", limit=1)
    with pytest.raises(UserError, match="no calls that a test could add"):
        harden("dsl-list", data=execution_rows, out=tmp_path / "hard.jsonl", limit=1)


@given(st.lists(st.frozensets(st.sampled_from("abcdefgh"), max_size=4), min_size=1, max_size=12),
       st.frozensets(st.sampled_from("abcdefgh")), st.integers(1, 12))  # fmt: skip
def test_every_program_that_can_be_refused_is_within_the_bound(kills, survivors, most):
    chosen = choose_inputs(kills, survivors, [1] * len(kills), most=most, detections=1)
    assert len(chosen) == len(set(chosen)) <= most
    refused = frozenset().union(*(kills[number] for number in chosen))
    possible = frozenset().union(*kills)
    assert refused == possible or len(chosen) == most
    if len(chosen) == most < len(kills):
        assert survivors & refused or not survivors & possible


def test_tolerance_and_sets_are_stated_in_the_test():
    near = NewTest(call="f(1)", expected="0.1")
    assert assertion(near, "equal") == "assert _truegrade_close(f(1), 0.1)"
    assert assertion(NewTest(call="f(1)", expected="[1, 2]"), "set_equal") == "assert set(f(1)) == set([1, 2])"
    assert assertion(NewTest(call="f(1)", expected="[1, 2]"), "equal") == "assert f(1) == [1, 2]"
    task = FunctionTask(
        prompt="x", entry_point="f", tests="assert f(1) < 1", reference="def f(x):\n    return 0.1\n"
    )
    problem = Problem(id="p", benchmark="own", dataset_sha256="0" * 64, cluster="p", task=task)
    scope = {"f": lambda x: 0.1 + 1e-9}
    exec(with_tests(problem, [near], "equal").task.tests, scope)
    scope["f"] = lambda x: 0.11
    with pytest.raises(AssertionError):
        exec(with_tests(problem, [near], "equal").task.tests, scope)


def test_cases_and_inputs_are_added_as_such():
    test = NewTest(call="f([1], 'a')", expected="{'a': 1}")
    cases = CasesTask(entry_point="f", buggy="", reference="", cases=())
    oracle = OracleTask(prompt="", entry_point="f", reference="", base_inputs=((1,),))
    made = [
        with_tests(Problem(id="p", benchmark="b", dataset_sha256="0", cluster="p", task=task), [test], "equal")
        for task in (cases, oracle)
    ]
    assert made[0].task.cases[0].arguments == ([1], "a")
    assert made[0].task.cases[0].expected == {"a": 1}
    assert made[1].task.plus_inputs == (([1], "a"),)
    assert made[1].dataset_sha256 != "0"
