"""The warnings of a run: from its samples, and from its manifest, counts and problems.

Warnings from the samples of a run: equal ones, single ones, and replies whose form does not fit.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import UNSET
from msgspec.structs import replace

from truegrade.datasets.identity import identity
from truegrade.datasets.learned import FILE, REASON
from truegrade.errors import first_few
from truegrade.grading.judgement import shortened
from truegrade.grading.literals import most_frequent
from truegrade.grading.marks import JOINED_TESTS
from truegrade.kinds import asked_value, kind_of
from truegrade.models.micro import was_shown
from truegrade.pipeline.cautions import Caution, caution
from truegrade.pipeline.verdicts import VerdictTable, counted_by_sample, graded, missing_packages
from truegrade.profiles import Profile
from truegrade.records import Estimate, Problem, Reason
from truegrade.records.config import GenerationConfig
from truegrade.statistics import Exchangeability, TaskTally, estimate
from truegrade.statistics.reasoning_records import Pair
from truegrade.statistics.windows import Window, described
from truegrade.store import Manifest
from truegrade.store.facts import ReplyForm, Shape, VerdictFacts, VerdictKind
from truegrade.store.importers import IMPORTERS, Importer, replies_format

T = TypeVar("T")

MOST_PROBLEMS = 0.5
"""Share of the problems with several samples from which equal samples are no coincidence."""
REPLY_SHARE = 0.05
"""Share of the replies from which a wrong form moves the number."""

Texts = Mapping[str, Mapping[int, Hashable]]
"""Problem -> sample -> its text, or what is equal where texts are."""


def aligned(rows: Iterable[Mapping[int, T]]) -> tuple[list[int], list[list[T]]]:
    """The sample numbers that occur, and the rows that hold all of them, in their order.

    A count of samples says nothing of their numbers: where a request failed, a number is missing.

    Args:
        rows: of each problem, what is known of a sample by its number.
    """
    numbers, whole = _whole(rows)
    return numbers, [[row[number] for number in numbers] for row in whole]


def _whole(rows: Iterable[Mapping[int, T]]) -> tuple[list[int], list[Mapping[int, T]]]:
    there = list(rows)
    numbers = sorted({number for row in there for number in row})
    return numbers, [row for row in there if len(row) == len(numbers)]


def repeated_samples(texts: Iterable[Mapping[int, Hashable]]) -> tuple[dict[int, list[int]], int]:
    """Samples whose text equals that of an earlier sample in every problem that has all of them.

    Args:
        texts: of each problem, the texts or their hashes by sample. A single problem shows nothing.

    Returns:
        earlier sample -> those that repeat it; and the number of problems that have all samples.
    """
    numbers, rows = _whole(texts)
    found: dict[int, list[int]] = {}
    first: dict[int, int] = {}  # by a hash: all texts of a sample would be held until the end
    for second in numbers if len(rows) > 1 else ():
        earlier = first.setdefault(hash(tuple([row[second] for row in rows])), second)
        if earlier != second and all(row[earlier] == row[second] for row in rows):
            found.setdefault(earlier, []).append(second)
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
        f"of {len(several)} with several samples {same} {'has' if same == 1 else 'have'} identical ones (greedy"
        " decoding, a cache, copied rows or a confident model): pass@k counts one draw several times"
    )
    return [caution("identical-samples", said, same, len(several))]


def near_duplicates(
    problems: Mapping[str, Problem], outcomes: VerdictTable, texts: Texts, verdicts: Iterable[VerdictFacts]
) -> list[Caution]:
    """The warning that samples differ in their texts and hold the same program, white space apart.

    Args:
        problems: by id.
        outcomes: the verdicts that count.
        texts: of the replies.
        verdicts: with the hashes of their answers, in the order they were written.
    """
    wanted = {task for task, problem in problems.items() if kind_of(problem.task).gives == "program"}
    if not wanted or identical_samples(texts):
        return []
    hashes = {task: array("q", bytes(8 * len(outcomes.get(task, ())))) for task in wanted}
    for verdict in verdicts:
        if verdict.sample < len(hashes.get(verdict.problem_id, ())):
            hashes[verdict.problem_id][verdict.sample] = verdict.answer_hash
    programs = (
        [row[sample] for sample, _ in counted_by_sample(outcomes.get(task, ()))] for task, row in hashes.items()
    )
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
    import_format: str | None, outcomes: VerdictTable, form: Callable[[str, int], ReplyForm]
) -> list[Caution]:
    """The warning that a file was read in a format of whole programs, and holds chat replies.

    Args:
        import_format: of the file; None where the run asked a model.
        outcomes: the verdicts.
        form: of the reply to a sample, by problem and number.
    """
    if import_format is None:
        return []
    judged = failed = 0
    for task, row in outcomes.items():
        for sample, outcome in counted_by_sample(row):
            judged += 1
            failed += not outcome.passed and form(task, sample).shape == "reply"
    if not failed or failed < REPLY_SHARE * judged:
        return []
    said = (
        f"chat replies, where the format {import_format} holds whole programs: {failed} of {judged} fail for"
        f" their form, whatever program they hold; `file_format` {replies_format(import_format)} reads them as"
        " replies"
    )
    return [caution("reply-form", said, failed, judged)]


def joined_tests(outcomes: VerdictTable) -> list[Caution]:
    """The warning that passes rest on tests which the end of the program changed."""
    passes = [(name, each) for name, samples in outcomes.items() for each in graded(samples) if each.passed]
    joined = [name for name, each in passes if JOINED_TESTS in each.marks]
    if not joined:
        return []
    said = (
        f"{len(joined)} of {len(passes)} passes rest on tests that the end of the program changed, as a decorator"
        f" or an open line does with what stands behind it: {first_few(list(dict.fromkeys(joined)), SHOWN)}"
    )
    return [caution("joined-tests", said, len(joined), len(passes))]


def reply_form(
    profile: Profile,
    problems: Mapping[str, Problem],
    outcomes: VerdictTable,
    form: Callable[[str, int], ReplyForm],
) -> list[Caution]:
    """The warning that replies fail for their form, whatever program they hold."""
    if profile.takes == "either":
        return []
    wrong: Shape = "fenced" if profile.takes == "continuation" else "indented"
    judged = failed = 0
    for task, problem in problems.items():
        if not kind_of(problem.task).begun(problem.task):
            continue
        for sample, outcome in counted_by_sample(outcomes.get(task, ())):
            judged += 1
            formless = outcome.reason in (Reason.SYNTAX_ERROR, Reason.NO_CODE)
            failed += formless and form(task, sample).shape == wrong
    if not failed or failed < REPLY_SHARE * judged:
        return []
    forms = (
        "chat replies with Markdown, where the rules take text that continues the prompt"
        if wrong == "fenced"
        else "replies that are a function's body, where the rules take a whole program"
    )
    said = f"{forms}: {failed} of {judged} fail for their form, whatever program they hold"
    return [caution("reply-form", said, failed, judged)]


# ---- Warnings from a run's manifest, counts and problems: parts left out, limits near, what a model has seen.


INCLUDED_MODEL = "embedded/truegrade-micro"
"""How the names of the models that come with the package begin."""
SHOWN = 5
"""Problems that a warning names before it says how many more there are."""


def data_cautions(manifest: Manifest, problems: Mapping[str, Problem], window: Window) -> list[Caution]:
    """The warnings on the problems asked: modified, a part, seen by the model, unknown to it."""
    return [
        *_modified(manifest),
        *_partial(manifest, len(problems), window),
        *_trained_on(manifest, problems),
        *_adapters_past(manifest),
        *_not_trained(manifest, problems),
    ]


def _modified(manifest: Manifest) -> list[Caution]:
    """The warning that the data file is not the pinned one."""
    of = manifest.benchmark
    if of.modified is UNSET:
        return []
    return [caution("modified-data", f"this is no result on {of.name}: {of.modified}")]


def _partial(manifest: Manifest, tasks: int, window: Window) -> list[Caution]:
    """The warning that a run covers a part of its benchmark."""
    of = manifest.benchmark
    left_out = "" if of.part is UNSET else f"; {of.part}"
    if tasks >= of.problems and not left_out:
        return []
    chosen = f" ({described(window)})" if window else ""
    said = f"only {tasks} of the {of.problems} problems of {of.label}{chosen}{left_out}"
    if tasks >= of.problems:
        said = f"not all problems of {of.label}{left_out}"
    return [caution("subset", said, tasks, of.problems)]


def _trained_on(manifest: Manifest, problems: Mapping[str, Problem]) -> list[Caution]:
    """The warning that programs were shown to the included model when it was trained."""
    generation = manifest.generation
    if generation is None or not _is_shipped(generation.model):
        return []
    tasks = [(problem.task, kind_of(problem.task)) for problem in problems.values()]
    programs = dict.fromkeys(
        (program, pairing.shown)
        for task, kind in tasks
        if (pairing := kind.pairing(task)) is not None
        for program in kind.programs_shown(task)
    )
    asked = Counter(kind for _, kind in programs)
    shown = Counter(kind for program, kind in programs if _was_shown(program))
    if not shown:
        return []
    counts = ", ".join(f"{shown[kind]} of {asked[kind]} {POPULATIONS[kind]}" for kind in asked)
    kept = "seed 0 of `truegrade data build dsl-list` was held out"
    said = f"{generation.model} was trained on programs of this data set: {counts}; {kept}"
    return [caution("trained-on", said, shown.total(), asked.total())]


def _adapters_past(manifest: Manifest) -> list[Caution]:
    """The warnings on what the adapter learned from: unknown, or left out."""
    found = []
    if manifest.training_data == "unknown":
        said = f"training data unknown: the adapter has no {FILE}, so it may have seen these problems"
        found.append(caution("training-data-unknown", said))
    seen = [problem for problem, why in manifest.excluded.items() if why == REASON]
    if seen:
        said = f"left out, because the adapter learned from them: {first_few(seen, SHOWN)}"
        asked = manifest.benchmark.problems if manifest.selected is None else len(manifest.selected)
        found.append(caution("seen", said, len(seen), asked))
    return found


def _is_shipped(model: str) -> bool:
    """Whether it is the model whose training programs are known, with an adapter or without."""
    return model.startswith(INCLUDED_MODEL) and not model.startswith(f"{INCLUDED_MODEL}-early")


def _was_shown(program: str) -> bool:
    try:
        return was_shown(identity(program))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _not_trained(manifest: Manifest, problems: Mapping[str, Problem]) -> list[Caution]:
    """The warning that the included model was asked what it cannot answer."""
    generation = manifest.generation
    if generation is None or not generation.model.startswith(INCLUDED_MODEL):
        return []
    asked = (kind_of(one.task).question(one, one.task) for one in problems.values())
    if not any(isinstance(each, Pair) for each in asked):
        return []
    said = f"{generation.model} was not trained to choose between programs: use another model"
    return [caution("not-trained", said)]


def unscored(shown: Sequence[str]) -> list[Caution]:
    """The warning that the run asked problems which this profile does not score."""
    if not shown:
        return []
    said = f"not scored, because the prompts show their solutions: {', '.join(shown)}"
    return [caution("unscored", said, len(shown))]


def missing_replies(
    manifest: Manifest, expected: int, answered: int, failed: int, profile: Profile
) -> list[Caution]:
    """The warnings that samples have no reply: whether a profile counts them, and how to request them.

    Args:
        manifest: of the run.
        expected: samples that were to be answered.
        answered: those with a reply.
        failed: those whose every attempt failed.
        profile: says whether it counts these as wrong.
    """
    counted = failed if profile.counts_failed else 0
    left_out = expected - answered - counted
    found = []
    if counted:
        said = f"{counted:,} of {_samples(expected)} {_failed(manifest)}, and count as wrong, as in the harness"
        found.append(caution("failed-requests", said, counted, expected))
    if left_out and manifest.generation is not None:
        said = "have no reply and are not scored; run the same command again to request them"
        found.append(_left_out(left_out, expected, said))
    elif left_out:
        absent = expected - answered - failed
        if failed > counted:
            found.append(_left_out(failed, expected, f"{_failed(manifest)}, and are not scored"))
        if absent:
            said = f"are not in the file, which has up to {_samples(manifest.samples_per_task)} per problem"
            if 2 * absent > expected - expected // manifest.samples_per_task:  # most problems have fewer
                said += " (remove rows that stand in it twice)"
            found.append(_left_out(absent, expected, f"{said}, and are not scored"))
    return found


def stopped(unasked: int, expected: int, texts: Texts, outcomes: VerdictTable) -> list[Caution]:
    """The warning that the run was stopped before its end.

    Args:
        unasked: samples that no request was made for.
        expected: samples that were to be answered.
        texts: of each problem that the profile scores, the hash of each reply by sample.
        outcomes: under the profile.
    """
    replies = sum(map(len, texts.values()))
    left = 0
    for task, row in texts.items():
        verdicts = outcomes.get(task, ())
        left += sum(sample >= len(verdicts) or verdicts[sample] is None for sample in row)
    said = [f"{unasked:,} of {_samples(expected)} were not asked for"] if unasked else []
    said += [f"{left:,} of {replies:,} replies have no verdict"] if left else []
    if not said:
        return []
    sentence = f"stopped before the end: {', '.join(said)}, and are not counted; run the same command again"
    return [caution("stopped", sentence, unasked + left, expected)]


def _left_out(number: int, expected: int, said: str) -> Caution:
    return caution("missing-replies", f"{number:,} of {_samples(expected)} {said}", number, expected)


def _failed(manifest: Manifest) -> str:
    """What is said of samples whose requests failed; a file says it in the words of its format."""
    if manifest.generation is not None:
        return "have no reply, because every attempt failed"
    return next((one.failed for one in IMPORTERS if one.name == manifest.import_format), Importer.failed)


def stopped_by_results(stopping: Mapping[str, Any]) -> list[Caution]:
    """The warning on every number of a run that an earlier version ended as soon as its results decided.

    Args:
        stopping: what that version wrote into the manifest.
    """
    if not (stopping.get("test") or {}).get("decision"):
        return []
    said = (
        f"stopped early, when the comparison with {stopping.get('against')} was decided: how many problems were"
        " asked depends on the results, so no interval or test for a fixed number of problems holds"
    )
    return [caution("stopped-when-decided", said)]


def _samples(number: int) -> str:
    return "1 sample" if number == 1 else f"{number:,} samples"


def count_cautions(
    tallies: Sequence[TaskTally],
    n: int,
    order: Exchangeability | None,
    outcomes: Sequence[VerdictKind],
    advice: str,
) -> list[Caution]:
    """What a reader of the headline must know of its counts; ``advice`` is on replies that were cut."""
    found = []
    short = sum(tally.n < n for tally in tallies)
    if short:
        said = f"{short} of {len(tallies)} problems have fewer than {n} graded samples"
        found.append(caution("uneven-samples", said, short, len(tallies)))
    found += [caution("missing-packages", said) for said in missing_packages(outcomes)]
    truncated = sum(o.truncated for o in outcomes)
    if truncated:
        said = f"{truncated} of {len(outcomes)} replies were cut at the token limit{advice}"
        found.append(caution("truncated", said, truncated, len(outcomes)))
    sensitive = sum(o.time_sensitive for o in outcomes)
    if sensitive:
        said = (
            f"{sensitive} of {len(outcomes)} verdicts were decided by a time limit or used half of one, and may"
            " differ on another machine; `truegrade grade RUN --timeout SECONDS` settles them"
        )
        found.append(caution("time-limit", said, sensitive, len(outcomes)))
    if order is not None and (sentence := order.warning()):
        found.append(caution("not-exchangeable", sentence))
    return found


# ----------------- Runs that ask programs of several kinds: their rates are told apart before they are pooled.


POPULATIONS = {
    "original": "originals",
    "mutant": "mutants",
    "changed": "changed problems",
    "preserved": "rewritings",
}
"""`Pairing.shown`, ``changed`` for problems whose statement was changed, and how many of them are called; the
first that was asked gives the headline."""


def population_rates(problems: Mapping[str, Problem], tallies: Sequence[TaskTally]) -> list[Estimate]:
    """pass@1 of each kind of program, as ``original_pass@1``; empty where only one kind was asked."""
    parts = _parts(problems, tallies)
    if len(parts) < 2:
        return []
    return [
        replace(estimate("pass@1", parts[kind]), metric=f"{kind}_pass@1")
        for kind in POPULATIONS
        if any(tally.n for tally in parts.get(kind, ()))
    ]


def unchanged(problems: Mapping[str, Problem], tallies: Sequence[TaskTally]) -> list[TaskTally]:
    """The counts without those of changed problems, which are reported beside their originals."""
    return [tally for tally in tallies if _kind(problems[tally.task_id]) != "changed"]


def pooled_populations(problems: Mapping[str, Problem]) -> list[Caution]:
    """The warning that pass@1 is a mean over several kinds of program."""
    asked = Counter(map(_kind, problems.values()))
    if len(asked) < 2:
        return []
    held = [f"{asked[kind]} {words}" for kind, words in POPULATIONS.items() if kind in asked]
    said = f"pass@1 pools {', '.join(held[:-1])} and {held[-1]}; the rate of each kind comes before it"
    return [caution("pooled-populations", said)]


USUAL_SHARE, USUAL_COUNT = 0.1, 5
"""Of the questions that one and the same answer is right on, and how many these are at least, to be told."""


def constant_answer(problems: Mapping[str, Problem]) -> list[Caution]:
    """The warning that reading no program at all is right on many of the questions about values."""
    asked = [expected for problem in problems.values() if (expected := asked_value(problem.task)) is not None]
    text, count = most_frequent(asked) or ("", 0)
    if count < max(USUAL_COUNT, USUAL_SHARE * len(asked)):
        return []
    said = (
        f"always answering {shortened(text)} is right on {count} of {len(asked)} problems that ask for a value,"
        " which is what `baseline/constant` scores"
    )
    return [caution("constant-answer", said, count, len(asked))]


def _parts(problems: Mapping[str, Problem], tallies: Sequence[TaskTally]) -> Mapping[str, Sequence[TaskTally]]:
    """The counts by kind of program; a problem without variants is an original."""
    parts: dict[str, list[TaskTally]] = defaultdict(list)
    for tally in tallies:
        parts[_kind(problems[tally.task_id])].append(tally)
    return parts


def _kind(problem: Problem) -> str:
    kind = kind_of(problem.task)
    pairing = kind.pairing(problem.task)
    if pairing is not None and pairing.shown == "mutant" and kind.gives == "program":
        return "changed"
    return pairing.shown if pairing else "original"
