"""When two texts of output are the same, by LiveCodeBench's rule.

LiveCodeBench/LiveCodeBench@28fef95 ``lcb_runner/evaluation/testing_util.py`` ``grade_stdio``. Used beside the
program, where the names of these functions can be seen and replaced as in the original, and outside.
"""

from decimal import Decimal
from typing import Any


def get_stripped_lines(text: str) -> list[str]:
    """The lines, each stripped, of the stripped text; an empty text is one empty line."""
    return [line.strip() for line in text.strip().split("\n")]


def convert_line_to_decimals(line: str) -> tuple[bool, list[Decimal]]:
    """The line's words as numbers; False if one of them is none."""
    try:
        return True, [Decimal(word) for word in line.split()]
    except Exception:  # InvalidOperation; whatever a program has put in Decimal's place
        return False, []


def first_difference(got: list[str], expected: list[str]) -> int | None:
    """Index of the first pair of lines that are neither equal texts nor equal lists of numbers.

    Raises:
        decimal.InvalidOperation: a word is a signaling NaN; the published grader fails then.
    """
    for index, (got_line, expected_line) in enumerate(zip(got, expected, strict=True)):
        if got_line == expected_line:
            continue
        numbers = []
        for line in (got_line, expected_line):
            success, decimals = convert_line_to_decimals(line)
            if not success:
                return index
            numbers.append(decimals)
        if numbers[0] != numbers[1]:
            return index
    return None


def same_output(got: str, expected: str) -> bool:
    """Whether two whole outputs are the same; a signaling NaN is the same as no other text."""
    if got.strip() == expected.strip():
        return True  # each line is that of the other, and most right answers end here
    got_lines, expected_lines = get_stripped_lines(got), get_stripped_lines(expected)
    try:
        return len(got_lines) == len(expected_lines) and first_difference(got_lines, expected_lines) is None
    except ArithmeticError:
        return False


def as_json(value: Any) -> Any:
    """The value with tuples as lists and numpy's numbers and arrays as Python's, at any depth."""
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    if isinstance(value, dict):
        return {key: as_json(item) for key, item in value.items()}
    if type(value).__module__ == "numpy":
        return value.tolist()
    return value
