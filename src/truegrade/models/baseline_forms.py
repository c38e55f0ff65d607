"""The form in which a prompt wants its answer: a baseline is graded for its values, not for its manners."""

from __future__ import annotations

import json
from typing import NamedTuple

_ANSWER = "[ANSWER]"


class CallClaim(NamedTuple):
    """A call and the value it is said to have, both as source."""

    call: str
    value: str

    @property
    def assertion(self) -> str:
        """``assert CALL == VALUE``."""
        return f"assert {self.call} == {self.value}"


def claim_in_form(prompt: str, claim: CallClaim) -> str:
    """The claim as the prompt asks for it.

    Args:
        prompt: all of the prompt's text.
        claim: what is answered. Where the prompt shows two programs, it is about the first, A.
    """
    end = prompt.rstrip()
    if '"chosen_program"' in prompt:
        return json.dumps({"chosen_program": "A", "assertion": claim.assertion}, ensure_ascii=False)
    if end.endswith("=="):
        return f" {claim.value} # done"
    if "== # TODO" in prompt:
        return f"```python\n{claim.assertion}\n```"
    opening = "" if end.endswith(_ANSWER) else f"{_ANSWER}\n"
    return f"{opening}{claim.assertion}\n[/ANSWER]"
