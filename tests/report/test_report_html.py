"""The page: complete in itself, safe against what it shows, and saying what the summary says."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from report_parsing import StrictPage
from report_runs import House, Lenient, build_run

from support.cpu import cpu_within
from truegrade.errors import UserError
from truegrade.pipeline.summary import TaskLine, read_summary
from truegrade.profiles import open_profile
from truegrade.records import Reason
from truegrade.report import format as fmt
from truegrade.report import wording
from truegrade.report.html import write_report
from truegrade.report.methods import methods
from truegrade.report.page_parts import draw
from truegrade.report.run_document import tasks_section
from truegrade.store import Run

HOSTILE = '</script><script>alert(1)</script><img src="http://evil.example/x" onerror="alert(2)"><!-- $body'


def page_of(run: Run) -> StrictPage:
    return StrictPage(write_report(run).read_text(encoding="utf-8"))


@pytest.fixture
def two(tmp_path: Path) -> Run:
    return build_run(tmp_path / "run", tasks=12, samples=5, profiles=(House(), Lenient()), unanswered=2)


def test_page_is_well_formed_and_lies_in_the_run(two: Run) -> None:
    path = write_report(two)
    assert path == two.path / "report.html"
    page = StrictPage(path.read_text(encoding="utf-8"))
    assert page.tags.count("h1") == 1
    assert len(page.ids) == len(set(page.ids))
    assert {"result", "rules", "metrics", "tasks", "reasons", "usage", "samples", "methods"} <= set(page.ids)


def test_page_loads_nothing(two: Run) -> None:
    content = write_report(two).read_text(encoding="utf-8")
    page = StrictPage(content)
    assert page.references
    assert all(reference.startswith("#") for reference in page.references)
    assert {reference[1:] for reference in page.references} <= {*page.ids}
    assert "default-src 'none'" in content
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|innerHTML|insertAdjacentHTML|eval\(", content)


@pytest.mark.parametrize("where", ["reply", "detail", "model", "reasoning"])
def test_hostile_text_stays_text(tmp_path: Path, where: str) -> None:
    tame = page_of(build_run(tmp_path / "tame", tasks=3, reasoning="hm"))
    page = page_of(build_run(tmp_path / "run", tasks=3, **{"reasoning": "hm", where: HOSTILE}))
    assert page.tags == tame.tags
    assert page.handlers == []
    assert all(reference.startswith("#") for reference in page.references)
    shown = page.text if where == "model" else repr(page.samples)
    assert "alert(1)" in shown


def test_headline_is_the_summary(two: Run) -> None:
    text, summary = page_of(two).text, read_summary(two)
    for profile in summary.profiles:
        first = profile.estimates[0]
        assert f"{profile.profile} pass@1 {fmt.percent(first.value)}" in text
        assert f"95 % CI {fmt.bounds(first.low, first.high)}" in text
        assert f"without answer {first.unanswered} truncated {first.truncated}" in text
        for estimate in profile.estimates:
            assert fmt.estimate(estimate) in text
    assert "samples expected 60" in text
    assert "replies 58" in text
    assert "missing 2" in text
    assert "2 of 60 samples have no reply" in text


def test_warnings_stand_beside_the_headline(two: Run) -> None:
    page = page_of(two)
    assert page.ids.index("result") < page.ids.index("warnings") < page.ids.index("rules")
    for profile in read_summary(two).profiles:
        for warning in profile.warnings:
            assert page.text.count(warning) == 1


def test_every_task_has_a_cell_in_every_strip(two: Run) -> None:
    content = write_report(two).read_text(encoding="utf-8")
    for profile in read_summary(two).profiles:
        for task in profile.tasks:
            assert f'title="{task.id}: {task.c} of {task.n}"' in content
    assert content.count('data-find="Toy/1#"') == 3  # a cell a strip, a row of the table


def test_many_problems_share_cells_and_the_table_is_cut(two: Run) -> None:
    summary = read_summary(two)
    lines = [TaskLine(f"t{i}", 2, i % 3, f"t{i}") for i in range(2_500)]
    many = msgspec.structs.replace(summary, profiles=[msgspec.structs.replace(summary.profiles[0], tasks=lines)])
    drawn = str(draw([tasks_section(many)]))
    assert drawn.count("<i ") == 834 and 'title="t0 to t2: 3 of 6"' in drawn
    page = StrictPage(drawn)
    assert "One cell per 3 problems" in page.text and "first 1,000 problems" in page.text
    assert len(page.tags) < 8_000


def test_reasons_and_disagreements_are_counted(two: Run) -> None:
    text, summary = page_of(two).text, read_summary(two)
    for profile in summary.profiles:
        total = sum(profile.reasons.values())
        for number in profile.reasons.values():
            assert f"{number} · {fmt.percent(number / total)}" in text
    assert summary.disagreeing
    assert f"{summary.disagreeing} samples graded differently" in text
    assert f"Toy/{summary.disagreements[0].problem_id.split('/')[1]}#{summary.disagreements[0].sample}" in text


def test_one_profile_and_one_sample_leave_out_what_says_nothing(tmp_path: Path) -> None:
    page = page_of(build_run(tmp_path / "run", tasks=12, samples=1))
    assert "rules" not in page.ids
    assert "pass@k against k" not in page.text


def test_methods_repeat_the_run(tmp_path: Path) -> None:
    run = build_run(tmp_path / "run", excluded={"Toy/99": "shown solved in the prompt"})
    text = page_of(run).text
    for words in (
        "toy: 12 of 15 problems (data set SHA-256 dddddddddddddddd…), 5 samples per problem.",
        "generated by toy/parrot on 2026-01-02 with temperature 0.2, token limit 512,",
        "token limit 512, seed 7 + sample number, the model's default top-p.",
        "The prompts are those of house@1/default (SHA-256 over all prompts bbbbbbbbbbbbbbbb…).",
        "Graded under house@1; level 3: namespaces, Landlock and seccomp.",
        "Truegrade 0.1.0 (python 3.12.1, platform Linux).",
        "1 problem excluded from scoring",
        "Toy/99: shown solved in the prompt",
        "house@1 is not installed in this version of Truegrade",
    ):
        assert words in text


def test_methods_name_what_only_some_runs_set(tmp_path: Path) -> None:
    run = build_run(tmp_path / "run")
    config = run.manifest.generation
    assert config is not None
    sampling = msgspec.structs.replace(config.sampling, top_k=40, repetition_penalty=1.1)
    manifest = msgspec.structs.replace(run.manifest, generation=msgspec.structs.replace(config, sampling=sampling))
    text = StrictPage(draw([methods(manifest, read_summary(run))])).text
    assert "with temperature 0.2, top-k 40, repetition-penalty 1.1, token limit 512," in text


def test_methods_name_the_rules_of_a_known_profile(tmp_path: Path) -> None:
    run = build_run(tmp_path / "run")
    profile = open_profile("human-eval")
    summary = read_summary(run)
    known = msgspec.structs.replace(summary.profiles[0], profile=profile.id)
    text = StrictPage(draw([methods(run.manifest, msgspec.structs.replace(summary, profiles=[known]))])).text
    assert all(" ".join(rule.text.split()) in text for rule in profile.rules)
    assert all(" ".join(defect.split()) in text for defect in profile.defects)


def test_imported_runs_say_where_they_came_from(tmp_path: Path) -> None:
    run = build_run(tmp_path / "run")
    manifest = msgspec.structs.replace(
        run.manifest, generation=None, imported_from="samples.jsonl", import_format="human-eval"
    )
    text = StrictPage(draw([methods(manifest, read_summary(run))])).text
    assert "imported from samples.jsonl (human-eval); how they were generated is not known" in text


def test_an_ungraded_run_has_no_report(tmp_path: Path) -> None:
    run = build_run(tmp_path / "run")
    (run.path / "summary.json").unlink()
    with pytest.raises(UserError, match="grade it first"):
        write_report(run)


def test_every_reason_has_words() -> None:
    assert set(wording.REASONS) == set(Reason)


def test_two_thousand_samples_make_a_small_page_fast(tmp_path: Path) -> None:
    run = build_run(tmp_path / "run", tasks=400, samples=5, profiles=(House(), Lenient()))
    with cpu_within(2):
        path = write_report(run)
    assert path.stat().st_size < 800_000
    assert len(StrictPage(path.read_text(encoding="utf-8")).samples["samples"]) == 2000
