"""Numbers as people read them, once for the terminal and the page."""

from __future__ import annotations

from truegrade.records import Estimate
from truegrade.statistics.claims import at_floor, told
from truegrade.statistics.reasoning_records import ShareDifference


def percent(fraction: float) -> str:
    """A fraction as a percentage with one decimal: ``42.1 %``."""
    return f"{100 * fraction:.1f} %"


def bounds(low: float | None, high: float | None) -> str:
    """An interval of fractions in percent, ``[34.8, 49.7]``; ``[no interval]`` where there is none."""
    if low is None or high is None:
        return "[no interval]"
    return f"[{100 * low:.1f}, {100 * high:.1f}]"


def estimate(value: Estimate) -> str:
    """Value and interval, ``42.1 % [34.8, 49.7]``, and how many problems are left out: ``(3 of 164 problems)``."""
    return f"{percent(value.value)} {bounds(value.low, value.high)}{part(value)}"


def part(value: Estimate) -> str:
    """That some problems have too few samples for the metric, `` (3 of 164 problems)``; empty if none has."""
    if not value.left_out:
        return ""
    return f" ({count(value.tasks)} of {plural(value.tasks + value.left_out, 'problem')})"


def points(difference: float) -> str:
    """A difference of fractions in percentage points, signed: ``+3.1``."""
    return f"{100 * difference:+.1f}"


def difference(value: ShareDifference) -> str:
    """Difference, interval and what it rests on: ``-17.1 points [-24.0, -10.2], p < 0.0002, 110 pairs``."""
    return (
        f"{points(value.difference)} points {bounds(value.low, value.high)}, p {told(value.p_value)},"
        f" {plural(value.pairs, 'pair')}"
    )


def p_value(p: float, *, digits: int = 2) -> str:
    """A p-value in a table: ``0.012``; ``< 0.0002`` where random sign flips can tell no smaller one."""
    return told(p, digits=digits).removeprefix("= ")


def corrected_p(p: float, adjusted: float) -> str:
    """A p-value corrected for several comparisons; a bound where ``p`` itself is one."""
    return f"< {2 * adjusted:.1g}" if at_floor(p) else f"{adjusted:.3g}"


def count(number: float) -> str:
    """A number with thousands separators, without decimals."""
    return f"{number:,.0f}"


def quantity(number: float) -> str:
    """A number to three significant places, larger ones whole: ``0.0123``, ``1.5``, ``152``, ``15,234``."""
    number += 0.0  # minus zero is zero
    return count(number) if abs(number) >= 100 else f"{number:.3g}"


def usd(amount: float | None) -> str:
    """Dollars: cents, or two significant places of less than ten; ``unknown`` for None."""
    if amount is None:
        return "unknown"
    if amount == 0 or abs(amount) >= 0.1:
        return f"${amount:,.2f}"
    return f"${amount:.2g}" if abs(amount) >= 1e-4 else f"${amount:.1e}"


def seconds(duration_s: float | None) -> str:
    """A duration: ``12 ms``, ``3.4 s``, ``2 min 5 s``, ``1 h 2 min``; ``–`` for None."""
    if duration_s is None:
        return "–"
    if duration_s < 0.9995:
        return f"{1000 * duration_s:.0f} ms"
    if duration_s < 59.95:
        return f"{duration_s:.1f} s"
    minutes, rest_s = divmod(round(duration_s), 60)
    return f"{minutes} min {rest_s} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def plural(number: int, noun: str) -> str:
    """``1 task``, ``2 tasks``."""
    return f"{count(number)} {noun}{'' if number == 1 else 's'}"
