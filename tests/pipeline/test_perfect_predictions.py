"""The truth, written in each prompt's answer format, scores 100 % under `strict`."""

import json

import pytest

import truegrade
from support.thorough import one_in
from truegrade.kinds.execution_choice import KIND as CHOICES
from truegrade.kinds.output_prediction import output_prompts
from truegrade.records import ChoiceTask, OutputTask

STATED = {
    "id": "r", "function_name": "f", "code": "def f(n):\n    total = n * 3\n    return total - 1", "input": "2",
    "output": "5", "mutated_code": "def f(n):\n    total = n + 3\n    return total - 1", "mutated_output": "4",
    "states": [
        {"line": 2, "variable": "total", "value": "6", "mutated": "5"}, {"line": 2, "value": "1", "mutated": "1"},
    ],
}  # fmt: skip
G = OutputTask(program="", function="g", arguments="", expected="1")
PAIR = ChoiceTask(
    programs=("", ""), function="g", arguments="", expected=("1", "2"), original="A", item="", case=0
)


def perfect(benchmark, data, tmp_path, variant, samples, **args):
    run = truegrade.run(
        benchmark, model="baseline/reference", data=data, task_args={"prompt": variant, **args},
        out=tmp_path / "run",
    )  # fmt: skip
    verdicts = list(run.verdicts("strict"))
    assert [(v.problem_id, v.reason.value, v.detail, v.found) for v in verdicts if not v.passed] == []
    assert len(verdicts) == samples
    return verdicts


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["default", "cruxeval", "cruxeval-phind"])
def test_every_true_output_of_cruxeval_is_right(variant, data_dir, tmp_path):
    verdicts = perfect("cruxeval-output", data_dir, tmp_path, variant, 800)
    assert all(verdict.cpu_s is None for verdict in verdicts), "nothing is executed"


@pytest.mark.slow
@pytest.mark.parametrize("variant", one_in(2, ["default", "cruxeval"]))
def test_every_true_input_of_cruxeval_is_right(variant, data_dir, tmp_path):
    verdicts = perfect("cruxeval-input", data_dir, tmp_path, variant, 800)
    assert all(verdict.cpu_s is not None for verdict in verdicts), "every input is run"
    assert sum(verdict.found.endswith(":computed") for verdict in verdicts) == 12


@pytest.mark.slow
def test_the_official_evaluator_accepts_the_truth_too(data_dir, tmp_path):
    run = truegrade.run(
        "cruxeval-output", model="baseline/reference", data=data_dir, profiles=["cruxeval"], out=tmp_path / "run"
    )
    assert run.summary["profiles"][0]["estimates"][0]["value"] == 1.0


@pytest.mark.parametrize("variant", output_prompts(G))
def test_every_true_output_of_programs_and_mutants_is_right(variant, execution_rows, tmp_path):
    perfect("execution-prediction", execution_rows, tmp_path, variant, 33)


@pytest.mark.parametrize("variant", CHOICES.prompts(PAIR, {}))
def test_every_true_choice_is_right(variant, execution_rows, tmp_path):
    verdicts = perfect("execution-choice", execution_rows, tmp_path, variant, 22, cases="all")
    assert {verdict.marks[0] for verdict in verdicts} == {"chose-A"}
    by_order = {verdict.problem_id.rpartition("~")[2]: verdict.marks[1] for verdict in verdicts}
    assert by_order == {"AB": "chose-original", "BA": "chose-mutant"}


def test_dsl_list_as_a_choice(execution_rows, tmp_path):
    perfect("dsl-list", execution_rows, tmp_path, "default", 20, task="choice")


@pytest.mark.parametrize("variant", ["default", "base"])
def test_every_true_value_inside_calls_is_right(variant, tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(STATED))
    perfect("execution-prediction", path, tmp_path, variant, 4, asks="states")


def test_test_output_prediction(tmp_path):
    tests = [{"input": '"a"\n[1, true]', "output": '{"k": [null, "x == y"]}', "testtype": "functional"}]
    row = {
        "question_id": 1,
        "question_content": "Q",
        "starter_code": "def f(a, b):\n    pass",
        "function_name": "f",
    }
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row | {"test": json.dumps(tests)}))
    perfect("livecodebench-testoutput", path, tmp_path, "default", 1)


def test_baselines_that_know_nothing_answer_every_task(execution_rows, tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(STATED))
    for model in ("lookup", "empty"):
        run = truegrade.run(
            "execution-prediction", model=f"baseline/{model}", data=path, task_args={"asks": "states"},
            out=tmp_path / model / "states",
        )  # fmt: skip
        assert {verdict.reason.value for verdict in run.verdicts("strict")} <= {"passed", "wrong_answer"}
        for benchmark in ("execution-prediction", "execution-choice"):
            run = truegrade.run(
                benchmark, model=f"baseline/{model}", data=execution_rows, out=tmp_path / model / benchmark
            )
            reasons = {verdict.reason.value for verdict in run.verdicts("strict")}
            assert reasons <= {"passed", "wrong_answer"}
            assert "wrong_answer" in reasons
