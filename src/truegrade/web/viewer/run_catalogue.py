"""The runs of a folder, kept up to date: a run is read again when one of its files has changed, and only then."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from difflib import get_close_matches
from http import HTTPStatus
from pathlib import Path

import msgspec

from truegrade.web.http_refusals import Refusal
from truegrade.web.viewer.counting import Counts
from truegrade.web.viewer.lines import RunLine, is_running, read_line
from truegrade.web.viewer.run_folders import Folder, Kind, Stamp, locked_inodes, look, walk

FRESH_FOR_S = 0.5
"""Two requests within this time see the same list."""


class _Known(msgspec.Struct):
    folder: Folder
    counts: Counts
    seen: tuple[Mapping[str, Stamp], bool] | None = None
    """Files and running, as the line was read; None before the first time."""
    line: RunLine | None = None


class RunCatalogue:
    """Knows every run and evolution below a folder; safe to ask from several threads.

    Args:
        root: the folder.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._known: dict[str, _Known] = {}
        self._lock = threading.Lock()
        self._looked_at = -FRESH_FOR_S

    def lines(self) -> list[RunLine]:
        """Every run, in the order of the ids."""
        with self._lock:
            self._refresh()
            locked, now_ns = locked_inodes(), time.time_ns()
            runs = (known for known in self._known.values() if known.folder.kind == "run")
            return [_line(known, locked, now_ns) for known in runs]

    def line(self, run_id: str) -> RunLine:
        """One run, as it is now.

        Raises:
            Refusal: 404, there is none of that id.
        """
        with self._lock:
            return _line(self._find(run_id, "run"), locked_inodes(), time.time_ns())

    def folders(self, kind: Kind) -> list[Folder]:
        """Every folder of a kind."""
        with self._lock:
            self._refresh()
            return [known.folder for known in self._known.values() if known.folder.kind == kind]

    def folder(self, wanted: str, kind: Kind) -> Folder:
        """A folder by its id, as it is now. No path is made of what a client sends: ids are looked up.

        Raises:
            Refusal: 404, there is none of that id.
        """
        with self._lock:
            return self._find(wanted, kind).folder

    def _find(self, wanted: str, kind: Kind) -> _Known:
        if wanted not in self._known:
            self._refresh()
        known = self._known.get(wanted)
        found = None if known is None else look(self.root, known.folder.path)
        if known is None or found is None or found.kind != kind:
            ids = [name for name, one in self._known.items() if one.folder.kind == kind]
            close = get_close_matches(wanted[:200], ids, n=1)
            hint = f"did you mean {close[0]}?" if close else "the page lists what there is"
            raise Refusal(HTTPStatus.NOT_FOUND, f"no {kind} {wanted[:200]!r} here; {hint}")
        known.folder = found
        return known

    def _refresh(self) -> None:
        if time.monotonic() - self._looked_at < FRESH_FOR_S:
            return
        known = {}
        for folder in walk(self.root):
            one = self._known.get(folder.id)
            if one is None or one.folder.kind != folder.kind:
                one = _Known(folder, Counts(folder))
            one.folder = folder
            known[folder.id] = one
        self._known = known
        self._looked_at = time.monotonic()


def _line(known: _Known, locked: frozenset[int] | None, now_ns: int) -> RunLine:
    seen = (known.folder.files, is_running(known.folder, locked, now_ns))
    if known.line is None or seen != known.seen:
        known.line = read_line(known.folder, known.counts, running=seen[1])
        known.seen = seen
    return known.line
