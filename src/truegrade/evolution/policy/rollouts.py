"""Many samples of many prompts at once, each beginning of a reply computed only once.

Samples of a prompt that have drawn the same tokens so far share a row: the row is advanced once, each sample draws
from its law, and the row divides where they draw differently. The law of the samples is the same as if each were
computed alone; a model that is nearly certain costs a fraction of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from truegrade.models.micro.llama import CHUNK, Cache, Llama

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Integers = NDArray[np.int64]

PROMPTS = 32
"""Prompts whose replies are drawn together."""


class SampledReply(msgspec.Struct, frozen=True, kw_only=True):
    """A reply, with the samples that came out as this one."""

    prompt: int
    """Place of its prompt."""
    tokens: tuple[int, ...]
    """The one that ends it is the last of them, unless the reply was cut."""
    logps: tuple[float, ...]
    """Log-probability of each token when it was drawn."""
    entropies: tuple[float, ...]
    """Entropy, in nats, of the law that each token was drawn from."""
    samples: tuple[int, ...]
    """Numbers of the samples of the prompt, from 0."""


class _Row(msgspec.Struct):
    """A beginning that some samples share."""

    prompt: int
    tokens: tuple[int, ...]
    logps: tuple[float, ...]
    entropies: tuple[float, ...]
    samples: tuple[int, ...]

    def reply(self) -> SampledReply:
        return SampledReply(**msgspec.structs.asdict(self))


class Sampler(Llama):
    """A Llama that draws replies at temperature 1."""

    def sample(
        self, prompts: Sequence[Sequence[int]], samples: int, end: int, longest: int, rng: np.random.Generator
    ) -> list[SampledReply]:
        """Distinct replies, prompt by prompt.

        Args:
            prompts: tokens of each.
            samples: of each prompt.
            end: the token that ends a reply.
            longest: tokens after which a reply is cut.
            rng: draws.
        """
        order = sorted(range(len(prompts)), key=lambda place: (len(prompts[place]), place))
        found: list[SampledReply] = []
        for begin in range(0, len(order), PROMPTS):
            places = order[begin : begin + PROMPTS]
            group = _Group(self, [prompts[place] for place in places], samples, longest)
            replies = group.run(end, longest, rng)
            found += [msgspec.structs.replace(reply, prompt=places[reply.prompt]) for reply in replies]
        return sorted(found, key=lambda reply: (reply.prompt, reply.samples))

    def prefill(self, tokens: Sequence[int], cache: Cache) -> tuple[Floats, Floats, Floats]:
        """Keys and values of a prompt, (layers, heads, tokens, channels), and the logits behind it."""
        logits = self.read(tokens, cache, 0)
        chunks = -(-len(tokens) // CHUNK)
        keys, values = (
            half[:, 0, :, :chunks].reshape(*half.shape[0:1], half.shape[2], chunks * CHUNK, -1)[
                :, :, : len(tokens)
            ]
            for half in (cache.keys, cache.values)
        )
        return keys, values, logits

    def advance(
        self, tokens: Integers, positions: Integers, hidden: Floats, keys: Floats, values: Floats
    ) -> Floats:
        """Advance rows by a token each: (rows, vocabulary).

        Args:
            tokens: of each row.
            positions: its place in its own sequence.
            hidden: (rows, 1, columns), minus infinity in the columns before a row's prompt.
            keys: (layers, rows, heads, columns, channels); the last column is written.
            values: the same.
        """
        import numpy as np

        x, scale = self._embedding[tokens], np.float32(self.shape.head_width**-0.5)
        groups = self.shape.num_attention_heads // self.shape.key_heads
        for index, layer in enumerate(self._layers):
            q, k, v = self._project(layer, x, positions)
            keys[index, :, :, -1], values[index, :, :, -1] = k, v
            queries = q.reshape(len(x), -1, groups, q.shape[-1]) * scale
            scores = queries @ keys[index].swapaxes(-1, -2) + hidden[:, None]
            scores -= scores.max(axis=-1, keepdims=True)
            np.exp(scores, out=scores)
            scores /= scores.sum(axis=-1, keepdims=True)
            x = x + (scores @ values[index]).reshape(len(x), -1) @ layer.output.T
            x = x + self._mlp(layer, x)
        logits: Floats = self._normed(x, self._norm) @ self._head.T
        return logits


class _Group:
    """Prompts whose replies are drawn together; shorter ones begin in a later column."""

    def __init__(self, model: Sampler, prompts: Sequence[Sequence[int]], samples: int, longest: int) -> None:
        import numpy as np

        self._model, shape = model, model.shape
        self._width = max(map(len, prompts))
        extents = (
            shape.num_hidden_layers,
            len(prompts) * samples,
            shape.key_heads,
            self._width + longest,
            shape.head_width,
        )
        self._keys, self._values = np.zeros(extents, np.float32), np.zeros(extents, np.float32)
        self._lengths = np.array([len(prompt) for prompt in prompts])
        columns = np.arange(self._width + longest)
        before = columns < (self._width - self._lengths)[:, None]
        self._hidden = np.where(before, np.float32(-np.inf), np.float32(0))[:, None]
        cache, first = Cache(shape), []
        for place, prompt in enumerate(prompts):
            keys, values, logits = model.prefill(prompt, cache)
            here = np.s_[:, place, :, self._width - len(prompt) : self._width]
            self._keys[here], self._values[here] = keys, values
            first.append(logits)
        self._logits = np.stack(first)
        self._rows = [_Row(place, (), (), (), tuple(range(samples))) for place in range(len(prompts))]

    def run(self, end: int, longest: int, rng: np.random.Generator) -> list[SampledReply]:
        """Every distinct reply; its prompt is counted within the group."""
        import numpy as np

        done: list[SampledReply] = []
        for step in range(longest):
            children = self._drawn(rng)
            parents, rows = [], []
            for parent, row in children:
                if row.tokens[-1] == end or step == longest - 1:
                    done.append(row.reply())
                else:
                    parents.append(parent)
                    rows.append(row)
            if not rows:
                break
            self._move(parents, rows, self._width + step)
            which = np.array([row.prompt for row in self._rows])
            columns = self._width + step + 1
            self._logits = self._model.advance(
                np.array([row.tokens[-1] for row in self._rows]),
                self._lengths[which] + step,
                self._hidden[which][..., :columns],
                self._keys[:, : len(which), :, :columns],
                self._values[:, : len(which), :, :columns],
            )
        return done

    def _drawn(self, rng: np.random.Generator) -> list[tuple[int, _Row]]:
        """Each row divided by what its samples draw: the row that it comes from, and the new one."""
        import numpy as np

        logits = self._logits.astype(np.float64)
        logits -= logits.max(axis=-1, keepdims=True)
        logps = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
        law = np.exp(logps)
        entropies, cumulative = -(law * logps).sum(axis=-1), np.cumsum(law, axis=-1)
        children = []
        for place, row in enumerate(self._rows):
            drawn = rng.random(len(row.samples)) * cumulative[place, -1]
            tokens = np.searchsorted(cumulative[place], drawn, side="right")
            for token in sorted(set(tokens.tolist())):
                samples = tuple(one for one, got in zip(row.samples, tokens, strict=True) if got == token)
                more = float(logps[place, token]), float(entropies[place])
                child = _Row(
                    row.prompt, (*row.tokens, token), (*row.logps, more[0]), (*row.entropies, more[1]), samples
                )
                children.append((place, child))
        return children

    def _move(self, parents: Sequence[int], rows: Sequence[_Row], columns: int) -> None:
        """Give each row a place: its parent's where it can be, so that few keys and values are copied."""
        import numpy as np

        places: list[int | None] = [None] * len(rows)
        for number, parent in enumerate(parents):
            taken = number > 0 and parents[number - 1] == parent
            if parent < len(rows) and not taken:
                places[number] = parent
        free = iter(sorted(set(range(len(rows))) - {place for place in places if place is not None}))
        final = [next(free) if place is None else place for place in places]
        moved = [(parent, place) for parent, place in zip(parents, final, strict=True) if parent != place]
        if moved:
            sources, targets = (np.array(side) for side in zip(*moved, strict=True))
            for half in (self._keys, self._values):
                half[:, targets, :, :columns] = half[:, sources, :, :columns]
        self._rows = [row for _, row in sorted(zip(final, rows, strict=True), key=lambda pair: pair[0])]
