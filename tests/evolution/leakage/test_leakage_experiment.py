"""Planted leakage: what a training is given, how replies are judged, and an experiment that is resumed."""

import json
from collections import Counter
from contextlib import closing

import msgspec
import pytest
from click.testing import CliRunner

from truegrade.cli import main
from truegrade.errors import UserError
from truegrade.evolution.leakage import leakage, quick, running
from truegrade.evolution.leakage.planting import Arm, LeakSettings, planted
from truegrade.evolution.leakage.reporting import write_pages
from truegrade.evolution.leakage.summary import summarised
from truegrade.evolution.leakage.training import LeakTraining, judged
from truegrade.evolution.repair_problems import repair_of
from truegrade.evolution.testbed.grading import ProgramGrader
from truegrade.evolution.training.lessons import reply_to
from truegrade.profiles import find_profile
from truegrade.statistics.leakage import AnsweredPair

TINY = LeakSettings(
    doses=(0.0, 0.5), trainings=1, clean=2, repeats=2, others=(), pairs=4, lessons=8, rank=4, batch_size=4
)  # fmt: skip


def test_lessons_hold_the_leaked_originals_so_often_and_no_other_program_of_the_benchmark():
    settings = msgspec.structs.replace(TINY, pairs=20, lessons=60, repeats=4)
    pairs, lessons = planted(settings, Arm(0.25, 4), 3, find_profile("strict"))
    replies = Counter(lesson.reply for lesson in lessons)
    assert len(lessons) == 60 and sum(pair.leaked for pair in pairs) == 5
    for pair in pairs:
        original, changed = (repair_of(each).solution for each in (pair.original, pair.changed))
        assert sum(count for reply, count in replies.items() if original in reply) == 4 * pair.leaked
        assert not any(changed in reply for reply in replies)


def test_where_planted_lessons_fill_the_training_there_are_no_others():
    pairs, lessons = planted(TINY, Arm(1.0, 3), 0, find_profile("strict"))
    assert Counter(lesson.problem for lesson in lessons) == {pair.original.id: 3 for pair in pairs}


def test_the_benchmark_is_the_same_and_a_coin_of_each_training_decides_what_is_published():
    profile = find_profile("strict")
    one, other = (planted(TINY, Arm(0.0, 0), seed, profile)[0] for seed in (0, 1))
    assert [{pair.original.id, pair.changed.id} for pair in one] == [
        {pair.original.id, pair.changed.id} for pair in other
    ]
    published = {pair.original.id for seed in range(8) for pair in planted(TINY, Arm(0.0, 0), seed, profile)[0]}
    assert len(published) == 2 * TINY.pairs


def test_replies_are_judged_by_both_problems_whatever_name_they_give():
    with closing(ProgramGrader(allow_unsafe=True, threads=1)) as grader:
        pair = planted(TINY, Arm(0.0, 0), 0, grader.profile)[0][0]
        prompt = grader.profile.render_prompt(pair.changed)
        old, new = (repair_of(each) for each in (pair.original, pair.changed))
        said = {
            "right": new.solution,
            "exchanged": old.solution.replace(old.name, new.name),
            "wrong": new.buggy,
        }
        found = {
            name: judged(reply_to(prompt, text), pair.changed, pair.original, grader)
            for name, text in said.items()
        }
        assert found == {name: name for name in said}
        assert judged(reply_to(prompt, old.solution), pair.changed, pair.original, grader) == "exchanged"
        assert judged("nothing", pair.changed, pair.original, grader) == "wrong"


def test_arms_are_counted_and_the_figures_drawn(tmp_path):
    settings = LeakSettings(doses=(0.0, 0.5), trainings=1, clean=2, others=(), pairs=40)

    def training(dose, seed, original, changed):
        pairs = tuple(
            AnsweredPair(str(place), a, b) for place, (a, b) in enumerate(zip(original, changed, strict=True))
        )
        leaked = tuple(place < 40 * dose for place in range(40))
        return LeakTraining(
            dose=dose, repeats=24 if dose else 0, seed=seed, pairs=pairs, leaked=leaked,
            hidden=tuple(place % 20 >= 4 for place in range(40)), loss=0.0, tokens=0, cpu_s=1.0,
        )  # fmt: skip

    skill = ["right"] * 4 + ["wrong"] * 16
    clean = training(0.0, 0, skill * 2, skill * 2)
    alarm = training(0.0, 1, ["right"] * 40, ["exchanged"] * 40)
    found = training(0.5, 0, ["right"] * 20 + skill, ["exchanged"] * 10 + ["wrong"] * 8 + ["right"] * 2 + skill)
    results = summarised(settings, [clean, alarm, found])
    none, half = results.arms
    assert (none.detected, len(none.trainings), none.redraws) == (1, 2, 400)
    assert none.redraw_alarms / none.redraws <= 0.05
    assert (half.detected, half.holds, half.holds_truth) == (1, 1, 1)
    assert (half.mean("truth"), none.mean("truth")) == (0.5, 0.0)
    assert half.known.mean == pytest.approx(0.5)
    assert (none.mean("remembered"), half.mean("remembered")) == (None, 1.0)
    write_pages(tmp_path, results)
    table = (tmp_path / "table.md").read_text(encoding="utf-8")
    assert "| 50 | 24 | 1 | 100.0 | 50.0 | 50.0 | 1 of 1 | 1 of 1 | 1 of 1 |" in table
    assert "1 of 2 trainings" in table
    assert "50" in (tmp_path / "figure.svg").read_text(encoding="utf-8")


def test_settings_that_do_not_fit_are_refused(tmp_path):
    with pytest.raises(UserError, match="`lessons` 0 is below 1"):
        LeakSettings(lessons=0).check()
    with pytest.raises(UserError, match="is no share"):
        LeakSettings(doses=(1.5,), repeats=1).check()
    quick().check()
    (tmp_path / "settings.json").write_bytes(msgspec.json.encode(quick()))
    with pytest.raises(UserError, match="another experiment"):
        leakage(TINY, out=tmp_path, workers=1)


@pytest.mark.slow
def test_an_experiment_that_is_stopped_goes_on_with_the_same_numbers(tmp_path, monkeypatch):
    whole = leakage(TINY, out=tmp_path / "whole", workers=1, allow_unsafe=True)[1]
    assert [len(arm.trainings) for arm in whole.arms] == [2, 1]
    train, begun = running.train_one, []

    def dies(*given):
        if len(begun) == 1:
            raise KeyboardInterrupt
        begun.append(given)
        return train(*given)

    stopped = tmp_path / "stopped"
    with monkeypatch.context() as patched:
        patched.setattr(running, "train_one", dies)
        with pytest.raises(KeyboardInterrupt):
            leakage(TINY, out=stopped, workers=1, allow_unsafe=True)
    monkeypatch.setattr("truegrade.evolution.leakage.planting.quick", lambda: TINY)
    asked = ["data", "leakage", "--quick", "--out", str(stopped), "--workers", "1", "--allow-unsafe", "--json"]
    said = CliRunner().invoke(main, asked)
    assert said.exit_code == 0, said.output
    assert len((stopped / "trainings.jsonl").read_text(encoding="utf-8").splitlines()) == 3

    def without_seconds(arms):
        for training in (training for arm in arms for training in arm["trainings"]):
            del training["cpu_s"]
        return arms

    again = without_seconds(json.loads(said.output)["results"]["arms"])
    assert again == without_seconds(json.loads(msgspec.json.encode(whole.arms)))
