"""The first sentence of a report, and its terms: explained where they stand and listed at the end."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from report_parsing import StrictPage
from report_runs import House, Lenient, build_run

from truegrade.pipeline.summary import read_summary
from truegrade.report import wording
from truegrade.report.html import write_report
from truegrade.report.markup import join
from truegrade.report.wording import TERMS, explained
from truegrade.statistics.windows import Split


def test_the_first_sentence_says_what_was_measured_on_what_and_how_surely(tmp_path: Path) -> None:
    summary = read_summary(build_run(tmp_path / "run", tasks=12, samples=5, profiles=(House(), Lenient())))
    said = wording.measured(summary)
    assert said == (
        "toy: toy/parrot solves 33.3 % [21.8, 47.2] of 12 problems, 5 samples each, graded by house, the first of"
        f" 2 profiles; {len(summary.warnings)} warnings"
    )
    alone = msgspec.structs.replace(
        summary, warnings=[], samples_per_task=1, imported=True, model="imported", profiles=summary.profiles[:1]
    )
    assert wording.measured(alone) == (
        "toy: imported answers solve 33.3 % [21.8, 47.2] of 12 problems, one sample each, graded by house"
    )
    rate = summary.profiles[0].estimates[0]
    parts = [
        Split(by="hidden_behaviour", value=value, rate=msgspec.structs.replace(rate, tasks=tasks, value=share))
        for value, tasks, share in (("no", 10, 0.4), ("yes", 2, 0.0))
    ]
    hiding = msgspec.structs.replace(
        alone, profiles=[msgspec.structs.replace(alone.profiles[0], splits=parts)], model="m", imported=False
    )
    assert wording.measured(hiding) == (
        "toy: m solves 40.0 % [21.8, 47.2] of the 10 problems of which no hidden detail is known, and 0.0 % [21.8,"
        " 47.2] of the 2 that hide one from the prompt, one sample each, graded by house"
    )
    page = StrictPage(write_report(build_run(tmp_path / "two", profiles=(House(), Lenient()))).read_text())
    assert page.text.index("solves 33.3 %") < page.text.index("Warnings")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("of 12 problems", "problems"),
        ("original_pass@1", "original_pass@1"),
        ("95 % CI 1 to 2", "95 % CI"),
        ("toy/my-problem-model", None),
        ("nothing <b>here</b>", None),
    ],
)
def test_a_term_is_explained_where_it_stands(text: str, shown: str | None) -> None:
    made = join(explained(text))
    assert ("<abbr" in made) == (shown is not None) and "<b>" not in made
    assert shown is None or f">{shown}</abbr>" in made


def test_a_term_is_marked_once_and_all_are_listed_at_the_end(tmp_path: Path) -> None:
    assert join(explained("a sample, a sample")).count("<abbr") == 1
    page = write_report(build_run(tmp_path / "run")).read_text()
    end = page.split('<section id="glossary"')[1]
    assert all(meaning.partition(":")[0] in end for meaning in TERMS.values())
    assert "at least one of 5 samples is correct" in end
