"""Changed problems: another specification, whose tests refuse the original's answer."""

from truegrade.builders.changed.build import ChangedProblem, Jails, NotChanged, change_problems
from truegrade.builders.changed.rules import RULES, rules_named
from truegrade.builders.changed.worded import operator_rules, worded_by

__all__ = [
    "RULES",
    "ChangedProblem",
    "Jails",
    "NotChanged",
    "change_problems",
    "operator_rules",
    "rules_named",
    "worded_by",
]
