"""Rows of wide tests: some stand for all in `make test`, the others are for `make test-all`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def one_in(number: int, rows: Iterable[Any]) -> list[Any]:
    """The same rows for `pytest.mark.parametrize`: of so many the first stays in `make test`."""
    return [row if place % number == 0 else thorough(row) for place, row in enumerate(rows)]


def thorough(row: Any) -> Any:
    """This row with the mark: a tuple is the values of several parameters, as it is for pytest."""
    values = row if isinstance(row, tuple) else (row,)
    return pytest.param(*values, marks=pytest.mark.thorough)
