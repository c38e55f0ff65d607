"""Accuracy of a checkpoint on held-out items: `python -m train.score RUN [--dsl-list FILE]`.

Graded as the product grades: `strict` takes the answer, and programs run in the jail. One line of JSON: of every
group the right answers, the items, and Wilson's interval.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import torch
from tokenizers import Tokenizer

from train.model import Micro
from train.sample import replies
from train.settings import Settings, read_settings
from truegrade.benchmarks import load_benchmark
from truegrade.grading.executor import Executor
from truegrade.profiles.strict import Strict
from truegrade.records import Completion, FunctionTask, OutputTask, Problem
from truegrade.sandbox import Limits, Sandbox
from truegrade.statistics.intervals import wilson

Table = dict[str, dict[str, float]]
"""By group of problems, by name of the figure."""


def score(model: Micro, tokenizer: Tokenizer, problems: Sequence[Problem], executor: Executor) -> Table:
    """What a model gets right, group by group."""
    profile = Strict()
    texts = [profile.render_prompt(problem).messages[-1].content for problem in problems]
    groups: dict[str, list[bool]] = defaultdict(list)
    for problem, text in zip(problems, replies(model, tokenizer, texts), strict=True):
        groups[_group(problem)].append(_passes(profile, problem, text, executor))
    return {group: _figures(right) for group, right in groups.items()}


def baselines(problems: Sequence[Problem]) -> Table:
    """What predictions get right that need no model; a buggy program, given back, fails by construction."""
    groups: dict[str, list[OutputTask]] = defaultdict(list)
    for problem in problems:
        if isinstance(problem.task, OutputTask):
            groups[_group(problem)].append(problem.task)
    table: Table = {}
    for group, tasks in groups.items():
        ((_, often),) = Counter(task.expected for task in tasks).most_common(1)
        copied = [task.arguments.partition("=")[2] == task.expected for task in tasks]
        table[f"{group}: most frequent answer"] = _figures([True] * often + [False] * (len(tasks) - often))
        table[f"{group}: the argument, copied"] = _figures(copied)
    return table


def load(run: Path, settings: Settings) -> tuple[Micro, Tokenizer]:
    """Model and tokenizer of a run's checkpoint."""
    tokenizer = Tokenizer.from_file(str(run / "tokenizer.json"))
    model = Micro(settings, tokenizer.get_vocab_size())
    model.load_state_dict(torch.load(run / "checkpoint.pt", weights_only=True)["model"])
    return model.eval(), tokenizer


def held_out_problems(dsl_list: Path | None, limit: int) -> list[Problem]:
    """Items of micro-repair, and as many originals and mutants of a built DSL-List, spread over its programs."""
    problems = list(load_benchmark("micro-repair", args={"size": str(limit)}).problems)
    for shown in ("original", "mutant") if dsl_list else ():
        asked = load_benchmark("dsl-list", dsl_list, {"programs": shown}).problems
        problems += asked[:: max(1, len(asked) // limit)][:limit]
    return problems


def _passes(profile: Strict, problem: Problem, text: str, executor: Executor) -> bool:
    completion = Completion(
        benchmark=problem.benchmark,
        dataset_sha256=problem.dataset_sha256,
        problem_id=problem.id,
        sample=0,
        config_sha256="",
        prompt_sha256="",
        text=text,
        model="",
    )
    answer = profile.extract(problem, completion)
    return answer.value is not None and profile.judgement(problem, answer, executor).passed


def _group(problem: Problem) -> str:
    if isinstance(problem.task, FunctionTask):
        return f"repair, {problem.tags['program']} program, {problem.tags['bug']} bug class"
    return f"prediction, {problem.tags['shown']}"


def _figures(right: Sequence[bool]) -> dict[str, float]:
    low, high = wilson(sum(right), len(right))
    return {"right": sum(right), "of": len(right), "low": round(low, 3), "high": round(high, 3)}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--settings", type=Path, default=Path(__file__).with_name("settings.json"))
    parser.add_argument("--dsl-list", type=Path, help="a built DSL-List, with mutants")
    parser.add_argument("--limit", type=int, default=60, help="items of micro-repair, originals, and mutants")
    parser.add_argument("--baselines", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)
    model, tokenizer = load(given.run, read_settings(given.settings))
    problems = held_out_problems(given.dsl_list, given.limit)
    with Sandbox(Limits(cpu_s=2), workers=1, allow_unsafe=True) as jail:
        table = score(model, tokenizer, problems, jail)
    print(json.dumps(table | (baselines(problems) if given.baselines else {})))


if __name__ == "__main__":
    main()
