"""Comparing runs: what is refused, what is said, and what is computed for each pair."""

from __future__ import annotations

import json

import msgspec
import pytest
from comparison_runs import build, single, task
from report_runs import House, Lenient

import truegrade
from truegrade.analysis.comparison import compare_runs
from truegrade.errors import BadRecord, NotComparable, UnknownName, UserError
from truegrade.report.comparison_document import print_comparison
from truegrade.report.comparison_replies import sentences
from truegrade.report.terminal import open_terminal
from truegrade.statistics import holm, mcnemar_p

BEFORE = single("0000011111" * 4)
AFTER = single("1100011111" * 4)
THIRD = single("0000010101" * 4)


@pytest.fixture
def three(tmp_path):
    made = {"before": BEFORE, "after": AFTER, "third": THIRD}
    return [build(tmp_path / name, passes, model=f"toy/{name}") for name, passes in made.items()]


def test_two_runs_are_one_pair(three):
    found = compare_runs(three[:2])
    (pair,) = found.pairs
    assert (pair.first, pair.second, found.baseline, found.correction) == (
        "toy/before",
        "toy/after",
        "toy/before",
        None,
    )
    assert pair.paired.difference == pytest.approx(0.2)
    assert pair.paired.wins == tuple(task(n) for n in (0, 1, 10, 11, 20, 21, 30, 31))
    assert pair.p_value == pair.p_adjusted == mcnemar_p(8, 0)
    assert pair.bootstrap.low < 0.2 < pair.bootstrap.high
    assert pair.power.tasks_needed is None
    assert pair.obstacles == pair.remarks == ()
    assert [side.rate.value for side in found.sides] == pytest.approx([0.5, 0.7])


def test_several_runs_are_compared_with_the_first_and_corrected(three):
    found = compare_runs([run.path for run in three], points=2)
    assert [(pair.first, pair.second) for pair in found.pairs] == [
        ("toy/before", "toy/after"),
        ("toy/before", "toy/third"),
    ]
    assert found.correction == "Holm 1979"
    assert [p.p_adjusted for p in found.pairs] == holm([p.p_value for p in found.pairs])
    assert found.pairs[0].p_adjusted > found.pairs[0].p_value
    assert all(pair.power.tasks_needed > 1000 for pair in found.pairs)


@pytest.mark.parametrize("named", ["label", "folder", "path"])
def test_the_baseline_may_be_any_of_them(three, named):
    baseline = {"label": "toy/third", "folder": "third", "path": three[2].path}[named]
    found = compare_runs(three, baseline=baseline)
    assert [(pair.first, pair.second) for pair in found.pairs] == [
        ("toy/third", "toy/before"),
        ("toy/third", "toy/after"),
    ]
    with pytest.raises(UnknownName, match="did you mean toy/after"):
        compare_runs(three, baseline="toy/aftr")


def test_every_two_are_compared(three):
    found = compare_runs(three, every_pair=True)
    pairs = [(pair.first, pair.second) for pair in found.pairs]
    assert pairs == [("toy/before", "toy/after"), ("toy/before", "toy/third"), ("toy/after", "toy/third")]
    assert found.baseline is None


def test_profiles_of_one_run(tmp_path):
    run = build(tmp_path / "run", single("01010"), lenient=single("01110"))
    found = compare_runs([run], profiles=["house", "lenient"])
    (pair,) = found.pairs
    assert (pair.first, pair.second, pair.paired.wins) == ("house@1", "lenient@1", (task(2),))
    assert pair.obstacles == pair.remarks == ()
    assert compare_runs([run], profiles=["house", "lenient"], baseline="lenient").pairs[0].paired.losses
    with pytest.raises(UserError, match=r"two `profiles` of one run.*graded: house@1, lenient@1"):
        compare_runs([run])
    with pytest.raises(UserError, match="two `profiles` of one run"):
        compare_runs([run], profiles=["house", "house@1"])
    with pytest.raises(UserError, match="several runs need one profile"):
        compare_runs([run, run], profiles=["house", "lenient"])


def test_the_one_profile_that_all_runs_have_is_taken(tmp_path):
    both = build(tmp_path / "both", single("01010"), lenient=single("01110"))
    one = build(tmp_path / "one", single("01011"))
    assert [side.profile for side in compare_runs([both, one]).sides] == ["house@1", "house@1"]
    with pytest.raises(UserError, match="all runs were graded under house@1, lenient@1; name one"):
        compare_runs([both, both])


def test_several_samples_are_rates_without_mcnemar(tmp_path):
    a = build(tmp_path / "a", [[True, False, False]] * 6 + [[False] * 3] * 6)
    b = build(tmp_path / "b", [[True, True, False]] * 6 + [[False] * 3] * 6)
    (pair,) = compare_runs([a, b]).pairs
    assert pair.paired.difference == pytest.approx(1 / 6)
    assert pair.paired.mcnemar_p is None
    assert pair.p_value == pair.paired.permutation_p == 2 / 2**6
    assert pair.power.method.startswith("Miller")


def test_tasks_that_share_a_question_are_one_cluster(tmp_path):
    clusters = {number: f"q{number // 2}" for number in range(40)}
    runs = [build(tmp_path / n, p, clusters=clusters) for n, p in (("a", BEFORE), ("b", AFTER))]
    (pair,) = compare_runs(runs).pairs
    assert (pair.paired.tasks, pair.paired.clusters, pair.paired.mcnemar_p) == (40, 20, None)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"dataset": "e" * 64}, r"data set: .*before has toy dddddddddddd…, .*other has toy eeeeeeeeeeee…"),
        ({"profile": Lenient}, r"profile: .*before has house@1, .*other has lenient@1"),
        ({"rule": "lenient@1/default", "prompt": "Add 1."}, r"rule: .*house@1/default \(.*lenient@1/default \("),
        ({"prompt": "Add 1."}, r"rule: .*house@1/default \(\w+… for Toy/00\), .*house@1/default \(\w+… for"),
        ({"selected": range(10)}, r"problems: .*before has all 40, .*other has 10 of 40"),
    ],
)
def test_what_is_not_comparable_is_refused_unless_forced(tmp_path, other, said):
    runs = [build(tmp_path / "before", BEFORE), build(tmp_path / "other", AFTER, **other)]
    with pytest.raises(NotComparable, match=said):
        truegrade.compare(*runs)
    (pair,) = compare_runs(runs, force=True).pairs
    assert len(pair.obstacles) == 1
    assert truegrade.compare(*runs, force=True) == pair.paired


def test_two_rules_that_word_alike_are_comparable(tmp_path):
    runs = [build(tmp_path / "a", BEFORE), build(tmp_path / "b", AFTER, rule="lenient@1/default")]
    assert compare_runs(runs).pairs[0].obstacles == ()


def test_every_reason_is_named_at_once_with_the_way_out(tmp_path):
    runs = [build(tmp_path / "a", BEFORE), build(tmp_path / "b", AFTER, dataset="e" * 64, profile=Lenient)]
    with pytest.raises(NotComparable, match=r"data set: .*; profile: .*`force=True`"):
        compare_runs(runs)


def test_two_selections_are_told_apart(tmp_path):
    runs = [build(tmp_path / n, AFTER, selected=s) for n, s in (("a", [1, 2, 3]), ("b", [2, 3, 4]))]
    with pytest.raises(NotComparable, match=r"3 of 40, 1 of them alone \(Toy/01\), .*\(Toy/04\)"):
        compare_runs(runs)
    assert compare_runs(runs, force=True).pairs[0].paired.tasks == 2


def test_what_differs_without_harm_is_said(tmp_path):
    a = build(tmp_path / "a", BEFORE)
    b = build(tmp_path / "b", [*AFTER[:-1], None], temperature=0.8)
    (pair,) = compare_runs([a, b]).pairs
    assert pair.obstacles == ()
    assert pair.remarks[0] == "temperature: 0.2 against 0.8"
    assert pair.remarks[1] == f"1 problem has a graded reply in a only and is left out: {task(39)}"
    imported = build(tmp_path / "c", AFTER, rule=None)
    assert any("is not known" in sentence for sentence in compare_runs([a, imported]).pairs[0].remarks)


def test_runs_are_named_by_their_models_and_by_folders_where_models_do_not_tell(tmp_path):
    hot = build(tmp_path / "hot", AFTER, model="toy/one", temperature=0.8)
    runs = [build(tmp_path / "cold", BEFORE, model="toy/one"), hot, build(tmp_path / "x", THIRD, model="toy/two")]
    found = compare_runs([*runs, build(tmp_path / "file", AFTER, rule=None, model="imported")])
    assert [side.label for side in found.sides] == ["cold", "hot", "toy/two", "file"]
    console = open_terminal()
    with console.capture() as shown:
        print_comparison(found, console=console)
    assert any(line.split()[:2] == ["cold:", "toy/one"] for line in shown.get().splitlines())
    assert any(sentence.startswith("cold: toy/one on toy") for sentence in sentences(found))
    assert any(sentence.startswith("toy/two on toy") for sentence in sentences(found))


def test_folders_of_one_name_keep_different_labels(tmp_path):
    runs = [build(tmp_path / model / "run", passes) for model, passes in (("x", BEFORE), ("y", AFTER))]
    labels = [side.label for side in compare_runs([*runs, runs[0]]).sides]
    assert len(set(labels)) == 3
    assert str(runs[1].path) in labels


def test_runs_that_share_nothing_or_are_none_are_refused(tmp_path):
    runs = [build(tmp_path / n, AFTER, selected=s) for n, s in (("a", [1]), ("b", [2]))]
    with pytest.raises(NotComparable, match="no graded problem in common"):
        compare_runs(runs, force=True)
    with pytest.raises(BadRecord, match="no such file"):
        compare_runs([tmp_path / "nowhere", runs[0]])
    with pytest.raises(UnknownName):
        compare_runs(runs, profiles=["strict"])


def test_it_is_json(three):
    found = compare_runs(three)
    stored = json.loads(msgspec.json.encode(found, enc_hook=str))
    assert stored["pairs"][0]["paired"]["difference"] == pytest.approx(0.2)
    assert stored["sides"][0]["tasks"][0] == [task(0), 1, 0, task(0), {}]
    assert House().id == stored["sides"][0]["profile"]
