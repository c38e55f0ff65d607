"""Programs whose label somebody else gave, as problems and labels for `truegrade assay`, and graded by `strict`.

    python -m bench assay_sets contests --out FOLDER SNAPSHOT... [--limits-s 10 60]
    python -m bench assay_sets bugs --out FOLDER SNAPSHOT --data FOLDER
    python -m bench assay_sets bigcodebench --out FOLDER SNAPSHOT [--limit N]
    python -m bench assay_sets leetcode --out FOLDER SNAPSHOT [--packages sortedcontainers] [--limit-s 60]

A SNAPSHOT is a git directory or a work tree of a repository; nothing of it is run but the programs, in the jail.
Each set is written to FOLDER: problems as rows that `truegrade` loads as a benchmark, labels as rows of
``problem``, ``program``, ``label`` and ``source``. Verdicts are a line each of ``FOLDER/verdicts.jsonl``: the same
command goes on where it ended. Take another FOLDER after a change of these scripts or of a snapshot.

``contests``  mzuenni/icpc-problems@99db673, Kodsport/swedish-olympiad-2025-public@6d8fd4d, -2024-public@9efc389
              and -2016@26b205e: submissions of problem packages. Prints how often `strict` agrees with their
              verdicts on all tests, each disagreement, and how often the samples alone accept them.
``bugs``      bigcode-project/octopack@e17a8f6, HumanEvalPack: a program with a bug for each problem of HumanEval;
              and QuixBugs' own. Prints how many are accepted by the tests of HumanEval, HumanEval+ and
              QuixBugs, and by the examples in HumanEval's prompts; by those also mutants, of those that
              HumanEval's tests refuse, as the bugs were chosen.
``leetcode``  newfacade/LeetCodeDataset@182cd19: problems. Prints how many references pass their own tests, and why
              the others do not.
``bigcodebench``  bigcode-project/bigcodebench-annotation@a3b8985: the tasks that need the standard library alone.
              Prints how many references pass their suites inside one process, and in a judge process (`strict`).
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bench.assay_contests import (
    LABELS,
    Package,
    packages,
    row_of,
    same_tokens,
    unreadable,
    without_copies,
)
from bench.assay_grading import Graded, Journal, Labelled, share, write_rows
from bench.assay_rows import (
    BIGCODEBENCH,
    HUMANEVALPACK,
    LEETCODE,
    bigcodebench_row,
    example_rows,
    humanevalpack,
    leetcode_row,
    mutants,
    needs_only_the_standard_library,
    rows_of,
    uses,
)
from bench.snapshots import Snapshot
from truegrade.api import unsafe_allowed
from truegrade.benchmarks import load_benchmark
from truegrade.benchmarks.own_rows import rows_benchmark
from truegrade.grading.contests.separate import PREAMBLE
from truegrade.grading.programs import assemble
from truegrade.pipeline.verdicts import with_packages
from truegrade.records import Answer, CasesTask, FunctionTask, Problem, Reason
from truegrade.sandbox import Limits, Sandbox

LIMITS_S = (4.0, 10.0, 60.0)
"""CPU seconds of a test: the next where an accepted program of the problem needs more than the first, as contest
systems set the limit of a problem by its slowest accepted program. Authors may have run theirs with PyPy."""


def main() -> None:
    """Convert, grade and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sets = parser.add_subparsers(required=True, metavar="SET")
    asked = sets.add_parser("contests", help="submissions of problem packages")
    asked.add_argument("snapshots", nargs="+", type=Path, metavar="SNAPSHOT")
    asked.add_argument("--limits-s", nargs="+", type=float, default=LIMITS_S, help="CPU seconds of a test, rising")
    asked.set_defaults(set=contests)
    asked = sets.add_parser("bugs", help="programs with a bug for HumanEval and QuixBugs")
    asked.add_argument("snapshot", type=Path)
    asked.add_argument("--data", type=Path, required=True, help="folder of the benchmarks' files")
    asked.add_argument("--mutants", type=int, default=2, help="of each of HumanEval's references, to compare")
    asked.set_defaults(set=bugs)
    asked = sets.add_parser("leetcode", help="problems of LeetCodeDataset")
    asked.add_argument("snapshot", type=Path)
    asked.add_argument("--packages", nargs="*", default=[], help="installed packages that references may import")
    asked.add_argument("--limit-s", type=float, help="CPU seconds of all tests of a problem (default: strict's)")
    asked.set_defaults(set=leetcode)
    asked = sets.add_parser("bigcodebench", help="tasks of BigCodeBench that need the standard library alone")
    asked.add_argument("snapshot", type=Path)
    asked.add_argument("--limit", type=int, help="the first so many")
    asked.set_defaults(set=bigcodebench)
    for asked in sets.choices.values():
        asked.add_argument("--out", type=Path, required=True, help="folder for the sets and verdicts")
        asked.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    options.set(options)


# ------------------------------------------------------------------------------------------------- contests


def contests(options: argparse.Namespace) -> None:
    """Submissions of problem packages."""
    found: list[tuple[Package, Snapshot]] = []
    left_out: Counter[str] = Counter()
    for path in options.snapshots:
        snapshot = Snapshot(path)
        for package in packages(snapshot, _repository(path)):
            found.append((package, snapshot))
            left_out += package.left_out
    stated = Counter(each.asked for package, _ in found for each in package.submissions)
    print(f"Python 3 submissions in {len(found)} packages: {dict(stated)}; left out: {dict(left_out)}")
    kept, copies = without_copies(found)
    print(f"the same program for the same tests, in another folder: {copies}")
    journal = Journal(options.out / "verdicts.jsonl")
    verdicts: list[tuple[str, Graded]] = []
    skipped: Counter[tuple[str, str]] = Counter()
    labels: list[Labelled] = []
    for package, snapshot in sorted(kept, key=lambda pair: _bytes(*pair)):
        why = unreadable(package) or _graded(package, snapshot, journal, options, verdicts, labels)
        if why:
            skipped.update((why, each.asked) for each in package.submissions)
    for (why, verdict), count in sorted(skipped.items()):
        print(f"  not graded: {why:25} {verdict:25}{count:5}")
    # Problems with their samples alone are small enough for one file.
    samples = sorted((options.out / "contests").glob("*.samples.jsonl"))
    (options.out / "contests-samples.jsonl").write_text("".join(file.read_text() for file in samples))
    late = [row for row in labels if "time_limit" in row.source]
    write_rows(options.out / "contests-labels.jsonl", [row for row in labels if row not in late])
    write_rows(options.out / "contests-labels-time.jsonl", late)
    _print_contests(verdicts)


def _bytes(package: Package, snapshot: Snapshot) -> int:
    """Of the tests, small problems first; a test costs a process besides."""
    return sum(20_000 + snapshot.size(f"{stem}.in") for stem in package.secret)


def _repository(path: Path) -> str:
    """A name for a snapshot: that of its folder, less the owner's."""
    name = path.parent.name if path.name in {"repo", ".git"} else path.name
    return name.rpartition("+")[2]


def _graded(
    package: Package, snapshot: Snapshot, journal: Journal, options: argparse.Namespace,
    verdicts: list[tuple[str, Graded]], labels: list[Labelled],
) -> str:  # fmt: skip
    """Grade one problem's submissions; why not, or nothing. Only one problem's tests are in memory."""
    rows = [
        Labelled(
            problem=package.id,
            program=each.code,
            label=LABELS[each.asked],
            source=f"{each.verdict}: {each.path}",
        )
        for each in package.submissions
    ]
    asked = {row.key: each.asked for row, each in zip(rows, package.submissions, strict=True)}
    file = options.out / "contests" / f"{package.id.replace('/', '.')}.jsonl"
    for tests in ("all", "samples"):
        row = row_of(package, snapshot, samples_only=tests == "samples")
        if row is None:
            return "tests absent from the snapshot"
        if not row["tests"]:
            continue
        place = file if tests == "all" else file.with_name(f"{file.stem}.samples.jsonl")
        write_rows(place, [row])
        problems = _problems(place)
        del row
        right = [row for row in rows if row.label == "right"]
        for limit_s in options.limits_s:
            said = journal.grade(right, problems, tests, limit_s=limit_s, workers=options.workers)
            if not any(one.reason == Reason.TIME_LIMIT for one in said):
                break
        said = journal.grade(rows, problems, tests, limit_s=limit_s, workers=options.workers)
        verdicts += [(asked[one.key], one) for one in said]
        if tests == "all":
            _explain(package, snapshot, rows, said)
    labels += rows
    return ""


def _problems(file: Path) -> dict[str, Problem]:
    """Every problem of a file of rows, by its id."""
    return {problem.id: problem for problem in rows_benchmark(file).load(None, {}).problems}


def _explain(package: Package, snapshot: Snapshot, rows: Sequence[Labelled], said: Sequence[Graded]) -> None:
    """Print each verdict that is not the label's, and what the contest's own comparison says of the outputs."""
    for row, one in zip(rows, said, strict=True):
        if one.passed == (row.label == "right"):
            continue
        print(f"  {'refused' if row.label == 'right' else 'accepted'}, {row.source} of {package.id}")
        print(f"      {one.reason}: {one.detail[:200]}")
        if one.reason == Reason.WRONG_ANSWER:
            print(f"      by words, as Kattis compares: {_by_tokens(package, snapshot, row.program)}", flush=True)


def _by_tokens(package: Package, snapshot: Snapshot, code: str) -> str:
    """What the default output validator says of a program: passed, or the first test that fails."""
    program = assemble(PREAMBLE, Answer(value=code, found=""))
    with Sandbox(Limits(cpu_s=LIMITS_S[-1], output_bytes=1 << 26), 1, allow_unsafe=unsafe_allowed()) as sandbox:
        for stem in package.sample + package.secret:
            outcome = sandbox.script(program, snapshot.text(f"{stem}.in") or "")
            if outcome.status != Reason.PASSED:
                return f"{stem}: {outcome.status}"
            if not same_tokens(outcome.stdout, snapshot.text(f"{stem}.ans") or "", package.flags):
                return f"{stem}: wrong answer"
    return f"passed ({package.flags or 'no flags'})"


def _print_contests(verdicts: list[tuple[str, Graded]]) -> None:
    for tests in ("all", "samples"):
        print(f"\naccepted by strict on {tests} tests")
        for asked in LABELS:
            said = [one for each, one in verdicts if each == asked and one.tests == tests]
            if said:
                print(f"  {asked:22} {share(said)}  {dict(Counter(one.reason for one in said))}")
    decided = [(asked, one) for asked, one in verdicts if one.tests == "all" and asked != "time limit"]
    agreed = sum(one.passed == (one.label == "right") for _, one in decided)
    print(
        f"\nagreement with the labels, time limits apart: {agreed} of {len(decided)}, {agreed / len(decided):.1%}"
    )
    # Against the secret data: what strict says on all tests is the truth here, whatever the folder says.
    truth = {one.key: one.passed for _, one in verdicts if one.tests == "all"}
    sampled = [one for _, one in verdicts if one.tests == "samples"]
    print(f"samples only, TPR  {share([one for one in sampled if truth[one.key]])}")
    print(f"samples only, FPR  {share([one for one in sampled if not truth[one.key]])}")
    wrong = [one for asked, one in verdicts if one.tests == "samples" and asked == "wrong answer or error"]
    print(f"samples only, FPR over wrong answers and errors by their label  {share(wrong)}")


# ----------------------------------------------------------------------------------------------------- bugs


def bugs(options: argparse.Namespace) -> None:
    """Programs with one bug that a person made or collected, and mutants that the same tests refuse."""
    published = rows_of(Snapshot(options.snapshot), HUMANEVALPACK)
    pack = list(humanevalpack(published))
    quix = _loaded("quixbugs", options.data)
    buggy = [
        Labelled(problem=name, program=problem.task.buggy, label="wrong", source="quixbugs: buggy program")
        for name, problem in quix.items()
        if isinstance(problem.task, FunctionTask | CasesTask)
    ]
    # The right ones are HumanEval's references, some of which HumanEval+ refuses.
    write_rows(options.out / "humaneval-labels.jsonl", [row for row in pack if row.label == "wrong"])
    write_rows(options.out / "quixbugs-labels.jsonl", buggy)
    examples = options.out / "humaneval-examples.jsonl"
    write_rows(examples, example_rows(published))
    shown, own = _problems(examples), _loaded("humaneval", options.data)
    journal = Journal(options.out / "verdicts.jsonl")

    def grade(rows: list[Labelled], problems: dict[str, Problem], tests: str) -> list[Graded]:
        rows = [row for row in rows if row.problem in problems]
        return journal.grade(rows, problems, tests, workers=options.workers)

    drawn = [row for row in mutants(published, options.mutants) if row.problem in shown]
    refused = {one.key for one in grade(drawn, own, "humaneval") if not one.passed}
    for what, tests, said in (
        ("programs", "HumanEval's examples", grade(pack, shown, "examples")),
        ("mutants that HumanEval refuses", "HumanEval's examples",
         grade([row for row in drawn if row.key in refused], shown, "examples")),
        ("programs", "HumanEval", grade(pack, own, "humaneval")),
        ("programs", "HumanEval+", grade(pack, _loaded("humanevalplus", options.data), "humanevalplus")),
        ("programs", "QuixBugs", grade(buggy, quix, "quixbugs")),
    ):  # fmt: skip
        for label in ("right", "wrong"):
            labelled = [one for one in said if one.label == label]
            if labelled:
                print(f"{label} {what} accepted by {tests}: {share(labelled)}")
            for one in labelled:
                if one.passed != (label == "right"):
                    print(f"    {one.problem}  {one.source}  {one.detail[:100]}")


def _loaded(name: str, data: Path) -> dict[str, Problem]:
    return {problem.id: problem for problem in load_benchmark(name, data).problems}


# ------------------------------------------------------------------------------------------------- leetcode


def leetcode(options: argparse.Namespace) -> None:
    """Problems with references."""
    snapshot, journal = Snapshot(options.snapshot), Journal(options.out / "verdicts.jsonl")
    for part, path in LEETCODE.items():
        rows = [leetcode_row(row) for row in rows_of(snapshot, path)]
        file = options.out / f"leetcode-{part}.jsonl"
        write_rows(file, rows)
        problems = with_packages(_problems(file), options.packages)
        own = [
            Labelled(problem=row["id"], program=row["reference"], label="right", source="reference")
            for row in rows
        ]
        said = journal.grade(own, problems, part, limit_s=options.limit_s, workers=options.workers)
        print(f"references accepted, {part:6} {share(said)}  {dict(Counter(one.reason for one in said))}")
        for one in said:
            if not one.passed:
                print(f"    {one.problem}: {one.reason}, {one.detail[:160]}", flush=True)


# --------------------------------------------------------------------------------------------- bigcodebench


def bigcodebench(options: argparse.Namespace) -> None:
    """Suites of `unittest`, beside the program in one process and in a judge process that calls it."""
    published = rows_of(Snapshot(options.snapshot), BIGCODEBENCH)
    made = [bigcodebench_row(row) for row in published if needs_only_the_standard_library(row)][: options.limit]
    rows = [row for row in made if uses(row["tests"], row["entry_point"])]
    print(f"{len(made)} tasks; of {len(made) - len(rows)} the tests never name the function")
    file = options.out / "bigcodebench.jsonl"
    write_rows(file, rows)
    own = [
        Labelled(problem=row["id"], program=row["reference"], label="right", source="reference") for row in rows
    ]
    said = Journal(options.out / "verdicts.jsonl").grade(own, _problems(file), "unittest", workers=options.workers)
    with Sandbox(Limits(packages=()), 1, allow_unsafe=unsafe_allowed()) as sandbox:
        inside = [sandbox.inside(f"{row['reference']}\n\n{row['tests']}") for row in rows]
    print(f"references of {len(rows)} tasks; in one process {Counter(str(one.status) for one in inside)}")
    print(f"in a judge process that calls the program: {share(said)}  {Counter(one.reason for one in said)}")
    for one, other in zip(said, inside, strict=True):
        if not one.passed:
            print(f"    {one.problem}: inside {other.status}; judge {one.reason}, {one.detail[:160]}")
