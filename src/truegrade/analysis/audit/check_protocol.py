"""Checks of the protocol: prompts, tests and references of the benchmark, coverage, and the model id."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from truegrade.analysis.audit.evidence import Evidence
from truegrade.analysis.audit.findings import Finding, Severity, finding

MODEL_FAMILIES = re.compile(
    r"(?<![a-z0-9])(?:chatgpt|gpt|o[134](?=-)|claude|gemini|palm|llama|codellama|mistral|mixtral|qwen|deepseek"
    r"|starcoder|phi)(?![a-z])[a-z0-9.]*(?:-[a-z0-9.]*\d[a-z0-9.]*|-(?:turbo|instruct|mini|coder|chat|preview|large|small|opus|sonnet|haiku))*",
    re.IGNORECASE,
)
"""Names of model families as they stand in file names, with what follows of version and size."""


def check_protocol(evidence: Evidence, shots: Sequence[str], label: str | None) -> Iterator[Finding]:
    """Changed questions, missing problems, scored shots, unclear models.

    Args:
        evidence: of the file.
        shots: problems whose solution the prompt showed.
        label: the model that the file is said to come from; None reads it off the file's name.
    """
    yield from _changed(evidence)
    yield from _missing(evidence)
    yield from _shots(evidence, shots)
    yield from _models(evidence, label)


def _changed(evidence: Evidence) -> Iterator[Finding]:
    weights = {"prompt": Severity.WARNING, "test": Severity.ERROR, "reference": Severity.WARNING}
    for part, severity in weights.items():
        for blanks in (False, True):
            found = [d for d in evidence.survey.differences if d.part == part and d.only_blanks == blanks]
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


def _missing(evidence: Evidence) -> Iterator[Finding]:
    missing = [name for name in evidence.problems if not evidence.survey.samples.get(name)]
    if missing:
        answered = len(evidence.problems) - len(missing)
        yield finding(
            "tasks-missing",
            Severity.WARNING,
            missing,
            f"the file answers {answered} of {len(evidence.problems)} problems; a rate over {answered} is"
            f" not a rate over {len(evidence.problems)}",
        )


def _shots(evidence: Evidence, shots: Sequence[str]) -> Iterator[Finding]:
    scored = [name for name in shots if evidence.survey.samples.get(name)]
    if scored:
        passed = sum(evidence.passes_all(name) for name in scored)
        yield finding(
            "shot-scored",
            Severity.ERROR,
            scored,
            f"{len(scored)} problems whose solution the prompt shows are scored; {passed} of them pass",
        )


def _models(evidence: Evidence, label: str | None) -> Iterator[Finding]:
    models = evidence.survey.models
    if len(models) > 1:
        counted = ", ".join(f"{name} ({count})" for name, count in models.most_common())
        yield finding(
            "model-mixed", Severity.WARNING, [], f"the samples come from {len(models)} models: {counted}"
        )
    named = label or label_in(evidence.survey.path.name)
    if not models:
        whose = "its label" if label else "the name of the file"
        said = f"; {whose} says {named!r}, without further evidence" if named else ""
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
