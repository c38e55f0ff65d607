"""LiveCodeBench's profiles beside the graders that they follow; writes a part of ``docs/evidence.md``.

    python -m bench parity_livecodebench --peers FOLDER [--every 1] [--workers 2] [--cache FOLDER] [--golden FILE]
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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "profiles"))

from evidence_page import write_part
from livecodebench_corpus.awkward import CASES, CLOCKED
from livecodebench_corpus.completions import RECORDED_IN_FULL, ROWS, name_in_full
from livecodebench_corpus.problems import FULL_TESTS
from livecodebench_peers import PROFILES, ask, normal
from livecodebench_rows import case_row, contest_problem, extract, grade, sample_of
from livecodebench_table import LEAST_EQUAL, Table, compare, started_late

from truegrade.profiles import open_profile

PART = "contest graders, by python -m bench parity_livecodebench"
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
    """Compare, write the tables, and say whether they hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=Path, required=True)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--golden", type=Path)
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
    text = tables(found, verdicts(found, options))
    write_part(PART, text)
    if options.golden:
        options.golden.write_text(golden(found))
    print(text)
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


def tables(found: list[dict], passed: dict[str, dict[str, bool]]) -> str:
    """What was compared, the rows that differ, and where two graders disagree, in Markdown."""
    heads = list(found[0]["tables"])
    counts = [f"{part} ({table.rows})" for part, table in found[0]["tables"].items()]
    lines = [
        row("profile", "grader", *counts, "verdicts that differ"),
        row(*["---"] * (len(heads) + 3)),
        *(
            row(
                f"`{open_profile(one['profile']).id}`", one["tables"][heads[0]].peer,
                *(one["tables"][part].equal for part in heads),
                sum(len(table.verdicts) for table in one["tables"].values()),
            )
            for one in found
        ),
    ]  # fmt: skip
    return "\n".join([*lines, "", *_rows_that_differ(found), "", *_pairs(passed)]) + "\n"


def row(*cells: object) -> str:
    """A row of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def _rows_that_differ(found: list[dict]) -> list[str]:
    reasons: dict[tuple[str, str, bool], list[str]] = {}
    for one in found:
        for table in one["tables"].values():
            for row_found in table.differences:
                key = one["profile"], row_found.reason or "not explained", row_found.verdicts_differ
                reasons.setdefault(key, []).append(f"`{row_found.name}`")
    lines = [
        f"- `{profile}`, {'other verdict' if differs else 'equal verdict'}: {', '.join(names)}. Reason: {reason}."
        for (profile, reason, differs), names in reasons.items()
    ]
    return ["Rows whose results, metadata or verdict differ from those of the grader:", "", *(lines or ["- none"])]


def _pairs(passed: dict[str, dict[str, bool]]) -> list[str]:
    """How many programs pass under one grader and fail under the other."""

    def only(one: str, other: str) -> object:
        names = passed[one].keys() & passed[other].keys()
        return "" if one == other else sum(passed[one][name] and not passed[other][name] for name in names)

    return [
        "Awkward programs that pass under the grader of the row and fail under that of the column:",
        "",
        row("", *passed),
        row(*["---"] * (len(passed) + 1)),
        *(row(one, *(only(one, other) for other in passed)) for one in passed),
    ]
