"""Warnings from the samples of a run: equal ones, single ones, and replies whose form does not fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from truegrade.pipeline.cautions import Caution, caution
from truegrade.pipeline.verdict_table import VerdictTable, counted
from truegrade.profiles import Profile
from truegrade.records import (
    CasesTask,
    ContestTask,
    FunctionTask,
    OracleTask,
    Problem,
    Reason,
    SampleKey,
    SuiteTask,
)
from truegrade.records.config import GenerationConfig
from truegrade.store.facts import Shape
from truegrade.store.importers import replies_format

T = TypeVar("T")

MOST_PROBLEMS = 0.5
"""Share of the problems with several samples from which equal samples are no coincidence."""
REPLY_SHARE = 0.05
"""Share of the replies from which a wrong form moves the number."""

Texts = Mapping[str, Mapping[int, str]]
"""Problem -> sample -> SHA-256 of its text."""
_PROGRAMS = (FunctionTask, OracleTask, CasesTask, ContestTask, SuiteTask)


def aligned(rows: Iterable[Mapping[int, T]]) -> tuple[list[int], list[list[T]]]:
    """The sample numbers that occur, and the rows that hold all of them, in their order.

    A count of samples says nothing of their numbers: where a request failed, a number is missing.

    Args:
        rows: of each problem, what is known of a sample by its number.
    """
    there = list(rows)
    numbers = sorted({number for row in there for number in row})
    return numbers, [[row[number] for number in numbers] for row in there if len(row) == len(numbers)]


def repeated_samples(texts: Iterable[Mapping[int, str]]) -> tuple[dict[int, list[int]], int]:
    """Samples whose text equals that of an earlier sample in every problem that has all of them.

    Args:
        texts: of each problem, the texts or their hashes by sample. A single problem shows nothing.

    Returns:
        earlier sample -> those that repeat it; and the number of problems that have all samples.
    """
    numbers, rows = aligned(texts)
    found: dict[int, list[int]] = {}
    for place, second in enumerate(numbers if len(rows) > 1 else ()):
        first = next((at for at in range(place) if all(row[at] == row[place] for row in rows)), None)
        if first is not None:
            found.setdefault(numbers[first], []).append(second)
    return found, len(rows)


def samples_named(first: int, seconds: Sequence[int]) -> str:
    """``samples 1 to 4 repeat sample 0``."""
    if len(seconds) == 1:
        return f"sample {seconds[0]} repeats sample {first}"
    contiguous = seconds[-1] - seconds[0] == len(seconds) - 1
    named = f"{seconds[0]} to {seconds[-1]}" if contiguous else ", ".join(map(str, seconds))
    return f"samples {named} repeat sample {first}"


def identical_samples(texts: Texts) -> list[Caution]:
    """The warning that samples are no independent draws, because their texts are the same."""
    repeated, whole = repeated_samples(texts.values())
    if repeated:
        named = "; ".join(samples_named(first, seconds) for first, seconds in repeated.items())
        said = f"{named} in all {whole} problems: pass@k counts one draw several times"
        return [caution("identical-samples", said, whole, whole)]
    several = [row for row in texts.values() if len(row) > 1]
    same = sum(len(set(row.values())) == 1 for row in several)
    if not same or same < MOST_PROBLEMS * len(several):
        return []
    said = (
        f"{same} of {len(several)} problems have identical samples (greedy decoding, a cache, copied rows or a"
        " confident model): pass@k counts one draw several times"
    )
    return [caution("identical-samples", said, same, len(several))]


def near_duplicates(problems: Mapping[str, Problem], outcomes: VerdictTable, texts: Texts) -> list[Caution]:
    """The warning that samples differ in their texts and hold the same program, white space apart."""
    if identical_samples(texts):
        return []
    programs = [
        [outcome.answer_hash for outcome in counted(outcomes.get(task, ()))]
        for task, problem in problems.items()
        if isinstance(problem.task, _PROGRAMS)
    ]
    several = [row for row in programs if len(row) > 1]
    same = sum(len(set(row)) == 1 and row[0] != 0 for row in several)
    if not same or same < MOST_PROBLEMS * len(several):
        return []
    said = (
        f"in {same} of {len(several)} problems all samples hold the same program, white space apart: pass@k counts"
        " one draw several times"
    )
    return [caution("near-duplicates", said, same, len(several))]


def one_sample(config: GenerationConfig | None, n: int) -> list[Caution]:
    """The warning that a repeated run would draw other replies, and that nothing here says how other."""
    temperature = config.sampling.temperature if config else None
    if n > 1 or not temperature:
        return []
    said = (
        f"one sample per problem at temperature {temperature:g}: how far a repeated run on the same problems would"
        " differ cannot be told from it"
    )
    return [caution("one-sample", said)]


def replies_as_programs(
    import_format: str | None, outcomes: VerdictTable, shapes: Mapping[SampleKey, Shape]
) -> list[Caution]:
    """The warning that a file was read in a format of whole programs, and holds chat replies.

    Args:
        import_format: of the file; None where the run asked a model.
        outcomes: the verdicts.
        shapes: what the texts look like.
    """
    judged = [outcome for row in outcomes.values() for outcome in counted(row)]
    failed = sum(not outcome.passed and shapes.get(outcome.key) == "reply" for outcome in judged)
    if import_format is None or not failed or failed < REPLY_SHARE * len(judged):
        return []
    said = (
        f"chat replies, where the format {import_format} holds whole programs: {failed} of {len(judged)} fail for"
        f" their form, whatever program they hold; `file_format` {replies_format(import_format)} reads them as"
        " replies"
    )
    return [caution("reply-form", said, failed, len(judged))]


def reply_form(
    profile: Profile, problems: Mapping[str, Problem], outcomes: VerdictTable, shapes: Mapping[SampleKey, Shape]
) -> list[Caution]:
    """The warning that replies fail for their form, whatever program they hold."""
    if profile.takes == "either":
        return []
    wrong: Shape = "fenced" if profile.takes == "continuation" else "indented"
    judged = [
        outcome
        for task, problem in problems.items()
        if isinstance(problem.task, FunctionTask | OracleTask | SuiteTask)
        for outcome in counted(outcomes.get(task, ()))
    ]
    failed = sum(
        outcome.reason in (Reason.SYNTAX_ERROR, Reason.NO_CODE) and shapes.get(outcome.key) == wrong
        for outcome in judged
    )
    if not failed or failed < REPLY_SHARE * len(judged):
        return []
    forms = (
        "chat replies with Markdown, where the rules take text that continues the prompt"
        if wrong == "fenced"
        else "replies that are a function's body, where the rules take a whole program"
    )
    said = f"{forms}: {failed} of {len(judged)} fail for their form, whatever program they hold"
    return [caution("reply-form", said, failed, len(judged))]
