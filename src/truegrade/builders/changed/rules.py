"""The table of rules, in the order in which they are preferred: words before sentences."""

from __future__ import annotations

from collections.abc import Sequence

from truegrade.builders.changed.material import ChangeRule
from truegrade.builders.changed.sentence_rules import COMPLEMENT, EXCHANGED, GIVEN, RETURNED, TRUTH
from truegrade.builders.changed.word_rules import NUMBER, WORD_RULES
from truegrade.errors import UnknownName

RULES: tuple[ChangeRule, ...] = (*WORD_RULES, NUMBER, EXCHANGED, TRUTH, *GIVEN, *RETURNED, COMPLEMENT)
"""Every rule; those of the family ``words`` come first."""


def rules_named(names: Sequence[str] | None) -> tuple[ChangeRule, ...]:
    """The rules of these names; all without any.

    Raises:
        UnknownName: there is no such rule.
    """
    known = {rule.name: rule for rule in RULES}
    for name in names or ():
        if name not in known:
            raise UnknownName("change rule", name, known)
    return tuple(known[name] for name in names) if names else RULES
