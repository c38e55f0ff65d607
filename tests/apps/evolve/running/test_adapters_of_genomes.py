"""From genome to adapter: trained, never silently absent."""

import msgspec
import numpy as np
import pytest

from truegrade.apps.evolve.evaluation import Workshop
from truegrade.apps.evolve.genomes import AdapterGenes, Fidelity, Genome, TrainingGenes
from truegrade.apps.evolve.settings import Training
from truegrade.apps.evolve.subject import Ask, EmbeddedSubject, open_subject
from truegrade.apps.evolve.training.cache import AdapterCache
from truegrade.apps.evolve.training.lessons import Lesson, learned_from_lessons
from truegrade.datasets.learned import read_learned
from truegrade.errors import BadRecord, UserError
from truegrade.models.local import adapter_sha256
from truegrade.models.micro.micro_adapters import merge_adapter, read_tensors
from truegrade.records import Message, Prompt
from truegrade.records.config import Sampling

PROMPT = Prompt(messages=(Message(role="user", content="def f(x):"),), source="test")
LESSONS = [Lesson(problem=str(n), prompt=PROMPT, reply=f"return {n}") for n in range(5)]


def genome(modules, epochs=1):
    return Genome(
        adapter=AdapterGenes(kind="lora", rank=2, alpha=4.0, dropout=0.0, modules=modules),
        training=TrainingGenes(learning_rate=1e-2, epochs=epochs),
        origin="test",
    )


ONE = genome(("q_proj", "down_proj"), epochs=4)


@pytest.fixture
def subject(llama_folder):
    return EmbeddedSubject(f"embedded/{llama_folder}")


@pytest.fixture
def workshop(subject, tmp_path):
    return Workshop(subject.trainer, LESSONS, Training(), AdapterCache(tmp_path / "cache"))


def weights(llama_folder, folder=None):
    path = llama_folder / "model.safetensors"
    tensors = read_tensors(path)
    return tensors if folder is None else merge_adapter(folder, tensors, path)


def test_adapters_carry_what_they_learned_from(workshop, llama_folder):
    one = workshop.adapter(ONE, 1)
    learned = learned_from_lessons(LESSONS)
    assert len(learned.exact) == 5 and learned.problems == tuple("01234")
    assert read_learned(one.folder) == learned and one.sha256 == adapter_sha256(one.folder)
    base, found = weights(llama_folder), weights(llama_folder, one.folder)
    changed = [name for name, tensor in base.items() if not np.array_equal(found[name], tensor)]
    assert len(changed) == 2 * 3  # two modules in three layers


@pytest.mark.parametrize("removed", [{"merge": (("a" * 16, 0.5), ("b" * 16, 0.5))}, {"policy": {"rounds": 8}}])
def test_genomes_of_older_versions_are_not_made_again(workshop, removed):
    with pytest.raises(UserError, match="adapters only learn by imitation"):
        workshop.adapter(msgspec.structs.replace(ONE, **removed), 1)


def test_fidelity_is_a_share_of_the_epochs(workshop):
    half, whole = workshop.adapter(ONE, 1, Fidelity(epochs=0.5)), workshop.adapter(ONE, 1)
    assert (len(half.trained.losses), len(whole.trained.losses)) == (2, 4)
    assert half.sha256 != whole.sha256


def test_the_bare_model_never_stands_in(workshop, subject):
    ask = Ask(prompt=PROMPT, sampling=Sampling(temperature=0.0, max_tokens=8), sample=0)
    adapter = workshop.adapter(ONE, 1)
    bare, adapted = subject.answer(None, [ask]), subject.answer(adapter.folder, [ask])
    assert bare != adapted
    file = adapter.folder / "adapter_model.safetensors"
    whole = file.read_bytes()
    file.write_bytes(whole[:-3])
    with pytest.raises(BadRecord, match="adapter_model"):
        subject.answer(adapter.folder, [ask])
    file.unlink()
    with pytest.raises(UserError, match=r"no adapter_model\.safetensors there"):
        subject.answer(adapter.folder, [ask])


def test_only_models_in_this_process_are_evolved():
    with pytest.raises(UserError, match="need a model in this process"):
        open_subject("openai/gpt", {})
    with pytest.raises(UserError, match="takes no model_args"):
        open_subject("embedded/truegrade-micro", {"device": "cpu"})
