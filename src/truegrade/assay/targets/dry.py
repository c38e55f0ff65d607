"""What an assay would send, written down and not sent."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from truegrade.assay.records import DANGERS, Danger, Dispatch
from truegrade.assay.targets.base import Target
from truegrade.files.writing import require_writable, writing

PROBES, INDEX = "probes", "battery.jsonl"
DOES: dict[Danger, str] = {
    "h0": "returns values, prints, raises: harmless anywhere",
    "h1": "touches the interpreter that it runs in, and may end it",
    "h2": "writes files in its working folder",
}


def dry(targets: Sequence[Target], dispatches: Sequence[Dispatch], folder: Path) -> Path:
    """Write every probe as a file, and a line about each: what it would do, and which grader would get it.

    Args:
        targets: graders; none of them is asked.
        dispatches: what they would be sent.
        folder: to write into; ``probes/ID.py`` (``.txt`` for replies) and ``battery.jsonl``.

    Returns:
        The path of ``battery.jsonl``.

    Raises:
        UserError: it cannot be written.
    """
    require_writable(folder)
    probes = folder / PROBES
    lines = []
    for dispatch in dispatches:
        probe = dispatch.probe
        path = probes / f"{probe.id}.{'py' if probe.form == 'program' else 'txt'}"
        with writing(path):
            probes.mkdir(parents=True, exist_ok=True)
            path.write_text(probe.code, encoding="utf-8", errors="surrogatepass")
        lines.append(msgspec.json.encode(_about(targets, dispatch, path.relative_to(folder))))
    index = folder / INDEX
    with writing(index):
        index.write_bytes(b"".join(line + b"\n" for line in lines))
    return index


def _about(targets: Sequence[Target], dispatch: Dispatch, path: Path) -> dict[str, Any]:
    probe = dispatch.probe
    sent = {one.name: DANGERS.index(probe.danger) <= DANGERS.index(one.danger) for one in targets}
    return {
        "file": path.as_posix(),
        "problem": dispatch.problem.id,
        "class": probe.kind,
        "origin": probe.origin,
        "channel": probe.channel,
        "label": probe.label,
        "danger": probe.danger,
        "does": DOES[probe.danger],
        "change": probe.change,
        "after": probe.after,
        "sent_to": [name for name, goes in sent.items() if goes],
        "not_sent_to": [name for name, goes in sent.items() if not goes],
    }
