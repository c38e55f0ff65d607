"""What stands between two marks of a reply: ``[ANSWER]``, MBPP's, those of one-line patterns, quoted ones.

``[ANSWER] ... [/ANSWER]`` blocks of a reply.

Fenced code blocks as models write them, and completions that go on where a prompt's code ends.

The rules of fences are those of CommonMark 0.31 section 4.5 (three or more back-ticks or tildes, closed by as
many or more) loosened where a stricter reading loses code: any indentation, an opening fence behind prose, a
closing fence behind the last line of code, a block on one line, and no closing fence at all.
"""

from __future__ import annotations

import ast
import html
import re
import textwrap
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import islice

import msgspec

from truegrade.extraction.definitions import implements, returns, without_prose
from truegrade.extraction.equalities import expression_ends
from truegrade.extraction.parsing import MAX_SOURCE_CHARS, Fault, Parser
from truegrade.extraction.thinking import (
    BARRED,
    NAMED,
    FinalChannel,
    Quoted,
    Weigh,
    Weight,
    final_channel,
    masked,
    thoughts_end,
    without_special_tokens,
)
from truegrade.patterns import pattern
from truegrade.records import Answer, Reason

# --------------------------------- Completions of base models: text that goes on where the prompt's code ends.
# Whatever human-eval's plain concatenation accepts is kept whole (openai/human-eval ``human_eval/execution.py``
# @6d43fb9: ``prompt + completion + "\n" + test``). Only where that does not compile is the text re-indented, or
# cut at the first line that cannot be kept.

_MAX_CUTS = 40
_CODE_LINE = pattern(r"^([ \t]+)\S", re.MULTILINE)
_WRAPS = "code|python|solution|program|completion"
"""Names between which models that were told to put their program: ``<code>``, ``[CODE]``."""
_WRAP_END = rf"(?:</(?i:{_WRAPS})>|\[/(?:{_WRAPS.upper()})\])(?=(?:[ \t]*</\w{{1,20}}>){{0,3}}[ \t]*\r?$)"
_STOP_TOKEN = pattern(
    rf"{BARRED}|</s>|<file_sep>|<eos>|(?<![\"'`])▁?<(?:{NAMED})>(?=\s*(?:\n|<|\Z))|{_WRAP_END}", re.MULTILINE
)


def continues(
    parser: Parser, text: str, entry_point: str, prefix: str, *, may_be_prose: bool = False
) -> str | None:
    """The text, re-indented if need be, with which ``prefix`` compiles and gives the entry point a body.

    Args:
        parser: pays for the reading.
        text: what follows the prefix.
        entry_point: function that the prefix begins.
        prefix: trusted code.
        may_be_prose: ask for a ``return`` or ``yield``, since one word of prose also is a body.
    """
    for candidate in _indentations(text, prefix):
        tree = parser.module(prefix + candidate)
        if isinstance(tree, ast.Module) and implements(tree, entry_point):
            if may_be_prose and not returns(tree, entry_point):
                continue
            return _clean(prefix, candidate, tree)
    return None


def continues_up_to_garbage(parser: Parser, text: str, entry_point: str, prefix: str) -> str | None:
    """Like `continues`, but of the text only the first lines, as many as compile."""
    for candidate in _indentations(text, prefix):
        start = longest_start(parser, candidate[: MAX_SOURCE_CHARS - len(prefix)], after=prefix)
        if start is not None and implements(start.tree, entry_point):
            return _clean(prefix, start.source, start.tree)
    return None


class Start(msgspec.Struct, frozen=True):
    """The first lines of a text that compile, and the tree of them (with what they stand behind)."""

    source: str
    tree: ast.Module

    @property
    def lines(self) -> int:
        """Number of lines kept."""
        return self.source.count("\n") + 1


def longest_start(parser: Parser, text: str, *, after: str = "") -> Start | None:
    """The longest run of first lines of the text that compiles behind ``after``; None if not one line does.

    Python reports the first token with which no program can go on, so cutting before its line mostly succeeds at
    once; a statement left incomplete by the cut is dropped line by line. A backslash that nothing follows is
    dropped alone: its line may be all there is.
    """
    if (bare := text.rstrip()).endswith("\\"):
        text = bare[:-1].rstrip()
    lines, line_before = text.split("\n"), after.count("\n")
    for _ in range(_MAX_CUTS):
        source = "\n".join(lines)
        result = parser.module(after + source)
        if not isinstance(result, Fault):
            return Start(source, result)
        keep = min(len(lines) - 1, max(0, result.line - line_before - 1))
        while keep > 0 and not lines[keep - 1].strip():
            keep -= 1
        if keep <= 0:
            return None
        del lines[keep:]
    return None


def without_stop_token(text: str) -> str:
    """The text before the first stop token that a tokenizer wrote out."""
    return _STOP_TOKEN.split(text, maxsplit=1)[0]


def _indentations(text: str, prefix: str) -> Iterator[str]:
    """The text as it is; then with only its first line moved; then all of it moved to the prefix's indentation.

    Chat services strip replies, which takes the first line's indentation away.
    """
    yield text
    inner = _CODE_LINE.findall(prefix)
    indent = inner[-1] if inner else "    "
    start = "" if not prefix or prefix.endswith("\n") else "\n"
    body = text.lstrip("\n")
    if body[:1] not in {" ", "\t"}:
        yield start + indent + body
    first, newline, rest = body.partition("\n")
    level = textwrap.dedent(body) if first[:1] in {" ", "\t"} else first + newline + textwrap.dedent(rest)
    for flat in dict.fromkeys((textwrap.dedent(body), level)):
        yield start + textwrap.indent(flat, indent)


def _clean(prefix: str, text: str, tree: ast.Module) -> str:
    """The text without words at module level behind the prefix."""
    return without_prose(prefix + text, tree, prefix.count("\n") + 1)[len(prefix) :]


_OPENING = pattern(r"([ \t>]*)(.*?)(`{3,}|~{3,})[ \t]*(\{?\.?[\w+#.-]*\}?)([^`\n]*)\Z", re.DOTALL)
_ONE_LINE = pattern(r"[ \t]*(`{3,})([^`]+)\1[ \t\r]*\Z")
_LANGUAGES = frozenset({"python", "py", "python3", "python2", "py3"})
_HTML = pattern(r"<pre\b[^<>]{0,200}>[ \t]*<code\b[^<>]{0,200}>(?:[ \t]*\n)?", re.IGNORECASE)
_HTML_END = pattern(r"</code>", re.IGNORECASE)
_WRAPPED = pattern(
    rf"^[ \t]*(?P<opens>(?:<(?i:{_WRAPS})>|\[(?:{_WRAPS.upper()})\]){{1,3}})(?:[ \t]*\r?\n)?|{_WRAP_END}",
    re.MULTILINE,
)
_LAST_LINE = pattern(r"(?:^|(?<=\n))[ \t]{0,20}\[EO[ST]\]\s{0,9}\Z")
_FENCE_LINE = pattern(
    r"^[ \t]*(?:`{3,}|~{3,})[ \t]*[\w+#.{}-]{0,40}[ \t\r]*$"
    rf"|{_WRAP_END}(?=(?:\s*</\w{{1,20}}>){{0,3}}\s*\Z)",
    re.MULTILINE,
)
_GLUED = pattern(
    r"^([ \t>]{0,20}(?:`{3,20}|~{3,20}))(?:[ \t]{0,4}[<\[?]|[ \t]{1,4}\w{1,30}[.!:,; \t])[^\n]*", re.MULTILINE
)
"""A fence, and behind it a sentence, a token, or a mark in question marks."""
_MAX_MARK_LINE = 300
"""A longer line is not taken for a fence; keeps hostile lines cheap."""


class Fence(msgspec.Struct, frozen=True):
    """One fenced block. ``text[start:end]`` is its content as it stands, indentation included."""

    language: str
    """First word of the info string, in lower case; often empty."""
    code: str
    """The content, less the indentation of the opening fence, with its last newline."""
    start: int
    end: int
    closed: bool


def fenced_blocks(text: str) -> list[Fence]:
    """All fenced blocks in order. Offsets are into ``text``; nothing raises; the time is linear."""
    if "```" not in text and "~~~" not in text:
        return []
    return list(_blocks(text))


def fences_of_masked(text: str) -> list[Fence]:
    """The fenced blocks of a text whose marks are question marks; a fence may end with more on its line there."""

    def parted(line: re.Match[str]) -> str:
        behind = line[0][len(line[1]) :]
        # The next turn's fence may begin on this line.
        return f"{line[1]}\n{behind[1:]}" if "```" in behind else line[1] + " " * len(behind)

    return fenced_blocks(_GLUED.sub(parted, text))


def code_blocks(parser: Parser, text: str) -> list[Fence]:
    """The fenced blocks; without any, those in HTML's ``<pre><code>``, or between ``<code>``, ``[CODE]`` and the
    like, unless the text itself is Python."""
    fenced = fenced_blocks(text)
    blocks = _html_blocks if _HTML.search(text) else _wrapped_blocks if _WRAPPED.search(text) else None
    if fenced or blocks is None or isinstance(parser.module(text), ast.Module):
        return fenced
    return list(blocks(text))


def without_edges(text: str) -> str:
    """A completion less a tag such as ``[PYTHON]`` in front and an ``[EOS]`` at its end, which both are Python."""
    opened = _WRAPPED.match(text, len(text) - len(text.lstrip()))
    text = text[opened.end() :] if opened and opened["opens"] else text
    return _LAST_LINE.sub("", text)


def without_fence_lines(text: str) -> str:
    """The text with every line that only opens or closes a fence made empty, less such tags as ``</code>`` at its
    end."""
    return _FENCE_LINE.sub("", text)


def _html_blocks(text: str) -> Iterator[Fence]:
    opened = _HTML.search(text)
    while opened is not None:
        closing = _HTML_END.search(text, opened.end())
        end = closing.start() if closing else len(text)
        code = text[opened.end() : end]
        # Models also write code there as it is; what holds a `<` was not escaped.
        plain = code if "<" in code else html.unescape(code)
        yield Fence("", f"{plain}\n", opened.end(), end, closed=closing is not None)
        opened = _HTML.search(text, end)


def _wrapped_blocks(text: str) -> Iterator[Fence]:
    """What stands between tags; an end that nothing opened ends what began with the text, which may be prose."""
    start: int | None = 0
    opened = False
    for tag in _WRAPPED.finditer(text):
        if tag["opens"]:
            start, opened = tag.end(), True
        elif start is not None:
            yield Fence("", f"{text[start : tag.start()]}\n", start, tag.start(), closed=opened)
            start, opened = None, False
    if opened and start is not None:
        yield Fence("", text[start:], start, len(text), closed=False)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield start, text[start:end]
        start = end


def _blocks(text: str) -> Iterator[Fence]:
    mark, indent, language, content = "", "", "", 0
    for start, line in _lines(text):
        if not mark:
            if (single := _on_one_line(line, start)) is not None:
                yield single
            elif (opening := _opening(line)) is not None:
                indent, mark, language = opening
                content = start + len(line)
        elif (kept := _closing(line, mark)) is not None:
            end = start + kept
            yield Fence(language, _outdent(text[content:end], indent), content, end, closed=True)
            mark = ""
    if mark:
        yield Fence(language, _outdent(text[content:], indent), content, len(text), closed=False)


def _opening(line: str) -> tuple[str, str, str] | None:
    """Indentation, fence and language of a line that opens a block."""
    if len(line) > _MAX_MARK_LINE or ("```" not in line and "~~~" not in line):
        return None
    match = _OPENING.match(line.rstrip())
    if match is None:
        return None
    indent, before, mark, language, info = match.groups()
    if before and (mark[0] == "~" or info.strip() or before.endswith("`")):
        return None
    return indent, mark, language.strip("{}.").lower()


def _closing(line: str, mark: str) -> int | None:
    """How many characters of the line belong to the block that this line closes; None if it closes nothing."""
    bare = line.rstrip()
    if not bare.endswith(mark):
        return None
    before = bare.rstrip(mark[0])
    if not before.strip(" \t>"):
        return 0
    return len(before) if mark[0] not in before else None  # `return x` with the fence behind it


def _on_one_line(line: str, start: int) -> Fence | None:
    if len(line) > _MAX_MARK_LINE or "```" not in line:
        return None
    match = _ONE_LINE.match(line.rstrip("\n"))
    if match is None:
        return None
    first, _, rest = match.group(2).strip().partition(" ")
    language, code = (first.lower(), rest) if first.lower() in _LANGUAGES else ("", match.group(2).strip())
    return Fence(language, code + "\n", start + match.start(2), start + match.end(2), closed=True)


def _outdent(code: str, indent: str) -> str:
    """The code less up to ``len(indent)`` leading blanks (or quote marks) of each line."""
    if not indent:
        return code
    blank = r"[ \t>]" if ">" in indent else r"[ \t]"
    return re.sub(rf"^{blank}{{1,{len(indent)}}}", "", code, flags=re.MULTILINE)


# -------------------------------------- Code that stands in a reply without any fence, between lines of prose.


_MAX_LINES = 2_000
"""Lines of one run of code; a longer one is read in pieces."""

_STARTS_CODE = pattern(
    r"([ \t]*)(?:import\s+\w|from\s+[\w.]+\s+import\b|def\s+\w|async\s+def\s|class\s+\w|@\w"
    r"|[A-Za-z_]\w*+(?:[ \t]*+:[^=\n]++)?[ \t]*+=[^=])"
)


def unfenced_program(parser: Parser, text: str, entry_point: str) -> str | None:
    """All runs of lines that are code, joined, if they define the entry point.

    A run begins with an import, a definition, a decorator or an assignment and goes on as long as it compiles;
    prose does not, and lines of a doctest (``>>>``) begin none.
    """
    if entry_point not in text:
        return None
    program = "\n".join(_runs(parser, text))
    tree = parser.module(program)
    if not isinstance(tree, ast.Module) or not implements(tree, entry_point):
        return None
    return without_prose(program, tree)


def _runs(parser: Parser, text: str) -> Iterator[str]:
    lines = text.split("\n")
    at = 0
    while at < len(lines) and parser.chars_left > 0:
        start = _STARTS_CODE.match(lines[at])
        if start is None:
            at += 1
            continue
        window = _window(lines, at, start.group(1))
        run = longest_start(parser, window)
        if run is None:
            at += 1
            continue
        yield run.source.rstrip() + "\n"
        at += run.lines


def _window(lines: list[str], at: int, indent: str) -> str:
    """The lines from ``at`` on, as far as they are indented like it, less that indentation."""
    end = min(len(lines), at + _MAX_LINES)
    if indent:
        end = next((i for i in range(at, end) if lines[i].strip() and not lines[i].startswith(indent)), end)
    window = "\n".join(lines[at:end])[:MAX_SOURCE_CHARS]
    return textwrap.dedent(window) if indent else window


_TAG = pattern(r"\[(/?)ANSWER\]|\[PYTHON\]", re.IGNORECASE)
_CUT_TAG = pattern(r"\[(?:/(?:A(?:N(?:S(?:W(?:ER?)?)?)?)?)?)?\Z", re.IGNORECASE)

KEPT_FIRST, KEPT_LAST = 100, 400
"""Of more blocks than this only the first and the last are read: a reply with so many is broken output."""


class Block(msgspec.Struct, frozen=True):
    """The text between two tags, and how many ``[PYTHON]`` tags stand before it."""

    text: str
    example: int
    found: str = "block"
    """``open_block`` where nothing closes it."""


class AnswerBlocks(msgspec.Struct, frozen=True):
    """The blocks of a reply. ``open`` is the text behind a last tag that nothing closes, else empty."""

    closed: tuple[Block, ...]
    open: str
    examples: int = 0
    """``[PYTHON]`` tags in all."""

    def parts(self) -> list[Block]:
        """All blocks in order; one that is left open is the last."""
        left_open = [Block(self.open, self.examples, "open_block")] if self.open.strip() else []
        return [*self.closed, *left_open]


def holds_tag(text: str) -> bool:
    """Whether a tag stands in a text."""
    return _TAG.search(text) is not None


def answer_blocks(text: str, quoted: Sequence[tuple[int, int]] = ()) -> AnswerBlocks:
    """Find the blocks of a text; tags in any case; of several opening tags in a row the last one counts.

    Tags inside the stretches ``quoted`` are none.

    A closing tag without an opening one closes a block that began with the text: CRUXEval's prompts end with an
    open ``[ANSWER]``.
    """
    spans: list[tuple[int, int, int]] = []
    start: int | None = 0
    opened, example = False, 0
    for tag in _TAG.finditer(text):
        if any(first <= tag.start() < last for first, last in quoted):
            continue
        if tag.group(1) is None:
            example += 1
        elif not tag.group(1):
            start, opened = tag.end(), True
        elif start is not None:
            spans.append((start, tag.start(), example))
            start, opened = None, False
    kept = spans if len(spans) <= KEPT_FIRST + KEPT_LAST else spans[:KEPT_FIRST] + spans[-KEPT_LAST:]
    closed = tuple([Block(text[first:last], example) for first, last, example in kept])
    left = _CUT_TAG.sub("", text[start:].rstrip()) if opened and start is not None else ""
    return AnswerBlocks(closed, left, example)


# -------------------------------------- What stands between two marks, as published one-line patterns find it.


def spans(text: str, opening: str | re.Pattern[str], closing: str) -> list[str]:
    """What ``re.findall(OPENING(.*?)CLOSING, DOTALL)`` finds, in linear time.

    Args:
        text: to be searched.
        opening: a text, or a pattern that is searched in linear time and has no lookbehind.
        closing: a text.
    """
    pattern = re.compile(re.escape(opening)) if isinstance(opening, str) else opening
    found: list[str] = []
    position = 0
    while (opened := pattern.search(text, position)) is not None:
        # Where nothing closes this one, nothing closes a later one.
        if (end := text.find(closing, opened.end())) < 0:
            break
        found.append(text[opened.end() : end])
        position = end + len(closing)
    return found


# ----------------------------------------------------------------------------------------------------------------
# The markers of MBPP's few-shot prompts around an answer: ``[BEGIN]`` and ``[DONE]`` on lines of their own, or
# written to the code. ``x[DONE]`` also is Python, where something names ``DONE``.
# google-research/google-research@30adf0e ``mbpp/README.md``. A chat model asked in that form answers in it, and
# no stop string takes the markers away.


_BEGIN = pattern(r"^[ \t]*\[BEGIN\](?:[ \t]*\r?\n|[ \t]?(?=[\w@#]))", re.MULTILINE)
_DONE = pattern(r"^[ \t]*\[DONE\][ \t]*\r?$", re.MULTILINE)
_GLUED_DONE = pattern(
    r"^[ \t]*\[DONE\][ \t]*\r?$|(?<=\S)\[DONE\][ \t]*(?:\r?\n(?![ \t])|\Z)|\[DONE\]\s*\Z", re.MULTILINE
)
_MOST_QUOTED = 20
_NAMES_DONE = pattern(r"(?<![\w\[])DONE\b|\bDONE(?![\w\]])")


def between_markers(text: str, known: str = "") -> str:
    """What stands before the first ``[DONE]``, and behind the ``[BEGIN]`` before it where there is one.

    Args:
        text: a reply.
        known: code that it goes on with.
    """
    if "[DONE]" not in text and "[BEGIN]" not in text:
        return text
    glued = "```" not in text and not (_NAMES_DONE.search(text) or _NAMES_DONE.search(known))
    parser, fences = Parser(), fenced_blocks(text)

    def first(marks: re.Pattern[str], end: int) -> re.Match[str] | None:
        """The first that no Python quotes."""
        for mark in islice(marks.finditer(text, 0, end), _MOST_QUOTED):
            last = mark.start() + len(mark[0].rstrip())
            shown = f"{text[: mark.start()]}{'?' * (last - mark.start())}{text[last:]}"
            around = [(fence.start, fence.end) for fence in fences if fence.start <= mark.start() < fence.end]
            codes = [textwrap.dedent(shown[begin:to]) for begin, to in around] or [shown, known + shown]
            if not any(isinstance(parser.module(code), ast.Module) for code in codes):
                return mark
        return None

    done = first(_GLUED_DONE if glued else _DONE, len(text))
    end = done.start() if done else len(text)
    begin = first(_BEGIN, end)
    return text[begin.end() if begin else 0 : end]


# ----------------------------------------------------------------------------------------------------------------
# The final channel of a reply whose answer quotes a marker: ``'</think>'`` in a value or program ends nothing.
# A marker is quoted if the expression or the program that it stands in still is Python with question marks in its
# place, which Python reads in strings and comments alone. A program without a fence counts only as all that is
# said behind a thought, or as a whole reply.


_MAX_TRIES = 3
"""Tried: ends of an expression behind the marker; thoughts before it, behind which a program may begin."""


def final_channel_of_answer(reply: str, function: str, read: Callable[[str], Answer]) -> FinalChannel:
    """The final channel of a reply that predicts a value of the function, or arguments of it."""
    quoted = _in_expression(reply, ("assert", "[ANSWER]", f"{function}("))
    return final_channel(reply, _weighing(read), quoted)


def final_channel_of_choice(reply: str, function: str, read: Callable[[str], Answer]) -> FinalChannel:
    """The final channel of a reply that chooses a program and predicts a value."""
    quoted = _in_expression(reply, ("assert", "{", f"{function}("))
    return final_channel(reply, _weighing(read), quoted)


def final_channel_of_program(reply: str, weigh: Weigh) -> FinalChannel:
    """The final channel of a reply that holds a program."""
    return final_channel(reply, weigh, quoted_by_program(reply))


def quoted_by_program(reply: str) -> Quoted:
    """Tells the markers that a program in a reply quotes."""
    parser, text = Parser(), cache(lambda: masked(reply))
    fences, ends = cache(lambda: fences_of_masked(text())), cache(lambda: thoughts_end(reply))
    said = cache(lambda: len(without_special_tokens(reply)))
    is_python = cache(lambda code: not isinstance(parser.module(code), Fault))

    def quoted(start: int, end: int) -> bool:
        around = [fence.code for fence in fences() if fence.start <= start and end <= fence.end]
        if around:
            return any(is_python(code) for code in around)
        begins = [0, *ends()[: bisect_right(ends(), start)]]
        over = [to for to in (len(reply), said()) if to >= end]
        return any(is_python(text()[begin:to]) for begin in {0, *begins[-_MAX_TRIES:]} for to in over)

    return quoted


def _weighing(read: Callable[[str], Answer]) -> Weigh:
    """Says what a passage holds by what is read in it."""

    def weigh(text: str) -> Weight:
        answer = read(text)
        if answer.value is not None:
            return Weight.ANSWER
        missing = answer.reason is Reason.NO_ANSWER and answer.found in {"no_answer", "no_choice"}
        return Weight.NOTHING if missing else Weight.ATTEMPT

    return weigh


def _in_expression(reply: str, openings: Sequence[str]) -> Quoted:
    """Tells markers inside an expression that begins behind one of these words or at one of these brackets."""
    parser, text = Parser(), cache(lambda: masked(reply))

    def quoted(start: int, end: int) -> bool:
        return any(_reaches(parser, text(), begin, end) for begin in _beginnings(text(), openings, start))

    return quoted


def _beginnings(text: str, openings: Sequence[str], start: int) -> Iterator[int]:
    yield 0
    for opening in openings:
        at = text.rfind(opening, max(0, start - MAX_SOURCE_CHARS), start)
        if at >= 0:
            yield at if opening[-1] in "({" else at + len(opening)


def _reaches(parser: Parser, text: str, begin: int, end: int) -> bool:
    """Whether an expression begins there and goes on to ``end`` or further."""
    reach = expression_ends(text, begin, begin + MAX_SOURCE_CHARS)
    parser.charge(max(0, reach.read_to - begin))
    ends = [one for one in reach.ends if one >= end][:_MAX_TRIES]
    return any(not isinstance(parser.expression(text[begin:one].strip()), Fault) for one in ends)
