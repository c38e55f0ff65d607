from hypothesis import given
from hypothesis import strategies as st

from truegrade.extraction.contest_programs import Shown, shown_samples

STATEMENT = """Add them.

Input

The input is given as two numbers.

Sample Input 1

1 2

Sample Output 1

3

One and two make three.

Sample Input 2

4
5

Sample Output 2

9
"""


def test_samples_are_read_in_order_and_prose_is_left():
    assert shown_samples(STATEMENT) == (Shown("1 2\n", "3\n"), Shown("4\n5\n", "9\n"))
    assert shown_samples(STATEMENT.replace("\n", "\r\n")) == shown_samples(STATEMENT)


def test_colons_marks_and_no_numbers():
    assert shown_samples("Sample Input:\n1\nSample Output:\n2\n") == (Shown("1\n", "2\n"),)
    assert shown_samples("### Sample Input 1\n1\n### Sample Output 1\n2") == (Shown("1\n", "2\n"),)


def test_what_is_no_pair_is_no_sample():
    emptied = STATEMENT.replace("\n9\n", "\n\n\nNothing may be left.\n")
    assert shown_samples(emptied) == shown_samples(STATEMENT)[:1], "prose is no output"
    for text in ("", "Sample Input 1\n\n1\n", "Sample Output 1\n2\n", "Sample Input 1\n1\nSample Output 2\n2",
                 "Sample Input 1\n1\nSample Output 1\n\n", "Example 1:\nInput: x = 1\nOutput: 2"):  # fmt: skip
        assert shown_samples(text) == ()


NUMBERS = st.lists(st.integers(-9, 99).map(str), min_size=1, max_size=4).map("\n".join)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=4))
def test_every_written_sample_comes_back(samples):
    text = "Do it.\n\n" + "\n\n".join(
        f"Sample Input {n}\n\n{given}\n\nSample Output {n}\n\n{printed}\n\nFor it is so."
        for n, (given, printed) in enumerate(samples, 1)
    )
    assert shown_samples(text) == tuple(Shown(a + "\n", b + "\n") for a, b in samples)
