"""Histograms count every value once, checks find what is doubtful."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_parsing import StrictPage
from report_runs import House, build_run

from truegrade.analysis.audit.findings import Audit, Finding, Severity
from truegrade.errors import BadRecord
from truegrade.report.chosen_samples import gather
from truegrade.report.figures import BINS, bin_values
from truegrade.report.html import write_report

VALUES = st.dictionaries(
    st.sampled_from(["passed", "failed", "ungraded"]),
    st.lists(st.one_of(st.integers(0, 10**6), st.floats(0, 1e4))),
)


@given(VALUES)
def test_every_value_is_in_one_bin(values: dict[str, list[float]]) -> None:
    found = bin_values(values, "length", "characters")
    known = [float(value) for group in values.values() for value in group]
    if found is None:
        assert len(set(known)) < 2
        return
    assert found.below + sum(map(sum, found.counts.values())) == len(known)
    assert found.edges == sorted(set(found.edges))
    assert len(found.edges) <= BINS + 4
    for family, bins in found.counts.items():
        for low, high, count in zip(found.edges[:-1], found.edges[1:], bins, strict=True):
            inside = sum(low <= value < high for value in values[family])
            assert count == inside or high == found.edges[-1]


def test_a_wide_range_is_logarithmic_and_names_its_zeros() -> None:
    found = bin_values({"passed": [0.0, *map(float, range(1, 50)), 100_000.0]}, "latency", "seconds")
    assert found is not None
    assert found.log
    assert found.below == 1
    assert found.edges[0] > 0


def test_outcomes_split_the_histograms(tmp_path: Path) -> None:
    material = gather(build_run(tmp_path / "run", tasks=12, samples=5, unanswered=2))
    by_name = {found.name: found for found in material.distributions}
    assert set(by_name) == {"output tokens", "input tokens", "latency"}  # one length and one cost for all
    latency = by_name["latency"]
    assert sum(map(sum, latency.counts.values())) == 58
    verdicts = material.summary.profiles[0].reasons
    assert sum(latency.counts["passed"]) == verdicts["passed"]
    assert sum(latency.counts["unanswered"]) == verdicts["no_code"] + verdicts["truncated"]


def test_identical_samples_are_among_the_warnings_and_no_finding_of_an_audit(tmp_path: Path) -> None:
    run = build_run(tmp_path / "run", tasks=4, samples=3)
    assert gather(run).findings == []
    page = StrictPage(write_report(run).read_text())
    assert "audit" not in page.ids
    assert page.text.count("samples 1 to 2 repeat sample 0 in all 4 problems") == 1


def test_a_stored_audit_is_shown(tmp_path: Path) -> None:
    run = build_run(tmp_path / "run", tasks=4, samples=1, profiles=(House(),))
    assert gather(run).findings == []
    finding = Finding(code="shot-scored", severity=Severity.ERROR, count=1, rows=["Toy/1"], sentence="one <b>shot")
    audit = Audit(
        file="f", file_sha256="", benchmark="toy", dataset_sha256="", profile="house@1", tasks=1, samples=1,
        recorded={}, estimates=[], findings=[finding],
    )  # fmt: skip
    (run.path / "audit.json").write_bytes(msgspec.json.encode(audit))
    assert "one <b>shot" in StrictPage(write_report(run).read_text()).text
    (run.path / "audit.json").write_text('{"file": 1}')
    with pytest.raises(BadRecord, match=r"audit\.json.*truegrade check FILE --json"):
        gather(run)
