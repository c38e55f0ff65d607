"""Lessons as tokens for a transformers model, and the batches in which they are learned."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any, NamedTuple

from truegrade.apps.evolve.training.lessons import Lesson, TrainingOrder
from truegrade.errors import UserError
from truegrade.models.transformers_local import prompt_text, text_tokens

_WINDOW = 8
"""Batches' worth of lessons that are sorted by length together."""


class TokenizedLesson(NamedTuple):
    """One lesson in tokens."""

    tokens: tuple[int, ...]
    learned_from: int
    """Place of the first token that is learned."""
    cut: bool

    @property
    def learned(self) -> int:
        """How many tokens are learned."""
        return max(0, len(self.tokens) - self.learned_from)


def encode(lesson: Lesson, order: TrainingOrder, tokenizer: Any, end: int) -> TokenizedLesson:
    """The lesson as the model would have written it: the prompt's tokens, the reply's, and the end.

    The reply is tokenised behind the prompt, unless that would change the prompt's own last token: then apart.

    Args:
        lesson: prompt and reply.
        order: what is learned, and how many tokens there may be.
        tokenizer: of the model.
        end: the token that ends a reply.

    Raises:
        UserError: the prompt is a conversation and the model has no chat template.
    """
    text = prompt_text(tokenizer, lesson.prompt, order.base)
    prompt = text_tokens(tokenizer, lesson.prompt, text)
    tokens = text_tokens(tokenizer, lesson.prompt, text + lesson.reply)
    if tokens[: len(prompt)] != prompt:
        tokens = [*prompt, *tokenizer(lesson.reply, add_special_tokens=False)["input_ids"]]
    tokens = [*tokens, end]
    learned_from = 1 if order.loss_on == "all" else len(prompt)
    return TokenizedLesson(tuple(tokens[: order.longest]), learned_from, len(tokens) > order.longest)


def batches(lengths: Sequence[int], size: int, seed: int, epoch: int) -> list[list[int]]:
    """One epoch: every example once, batches of like lengths, in an order that seed and epoch decide.

    Args:
        lengths: tokens of each example.
        size: examples of a batch; the last of a window may be smaller.
        seed: of the training.
        epoch: from 0.
    """
    rng = random.Random(f"{seed} {epoch}")
    places = rng.sample(range(len(lengths)), len(lengths))
    cut: list[list[int]] = []
    for begin in range(0, len(places), size * _WINDOW):
        window = sorted(places[begin : begin + size * _WINDOW], key=lengths.__getitem__)
        cut.extend(window[start : start + size] for start in range(0, len(window), size))
    rng.shuffle(cut)
    return cut


def learning_rate(step: int, steps: int, most: float) -> float:
    """Linear warm-up over min(20, steps // 4) steps, then linear decay to 0, as transformers' Trainer has it.

    The warm-up's length is skishore23/coralx@fd75b33's. Unlike there, the first step already learns.

    Args:
        step: from 0.
        steps: of the whole training.
        most: the largest rate.
    """
    warm = min(20, steps // 4)
    return most * ((step + 1) / warm if step < warm else (steps - step) / (steps - warm))


def steps_of(examples: int, size: int, epochs: int) -> int:
    """Optimiser steps of a training."""
    return epochs * math.ceil(examples / size)


def usable(examples: Sequence[TokenizedLesson], longest: int) -> list[TokenizedLesson]:
    """Those with something to learn.

    Raises:
        UserError: there is none.
    """
    kept = [example for example in examples if example.learned]
    if not kept:
        raise UserError(
            f"nothing can be learned from {len(examples)} lessons within {longest} tokens: the prompts alone are"
            " longer; raise `longest`"
        )
    return kept
