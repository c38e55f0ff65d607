"""What `--limit` leaves where a benchmark asks several questions about one program."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import truegrade
from truegrade.benchmarks import load_benchmark
from truegrade.pipeline.loading import select, told
from truegrade.records.config import Sampling


@pytest.fixture
def four(tmp_path: Path) -> Path:
    """Four programs of two calls, all but one with a mutant: 14 predictions."""
    row = {
        "function_name": "f",
        "code": "def f(x):\n    return x + 1",
        "input": ["f(1)", "f(2)"],
        "output": ["2", "3"],
    }
    mutant = {"mutated_code": "def f(x):\n    return x - 1", "mutated_output": ["0", "1"]}
    path = tmp_path / "four.jsonl"
    path.write_text("\n".join(json.dumps({"id": i, **row, **(mutant if i else {})}) for i in range(4)))
    return path


@pytest.mark.parametrize(("limit", "programs", "questions"), [(1, 1, 2), (2, 2, 6), ((2, 3), 2, 8), (9, 4, 14)])
def test_a_limit_counts_programs(four: Path, limit: int | tuple[int, int], programs: int, questions: int) -> None:
    loaded = load_benchmark("execution-prediction", four)
    chosen = select(loaded, limit)
    assert (len({problem.cluster for problem in chosen}), len(chosen)) == (programs, questions)
    assert told(loaded, chosen) == f"`limit` counts programs: {programs} of 4, {questions} questions"
    assert len(select(loaded, limit, rows=True)) == min(14, limit if isinstance(limit, int) else 2)


def test_a_limited_run_says_what_it_asks_and_whom_it_should_not_ask(four: Path, tmp_path: Path) -> None:
    said: list[str] = []
    run = truegrade.run(
        "execution-choice", data=four, model="embedded/truegrade-micro", limit=2, out=tmp_path / "run",
        sampling=Sampling(max_tokens=3), notice=said.append,
    )  # fmt: skip
    assert "`limit` counts programs: 2 of 3, 8 questions" in said
    (profile,) = run.summary["profiles"]
    assert any("was not trained to choose" in sentence for sentence in profile["warnings"])


@pytest.mark.parametrize(("max_tokens", "advised"), [(6, True), (None, False)])
def test_a_higher_limit_is_advised_where_it_was_reached(
    four: Path, tmp_path: Path, max_tokens: int | None, advised: bool
) -> None:
    run = truegrade.run(
        "execution-prediction", data=four, model="embedded/truegrade-micro", limit=1, out=tmp_path / "run",
        sampling=Sampling(max_tokens=max_tokens),
    )  # fmt: skip
    warnings = run.summary["profiles"][0]["warnings"]
    assert any(sentence.endswith("; raise `max_tokens`") for sentence in warnings) == advised
