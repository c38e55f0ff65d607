"""Requests to ask a model with."""

from __future__ import annotations

import pytest

from truegrade.models.base import Request
from truegrade.records import FunctionTask, Message, Problem, Prompt
from truegrade.records.config import Sampling


@pytest.fixture
def make_request():
    """Build a request; keyword arguments are sampling parameters."""

    def make(
        content: str = "Say hello.", *, sample: int = 0, style: str = "chat", problem: str = "Toy/1", **sampling
    ) -> Request:
        task = FunctionTask(
            prompt="def f(): ...", entry_point="f", tests="assert f()", reference="def f(): return 1"
        )
        return Request(
            problem=Problem(id=problem, benchmark="toy", dataset_sha256="0" * 64, cluster=problem, task=task),
            prompt=Prompt(messages=(Message(role="user", content=content),), style=style, source="test"),
            sample=sample,
            sampling=Sampling(**sampling),
        )

    return make
