from itertools import combinations

import numpy as np
import pytest

from truegrade.statistics import TaskTally, wilson
from truegrade.statistics.error_rates import AuditedTask, audited_rate, audits_needed, expected_width
from truegrade.statistics.intervals import effective_sample_size
from truegrade.statistics.tally import mean_pass_at_k


def rows_of(passes, n=1, audited=None, right=None, **more):
    audited, right = audited or [0] * len(passes), right or [0] * len(passes)
    return [
        AuditedTask(task_id=str(i), cluster=str(i), n=n, c=c, audited=audited[i], right=right[i], **more)
        for i, c in enumerate(passes)
    ]


def tallies_of(passes, n=1):
    return [TaskTally(task_id=str(i), cluster=str(i), n=n, c=c) for i, c in enumerate(passes)]


def test_an_audit_of_every_pass_gives_the_interval_of_the_right_ones():
    passes, right = [4, 3, 0, 4, 2, 1], [4, 1, 0, 3, 2, 0]
    found = audited_rate(rows_of(passes, 4, passes, right))
    known = mean_pass_at_k(tallies_of(right, 4), 1)
    assert found.value == pytest.approx(known.value)
    assert (found.low, found.high) == pytest.approx((known.low, known.high))
    assert found.sampling == pytest.approx((found.low, found.high))
    assert found.right_of_passes_bounds == (found.right_of_passes, found.right_of_passes)


def test_the_mean_over_all_audits_is_the_truth():
    right, wrong = [0, 1, 2, 5], [3, 4]
    passed = sorted([*right, *wrong])
    values = []
    for drawn in combinations(passed, 3):
        audited = [int(i in drawn) for i in range(8)]
        values.append(
            audited_rate(
                rows_of(
                    [int(i in passed) for i in range(8)],
                    1,
                    audited,
                    [int(i in drawn and i in right) for i in range(8)],
                )
            ).value
        )
    assert np.mean(values) == pytest.approx(4 / 8)


def test_an_audit_without_a_wrong_pass_still_has_a_lower_end():
    passes = [1] * 60 + [0] * 40
    found = audited_rate(rows_of(passes, 1, [1] * 30 + [0] * 70, [1] * 30 + [0] * 70))
    assert found.value == 0.6
    assert found.sampling == pytest.approx(wilson(60, 100))
    assert found.low < found.sampling[0]
    assert found.high == found.sampling[1]
    # 30 of 60 drawn count as 30 * 59 / 30 draws of an endless population.
    assert found.right_of_passes_bounds == pytest.approx(wilson(59, 59))


def test_sampling_is_never_surer_than_an_audit_of_the_same_rate_everywhere():
    """Few audited passes, all of one problem, would say that problems vary less than their passes do."""
    passes = [2, 2, 3, 3, 4, 3]
    found = audited_rate(rows_of(passes, 4, [0, 0, 3, 0, 0, 0], [0, 0, 2, 0, 0, 0]))
    shares = [c / 4 for c in passes]
    variance = (2 / 3) ** 2 * np.var(shares, ddof=1) / len(shares)
    size = effective_sample_size(found.value, variance, 4 * len(shares), len(shares), 0.95)
    assert found.value == pytest.approx(2 / 3 * np.mean(shares))
    assert found.sampling == pytest.approx(wilson(found.value * size, size))
    assert size < 4 * len(shares)


def test_failures_count_as_wrong_unless_audited():
    rows = rows_of([1] * 50 + [0] * 50, 1, [1] * 50 + [0] * 50, [1] * 45 + [0] * 55)
    assert audited_rate(rows).value == 0.45
    more = rows[:50] + rows_of([0] * 50, failures_audited=1, failures_right=0)
    more[60] = rows_of([0], failures_audited=1, failures_right=1)[0]
    assert audited_rate(more).value == pytest.approx(0.45 + 0.5 / 50)
    assert audited_rate(more).high > audited_rate(rows).high


def test_a_single_cluster_has_no_interval():
    row = AuditedTask(task_id="a", cluster="a", n=4, c=3, audited=2, right=1)
    found = audited_rate([row])
    assert (found.value, found.low, found.high) == (0.375, None, None)
    nothing = audited_rate(rows_of([0, 0, 0]))
    assert nothing.value == 0.0
    assert nothing.high > 0.3


def test_the_plan_is_what_the_audit_then_gives():
    passes = [1] * 100 + [0] * 64
    audits = audits_needed(tallies_of(passes), width=0.2)
    assert expected_width(tallies_of(passes), audits) <= 0.2 < expected_width(tallies_of(passes), audits - 1)
    right = [1] * round(0.8 * audits)
    found = audited_rate(rows_of(passes, 1, [1] * audits + [0] * (164 - audits), right + [0] * (164 - len(right))))
    assert found.high - found.low == pytest.approx(0.2, abs=0.005)
    widths = [expected_width(tallies_of(passes), count) for count in (10, 30, 60, 100)]
    assert widths == sorted(widths, reverse=True)
    assert audits_needed(tallies_of(passes), width=0.01) == 100  # none is enough
    usual = audits_needed(tallies_of(passes))
    assert expected_width(tallies_of(passes), usual) <= 1.1 * widths[-1]
    assert audits_needed(tallies_of([0, 0])) == 0
