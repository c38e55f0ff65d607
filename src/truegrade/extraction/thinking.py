"""The final channel of a reply: what is left when thinking and special tokens are taken away.

What a marker stands for is told by what stands around it, because a reply may also speak of markers:

- Between a beginning, which stands at the start of a line, behind a sentence or behind another special token, and
  the first end of its family the model thinks; where no end follows, to the end of the reply.
- An end that nothing opened closes a thought that the prompt had opened, if an answer follows. Else it is a word.
- A special token ends the reply, if an answer stands before it. Else it is a word.
- Between back-ticks on a line, and where the answer quotes it (`truegrade.extraction.quoted`), it is a word.

Of the passages outside thoughts the last that holds an answer is the final channel. Thoughts do not nest: the
first end closes one, as in SGLang's ``reasoning_parser.py`` (see `truegrade.extraction.thinking_markers`).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from enum import IntEnum
from functools import cached_property

import msgspec

from truegrade.extraction.special_tokens import BARRED, heads_end, without_special_tokens
from truegrade.extraction.thinking_markers import FAMILIES

_MARKER = re.compile(
    r"(?=<[|｜/\w]|\[[T/u]|◁|assistant[acf]|to=[su]|\A)(?:"
    + "|".join(f"(?P<b{n}>{family.begin})|(?P<e{n}>{family.end})" for n, family in enumerate(FAMILIES))
    + f"|(?P<token>{BARRED}))"
)
_WRAPPER = re.compile(r"\s*<(answer|response)>(?:[ \t]*\n)?", re.IGNORECASE)
"""DeepSeek-R1-Zero (arXiv:2501.12948, table 1) and Hunyuan-A13B put the answer between such tags."""
_WRAPPED = re.compile(r"\s*</(?:answer|response)>\s*\Z", re.IGNORECASE)
_WRAPPED_CHARS = 200
_TICKS = re.compile(r"(?<!`)`{1,2}(?!`)|\n")
_TOKEN = re.compile(BARRED)
_GOES_ON = re.compile(r"[ \t]+[a-z]|[ \t]*[,;:.)'\"]")
"""A blank and a word in lower case, or punctuation: what was named is part of a sentence."""
_MAX_QUOTED = 100
"""Markers that may be found to be quoted; those beyond count as markers."""
_MAX_LINE_START = 200
"""How far before a marker its line may begin, so that it stands at the start of one."""
_MAX_ENDS, _MAX_TOKENS, _MAX_READ = 6, 4, 16
"""Of one reply: ends that nothing opened, from the last; tokens, from the first; passages that are read."""

Quoted = Callable[[int, int], bool]
"""Whether the marker between two offsets of a reply is a part of the answer."""


class Weight(IntEnum):
    """What a passage holds."""

    NOTHING = 0
    ATTEMPT = 1
    """What was meant as an answer and cannot be read as one."""
    ANSWER = 2


Weigh = Callable[[str], Weight]


def words(text: str) -> Weight:
    """Whether a text says anything, where any words may be the answer."""
    return Weight.ANSWER if text.strip() else Weight.NOTHING


class FinalChannel(msgspec.Struct, frozen=True):
    """What a reply says once thinking is over."""

    text: str
    offset: int
    """Where ``text`` starts in the reply."""
    found: bool
    """Whether a marker told thinking from answer."""
    truncated: bool = False
    """Thinking was begun and never ended, and no answer stands before it: there is no final channel."""


def final_channel(text: str, weigh: Weigh = words, quoted: Quoted = lambda start, end: False) -> FinalChannel:
    """The last passage outside thoughts that holds an answer, without special tokens; without any, the last.

    Args:
        text: a reply.
        weigh: says what a passage holds.
        quoted: tells which markers belong to the answer; see `truegrade.extraction.quoted`.
    """
    reply = _Reply(text, weigh, quoted)
    for run in reversed(reply.runs):
        found = reply.answer_in(run)
        if found is not None:
            return found
    if reply.cut:
        return FinalChannel("", len(text), len(reply.runs) > 1, truncated=True)
    return reply.channel(reply.runs[-1][0][0], reply.runs[-1][-1][1])


def masked(text: str) -> str:
    """The text with question marks for every marker and special token."""
    return _MARKER.sub(lambda marker: "?" * len(marker.group()), text)


def thoughts_end(text: str) -> list[int]:
    """Offsets behind every marker that ends a thought, quoted or not."""
    return [marker.end() for marker in _MARKER.finditer(text) if (marker.lastgroup or "").startswith("e")]


class _Reply:
    """A reply, its passages outside thoughts, and what of them was read."""

    def __init__(self, text: str, weigh: Weigh, quoted: Quoted) -> None:
        self._text, self._weigh, self._quoted = text, weigh, quoted
        self._asked = self._read = 0
        self.cut = False
        self.runs: list[list[tuple[int, int]]] = [[]]
        """Passages outside thoughts: thoughts stand between runs, ends that nothing opened inside a run."""
        self._tokens: list[tuple[int, int]] = []
        self._words: list[int] = []
        """Where markers end that are words."""
        self._find_passages()

    def answer_in(self, run: list[tuple[int, int]]) -> FinalChannel | None:
        """The passage of a run that holds the answer, the last first; None without any."""
        last = len(run) - 1
        for k in range(last, max(-1, last - _MAX_ENDS), -1):
            rest, weight = self._weighed(run[k][0], run[last][1])
            if weight is Weight.ANSWER:
                return rest
            if k < last:
                alone, answered = self._weighed(*run[k])
                if answered is Weight.ANSWER:
                    return alone
            if weight:
                return rest
        return None

    def channel(self, start: int, end: int) -> FinalChannel:
        """A passage, without the tokens and the tags around it."""
        text, found = self._text, start > 0
        start = heads_end(text, start, end)
        if (tag := _WRAPPER.match(text, start, end)) is not None:
            start = tag.end()
        word = max((to for to in self._words if start < to <= end), default=start)
        said = text[start:word] + without_special_tokens(text[word:end])
        wrapped = _WRAPPED.search(said, max(0, len(said) - _WRAPPED_CHARS))
        return FinalChannel(said[: wrapped.start()] if wrapped else said, start, found)

    def _weighed(self, start: int, end: int) -> tuple[FinalChannel, Weight]:
        """A passage, up to the first token that an answer stands before, and what it holds."""
        within = [token for token in self._tokens if start <= token[0] < end]
        for at, _ in within[:_MAX_TOKENS]:
            before = self.channel(start, at)
            if weight := self._weight(before.text):
                return before, weight
        whole = self.channel(start, end)
        return whole, self._weight(whole.text)

    def _weight(self, text: str) -> Weight:
        self._read += 1
        if not text.strip() or self._read > _MAX_READ:
            return Weight.NOTHING
        return self._weigh(text)

    def _find_passages(self) -> None:
        start, thinking = 0, ""
        for marker in _MARKER.finditer(self._text):
            at, end = marker.span()
            kind, family = (marker.lastgroup or "")[0], (marker.lastgroup or "")[1:]
            if thinking:
                if kind == "e" and family == thinking and not self._is_word(at, end):
                    start, thinking = end, ""
                    self.runs.append([])
            elif self._is_word(at, end):
                self._words.append(end)
            elif kind == "b" and self._opens(start, at, end):
                self._keep(start, at)
                thinking = family
            elif kind == "e":
                self._keep(start, at, blank=False)
                start = end
            elif _TOKEN.match(marker.group()):
                self._tokens.append((at, end))
        self.cut = bool(thinking)
        if not thinking:
            self._keep(start, len(self._text))

    def _keep(self, start: int, end: int, *, blank: bool = True) -> None:
        """Take a passage into the run; one without words only where the run would stay empty."""
        if self._text[start:end].strip() or (blank and not self.runs[-1]):
            self.runs[-1].append((start, end))

    def _opens(self, start: int, at: int, end: int) -> bool:
        """Whether a beginning stands where one is written: first of its passage or line, or behind a special token
        or a sentence, which no word behind it goes on with."""
        before = self._text[max(start, at - _MAX_LINE_START) : at].rstrip(" \t")
        line = before[before.rfind("\n") + 1 :]
        if not without_special_tokens(line) or line.endswith(("|>", "｜>")):
            return True
        return line[-1] in ".!?…" and _GOES_ON.match(self._text, end) is None

    def _is_word(self, at: int, end: int) -> bool:
        spans = self._code_spans
        place = bisect_right(spans, (at, end)) - 1
        if place >= 0 and spans[place][1] >= end:
            return True
        self._asked += 1
        return self._asked <= _MAX_QUOTED and self._quoted(at, end)

    @cached_property
    def _code_spans(self) -> list[tuple[int, int]]:
        """Between which offsets one or two back-ticks of a line quote; three or more are a fence."""
        spans: list[tuple[int, int]] = []
        opened: dict[str, int] = {}
        for mark in _TICKS.finditer(self._text):
            if (ticks := mark.group()) == "\n":
                opened = {}
            elif (start := opened.pop(ticks, None)) is None:
                opened[ticks] = mark.end()
            else:
                spans.append((start, mark.start()))
                opened = {}
        return spans
