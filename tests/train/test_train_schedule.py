"""What a continuation changes: the mixture, and another rise and fall of the rates."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

AGAIN = {"shards": 10, "repair": 0.1, "prediction": 0.9, "peak": 0.5, "rise": 0.1, "decay": 0.8}
LAST = {"shards": 4, "repair": 0.3, "prediction": 0.6, "peak": 0.2, "rise": 0.25, "decay": 0.5}


@pytest.fixture
def read(monkeypatch, tmp_path):
    """Settings from some of their fields."""
    monkeypatch.syspath_prepend(str(ROOT))
    from train.settings import read_settings

    def settings(**fields):
        path = tmp_path / "settings.json"
        path.write_text(json.dumps(fields))
        return read_settings(path)

    return settings


@pytest.fixture
def rate(read):
    pytest.importorskip("torch", reason="training needs the extra [train]: torch, safetensors, tokenizers")
    from train.optimise import rate

    return rate


def test_a_continuation_adds_shards_with_a_mixture_of_their_own(read):
    alone, continued = read(shards=20), read(shards=20, continuations=[AGAIN])
    assert (alone.all_shards, continued.all_shards) == (20, 30)
    assert {alone.mixture(number) for number in range(30)} == {(0.45, 0.5)}
    assert {continued.mixture(number) for number in range(20)} == {(0.45, 0.5)}
    assert {continued.mixture(number) for number in range(20, 30)} == {(0.1, 0.9)}
    twice = read(shards=20, continuations=[AGAIN, LAST])
    assert twice.all_shards == 34
    assert {twice.mixture(number) for number in range(20, 30)} == {(0.1, 0.9)}
    assert {twice.mixture(number) for number in range(30, 34)} == {(0.3, 0.6)}


def test_a_shard_is_drawn_with_its_mixture(read):
    from train.examples import shard

    only_repair = {"repair": 1.0, "prediction": 0.0}
    continuation = AGAIN | {"repair": 0.0, "prediction": 0.0}
    settings = read(shards=2, shard_examples=5, **only_repair, continuations=[continuation])
    tasks = [{each.task for each in shard(number, settings, frozenset())} for number in (0, 1, 2)]
    assert tasks == [{"repair"}, {"repair"}, {"completion"}]


@pytest.mark.parametrize(("share", "wanted"), [(0.0, {3, 4}), (1.0, {3})])
def test_the_share_of_shallow_programs_is_that_of_the_settings(share, wanted, read, monkeypatch):
    from train import examples

    depths = []
    monkeypatch.setattr(examples, "prediction", lambda rng, held_out, depth: depths.append(depth))
    only_prediction = {"repair": 0.0, "prediction": 1.0, "shard_examples": 200, "shallow_shards": 1}
    settings = read(**only_prediction, shallow=share)
    list(examples.shard(0, settings, frozenset()))
    assert set(depths) <= wanted
    assert max(depths) == max(wanted)
    list(examples.shard(1, settings, frozenset()))
    assert 0 < depths[200:].count(3) < 30


def test_the_rates_rise_stay_and_fall(rate, read):
    settings = read(shards=20, warmup_steps=100, decay=0.5)
    assert rate(0, 0.0, settings) == pytest.approx(0.01)
    assert rate(49, 1.0, settings) == pytest.approx(0.5)
    assert rate(5000, 10.0, settings) == 1
    assert rate(5000, 15.0, settings) == pytest.approx(0.5)
    assert rate(5000, 19.99, settings) == pytest.approx(0.05)


def test_a_continuation_leaves_the_first_run_alone_and_rises_and_falls_again(rate, read):
    alone, settings = read(shards=20, decay=0.5), read(shards=20, decay=0.5, continuations=[AGAIN])
    before = [(step, shards / 4) for step, shards in enumerate(range(80))]
    assert [rate(*each, settings) for each in before] == [rate(*each, alone) for each in before]
    assert rate(5000, 20.0, settings) == pytest.approx(0.5 * 0.05)
    assert rate(5000, 20.5, settings) == pytest.approx(0.5 * 0.5)
    assert rate(5000, 21.0, settings) == pytest.approx(0.5)
    assert rate(5000, 22.0, settings) == pytest.approx(0.5)
    assert rate(5000, 26.0, settings) == pytest.approx(0.25)
    assert rate(5000, 29.99, settings) == pytest.approx(0.5 * 0.05)


def test_a_second_continuation_begins_where_the_first_ended(rate, read):
    once = read(shards=20, decay=0.5, continuations=[AGAIN])
    twice = read(shards=20, decay=0.5, continuations=[AGAIN, LAST])
    for shards in (3.0, 15.5, 20.0, 25.0, 29.99):
        assert rate(5000, shards, twice) == rate(5000, shards, once)
    assert rate(5000, 30.5, twice) == pytest.approx(0.2 * 0.5)
    assert rate(5000, 31.5, twice) == pytest.approx(0.2)
    assert rate(5000, 33.0, twice) == pytest.approx(0.2 * 0.5)


@pytest.mark.slow
def test_a_finished_run_goes_on_with_a_continuation(rate, read, tmp_path):
    """A tiny run, continued as the one that ships was: by a continuation in its settings."""
    import torch

    tiny = {"hidden_size": 16, "intermediate_size": 16, "layers": 1, "heads": 1, "shards": 1, "shard_examples": 12}
    again = AGAIN | {"shards": 2}
    for fields in (tiny, tiny | {"continuations": [again]}):
        settings = read(**fields)
        started = [sys.executable, "-m", "train.train", "--settings", str(tmp_path / "settings.json")]
        subprocess.run([*started, "--folder", str(tmp_path)], cwd=ROOT, check=True, timeout=600)
    log = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [entry["shard"] for entry in log] == [0, 1, 2]
    stored = torch.load(tmp_path / "checkpoint.pt", weights_only=True)
    last = log[-1]["step"] - log[-2]["step"]
    share = rate(log[-1]["step"] - 1, 2 + (last - 1) / last, settings)
    assert stored["optimisers"][0]["param_groups"][0]["lr"] == pytest.approx(share * settings.matrix_rate)
    assert share <= 0.5


def test_the_log_that_ships_is_of_the_settings_that_ship(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from train.settings import read_settings

    settings = read_settings(ROOT / "train" / "settings.json")
    log = [json.loads(line) for line in (ROOT / "train" / "log.jsonl").read_text().splitlines()]
    assert [entry["shard"] for entry in log] == list(range(settings.all_shards))
    last = json.loads((ROOT / "train" / "accuracy.jsonl").read_text().splitlines()[-1])
    assert last.pop("shards") == settings.all_shards
    assert last.items() <= json.loads((ROOT / "train" / "scores.json").read_text()).items()
