"""The honesty probe: which parameters does a server honour, seen from what comes back?

Some servers take n, temperature, seed or logprobs without a word and without effect, and some answer to any model
name; a pass@5 from such a server is a pass@1 printed five times. A dozen short requests tell, `LIMIT` tokens each.
Texts are compared, so a model that has only one thing to say leaves a feature ``unknown``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from truegrade.errors import ModelError
from truegrade.models import probe_checks as checks
from truegrade.models.base import Model
from truegrade.models.probe_ports import Port, Seen, Unanswered, port_of
from truegrade.records import Message, Prompt
from truegrade.records.config import Sampling
from truegrade.store.manifest import ProbeReport, now

Style = Literal["chat", "text"]

LIMIT, ROOMY_LIMIT = 32, 1024
"""Tokens of a reply: usually, and of a model whose first words are hidden thinking."""

_QUESTIONS = (
    "Write thirty random English words, separated by spaces.",
    "Continue this Python file:\n\ndef f(x):\n",
    "def add(a, b):\n    return",
)


async def probe_model(model: Model, *, style: Style = "chat", base: Sequence[Seen] | None = None) -> ProbeReport:
    """Ask a model a dozen short questions and read from the replies what it honours.

    Args:
        model: a service, or one that runs in this process.
        style: chat messages, or text to continue.
        base: what `replies` gave for the model that an adapter was made for; None where there is no adapter.

    Raises:
        ModelError: the service refuses everything, or says nothing.
        UserError: there is nothing to probe, or the model cannot be asked this way.
    """
    port = port_of(model)
    try:
        samples = await _sample(port, model.name, style)
        features = [
            checks.temperature(port, samples),
            checks.same_seed(port, samples),
            await checks.other_seed(port, samples),
            await checks.several(port, samples),
            await checks.stop(port, samples),
            await checks.max_tokens(port, samples),
            await checks.logprobs(port, samples),
            await checks.model_name(port, samples),
        ]
        if base is not None:
            features.append(checks.adapter(samples, base, await _replies(port, style)))
    finally:
        await port.close()
    return ProbeReport(
        model=model.name,
        base_url=model.base_url,
        probed=now(),
        style=style,
        features=tuple(features),
        requests=port.requests,
        output_tokens=port.output_tokens,
    )


async def replies(model: Model, style: Style = "chat") -> list[Seen]:
    """What a model says, greedy and with a seed: to be held against the same model with an adapter.

    Raises:
        ModelError, UserError: as `probe_model`.
    """
    port = port_of(model)
    try:
        return await _replies(port, style)
    finally:
        await port.close()


async def _replies(port: Port, style: Style) -> list[Seen]:
    wanted = [Sampling(temperature=0.0, max_tokens=LIMIT), Sampling(temperature=1.0, seed=11, max_tokens=LIMIT)]
    try:
        return [
            await port.ask(_prompt(question, style), sampling, logprobs=True)
            for question in _QUESTIONS
            for sampling in wanted
        ]
    except Unanswered as error:
        raise ModelError(f"the probe got no reply: {error}") from None


def _prompt(question: str, style: Style) -> Prompt:
    return Prompt(messages=(Message(role="user", content=question),), style=style, source="probe")


async def _sample(port: Port, name: str, style: Style) -> checks.Samples:
    """The shared replies, to the first question that is answered with enough text."""
    try:
        prompt, limit, greedy = await _talkative(port, style)
        cold = Sampling(temperature=0.0, max_tokens=limit)
        hot = Sampling(temperature=1.0, max_tokens=limit)
        samples = checks.Samples(
            prompt=prompt,
            limit=limit,
            greedy=greedy,
            again=await port.ask(prompt, cold),
            seeded=await port.ask(prompt, msgspec.structs.replace(hot, seed=11)),
            same_seed=await port.ask(prompt, msgspec.structs.replace(hot, seed=11)),
            other_seed=await port.ask(prompt, msgspec.structs.replace(hot, seed=12)),
            free=(await port.ask(prompt, hot), await port.ask(prompt, hot)),
        )
        if samples.vary:
            return samples
        others = [other for question in _QUESTIONS if (other := _prompt(question, style)) != prompt]
        seeded = msgspec.structs.replace(hot, seed=21)
        elsewhere = [tuple([await port.ask(other, how) for how in (cold, seeded, hot)]) for other in others]
        return msgspec.structs.replace(samples, elsewhere=tuple(elsewhere))
    except Unanswered as error:
        raise ModelError(f"{name} gave the probe no reply: {error}") from None


async def _talkative(port: Port, style: Style) -> tuple[Prompt, int, Seen]:
    """The first question that gets `TALKATIVE` characters, else the last; thinking gets more room."""
    limit = LIMIT
    for question in _QUESTIONS:
        prompt = _prompt(question, style)
        seen = await port.ask(prompt, Sampling(temperature=0.0, max_tokens=limit))
        if not seen.text and seen.finish_reason in checks.CUT and limit == LIMIT:
            limit = ROOMY_LIMIT
            seen = await port.ask(prompt, Sampling(temperature=0.0, max_tokens=limit))
        if len(seen.text) >= checks.TALKATIVE:
            break
    return prompt, limit, seen
