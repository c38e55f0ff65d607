"""The table at the end of a test run: what was skipped, and how to have it run."""

import re
from collections import Counter
from collections.abc import Iterable

WAYS = (
    (r"trainers not present", "make trainers PEERS=folder (their checkouts)"),
    (r"peers|checkout|human_eval\.", "make parity PEERS=folder DATA=folder (their checkouts)"),
    (r"benchmark data not present", "TRUEGRADE_DATA=folder (the benchmarks' own files)"),
    (r"\[?inspect|lm-eval|lm_eval|evalscope", "make integrations"),
    (r"\[train\]", "make train-check"),
    (r"kubernetes-validate|promtool", "make deploy-check"),
    (r"the image is not built", "make image (as root)"),
    (r"zensical", "make zensical"),
    (r"docker compose", "Docker with its plugin compose"),
    (r"torch|transformers|peft", "pip install -e '.[local]'"),
    (
        r"tokenizers|pyarrow|zstd|ray\b|optuna|installed|extra|hub|package",
        "pip install -e '.[EXTRA]', the extra that the reason names",
    ),
    (r"strace", "apt-get install strace (as root)"),
    (r"runc", "make runc (as root)"),
    (r"chromium", "make browser (as root)"),
    (r"root|ordinary user|rights", "run as the other kind of user"),
    (
        r"level|kernel|landlock|bubblewrap|clocks|/proc|linux|machine|ldd|no Python",
        "other levels, kernels or machines: truegrade doctor",
    ),
)
"""Patterns of reasons, and what makes such tests run; the first that fits."""


def table(reasons: Iterable[str]) -> list[str]:
    """A line for each way to have skipped tests run, and below it a line for each reason, with how many they are.

    Args:
        reasons: of the skips, one a test.
    """
    by_way: dict[str, Counter[str]] = {}
    for reason in reasons:
        by_way.setdefault(way_of(reason), Counter())[reason] += 1
    rows = sorted(by_way.items(), key=lambda row: -row[1].total())
    lines = []
    for way, found in rows:
        lines.append(f"{found.total():5d}  {way}")
        lines += [f"{'':7}{count:5d}  {reason}" for reason, count in found.most_common()]
    return lines


def way_of(reason: str) -> str:
    """What makes a test run that was skipped for this reason."""
    fitting = (way for pattern, way in WAYS if re.search(pattern, reason, re.IGNORECASE))
    return next(fitting, "see the reason")
