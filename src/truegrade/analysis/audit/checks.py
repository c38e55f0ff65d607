"""The checks of an audit: samples, recorded verdicts, the protocol, and two files of one pipeline.

Checks of the samples: truncation, number per problem, duplicates, exchangeability.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from math import comb

import msgspec

from truegrade.analysis.audit.findings import Finding, RegradedFile, Severity, finding
from truegrade.analysis.audit.rows_beside_benchmark import REVERSED
from truegrade.analysis.audit.survey import RecordedVerdict, label
from truegrade.grading.marks import JOINED_TESTS, READS_TESTS
from truegrade.kinds import kind_of
from truegrade.patterns import pattern
from truegrade.pipeline.sample_cautions import aligned, repeated_samples, samples_named
from truegrade.pipeline.verdicts import VerdictTable, counted_by_sample
from truegrade.records import Reason, SampleKey
from truegrade.statistics import exchangeability
from truegrade.store.facts import VerdictKind


def check_samples(regraded: RegradedFile) -> Iterator[Finding]:
    """Truncation, uneven numbers, repeated texts, positions that differ."""
    yield from _truncated(regraded)
    if regraded.survey.width > 1:
        yield from _uneven(regraded)
        yield from _repeated_positions(regraded)
        yield from _identical(regraded)
        yield from _positions(regraded)


def _truncated(regraded: RegradedFile) -> Iterator[Finding]:
    several = regraded.survey.width > 1
    rows, limited, failed = [], 0, 0
    for problem_id, facts in regraded.survey.samples.items():
        for sample, fact in facts.items():
            if not (fact.limited or fact.inside):
                continue
            outcome = regraded.outcome(problem_id, sample)
            if outcome is not None and outcome.passed and JOINED_TESTS in outcome.marks:
                continue  # it ends so on purpose, as far as can be told, and has a finding of its own
            rows.append(label(SampleKey(problem_id, sample), several))
            limited += fact.limited
            failed += outcome is not None and not outcome.passed
    if rows:
        yield finding(
            "truncated",
            Severity.WARNING,
            rows,
            f"{len(rows)} texts are cut: {limited} according to finish_reason,"
            f" {len(rows) - limited} end inside a statement; {failed} of them fail, possibly because of the"
            " cut",
        )


def _uneven(regraded: RegradedFile) -> Iterator[Finding]:
    width = regraded.survey.width
    short = [task for task, facts in regraded.survey.samples.items() if len(facts) < width]
    if short:
        yield finding(
            "samples-uneven",
            Severity.WARNING,
            short,
            f"{len(short)} of the file's {len(regraded.survey.samples)} problems have fewer than {width} samples;"
            " any-of-N favours the others",
        )


def _repeated_positions(regraded: RegradedFile) -> Iterator[Finding]:
    """A position whose text equals an earlier one's in every problem was not sampled."""
    texts = ({number: fact.sha256 for number, fact in facts.items()} for facts in regraded.survey.samples.values())
    repeated, whole = repeated_samples(texts)
    for first, seconds in repeated.items():
        yield finding(
            "position-repeated",
            Severity.ERROR,
            list(regraded.survey.samples),
            f"{samples_named(first, seconds)} for all {whole} problems: the same answers are counted again",
        )


def _identical(regraded: RegradedFile) -> Iterator[Finding]:
    """Problems whose samples are all equal: greedy decoding, a cache, copied rows or a confident model."""
    several = [task for task, facts in regraded.survey.samples.items() if len(facts) > 1]
    same = [task for task in several if len(set(regraded.survey.texts(task))) == 1]
    if same:
        share = len(same) / len(several)
        yield finding(
            "samples-identical",
            Severity.WARNING if share >= 0.5 else Severity.INFO,
            same,
            f"{len(same)} of {len(several)} problems have identical samples; possible causes are greedy"
            " decoding, a"
            " cache, copied rows or a confident model",
        )


def _positions(regraded: RegradedFile) -> Iterator[Finding]:
    judged = (
        {sample: outcome.passed for sample, outcome in counted_by_sample(samples)}
        for samples in regraded.outcomes.values()
    )
    order = exchangeability(aligned(judged)[1])
    sentence = order.warning() if order is not None else None
    if order is not None and sentence is not None:
        rates = ", ".join(f"{100 * rate:.1f}" for rate in order.rates)
        yield finding(
            "not-exchangeable", Severity.WARNING, list(regraded.outcomes), f"{sentence} (by position: {rates} %)"
        )


# ------------------------------------------ Passes of the harness' rules that are none of the program's own doing.


def check_passes(regraded: RegradedFile) -> Iterator[Finding]:
    """Passes on tests that the reply changed, and those that `strict` refuses."""
    several = regraded.survey.width > 1
    passes = [
        (SampleKey(problem_id, sample), outcome)
        for problem_id, row in regraded.outcomes.items()
        for sample, outcome in counted_by_sample(row)
        if outcome.passed
    ]
    verdicts = {key: verdict for key, _ in passes if (verdict := _verdict(regraded.strict, key)) is not None}
    right = {key for key, verdict in verdicts.items() if verdict.passed and READS_TESTS not in verdict.marks}
    joined = [key for key, outcome in passes if JOINED_TESTS in outcome.marks]
    wrong = [key for key in joined if key not in right]
    if joined:
        count = f"{len(wrong or joined)} of the {len(passes)} passes under {regraded.profile.id}"
        yield finding(
            "pass-on-joined-tests",
            Severity.ERROR if wrong else Severity.INFO,
            [label(key, several) for key in wrong or joined],
            f"{count} should not count: the end of the program changed the tests that the harness puts behind it"
            if wrong
            else f"{count} rest on tests that the end of the program changed, and pass under strict without it",
        )
    refused = [(label(key, several), verdict) for key, verdict in verdicts.items() if key not in right]
    if refused:
        reasons = Counter(READS_TESTS if verdict.passed else verdict.reason.value for _, verdict in refused)
        why = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
        yield finding(
            "pass-refused-by-strict",
            Severity.WARNING,
            [name for name, _ in refused],
            f"{len(refused)} of the {len(passes)} passes under {regraded.profile.id} fail under strict: {why}",
        )


def _verdict(table: VerdictTable, key: SampleKey) -> VerdictKind | None:
    """A verdict that says something about the answer."""
    row = table.get(key.problem_id, ())
    found = row[key.sample] if key.sample < len(row) else None
    return None if found is None or found.reason is Reason.GRADER_ERROR else found


# --------------------------------------------------------- Recorded verdicts compared with those of regrading.


def check_flags(regraded: RegradedFile) -> Iterator[Finding]:
    """Contradictions in both directions, passes without a program, verdicts on another text."""
    for name, items in _by_name(regraded.survey.recorded):
        yield from _stale(regraded, name, items)
        current = [item for item in items if not item.stale]
        yield from _without_program(regraded, name, current)
        yield from _contradictions(regraded, name, current)


def _by_name(recorded: list[RecordedVerdict]) -> Iterator[tuple[tuple[str, ...], list[RecordedVerdict]]]:
    """Flags by name; names that say the same of every sample are one, such as a bool and its message."""
    alike: dict[tuple[object, ...], tuple[list[str], list[RecordedVerdict]]] = {}
    by_name: dict[str, list[RecordedVerdict]] = {}
    for item in recorded:
        by_name.setdefault(item.flag.name, []).append(item)
    for name, items in by_name.items():
        said = tuple((i.problem_id, i.sample, i.flag.value, i.flag.kind, i.stale) for i in items)
        alike.setdefault(said, ([], items))[0].append(name)
    for names, items in alike.values():
        yield tuple(names), items


def _said(names: tuple[str, ...], items: list[RecordedVerdict]) -> str:
    """Subject and verb of what flags that are recorded as good say: ``'is_solved' calls passed``."""
    quoted = f"{', '.join(names)!r}"
    if any(item.flag.kind == "acceptance" for item in items):
        return f"{quoted}{' (false)' if REVERSED.issuperset(names) else ''} accepts"
    return f"{quoted} {'call' if len(names) > 1 else 'calls'} passed"


def _kind(items: list[RecordedVerdict]) -> str:
    """What a verdict of a list stands beside: a sample of its row."""
    return "samples" if any(item.flag.sample is not None for item in items) else "rows"


def _stale(regraded: RegradedFile, name: tuple[str, ...], items: list[RecordedVerdict]) -> Iterator[Finding]:
    rows = [_name(regraded, item) for item in items if item.stale]
    if rows:
        yield finding(
            "flag-of-another-text",
            Severity.ERROR,
            rows,
            f"{len(rows)} of {len(items)} verdicts in {', '.join(name)!r} were made on another program: the row's"
            " full_code does not consist of its completion between imports and tests; they are not counted as"
            " contradictions",
            name,
        )


def _without_program(
    regraded: RegradedFile, name: tuple[str, ...], items: list[RecordedVerdict]
) -> Iterator[Finding]:
    passed = [item for item in items if item.flag.value]
    rows = [_name(regraded, item) for item in passed if _has_no_program(regraded, item)]
    if rows:
        yield finding(
            "flag-without-program",
            Severity.ERROR,
            rows,
            f"{len(rows)} of the {len(passed)} {_kind(items)} that {_said(name, items)} contain no"
            f" {_wanted(regraded)}; without them {len(passed) - len(rows)} of {len(items)} remain",
            name,
        )


def _has_no_program(regraded: RegradedFile, item: RecordedVerdict) -> bool:
    """No text, or one without a line of code; what a profile's rules lose of a program is not missing."""
    if item.sample is None:
        return not regraded.survey.samples.get(item.problem_id)
    fact = regraded.survey.samples[item.problem_id][item.sample]
    outcome = regraded.outcome(item.problem_id, item.sample)
    return not fact.has_program and not (outcome is not None and outcome.passed)


def _wanted(regraded: RegradedFile) -> str:
    """What the benchmark asks for."""
    tasks = [problem.task for problem in regraded.problems.values()]
    return "answer" if any(kind_of(task).gives == "value" for task in tasks) else "program"


def _contradictions(
    regraded: RegradedFile, name: tuple[str, ...], items: list[RecordedVerdict]
) -> Iterator[Finding]:
    false_passes: list[RecordedVerdict] = []
    false_failures: list[RecordedVerdict] = []
    reasons: Counter[str] = Counter()
    for item in items:
        outcome = regraded.outcome(item.problem_id, item.sample)
        if outcome is None or outcome.passed == item.flag.value:
            continue
        (false_passes if item.flag.value else false_failures).append(item)
        reasons.update([outcome.reason.value] if item.flag.value else [])
    accepts = any(item.flag.kind == "acceptance" for item in items)
    claimed = sum(item.flag.value for item in items)
    if false_passes:
        why = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
        yield finding(
            "flag-accepted-wrong" if accepts else "flag-pass-contradicted",
            Severity.WARNING if accepts else Severity.ERROR,
            [_name(regraded, item) for item in false_passes],
            f"{len(false_passes)} of the {claimed} {_kind(items)} that {_said(name, items)} fail under"
            f" {regraded.profile.id}: {why}" + _sensitive(regraded, false_passes),
            name,
        )
    if false_failures and not accepts:
        yield finding(
            "flag-fail-contradicted",
            Severity.WARNING,
            [_name(regraded, item) for item in false_failures],
            f"{len(false_failures)} of the {len(items) - claimed} {_kind(items)} that"
            f" {_said(name, items).removesuffix('passed')}failed pass under {regraded.profile.id}"
            + _sensitive(regraded, false_failures),
            name,
        )


def _sensitive(regraded: RegradedFile, items: list[RecordedVerdict]) -> str:
    """How many of the fresh verdicts hang on the speed of the machine."""
    outcomes = (regraded.outcome(item.problem_id, item.sample) for item in items)
    close = sum(outcome is not None and outcome.time_sensitive for outcome in outcomes)
    return f"; {close} of these verdicts were close to a time limit" if close else ""


def _name(regraded: RegradedFile, item: RecordedVerdict) -> str:
    return label(SampleKey(item.problem_id, item.sample or 0), regraded.survey.width > 1)


# --------- Checks of the protocol: prompts, tests and references of the benchmark, coverage, and the model id.


MODEL_FAMILIES = pattern(
    r"(?<![a-z0-9])(?:chatgpt|gpt|o[134](?=-)|claude|gemini|palm|llama|codellama|mistral|mixtral|qwen|deepseek"
    r"|starcoder|phi)(?![a-z])[a-z0-9.]*(?:-[a-z0-9.]*\d[a-z0-9.]*|-(?:turbo|instruct|mini|coder|chat|preview|large|small|opus|sonnet|haiku))*",
    re.IGNORECASE,
)
"""Names of model families as they stand in file names, with what follows of version and size."""


def check_protocol(regraded: RegradedFile, shots: Sequence[str], label: str | None) -> Iterator[Finding]:
    """Changed questions, missing problems, scored shots, unclear models.

    Args:
        regraded: of the file.
        shots: problems whose solution the prompt showed.
        label: the model that the file is said to come from; None reads it off the file's name.
    """
    yield from _changed(regraded)
    yield from _missing(regraded)
    yield from _shots(regraded, shots)
    yield from _models(regraded, label)


def _changed(regraded: RegradedFile) -> Iterator[Finding]:
    weights = {"prompt": Severity.WARNING, "test": Severity.ERROR, "reference": Severity.WARNING}
    for part, severity in weights.items():
        for blanks in (False, True):
            found = [d for d in regraded.survey.differences if d.part == part and d.only_blanks == blanks]
            rows = list(dict.fromkeys(d.problem_id for d in found))
            if not rows:
                continue
            fields = ", ".join(sorted({d.field for d in found}))
            differ = "problem differs" if len(rows) == 1 else "problems differ"
            how = "in white space only" if blanks else f"(sha256 {found[0].found_sha256[:12]}… in the first)"
            yield finding(
                f"{part}-changed",
                Severity.INFO if blanks else severity,
                rows,
                f"{len(rows)} {differ} from the benchmark's own {fields} {how}; regraded with the benchmark's own",
            )


def _missing(regraded: RegradedFile) -> Iterator[Finding]:
    missing = [name for name in regraded.problems if not regraded.survey.samples.get(name)]
    if missing:
        answered = len(regraded.problems) - len(missing)
        yield finding(
            "tasks-missing",
            Severity.WARNING,
            missing,
            f"the file answers {answered} of {len(regraded.problems)} problems; a rate over {answered} is"
            f" not a rate over {len(regraded.problems)}",
        )


def _shots(regraded: RegradedFile, shots: Sequence[str]) -> Iterator[Finding]:
    scored = [name for name in shots if regraded.survey.samples.get(name)]
    if scored:
        passed = sum(regraded.passes_all(name) for name in scored)
        yield finding(
            "shot-scored",
            Severity.ERROR,
            scored,
            f"{len(scored)} problems whose solution the prompt shows are scored; {passed} of them pass",
        )


def _models(regraded: RegradedFile, label: str | None) -> Iterator[Finding]:
    models = regraded.survey.models
    if len(models) > 1:
        counted = ", ".join(f"{name} ({count})" for name, count in models.most_common())
        yield finding(
            "model-mixed", Severity.WARNING, [], f"the samples come from {len(models)} models: {counted}"
        )
    named = label or label_in(regraded.survey.path.name)
    if not models:
        whose = "its label" if label else "the name of the file"
        said = f"; {whose} says {named!r}, without further regraded" if named else ""
        yield finding("model-unrecorded", Severity.INFO, [], f"no row records the model id{said}")
        return
    wrong = [name for name in models if named and not _same_model(named, name)]
    if wrong and named:
        yield finding(
            "model-label",
            Severity.WARNING,
            [],
            f"{'the label' if label else 'the name of the file'} says {named!r}, its rows say {', '.join(wrong)}",
        )


def label_in(file_name: str) -> str | None:
    """The model in a file's name, if one is there."""
    match = MODEL_FAMILIES.search(re.sub(r"(\.jsonl?|\.gz)+$", "", file_name))
    return match[0].rstrip(".-") if match else None


def _same_model(label: str, model: str) -> bool:
    """Whether an id is the label or a more exact name of it: gpt-4 and GPT4 are gpt-4-0613 and are not gpt-4o."""
    wanted = r"[^a-z0-9]*".join(re.findall(r"[a-z0-9]", label.lower()))
    return re.match(rf"[^a-z0-9]*{wanted}(?![a-z0-9])", model.rpartition("/")[2].lower()) is not None


# --------------------------------- Two files of one pipeline: duplicates, and official tests used as feedback.
# A pipeline that samples anew exactly those problems whose completion failed the benchmark's own tests reports
# the best of several attempts with an oracle. It shows in the files: no completion that passed was ever changed.


CHANCE = 1e-3
"""Feedback is claimed only where chance would leave this few passed problems unchanged less often than this."""

SLIPS = 0.15
"""Share of the changed problems that may have passed here: another grader's time limit or rules failed them."""


class Rounds(msgspec.Struct, frozen=True, kw_only=True):
    """What changed from one file to the next."""

    tasks: int
    """In both files."""
    failed: int
    """Problems of the earlier file that do not pass."""
    changed: list[str]
    changed_passed: list[str]
    """Changed although they pass."""
    p_value: float
    """Chance of so few passed problems among the changed, had these been chosen regardless of the verdict."""


def check_rounds(regraded: RegradedFile, previous: RegradedFile) -> Iterator[Finding]:
    """Compare a file with an earlier one, both graded afresh."""
    name = previous.survey.path.name
    rounds = compare_rounds(regraded, previous)
    if regraded.survey.file_sha256 == previous.survey.file_sha256:
        yield finding("file-duplicated", Severity.ERROR, [], f"identical to {name}, byte for byte")
    elif rounds.tasks and not rounds.changed:
        yield finding(
            "completions-duplicated",
            Severity.ERROR,
            [],
            f"all completions of the {rounds.tasks} problems shared with {name} are identical",
        )
    elif rounds.p_value < CHANCE and len(rounds.changed_passed) <= SLIPS * len(rounds.changed):
        yield finding(
            "official-feedback",
            Severity.ERROR,
            rounds.changed,
            f"{len(rounds.changed)} of {rounds.tasks} problems changed since {name}, {_who(rounds)} fail the"
            f" benchmark's own tests there under {regraded.profile.id} ({rounds.failed} do;"
            f" p = {rounds.p_value:.1g}): the official tests were used as feedback, so the result is best of"
            " several attempts with an oracle, not pass@1",
        )


def compare_rounds(regraded: RegradedFile, previous: RegradedFile) -> Rounds:
    """Which problems changed, and how many of those had passed.

    The p-value is the lower tail of the hypergeometric distribution.
    """
    common = [
        task for task, facts in regraded.survey.samples.items() if facts and previous.survey.samples.get(task)
    ]
    passed = {task for task in common if previous.passes_all(task)}
    changed = [task for task in common if regraded.survey.texts(task) != previous.survey.texts(task)]
    kept = [task for task in changed if task in passed]
    return Rounds(
        tasks=len(common),
        failed=len(common) - len(passed),
        changed=changed,
        changed_passed=kept,
        p_value=hypergeometric_tail(len(common), len(passed), len(changed), len(kept)),
    )


def hypergeometric_tail(tasks: int, passed: int, drawn: int, at_most: int) -> float:
    """Chance that ``drawn`` of ``tasks``, drawn blindly, hold at most ``at_most`` of the ``passed`` ones."""
    ways = sum(comb(passed, hit) * comb(tasks - passed, drawn - hit) for hit in range(min(at_most, drawn) + 1))
    return ways / comb(tasks, drawn)


def _who(rounds: Rounds) -> str:
    slips = len(rounds.changed_passed)
    return f"all but {slips} of which" if slips else "all of which"
