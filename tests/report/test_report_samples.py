"""Which samples the page carries."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_runs import House, Lenient, build_run, outcome, task_id

from truegrade.records import Reason, SampleKey
from truegrade.report import chosen_samples
from truegrade.report.chosen_samples import Browser, choose, gather
from truegrade.store import Run
from truegrade.store.facts import VerdictFacts

KEYS = st.tuples(st.sampled_from([f"t{n}" for n in range(30)]), st.integers(0, 3))
REASONS = st.sampled_from(["passed", "wrong_answer", "no_code", "time_limit"])
GRADED = st.dictionaries(KEYS, REASONS)


def collect(run: Run, **limits: int) -> Browser:
    material = gather(run)
    return chosen_samples.collect(run, material.summary, material.outcomes, **limits)


def as_outcomes(reasons: dict[tuple[str, int], str]) -> dict[str, list[VerdictFacts | None]]:
    """Outcomes as they are read, from reasons by (task, sample)."""
    tasks: dict[str, list[VerdictFacts | None]] = {}
    for (task, sample), reason in reasons.items():
        samples = tasks.setdefault(task, [])
        samples += [None] * (sample + 1 - len(samples))
        samples[sample] = VerdictFacts(
            problem_id=task, sample=sample, completion_sha256="", passed=reason == "passed", reason=Reason(reason),
            truncated=False, time_sensitive=False, marks=(), detail="",
        )  # fmt: skip
    return tasks


@given(GRADED, GRADED, st.integers(1, 60))
def test_choice_is_within_the_limit_repeatable_and_holds_every_dispute(first, second, limit) -> None:
    both = [as_outcomes(first), as_outcomes(second)]
    chosen = choose(both, limit, seed=0)
    assert chosen == choose(both, limit, seed=0)
    assert chosen.graded == len(first | second)
    assert len(chosen.samples) == len(set(chosen.samples)) == min(limit, chosen.graded)
    split = {key for key in first if key in second and (first[key] == "passed") != (second[key] == "passed")}
    disputed = {SampleKey(*key) for key in split}
    assert chosen.disputed == len(disputed)
    assert len(disputed & set(chosen.samples)) == min(limit, len(disputed))


def test_each_reason_gets_the_same_room() -> None:
    reasons = {("p", n): "passed" for n in range(1000)}
    reasons |= {("w", n): "wrong_answer" for n in range(100)}
    reasons |= {("m", n): "memory_limit" for n in range(3)}
    chosen = choose([as_outcomes(reasons)], 43, seed=0)
    counts = Counter(reasons[key.problem_id, key.sample] for key in chosen.samples)
    assert counts == {"memory_limit": 3, "passed": 20, "wrong_answer": 20}


def test_another_seed_chooses_others() -> None:
    outcomes = as_outcomes({("p", n): "passed" for n in range(1000)})
    assert choose([outcomes], 20, seed=0) != choose([outcomes], 20, seed=1)


def test_browser_counts_what_it_leaves_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chosen_samples, "MAX_SAMPLES", 300)
    browser = collect(build_run(tmp_path / "run", tasks=90, samples=5, profiles=(House(), Lenient())))
    assert len(browser.samples) == 300
    assert browser.graded == 450
    keys = [(number, sample) for number in range(90) for sample in range(5)]
    disputed = sum(
        (outcome(House(), *key) is Reason.PASSED) != (outcome(Lenient(), *key) is Reason.PASSED) for key in keys
    )
    assert browser.disputed == browser.disputed_shown == disputed > 0


def test_samples_come_in_the_order_of_the_data_set(tmp_path: Path) -> None:
    browser = collect(build_run(tmp_path / "run", tasks=12, samples=2))
    assert [(view.id, view.sample) for view in browser.samples] == [
        (task_id(n), s) for n in range(12) for s in (0, 1)
    ]


def test_long_texts_are_cut_and_say_how_long_they_were(tmp_path: Path) -> None:
    run = build_run(tmp_path / "run", tasks=1, samples=1, reply="x" * 30_000)
    view = collect(run).samples[0]
    assert (len(view.reply.text), view.reply.chars) == (20_000, 30_000)
    assert view.answers[0].text.chars == 30_000


def test_the_page_stays_small_whatever_the_model_says(tmp_path: Path) -> None:
    run = build_run(tmp_path / "run", tasks=20, samples=1, reply="x" * 10_000)
    browser = collect(run, max_chars=50_000)
    assert 1 < len(browser.samples) < 10
    assert browser.graded == 20


@pytest.mark.parametrize(
    ("reply", "reasoning", "thinking", "rest"),
    [
        ("<think>hm</think>\ndone", None, "<think>hm</think>", "\ndone"),
        ("done", "hm", "hm", "done"),
        ("done", None, None, "done"),
        ("<think>on and on", None, "<think>on and on", ""),
    ],
)
def test_thinking_is_told_from_the_reply(tmp_path: Path, reply, reasoning, thinking, rest) -> None:
    run = build_run(tmp_path / "run", tasks=1, samples=1, reply=reply, reasoning=reasoning)
    view = collect(run).samples[0]
    assert (view.thinking.text if view.thinking else None, view.reply.text) == (thinking, rest)


def test_a_reference_stands_beside_samples_that_some_profile_refuses(tmp_path: Path) -> None:
    run = build_run(tmp_path / "run", tasks=4, samples=5, profiles=(House(), Lenient()))
    material = gather(run)
    views = chosen_samples.collect(run, material.summary, material.outcomes, {task_id(0): "the program"}).samples
    refused = [view for view in views if not all(verdict.passed for verdict in view.verdicts)]
    assert {view.reference.text for view in refused if view.id == task_id(0)} == {"the program"}
    assert not [view for view in views if view.reference and (view.id != task_id(0) or view not in refused)]


def test_prompts_of_the_shown_tasks_come_along(tmp_path: Path) -> None:
    run = build_run(tmp_path / "run", tasks=2, samples=1)
    prompts = collect(run).prompts
    assert set(prompts) == {task_id(0), task_id(1)}
    assert prompts[task_id(0)][0][0] == "user"


def test_a_verdict_without_a_stored_reply_is_still_shown(tmp_path: Path) -> None:
    run = build_run(tmp_path / "run", tasks=2, samples=1)
    run.completions_path.write_bytes(b"")
    views = collect(run).samples
    assert len(views) == 2
    assert views[0].reply is None
