"""Models that answer from what is stored: a run again, or the response cache before a service."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from truegrade.errors import BadRecord, UserError
from truegrade.files.json_text import UNREADABLE, checksum_fits, decode, encode, place_of
from truegrade.models.base import Model, MultiSampleModel, Reply, generate_sample, no_sample
from truegrade.models.providers import PROVIDERS, is_local
from truegrade.records import Attempt, Completion, Prompt, SampleKey, sha256_json
from truegrade.records.config import RequestPolicy, Sampling
from truegrade.store.manifest import now
from truegrade.store.responses import ResponseCache


class Replay:
    """Answers every sample with the completion stored for its problem and sample.

    Of two completions with one key the later counts, unless only the earlier has text: a sample that failed is
    asked for again when a run is resumed. What an answer once cost is left out, for replaying it costs nothing.
    """

    def __init__(self, name: str, completions: Iterable[Completion]) -> None:
        self._name = name
        self._stored: dict[SampleKey, Completion] = {}
        for completion in completions:
            earlier = self._stored.get(completion.key)
            if earlier is None or earlier.text is None or completion.text is not None:
                self._stored[completion.key] = completion

    @classmethod
    def open(cls, path: Path) -> Replay:
        """Read a file of completions, or the one in a run directory; its name is ``replay:PATH``.

        Raises:
            UserError: there is no such file, or it holds no completion.
            BadRecord: a line is no completion.
        """
        file = path / "completions.jsonl" if path.is_dir() else path
        if not file.is_file():
            raise UserError(f"{file}: no such file to replay; give a completions.jsonl or a run directory")
        replay = cls(f"replay:{path}", read_completions(file))
        if not replay._stored:
            raise UserError(f"{file}: holds no completion to replay")
        return replay

    @property
    def name(self) -> str:
        """``replay:FILE``."""
        return self._name

    @property
    def base_url(self) -> None:
        """Nowhere: nothing is served."""
        return None

    @property
    def request_policy(self) -> RequestPolicy:
        """The default; nothing is waited for."""
        return RequestPolicy()

    async def generate(self, prompt: Prompt, sampling: Sampling) -> Reply:
        """Refuse: an answer is stored for a sample.

        Raises:
            UserError: always.
        """
        raise no_sample(self._name)

    async def generate_sample(self, key: SampleKey, prompt: Prompt, sampling: Sampling) -> Reply:
        """Answer from the store.

        Raises:
            UserError: nothing is stored for this problem and sample.
        """
        stored = self._stored.get(key)
        if stored is None:
            raise UserError(
                f"{self._name}: no answer for problem {key.problem_id!r}, sample {key.sample}; "
                "lower `n` or choose problems with `limit` or `ids`"
            )
        return Reply(
            text=stored.text,
            form=stored.form,
            reasoning=stored.reasoning,
            finish_reason=stored.finish_reason,
            usage=stored.usage,
            latency_s=stored.latency_s,
            model=stored.model,
            attempts=stored.attempts,
        )

    async def close(self) -> None:
        """Nothing to release."""


def read_completions(file: Path) -> Iterator[Completion]:
    """Completions of a JSON Lines file, empty lines skipped.

    A last line without a line end that does not decode was torn when its run was stopped; it is no answer, and
    asking for it says so.

    Raises:
        BadRecord: any other line that is no completion.
    """
    decoder = msgspec.json.Decoder(Completion)
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            if checksum_fits(line) is False:
                raise BadRecord(file, "its checksum does not fit: the line is damaged", line=number)
            try:
                yield decode(line, decoder)
            except UNREADABLE as error:
                if not line.endswith(b"\n"):
                    return
                said, field = place_of(error) if isinstance(error, msgspec.ValidationError) else (error, None)
                problem = f"no completion: {said}; a file of another harness is read by `truegrade grade`"
                raise BadRecord(file, problem, line=number, field=field) from None


# ---------------- A model in front of which stands the response cache: an equal request is not paid for twice.
# Equal means: same model and address, same problem and prompt, same sample number, same parameters (the sample's
# own seed among them), same model arguments. The problem and the sample number belong to it so that no two
# samples of one run are ever the same draw: two rows with one prompt, or n samples without a seed, are asked one
# by one.
#
# A service is cached where it is at its provider's own address. Behind an address of the user's own, another
# model may answer tomorrow under the same name, so there it is cached only if asked for.

VERSION = 1
"""Of what is stored; part of every key, so that another version finds nothing of this one."""

ACCOUNTING = frozenset({"input_price", "output_price", "api_key_env"})
"""Model arguments that do not change what is answered."""


class CachedReply(msgspec.Struct, frozen=True, kw_only=True):
    """What is stored of an answer."""

    reply: Reply
    asked: str
    """When; UTC, ISO 8601."""
    adaptations: tuple[str, ...]
    """Parameters that the service had not taken as asked, as far as it was known then."""


class CachedModel:
    """Answers from the cache what was answered before, and asks the model for the rest.

    A cached reply keeps its tokens and the latency it once had; its one attempt says ``cached`` and when it was
    asked, and its cost is zero where it was known. Failures and empty replies are not kept.

    Args:
        model: asked for what is not in the cache; closed with this one.
        cache: stays open.
        args: model arguments of the run.
    """

    def __init__(self, model: Model, cache: ResponseCache, args: Mapping[str, Any]) -> None:
        self._model, self._cache = model, cache
        self._args = {key: value for key, value in args.items() if key not in ACCOUNTING}
        self._adaptations: dict[str, None] = {}
        self.found = 0
        """Replies that came from the cache so far."""
        self.oldest: str | None = None
        """When the oldest of them was asked."""

    @property
    def name(self) -> str:
        """``provider/name``."""
        return self._model.name

    @property
    def base_url(self) -> str | None:
        """Where it is served."""
        return self._model.base_url

    @property
    def request_policy(self) -> RequestPolicy:
        """The model's own."""
        return self._model.request_policy

    @property
    def adaptations(self) -> tuple[str, ...]:
        """What the service did not take as asked, today and when it gave the replies found in the cache."""
        return tuple(dict.fromkeys((*self._adaptations, *getattr(self._model, "adaptations", ()))))

    async def generate(self, prompt: Prompt, sampling: Sampling) -> Reply:
        """Ask the model: what is no sample of a run is not cached."""
        return await self._model.generate(prompt, sampling)

    async def generate_sample(self, key: SampleKey, prompt: Prompt, sampling: Sampling) -> Reply:
        """Answer one sample; see `truegrade.models.base.SampleModel`."""
        started = time.perf_counter()
        address = self._address(key, prompt, sampling)
        entry = self._stored(address)
        if entry is not None:
            return self._again(entry, time.perf_counter() - started)
        reply = await generate_sample(self._model, key, prompt, sampling)
        if reply.text is not None and reply.text.strip():
            asked = now()
            adaptations = tuple(getattr(self._model, "adaptations", ()))
            kept = encode(CachedReply(reply=reply, asked=asked, adaptations=adaptations))
            self._cache.put(address, kept, model=self.name, asked=asked)
        return reply

    async def close(self) -> None:
        """Close the model's connections."""
        await self._model.close()

    def _address(self, key: SampleKey, prompt: Prompt, sampling: Sampling) -> str:
        return sha256_json(
            {
                "version": VERSION,
                "model": self.name,
                "base_url": self.base_url,
                "args": self._args,
                "problem": key.problem_id,
                "prompt": prompt.sha256,
                "sample": key.sample,
                "sampling": sampling,
            }
        )

    def _stored(self, address: str) -> CachedReply | None:
        content = self._cache.get(address)
        if content is None:
            return None
        try:
            return decode(content, msgspec.json.Decoder(CachedReply))
        except UNREADABLE:
            return None  # nobody else writes such keys; asking again mends what cannot be read

    def _again(self, entry: CachedReply, latency_s: float) -> Reply:
        self.found += 1
        self.oldest = entry.asked if self.oldest is None else min(self.oldest, entry.asked)
        self._adaptations.update(dict.fromkeys(entry.adaptations))
        attempt = Attempt(outcome="cached", latency_s=latency_s, asked=entry.asked)
        cost_usd = None if entry.reply.cost_usd is None else 0.0
        return msgspec.structs.replace(entry.reply, attempts=(attempt,), cost_usd=cost_usd)


def cacheable(model: Model, wanted: bool | None) -> bool:
    """Whether a model's replies are cached.

    Args:
        model: one that runs in this process, or is asked for several samples in one request, never is.
        wanted: True or False as the user says; None for services at their provider's own address.
    """
    if wanted is False or model.base_url is None or (isinstance(model, MultiSampleModel) and model.batch_n):
        return False
    own = {provider.base_url for provider in PROVIDERS.values()}
    return wanted is True or (model.base_url in own and not is_local(model.base_url))
