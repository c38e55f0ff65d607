"""Folders and zips as others publish their completions: which files of them are to be graded."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from truegrade.errors import BadRecord, UserError, first_few
from truegrade.store.importers import SourceFile, find_format, inspect_log
from truegrade.store.importers.reading import ZIP_MAGIC
from truegrade.store.importers.zipped import opened_zip
from truegrade.store.journal import Notice

ENDINGS = (".jsonl", ".json", ".jsonl.gz", ".json.gz", ".eval")
"""Of files that may hold completions."""
_PROGRAM = re.compile(r"(?:(?P<set>.*)/)?(?P<name>[A-Za-z]+)_(?P<number>\d+)/(?P<sample>\d+)\.py")
"""A sample as evalplus publishes it: ``SET/HumanEval_0/0.py`` (evalplus/evalplus@26d6d00, its release v0.1.0)."""
_SHOWN = 5


@contextmanager
def completion_files(path: Path, notice: Notice) -> Iterator[list[Path]]:
    """What is to be graded of a source: files of completions and folders of runs, in the order of their names.

    A run's folder and a file stand for themselves. A folder or ``.zip`` of other files stands for those that an
    importer recognises, wherever they lie in it, and for each set of programs in evalplus' layout, one file a
    sample.

    Args:
        path: what the user names.
        notice: told which files are passed over.

    Raises:
        UserError: a folder or zip holds nothing that can be graded.
        BadRecord: the zip is damaged.
    """
    if path.is_dir() and not (path / "manifest.json").exists():
        with TemporaryDirectory(prefix="truegrade-published-") as made:
            yield _recognised(path, path, Path(made), notice)
    elif path.suffix == ".zip" and path.is_file() and _is_archive(path):
        with TemporaryDirectory(prefix="truegrade-published-") as made:
            folder = Path(made) / path.name  # messages name the files in it
            _unpack(path, folder)
            yield _recognised(path, folder, Path(made), notice)
    else:
        yield [path]


@contextmanager
def completion_file(path: Path, notice: Notice) -> Iterator[Path]:
    """The one file that a source stands for; otherwise as `completion_files`.

    Raises:
        UserError: there are several.
    """
    with completion_files(path, notice) as files:
        if len(files) > 1:
            names = first_few([file.name for file in files], _SHOWN)
            raise UserError(f"{path}: holds {len(files)} files of completions ({names}); give them one by one")
        yield files[0]


def _is_archive(path: Path) -> bool:
    """Whether it is a zip, and not one that Inspect wrote as a log."""
    with SourceFile(path, hashed=False) as source:
        return source.head.startswith(ZIP_MAGIC) and not inspect_log.sniff(source)


def _unpack(path: Path, folder: Path) -> None:
    """Write the members that may hold completions; none outside the folder."""
    folder.mkdir()
    with SourceFile(path, hashed=False) as source, opened_zip(source) as documents:
        for name in documents.names:
            inside = Path(name)
            if inside.is_absolute() or ".." in inside.parts or not name.endswith((*ENDINGS, ".py")):
                continue
            place = folder / inside
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(documents.content(name))


def _recognised(path: Path, folder: Path, made: Path, notice: Notice) -> list[Path]:
    found, passed = [], []
    programs = defaultdict[str, list[Path]](list)
    for file in _walk(folder):
        inside = file.relative_to(folder).as_posix()
        if sample := _PROGRAM.fullmatch(inside):
            programs[sample["set"] or path.name.partition(".")[0]].append(file)
        elif file.is_dir() or (inside.endswith(ENDINGS) and _known(file)):
            found.append(file)
        else:
            passed.append(inside)
    found += [
        _as_rows(made / f"{Path(name).name}-{number}.jsonl", programs[name])
        for number, name in enumerate(programs)
    ]
    if not found:
        raise UserError(
            f"{path}: holds no run and no file of completions that is recognised; see docs/formats.md, or name a"
            " file in it and its `file_format`"
        )
    if passed:
        notice(f"{path}: passed over, as no files of completions: {first_few(passed, _SHOWN)}")
    return found


def _walk(folder: Path) -> Iterator[Path]:
    """Files, and folders of runs, that are not hidden, by name."""
    for path in sorted(folder.iterdir()):
        if path.name.startswith((".", "__")):
            continue
        if path.is_dir() and not (path / "manifest.json").exists():
            yield from _walk(path)
        else:
            yield path


def _known(path: Path) -> bool:
    try:
        with SourceFile(path, hashed=False) as source:
            find_format(source, None)
    except BadRecord:
        return False
    return True


def _as_rows(path: Path, programs: list[Path]) -> Path:
    """Programs, one file each, as rows of evalplus' ``samples.jsonl``, by problem and sample."""
    rows = []
    for program in programs:
        name, _, number = program.parent.name.rpartition("_")
        try:
            text = program.read_text("utf-8")
        except UnicodeDecodeError as error:
            raise BadRecord(program, f"not UTF-8 text ({error.reason}); write the file anew as UTF-8") from None
        rows.append((name, int(number), int(program.stem), text))
    lines = [json.dumps({"task_id": f"{name}/{n}", "solution": text}) for name, n, _, text in sorted(rows)]
    path.write_text("".join(f"{line}\n" for line in lines))
    return path
