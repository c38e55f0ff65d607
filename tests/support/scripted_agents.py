"""A service that plays both agents: what each says is a function of the call; nothing of the product is known."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from support.scripted_server import Answer, chat

TESTER = "You are a code developer assistant."


@dataclass(frozen=True)
class Call:
    """One request to one of the agents."""

    role: str
    """``programmer`` or ``tester``."""
    number: int
    """0-based among the requests to this agent on this question."""
    question: str
    """The first user message."""
    messages: list[dict[str, str]]
    seed: int | None

    @property
    def text(self) -> str:
        return "\n".join(message["content"] for message in self.messages)


class Agents:
    """A script for `scripted_server`: asks ``programmer(call)`` or ``tester(call)`` for a text or an Answer."""

    def __init__(self, programmer: Callable[[Call], Any], tester: Callable[[Call], Any]) -> None:
        self._says = {"programmer": programmer, "tester": tester}
        self._asked: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()
        self.calls: list[Call] = []

    def __call__(self, body: Any) -> Any:
        messages = body["messages"]
        role = "tester" if messages[0]["content"] == TESTER else "programmer"
        question = messages[1]["content"]
        with self._lock:
            number = self._asked[role, question]
            self._asked[role, question] += 1
        call = Call(role, number, question, messages, body.get("seed"))
        self.calls.append(call)
        said = self._says[role](call)
        return said if isinstance(said, Answer) else Answer(chat(said))

    def of(self, role: str) -> list[Call]:
        return [call for call in self.calls if call.role == role]


def fence(code: str) -> str:
    """A reply as models give it."""
    return f"Here it is:\n```python\n{code}\n```\n"
