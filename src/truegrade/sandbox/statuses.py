"""How a run can end: the values of `truegrade.records.Reason` that an executor reports.

They are repeated here because the spawned processes load this folder's modules and nothing else of ours;
a test keeps the two lists equal.
"""

from __future__ import annotations

PASSED = "passed"
WRONG_ANSWER = "wrong_answer"
RUNTIME_ERROR = "runtime_error"
SYNTAX_ERROR = "syntax_error"
TIME_LIMIT = "time_limit"
MEMORY_LIMIT = "memory_limit"
OUTPUT_LIMIT = "output_limit"
KILLED = "killed"
TAMPERING = "tampering"
GRADER_ERROR = "grader_error"

OF_PROGRAMS = frozenset({RUNTIME_ERROR, SYNTAX_ERROR, MEMORY_LIMIT, OUTPUT_LIMIT})
"""What a program's process may say of itself; it can only harm itself by saying it."""

TURN_OF_TESTS, TURN_OF_PROGRAM = 0, 1
"""Who is to blame if a judged run ends without a verdict; the judge keeps it in memory that it shares."""


def of_program(claim: object) -> tuple[str, str]:
    """Status and detail that a program's process reports; anything else is tampering."""
    match claim:
        case (str(status), str(detail)) if status in OF_PROGRAMS:
            return status, detail
        case _:
            return TAMPERING, "the program reported an end of no known kind"
