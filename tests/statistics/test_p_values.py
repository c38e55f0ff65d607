"""A p-value at the floor of a random test is a bound, and told as one."""

import pytest

from truegrade.report import format as fmt
from truegrade.report.document import Table, Worded
from truegrade.report.text_files import as_csv, as_latex, as_markdown
from truegrade.statistics import exchangeability
from truegrade.statistics.claims import FLIPS, told
from truegrade.statistics.paired import EXACT_UP_TO, sign_flip_p


def test_the_floor_of_sign_flips_is_told_as_a_bound():
    floor = sign_flip_p([1.0] * 60)
    assert floor == 1 / (FLIPS + 1)
    assert told(floor) == "< 0.0002"
    assert fmt.p_value(floor, digits=3) == "< 0.0002"
    assert fmt.corrected_p(floor, 3 * floor) == "< 0.0006"


@pytest.mark.parametrize(("p", "shown"), [(2 / 10_001, "0.0002"), (1e-9, "1e-09"), (0.0123, "0.012"), (1.0, "1")])
def test_other_values_and_exact_ones_are_numbers(p, shown):
    assert told(p) == f"= {shown}"
    assert fmt.p_value(p) == shown
    assert not told(sign_flip_p([1.0] * EXACT_UP_TO)).startswith("<")


def test_shuffles_of_samples_have_a_floor_of_their_own():
    table = [[True, False, False]] * 80
    assert "p < 0.001)" in exchangeability(table).warning()
    assert "p < 0.01)" in exchangeability(table, permutations=199).warning()


def test_a_table_shows_the_bound_and_a_spreadsheet_the_number():
    p = 1 / (FLIPS + 1)
    exhibit = Table(slug="s", caption="c", head=("x", "p"), rows=[["a", Worded(p, fmt.p_value(p))]])
    assert "| a | < 0.0002 |" in as_markdown(exhibit)
    assert "$<$ 0.0002" in as_latex(exhibit)
    assert as_csv(exhibit).splitlines()[1] == f"a,{p!r}"
