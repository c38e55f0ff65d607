"""LiveCodeBench's profiles beside the graders that they follow; writes ``docs/livecodebench-parity.md``.

    python bench/parity_livecodebench.py --peers FOLDER [--every 1] [--workers 2] [--cache FOLDER] [--golden FILE]
        [--no-strict]

``--peers`` holds git checkouts as ``LiveCodeBench+LiveCodeBench`` and ``modelscope+evalscope`` in which the
commits that the profiles name can be read; numpy and tqdm must be importable. The corpus is
``tests/profiles/livecodebench_corpus``. ``--cache`` keeps what the graders answered, which is most of the time.
``--golden`` also writes the file that the tests compare with where there is no checkout. Exit code 1 if a verdict
differs, or results and metadata in more than one row of 100.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "profiles"))

from livecodebench_corpus.awkward import CASES, CLOCKED
from livecodebench_corpus.completions import RECORDED_IN_FULL, ROWS, name_in_full
from livecodebench_corpus.problems import FULL_TESTS, PROBLEMS, TESTS
from livecodebench_peers import PROFILES, ask, normal
from livecodebench_rows import case_row, contest_problem, extract, grade, sample_of
from livecodebench_table import LEAST_EQUAL, Table, compare, started_late

from truegrade.profiles import open_profile

GOLDEN_EVERY = 4
"""Part of the corpus in the golden file: one case of so many, all that hang on a clock, a few full completions."""
CLOCK_WORKERS = 8
PEER_CLOCK_WORKERS = 2
"""EvalScope counts the start of an interpreter; more at once delay it until samples are killed for it."""
BATCH = 40
FULL = f"completions, {FULL_TESTS} tests of contest size"
Names = list[tuple[str, str]]
"""Name and trap of each row."""


def main() -> None:
    """Compare, write the page, and say whether it holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=Path, required=True)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--golden", type=Path)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "livecodebench-parity.md")
    parser.add_argument("--profiles", nargs="+", default=list(PROFILES))
    parser.add_argument("--strict", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--ask-only", action="store_true", help="fill the cache, grade nothing ourselves")
    options = parser.parse_args()
    if options.ask_only:
        for name in options.profiles:
            for part, _, requests in parts(options.every):
                answered(
                    PROFILES[name], requests, PEER_CLOCK_WORKERS if part == "clock" else options.workers, options
                )
        return
    with ThreadPoolExecutor(len(options.profiles)) as pool:  # what waits for a clock waits beside the others
        found = list(pool.map(lambda name: corpus(name, options), options.profiles))
    options.out.write_text(page(found, verdicts(found, options)))
    if options.golden:
        options.golden.write_text(golden(found))
    print(options.out.read_text())
    sys.exit(not all(holds(part, table) for one in found for part, table in one["tables"].items()))


# ------------------------------------------------------------------------------------------------ comparing


def corpus(profile: str, options: argparse.Namespace) -> dict:
    """Tables of one profile by part of the corpus, and what its grader answered."""
    tables, answers = {}, {}
    for part, names, requests in parts(options.every):
        workers = CLOCK_WORKERS if part == "clock" else options.workers
        theirs = answered(PROFILES[profile], requests, workers, options)
        rows = ours_of(profile, part, options.every)
        if part.startswith("completions"):
            assert [code for _, code in rows] == [row["code"] for row in theirs], "extraction differs"
        ours = grade(profile, rows, workers=workers)
        tables[part] = compare(profile, PROFILES[profile], names, theirs, ours)
        answers[part] = {name: row for (name, _), row in zip(names, theirs, strict=True)}
        print(f"{profile} {part}: {tables[part].equal} of {tables[part].rows} equal", file=sys.stderr)
    return {"profile": profile, "tables": tables, "answers": answers}


def parts(every: int) -> list[tuple[str, Names, list[dict]]]:
    """The corpus as the graders take it: part, names and traps, requests."""
    plain, chosen = CASES[::every], ROWS[::every]
    return [
        ("programs", [(case.name, case.trap) for case in plain],
         [{"code": case.code, "sample": case.sample} for case in plain]),
        ("completions", [(name, "completion") for name, *_ in chosen],
         [{"completion": text, "sample": sample_of(problem)} for _, problem, _, text in chosen]),
        (FULL, [(name, "completion") for name, *_ in chosen],
         [{"completion": text, "sample": sample_of(problem, full=True)} for _, problem, _, text in chosen]),
        ("clock", [(case.name, case.trap) for case in CLOCKED[::every]],
         [{"code": case.code, "sample": case.sample} for case in CLOCKED[::every]]),
    ]  # fmt: skip


def ours_of(profile: str, part: str, every: int) -> list:
    """The same rows as our profiles take them."""
    if part.startswith("completions"):
        pairs = [(contest_problem(problem, part == FULL), text) for _, problem, _, text in ROWS[::every]]
        return [(problem, extract(profile, problem, text)) for problem, text in pairs]
    return [case_row(case) for case in (CASES if part == "programs" else CLOCKED)[::every]]


def answered(peer: str, requests: list[dict], workers: int, options: argparse.Namespace) -> list[dict]:
    """What the grader answers, or answered: one row of the cache a request, written batch by batch."""
    known: dict[str, dict] = {}
    file = None if options.cache is None else options.cache / f"{peer}.jsonl"
    if file is not None:
        options.cache.mkdir(parents=True, exist_ok=True)
        known = dict(map(json.loads, file.read_text().splitlines())) if file.exists() else {}
    keys = [hashlib.sha256(json.dumps(request).encode()).hexdigest() for request in requests]
    missing = [index for index, key in enumerate(keys) if key not in known]
    for start in range(0, len(missing), BATCH):
        batch = missing[start : start + BATCH]
        answers = ask(options.peers, peer, [requests[index] for index in batch], workers=workers)
        new = {keys[index]: answer for index, answer in zip(batch, answers, strict=True)}
        known.update(new)
        if file is not None:
            with file.open("a") as journal:
                journal.writelines(json.dumps(row) + "\n" for row in new.items())
        print(f"{peer}: {start + len(batch)} of {len(missing)} answered", file=sys.stderr)
    return [known[key] for key in keys]


def verdicts(found: list[dict], options: argparse.Namespace) -> dict[str, dict[str, bool]]:
    """Whether each awkward program passes, by grader, and under ``strict``."""
    passed = {one["profile"]: {name: bool(row["passed"]) for name, row in one["answers"]["programs"].items()}
              for one in found}  # fmt: skip
    if options.strict and "livecodebench" in open_profile("strict").covers:
        cases = CASES[:: options.every]
        ours = grade("strict", [case_row(case) for case in cases], workers=options.workers)
        passed["strict"] = {case.name: row["passed"] for case, row in zip(cases, ours, strict=True)}
    return passed


def holds(part: str, table: Table) -> bool:
    """No verdict differs, and results and metadata in at most one row of 100; of a clock the verdict alone."""
    return not table.unexplained_verdicts and (part == "clock" or table.equal >= LEAST_EQUAL * table.rows)


def golden(found: list[dict]) -> str:
    """What the graders answered to a part of the corpus, without what differs from run to run."""
    kept = {case.name for case in CASES[::GOLDEN_EVERY]} | {case.name for case in CLOCKED}
    kept |= set(map(name_in_full, RECORDED_IN_FULL))
    recorded, clocked = {}, {case.name: case.trap for case in CLOCKED}
    for one in found:
        full = {name_in_full(name): one["answers"][FULL][name] for name in RECORDED_IN_FULL}
        rows = {**one["answers"]["programs"], **one["answers"]["clock"], **full}
        recorded[PROFILES[one["profile"]]] = {
            name: {**normal(row), "passed": row["passed"]}
            for name, row in rows.items()
            if name in kept and not started_late(PROFILES[one["profile"]], clocked.get(name, ""), row)
        }
    return json.dumps(recorded, indent=0, sort_keys=True) + "\n"


# -------------------------------------------------------------------------------------------------- the page


def page(found: list[dict], passed: dict[str, dict[str, bool]]) -> str:
    """The whole page, in Markdown."""
    large = FULL_TESTS - TESTS
    functional, traps = sum(problem.functional for problem in PROBLEMS), len({case.trap for case in CASES})
    lines = [
        "# LiveCodeBench: parity with the graders",
        "",
        "Generated by `python bench/parity_livecodebench.py --peers FOLDER`; do not edit. Every row is graded",
        "twice: by the harness' own code at the named commit, and by the corresponding profile in the sandbox.",
        "The comparison covers the verdict, the results and the metadata; addresses and execution times are",
        "masked. For time-dependent programs only the verdict is compared.",
        "",
        f"Corpus: {len(CASES)} awkward programs for {traps} traps; {len(ROWS)} completions of {len(PROBLEMS)}",
        f"problems, {functional} of them functional and {len(PROBLEMS) - functional} on standard input, graded on",
        f"{TESTS} small tests and once more on {FULL_TESTS}, {large} of them of contest size (thousands of",
        "numbers, words, rows or edges; correct programs take milliseconds, and metadata are truncated);",
        f"{len(CLOCKED)} time-dependent programs. All were written for this purpose.",
        "",
        "EvalScope's files run with its logger replaced and nothing else of the package imported; in its sandbox",
        "path a new interpreter replaces the container. The fork is represented by EvalScope of the same week.",
        "",
        "| profile | grader | part | rows | results and metadata equal | verdicts that differ |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for one in found:
        name = open_profile(one["profile"]).id
        lines += [
            f"| `{name}` | {table.peer} | {part} | {table.rows} | {table.equal} ({table.equal / table.rows:.2%}) "
            f"| {len(table.verdicts)} |"
            for part, table in one["tables"].items()
        ]
    return "\n".join([*lines, "", *_rows_that_differ(found), "", *_pairs(passed)]) + "\n"


def _rows_that_differ(found: list[dict]) -> list[str]:
    lines = ["## Rows that differ from their grader", ""]
    head = ["| profile | row | verdict | reason |", "| --- | --- | --- | --- |"]
    rows = [
        f"| {one['profile']} | `{found_row.name}` | {'differs' if found_row.verdicts_differ else 'equal'} "
        f"| {found_row.reason or 'not explained'} |"
        for one in found
        for table in one["tables"].values()
        for found_row in table.differences
    ]
    return [*lines, *head, *rows] if rows else [*lines, "None."]


def _pairs(passed: dict[str, dict[str, bool]]) -> list[str]:
    """Where two graders disagree, by trap."""
    traps = {case.name: case.trap for case in CASES}
    lines = [
        "## Where the graders disagree with each other",
        "",
        "Awkward programs that pass under one and fail under the other, with the traps that most of them are of.",
        "",
        "| one | other | only the one passes | only the other passes | traps |",
        "| --- | --- | --- | --- | --- |",
    ]
    for one, other in combinations(passed, 2):
        names = passed[one].keys() & passed[other].keys()
        first = [name for name in names if passed[one][name] and not passed[other][name]]
        second = [name for name in names if passed[other][name] and not passed[one][name]]
        most = Counter(traps[name] for name in sorted(first + second)).most_common(4)
        told = ", ".join(f"{trap} {count}" for trap, count in sorted(most, key=lambda row: (-row[1], row[0])))
        lines.append(f"| {one} | {other} | {len(first)} | {len(second)} | {told} |")
    return lines


if __name__ == "__main__":
    main()
