"""A searcher of one's own that screens: a generation is evaluated at a low cost, then its better half fully."""

from truegrade.apps.evolve.genomes import Fidelity
from truegrade.apps.evolve.search_order import FULL, select
from truegrade.apps.evolve.strategies import Strategy, draw


class Screening(Strategy):
    def __init__(self, task, args):
        super().__init__("screening", task)

    def ask(self, generation, size):
        if generation % 2 == 0:
            return self.fresh(generation, size, lambda _, rng: draw(self.task.space, rng))
        before = [one for one in self.told if one.generation == generation - 1]
        return [one.genome for one in select(before, self.task.objectives, min(size, max(1, len(before) // 2)))]

    def fidelity(self, generation):
        return Fidelity(epochs=0.5, problems=0.5) if generation % 2 == 0 else FULL
