"""CORAL-X's split of QuixBugs by name: 24 programs to train on, 8 to select by, 8 left out.

Its description says that the 8 left out are those without JSON tests. Nine programs have none, and one of them,
``reverse_linked_list``, stands in its training list: of the 24, 23 have JSON tests.
"""

from __future__ import annotations

from truegrade.datasets.checkouts import REST, TEST
from truegrade.datasets.checkouts import TRAIN as TRAINING
from truegrade.evolution.roles import validate_no_overlap

__all__ = ["TEST", "TRAINING", "WITHOUT_JSON"]

WITHOUT_JSON = REST | {"reverse_linked_list"}
"""The graph and list programs (jkoppel/QuixBugs@4257f44): tested by modules of their own."""

validate_no_overlap(TRAINING, TEST)
