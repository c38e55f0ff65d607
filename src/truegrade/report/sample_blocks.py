"""The samples inside the page: packed texts that its script unpacks one block at a time.

A block is JSON, deflated (RFC 1951), in base64, in a ``script`` element that no browser runs. The index is small
and unpacked at once; a text is unpacked when its sample is opened, or when all texts are searched.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from truegrade.files.json_text import encode
from truegrade.report.chosen_samples import Browser, Prompts
from truegrade.report.markup import Markup, el, join
from truegrade.report.sample_views import SampleView, VerdictView

SAMPLES_A_BLOCK = 100
PROMPTS_A_BLOCK = 50
LINE_CHARS = 140
"""Characters of a verdict's detail in the list."""
NO_VERDICT = -1
LEVEL = 6
"""Of deflate: 9 takes a third longer for 1 % less."""


class SampleIndex(msgspec.Struct, frozen=True, kw_only=True):
    """What the list shows and filters by, column by column; one entry a sample unless said otherwise."""

    profiles: list[str]
    reasons: list[str]
    tasks: list[str]
    """Ids; the prompt of problem i is in block ``i // prompts_a_block``."""
    lines: list[str]
    """Distinct lines of detail."""
    prompted: bool
    """Whether the run stores prompts."""
    samples_a_block: int = SAMPLES_A_BLOCK
    prompts_a_block: int = PROMPTS_A_BLOCK
    task: list[int]
    sample: list[int]
    verdict: list[list[int]]
    """By profile: ``2 * reason + passed``, or `NO_VERDICT`."""
    line: list[list[int]]
    """By profile: index into ``lines``, or `NO_VERDICT`."""
    size: list[int]
    """Characters of the reply, thinking included."""
    latency_ms: list[int]
    """-1 where it is not known."""


def blocks(browser: Browser) -> Markup:
    """All elements that hold the samples."""
    index = make_index(browser)
    return join(
        packed("index", index),
        (packed(f"samples-{n}", part) for n, part in enumerate(_parts(browser.samples, SAMPLES_A_BLOCK))),
        (packed(f"prompts-{n}", part) for n, part in enumerate(_prompt_parts(index.tasks, browser.prompts))),
    )


def make_index(browser: Browser) -> SampleIndex:
    """The columns of the list."""
    tasks, reasons, lines = _Names(), _Names(), _Names()
    by_profile = [{v.profile: v for v in view.verdicts} for view in browser.samples]
    columns = [[of.get(profile) for of in by_profile] for profile in browser.profiles]
    return SampleIndex(
        profiles=browser.profiles,
        task=[tasks.number(view.id) for view in browser.samples],
        sample=[view.sample for view in browser.samples],
        verdict=[[_code(verdict, reasons) for verdict in column] for column in columns],
        line=[[_line(verdict, lines) for verdict in column] for column in columns],
        size=[sum(text.chars for text in (view.reply, view.thinking) if text) for view in browser.samples],
        latency_ms=[-1 if view.latency_s is None else round(1000 * view.latency_s) for view in browser.samples],
        tasks=tasks.all,
        reasons=reasons.all,
        lines=lines.all,
        prompted=bool(browser.prompts),
    )


def pack(value: Any) -> str:
    """JSON, deflated without a header, in base64."""
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    content = encode(value)
    return base64.b64encode(packer.compress(content) + packer.flush()).decode("ascii")


class _Names:
    """Distinct texts by the order in which they came."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, name: str) -> int:
        """The number of a text, a new one where it is new."""
        return self._numbers.setdefault(name, len(self._numbers))

    @property
    def all(self) -> list[str]:
        """Every text, by number."""
        return list(self._numbers)


def _code(verdict: VerdictView | None, reasons: _Names) -> int:
    return NO_VERDICT if verdict is None else 2 * reasons.number(verdict.reason) + verdict.passed


def _line(verdict: VerdictView | None, lines: _Names) -> int:
    return NO_VERDICT if verdict is None else lines.number(verdict.detail[:LINE_CHARS])


def _parts(views: Sequence[SampleView], size: int) -> Iterable[Sequence[SampleView]]:
    return (views[start : start + size] for start in range(0, len(views), size))


def _prompt_parts(tasks: Sequence[str], prompts: Prompts) -> Iterable[Mapping[str, Any]]:
    if not prompts:
        return
    for start in range(0, len(tasks), PROMPTS_A_BLOCK):
        yield {task: prompts[task] for task in tasks[start : start + PROMPTS_A_BLOCK] if task in prompts}


def packed(name: str, value: Any) -> Markup:
    """The element that holds a value for the script, by name."""
    return el("script", Markup(pack(value)), type="application/x-truegrade", id=f"block-{name}")
