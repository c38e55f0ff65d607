"""Where the model speaks in a conversation that is one text, as trainers decode a rollout of several turns.

The model's turns are what is left when observations and the turns of other roles are taken out:

- An observation stands between tags whose names say so (`_NAMES`), which nest; in a fence labelled with such a
  name; or, where an ``Action:`` written like it came before, behind ``Observation:``. An end that nothing opened,
  last on its line, goes on with the observation before it: what a tool returns may hold an end of its own.
- A turn of another role begins at a role mark of a chat template, which is a token that names a role or stands in
  front of a name, or at the line that is left of one where special tokens were not decoded, and goes on to the
  model's next mark that is written alike; what names do, tokens end as well. Such a line begins at the margin: an
  indented name is a program's.
- So it does at ``USER:``, ``### Instruction:`` and the like, with which lines of an answer begin as well. They
  count at the margin, outside fences, where a mark of the model's that is written alike follows; where one went
  before, in a text that begins with such a mark or has shown code by then. They end no turn of another kind.
- What nothing closes goes on to the model's next role mark, to the end of the fence around it, or to the end.

A mark is a word where it stands between back-ticks or quotes on a line, in a string or a comment of Python, or in
a sentence. So are ``<result>`` and ``<output>`` that nothing but a thought stands before in the model's turn: an
observation follows something that the model did.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property
from typing import Literal, NamedTuple

from truegrade.extraction.blocks import Fence, fences_of_masked
from truegrade.extraction.parsing import Parser
from truegrade.extraction.thinking import thoughts_end, without_special_tokens
from truegrade.patterns import pattern

OWN_TAGS = frozenset({"result", "output", "coderesponse"})
"""Those that models are also told to put their answers between."""
POLICY_ROLES = frozenset({"assistant", "model", "ai", "gpt", "bot", "chatbot"})
"""What trainers and chat templates call the model in training."""
_MOST_LINE = 200
"""Characters of a mark's line that are looked at, on either side."""
_MOST_ASKED = 200
"""Marks of which it is asked whether Python quotes them; those beyond count."""

_WORDS = (
    "tool|function|code|execut(?:e|ion)|exec|program|python|test|sandbox|interpreter|console|terminal|environment|env"
    "|shell|bash|compiler|search|call|use|api"
)
_NAMES = (
    rf"(?:(?:{_WORDS})[_▁ -]?){{1,3}}(?:output|response|result|feedback|error|log)|tool[_▁ -]?content"
    "|observation|information|interpreter|feedback|stdout|stderr|traceback|result|output"
)
"""Names of tags and labels of fences, in the plural as well: ``<NAME>``, ``<|NAME|>``, ``<|NAME>``; ended with a
slash, as ``<NAME|>``, or by a name that says ``end``."""
_LABEL = pattern(rf"(?:{_NAMES})s?\Z")
_MODEL = "|".join(sorted(POLICY_ROLES, key=len, reverse=True))
_ANY_ROLE = f"{_MODEL}|user|human|system|developer|tool|tools|ipython|function|observation|environment"
_TAG = pattern(
    rf"<(?P<bar>[|｜]?)[ ]?(?P<slash>/?)[ ]?(?:(?P<first>start|begin|end)[_▁](?:of[_▁])?)?"
    rf"(?P<name>{_NAMES}|execution|environment|console|terminal)s?"
    r"(?:[_▁](?P<last>start|begin|end))?(?:\s[^<>\n]{0,2000}(?<!/))?(?P<behind>[|｜]?)>"
    r"|(?:(?<![\w\])])\[|\[(?P<close>/))(?P<word>tool_response|tool_result|tool_output|tool_content|observation)s?\]",
    re.IGNORECASE,
)
_ROLE = pattern(
    # A token in front of any name, or one that says what it is in front of a name of a role.
    r"(?=[<\[\]])(?:"  # looked at first: nearly all of a text is none
    r"(?P<head><\|(?:im_start|start_header_id|header_start|start_of_role|start|turn)\|?>|<start_of_turn>|\]~b\])"
    r"\s{0,3}(?P<any>[\w.-]{1,60})(?:\s{0,3}<\|(?:end_header_id|header_end|end_of_role)\|>)?"
    r"|(?P<begin><[|｜]?(?:\w{1,20}[_:▁])?(?:start|begin|bos|turn|role|header|extra_id)(?:[_:▁]\w{1,20})?[|｜]?>)"
    rf"\s{{0,3}}(?P<named>{_ANY_ROLE})(?=\s{{0,3}}(?:[\n<\[]|\Z))"
    # A token that is a role's name.
    rf"|(?P<bar>[<\[][|｜])(?!end)(?:\w{{1,12}}[_:▁])?(?P<barred>{_ANY_ROLE})(?:[_▁](?:start|begin|token))?[|｜][>\]]"
    r"(?:[\w.-]{1,60}<\|im_middle\|>)?"
    r"|(?<![\w\])])\[(?P<inst>INST)\]|\[(?P<inst_end>/INST)\])"
    # What is left where tokens were not decoded.
    rf"|^(?-i:(?P<line>{_ANY_ROLE}))[ \t]*\r?$"
    rf"|(?:(?<=[.!?`)>\]])(?-i:(?P<glued>{_ANY_ROLE}))|(?<=\w)(?-i:(?P<tail>assistant)))(?=\r?\n\r?\n)",
    re.IGNORECASE | re.MULTILINE,
)
_SPEAKERS = {
    **dict.fromkeys(POLICY_ROLES, "assistant"),
    **dict.fromkeys(("user", "human", "tool", "tool response", "function response", "observation"), "user"),
    "system": "",
}
_HEADINGS = {
    **_SPEAKERS,
    **dict.fromkeys(("response", "answer"), "assistant"),
    **dict.fromkeys(("instruction", "question"), "user"),
    "input": "",
}
"""Whose turn a name begins; empty where it is another's only in front of the model's."""
_SPOKEN = pattern(
    r"(?:^|(?<=</s>)|(?<=[|｜]>))(?P<dress>\#{1,4}[ \t]?|\*\*|<)?(?:GPT4 (?:Correct )?)?"
    rf"(?P<name>{'|'.join(sorted(_HEADINGS, key=len, reverse=True))})"
    r"(?P<close>:\*\*|\*\*:|>:|:(?!:)|[ \t]*\r?$)|(?<=[ \t])(?-i:(?P<within>ASSISTANT|GPT)):",
    re.IGNORECASE | re.MULTILINE,
)
"""How Vicuna, Alpaca and others tell roles apart without tokens; Vicuna's model speaks on the user's line."""
_CODE = pattern(r"```|~~~|^[ \t]*(?:def|class)[ \t]", re.MULTILINE)
_TURN_END = pattern(
    r"[<\[][|｜](?:im_end|eot_id|eot|eom_id|end|end_?of_?turn(?:_token)?|end_of_text|return"
    r"|(?!header)\w{1,20}_end)[|｜][>\]]|<end_of_turn>|<turn\|>|<seed:eos>|\[e~\[",
    re.IGNORECASE,
)
_SENTENCE = pattern(r"(?:[A-Z][a-z]{1,20}\.|.*[!?)>\]])\Z")
"""What a role's name may be glued to where nothing else says that it is one: no name of a class with a field."""
_ACTION, _OBSERVED, _GOES_BACK = (
    pattern(rf"^[ \t*#]*(?:{names})[ \t*]{{0,4}}\d{{0,4}}[ \t*]{{0,4}}:{more}", re.MULTILINE | re.IGNORECASE)
    for names, more in (
        ("Action(?: Input)?", r"|</execute(?:_\w{1,20})?>"),  # CodeAct, OpenHands
        ("Observation", r"(?P<logs>\s{0,3}Execution logs:)?"),  # smolagents, behind a program
        ("Thought|Action|Final Answer|Answer", ""),
    )
)
_GOES_ON = pattern(r"[ \t]+[a-z]|[ \t]*[,;:.)'\"]")
"""A blank and a word in lower case, or punctuation: what was named is part of a sentence."""
_QUOTE = pattern(r"(?<!\w)'|'(?!\w)|\"|(?<=[fFrRbBuU])'")
"""A quote on a line; an apostrophe within a word is none."""


_TICKS = pattern(r"(?<!`)`{1,2}(?!`)")


class _Mark(NamedTuple):
    """A tag or a role mark, and what it names."""

    start: int
    end: int
    name: str
    opens: bool = True
    kind: Literal["token", "bare", "spoken"] = "token"
    """A role's: a bare name is the model's where another role's turn goes before; for the last see `_SPOKEN`."""
    style: str = ""
    """How a role's mark is written: those of one conversation are alike."""


class _Stretch(NamedTuple):
    """What is no text of the model's."""

    start: int
    end: int
    name: str = ""
    closed: bool = True
    role: bool = False
    """Whether another role, or the model's own mark, says it."""


class Turn(NamedTuple):
    """What the model said between two others."""

    text: str
    over: bool = True
    """Whether its turn ended, and not only what it said before an observation."""


def turns_of_text(text: str) -> list[Turn]:
    """The model's turns in order, at least one; the text itself where no mark stands in it."""
    return _Transcript(text).turns()


class _Transcript:
    """A conversation in one text."""

    def __init__(self, text: str) -> None:
        self._text, self._asked = text, 0
        self._tags, self._roles = list(_tags(text)), sorted([*_roles(text), *_spoken(text)])

    def turns(self) -> list[Turn]:
        """See `turns_of_text`."""
        turns: list[Turn] = []
        said, start = "", 0
        for stretch in (*self._stretches(), _Stretch(len(self._text), len(self._text), role=True)):
            said += self._text[start : max(start, stretch.start)]
            if self._fence_around(stretch.start, stretch.end) is None:
                if said.strip():
                    turns.append(Turn(said, stretch.role))
                elif turns and stretch.role:
                    turns[-1] = turns[-1]._replace(over=True)
                said = ""
            start = max(start, stretch.end)
        return turns or [Turn("" if self._text.strip() else self._text)]

    def _stretches(self) -> list[_Stretch]:
        """What is to be taken out, in order; some may lie within others."""
        observed = [*self._tagged(), *self._labelled(), *self._after_actions()]
        closed = _Stretches(stretch for stretch in observed if stretch.closed)
        roles = [role for role in self._roles if role.start not in closed and not self._is_word(role)]
        roles = self._counting(roles)
        models = [role.start for role in roles if role.name in POLICY_ROLES and role.kind != "spoken"]
        observed = [self._ended(stretch, models) for stretch in observed]
        within = _Stretches(observed)
        roles = [role for role in roles if role.start not in within]
        others = list(self._turns_of_others(roles, within, {stretch.end for stretch in observed}))
        if not observed and not others:
            return []
        # What is left of the model's own role marks begins its turns.
        heads = [
            _Stretch(role.start, role.end, role=True)
            for role in roles
            if role.name in POLICY_ROLES and role.kind != "bare"
        ]
        return sorted([*observed, *others, *heads])

    # ------------------------------------------------------------------------------------- observations

    def _tagged(self) -> Iterator[_Stretch]:
        """What stands between tags; an end that nothing opened goes on with the observation before it."""
        opened: defaultdict[str, list[_Mark]] = defaultdict(list)
        words: set[_Mark] = set()
        within = 0
        found: list[_Stretch] = []
        for tag in self._tags:
            quoted, same = self._is_word(tag), opened[tag.name]
            if tag.opens:
                own = tag.name in OWN_TAGS and not within and self._is_first(tag)
                if quoted or own or self._in_sentence(tag):
                    words.add(tag)
                within += tag not in words
                same.append(tag)
            elif same and same[-1] in words:
                same.pop()
            elif same and not quoted:
                begin = same[-1].start
                found.append(_Stretch(begin, tag.end, tag.name))
                for left in opened.values():
                    while left and left[-1].start >= begin:
                        within -= left.pop() not in words
            elif not quoted and found and found[-1].name == tag.name and self._goes_on_with(found[-1], tag):
                found[-1] = found[-1]._replace(end=tag.end)
        yield from found
        for tag in (tag for left in opened.values() for tag in left if tag not in words):
            if self._stands_alone(tag):
                yield _Stretch(tag.start, len(self._text), tag.name, closed=False)

    def _goes_on_with(self, before: _Stretch, end: _Mark) -> bool:
        """Whether an end that nothing opened is the last on its line, with no turn of the model's begun before."""
        if self._text[end.end : end.end + _MOST_LINE].partition("\n")[0].strip():
            return False
        at = bisect_left(self._models, before.end)
        return at == len(self._models) or self._models[at] > end.start

    def _labelled(self) -> Iterator[_Stretch]:
        """Fences whose label says that they hold an output, with their marks."""
        for fence in self._fences:
            if _LABEL.match(fence.language):
                start = self._text.rfind("\n", 0, max(0, fence.start - 1)) + 1
                end = self._text.find("\n", fence.end) if fence.closed else -1
                yield _Stretch(start, len(self._text) if end < 0 else end, closed=fence.closed)

    def _after_actions(self) -> Iterator[_Stretch]:
        """What follows ``Observation:``, as ReAct has it, up to the model's next thought.

        Marks of one conversation are written alike: a comment or a line of YAML in what a tool returned ends no
        observation, nor does one in a program begin any.
        """
        found = [*_OBSERVED.finditer(self._text)]
        acted: dict[tuple[bool, bool], int] = {}
        for action in _ACTION.finditer(self._text) if found else ():
            acted.setdefault(_spelling(action[0]), action.end())
        backs: defaultdict[tuple[bool, bool], list[int]] = defaultdict(list)
        for back in _GOES_BACK.finditer(self._text) if found else ():
            backs[_spelling(back[0])].append(back.start())
        for observed in found:
            spelling = _spelling(observed[0])
            mark = _Mark(*observed.span(), "observation")
            follows = observed["logs"] or acted.get(spelling, len(self._text)) <= mark.start
            if follows and not self._is_word(mark):
                ends = backs[spelling]
                at = bisect_left(ends, mark.end)
                closed = at < len(ends)
                yield _Stretch(mark.start, ends[at] if closed else len(self._text), closed=closed)

    def _ended(self, stretch: _Stretch, models: Sequence[int]) -> _Stretch:
        """A stretch that nothing closes ends at the model's next turn, or with the fence that it begins in."""
        if stretch.closed:
            return stretch
        ends = [stretch.end, *models[(at := bisect_right(models, stretch.start)) : at + 1]]
        fence = self._fence_around(stretch.start, stretch.start)
        return stretch._replace(end=min(*ends, fence.end) if fence else min(ends))

    # ------------------------------------------------------------------------------------- other roles

    def _counting(self, roles: Sequence[_Mark]) -> list[_Mark]:
        """The roles, less those of `_SPOKEN` that are words of an answer."""
        spoken = [role for role in roles if role.kind == "spoken" and not self._fence_around(role.start, role.end)]
        models: defaultdict[str, list[int]] = defaultdict(list)
        for role in spoken:
            if role.name in POLICY_ROLES:
                models[role.style].append(role.start)
        begins = spoken and not without_special_tokens(self._text[: spoken[0].start]).strip()
        code = None if begins else _CODE.search(self._text)
        shown = 0 if begins else code.start() if code else len(self._text)
        others = {
            role
            for role in spoken
            if role.name not in POLICY_ROLES
            and (
                self._line_before(role)  # an end of a turn, which nothing but a token is
                or ((said := models[role.style]) and said[-1] > role.start)
                or (said and role.name and role.start > max(shown, said[0]))
            )
        }
        styles = {role.style for role in others}
        counting = others.union(role for role in spoken if role.name in POLICY_ROLES and role.style in styles)
        return [role for role in roles if role.kind != "spoken" or role in counting]

    def _turns_of_others(self, roles: Sequence[_Mark], observed: _Stretches, ends: set[int]) -> Iterator[_Stretch]:
        """Turns of other roles, each up to the end of the model's next role mark.

        Args:
            roles: in order.
            observed: observations.
            ends: of observations; the model's role mark may stand right behind one.
        """
        start, opened = -1, _Mark(-1, -1, "")
        named = max(
            (role.start for role in roles if role.kind == "bare" and role.name in POLICY_ROLES), default=-1
        )
        for role in roles:
            # Tokens tell more than names do.
            stronger = role.kind == "token" != opened.kind
            if role.name in POLICY_ROLES:
                if start >= 0 and (stronger or role.style == opened.style):
                    yield _Stretch(start, role.end, role=True)
                    start = -1
                elif start < 0 and role.start in ends:
                    yield _Stretch(role.start, role.end, role=True)
            elif start < 0 and (role.kind != "bare" or role.start < named or self._stands_as_role(role)):
                start, opened = role.start, role
            elif start >= 0 and stronger:
                opened = role
        if start >= 0:
            over = (end for end in _TURN_END.finditer(self._text, opened.end) if end.start() not in observed)
            end = next((found.end() for found in over), len(self._text))
            fence = self._fence_around(start, start)
            yield _Stretch(start, min(end, fence.end) if fence else end, role=True)

    # ------------------------------------------------------------------------------------- words

    def _is_word(self, mark: _Mark | _Stretch) -> bool:
        """Whether a mark is quoted: on its line, or by Python."""
        before = self._line_before(mark)
        behind = self._text[mark.end : mark.end + _MOST_LINE].partition("\n")[0]
        if "`" in before and len(_TICKS.findall(before)) % 2 and _TICKS.search(behind):
            return True
        for quote in ("'", '"'):
            if quote in before and quote in behind and _QUOTE.findall(before).count(quote) % 2:
                return True
        self._asked += 1
        return self._asked <= _MOST_ASKED and self._quoted_by_python(mark)

    def _quoted_by_python(self, mark: _Mark | _Stretch) -> bool:
        """Whether it stands in Python that is Python with question marks in its place: a string, or a comment."""
        fence = self._fence_around(mark.start, mark.end, closed=False)
        if fence is not None:
            return self._is_python(fence.code)
        return any(self._is_python(self._masked[start:]) for start in self._said if start <= mark.start)

    def _in_sentence(self, tag: _Mark) -> bool:
        """Whether a word goes before it on its line and the sentence goes on."""
        before = self._line_before(tag)
        return before[-1:] in (" ", "\t") and before.rstrip()[-1:].isalnum() and self._goes_on(tag)

    def _stands_alone(self, tag: _Mark) -> bool:
        """Whether a tag that nothing ends stands where one is written: first on its line, behind a sentence, a tag
        or a fence, or last on its line behind what announces it."""
        before = self._line_before(tag).rstrip()
        if tag.name in OWN_TAGS and self._goes_on(tag):
            return False
        if not before or before[-1] in ">]`.!?…":
            return True
        return (
            before[-1] in ":,;\u2013\u2014-"
            and not self._text[tag.end : tag.end + _MOST_LINE].partition("\n")[0].strip()
        )

    def _stands_as_role(self, role: _Mark) -> bool:
        """Whether a bare name that no bare name of the model's follows is another role's."""
        before = self._line_before(role)
        if before.strip(" \t>`~"):
            return _SENTENCE.match(before) is not None
        at = bisect_left(self._fences, role.start, key=lambda fence: fence.start) - 1
        return not before or (
            at >= 0 and self._fences[at].closed and self._fences[at].end == role.start - len(before)
        )

    def _goes_on(self, tag: _Mark) -> bool:
        return _GOES_ON.match(self._text, tag.end) is not None

    def _is_first(self, tag: _Mark) -> bool:
        """Whether the model has said nothing before it but a thought."""
        at = bisect_right(self._begins, tag.start)
        start = self._begins[at - 1] if at else 0
        return tag.start - start < _MOST_LINE and not without_special_tokens(self._text[start : tag.start]).strip()

    def _fence_around(self, start: int, end: int, *, closed: bool = True) -> Fence | None:
        """The fence in whose content that lies; by default only one that is closed."""
        at = bisect_right(self._fences, start, key=lambda fence: fence.start) - 1
        fence = self._fences[at] if at >= 0 and end <= self._fences[at].end else None
        return None if fence is None or (closed and not fence.closed) else fence

    def _line_before(self, mark: _Mark | _Stretch) -> str:
        return self._text[max(0, mark.start - _MOST_LINE) : mark.start].rpartition("\n")[2]

    @cached_property
    def _is_python(self) -> Callable[[str], bool]:
        parser = Parser()
        return cache(lambda code: isinstance(parser.module(code), ast.Module))

    @cached_property
    def _masked(self) -> str:
        masked = list(self._text)
        for mark in (*self._tags, *self._roles):
            masked[mark.start : mark.end] = "?" * (mark.end - mark.start)
        return "".join(masked)

    @cached_property
    def _fences(self) -> list[Fence]:
        return fences_of_masked(self._masked)

    @cached_property
    def _models(self) -> list[int]:
        return [role.start for role in self._roles if role.name in POLICY_ROLES and role.kind != "spoken"]

    @cached_property
    def _thoughts(self) -> list[int]:
        return thoughts_end(self._text)

    @cached_property
    def _begins(self) -> list[int]:
        """Where thoughts end, and the model's role marks."""
        return sorted([*self._thoughts, *(role.end for role in self._roles if role.name in POLICY_ROLES)])

    @cached_property
    def _said(self) -> list[int]:
        """Where all that is said may begin: with the text, or behind the last thought."""
        return [0, *self._thoughts[-1:]]


def _tags(text: str) -> Iterator[_Mark]:
    for tag in _TAG.finditer(text):
        name = re.sub("[_▁ -]", "", (tag["name"] or tag["word"]).lower())
        first, last = (tag["first"] or "").lower(), (tag["last"] or "").lower()
        ends = tag["slash"] or tag["close"] or "end" in (first, last) or (tag["behind"] and not tag["bar"])
        yield _Mark(tag.start(), tag.end(), name, opens=not ends)


def _spelling(mark: str) -> tuple[bool, bool]:
    """Whether a mark of ReAct's is a heading, and whether it begins with a small letter."""
    return "#" in mark, mark.lstrip(" \t*#")[:1].islower()


def _roles(text: str) -> Iterator[_Mark]:
    for role in _ROLE.finditer(text):
        kind = role.lastgroup or ""
        name = {"inst": "user", "/inst": "assistant"}.get(role[kind].lower(), role[kind].lower())
        token = role["head"] or role["begin"] or role["bar"] or ("[INST]" if "inst" in kind else "")
        yield _Mark(*role.span(), name, kind="token" if token else "bare", style=token.lower())


def _spoken(text: str) -> Iterator[_Mark]:
    for role in _SPOKEN.finditer(text):
        dress, name, close = (role["dress"] or "").strip(), role["name"] or role["within"], role["close"] or ":"
        closes = {"": close == ":", "**": close in (":**", "**:"), "<": close == ">:"}
        speaker = (_HEADINGS if dress.startswith("#") else _SPEAKERS).get(name.lower())
        if speaker is not None and closes.get(dress, close == ":" or not close.strip()):
            style = f"{dress} {name[0].islower()}"
            yield _Mark(*role.span(), speaker, kind="spoken", style=style)


class _Stretches:
    """Which offsets lie in one of several stretches."""

    def __init__(self, stretches: Iterable[_Stretch]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for stretch in sorted(stretches):
            if self._ends and stretch.start <= self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], stretch.end)
            else:
                self._starts.append(stretch.start)
                self._ends.append(stretch.end)

    def __contains__(self, offset: int) -> bool:
        at = bisect_right(self._starts, offset) - 1
        return at >= 0 and offset < self._ends[at]
