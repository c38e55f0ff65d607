"""A sample as the page shows it: its texts cut to a readable length, its answer found again inside its reply."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from truegrade.extraction.thinking import Weight, final_channel, words
from truegrade.records import Completion, SampleKey, Verdict

# -------------- The failing test with expected and actual value, parsed from the one-line detail of a verdict.
# Plain searches, no patterns: the line quotes what a program returned, which may be hostile.


_VERBS = (" gave ", " returned ", " printed ")
_EXPECTED = ", expected "
_FAILED = "` failed"
_IN = ", in `"


class FailureLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """As much of a failure as the line says."""

    test: str = ""
    expected: str = ""
    got: str = ""


def read_failure(detail: str) -> FailureLine | None:
    """Take a line of detail apart, as the graders word it; None where it is in no known shape."""
    return _statement(detail) or _comparison(detail) or _exception(detail)


def _statement(detail: str) -> FailureLine | None:
    """```TEST` failed; expected E; the program returned G``, perhaps behind an exception."""
    before, quote, rest = detail.partition("`")
    test, failed, facts = rest.partition(_FAILED)
    if not quote or not failed or (before and not before.endswith(": ")):
        return None
    said, _, got = facts.partition("; the program returned ")
    expected = said.removeprefix("; expected ") if said else _right_side(test)
    return FailureLine(test=test, expected=expected, got=got)


def _comparison(detail: str) -> FailureLine | None:
    """``answered G, expected E``; ``f(1) gave G, expected E``."""
    head, comma, expected = detail.rpartition(_EXPECTED)
    if not comma:
        return None
    if head.startswith(("answered ", "printed ")):
        return FailureLine(expected=expected, got=head.partition(" ")[2])
    found = [(place, verb) for verb in _VERBS if (place := head.find(verb)) > 0]
    if not found:
        return None
    place, verb = min(found)
    return FailureLine(test=head[:place], expected=expected, got=head[place + len(verb) :])


def _exception(detail: str) -> FailureLine | None:
    """``IndexError: pop from empty list, in `TEST```; ``f([]) raised IndexError: ...``."""
    error, _, test = detail.rpartition(_IN)
    if error and test.endswith("`"):
        return FailureLine(test=test[:-1], expected=_right_side(test[:-1]), got=error)
    call, raised, error = detail.partition(") raised ")
    return FailureLine(test=f"{call})", got=error) if raised else None


def _right_side(test: str) -> str:
    """What an assertion that compares one call with a value expects."""
    left, equal, right = test.partition(") == ")
    return right if equal and left.startswith("assert ") and " == " not in right else ""


MAX_TEXT_CHARS = 20_000
"""A longer text is cut, with a note."""


class Excerpt(msgspec.Struct, frozen=True, array_like=True):
    """The first `MAX_TEXT_CHARS` of a text, and how long all of it is."""

    text: str
    chars: int


class ShownSpan(msgspec.Struct, frozen=True, array_like=True):
    """Where an answer stands in the reply as shown, in UTF-16 units, which is how a browser counts."""

    start: int
    end: int
    times: int
    """How often the reply holds it; of several the last is marked."""


class AnswerView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a rule took for the answer: a place in the reply, or its own text where it is not there verbatim."""

    span: ShownSpan | None = None
    text: Excerpt | None = None


class VerdictView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one profile made of a sample."""

    profile: str
    passed: bool
    reason: str
    detail: str = ""
    failure: FailureLine | None = None
    answer: int | None = None
    """Index into the sample's answers."""
    found: str = ""
    cpu_s: float | None = None
    wall_s: float | None = None
    notes: tuple[str, ...] = ()


class SampleView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One sample as the page's script shows it."""

    id: str
    sample: int
    thinking: Excerpt | None = None
    reply: Excerpt | None = None
    """None where the run stores no reply for it."""
    finish: str | None = None
    output_tokens: int | None = None
    latency_s: float | None = None
    cost_usd: float | None = None
    answers: tuple[AnswerView, ...]
    verdicts: tuple[VerdictView, ...]
    reference: Excerpt | None = None
    """The data set's own program, where it has one and some profile refuses the sample."""

    @property
    def chars(self) -> int:
        """Characters that it takes on the page."""
        texts = [self.thinking, self.reply, self.reference, *(answer.text for answer in self.answers)]
        return sum(len(text.text) for text in texts if text) + sum(len(v.detail) for v in self.verdicts)


def view_sample(
    key: SampleKey,
    completion: Completion | None,
    verdicts: Sequence[Verdict],
    reference: Callable[[], str] = str,
) -> SampleView:
    """Gather one sample.

    Args:
        key: of the sample.
        completion: None where the run stores none.
        verdicts: one a profile.
        reference: gives the data set's program for the problem, empty where there is none, or it is not at hand;
            called for a sample that some profile refuses.
    """
    program = "" if all(verdict.passed for verdict in verdicts) else reference()
    beside = excerpt(program) if program else None
    answers = list(dict.fromkeys(v.answer for v in verdicts if v.answer is not None))
    views = tuple(_verdict_view(v, None if v.answer is None else answers.index(v.answer)) for v in verdicts)
    if completion is None or completion.text is None:
        shown = tuple(AnswerView(text=excerpt(answer)) for answer in answers)
        return SampleView(id=key.problem_id, sample=key.sample, answers=shown, verdicts=views, reference=beside)
    thinking, reply = split_thinking(completion, answers)
    return SampleView(
        id=key.problem_id,
        sample=key.sample,
        thinking=excerpt(thinking) if thinking else None,
        reply=excerpt(reply),
        finish=completion.finish_reason,
        output_tokens=completion.usage.output_tokens if completion.usage else None,
        latency_s=completion.latency_s,
        cost_usd=completion.cost_usd,
        answers=tuple(view_answer(answer, reply) for answer in answers),
        verdicts=views,
        reference=beside,
    )


def excerpt(text: str) -> Excerpt:
    """Cut a text for the page."""
    return Excerpt(text[:MAX_TEXT_CHARS], len(text))


def split_thinking(completion: Completion, answers: Sequence[str]) -> tuple[str, str]:
    """Thinking, whether it came apart or inside the reply, and the rest of the reply with every character.

    Args:
        completion: what was said.
        answers: what was taken out of it.
    """
    text = completion.text or ""
    shown = [answer.strip() for answer in answers if answer.strip() and answer.strip() in text]

    def weigh(passage: str) -> Weight:
        return Weight(2 * any(answer in passage for answer in shown)) if shown else words(passage)

    offset = final_channel(text, weigh).offset if completion.form == "reply" else 0
    return "\n\n".join(part for part in (completion.reasoning, text[:offset]) if part), text[offset:]


def view_answer(answer: str, reply: str) -> AnswerView:
    """Find an answer in the reply; inside a longer word or number is not a place of it."""
    wanted = answer.strip()
    if not wanted:
        return AnswerView(text=excerpt(answer))
    places = list(_whole_places(wanted, reply))
    if not places or places[-1] + len(wanted) > MAX_TEXT_CHARS:
        return AnswerView(text=excerpt(answer))
    start = _utf16_units(reply[: places[-1]])
    return AnswerView(span=ShownSpan(start, start + _utf16_units(wanted), len(places)))


def _whole_places(wanted: str, text: str) -> Iterator[int]:
    """Where a text begins in another without being a part of a longer word, from left to right."""
    start = text.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        joined = _joins(text[start - 1 : start], wanted[0]) or _joins(wanted[-1], text[end : end + 1])
        if not joined:
            yield start
        start = text.find(wanted, end if not joined else start + 1)


def _joins(left: str, right: str) -> bool:
    """Whether two neighbouring characters are of one word or number."""
    return all(character.isalnum() or character == "_" for character in (left, right))


def _utf16_units(text: str) -> int:
    return len(text) + sum(character > "\uffff" for character in text) if not text.isascii() else len(text)


def _verdict_view(verdict: Verdict, answer: int | None) -> VerdictView:
    notes = [*verdict.marks]
    if verdict.time_sensitive:
        notes.append("reached a time limit or used half of it")
    if verdict.truncated:
        notes.append("reply cut at the token limit")
    return VerdictView(
        profile=verdict.profile,
        passed=verdict.passed,
        reason=verdict.reason.value,
        detail=verdict.detail[:MAX_TEXT_CHARS],
        failure=read_failure(verdict.detail),
        answer=answer,
        found=verdict.found,
        cpu_s=verdict.cpu_s,
        wall_s=verdict.wall_s,
        notes=tuple(notes),
    )
