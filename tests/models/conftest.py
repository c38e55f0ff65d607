"""Samples to ask a model for."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from truegrade.records import Message, Prompt, SampleKey
from truegrade.records.config import Sampling


class Request(NamedTuple):
    """One sample to ask for: the arguments of `truegrade.models.base.generate_sample` behind the model."""

    key: SampleKey
    prompt: Prompt
    sampling: Sampling


@pytest.fixture
def make_request():
    """Build a request; keyword arguments are sampling parameters."""

    def make(
        content: str = "Say hello.", *, sample: int = 0, style: str = "chat", problem: str = "Toy/1", **sampling
    ) -> Request:
        prompt = Prompt(messages=(Message(role="user", content=content),), style=style, source="test")
        return Request(SampleKey(problem, sample), prompt, Sampling(**sampling))

    return make
