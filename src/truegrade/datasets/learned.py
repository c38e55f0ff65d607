"""What an adapter learned from, beside its weights: it is not tested on that.

Whatever writes an adapter here writes the file into its folder; `truegrade run`, `grade` and `evolve`
read it where the model or ``--adapter`` names a folder that has one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from truegrade.datasets.identity import name_free_identity, program_identity
from truegrade.errors import UserError, first_few
from truegrade.extraction.parsing import quietly
from truegrade.files import syntax
from truegrade.files.json_text import encode, read_json
from truegrade.kinds import kind_of
from truegrade.records import Problem
from truegrade.store.manifest import TrainingData, write_atomically

FILE = "learned_from.json"
REASON = "the adapter learned from this program"
_ADVICE = "is it what an evolution wrote?"
_ADAPTER = "adapter_config.json"
_BY_PATH = ("embedded/", "hf/", "vllm/", "gguf/")
_SHOWN = 3
"""Problems that a message names before it says how many more there are."""
_APART = re.compile(r"^```.*$|^### \w+:", re.MULTILINE)
"""What parts the programs of a lesson from its words: fences, and the headings of CORAL-X's frame."""


class LearnedFrom(msgspec.Struct, frozen=True, kw_only=True):
    """``learned_from.json`` of an adapter: every program that it learned from, as three hashes."""

    benchmark: str = ""
    problems: tuple[str, ...] = ()
    """Ids of the problems that it was trained on."""
    exact: tuple[str, ...] = ()
    """SHA-256 of the texts, white space around them apart; of contest problems also of the question."""
    programs: tuple[str, ...] = ()
    """`truegrade.datasets.identity.program_identity`: layout, comments, annotations and most names apart."""
    name_free: tuple[str, ...] = ()
    """`truegrade.datasets.identity.name_free_identity`: every name apart that the program gives."""

    def has(self, problem: Problem) -> bool:
        """Whether it learned from a program of a problem."""
        asked = _hashes(kind_of(problem.task).learnable(problem.task))
        return any(set(getattr(self, kind)) & set(getattr(asked, kind)) for kind in _KINDS)


_KINDS: tuple[Literal["exact", "programs", "name_free"], ...] = ("exact", "programs", "name_free")


class AdapterPast(NamedTuple):
    """What is known of an adapter's training, and what it must not be tested on."""

    seen: dict[str, str]
    """Problems that are left out, with the reason."""
    training_data: TrainingData | UnsetType
    """Unset where there is no adapter."""


def learned_from(benchmark: str, problems: Sequence[Problem], more_programs: Iterable[str] = ()) -> LearnedFrom:
    """The record of a training.

    Args:
        benchmark: of the problems.
        problems: those that were trained on.
        more_programs: sources of further programs that were, such as replies that a grader passed.
    """
    texts = [text for problem in problems for text in kind_of(problem.task).learnable(problem.task)]
    found = _hashes([*texts, *more_programs])
    return msgspec.structs.replace(found, benchmark=benchmark, problems=tuple(problem.id for problem in problems))


def learned_from_texts(problems: Iterable[str], texts: Iterable[str]) -> LearnedFrom:
    """The record of a training on texts that hold programs between words: prompts and replies.

    Args:
        problems: ids of the problems that they are about.
        texts: the prompts and the replies.
    """
    found = _hashes(program for text in texts for program in programs_in(text))
    return msgspec.structs.replace(found, problems=tuple(dict.fromkeys(problems)))


def joined(records: Iterable[LearnedFrom | None]) -> LearnedFrom:
    """All that several records hold; the benchmark is the first's."""
    found = [record for record in records if record is not None]
    kinds = {kind: tuple(sorted({each for one in found for each in getattr(one, kind)})) for kind in _KINDS}
    return LearnedFrom(
        benchmark=next((one.benchmark for one in found if one.benchmark), ""),
        problems=tuple(dict.fromkeys(each for one in found for each in one.problems)),
        **kinds,
    )


def write_learned(
    folder: Path,
    benchmark: str,
    training: Sequence[Problem],
    *,
    more_programs: Iterable[str] = (),
    earlier: Iterable[LearnedFrom | None] = (),
) -> None:
    """Write down what the adapter in a folder was trained on.

    Args:
        folder: of the adapter.
        benchmark: of the problems.
        training: the problems.
        more_programs: as for `learned_from`.
        earlier: records of what it was trained from: its base, the adapters that it was merged from.
    """
    record = joined([learned_from(benchmark, training, more_programs), *earlier])
    write_atomically(folder / FILE, encoded(record))


def encoded(record: LearnedFrom) -> bytes:
    """A record as its file holds it."""
    return encode(record, indent=2) + b"\n"


def read_learned(place: str | Path | None) -> LearnedFrom | None:
    """What the adapter or model in a folder, or in a file of it, was trained on; None where nothing is known.

    Raises:
        UserError: the record is damaged.
    """
    if place is None:
        return None
    place = Path(place)
    path = (place if place.is_dir() else place.parent) / FILE
    return read_json(path, LearnedFrom, _ADVICE) if path.is_file() else None


def learned_places(model: object, adapter: str | Path | None) -> tuple[Path, ...]:
    """Where records of what a model was trained on may lie: its adapter, and its own files on this disk."""
    own = model.partition("/")[2] if isinstance(model, str) and model.startswith(_BY_PATH) else ""
    return tuple(Path(place) for place in (adapter, own) if place and _is_there(Path(place)))


def _is_there(place: Path) -> bool:
    try:
        return place.exists()
    except (OSError, ValueError):  # a model's name need be no path: it may be too long, or hold a null byte
        return False


def past_of(
    model: object, adapter: str | Path | None, problems: Sequence[Problem], *, exclude_seen: bool
) -> AdapterPast:
    """Refuse or leave out the problems one of whose programs the model's adapter was trained on.

    Args:
        model: ``embedded/PATH`` and its like may have a record in their own folder; anything else has none.
        adapter: its folder, or None where there is none. Without a `FILE`, as other trainers leave it, nothing is
            known and nothing left out.
        problems: those that are to be asked.
        exclude_seen: leave them out.

    Raises:
        UserError: it was trained on some of them and they are not to be left out, or on all of them.
        BadRecord: a record is damaged.
    """
    places = learned_places(model, adapter)
    records = {place: read_learned(place) for place in places}
    trained: dict[str, Path] = {}
    for place, record in records.items():
        if record is not None:
            trained |= {problem.id: place for problem in problems if record.has(problem)}
    _refuse(trained, len(problems), exclude_seen=exclude_seen)
    wearing = [place for place in places if place == Path(adapter or "") or (place / _ADAPTER).is_file()]
    if not wearing:
        return AdapterPast(dict.fromkeys(trained, REASON), UNSET)
    known = all(records[place] is not None for place in wearing)
    return AdapterPast(dict.fromkeys(trained, REASON), "recorded" if known else "unknown")


def _refuse(trained: Mapping[str, Path], asked: int, *, exclude_seen: bool) -> None:
    if not trained or (exclude_seen and len(trained) < asked):
        return
    places = " and ".join(str(place) for place in dict.fromkeys(trained.values()))
    told = f"CONTAMINATION: the adapter in {places} was trained on {first_few(list(trained), _SHOWN)} ({FILE})"
    if len(trained) == asked:
        raise UserError(f"{told}, which is all that is asked: ask for other problems")
    raise UserError(
        f"{told}: ask for other problems, or leave these {len(trained)} of {asked} out with `exclude_seen=True`"
    )


def programs_in(text: str) -> Iterator[str]:
    """The programs that stand between the words of a prompt or a reply: what parses and defines something."""
    for part in _APART.split(text):
        try:
            with quietly():
                tree = syntax.parse(part.strip())
        except (SyntaxError, ValueError, RecursionError):
            continue
        if any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) for node in tree.body):
            yield part.strip()


def _hashes(texts: Iterable[str]) -> LearnedFrom:
    """Of programs, without ids."""
    sources = sorted({text.strip() for text in texts if text.strip()})
    return LearnedFrom(
        exact=tuple(sorted({sha256(source.encode("utf-8", "surrogatepass")).hexdigest() for source in sources})),
        programs=tuple(sorted({program_identity(source) for source in sources})),
        name_free=tuple(sorted({name_free_identity(source) for source in sources})),
    )
