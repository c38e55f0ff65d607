"""Changed problems: a benchmark's problems with another specification, whose tests refuse the original's answer."""

from truegrade.builders.changed.build import ChangedProblem, Jails, NotChanged, change_problems
from truegrade.builders.changed.rules import RULES, rules_named

__all__ = ["RULES", "ChangedProblem", "Jails", "NotChanged", "change_problems", "rules_named"]
