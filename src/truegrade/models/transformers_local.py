"""``hf/ORG/NAME`` or ``hf/PATH``: any causal language model that transformers loads, in this process.

Tokens are drawn here and not by ``generate``, because each sample of a batch has a seed of its own: a sample can
be repeated alone. Temperature and top_p follow the request, else the model's ``generation_config.json``; top_k and
repetition penalty follow the request alone. Padding a batch changes logits in their last bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from inspect import signature
from pathlib import Path
from typing import Any, Literal

from truegrade.errors import UserError
from truegrade.models.adapters import adapted_name
from truegrade.models.gathering import Gatherer
from truegrade.models.local import Generated, LocalModel
from truegrade.models.micro.sampling import TokenSampler, sampler_for
from truegrade.models.transformers_adapters import AdapterSwap
from truegrade.models.transformers_loading import load
from truegrade.models.transformers_options import TransformersOptions, read_options
from truegrade.models.transformers_prompts import prompt_tokens
from truegrade.records import Prompt, Usage
from truegrade.records.config import RequestPolicy, Sampling

BATCHES_AHEAD = 4
"""Batches' worth of requests that are asked at once, so that there are similar lengths to choose from."""


class TransformersJob:
    """One request, and what it has written so far."""

    def __init__(self, prompt: list[int], sampler: TokenSampler, limit: int, stops: Sequence[str]) -> None:
        self.prompt, self.sampler, self.limit = prompt, sampler, limit
        self.stops = tuple(stop for stop in stops if stop)
        self.tokens: list[int] = []
        self.future: Future[Generated] = Future()

    @property
    def length(self) -> int:
        """Tokens of its prompt."""
        return len(self.prompt)


class TransformersEngine:
    """A model and its tokenizer.

    Args:
        name: ``ORG/NAME`` on the Hub, or a folder.
        options: the user's arguments.
        loaded: model and tokenizer of that name, already in memory; None to load them.

    Raises:
        UserError: as `truegrade.models.transformers_loading.load`.
    """

    def __init__(self, name: str, options: TransformersOptions, loaded: tuple[Any, Any] | None = None) -> None:
        adapter = None if options.adapter is None else Path(options.adapter)
        self._name, self._options = adapted_name(f"hf/{name}", adapter), options
        self._model, self._tokenizer = loaded or load(name, options)
        self._swap = AdapterSwap(self._model)
        self._defaults = self._model.generation_config
        ends = self._defaults.eos_token_id
        self._ends = set(ends) if isinstance(ends, list) else {ends}
        self._context = getattr(self._model.config, "max_position_embeddings", None) or 2**31
        self._gatherer = Gatherer(self._answer, options.batch_size)

    @property
    def name(self) -> str:
        """``hf/NAME``, and the hash of the adapter."""
        return self._name

    @property
    def parallel(self) -> int:
        """A few batches."""
        return self._options.batch_size * BATCHES_AHEAD

    def submit(self, prompt: Prompt, sampling: Sampling, sample: int = 0) -> Future[Generated]:
        """See `truegrade.models.local.Engine`."""
        tokens = prompt_tokens(self._tokenizer, prompt, self.name, sampling.reasoning_effort)
        room = self._context - len(tokens)
        if room < 1:
            note = f"the prompt's {len(tokens)} tokens leave no room in a context of {self._context}"
            unanswered: Future[Generated] = Future()
            usage = Usage(input_tokens=len(tokens))
            unanswered.set_result(Generated(text="", finish_reason="length", usage=usage, note=note))
            return unanswered
        limit = min(sampling.max_tokens or self._defaults.max_new_tokens or room, room)
        stops = (*prompt.stop, *sampling.stop)
        return self._gatherer.submit(
            TransformersJob(tokens, self._sampler(sampling, sample, tokens), limit, stops)
        )

    def wear(self, adapter: Path | None) -> None:
        """Put another adapter on the same base, or none; never while a request is under way.

        Raises:
            UserError: the adapter is missing, damaged or made for another model, or one was merged at loading.
        """
        if self._options.adapter is not None:
            raise UserError(
                f"{self.name} was loaded with an adapter merged in: load it without the model argument adapter"
            )
        self._swap.wear(adapter)

    def close(self) -> None:
        """Nothing to release while the model may be asked again."""

    def _sampler(self, sampling: Sampling, sample: int, tokens: list[int]) -> TokenSampler:
        usual = (self._defaults.temperature or 1.0) if self._defaults.do_sample else 0.0
        return sampler_for(sampling, sample, tokens, temperature=usual, top_p=self._defaults.top_p)

    def _answer(self, batch: Sequence[TransformersJob]) -> None:
        """Answer a batch: prompts padded on the left, one token a step for every request that has not ended."""
        import torch

        device = next(self._model.parameters()).device
        longest = max(ask.length for ask in batch)
        pad = next(iter(self._ends - {None}), 0)
        ids = torch.tensor([[pad] * (longest - ask.length) + ask.prompt for ask in batch], device=device)
        mask = torch.tensor([[0] * (longest - a.length) + [1] * a.length for a in batch], device=device)
        cache: Any = None
        kept = "cache" if "cache" in signature(self._model.forward).parameters else "past_key_values"
        with torch.inference_mode():
            while True:
                places = (mask.cumsum(-1) - 1).clamp(min=0)[:, -ids.shape[1] :]
                out = self._model(
                    input_ids=ids, attention_mask=mask, position_ids=places, use_cache=True, **{kept: cache}
                )
                cache = out[kept]
                logits = out.logits[:, -1].float().cpu().numpy()
                drawn = [self._advance(ask, row) for ask, row in zip(batch, logits, strict=True)]
                if all(ask.future.done() for ask in batch):
                    return
                ids = torch.tensor([[pad if token is None else token] for token in drawn], device=device)
                mask = torch.cat((mask, torch.ones_like(ids)), dim=1)

    def _advance(self, ask: TransformersJob, logits: Any) -> int | None:
        """The next token of a request; None where it has ended."""
        if ask.future.done():
            return None
        token = ask.sampler.draw(logits)
        ask.tokens.append(token)
        ended = token in self._ends
        kept = ask.tokens[:-1] if ended else ask.tokens
        full = len(ask.tokens) == ask.limit
        if not (ended or full or ask.stops):
            return token
        text = self._tokenizer.decode(kept, skip_special_tokens=True)
        cuts = [place for stop in ask.stops if (place := text.find(stop)) >= 0]
        if not (ended or full or cuts):
            return token
        finish: Literal["stop", "length"] = "stop" if ended or cuts else "length"
        usage = Usage(input_tokens=ask.length, output_tokens=len(ask.tokens))
        if ask.future.set_running_or_notify_cancel():
            ask.future.set_result(
                Generated(text=text[: min(cuts, default=len(text))], finish_reason=finish, usage=usage)
            )
        return token


def open_transformers(model: str, request_policy: RequestPolicy, args: Mapping[str, Any]) -> LocalModel:
    """Open a model of the Hub or in a folder.

    Raises:
        UserError: it cannot be loaded; the message says why.
    """
    return LocalModel(TransformersEngine(model, read_options(args)), request_policy)
