"""The final channel of a reply: what is left when thinking and special tokens are taken away.

What a marker stands for is told by what stands around it, because a reply may also speak of markers:

- Between a beginning, which stands at the start of a line, behind a sentence or behind another special token, and
  the first end of its family the model thinks; where no end follows, to the end of the reply.
- An end that nothing opened closes a thought that the prompt had opened, if an answer follows. Else it is a word.
- A special token ends the reply, if an answer stands before it. Else it is a word.
- Between back-ticks on a line, and where the answer quotes it (`truegrade.extraction.blocks`), it is a word.

Of the passages outside thoughts the last that holds an answer is the final channel. Thoughts do not nest: the
first end closes one, as in SGLang's ``reasoning_parser.py`` (see the markers below).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple

import msgspec

from truegrade.patterns import pattern

# ----------------------------------------------------------------------------------------------------------------
# The markers between which models think, and where each is documented: the one table that every extraction reads.
# A repository is given with the commit at which a file of it was read. Families that write markers of others need
# no row: Qwen 3, GLM 4.5 to 4.7, Kimi K2 Thinking, MiniMax M1 and M2, DeepSeek V3.1 to V4, Nemotron, OLMo 3,
# ERNIE 4.5, EXAONE 4, Phi-4-reasoning, Step 3, MiMo and Granite 4 think between the tags of DeepSeek-R1. Granite
# 3.2 says "Here is my thought process:", which any model may say in prose, so it is not read as a marker.


_SGLANG = "sgl-project/sglang@002e9bf python/sglang/srt/parser/reasoning_parser.py"
_VLLM = "vllm-project/vllm"
_OPEN_WEBUI = "open-webui/open-webui@000032e backend/open_webui/utils/middleware.py DEFAULT_REASONING_TAGS"


class Family(NamedTuple):
    """How models of one family mark what they think."""

    begin: str
    """Pattern of what opens a thought."""
    end: str
    """Pattern of what closes it."""
    source: str


def _between(begin: str, end: str, source: str) -> Family:
    return Family(re.escape(begin), re.escape(end), source)


_TAGS = {
    "think": f"DeepSeek-R1 and most others: {_SGLANG} DeepSeekR1Detector",
    "thinking": f"models told to think so in their prompt: {_OPEN_WEBUI}",
    "thought": f"EXAONE Deep: {_OPEN_WEBUI}",
    "reason": f"fine-tunes: {_OPEN_WEBUI}",
    "reasoning": f"Reka Flash 3: {_OPEN_WEBUI}",
    "seed:think": f"Seed-OSS: {_VLLM}@7a3bde4 vllm/reasoning/seedoss_reasoning_parser.py",
    "mm:think": f"MiniMax-M3: {_SGLANG} MiniMaxM3Detector",
    "longcat_think": f"LongCat: {_VLLM}@86c6857 vllm/reasoning/longcat_reasoning_parser.py",
    "think:opensource": f"Hunyuan: {_SGLANG} HunyuanDetector, which takes the name from the tokenizer",
    "ifm|think": f"K2 Horizon: {_VLLM}@90fb4ad vllm/reasoning/k2_horizon_reasoning_parser.py",
    "ifm|think_fast": "K2 Horizon, as above",
    "ifm|think_faster": "K2 Horizon, as above",
}
_NAMES = "|".join(map(re.escape, sorted(_TAGS, key=len, reverse=True)))

FAMILIES: tuple[Family, ...] = (
    # One family: a thought that one of these tags opens, a model may close with another of them.
    Family(f"(?i:<(?:{_NAMES})>)", f"(?i:</(?:{_NAMES})>)", "; ".join(_TAGS.values())),
    Family(
        r"(?:<\|start\|>assistant)?<\|channel\|>(?:analysis|commentary)(?:[^<\n]|<\|constrain\|>){0,200}<\|message\|>"
        r"|(?:<\|start\|>assistant)?<\|channel\|>(?:analysis|commentary)"
        r"|(?:\A\s*|assistant)(?:analysis|commentary)(?=[A-Za-z\"'`*#])",
        r"(?:<\|start\|>assistant)?<\|channel\|>final\s*(?:<\|constrain\|>[^<\n]{0,200})?<\|message\|>"
        r"|assistantfinal",
        "gpt-oss: openai/harmony@20cd04c docs/format.md; decoded without its special tokens the same channels read"
        " analysis...assistantfinal...",
    ),
    Family(
        r"<\|channel>(?:thought\b)?",
        r"<channel\|>",
        f"Gemma 4: ggml-org/llama.cpp@75f1ba7 models/templates/gemma4.jinja; {_SGLANG} Gemma4Detector",
    ),
    _between(
        "<|START_THINKING|>",
        "<|END_THINKING|>",
        f"Cohere Command: {_VLLM}@01e4fce vllm/reasoning/cohere_command_reasoning_parser.py",
    ),
    _between("[THINK]", "[/THINK]", f"Magistral and later Mistral models: {_SGLANG} MistralDetector"),
    _between("◁think▷", "◁/think▷", f"Kimi-VL, Kimi-Dev: {_SGLANG} KimiDetector"),
    Family(
        r"<\|open\|>think<\|sep\|>",
        r"<\|close\|>think<\|sep\|>(?:\s*<\|open\|>response<\|sep\|>)?|<\|open\|>response<\|sep\|>",
        f"Kimi K3: {_SGLANG} KimiK3Detector",
    ),
    _between(
        "<|inner_prefix|>",
        "<|inner_suffix|>",
        f"Apertus: {_VLLM}@23232cf vllm/reasoning/apertus_reasoning_parser.py",
    ),
    _between(
        "<|think:start|>",
        "<|think:end|>",
        f"Solar Open 2: {_VLLM}@c6cdf91 vllm/reasoning/solar_open2_reasoning_parser.py",
    ),
    _between(
        "<|think|>",
        "<|content|>",
        "Solar Open: its chat template, see ggml-org/llama.cpp@8056196 common/chat-diff-analyzer.cpp",
    ),
    _between("<|content_thinking|>", "<|content_text|>", f"Inkling: {_SGLANG} InklingDetector"),
    _between(
        "<|plamo:begin_think:plamo|>",
        "<|plamo:end_think:plamo|>",
        f"PLaMo 3: {_VLLM}@3febd52 vllm/reasoning/plamo3_reasoning_parser.py",
    ),
    Family(
        r"(?:<\|start\|>\s*assistant[ \t]*)?to=self<\|message\|>",
        r"(?:<\|start\|>\s*assistant[ \t]*)?to=user<\|message\|>",
        f"Muse Glimmer: {_VLLM}@451e84d vllm/reasoning/muse_glimmer_utils.py",
    ),
    _between("[unused16]", "[unused17]", f"Pangu: {_VLLM}@4ade7b8 vllm/reasoning/pangu_reasoning_parser.py"),
    _between("<|begin_of_thought|>", "<|end_of_thought|>", f"OpenThoughts: {_OPEN_WEBUI}"),
)


# --------------------------- Special tokens of tokenizers, where a reply was decoded without leaving them out.
# Their form is looked for, not a list: ``<|eot|>`` of Llama 4, ``<|END_TEXT|>`` of Cohere, ``<turn|>`` of Gemma
# 4, ``<｜end▁of▁sentence｜>`` of DeepSeek. No Python holds this form but in texts and comments.


BARRED = r"<[|｜][\w▁ :]{1,40}[|｜]?>|<[\w▁:]{1,40}[|｜]>|\[\|[\w▁ :]{1,40}\|\]"
"""Pattern of tokens that are nothing else, wherever they stand."""
NAMED = (
    r"s|bos|eos|pad|unk|mask|sep|cls|eod|eo[abhmpt]|EO[DST]|PAD|UNK|end|_end|endoftext|end_of_(?:text|turn|utterance)"
    r"|file_sep|EOS_TOKEN|seed:eos|fim_(?:pad|middle|prefix|suffix)|reserved_\d{1,4}|extra_id_\d{1,3}|unused\d{1,4}|SPECIAL_\d{1,4}"
    r"|issue_(?:start|comment|closed)|jupyter_\w{1,12}|reponame|gh_stars|empty_output|PRE|SUF|MID"
)
"""Names between angles: of Llama 2, Mistral and T5 (``<unk>``, ``<pad>``), Gemma, StarCoder, InternLM (``<eoa>``),
MOSS (``<eom>``), ChatGLM (``<eop>``), TeleChat (``<_end>``), Baichuan (``<reserved_106>``) and others."""
_LAST = pattern(
    rf"(?:{BARRED}|</s>|▁?<(?:{NAMED})>|\[EO[ST]\]|\[(?:gMASK|unused\d{{1,3}})\]|\[e~\[|\|ENDOFTEXT\|)\Z"
)
"""The others, of tokenizers without bars, are taken for tokens at the end of a text alone."""
_LONGEST = 46
_HEADS = pattern(rf"\s*(?:(?:{BARRED}|<(?:s|bos)>)(?:(?:assistant|model)(?=\s*(?:\n|<[|｜])))?\s*?\n?)+")


def without_special_tokens(text: str) -> str:
    """A text without the special tokens at its end and the white space around those."""
    end = at = len(text)
    while True:
        while at and text[at - 1].isspace():
            at -= 1
        first = max(0, at - _LONGEST)
        token = _LAST.search(text[first:at])
        if token is None:
            return text[:end]
        at = end = first + token.start()
        while end and text[end - 1].isspace():
            end -= 1


def heads_end(text: str, start: int, end: int) -> int:
    """Where the special tokens that a passage begins with end, with the name of the speaker among them."""
    heads = _HEADS.match(text, start, end)
    return heads.end() if heads else start


def reply_behind(query: str, prompt: str) -> str | None:
    """What stands behind the prompt in a query, without the special tokens at its end; None where it is not found.

    In front of the prompt a tokenizer may have put a token for the beginning.
    """
    at = query.find(prompt)
    if at < 0 or (at > 0 and without_special_tokens(query[:at]).strip()):
        return None
    return without_special_tokens(query[at + len(prompt) :])


_SIGNS = r"<[|｜/\w]|\[[T/u|]|◁|assistant[acf]|to=[su]"
"""With what every marker begins, but for one at the start of a reply."""
_SIGN = pattern(rf"{_SIGNS}|\A\s*(?:analysis|commentary)")
_MARKER = pattern(
    rf"(?={_SIGNS}|\A)(?:"
    + "|".join(f"(?P<b{n}>{family.begin})|(?P<e{n}>{family.end})" for n, family in enumerate(FAMILIES))
    + f"|(?P<token>{BARRED}))"
)
_WRAPPER = pattern(r"\s*<(answer|response)>(?:[ \t]*\n)?", re.IGNORECASE)
"""DeepSeek-R1-Zero (arXiv:2501.12948, table 1) and Hunyuan-A13B put the answer between such tags."""
_WRAPPED = pattern(r"\s*</(?:answer|response)>\s*\Z", re.IGNORECASE)
_WRAPPED_CHARS = 200
_TICKS = pattern(r"(?<!`)`{1,2}(?!`)|\n")
_TOKEN = pattern(BARRED)
_GOES_ON = pattern(r"[ \t]+[a-z]|[ \t]*[,;:.)'\"]")
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
        quoted: tells which markers belong to the answer; see `truegrade.extraction.blocks`.
    """
    reply = _Reply(text, weigh, quoted)
    for run in reversed(reply.runs):
        found = reply.answer_in(run)
        if found is not None:
            return found
    if reply.cut:
        return FinalChannel("", len(text), len(reply.runs) > 1, truncated=True)
    return reply.channel(reply.runs[-1][0][0], reply.runs[-1][-1][1])


def thoughts_across(text: str, quoted: Quoted) -> tuple[str, str]:
    """The families of a thought begun before the text and of one that goes on behind it; empty for none."""
    reply = _Reply(text, words, quoted)
    return reply.ended, reply.cut


def masked(text: str) -> str:
    """The text with question marks for every marker and special token."""
    return _MARKER.sub(lambda marker: "?" * len(marker.group()), text) if _SIGN.search(text) else text


def thoughts_end(text: str) -> list[int]:
    """Offsets behind every marker that ends a thought, quoted or not."""
    return [marker.end() for marker in _markers(text) if (marker.lastgroup or "").startswith("e")]


def _markers(text: str) -> Iterator[re.Match[str]]:
    """Every marker and special token. Their pattern takes 14 ms to compile, which a text without any is spared."""
    first = _SIGN.search(text)
    return iter(()) if first is None else _MARKER.finditer(text, first.start())


class _Reply:
    """A reply, its passages outside thoughts, and what of them was read."""

    def __init__(self, text: str, weigh: Weigh, quoted: Quoted) -> None:
        self._text, self._weigh, self._quoted = text, weigh, quoted
        self._asked = self._read = 0
        self.cut = ""
        """The family of a thought that nothing ends."""
        self.ended = ""
        """That of an end that no beginning stands before."""
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
        for marker in _markers(self._text):
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
                self.ended = self.ended or (family if len(self.runs) == 1 else "")
                self._keep(start, at, blank=False)
                start = end
            elif _TOKEN.match(marker.group()):
                self._tokens.append((at, end))
        self.cut = thinking
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
        if not without_special_tokens(line) or line.endswith(("|>", "｜>", "|]")):
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
