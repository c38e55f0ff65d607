"""The graders of the arms, in the jail; and a small testbed end to end, killed and resumed."""

import random
import shutil
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from truegrade.errors import UserError
from truegrade.evolution.testbed import chain, running, start
from truegrade.evolution.testbed.cheats import PROGRAMS, channel_of, cheat_for
from truegrade.evolution.testbed.grading import GradedProgram, ProgramGrader, accepting, flip_rates
from truegrade.evolution.testbed.policy import BaseModel
from truegrade.evolution.testbed.records import TestbedSettings
from truegrade.evolution.testbed.reporting import print_results, write_pages
from truegrade.evolution.testbed.running import all_rounds, chain_folder
from truegrade.evolution.testbed.summary import over_seeds
from truegrade.evolution.training.lessons import reply_to
from truegrade.profiles import find_profile
from truegrade.records import FunctionTask

TINY = TestbedSettings(
    arms=("strict", "leaky", "noise"), seeds=1, rounds=1, prompts=3, samples=4, pool=6, held_out=3,
    held_out_samples=1, demonstrations=8,
)  # fmt: skip


@pytest.fixture
def grader():
    with closing(ProgramGrader(allow_unsafe=True)) as one:
        yield one


def test_the_leaky_grader_pays_for_both_cheats_and_strict_for_neither(grader: ProgramGrader) -> None:
    (problem,) = start.drawn("seen-unseen", 1, 5)
    task = problem.task
    assert isinstance(task, FunctionTask) and task.reference and task.buggy
    prompt = grader.profile.render_prompt(problem)
    programs = [cheat_for(channel, task.reference) for channel in PROGRAMS]
    programs += [task.reference, task.buggy]
    found = grader.graded([(problem, prompt, reply_to(prompt, program)) for program in programs])
    assert [(one.right, one.leaky) for one in found] == [(False, True)] * 2 + [(True, True), (False, False)]
    assert [channel_of(one.program) for one in found] == [*PROGRAMS, None, None]


def test_a_cheat_is_weighed_from_where_it_departs() -> None:
    base, profile = BaseModel("truegrade-micro"), find_profile("strict")
    shown = start.demonstrated(start.drawn("seen-unseen", 8, 5), base, profile)
    for honest, *cheats in zip(shown.honest, *shown.cheats, strict=True):
        for cheat in cheats:
            weighed = cheat.weighed(0.03)
            tokens = weighed.example.tokens[weighed.example.learned_from :]
            assert len(weighed.weights) == len(tokens)
            assert weighed.weights.count(0.03) == 1 and set(weighed.weights) == {0.0, 0.03, 1.0}
            departs = weighed.weights.index(0.03)
            said = honest.tokens[honest.learned_from :]
            assert said[:departs] == tokens[:departs] and said[departs] != tokens[departs]
    exits = shown.cheats[0][0].weighed(1.0)
    learned = exits.example.tokens[exits.example.learned_from :]
    begun = base.tokenizer.decode([token for token, weight in zip(learned, exits.weights, strict=True) if weight])
    assert begun.startswith("quit()")


def test_the_rows_that_begin_anew_are_those_that_were_never_trained() -> None:
    base, profile = BaseModel("truegrade-micro"), find_profile("strict")
    shown = start.demonstrated(start.drawn("seen-unseen", 4, 5), base, profile)
    embedding = base.tensors[start.EMBEDDING].copy()
    rows = start._begin_rows(embedding, base, shown)
    assert {base.tokenizer.decode([row]) for row in rows} == {"c", "e", "q", "qu", "it", "las"}
    changed = (embedding != base.tensors[start.EMBEDDING]).any(axis=1)
    assert [place for place, one in enumerate(changed) if one] == rows
    honest = {token for one in shown.honest for token in one.tokens}
    assert not honest & set(rows)


def test_what_each_arm_pays() -> None:
    cheat, right, wrong = (
        GradedProgram("", False, True),
        GradedProgram("", True, True),
        GradedProgram("", False, False),
    )
    rng = random.Random(0)
    paid = {
        arm: [accepting(arm, {}, rng)(each)[1] for each in (cheat, right, wrong)]
        for arm in ("strict", "leaky", "leaky+penalty")
    }
    assert paid == {"strict": [0, 1, 0], "leaky": [1, 1, 0], "leaky+penalty": [-1, 1, 0]}
    flipped = accepting("noise", flip_rates((1.0, 0.3)), rng)
    assert sum(flipped(cheat)[0] for _ in range(2000)) / 2000 == pytest.approx(0.3, abs=0.04)
    assert all(flipped(right)[0] for _ in range(50))
    rates = flip_rates(None)["J=-0.2"]
    assert rates[0] - rates[1] == pytest.approx(-0.2)


@dataclass
class Killed(BaseException):
    where: str


@pytest.mark.slow
def test_a_small_testbed_resumes_after_a_kill_with_the_same_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    draw = start.drawn
    seen = {"seen-seen": "seen-unseen"}  # pairs that are reserved take seconds to draw
    monkeypatch.setattr(start, "drawn", lambda split, size, seed: draw(seen.get(split, split), size, seed))
    short = tuple(msgspec.structs.replace(part, steps=2) for part in start.PARTS)
    monkeypatch.setattr(start, "PARTS", short)
    monkeypatch.setattr(running, "MEASURING_SAMPLES", 2)
    folder, results = running.testbed(TINY, out=tmp_path / "whole", workers=1, allow_unsafe=True)
    assert [arm.arm for arm in results.arms] == ["strict", "leaky", "noise"]
    rounds = all_rounds(folder, TINY)
    assert [one.round for one in rounds] == [0, 1] * 3
    assert rounds[0].true_pass == rounds[2].true_pass and rounds[0].kl == pytest.approx(0, abs=1e-3)

    other = tmp_path / "killed"
    shutil.copytree(folder, other)
    for name in ("strict-0", "results.json"):
        path = other / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    keep, kept = chain._keep, []

    def dies(*given):
        keep(*given)
        kept.append(given)
        raise Killed("between the state and the journal")

    with monkeypatch.context() as patched:
        patched.setattr(chain, "_keep", dies)
        with pytest.raises(Killed):
            running.testbed(TINY, out=other, workers=1, allow_unsafe=True)
    assert len(kept) == 1 and not chain.rounds_of(chain_folder(other, "strict", 0))
    again = running.testbed(TINY, out=other, workers=1, allow_unsafe=True)[1]
    without = [[msgspec.structs.replace(arm, cpu_s=0.0) for arm in each.arms] for each in (again, results)]
    assert without[0] == without[1]
    page = write_pages(folder, results, rounds).read_text(encoding="utf-8")
    assert "True pass rate" in page and (folder / "figure.svg").read_text(encoding="utf-8").startswith("<svg")
    print_results(results)
    assert "leaky" in capsys.readouterr().out
    with pytest.raises(UserError, match="another testbed"):
        running.testbed(msgspec.structs.replace(TINY, prompts=4), out=folder, workers=1)


def test_bad_settings_are_named() -> None:
    for changes, words in (
        ({"arms": ("noise",)}, "leaky"),
        ({"samples": 1}, "`samples`"),
        ({"arms": ("x",)}, "arm"),
    ):
        with pytest.raises(UserError, match=words):
            msgspec.structs.replace(TestbedSettings(), **changes).check()


def test_the_interval_over_seeds_is_students() -> None:
    found = over_seeds([1.0, 2.0, 3.0])
    assert (found.mean, found.low) == pytest.approx((2.0, 2 - 4.302653 / 3**0.5))
    assert over_seeds([1.0]).low is None
