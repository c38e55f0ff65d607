"""Expert iteration of the included model: the same bytes however often it is killed; what its adapter learned."""

import os
import signal
import time

import pytest

from truegrade.apps.evolve.folder import Final
from truegrade.apps.evolve.reporting.search_material import gather
from truegrade.apps.evolve.reporting.verdict import contenders, verdict
from truegrade.datasets.learned import FILE, LearnedFrom
from truegrade.files.json_text import read_json

pytestmark = pytest.mark.slow

CONFIG = """
name = "expert"
model = "embedded/truegrade-micro-early"
population = 2
generations = 9
seed = 2
tokens = 3000

[objectives]
names = ["solved"]
reference = { solved = -0.1 }
choose = "solved"

[search]
searcher = "expert-iteration"
args = { rounds = 2, samples = 1, rank = 2, alpha = 8.0, epochs = 1 }

[[baselines]]
searcher = "random"

[[baselines]]
searcher = "recipe"
name = "references"
args = { references = true, rank = 2, alpha = 8.0, epochs = 1 }

[space]
kinds = ["lora"]
ranks = [2, 4]
epochs = [1, 1]
max_tokens = [120, 120]

[base_sampling]
max_tokens = 120

[roles]
train = 6
pool = 4
replay = 3
selection = 3
final = 4
forgetting = 2
"""
KILLS = 4


@pytest.fixture(scope="module")
def expert(tiny):
    """Finished, and how many seconds it took here."""
    made = tiny()
    made.config.write_text(CONFIG)
    began = time.monotonic()
    done = made.run()
    assert done.exit_code == 0, done.output
    return made, time.monotonic() - began


@pytest.mark.thorough
def test_killed_again_and_again_it_ends_with_the_same_bytes(expert, tiny):
    whole, took_s = expert
    made = tiny()
    made.config.write_text(CONFIG)
    for number in range(KILLS):
        began = time.monotonic()
        process = made.start("--workers", 1)
        if not number:
            while not (made.folder / "evolution.json").exists():
                assert process.poll() is None, process.communicate()
                time.sleep(0.01)
            start_s = time.monotonic() - began  # of the interpreter, and of what is read before
        time.sleep(max(0.0, began + start_s + took_s * 0.15 * number - time.monotonic()))
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    resumed = made.run()
    assert resumed.exit_code == 0, resumed.output
    assert made.logs() == whole.logs()
    for name in ("adapter_model.safetensors", FILE):
        assert (made.folder / "best" / name).read_bytes() == (whole.folder / "best" / name).read_bytes()


def test_its_adapter_says_what_it_learned_from(expert):
    learned = read_json(expert[0].folder / "best" / FILE, LearnedFrom)
    roles = {name.split("/")[1] for name in learned.problems}
    assert "train" in roles <= {"train", "pool", "replay"}


def test_others_select_by_the_pool_and_stop_at_the_bound_of_tokens(expert):
    events = gather(expert[0].folder).events
    scored = {event.search: len(event.evaluated.scores.problems) for event in events}
    assert scored == {"expert-iteration": 3, "random": 7, "references": 3}
    spent = [event.evaluated.scores.facts for event in events if event.search == "random"]
    tokens = [sum(one[f"tokens_{how}"] for how in ("learned", "sampled", "generated")) for one in spent]
    assert sum(tokens) >= 3000 > sum(tokens[:-2]) and len(tokens) % 2 == 0


def test_costs_and_the_upper_mark_are_told(expert):
    material = gather(expert[0].folder)
    found = {one.search: one for one in contenders(material)}
    assert found["references"].upper_mark and not found["random"].upper_mark
    assert found["expert-iteration"].cost.seen == 6 + 4 + 3 + 3 and found["random"].cost.seen == 6 + 3 + 4
    said = " ".join(verdict(material).sentences)
    assert "The best baseline, random, reaches" in said and "An upper mark, references, which" in said
    assert isinstance(material.final, Final) and [one.baseline for one in material.final.contests] == [
        "random",
        "references",
    ]
