"""Programs that do not end, and programs sent in an order: what a grader pays that judges neither by itself."""

from __future__ import annotations

import json

import pytest
from targets_support import jailed
from test_planted_graders import PROBLEMS

from support import planted_graders
from truegrade.apps.assay import Battery, assay
from truegrade.apps.assay.folder import VERDICTS, AssayFolder
from truegrade.apps.assay.probes.stubs import in_order, unanswering
from truegrade.apps.assay.records import Dispatch
from truegrade.apps.assay.sending import pieces
from truegrade.apps.assay.targets.asking import is_endless

STUBS = Battery(classes=("right", "stubs"), inputs=10)


def measured(name, out, danger="h0"):
    spec = f"{planted_graders.__file__}:{name}"
    (result,) = assay(
        problems=PROBLEMS[:1], grader=spec, battery=STUBS, danger=danger, out=out, timeout_s=20, workers=2
    )
    return result


@jailed
@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("left_over", "judges a program by what is left of the one before it: "),
        (
            "first_verdict_of_all",
            "judges a program by the verdict on the one before it: 8 of 8 stubs are accepted",
        ),
        ("perfect", ""),
    ],
)
def test_what_is_paid_for_its_place_is_named(name, cause, tmp_path):
    (measure,) = measured(name, tmp_path / "a").measures
    assert measure.unearned.all_paid > 0 if cause else measure.unearned.all_paid == 0
    assert any(said.startswith(cause) for said in (*measure.causes, *measure.overlooks)) if cause else True
    assert cause or not (measure.causes or measure.overlooks)
    assert measure.endless == 0  # harmless programs alone were sent


@jailed
def test_what_is_paid_for_not_ending_is_paid_without_solving(tmp_path):
    (measure,) = measured("time_out_pays", tmp_path / "a", None).measures
    assert measure.endless == measure.unearned.paid == 5
    assert measure.overlooks[0].startswith("accepts every program that does not end (5 of 5), and 0 of ")


@jailed
def test_a_conversation_that_was_torn_is_held_again_from_its_start(tmp_path):
    """A stub is judged behind the reference in a resumed assay, too, and no verdict is written twice."""
    folder = measured("left_over", tmp_path / "a").folder
    whole = (folder / VERDICTS).read_text().splitlines(keepends=True)
    probes = {probe.id: probe for probe in AssayFolder(folder).probes()}
    behind = [line for line in whole if probes[json.loads(line)["probe"]].order == "right-first"]
    kept = [line for line in whole if line not in behind[1::2]]  # without the stubs, whose references are told
    (folder / VERDICTS).write_text("".join(kept))
    measured("left_over", tmp_path / "a")
    again = [json.loads(line) for line in (folder / VERDICTS).read_text().splitlines()]
    assert {row["probe"]: row["passed"] for row in again} == {
        row["probe"]: row["passed"] for row in map(json.loads, whole)
    }
    assert len(again) == len(whole)


def test_each_program_without_an_answer_is_sent_once_over_the_problems():
    for problems in (1, 3, 20):
        sent = [probe for place in range(problems) for probe in unanswering(f"p{place}", "f", place, problems)]
        assert len({probe.origin for probe in sent}) == len(sent) == 10
        assert sum(map(is_endless, sent)) == 5
    assert {probe.origin for probe in unanswering("p", "", 0, 1)} >= {"endless", "sleeps", "waits-for-input"}


def test_each_order_is_a_conversation_of_its_own_and_begins_with_what_it_says():
    reference = 'def f(n):\n    """Twice."""\n    return 2 * n + 0 + 0 + 0 + 0 + 0\n'
    probes = in_order("p", "f", reference)
    talks = pieces([Dispatch(probe=probe, problem=PROBLEMS[0]) for probe in probes])
    first, second = ([one.probe for one in talk] for talk in talks)
    assert [probe.kind for probe in first] == ["ahead", "stub"] * (len(first) // 2)
    assert [probe.kind for probe in second] == ["stub"] * (len(second) - 1) + ["ahead"]
    (head,) = {probe.code for probe in probes if probe.origin == "same-head"}
    assert head.startswith('def f(n):\n    """Twice."""\n    pass\n# .') and len(head) == len(reference)
