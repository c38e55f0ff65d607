"""``exit-code``: a command whose exit status says it; 0 is passed.

In its words ``{program}`` and ``{tests}`` stand for the paths of two files, ``solution.py`` and ``tests.json`` (or
``test_solution.py`` where the tests are source).
"""

from __future__ import annotations

from truegrade.assay.targets.calls.base import Call

CALL = Call(name="exit-code", command=True)
