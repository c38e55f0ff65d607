"""The cache of adapters: keyed by content, verified, safe to share, never silent."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from truegrade.apps.evolve.genomes import AdapterGenes, TrainingGenes
from truegrade.apps.evolve.training.cache import AdapterCache, adapter_key, adapters_folder
from truegrade.errors import UserError

HELPER = Path(__file__).with_name("file_trainer.py")
spec = importlib.util.spec_from_file_location("file_trainer", HELPER)
file_trainer = importlib.util.module_from_spec(spec)
spec.loader.exec_module(file_trainer)
FileTrainer, order, some_lessons = file_trainer.FileTrainer, file_trainer.order, file_trainer.some_lessons


@pytest.fixture
def log(tmp_path):
    return tmp_path / "log"


@pytest.fixture
def said():
    return []


@pytest.fixture
def cache(tmp_path, said):
    return AdapterCache(tmp_path / "adapters", notice=said.append)


def trainings(log):
    return len(log.read_text().splitlines()) if log.exists() else 0


def test_the_second_time_it_is_there(cache, log):
    first = cache.trained(FileTrainer(log), order(), some_lessons())
    again = AdapterCache(cache.folder).trained(FileTrainer(log), order(), some_lessons())
    assert (first.hit, again.hit) == (False, True) and trainings(log) == 1
    assert again.sha256 == first.sha256 and again.trained == first.trained
    assert again.trained.folder == cache.folder / first.key
    assert (again.trained.folder / "adapter_model.safetensors").stat().st_size == 3200
    manifest = json.loads((again.trained.folder / "entry.json").read_text())
    assert manifest["problems"] == ["made/0", "made/1", "made/2"]
    assert manifest["facts"]["order"]["adapter"]["rank"] == 2 and manifest["facts"]["versions"]["truegrade"]


def test_everything_that_decides_an_adapter_is_in_its_key():
    genes, training = order().adapter, order().training
    other = msgspec.structs.replace
    lessons = some_lessons()
    keys = [
        adapter_key(FileTrainer("x", **changes), each, taught)
        for changes, each, taught in [
            ({}, order(), lessons),
            ({"base_sha256": "1" * 64}, order(), lessons),
            ({"versions": {"test": "2"}}, order(), lessons),
            *(({}, order(**change), lessons) for change in (
                {"seed": 1}, {"loss_on": "all"}, {"batch_size": 4}, {"longest": 256},
                {"training": other(training, epochs=2)}, {"training": other(training, learning_rate=2e-3)},
                {"adapter": other(genes, kind="dora")}, {"adapter": other(genes, rank=4)},
                {"adapter": other(genes, alpha=8.0)}, {"adapter": other(genes, dropout=0.1)},
                {"adapter": other(genes, modules=("q_proj", "v_proj"))},
            )),
            ({}, order(), lessons[:2]), ({}, order(), lessons[::-1]),
            ({}, order(), [*lessons[:2], other(lessons[2], reply="3")]),
        ]
    ]  # fmt: skip
    assert len(set(keys)) == len(keys)
    # the fields are all there are: a new one must be considered here
    assert set(order().__struct_fields__) == {
        "base", "adapter", "training", "seed", "loss_on", "batch_size", "longest"
    }  # fmt: skip
    assert len(AdapterGenes.__struct_fields__) == 5 and len(TrainingGenes.__struct_fields__) == 2


def test_a_base_counts_by_its_bytes_not_by_its_place():
    here = adapter_key(FileTrainer("x"), order(), some_lessons())
    there = adapter_key(FileTrainer("x", base="elsewhere/base"), order(base="elsewhere/base"), some_lessons())
    assert here == there


def damages():
    def cut(folder):
        weights = folder / "adapter_model.safetensors"
        weights.write_bytes(weights.read_bytes()[:-1])

    def flip(folder):
        weights = folder / "adapter_model.safetensors"
        content = bytearray(weights.read_bytes())
        content[7] ^= 1
        weights.write_bytes(content)

    def forge(folder):
        manifest = json.loads((folder / "entry.json").read_text())
        (folder / "entry.json").write_text(json.dumps({**manifest, "key": "0" * 64}))

    yield "cut", cut, "not the bytes that were kept"
    yield "flipped", flip, "not the bytes that were kept"
    yield "lost", lambda folder: (folder / "adapter_config.json").unlink(), "adapter_config.json: missing"
    yield "added", lambda folder: (folder / "more.bin").write_bytes(b"x"), "more.bin: not there when"
    yield "torn manifest", lambda folder: (folder / "entry.json").write_text('{"key": "a'), "not the manifest"
    yield "no manifest", lambda folder: (folder / "entry.json").unlink(), "entry.json: cannot be read"
    yield "another's", forge, "it is the entry of"


@pytest.mark.parametrize(
    ("damage", "sentence"), [(d, s) for _, d, s in damages()], ids=[n for n, _, _ in damages()]
)
def test_a_damaged_entry_is_no_hit(cache, log, said, damage, sentence):
    first = cache.trained(FileTrainer(log), order(), some_lessons())
    damage(first.trained.folder)
    again = cache.trained(FileTrainer(log), order(), some_lessons())
    assert not again.hit and trainings(log) == 2 and again.sha256 == first.sha256
    assert len(said) == 1 and sentence in said[0] and "trained again" in said[0]
    assert cache.trained(FileTrainer(log), order(), some_lessons()).hit


def start(cache, log, mode):
    command = [sys.executable, str(HELPER), str(cache.folder), str(log), mode]
    return subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": ":".join(sys.path)})


def test_a_killed_training_is_no_hit_and_leaves_no_lock(cache, log):
    killed = start(cache, log, "die")
    killed.communicate()
    assert killed.returncode == -9 and trainings(log) == 1
    assert not cache.trained(FileTrainer(log), order(), some_lessons()).hit
    assert trainings(log) == 2


def test_of_several_processes_one_trains(cache, log):
    started = [start(cache, log, "live") for _ in range(3)]
    found = [json.loads(process.communicate()[0]) for process in started]
    assert trainings(log) == 1
    assert sorted(each["hit"] for each in found) == [False, True, True]
    assert len({each["sha256"] for each in found}) == 1


def test_room_is_made_from_the_least_recently_used_and_said(cache, log, said):
    trainer = FileTrainer(log)
    kept = [cache.trained(trainer, order(seed=seed), some_lessons()) for seed in range(3)]
    cache.trained(trainer, order(seed=0), some_lessons())  # used again
    sizes = {entry.key: entry.bytes for entry in cache.entries()}
    assert [entry.key for entry in cache.entries()] == [kept[place].key for place in (1, 2, 0)]
    removed = cache.shrink(sizes[kept[2].key] + sizes[kept[0].key])
    assert removed == (kept[1].key,) and len(said) == 1 and "taken out to make room" in said[0]
    assert cache.shrink(10**9) == ()
    assert cache.trained(trainer, order(seed=2), some_lessons()).hit
    assert not cache.trained(trainer, order(seed=1), some_lessons()).hit


def test_another_base_is_refused(cache, log):
    with pytest.raises(UserError, match="the order is for other/base, but test/base is loaded"):
        cache.trained(FileTrainer(log), order(base="other/base"), some_lessons())


def test_where_adapters_are_kept(monkeypatch, tmp_path):
    monkeypatch.delenv("TRUEGRADE_ADAPTERS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert adapters_folder() == tmp_path / "truegrade" / "adapters"
    monkeypatch.setenv("TRUEGRADE_ADAPTERS", str(tmp_path / "here"))
    assert AdapterCache().folder == tmp_path / "here"
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="adapters cannot be kept there"):
        AdapterCache(tmp_path / "file" / "below")
