"""A full run of prediction on originals and mutants and of choice in both orders, by the command line alone."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from truegrade.benchmarks import find_benchmark, load_benchmark
from truegrade.cli import main
from truegrade.errors import UnknownName
from truegrade.records import ChoiceTask, Completion, OutputTask, Problem
from truegrade.store import Run

try:
    find_benchmark("execution-choice")
except UnknownName:
    pytest.skip("the benchmark of choices is not there", allow_module_level=True)

ROWS = 6


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """Programs of two cases, their mutants and a rewriting; on the last row's second case the values are equal."""
    path = tmp_path / "rows.jsonl"
    with path.open("w") as lines:
        for i in range(ROWS):
            inputs = [i + 1, 0] if i == ROWS - 1 else [i + 1, i + 2]
            row = {
                "id": f"p{i}",
                "question_id": f"q{i // 2}",
                "function_name": "f",
                "code": f"def f(x):\n    return [x + x, {i}]\n",
                "input": [f"f({x})" for x in inputs],
                "output": [f"[{x + x}, {i}]" for x in inputs],
                "mutated_code": f"def f(x):\n    return [x - x, {i}]\n",
                "mutated_output": [f"[0, {i}]" for _ in inputs],
                "has_mutation": True,
                "mutation_info": {"mutation_type": "arithmetic", "mutation_id": 0},
                "preserved": [{"rewriting": "rename", "code": f"def f(y):\n    return [y + y, {i}]\n"}],
            }
            lines.write(json.dumps(row) + "\n")
    return path


def truegrade(*arguments: str | Path) -> str:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


def replies(path: Path, problems: tuple[Problem, ...], reply: Any) -> Path:
    """What a model said, as ``replay:`` reads it: two samples of every problem."""
    with path.open("wb") as lines:
        for problem in problems:
            for sample in range(2):
                completion = Completion(
                    benchmark=problem.benchmark,
                    dataset_sha256=problem.dataset_sha256,
                    problem_id=problem.id,
                    sample=sample,
                    config_sha256="",
                    prompt_sha256="",
                    text=reply(problem.task, sample),
                    model="toy/scripted",
                )
                lines.write(msgspec.json.encode(completion) + b"\n")
    return path


def pattern_matcher(task: OutputTask, sample: int) -> str:
    """Knows the originals by heart and answers every program of p3 to p5 with its original's value."""
    assert task.pairing is not None
    known = task.pairing.shown == "mutant" and int(task.pairing.item[1:]) >= 3
    value = task.pairing.other if known else task.expected
    if task.pairing.shown == "original" and task.pairing.item == "p0" and sample == 1:
        return "I cannot say."
    return f"[ANSWER]assert {task.function}({task.arguments}) == {value}[/ANSWER]"


def first_letter(task: ChoiceTask, sample: int) -> str:
    """Always chooses A; executes the original's value whatever it chose, in the second sample."""
    value = task.expected[0] if sample == 0 else task.expected["AB".index(task.original)]
    said = {"chosen_program": "A", "assertion": f"assert {task.function}({task.arguments}) == {value}"}
    return json.dumps(said)


def metrics(estimates: list[dict[str, Any]]) -> dict[str, float]:
    return {estimate["metric"]: pytest.approx(estimate["value"]) for estimate in estimates}


def test_prediction_on_originals_and_mutants(rows: Path, tmp_path: Path) -> None:
    problems = load_benchmark("execution-prediction", rows, {}).problems
    said = replies(tmp_path / "said.jsonl", problems, pattern_matcher)
    out = tmp_path / "run"
    arguments = ("run", "execution-prediction", "--data", rows, "--model", f"replay:{said}", "-n", 2, "--out", out)
    printed = truegrade(*arguments)
    for words in (
        "Execution prediction",
        "correct on mutants",
        "mutant's",
        "MC - OC: -",
        "strict_typed",
    ):
        assert words in printed
    assert "on 1 of 12 mutant cases both programs return the same value" in " ".join(printed.split())
    summary = Run.open(out).summary
    assert metrics(summary["profiles"][0]["estimates"][:4]) == {
        "original_pass@1": 11 / 12, "mutant_pass@1": 7 / 12, "preserved_pass@1": 1.0, "pass@1": 30 / 36,
    }  # fmt: skip
    pooled = "pass@1 pools 12 originals, 12 mutants and 12 rewritings; the rate of each kind comes before it"
    assert pooled in [one["sentence"] for one in summary["warnings"]] and pooled in " ".join(printed.split())
    assert re.search(r"original_pass@1 +91\.7 % \S+ \S+ +12\b", printed)
    assert pooled in (out / "report.html").read_text()
    prediction = summary["profiles"][0]["reasoning"]["prediction"]
    tables = {(t["cases"], t["weighting"]): metrics(t["estimates"]) for t in prediction["tables"]}
    # the mutant of p5 is right on the case whose values are equal: 7 of 12 cases, 3 of 6 items
    assert tables["per_case", "mean"] == {
        "OC": 11 / 12,
        "MC": 7 / 12,
        "PC": 1.0,
        "MC_differing": 6 / 11,
        "OR": 0.0,
        "MR": 5 / 11,
    }
    assert tables["all_cases", "mean"]["MC"] == 3 / 6
    assert tables["all_cases", "mean"]["MR"] == 3 / 6
    assert metrics(prediction["given_answer"]) == {"OC": 1.0, "MC": 7 / 12, "PC": 1.0}
    assert prediction["tables"][0]["estimates"][0]["unanswered"] == 2
    assert prediction["tables"][0]["estimates"][0]["clusters"] == 3
    (gap, *_) = prediction["differences"]
    assert (gap["metric"], gap["pairs"], gap["clusters"]) == ("MC - OC", 12, 3)
    assert gap["difference"] == pytest.approx(7 / 12 - 11 / 12)

    stored = [Run.open(out).completions_path, Run.open(out).verdicts_path("strict@6")]
    before = [path.read_bytes() for path in stored]
    truegrade(*arguments)
    assert [path.read_bytes() for path in stored] == before, "resumed: nothing is asked or graded twice"
    assert 'id="reasoning"' in (out / "report.html").read_text()


def test_choice_in_both_orders(rows: Path, tmp_path: Path) -> None:
    problems = load_benchmark("execution-choice", rows, {}).problems
    said = replies(tmp_path / "said.jsonl", problems, first_letter)
    out = tmp_path / "run"
    printed = truegrade(
        "run", "execution-choice", "--data", rows, "--model", f"replay:{said}", "-n", 2, "--out", out
    )
    assert "Execution choice" in printed
    assert "position has more influence than preference" in " ".join(printed.split())
    choice = Run.open(out).summary["profiles"][0]["reasoning"]["choice"]
    # one pair returns one value and is not asked: 11 pairs, two orders, two samples
    assert (choice["samples"], choice["valid"], choice["one_order"]) == (44, 44, 0)
    table = metrics(choice["tables"][0]["estimates"])
    assert table == {"preference": 0.5, "OC": 1.0, "MC": 0.5, "OR": 0.0, "MR": 0.5, "accuracy": 0.75}
    order = metrics(choice["order"])
    assert (order["always_A"], order["same_program"], order["chose_A"]) == (1.0, 0.0, 1.0)


def test_a_perfect_model_reverts_nothing_and_two_models_are_compared(rows: Path, tmp_path: Path) -> None:
    problems = load_benchmark("execution-prediction", rows, {}).problems
    said = replies(tmp_path / "said.jsonl", problems, pattern_matcher)
    runs = {"baseline/reference": tmp_path / "perfect", f"replay:{said}": tmp_path / "matcher"}
    for model, out in runs.items():
        truegrade("run", "execution-prediction", "--data", rows, "--model", model, "-n", 2, "--out", out)
    perfect = Run.open(tmp_path / "perfect").summary["profiles"][0]["reasoning"]["prediction"]["tables"][0]
    found = metrics(perfect["estimates"])
    assert (found["OC"], found["MC"], found["OR"], found["MR"]) == (1.0, 1.0, 0.0, 0.0)
    compared = json.loads(truegrade("compare", tmp_path / "matcher", tmp_path / "perfect", "--json"))
    parts = {part["metric"]: part for part in compared["pairs"][0]["paired"]["parts"]}
    assert parts["MC"]["difference"] == pytest.approx(5 / 12)
    assert parts["MC"]["pairs"] == 12
    assert parts["MR"]["difference"] == pytest.approx(-5 / 11)
    assert parts["MC - OC"]["difference"] == pytest.approx(5 / 12 - 1 / 12)
