"""Which genome a search submits: decided by its scores on the selection problems alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from truegrade.errors import UserError
from truegrade.evolution.folder import Event
from truegrade.evolution.genomes import Scores
from truegrade.evolution.search_order import Archive, point
from truegrade.evolution.settings import EvolutionSettings


def rule(settings: EvolutionSettings) -> str:
    """The rule, as a sentence."""
    rest = [name for name in settings.objectives.names if name != settings.objectives.choose]
    ties = f", ties by {', then '.join(rest)}, then the earlier one" if rest else ", of ties the earlier one"
    return (
        f"the genome of the archive with the highest {settings.objectives.choose} on the selection problems{ties}"
    )


def choose(settings: EvolutionSettings, events: Sequence[Event], search: str, replicate: int) -> Event:
    """The evaluation that one replicate of one search hands in, by the rule.

    Args:
        settings: name the score.
        events: of the whole evolution.
        search: title of the search.
        replicate: from 0.

    Raises:
        UserError: nothing was evaluated fully.
    """
    own = [event for event in events if (event.search, event.replicate) == (search, replicate)]
    archive = archive_of(settings, own)
    ranked = sorted(
        archive.front,
        key=lambda one: (
            score(one.scores, settings.objectives.choose),
            *point(one.scores.objectives, archive.objectives),
        ),
        reverse=True,  # and stable: of equals the earlier stays first
    )
    if not ranked:
        raise UserError(f"{search} has evaluated no genome fully: raise generations, so that a bracket can end")
    return next(event for event in own if event.evaluated == ranked[0])


def archive_of(settings: EvolutionSettings, events: Iterable[Event]) -> Archive:
    """The archive that evaluations make, in their order."""
    archive = Archive(settings.objectives.names, settings.objectives.reference)
    for event in events:
        archive.add(event.evaluated)
    return archive


def score(scores: Scores, name: str) -> float:
    """A score by name; ``weighted_sum`` is a fact."""
    return scores.objectives[name] if name in scores.objectives else scores.facts[name]
