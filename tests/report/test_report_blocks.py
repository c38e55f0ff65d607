"""Packed samples: nothing is lost, answers are found again, and a page of them is small."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_parsing import StrictPage
from report_runs import House, Lenient, build_run

from support.packed_samples import unpack
from truegrade.report.chosen_samples import ShownSpan, blocks, collect, gather, make_index, pack, view_answer


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_what_is_packed_comes_back(texts: list[str]) -> None:
    packed = pack(texts)
    assert unpack(packed) == texts
    assert not set(packed) & set("<>&\"'")


def test_blocks_hold_every_sample_in_order(tmp_path: Path) -> None:
    run = build_run(tmp_path / "run", tasks=70, samples=3, profiles=(House(), Lenient()), reasoning="hm")
    material = gather(run)
    browser = collect(run, material.summary, material.outcomes)
    data = StrictPage(blocks(browser)).samples
    index = data["index"]
    assert [(s["id"], s["sample"]) for s in data["samples"]] == [(v.id, v.sample) for v in browser.samples]
    assert [(index["tasks"][t], n) for t, n in zip(index["task"], index["sample"], strict=True)] == [
        (v.id, v.sample) for v in browser.samples
    ]
    assert set(data["prompts"]) == set(index["tasks"])
    for place, sample in enumerate(data["samples"]):
        for column, profile in enumerate(index["profiles"]):
            verdict = next(v for v in sample["verdicts"] if v["profile"] == profile)
            code = index["verdict"][column][place]
            assert (index["reasons"][code >> 1], bool(code % 2)) == (verdict["reason"], verdict["passed"])
            assert index["lines"][index["line"][column][place]] == verdict.get("detail", "")


def test_a_sample_that_a_profile_did_not_grade_has_no_verdict(tmp_path: Path) -> None:
    run = build_run(tmp_path / "run", tasks=3, samples=1, profiles=(House(), Lenient()))
    journal = run.verdicts_path("lenient@1")
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:2]))
    material = gather(run)
    index = make_index(collect(run, material.summary, material.outcomes))
    assert index.verdict[1][2] == index.line[1][2] == -1
    judged = list(run.verdicts("house@1"))[2]
    code = index.verdict[0][2]
    assert (index.reasons[code >> 1], bool(code % 2)) == (judged.reason, judged.passed)


@pytest.mark.parametrize(
    ("answer", "reply", "span"),
    [
        ("[1]", "[ANSWER]\nf(2) == [1]\n[/ANSWER]", ShownSpan(17, 20, 1)),
        ("3", "f(13) is 3, so 3.", ShownSpan(15, 16, 2)),
        ("3", "it is 33 or x3", None),
        ("x = 1\n", "😀 x = 1", ShownSpan(3, 8, 1)),
        ("elsewhere", "not here", None),
        ("", "empty", None),
    ],
)
def test_the_answer_is_found_in_the_reply(answer: str, reply: str, span: ShownSpan | None) -> None:
    view = view_answer(answer, reply)
    assert view.span == span
    assert (view.text is None) == (span is not None)


@given(
    st.text(max_size=40),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=10),
    st.text(max_size=40),
)
def test_a_marked_place_reads_like_the_answer(before: str, answer: str, after: str) -> None:
    reply = before + answer + after
    span = view_answer(answer, reply).span
    if span is not None:
        units = reply.encode("utf-16-le", "surrogatepass")
        assert units[2 * span.start : 2 * span.end].decode("utf-16-le") == answer.strip()
