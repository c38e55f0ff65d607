"""LiveCodeBench under five profiles: results, metadata and verdicts are those of the graders that they follow."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from livecodebench_corpus.awkward import CASES, CLOCKED
from livecodebench_corpus.completions import RECORDED_IN_FULL, ROWS, name_in_full
from livecodebench_corpus.problems import FULL_TESTS, PROBLEMS, TESTS
from livecodebench_peers import PROFILES, ask, missing, normal
from livecodebench_rows import case_row, contest_problem, extract, grade, sample_of
from livecodebench_table import LEAST_EQUAL, compare
from peer_process import peers, rows

from support.thorough import one_in
from truegrade.sandbox import Sandbox

GOLDEN = json.loads(Path(__file__).with_name("golden_livecodebench.json").read_text())
"""What the graders themselves said of a part of the corpus, by ``python -m bench parity_livecodebench``."""
FEW = 20
FEW_CLOCKED = ("sleeps too long", "own handler that raises", "module level swallows")
"""One that the alarm ends, one that handles it and fails, one that overruns and passes: 12 s at most."""
ALL_ROWS = bool(rows([True], 0))


def equal_enough(table):
    """Every verdict is the peer's, and results and metadata in at least 99 rows of 100."""
    told = [(found.name, found.theirs, found.ours) for found in table.differences]
    assert not table.unexplained_verdicts, told
    unexplained = [found for found in table.differences if found.reason is None]
    assert len(unexplained) <= (1 - LEAST_EQUAL) * table.rows, told


def asked(profile, requests):
    """What the profile's peer says, or skip."""
    if why := missing(peers(), PROFILES[profile]):
        pytest.skip(why)
    return ask(peers(), PROFILES[profile], requests, workers=2)


def golden_rows(profile, cases):
    """The cases that the golden file knows, with what the peer said of them."""
    known = GOLDEN[PROFILES[profile]]
    return [case for case in cases if case.name in known], known


def test_the_corpus_probes_every_trap_with_programs_of_its_own():
    assert len(CASES) >= 300 and len({case.name for case in CASES + CLOCKED}) == len(CASES) + len(CLOCKED)
    assert len({case.trap for case in CASES}) >= 20
    assert sum(problem.functional for problem in PROBLEMS) >= 12 <= sum(not p.functional for p in PROBLEMS)
    assert len(ROWS) >= 4 * len(PROBLEMS)


@pytest.mark.thorough
def test_every_problem_has_tests_of_contest_size_behind_the_small_ones_and_its_reference_is_quick():
    for problem in PROBLEMS:
        tests = problem.full_tests
        assert len(problem.tests) == TESTS and tests[:TESTS] == problem.tests and len(tests) == FULL_TESTS
        given = [_arguments(problem, text) for text, _ in tests]
        began = time.process_time()
        answers = [problem.solve(*arguments) for arguments in given]
        assert time.process_time() - began < 1, problem.name
        assert [json.dumps(answer) if problem.functional else answer for answer in answers] == [
            w for _, w in tests
        ]


def _arguments(problem, text):
    return [json.loads(line) for line in text.split("\n")] if problem.functional else [text]


CHANGED_BY_PYTHON = {"scope: eval in a comprehension"}
"""Cases whose program means something else since 3.12 (PEP 709); the verdicts were recorded under 3.11."""


@pytest.mark.parametrize("profile", PROFILES)
def test_a_part_of_the_corpus_is_graded_as_recorded(profile):
    cases, known = golden_rows(profile, [case for case in CASES if case.name not in CHANGED_BY_PYTHON])
    cases = rows(cases, 0) or cases[:: len(cases) // FEW]
    ours = grade(profile, [case_row(case) for case in cases])
    theirs = [known[case.name] for case in cases]
    equal_enough(compare(profile, PROFILES[profile], [(case.name, case.trap) for case in cases], theirs, ours))


@pytest.mark.parametrize("profile", one_in(3, PROFILES))
def test_completions_on_tests_of_contest_size_are_graded_as_recorded(profile):
    chosen = [row for row in ROWS if row[0] in RECORDED_IN_FULL]
    problems = [contest_problem(problem, full=True) for _, problem, _, _ in chosen]
    ours = grade(
        profile,
        [(found, extract(profile, found, row[3])) for found, row in zip(problems, chosen, strict=True)],
    )
    known = GOLDEN[PROFILES[profile]]
    theirs = [known[name_in_full(name)] for name, *_ in chosen]
    assert len(theirs) == len(RECORDED_IN_FULL)
    table = compare(profile, PROFILES[profile], [(name, "") for name, *_ in chosen], theirs, ours)
    assert not table.differences, table.differences


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
def test_programs_are_graded_as_the_checkout_grades_them_parity(profile):
    cases = rows(list(CASES), 0) or CASES[:: len(CASES) // FEW]
    requests = [{"code": case.code, "sample": case.sample} for case in cases]
    theirs = asked(profile, requests)
    ours = grade(profile, [case_row(case) for case in cases], workers=2)
    equal_enough(compare(profile, PROFILES[profile], [(case.name, case.trap) for case in cases], theirs, ours))


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
def test_completions_are_graded_as_the_checkout_grades_them_parity(profile):
    chosen = rows(list(ROWS), 0) or ROWS[:: len(ROWS) // FEW]
    requests = [{"completion": text, "sample": sample_of(problem)} for _, problem, _, text in chosen]
    theirs = asked(profile, requests)
    ours_rows = [
        (found, extract(profile, found, text))
        for found, text in ((contest_problem(problem), text) for _, problem, _, text in chosen)
    ]
    assert [code for _, code in ours_rows] == [row["code"] for row in theirs]
    ours = grade(profile, ours_rows, workers=2)
    equal_enough(compare(profile, PROFILES[profile], [(name, "") for name, *_ in chosen], theirs, ours))


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES if ALL_ROWS else ("livecodebench",))
@pytest.mark.parametrize("busy", one_in(2, [False, True]), ids=["idle", "busy"])
def test_what_a_clock_decides_is_decided_alike_three_times(profile, busy):
    cases, known = golden_rows(profile, CLOCKED)
    chosen = [case_row(case) for case in (rows(cases, 0) or [c for c in cases if c.name in FEW_CLOCKED])]
    with ThreadPoolExecutor(2) as pool, Sandbox(workers=2) as cores:
        if busy:
            for _ in range(2):
                pool.submit(cores.script, "while True: pass", cpu_s=600.0, wall_s=600.0)
        # At the same time, since they mostly sleep; what came out otherwise on a loaded machine, one by one.
        for workers in (9, 1):
            found = [row["passed"] for row in grade(profile, chosen * 3, workers=workers)]
            runs = [found[start :: len(chosen)] for start in range(len(chosen))]
            due = [[bool(known[problem.id]["passed"])] * 3 for problem, _ in chosen]
            chosen = [row for row, run, same in zip(chosen, runs, due, strict=True) if run != same]
            if not chosen:
                break
        cores.close()
    assert runs == due


@pytest.mark.parametrize(
    "profile",
    [
        "livecodebench",
        "strict",
        *(pytest.param(p, marks=pytest.mark.thorough) for p in PROFILES if p != "livecodebench"),
    ],
)
def test_workers_change_nothing_and_a_second_run_is_bit_identical(profile):
    chosen = [case_row(case) for case in CASES[::80] if "thread" not in case.name]
    runs = [
        json.dumps([(normal(row), row["judgement"].reason, row["judgement"].marks) for row in rows_])
        for rows_ in (grade(profile, chosen, workers) for workers in (1, 2, 4, 4))
    ]
    assert len(set(runs)) == 1
