"""The ``strict`` rule for code: take the program out of a reply and lose no right answer.

In order of preference: the last fence that implements the entry point; such a fence put together again where a
fence inside a docstring cut it; a fence that only is the function's body; a fence that nothing closes, as far as
it compiles; code without fences. Then what does not implement the entry point but is code, so that the verdict can
name what is wrong with it. ``Answer.found`` records each step.

What a model closed is what it handed in: a closed fence that Python refuses is not cut until Python takes it.
Only where a reply breaks off in its fence, or a base model runs on behind its function, are the lines dropped that
cannot be kept.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import msgspec
from msgspec.structs import replace

from truegrade.extraction.blocks import (
    Fence,
    between_markers,
    code_blocks,
    continues,
    continues_up_to_garbage,
    fenced_blocks,
    final_channel_of_program,
    longest_start,
    unfenced_program,
    without_edges,
    without_fence_lines,
    without_stop_token,
)
from truegrade.extraction.contest_programs import READS_AND_PRINTS, extract_contest_program
from truegrade.extraction.definitions import (
    SourceModule,
    alias_for_method,
    borrow,
    definition,
    implements,
    is_code,
    method_owner,
    only_names,
    without_prose,
)
from truegrade.extraction.json_replies import texts_of_object
from truegrade.extraction.parsing import MAX_SOURCE_CHARS, USED_UP, Fault, Parser, as_source
from truegrade.extraction.thinking import Weight
from truegrade.patterns import pattern
from truegrade.records import Answer, Form, Reason

MAX_FENCES = 200
"""Of more fences than this only the last are read."""

_JOINED_FENCES = 4
"""How many following fences may belong to one block that a fence in its docstring cut into pieces."""

_LOOKS_LIKE_CODE = pattern(
    r"^[ \t]*(?:(?:async\s+)?def\s+\w+\s*\(|class\s+\w+|import\s+\w|from\s+\S+\s+import\s)", re.MULTILINE
)

_DEFINES = pattern(r"^[ \t]*(?:(?:async[ \t]+)?def|class)[ \t]+\w", re.MULTILINE)
SAID_NOT_TO_USE = "the text before it says not to use it"
"""Step of a fence that was taken although the line before it says so: which one was meant, a rule cannot tell."""
_MAX_SAID = 300
_ATTEMPT = (
    "(?:version|code|snippet|example|solution|approach|way|answer|attempt|draft|try|one"
    "|implementation|alternative)"
)
_FORBIDS = pattern(
    r"(?:^|[.!?:;,(\u2014-]|\bbut\b|\bplease\b|\band\b)\W*(?:"
    r"(?:do not|don['\u2019]?t|never)\s+(?:use|copy|submit|write)\W*$"
    r"|(?:(?:do not|don['\u2019]?t|never)\s+(?:use|copy|submit|write|do|try|follow)|avoid|ignore)"
    r"(?:\s+\w+)?\s+(?:like\s+)?(?:this|these|the following|so|(?:the code )?below)\b)"
    r"|\binstead of (?:this|these|the following)\b(?:\s+\w+)?\W*$|\b(?:what|how) not to\b|\bignore\)"
    r"|\b(?:should|must)(?: not|n['\u2019]t) be (?:done|written|used)|\bwould(?: not|n['\u2019]t) recommend this"
    r"|^\W*(?:(?:the|my|your|an?|here is|this is)\s+){0,2}"
    rf"(?:my first|old|original|previous|earlier|initial|rejected|discarded)\s+{_ATTEMPT}"
    r"(?:\s+was|\s*\([^()]{0,40}\))?\W*$"
    r"|^\W*(?:before|anti-?pattern|not like this|don['\u2019]?ts?|what (?:does not|doesn['\u2019]t) work)\W*$",
    re.IGNORECASE,
)
_CALLS_WRONG = pattern(
    r"\b(?<!not )(?<!not a )(?:wrong|incorrect|bad|broken|buggy|faulty|flawed|not (?:correct|right|recommended))"
    rf"(?:\W+{_ATTEMPT})?(?:\s+again)?\W*$|\b(?:common mistake is|tempted to|for reference only)\b"
    r"|(?:(?:^|[(;,]|\b(?:but|why)\b)\W*"
    rf"(?:this|it|which|the (?:following|next|{_ATTEMPT} below))|\b{_ATTEMPT} that)"
    rf"(?:\s+{_ATTEMPT})?(?:\s+(?:would|will|still))?\s+(?:fails?|breaks?|crash(?:es)?"
    r"|(?:do not|does not|doesn['\u2019]t) (?:work|terminate|pass|compile)"
    r"|(?:gives|returns|prints) (?:a |the )?wrong|(?:is|be) too slow|has (?:a|the) bug)\b",
    re.IGNORECASE,
)
_MENDS = pattern(
    r"\b(?:fix|correct(?!\b)|repair|replac|handl|instead|rewr|better|improv|was\b|were\b)", re.IGNORECASE
)
_RETURNS = pattern(r"\b(?:return|yield|raise)\b")
_TILDES = pattern(r"\A\s*~{3}|^[ \t]*~{3,}[ \t]*\{?\.?py", re.MULTILINE)
"""To Python ``~~~python`` is an expression."""


def extract_program(reply: str, entry_point: str, *, prefix: str = "", called_on: str = "") -> Answer:
    """The program in a chat reply. Never raises; runs nothing.

    Args:
        reply: the text of the completion.
        entry_point: name of the function that the tests call.
        prefix: trusted code that a body would continue; also lends imports and helpers.
        called_on: class whose method the tests call themselves; it needs no name at module level, and given one
            would hide a name of its own that the method calls.

    Returns:
        A ``program``, or a ``completion`` to put behind the prefix where the reply gives a body only.
    """
    read = _reader(Parser(), entry_point, prefix, called_on)
    channel = final_channel_of_program(reply, lambda text: read(text).weight)
    path = ("final-channel",) if channel.found else ()
    if channel.truncated:
        return Answer(value=None, found=" > ".join((*path, "cut off while thinking")), reason=Reason.TRUNCATED)
    if not channel.text.strip():
        return Answer(value=None, found=" > ".join((*path, "empty reply")), reason=Reason.NO_ANSWER)
    answer = read(channel.text).answer
    return msgspec.structs.replace(answer, found=" > ".join((*path, answer.found)))


def code_weight(reply: str, entry_point: str) -> Weight:
    """What a reply holds, by what would be taken out of it: an answer, other code, or none.

    Args:
        reply: the text of the completion.
        entry_point: function that is to be implemented; empty where none is known, and a definition, or a program
            that reads and prints, is an answer.
    """
    if not entry_point:
        answer = extract_contest_program(reply)
        answers = answer.found == READS_AND_PRINTS or _DEFINES.search(answer.value or "") is not None
    else:
        read = _reader(Parser(), entry_point, "", "Solution")
        reading = read(final_channel_of_program(reply, lambda text: read(text).weight).text)
        answer, answers = reading.answer, reading.implements and reading.weight is Weight.ANSWER
    if answer.value is None:
        return Weight.ATTEMPT if answer.reason is Reason.EXTRACTION_LIMIT else Weight.NOTHING
    return Weight.ANSWER if answers else Weight.ATTEMPT


def extract_continuation(text: str, entry_point: str, prefix: str, called_on: str = "") -> Answer:
    """What a base model wrote behind the prefix, as a ``completion``. Never raises; runs nothing.

    Kept whole where prefix and text compile together; else re-indented; else cut before the first line that cannot
    be kept; else read like a chat reply.

    Args:
        text: of the completion.
        entry_point, prefix, called_on: as of `extract_program`.
    """
    if not text.strip():
        return Answer(value=None, found="empty completion", reason=Reason.NO_ANSWER, form="completion")
    parser, code = Parser(), without_edges(as_source(between_markers(text, prefix)))
    read = _reader(parser, entry_point, prefix, called_on)
    held = _field_with_program(code, read)  # which would be a body, if one that does nothing
    if held is not None and held.implements:
        return held.answer
    goes_on = "" if _TILDES.search(code) else without_stop_token(code)
    for step, start in (("whole", goes_on and code), ("before the stop token", goes_on)):
        whole = continues(parser, start, entry_point, prefix)
        if whole is not None:
            return Answer(value=whole, found=step, form="completion")
    kept = continues_up_to_garbage(parser, goes_on, entry_point, prefix)
    # A word in front of a fence is a body as well.
    if kept is None or ("```" in code and not _RETURNS.search(kept)):
        said = read(final_channel_of_program(code, lambda text: read(text).weight).text)
        if said.implements:
            return said.answer
    if kept is not None:
        lines = kept.count("\n") + 1
        return Answer(value=kept, found=f"first {lines} lines", form="completion")
    return (
        Answer(value=None, found=USED_UP, reason=Reason.EXTRACTION_LIMIT, form="completion")
        if parser.used_up
        else Answer(value=code, found="whole (does not implement the entry point)", form="completion")
    )


class _Found(msgspec.Struct, frozen=True):
    value: str
    steps: tuple[str, ...]
    form: Form = "program"


class _Reading(msgspec.Struct, frozen=True):
    """What was found in a passage of a reply."""

    answer: Answer
    weight: Weight
    implements: bool = False


def _reader(parser: Parser, entry_point: str, prefix: str, called_on: str) -> Callable[[str], _Reading]:
    """A function that finds the program in a passage."""

    @cache
    def read(text: str) -> _Reading:
        if (held := _field_with_program(text, read)) is not None:
            return held
        search = _Search(parser, as_source(between_markers(text, prefix)), entry_point, prefix, called_on)
        found = next(search.implementing(), None)
        if found is not None:
            weight = Weight.ANSWER if search.is_answer(found) else Weight.NOTHING
            return _Reading(
                Answer(value=found.value, found=" > ".join(found.steps), form=found.form), weight, True
            )
        if parser.used_up:
            answer = Answer(value=None, found=USED_UP, reason=Reason.EXTRACTION_LIMIT)
            return _Reading(answer, Weight.ATTEMPT)
        found = next(search.leftovers(), None)
        if found is None:
            return _Reading(Answer(value=None, found="no code", reason=Reason.NO_CODE), Weight.NOTHING)
        answer = Answer(value=found.value, found=" > ".join(found.steps), form=found.form)
        return _Reading(answer, Weight.ATTEMPT if _DEFINES.search(found.value) else Weight.NOTHING)

    return read


def _field_with_program(text: str, read: Callable[[str], _Reading]) -> _Reading | None:
    """What the only field of a JSON object holds that holds a program, right or wrong; None where none does."""
    fields = {name: read(value) for name, value in texts_of_object(text).items()}
    programs = (
        {name: held for name, held in fields.items() if held.implements and held.weight is Weight.ANSWER}
        or {name: held for name, held in fields.items() if held.implements}  # by an import alone
        or {name: held for name, held in fields.items() if held.weight is Weight.ATTEMPT and held.answer.value}
    )
    if not programs:
        return None
    if len({held.answer.value for held in programs.values()}) > 1:
        found = f"several fields of a JSON object hold programs: {', '.join(programs)}"
        return _Reading(Answer(value=None, found=found, reason=Reason.NO_CODE), Weight.ATTEMPT)
    name, held = next(iter(programs.items()))
    return replace(
        held, answer=replace(held.answer, found=f"field {name!r} of a JSON object > {held.answer.found}")
    )


class _Search:
    """One search for a program: the reply's fences, and which of them compile."""

    def __init__(self, parser: Parser, text: str, entry_point: str, prefix: str, called_on: str = "") -> None:
        self.parser, self.text, self.entry_point, self.prefix = parser, text, entry_point, prefix
        self.called_on = called_on
        fences = code_blocks(parser, text)[-MAX_FENCES:]
        self.fences = [replace(fence, code=self._at_the_margin(as_source(fence.code))) for fence in fences]
        results = [self.parser.module(fence.code) for fence in reversed(self.fences)]
        self.trees = [tree if isinstance(tree, ast.Module) else None for tree in reversed(results)]

    def is_answer(self, found: _Found) -> bool:
        """Whether what implements the entry point does so itself: an example of its use may only import it."""
        tree = self.parser.module(found.value) if found.form == "program" else None
        bound = definition(tree, self.entry_point) if isinstance(tree, ast.Module) else None
        return not isinstance(bound, ast.Import | ast.ImportFrom)

    def implementing(self) -> Iterator[_Found]:
        """What implements the entry point, best first."""
        yield from self._implementing_fences()
        if not self.fences or not ("```" in self.text or "~~~" in self.text):
            yield from self._whole_text()
        yield from self._joined_fences()
        yield from self._bodies()
        yield from self._before_the_first_fence()
        yield from self._cut_fences()
        yield from self._unfenced()

    def _implementing_fences(self) -> Iterator[_Found]:
        trees = [(i, tree) for i in self._last_first() if (tree := self.trees[i]) is not None]
        implementing = [(i, tree) for i, tree in trees if implements(tree, self.entry_point)]
        # Stable: the last comes first, but a usage example (`from solution import f`) behind every definition.
        for index, tree in sorted(implementing, key=lambda pair: only_names(pair[1], self.entry_point)):
            step = f"{self._label(index)} (implements {self.entry_point})"
            if len(implementing) > 1 and self._is_disowned(index):
                step += f"; {SAID_NOT_TO_USE}"
            yield self._complete(SourceModule(self.fences[index].code, tree, step), index)

    def _is_disowned(self, index: int) -> bool:
        """Whether the line before a fence says that what follows is wrong, or not to be written so."""
        before = self.text[self.fences[index - 1].end if index else 0 : self.fences[index].start]
        said = [
            line for line in before.split("\n") if line.strip() and not line.lstrip().startswith(("```", "~~~"))
        ]
        line = said[-1][-_MAX_SAID:] if said else ""
        return _FORBIDS.search(line) is not None or (
            _CALLS_WRONG.search(line) is not None and _MENDS.search(line) is None
        )

    def _whole_text(self) -> Iterator[_Found]:
        """A reply that is nothing but code: a program, or a body."""
        text = self._at_the_margin(self.text)
        tree = self.parser.module(text)
        if isinstance(tree, ast.Module) and implements(tree, self.entry_point):
            code = without_prose(text, tree)
            yield self._complete(SourceModule(code, tree, f"whole reply (implements {self.entry_point})"))
        elif self.prefix and (body := self._body(self.text)) is not None:
            yield _Found(body, ("whole reply (body)",), "completion")

    def _joined_fences(self) -> Iterator[_Found]:
        for index in self._last_first():
            fence = self.fences[index]
            if self.trees[index] is not None or self.entry_point not in fence.code:
                continue
            for last in self.fences[index + 1 : index + 1 + _JOINED_FENCES]:
                code = self.text[fence.start : last.end]
                tree = self.parser.module(code)
                if isinstance(tree, ast.Module) and implements(tree, self.entry_point):
                    step = f"{self._label(index)} joined with later ones (implements {self.entry_point})"
                    yield self._complete(SourceModule(code, tree, step), index)

    def _bodies(self) -> Iterator[_Found]:
        """Fences that hold the function's body only."""
        for index in self._last_first() if self.prefix else ():
            body = self._body(self.fences[index].code) if self.trees[index] is None else None
            if body is None:
                continue
            step = f"{self._label(index)} (body; implements {self.entry_point})"
            program = self.prefix + body
            tree = self.parser.module(program)
            if isinstance(tree, ast.Module):
                complete = self._complete(SourceModule(program, tree, step), index)
                if len(complete.steps) > 1:
                    yield complete
            yield _Found(body, (step,), "completion")

    def _before_the_first_fence(self) -> Iterator[_Found]:
        """A body in a fence that the prompt had opened, up to where the reply closes it."""
        mark = self.text.rfind("```", 0, self.fences[0].start) if self.fences and self.prefix else -1
        if mark > 0 and (body := self._body(self.text[:mark])) is not None:
            yield _Found(body, ("text before the first fence (body)",), "completion")

    def _cut_fences(self) -> Iterator[_Found]:
        for index in self._last_first():
            code = self.fences[index].code
            if self.trees[index] is not None or self.fences[index].closed or self.entry_point not in code:
                continue
            kept = longest_start(self.parser, code[:MAX_SOURCE_CHARS])
            if kept is not None and implements(kept.tree, self.entry_point):
                step = f"{self._label(index)} (implements {self.entry_point}; cut behind line {kept.lines})"
                yield self._complete(SourceModule(kept.source, kept.tree, step), index)

    def _unfenced(self) -> Iterator[_Found]:
        if any(self._refused(index) for index in self._last_first()):
            return
        code = unfenced_program(self.parser, without_fence_lines(self.text), self.entry_point)
        tree = self.parser.module(code) if code else None
        if code and isinstance(tree, ast.Module):
            yield self._complete(SourceModule(code, tree, f"text (implements {self.entry_point})"))

    def _refused(self, index: int) -> bool:
        """Whether a closed fence defines the entry point, and Python refuses it."""
        fence = self.fences[index]
        if self.trees[index] is not None or not fence.closed or fenced_blocks(fence.code):
            return False
        return re.search(rf"\bdef[ \t]+{re.escape(self.entry_point)}[ \t]*\(", fence.code) is not None

    def _at_the_margin(self, code: str) -> str:
        """A whole program that is indented evenly, less that; other code as it is, so a body stays one."""
        level = textwrap.dedent(code)
        if level == code or self.entry_point not in code:
            return code
        tree = self.parser.module(level)
        return level if isinstance(tree, ast.Module) and implements(tree, self.entry_point) else code

    def leftovers(self) -> Iterator[_Found]:
        """Code that does not implement the entry point: a stub, another function, a syntax error."""
        last_first = self._last_first()
        stubs = [i for i in last_first if (tree := self.trees[i]) and self._defines(tree)]
        others = [i for i in last_first if (tree := self.trees[i]) and is_code(tree)]
        broken = [i for i in last_first if self.trees[i] is None and _is_meant_as_code(self.fences[i])]
        for index in (*stubs, *[i for i in broken if self.entry_point in self.fences[i].code], *others, *broken):
            fault = "does not parse" if self.trees[index] is None else f"does not implement {self.entry_point}"
            yield _Found(self.fences[index].code, (f"{self._label(index)} ({fault})",))
        if _LOOKS_LIKE_CODE.search(self.text):
            yield _Found(self.text, (f"whole reply (does not implement {self.entry_point})",))

    def _complete(self, chosen: SourceModule, index: int = -1) -> _Found:
        """The chosen module, an alias for a method, and what it needs from other fences and the prefix."""
        value, tree, steps = chosen.source, chosen.tree, [chosen.label]
        if definition(tree, self.entry_point) is None:
            owner = method_owner(tree, self.entry_point)
            if owner is not None and owner.name != self.called_on:
                value = f"{value.rstrip()}\n\n\n{alias_for_method(owner, self.entry_point)}\n"
                steps.append(f"+alias for {owner.name}.{self.entry_point}")
        borrowed = borrow(tree, self._donors(index))
        if borrowed is not None:
            joined = f"{borrowed.source}\n\n\n{value}"
            if not isinstance(self.parser.module(joined), Fault):
                value = joined
                steps.extend(f"+{step}" for step in borrowed.steps)
        return _Found(value, tuple(steps))

    def _donors(self, index: int) -> Sequence[SourceModule]:
        """The fences before the chosen one, nearest first, then the prompt, then the fences behind it."""
        pieces = [
            SourceModule(self.fences[i].code, tree, f"fence {i + 1}", i)
            for i in range(len(self.fences))
            if i != index and (tree := self.trees[i]) is not None
        ]
        prompt = self.parser.module(self.prefix) if self.prefix else None
        before = [piece for piece in reversed(pieces) if piece.position < index]
        behind = [piece for piece in pieces if piece.position > index >= 0]
        shown = [SourceModule(self.prefix, prompt, "the prompt", -1)] if isinstance(prompt, ast.Module) else []
        return [*before, *shown, *behind]

    def _body(self, code: str) -> str | None:
        return continues(self.parser, code, self.entry_point, self.prefix, may_be_prose=True)

    def _defines(self, tree: ast.Module) -> bool:
        return definition(tree, self.entry_point) is not None or method_owner(tree, self.entry_point) is not None

    def _last_first(self) -> range:
        return range(len(self.fences) - 1, -1, -1)

    def _label(self, index: int) -> str:
        return f"fence {index + 1}/{len(self.fences)}"


def _is_meant_as_code(fence: Fence) -> bool:
    return fence.language.startswith("py") or _LOOKS_LIKE_CODE.search(fence.code) is not None
