"""The honesty probe: which parameters a server honours, and what each feature's replies say.

Some servers take n, temperature, seed or logprobs without a word and without effect, and some answer to any model
name; a pass@5 from such a server is a pass@1 printed five times. A dozen short requests tell, `LIMIT` tokens each.
Texts are compared, so a model that has only one thing to say leaves a feature ``unknown``.

How the probe asks: a service by single requests as they stand, any other model through its one method.

A refusal that names a parameter is noted and the request repeated without it, by the same rules as in a run. What
may pass (too many requests, a broken connection) is tried `TRIES` times.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Literal, Protocol

import msgspec

from truegrade.errors import ModelError, UserError
from truegrade.models.base import Model
from truegrade.models.service_errors import Body, RequestFailure
from truegrade.models.service_model import ServiceModel
from truegrade.models.service_parameters import Parameters, Route
from truegrade.records import Message, Prompt
from truegrade.records.config import Sampling
from truegrade.store.manifest import Feature, ProbeReport, State, now

TRIES = 3
MAX_WAIT_S = 20.0


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What came back of one request."""

    texts: tuple[str, ...]
    """One a choice, thinking included: it is sampled like the rest."""
    finish_reason: str | None
    output_tokens: int | None
    logprobs: tuple[float, ...] | None = None

    @property
    def text(self) -> str:
        """The first choice."""
        return self.texts[0]


class Unanswered(Exception):
    """A request that brought nothing; the message is what the service said."""


class Port(Protocol):
    """Something that can be probed, and what the probe has cost."""

    requests: int
    output_tokens: int

    async def ask(
        self, prompt: Prompt, sampling: Sampling, *, n: int | None = None, logprobs: bool = False
    ) -> Seen:
        """Ask once.

        Raises:
            Unanswered: this request brought nothing.
            ModelError, UserError: none will.
        """

    def refusal(self, *names: str) -> str | None:
        """Why a parameter was not sent; None where one of these names was."""

    async def answers_to(self, model: str, prompt: Prompt) -> str | None:
        """What is said to a request for another model; None where it is answered.

        Raises:
            Unanswered: that cannot be told.
        """

    async def close(self) -> None:
        """Release connections."""


class ServicePort:
    """A model behind a service's address."""

    def __init__(self, model: ServiceModel) -> None:
        self._model = model
        self._parameters: dict[Route, Parameters] = {}
        self.requests = self.output_tokens = 0

    async def ask(
        self, prompt: Prompt, sampling: Sampling, *, n: int | None = None, logprobs: bool = False
    ) -> Seen:
        """See `Port`."""
        route = self._model.route(prompt)
        self._model.check(route, sampling)
        parameters = self._learnt(route)
        passing = 0
        while True:
            sent = parameters.build(prompt, sampling, n)
            if logprobs and parameters.accepts("logprobs"):
                sent["logprobs"] = True if route == "chat" else 1
            outcome = await self._send(route, prompt, sent)
            if isinstance(outcome, Body):
                return _seen_in_body(outcome)
            if outcome.kind == "stopping":
                raise ModelError(self._model.explain(outcome, route))
            if outcome.kind == "refused":
                if not parameters.learn(outcome, sent):
                    raise Unanswered(outcome.error)
                continue
            passing += 1
            if passing == TRIES:
                if outcome.unreachable:
                    raise ModelError(self._model.explain(outcome, route))
                raise Unanswered(outcome.error)
            await asyncio.sleep(min(outcome.wait_s or 0.5, MAX_WAIT_S))

    def refusal(self, *names: str) -> str | None:
        """See `Port`."""
        notes = [parameters.note(name) for parameters in self._parameters.values() for name in names]
        told = [note for note in notes if note is not None]
        return told[0] if len(told) == len(names) else None

    async def answers_to(self, model: str, prompt: Prompt) -> str | None:
        """See `Port`."""
        route = self._model.route(prompt)
        parameters = self._learnt(route).build(prompt, Sampling(max_tokens=1))
        outcome = await self._send(route, prompt, {**parameters, "model": model})
        if isinstance(outcome, Body):
            return None
        if outcome.kind == "passing":
            raise Unanswered(outcome.error)
        return outcome.error

    async def close(self) -> None:
        """See `Port`."""
        await self._model.close()

    def _learnt(self, route: Route) -> Parameters:
        return self._parameters.setdefault(route, self._model.fresh_parameters(route))

    async def _send(self, route: Route, prompt: Prompt, sent: dict[str, Any]) -> Body | RequestFailure:
        self.requests += 1
        outcome = await self._model.send(route, prompt.messages, sent)
        if outcome.usage is not None:
            self.output_tokens += outcome.usage.output_tokens
        return outcome


class ModelPort:
    """A model that runs in this process, or one of the caller's own. It stays open: a run may follow."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.requests = self.output_tokens = 0

    async def ask(
        self, prompt: Prompt, sampling: Sampling, *, n: int | None = None, logprobs: bool = False
    ) -> Seen:
        """See `Port`; one sample a request, without log probabilities."""
        self.requests += 1
        reply = await self._model.generate(prompt, sampling)
        if reply.text is None:
            why = next((attempt.error for attempt in reply.attempts if attempt.error), "no reason given")
            raise Unanswered(why)
        tokens = reply.usage.output_tokens if reply.usage else None
        self.output_tokens += tokens or 0
        text = (reply.reasoning or "") + reply.text
        return Seen(texts=(text,), finish_reason=reply.finish_reason, output_tokens=tokens)

    def refusal(self, *names: str) -> str | None:
        """See `Port`: an engine of this process that cannot honour something says so at once."""
        return None

    async def answers_to(self, model: str, prompt: Prompt) -> str | None:
        """See `Port`."""
        raise Unanswered("it runs in this process, so no server can take another model for it")

    async def close(self) -> None:
        """See `Port`."""


def port_of(model: Model) -> Port:
    """The way to probe a model.

    Raises:
        UserError: it writes no text of its own.
    """
    if isinstance(model, ServiceModel):
        return ServicePort(model)
    if model.name.startswith(("baseline/", "replay:")):
        raise UserError(f"{model.name} generates nothing, so there is nothing to probe: name another `model`")
    return ModelPort(model)


def _seen_in_body(body: Body) -> Seen:
    first = body.choices[0]
    return Seen(
        texts=tuple((choice.reasoning or "") + choice.text for choice in body.choices),
        finish_reason=first.finish_reason,
        output_tokens=body.usage.output_tokens if body.usage else None,
        logprobs=first.logprobs,
    )


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
            temperature(port, samples),
            same_seed(port, samples),
            await other_seed(port, samples),
            await several(port, samples),
            await stop(port, samples),
            await max_tokens(port, samples),
            await logprobs(port, samples),
            await model_name(port, samples),
        ]
        if base is not None:
            features.append(adapter(samples, base, await _replies(port, style)))
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


async def _sample(port: Port, name: str, style: Style) -> Samples:
    """The shared replies, to the first question that is answered with enough text."""
    try:
        prompt, limit, greedy = await _talkative(port, style)
        cold = Sampling(temperature=0.0, max_tokens=limit)
        hot = Sampling(temperature=1.0, max_tokens=limit)
        samples = Samples(
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
        if not seen.text and seen.finish_reason in CUT and limit == LIMIT:
            limit = ROOMY_LIMIT
            seen = await port.ask(prompt, Sampling(temperature=0.0, max_tokens=limit))
        if len(seen.text) >= TALKATIVE:
            break
    return prompt, limit, seen


# ----------------- What each feature's replies say: honoured, ignored, refused or unknown, with what was seen.

TALKATIVE = 12
"""Characters that a reply must have to say anything about stop strings and limits."""

SHORT_LIMIT = 4
"""Tokens of a reply where the limit itself is looked at."""

CHOICES = 3
MORE_SEEDS = (13, 14, 15, 16)
NO_SUCH_MODEL = "truegrade-probe-no-such-model"
CUT = frozenset({"length", "max_tokens"})


class Samples(msgspec.Struct, frozen=True, kw_only=True):
    """The replies that most features are read from."""

    prompt: Prompt
    limit: int
    greedy: Seen
    again: Seen
    """Temperature 0 once more."""
    seeded: Seen
    same_seed: Seen
    other_seed: Seen
    free: tuple[Seen, ...]
    """Temperature 1 without a seed."""
    elsewhere: tuple[tuple[Seen, Seen, Seen], ...] = ()
    """Where all of these say one thing, other questions: at temperature 0, at 1 with a seed, at 1 without."""

    @property
    def hot(self) -> list[str]:
        """Texts that were asked for at temperature 1 with different seeds or none."""
        return [seen.text for seen in (self.seeded, self.other_seed, *self.free)]

    @property
    def vary(self) -> bool:
        """Whether replies to one question at temperature 1 differ at all."""
        return len(set(self.hot)) > 1 or any(one.text != other.text for _, one, other in self.elsewhere)


def temperature(port: Port, samples: Samples) -> Feature:
    """Equal replies at 0, different ones at 1."""
    if refusal := port.refusal("temperature"):
        return _feature("temperature", "refused", refusal)
    first, second = samples.greedy.text, samples.again.text
    if first != second:
        return _restless(first, second)
    if samples.vary:
        return _feature("temperature", "honoured", "equal replies at temperature 0, different ones at 1")
    if samples.hot[0] != first or any(cold.text != hot.text for cold, hot, _ in samples.elsewhere):
        return _feature("temperature", "honoured", "replies at temperature 1 differ from those at 0")
    if not first.strip():
        return _feature("temperature", "unknown", "every reply is empty")
    count = len(samples.hot) + 2 * len(samples.elsewhere)
    return _feature("temperature", "ignored", f"{count} replies at temperature 1 are those at temperature 0")


def _restless(first: str, second: str) -> Feature:
    """Two replies at temperature 0 that differ: sampled after all, or rounded differently, which shows late."""
    same = next((i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), None)
    shared = (min(len(first), len(second)) if same is None else same) / max(len(first), len(second))
    seen = f"two replies at temperature 0 differ after {shared:.0%} of their length"
    if shared < 0.5:
        return _feature("temperature", "ignored", seen)
    return _feature("temperature", "unknown", f"{seen}: ignored, or arithmetic that varies")


def same_seed(port: Port, samples: Samples) -> Feature:
    """The same seed gives the same text."""
    name = "seed, same"
    if refusal := port.refusal("seed"):
        return _feature(name, "refused", refusal)
    if samples.seeded.text != samples.same_seed.text:
        return _feature(name, "ignored", "two replies with seed 11 differ")
    if not samples.vary:
        return _feature(name, "unknown", "every reply at temperature 1 is the same, whatever the seed")
    return _feature(name, "honoured", "two replies with seed 11 are equal")


async def other_seed(port: Port, samples: Samples) -> Feature:
    """Another seed gives another text; where two agree, `MORE_SEEDS` decide, for some models say little."""
    name = "seed, different"
    if refusal := port.refusal("seed"):
        return _feature(name, "refused", refusal)
    if samples.seeded.text != samples.same_seed.text:
        return _feature(name, "unknown", "replies differ even with one seed")
    try:
        seed = await _telling_seed(port, samples)
    except Unanswered as error:
        return _feature(name, "unknown", str(error))
    if seed is not None:
        return _feature(name, "honoured", f"seeds 11 and {seed} gave different replies")
    one_text = f"{2 + len(MORE_SEEDS)} seeds gave one reply"
    if len({seen.text for seen in samples.free}) > 1:
        return _feature(name, "ignored", f"{one_text}, no seed another")
    return _feature(name, "unknown", one_text)


async def _telling_seed(port: Port, samples: Samples) -> int | None:
    """The first seed whose reply is not that of seed 11."""
    if samples.other_seed.text != samples.seeded.text:
        return 12
    for seed in MORE_SEEDS:
        sampling = Sampling(temperature=1.0, max_tokens=samples.limit, seed=seed)
        if (await port.ask(samples.prompt, sampling)).text != samples.seeded.text:
            return seed
    return None


async def several(port: Port, samples: Samples) -> Feature:
    """As many choices as asked for, and not one text copied."""
    sampling = Sampling(temperature=1.0, max_tokens=samples.limit)
    try:
        seen = await port.ask(samples.prompt, sampling, n=CHOICES)
    except Unanswered as error:
        return _feature("n", "unknown", str(error))
    if refusal := port.refusal("n"):
        return _feature("n", "refused", refusal)
    if not _served(port):
        return _feature("n", "unknown", "not asked for: in this process each sample is a request of its own")
    if len(seen.texts) != CHOICES:
        return _feature("n", "ignored", f"asked for {CHOICES} choices, got {len(seen.texts)}")
    if samples.vary and len(set(seen.texts)) == 1:
        return _feature("n", "ignored", f"{CHOICES} choices that are one text")
    return _feature("n", "honoured", f"{CHOICES} choices, {len(set(seen.texts))} different")


async def stop(port: Port, samples: Samples) -> Feature:
    """Stop at a few characters from the middle of the greedy reply."""
    whole = samples.greedy.text
    stop = _middle(whole)
    if stop is None:
        return _feature("stop", "unknown", f"a reply of {len(whole)} characters holds nothing to stop at")
    sampling = Sampling(temperature=0.0, max_tokens=samples.limit, stop=(stop,))
    try:
        seen = await port.ask(samples.prompt, sampling)
    except Unanswered as error:
        return _feature("stop", "unknown", str(error))
    if refusal := port.refusal("stop"):
        return _feature("stop", "refused", refusal)
    if stop in seen.text[: -len(stop)]:
        return _feature("stop", "ignored", f"the reply goes on behind {stop!r}")
    if seen.text.startswith(whole[: whole.index(stop)]) and len(seen.text) < len(whole):
        kept = ", the stop string still in it" if seen.text.endswith(stop) else ""
        return _feature("stop", "honoured", f"the reply ends before {stop!r}{kept}")
    return _feature("stop", "unknown", f"the reply never came to {stop!r}")


def _middle(text: str) -> str | None:
    """Three printable ASCII characters, else two, that first stand near the middle: no half of a character."""
    if len(text) < TALKATIVE:
        return None
    for length in (3, 2):
        pieces = {text[i : i + length]: i for i in reversed(range(1, len(text) - length))}
        usable = [piece for piece in pieces if piece.isascii() and piece.isprintable() and piece.strip() == piece]
        if usable:
            return min(usable, key=lambda piece: abs(text.index(piece) - len(text) // 2))
    return None


async def max_tokens(port: Port, samples: Samples) -> Feature:
    """A reply cut at `SHORT_LIMIT`, by its text and not only by what the service counts."""
    name = "max_tokens"
    try:
        seen = await port.ask(samples.prompt, Sampling(temperature=0.0, max_tokens=SHORT_LIMIT))
    except Unanswered as error:
        return _feature(name, "unknown", str(error))
    if refusal := port.refusal("max_tokens", "max_completion_tokens"):
        return _feature(name, "refused", refusal)
    whole, tokens = samples.greedy, seen.output_tokens
    told = "an unknown number of" if tokens is None else str(tokens)
    long_enough = whole.output_tokens is None or whole.output_tokens >= 2 * SHORT_LIMIT
    if tokens is not None and tokens > SHORT_LIMIT:
        return _feature(name, "ignored", f"asked for {SHORT_LIMIT} tokens, got {tokens}")
    if len(whole.text) >= TALKATIVE and long_enough and len(seen.text) > 0.75 * len(whole.text):
        return _feature(name, "ignored", f"with {SHORT_LIMIT} tokens the reply is as long as with {samples.limit}")
    if seen.finish_reason in CUT or len(seen.text) < len(whole.text):
        return _feature(name, "honoured", f"{told} tokens, finish_reason {seen.finish_reason}")
    return _feature(name, "unknown", f"the whole reply has only {told} tokens")


async def logprobs(port: Port, samples: Samples) -> Feature:
    """Numbers that can be logarithms of probabilities."""
    sampling = Sampling(temperature=0.0, max_tokens=samples.limit)
    try:
        seen = await port.ask(samples.prompt, sampling, logprobs=True)
    except Unanswered as error:
        return _feature("logprobs", "unknown", str(error))
    if refusal := port.refusal("logprobs"):
        return _feature("logprobs", "refused", refusal)
    if not _served(port):
        return _feature("logprobs", "unknown", "not asked for: nothing here reads them in this process")
    if seen.logprobs is None:
        return _feature("logprobs", "ignored", "the reply holds none")
    if max(seen.logprobs) > 0:
        return _feature("logprobs", "ignored", f"{max(seen.logprobs):g} is no log probability")
    return _feature("logprobs", "honoured", f"{len(seen.logprobs)} tokens with theirs")


async def model_name(port: Port, samples: Samples) -> Feature:
    """A server that answers to any name also answers to that of an adapter which it has not loaded."""
    try:
        refusal = await port.answers_to(NO_SUCH_MODEL, samples.prompt)
    except Unanswered as error:
        return _feature("model name", "unknown", str(error))
    if refusal is None:
        return _feature("model name", "ignored", f"{NO_SUCH_MODEL!r} was answered too")
    return _feature("model name", "honoured", f"another name is refused: {refusal}")


def adapter(samples: Samples, base: Sequence[Seen], adapted: Sequence[Seen]) -> Feature:
    """Greedy and seeded replies, and log probabilities where there are some, with and without the adapter."""
    pairs = list(zip(base, adapted, strict=True))
    differing = sum(old.text != new.text for old, new in pairs)
    shifts = [
        abs(a - b)
        for old, new in pairs
        if old.text == new.text
        for a, b in zip(old.logprobs or (), new.logprobs or (), strict=False)
    ]
    moved = max(shifts, default=0.0)
    if differing and samples.greedy.text != samples.again.text:
        return _feature("adapter", "unknown", "replies differ, but so do two at temperature 0 without a change")
    if differing:
        return _feature("adapter", "honoured", f"{differing} of {len(pairs)} replies differ from the base model's")
    if moved > 1e-3:
        return _feature("adapter", "honoured", f"equal replies, log probabilities moved by up to {moved:.2g}")
    also = " and their log probabilities" if shifts else ""
    return _feature("adapter", "ignored", f"{len(pairs)} replies{also} are the base model's")


def _served(port: Port) -> bool:
    return isinstance(port, ServicePort)


def _feature(name: str, state: State, evidence: str) -> Feature:
    return Feature(name=name, state=state, evidence=evidence)
