"""Repair problems of a tiny world, lessons from them, and an order to train by."""

import pytest

from truegrade.apps.evolve.genomes import AdapterGenes, TrainingGenes
from truegrade.apps.evolve.roles import MicroSizes, micro_roles
from truegrade.apps.evolve.training.lessons import TrainingOrder, lessons_of
from truegrade.profiles.strict import Strict


@pytest.fixture(scope="session")
def lessons():
    """Twelve lessons of micro-repair, worded as `strict` words them."""
    roles = micro_roles(0, MicroSizes(train=12, selection=2, final=2, forgetting=2))
    return lessons_of(roles.train, Strict())


@pytest.fixture
def make_order():
    """Make an order; keywords change genes, the training or the order itself."""

    def make(base, **changes):
        genes = {"kind": "lora", "rank": 4, "alpha": 8.0, "dropout": 0.0, "modules": ("q_proj", "v_proj")}
        training = {"learning_rate": 3e-3, "epochs": 2}
        rest = {"seed": 1}
        for name, value in changes.items():
            next((part for part in (genes, training) if name in part), rest)[name] = value
        return TrainingOrder(base=base, adapter=AdapterGenes(**genes), training=TrainingGenes(**training), **rest)

    return make
