"""The same right program as replies of several forms: taking the answer out is half of what a grader does."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from types import MappingProxyType

from truegrade.assay.probes.stubs import not_implemented
from truegrade.assay.records import Probe, probe_id

NO_FENCE = "no fence"
FORMS: Mapping[str, str] = MappingProxyType(
    {
        "python": "```python\n{code}\n```",
        "py": "```py\n{code}\n```",
        "Python": "```Python\n{code}\n```",
        "python3": "```python3\n{code}\n```",
        "no label": "```\n{code}\n```",
        NO_FENCE: "{code}",
        "prose around": "Here is a solution.\n\n```python\n{code}\n```\n\nIt covers every case of the statement.",
        "draft first": "A first draft:\n\n```python\n{draft}\n```\n\nThe solution:\n\n```python\n{code}\n```",
        "answer first": "```python\n{code}\n```\n\nTo run it:\n\n```\n$ python solution.py\n```",
        "thinking": "<think>\nA first draft:\n\n```python\n{draft}\n```\n</think>\n\n```python\n{code}\n```",
    }
)
"""Name to text. All but the first differ from the usual form of a model's answer in one way each."""
_LEAST = 3
"""Problems whose program is sent in a form, where there are as many."""


def form_probes(problem_id: str, entry_point: str, reference: str, *, place: int, problems: int) -> list[Probe]:
    """The forms whose turn it is: over the problems each has its turn.

    Args:
        problem_id: of the problem.
        entry_point: the function that tests call; empty for a program on stdin.
        reference: a right program, whole.
        place: of the problem among all.
        problems: how many there are.

    Returns:
        Probes of class ``form``, the origin the name of the form.
    """
    names, draft = list(FORMS), not_implemented(entry_point).rstrip()
    count = min(len(names), max(1, ceil(_LEAST * len(names) / problems)))
    found = []
    for name in (names[(place * count + step) % len(names)] for step in range(count)):
        text = FORMS[name].format(code=reference.strip(), draft=draft)
        found.append(
            Probe(
                id=probe_id(problem_id, "form", name, text),
                problem_id=problem_id,
                kind="form",
                origin=name,
                code=text,
                form="reply",
                label="right",
            )
        )
    return found
