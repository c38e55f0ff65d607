"""The run directory: one folder that holds everything a number rests on.

manifest.json   completions.jsonl   verdicts.<profile>.jsonl   summary.json   report.html
"""

from __future__ import annotations

import fcntl
import logging
import os
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from truegrade.errors import UnknownName, UserError
from truegrade.files import run_log
from truegrade.files.extras import require
from truegrade.files.json_text import UNREADABLE, encode, read_json, with_checksum
from truegrade.files.writing import writing
from truegrade.records import Completion, Prompt, Reason, Verdict, sha256_json
from truegrade.registry import Origin, refuse_another_file
from truegrade.store.facts import (
    CompletionFacts,
    FactIndex,
    VerdictFacts,
    completion_facts,
    reply_hash,
    reply_said,
    sample_hash,
    verdict_facts,
    verdict_said,
)
from truegrade.store.journal import Journal, LastRecords, Notice, followed, ignore, read_journal
from truegrade.store.manifest import Manifest, now, read_manifest, write_atomically, write_manifest

_log = logging.getLogger(__name__)

TAKEN_IN_AT_ONCE = 64
"""Completions of an import that one write appends: what a kill takes is imported anew."""

if TYPE_CHECKING:
    import pandas
    import polars

NO_PACKAGES: Mapping[str, str] = MappingProxyType({})


class StoredPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A line of ``prompts.jsonl``."""

    problem_id: str
    prompt: Prompt


class Run:
    """A run on disk, new or old.

    `completions` and `verdicts` read a journal as a stream, texts and all; `completion_facts`, `verdict_facts`
    and `prompts` read it once and keep what they found.

    Args:
        path: its folder.
        manifest: as stored.
        notice: told what a person should know, e.g. that a torn line was dropped.
        pack: the file that it was taken out of to be read; None for a folder of the user's.
    """

    def __init__(
        self, path: Path, manifest: Manifest, *, notice: Notice = ignore, pack: Path | None = None
    ) -> None:
        self.path = path
        self.pack = pack
        self.manifest = manifest
        self._notice = notice = _once(notice)
        self._completions = FactIndex(
            self.completions_path, Completion, CompletionFacts, completion_facts, reply_said, notice
        )
        self._verdicts: dict[Path, FactIndex[Verdict, VerdictFacts]] = {}
        self._prompts: dict[str, Prompt] | None = None
        self.shortfall: str | None = None
        """Why samples have no reply, as found by the call that asked for them; None where it got all."""

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r}, benchmark={self.manifest.benchmark.name!r})"

    @classmethod
    def open(cls, path: str | Path, *, notice: Notice = ignore) -> Run:
        """Open an existing run, a folder, or a zip or pack of it, which is unpacked into the cache, to be read.

        Raises:
            UserError: a file stands there that is no pack.
            BadRecord: the folder holds no readable manifest, or the file is damaged.
        """
        path = Path(path)
        if path.is_file():
            from truegrade.store.packing import is_pack, opened_pack

            if is_pack(path):
                folder = opened_pack(path)
                return cls(folder, read_manifest(folder / "manifest.json"), notice=notice, pack=path)
            raise UserError(
                f"{path}: is a file, and a run is a folder; make one of it first: truegrade grade {path}"
                " --benchmark NAME. A claim about a file: truegrade check CLAIM FILE"
            )
        return cls(path, read_manifest(path / "manifest.json"), notice=notice)

    @classmethod
    def create_or_resume(cls, path: Path, manifest: Manifest, *, notice: Notice = ignore) -> Run:
        """Start a run in ``path``, or go on with the one that is there if it is the same.

        More samples and other problems extend it; nothing that it held is forgotten.

        Raises:
            UserError: the folder holds another run; the message names what differs.
        """
        file = path / "manifest.json"
        if file.exists():
            stored = read_manifest(file)
            refuse_mixing(path, stored, manifest)
            manifest = msgspec.structs.replace(
                manifest,
                created=stored.created,
                samples_per_task=max(stored.samples_per_task, manifest.samples_per_task),
                selected=_union(stored.selected, manifest.selected),
                excluded=stored.excluded | manifest.excluded,
                profiles=stored.profiles,
                levels=stored.levels,
                packages=stored.packages,
                origins={**(stored.origins or {}), **(manifest.origins or {})} or UNSET,
                adaptations=stored.adaptations,
                probe=manifest.probe or stored.probe,
                stopping=stored.stopping,
            )
        else:
            with writing(path):
                path.mkdir(parents=True, exist_ok=True)
        write_manifest(file, manifest)
        return cls(path, manifest, notice=notice)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from writing to this run meanwhile.

        Raises:
            UserError: another process is writing to it, or nobody may.
        """
        with writing(self.path):
            fd = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            run_log.begin(self.path)
            yield
        except BlockingIOError:
            raise UserError(
                f"{self.path}: another process is writing to this run; wait for it or choose `out`"
            ) from None
        finally:
            os.close(fd)

    # -------------------------------------------------------------------------------------- reading

    @property
    def outputs(self) -> Path:
        """Where files made of the run go unless told otherwise: its folder, or one beside its zip or pack."""
        return self.path if self.pack is None else self.pack.with_name(f"{self.pack.stem}.files")

    @property
    def given(self) -> Path:
        """What a user names this run by: its folder, or its pack, as unpacked runs lie in a cache."""
        return self.pack or self.path

    @property
    def completions_path(self) -> Path:
        """The journal of completions."""
        return self.path / "completions.jsonl"

    def verdicts_path(self, profile: str) -> Path:
        """The journal of verdicts under a profile, given as ``name@version``."""
        return self.path / f"verdicts.{profile.replace('/', '_')}.jsonl"

    @property
    def profiles(self) -> tuple[str, ...]:
        """Ids of the profiles this run was graded under, in order of first grading."""
        return tuple(profile for profile in self.manifest.profiles if self.verdicts_path(profile).exists())

    def so_far(self) -> Run:
        """This run as if every profile with a verdict had graded it to its end; nothing is written.

        A profile is noted in the manifest once its grading is through; here it counts from its first verdict.
        """
        begun = map(_profile_of, sorted(self.path.glob("verdicts.*.jsonl")))
        added = {profile: now() for profile in begun if profile and profile not in self.manifest.profiles}
        manifest = msgspec.structs.replace(self.manifest, profiles={**self.manifest.profiles, **added})
        return Run(self.path, manifest, notice=self._notice, pack=self.pack)

    def completions(self) -> Iterator[Completion]:
        """Stream the completions in the order they arrived.

        A sample whose attempts all failed stands there without text, and once more when a later command
        got an answer for it.
        """
        return read_journal(self.completions_path, Completion, notice=self._notice)

    def arriving(self, ended: Callable[[], bool]) -> Iterator[Completion | None]:
        """The same while another thread appends to them; see `truegrade.store.journal.followed`."""
        return followed(self.completions_path, Completion, ended)

    def completion_facts(self) -> Sequence[CompletionFacts]:
        """The same without the texts; those that contradict each other are named to the notice.

        Raises:
            BadRecord: the journal cannot be read, or a line is no record.
        """
        return self._completions.read()

    def verdicts(self, profile: str | None = None) -> Iterator[Verdict]:
        """Stream the verdicts under a profile: its name, its id, or None if there is only one.

        Raises:
            UnknownName: the run was not graded under it.
        """
        return read_journal(self.verdicts_path(self.profile_id(profile)), Verdict, notice=self._notice)

    def last_completions(self, counts: Callable[[CompletionFacts], bool]) -> LastRecords[Completion]:
        """The last completion of each sample that counts, texts and all; to be closed by the caller.

        Raises:
            BadRecord: as `completion_facts`.
        """
        return self._completions.last(counts)

    def last_verdicts(self, profile: str | None, counts: Callable[[VerdictFacts], bool]) -> LastRecords[Verdict]:
        """The same of the verdicts under a profile, given as for `verdict_facts`, which says what it raises."""
        return self._verdict_index(self.profile_id(profile)).last(counts)

    def verdict_facts(self, profile: str | None = None) -> Sequence[VerdictFacts]:
        """The same without the answers; those that contradict each other are named to the notice.

        Raises:
            UnknownName: the run was not graded under it.
            BadRecord: the journal cannot be read, or a line is no record.
        """
        return self._verdict_index(self.profile_id(profile)).read()

    def profile_id(self, profile: str | None) -> str:
        """``name@version`` of a profile of this run, from its name, its id or, if it is the only one, None.

        A bare name means the profile with the harness' own time limits, where the run was graded under that.
        """
        names = self.profiles
        if profile is None and len(names) == 1:
            return names[0]
        if profile is None and names:
            raise UserError(f"{self.given} was graded under {', '.join(names)}; name one with `profile`")
        matches = [name for name in names if profile in (name, name.partition("@")[0])]
        if not matches:
            hint = f"in {self.given}; another one: truegrade grade {self.given} --as PROFILE"
            raise UnknownName("graded profile", str(profile), names, hint)
        return max(matches, key=lambda name: (name == profile, "+" not in name, names.index(name)))

    @property
    def summary(self) -> dict[str, Any]:
        """``summary.json``, decoded; see docs/formats.md.

        Raises:
            UserError: the run was not graded yet.
            BadRecord: the file is damaged.
        """
        path = self.path / "summary.json"
        if not path.exists():
            raise UserError(f"{self.given}: no summary yet; grade it first: truegrade grade {self.given}")
        return read_json(path, dict[str, Any], f"truegrade grade {self.given} writes it anew")

    def prompts(self) -> dict[str, Prompt]:
        """What each problem was asked with, by problem id; empty for imported completions."""
        if self._prompts is None:
            lines = read_journal(self.path / "prompts.jsonl", StoredPrompt, notice=self._notice)
            self._prompts = {line.problem_id: line.prompt for line in lines}
        return self._prompts

    def answered(self) -> set[int]:
        """The `sample_hash` of every sample that has a reply and need not be asked for again."""
        return {sample_hash(facts) for facts in self.completion_facts() if facts.answered}

    def graded(self, profile: str, *, anew: str | None = None, problems: Container[str] | None = None) -> set[int]:
        """The `reply_hash` of every reply with a verdict on disk under a profile (``name@version``).

        A grader's error is none: such a sample is graded again. So is one with a mark that begins with ``anew``.
        Where ``problems`` are given, others do not count.
        """
        found = set[int]()
        for verdict in self._verdict_index(profile).read():
            if problems is not None and verdict.problem_id not in problems:
                continue
            void = verdict.reason is Reason.GRADER_ERROR
            void = void or bool(anew and any(mark.startswith(anew) for mark in verdict.marks))
            (found.discard if void else found.add)(reply_hash(verdict, verdict.completion_sha256))
        return found

    def _verdict_index(self, profile: str) -> FactIndex[Verdict, VerdictFacts]:
        path = self.verdicts_path(profile)
        if path not in self._verdicts:
            self._verdicts[path] = FactIndex(
                path, Verdict, VerdictFacts, verdict_facts, verdict_said, self._notice
            )
        return self._verdicts[path]

    # -------------------------------------------------------------------------------------- writing

    def append_completions(self) -> Journal[Completion]:
        """Open the journal of completions for appending."""
        return self._completions.journal()

    def take_in(self, lines: Iterable[tuple[bytes, CompletionFacts]], appended: Callable[[], None]) -> None:
        """Append completions that are encoded already; those here are passed over, but for failures now answered.

        Args:
            lines: each without its newline, and what is kept of it.
            appended: told of each that was new.
        """
        present = self.answered()
        failed = {sample_hash(facts) for facts in self.completion_facts() if not facts.answered}

        def is_new(facts: CompletionFacts) -> bool:
            sample = sample_hash(facts)
            return sample not in present and (facts.answered or sample not in failed)

        # Synced once, at the end: what a power cut takes is imported anew.
        new = (each for each in lines if is_new(each[1]))
        with self._completions.journal(fsync_every=sys.maxsize) as journal:
            while some := [(with_checksum(record), facts) for record, facts in islice(new, TAKEN_IN_AT_ONCE)]:
                journal.append_lines(b"".join([line for line, _ in some]), len(some))
                for line, facts in some:
                    self._completions.add(facts, len(line))
                    appended()

    def append_verdicts(self, profile: str) -> Journal[Verdict]:
        """Open the journal of verdicts of a profile (``name@version``) for appending."""
        return self._verdict_index(profile).journal()

    def add_prompts(self, prompts: Iterable[tuple[str, Prompt]]) -> None:
        """Keep what each problem is asked with, so that the run explains itself without the data set."""
        known = self._prompts = self.prompts() | dict(prompts)
        lines = (StoredPrompt(problem_id=key, prompt=known[key]) for key in sorted(known))
        self.write("prompts.jsonl", b"".join(with_checksum(encode(line)) for line in lines))
        self.update(prompts_sha256=sha256_json({key: prompt.sha256 for key, prompt in known.items()}))

    def update(self, **changes: Any) -> None:
        """Change fields of the manifest, on disk at once."""
        self.manifest = msgspec.structs.replace(self.manifest, **changes)
        write_manifest(self.path / "manifest.json", self.manifest)

    def record_origin(self, of: str, origin: Origin | None) -> None:
        """Note where something was found that this run is made with; what is built in is not noted.

        Raises:
            NotComparable: the run was made with another version of the file.
        """
        refuse_another_file(f"{self.path}: {of}", self.manifest.origin(of), origin)
        if origin is not None:
            self.update(origins={**(self.manifest.origins or {}), of: origin})

    def record_grading(self, profile: str, level: int | None, packages: Mapping[str, str] = NO_PACKAGES) -> None:
        """Note in the manifest that a profile graded this run.

        Args:
            profile: its id.
            level: how well its programs were locked up; None where none ran.
            packages: what they could import, with versions.
        """
        levels = self.manifest.levels if level is None else {**self.manifest.levels, profile: level}
        _log.info("graded as %s%s", profile, "" if level is None else f", programs at protection level {level}")
        offered = {**(self.manifest.packages or {}), profile: dict(packages)}
        self.update(profiles={**self.manifest.profiles, profile: now()}, levels=levels, packages=offered)

    def write(self, name: str, content: bytes) -> Path:
        """Put a derived file (summary, report) beside the journals, in one step."""
        path = self.path / name
        write_atomically(path, content)
        return path

    # --------------------------------------------------------------------------------------- frames

    def to_pandas(self, profile: str | None = None) -> pandas.DataFrame:
        """Verdicts joined with their completions, one row a sample.

        Raises:
            UserError: pandas is not installed.
        """
        require("pandas", "a frame of pandas")
        import pandas

        return pandas.DataFrame(self._rows(profile))

    def to_polars(self, profile: str | None = None) -> polars.DataFrame:
        """Verdicts joined with their completions, one row a sample.

        Raises:
            UserError: polars is not installed.
        """
        require("polars", "a frame of Polars")
        import polars

        return polars.DataFrame(self._rows(profile), infer_schema_length=None)

    def _rows(self, profile: str | None) -> list[dict[str, Any]]:
        completions = {c.key: c for c in self.completions() if c.text is not None}
        return [_row(verdict, completions.get(verdict.key)) for verdict in self.verdicts(profile)]


class _Named(msgspec.Struct, frozen=True):
    profile: str


def _profile_of(path: Path) -> str | None:
    """Under which profile a journal's verdicts are; None of an empty one."""
    with path.open("rb") as file:
        line = file.readline()
    try:
        return msgspec.json.decode(line, type=_Named).profile if line.endswith(b"\n") else None
    except UNREADABLE:  # a damaged line
        return None


def _row(verdict: Verdict, completion: Completion | None) -> dict[str, Any]:
    row: dict[str, Any] = msgspec.to_builtins(verdict)
    row["marks"] = " ".join(verdict.marks)
    if completion is not None:
        usage = completion.usage
        row |= {
            "text": completion.text,
            "model": completion.model,
            "finish_reason": completion.finish_reason,
            "latency_s": completion.latency_s,
            "input_tokens": usage.input_tokens if usage else None,
            "output_tokens": usage.output_tokens if usage else None,
            "cost_usd": completion.cost_usd,
        }
    return row


def _once(notice: Notice) -> Notice:
    """The notice without what it was told before: a journal is read several times."""
    told: set[str] = set()

    def first(sentence: str) -> None:
        """Say what is new."""
        if sentence not in told:
            told.add(sentence)
            notice(sentence)

    return first


def refuse_mixing(path: Path, stored: Manifest, asked: Manifest) -> None:
    """See that two manifests are of the same run.

    Raises:
        UserError: they are not; the message names what differs.
        NotComparable: they were made with two versions of one file.
    """
    if stored.identity == asked.identity:
        for of, origin in (asked.origins or {}).items():
            refuse_another_file(f"{path}: {of}", stored.origin(of), origin)
        return
    old, new = (_flat(msgspec.to_builtins(manifest)) for manifest in (stored, asked))
    identifying = ("benchmark.name", "benchmark.args", "benchmark.dataset_sha256", "generation", "imported_from")
    differing = [
        f"{key} ({old.get(key)} there, {new.get(key)} asked)"
        for key in sorted(old.keys() | new.keys())
        if key.startswith(identifying) and old.get(key) != new.get(key)
    ]
    raise UserError(
        f"{path} holds another run: {', '.join(differing)}; choose another `out` or remove that folder"
    )


def _union(stored: tuple[str, ...] | None, asked: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Problems of both selections; None is all of them."""
    if stored is None or asked is None:
        return None
    return tuple(dict.fromkeys(stored + asked))


def _flat(value: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested dicts as one level of dotted keys."""
    flat: dict[str, Any] = {}
    for key, item in value.items():
        flat |= _flat(item, f"{prefix}{key}.") if isinstance(item, dict) else {prefix + key: item}
    return flat
