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
    "strict-reply-characters": (
        Read("humaneval", "a" * 1_000_001, None, "extraction_limit"),
        Read(OUTPUT, block(f"assert f(1) == '{'a' * 100_000}'"), None, "extraction_limit"),
        Read(OUTPUT, block(f"assert f(1) == {DEEP}"), DEEP),
        Read(OUTPUT, block(f"assert f(1) == [{DEEP}]"), None, "extraction_limit"),
    ),
    "strict-repairs": (
        Limited("repair", SUCCESSOR, ((10, 35),)),
        Graded("repair", LATE, ["time_limit", "not_run"], timeout_s=0.2),
        Graded("repair skipped", SUCCESSOR, True, marks=("tests-skipped",)),
    ),
    "strict-contests": (Limited("sums", SUM, ((10, 35),)),),
    "strict-10s": (
        Limited("humaneval", RIGHT, ((10, 35),)),
        Limited("slow problem", RIGHT, ((60, 185),)),
        Graded("slow reference", "def add(a, b):\n    busy(0.2)\n    return a + b\n", True, timeout_s=0.1),
    ),
}
FUNCTIONS = {
    "cpu-3s-no-memory-limit": (Limited("humaneval|leetcode-dataset", RIGHT, ((3, 4),)),),
    "sanitizer-characters": (Read(SANITIZED, "x = 1\n" * 20_000, None, "extraction_limit"),),
    "evalplus-calls": (Limited("humanevalplus", RIGHT, ((10, 35),), sent=("(4.0, 4.0)",)),),
    "bigcode-3s": (Limited("humaneval", RIGHT, ((3, 14),)),),
    "bigcode-plus-sets": (
        Limited("humanevalplus", RIGHT, ((20, 65),)),
        Limited("mbppplus", RIGHT, ((10, 35),)),
    ),
    "humanevalpack-10s": (Limited("humanevalsynthesize", RIGHT, ((10, 35),)),),
    "bigcodebench-240s": (Limited("imports", RIGHT, ((241, 242),), memory_bytes=30 * GIB),),
    "evalscope-functions": (
        Limited("humaneval", RIGHT, ((4, 17),)),
        Limited("mbpp", RIGHT, ((20, 65),)),
        Limited("humanevalplus", RIGHT, ((300, 905),)),
    ),
    "inspect-30s": (Limited("humaneval", RIGHT, ((30, 31),)),),
    "agentcoder-2s": (Limited("humaneval", RIGHT, ((2, 3),)),),
    "blog-no-limit": (Limited("humaneval", RIGHT, ((10, 35),)),),
    "cruxeval-3s": (Limited("crux", "1 + 0", ((3, 4),), form="answer"),),
    "livecodebench-execution-3s": (Limited("pairs of outputs", "1 + 0", ((3, 10),), form="answer"),),
    "sandboxfusion-30s": (Limited("crux", "1", ((30, 31),), form="answer"),),
    "long-prediction-as-text": (
        Graded("long output", f'"{"a" * 99_998}"', False, form="answer"),
        Graded("long output", f"'{'a' * 99_999}'", True, form="answer"),
        Graded("less long output", f'"{"a" * 99_998}"', True, form="answer"),
    ),
}
CONTESTS = {
    "livecodebench-alarm-6s": (Limited("sums", SUM, ((19, None),), sent=alarm(6, 50_000)),),
    "livecodebench-digits-and-guard": (
        Graded("long integer", DIGITS, [True]),
        Graded("sums", f"import os\nassert os.kill is None and exit is not None\n{SUM}", [True, True]),
        Limited("sums", SUM, ((19, None),)),
    ),
    "evalscope-livecodebench": (
        Limited("sums", SUM, ((14, None),), sent=(*alarm(6, 4300), "'announces_alarm': False")),
        Graded("long integer", DIGITS, [-4]),
    ),
    "evalscope-sandbox-6s": (Limited("sums", SUM, ((6, 7),), processes=16),),
    "coralx-5s-a-test": (
        Limited("repair", SUCCESSOR, ((5, 20),)),
        Graded("repair", LATE, ["time_limit", "passed"], timeout_s=0.2),
        Graded("repair skipped", SUCCESSOR, ["passed", "passed"], unmarked=("tests-skipped",)),
    ),
    "lm-eval-fork-alarm-6s": (
        Limited("sums", SUM, ((14, None),), sent=(*alarm(6, 4300), "'faulthandler': False")),
        Graded("long integer", DIGITS, [-4]),
    ),
    "verl-prime-alarm-5s": (
        Limited("sums", SUM, ((6, None),), sent=alarm(5, 4300)),
        Limited("many", SUM, ((6, None),)),
        Graded("long integer", DIGITS, False),
    ),
    "rllm-skyrl-alarm-6s": (
        Limited("sums", SUM, ((19, None),), sent=alarm(6, 4300)),
        Graded("long integer", DIGITS, False),
    ),
    "nemo-gym-alarm-10s": (
        Limited("sums", SUM, ((27, None),), sent=alarm(10, 50_000)),
        Graded("long integer", DIGITS, True),
    ),
}
REWARDS = {
    "open-instruct-1s": (
        Limited("mbpp", RIGHT, ((1, 2),)),
        Limited("sums", SUM, ((7, None),), sent=alarm(1, 4300)),
    ),
    "open-r1-5s": (Limited("sums", SUM, ((5, 6),)),),
    "verl-sandbox-fusion-10s": (Limited("sums", SUM, ((10, 11),)),),
    "rllm-kodcode-5s-a-test": (
        Limited("setup", RIGHT, ((5, 6),)),
        Limited("mbpp", RIGHT, ((20, 21),)),
    ),
    "rllm-humanevalplus-1s-an-input": (Limited("humanevalplus", RIGHT, ((3, 4),)),),
    "code-r1-30s": (Limited("mbpp", RIGHT, ((30, 31),), processes=32, open_files=32, scratch_bytes=2 * 2**20),),
}
LIMITS = STRICT | FUNCTIONS | CONTESTS | REWARDS
"""Id of a rule -> what shows it."""
