"""From genome to adapter: trained, merged, never silently absent."""

import numpy as np
import pytest

from truegrade.datasets.learned import read_learned
from truegrade.errors import BadRecord, UserError
from truegrade.evolution.adapters import Workshop
from truegrade.evolution.genomes import AdapterGenes, Fidelity, Genome, TrainingGenes
from truegrade.evolution.settings import Training
from truegrade.evolution.subject import Ask, EmbeddedSubject, open_subject
from truegrade.evolution.training.base import Lesson, learned_from_lessons
from truegrade.evolution.training.cache import AdapterCache
from truegrade.models.adapters import adapter_sha256
from truegrade.models.micro.micro_adapters import merge_adapter
from truegrade.models.micro.safetensors_file import read_tensors
from truegrade.records import Message, Prompt
from truegrade.records.config import Sampling

PROMPT = Prompt(messages=(Message(role="user", content="def f(x):"),), source="test")
LESSONS = [Lesson(problem=str(n), prompt=PROMPT, reply=f"return {n}") for n in range(5)]


def genome(modules, rank=2, kind="lora", epochs=1, merge=(), alpha=4.0):
    return Genome(
        adapter=AdapterGenes(kind=kind, rank=rank, alpha=alpha, dropout=0.0, modules=modules),
        training=TrainingGenes(learning_rate=1e-2, epochs=epochs),
        origin="test",
        merge=merge,
    )


ONE, OTHER = genome(("q_proj", "down_proj"), epochs=4), genome(("q_proj", "v_proj"), rank=3)
SUM = genome(
    ("q_proj", "v_proj", "down_proj"), rank=5, alpha=5.0, epochs=0, merge=((ONE.id, 0.75), (OTHER.id, -0.5))
)


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


def test_a_merge_is_the_weighted_sum_of_updates(workshop, llama_folder):
    base = weights(llama_folder)
    with workshop.adapter(ONE, (), 1) as one, workshop.adapter(OTHER, (), 1) as other:
        parts = [weights(llama_folder, one.folder), weights(llama_folder, other.folder)]
    with workshop.adapter(SUM, (ONE, OTHER), 1) as merged:
        found = weights(llama_folder, merged.folder)
        assert merged.cached and merged.sha256 == adapter_sha256(merged.folder)
        assert merged.trained.tokens == one.trained.tokens + other.trained.tokens
        learned = learned_from_lessons(LESSONS)
        assert len(learned.exact) == 5 and learned.problems == tuple("01234")
        assert read_learned(one.folder) == read_learned(merged.folder) == learned
    assert not merged.folder.exists()
    changed = 0
    for name, tensor in base.items():
        wanted = tensor + 0.75 * (parts[0][name] - tensor) - 0.5 * (parts[1][name] - tensor)
        np.testing.assert_allclose(found[name], wanted, atol=1e-5)
        changed += not np.array_equal(found[name], tensor)
    assert changed == 3 * 3  # three modules in three layers


def test_merges_that_cannot_be(workshop):
    with pytest.raises(UserError, match=f"merges {OTHER.id}, which this search has not evaluated"):
        workshop.adapter(SUM, (ONE,), 1).__enter__()
    dora = genome(("q_proj", "v_proj"), rank=3, kind="dora")
    wrong = genome(("q_proj",), rank=5, alpha=5.0, merge=((ONE.id, 1.0), (dora.id, 1.0)))
    with pytest.raises(UserError, match="is a DoRA adapter"):
        workshop.adapter(wrong, (ONE, dora), 1).__enter__()
    ranks = genome(("q_proj",), rank=4, alpha=4.0, merge=((ONE.id, 1.0), (OTHER.id, 1.0)))
    with pytest.raises(UserError, match="ranks add up to 5"):
        workshop.adapter(ranks, (ONE, OTHER), 1).__enter__()


def test_fidelity_is_a_share_of_the_epochs(workshop):
    with workshop.adapter(ONE, (), 1, Fidelity(epochs=0.5)) as half, workshop.adapter(ONE, (), 1) as whole:
        assert (len(half.trained.losses), len(whole.trained.losses)) == (2, 4)
        assert half.sha256 != whole.sha256


def test_the_bare_model_never_stands_in(workshop, subject):
    ask = Ask(prompt=PROMPT, sampling=Sampling(temperature=0.0, max_tokens=8), sample=0)
    with workshop.adapter(ONE, (), 1) as adapter:
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
