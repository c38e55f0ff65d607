"""Training examples: what the model is asked in the product's own prompts, and what it ought to reply."""

from __future__ import annotations

import random
from collections.abc import Iterator

import msgspec

from train.settings import Settings
from truegrade import prompts
from truegrade.builders.dsl_list import degenerate
from truegrade.builders.list_language import (
    GRAMMARS,
    PARAMETER,
    Term,
    TermSampler,
    Type,
    default_weights,
    expression,
    source,
)
from truegrade.builders.repair_items import draw_item, trace
from truegrade.builders.repair_programs import SEEN, draw_program
from truegrade.datasets.identity import identity

HASH_CHARS = 16
"""Of an identity, in a list of held-out programs."""

_LONGEST_LINES = 40
"""Lines of the longest trace that is taught."""


class Example(msgspec.Struct, frozen=True):
    """One exchange."""

    asked: str
    reply: str
    task: str
    identity: str
    """Hash of the program, or of the pair of programs, that it shows."""


def shard(number: int, settings: Settings, held_out: frozenset[str]) -> Iterator[Example]:
    """The examples of one part of the data, the same for the same arguments.

    Args:
        number: of the part, from 0; it decides how deep programs are and what is asked.
        settings: seed, sizes and mixture.
        held_out: beginnings of the identities of programs that no prediction may show.
    """
    rng = random.Random(f"truegrade-micro {settings.seed} {number}")
    repairs, predictions = settings.mixture(number)
    shallow = settings.shallow if number < settings.shallow_shards else 0.05
    for _ in range(settings.shard_examples):
        drawn = rng.random()
        if drawn < repairs:
            yield repair(rng)
        elif drawn < repairs + predictions:
            yield prediction(rng, held_out, 3 if rng.random() < shallow else 4)
        else:
            yield completion(rng)


def repair(rng: random.Random) -> Example:
    """A function to repair, in QuixBugs' words."""
    while not (item := draw_item(rng, SEEN)).for_training:
        pass
    asked = prompts.render("quixbugs.repair", name=item.program.name, buggy=item.buggy)
    return Example(asked, fenced(item.program.source), "repair", item.identity)


def completion(rng: random.Random) -> Example:
    """A function to write, given its signature and what it does."""
    while not (program := draw_program(rng)).seen:
        pass
    signature, _, body = program.source.partition("\n")
    documented = f'{signature}\n    """{program.words}"""\n'
    asked = prompts.render("strict.function.user", prompt=documented)
    return Example(asked, fenced(documented + body), "completion", program.identity)


def prediction(rng: random.Random, held_out: frozenset[str], depth: int) -> Example:
    """A program and a call, and how it runs."""
    while True:
        term = _SAMPLER.draw(Type.LIST, depth, rng)
        if degenerate(expression(term)) is not None:
            continue
        found = _run(term, rng, held_out)
        if found is not None:
            return found


def _run(term: Term, rng: random.Random, held_out: frozenset[str]) -> Example | None:
    name = f"dsl_prog_{rng.randrange(1000)}"
    code = source(term, name)
    argument = [rng.randint(0, 5) for _ in range(rng.randint(3, 5))]
    try:
        result, lines = trace(term, argument)
    except (IndexError, ZeroDivisionError):
        return None
    same = identity(code)
    if len(lines) > _LONGEST_LINES or same[:HASH_CHARS] in held_out:
        return None
    given = f"{PARAMETER}={argument!r}"
    asked = prompts.render("exec.prediction.zero_shot", program=code, fn=name, args=given)
    answer = f"[ANSWER]\nassert {name}({given}) == {result!r}\n[/ANSWER]"
    return Example(asked, "\n".join([*lines, answer]), "prediction", same)


def fenced(code: str) -> str:
    """Code in a block."""
    return f"```python\n{code}\n```"


_GRAMMAR = GRAMMARS["published"]
_SAMPLER = TermSampler(_GRAMMAR, default_weights(_GRAMMAR))
