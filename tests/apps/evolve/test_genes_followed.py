"""The genes of sampling reach the model that is asked, under the names of the parameters they set."""

from types import SimpleNamespace

from truegrade.apps.evolve.evaluation import Examination
from truegrade.apps.evolve.genomes import SamplingGenes
from truegrade.records.config import Sampling


class Asked:
    """A subject that keeps what it was asked, and has no answer."""

    def __init__(self):
        self.samplings = []

    def answer(self, adapter, asks):
        self.samplings += [ask.sampling for ask in asks]
        raise LookupError


def sampled(genes):
    subject = Asked()
    profile = SimpleNamespace(render_prompt=lambda problem, variant: "prompt")
    try:
        Examination(subject, profile, None, 2, None).take([None], None, genes, 7)
    except LookupError:
        return subject.samplings


def test_every_gene_is_followed():
    genes = SamplingGenes(temperature=0.4, top_p=0.9, top_k=30, repetition_penalty=1.2, max_tokens=99)
    asked = {"temperature": 0.4, "top_p": 0.9, "top_k": 30, "repetition_penalty": 1.2, "max_tokens": 99}
    assert sampled(genes) == [Sampling(seed=7, **asked), Sampling(seed=8, **asked)]


def test_no_top_k_is_no_top_k():
    (first, _) = sampled(SamplingGenes())
    assert first == Sampling(temperature=0.0, top_p=1.0, repetition_penalty=1.0, max_tokens=256, seed=7)
