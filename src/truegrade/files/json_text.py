r"""JSON as Python writes it: with halves of surrogate pairs, NaN and infinities, which `msgspec` refuses.

A reply, or what a program prints, may hold half a surrogate pair. UTF-8 cannot store one, JSON can, as an escape
(``\ud800``): it is written and read so. Two halves that follow each other become their character.

TOML files, of the package and of users: read into records, every fault told with its line and field.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar
from zlib import crc32

import msgspec

from truegrade.errors import BadRecord

T = TypeVar("T")

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What `decode` raises for JSON that cannot be read, or does not fit the type (`msgspec.ValidationError`)."""


def encode(
    value: Any,
    *,
    order: Literal["sorted"] | None = None,
    enc_hook: Callable[[Any], Any] | None = None,
    indent: int | None = None,
) -> bytes:
    """A value as `msgspec.json.encode` writes it, halves of surrogate pairs escaped.

    Args:
        value: what `msgspec` can encode.
        order: keys as they come, or sorted.
        enc_hook: turns what it cannot into what it can.
        indent: spaces of a level; None for one line.
    """
    try:
        content = msgspec.json.encode(value, order=order, enc_hook=enc_hook)
        return content if indent is None else msgspec.json.format(content, indent=indent)
    except UnicodeEncodeError:
        plain = msgspec.to_builtins(value, str_keys=True, order=order, enc_hook=enc_hook)
        finite = json.loads(json.dumps(plain), parse_constant=lambda _: None)  # msgspec, too, writes NaN as null
        separators = (",", ":") if indent is None else None
        return json.dumps(finite, separators=separators, indent=indent).encode("ascii")


def decode(content: bytes, decoder: msgspec.json.Decoder[T]) -> T:
    """Decode JSON, also where only Python's own reader takes it.

    Raises:
        msgspec.DecodeError: it is no JSON; as `msgspec.ValidationError`, it does not fit the type.
        UnicodeDecodeError: it is not UTF-8.
        RecursionError: it is nested too deeply.
    """
    try:
        return decoder.decode(content)
    except msgspec.DecodeError as error:
        if isinstance(error, msgspec.ValidationError) and "out of range" not in str(error):
            raise
        try:
            value = json.loads(content, parse_int=_number)
        except ValueError:
            value = msgspec.UNSET
        if value is msgspec.UNSET:
            raise
        return convert(value, decoder.type)


def _number(digits: str) -> int | float:
    """A whole number; one of more digits than Python reads is an infinity."""
    try:
        return int(digits)
    except ValueError:
        return float(digits)


def convert(value: Any, kind: type[T]) -> T:
    """Check decoded JSON against a type.

    Raises:
        msgspec.ValidationError: it does not fit.
    """
    try:
        return msgspec.convert(value, kind, str_keys=True)
    except UnicodeEncodeError as error:  # not of a text as such: of one where a number or a known name belongs
        raise msgspec.ValidationError(f"half a surrogate pair in {error.object!r:.60}") from None


def place_of(error: msgspec.ValidationError) -> tuple[str, str | None]:
    """What is wrong, and the dotted name of the field, from the words of msgspec."""
    sentence, _, place = str(error).partition(" - at `$")
    place = place.rstrip("`").lstrip(".")
    if missing := _MISSING.fullmatch(sentence):
        sentence, place = "the field is missing", f"{place}.{missing[1]}".lstrip(".")
    return sentence, place or None


def read_json(path: Path, kind: type[T], advice: str = "is the file whole?") -> T:
    """A file that is one JSON value.

    Args:
        path: the file.
        kind: what it must be.
        advice: what to do where it is not, in a few words.

    Raises:
        BadRecord: it cannot be read, is not JSON, or does not fit; names the field.
    """
    try:
        return decode(path.read_bytes(), msgspec.json.Decoder(kind))
    except OSError as error:
        why = "no such file" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror})"
        raise BadRecord(path, f"{why}; {advice}") from None
    except msgspec.ValidationError as error:
        problem, field = place_of(error)
        raise BadRecord(path, f"{problem}; {advice}", field=field) from None
    except UNREADABLE as error:
        raise BadRecord(path, f"not JSON that can be read: {error}; {advice}") from None


# ------ Lines of JSON that hold a checksum of themselves, so that damage on a disk is seen when they are read.
# The last field of the object is ``"crc32":"89abcdef"``: the CRC-32 (`zlib.crc32`) of all bytes of the line
# before it, as eight hexadecimal digits. It differs after every change of up to 32 bits in a row.


_KEY = b'"crc32":"'
_END = b'"}\n'
_TAIL = len(_KEY) + 8 + len(_END)
"""Bytes of the last field, the closing brace and the line's end."""


def with_checksum(record: bytes) -> bytes:
    """A JSON object, on one line without its end, as a line with a checksum."""
    body = record[:-1] + (b"," if len(record) > len(b"{}") else b"")
    return b"%b%b%08x%b" % (body, _KEY, crc32(body), _END)


def checksum_fits(line: bytes) -> bool | None:
    """Whether a line, with its end, is as it was written; None where it holds no checksum."""
    if line[-_TAIL : -_TAIL + len(_KEY)] != _KEY or not line.endswith(_END):
        return None
    return line[-_TAIL + len(_KEY) : -len(_END)] == b"%08x" % crc32(memoryview(line)[:-_TAIL])


OWN = "the file is truegrade's own: install truegrade again"
"""What to do about a file of the package that does not hold what it must."""
_NAME = r"""(?:"[^"]*"|'[^']*'|[\w-]+)"""
_NAMES = rf"{_NAME}(?:\s*\.\s*{_NAME})*"
_HEAD = re.compile(rf"\s*(\[\[?)\s*({_NAMES})\s*\]\]?\s*(?:#.*)?")
_TOML_KEY = re.compile(rf"\s*({_NAMES})\s*=")
_MISSING = re.compile(r"Object missing required field `(.*)`")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`")


def read_toml(path: Path, kind: type[T], advice: str) -> T:
    """The record that a file holds.

    Args:
        path: the file.
        kind: what it must be.
        advice: what to do where it is not, in a few words.

    Raises:
        BadRecord: it cannot be read, is no TOML, or does not fit; names line and field.
    """
    text, table = _parsed(path, advice)
    return _fitting(path, text, (), table, kind, advice)


class TomlTables(Mapping[str, T]):
    """The tables of a file by name, in its order; the file is read when the first of them is asked for.

    A field ``name`` of the records is the name of the table.

    Args:
        path: the file.
        kind: what each table must be; where one is not, asking raises `BadRecord` that names `OWN`.
    """

    def __init__(self, path: Path, kind: type[T]) -> None:
        self._path, self._kind = path, kind

    def __getitem__(self, name: str) -> T:
        return self._tables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    @cached_property
    def _tables(self) -> dict[str, T]:
        text, tables = _parsed(self._path, OWN)
        bears_name = "name" in getattr(self._kind, "__struct_fields__", ())
        return {
            name: _fitting(
                self._path,
                text,
                (name,),
                {"name": name, **value} if bears_name and isinstance(value, dict) else value,
                self._kind,
                OWN,
            )
            for name, value in tables.items()
        }


def line_of(text: str, names: Sequence[str]) -> int | None:
    """The line on which a field stands: that of its key, or of the table that should hold it.

    TOML's reader keeps no lines; a key that stands inside a text of several lines can be taken for it.

    Args:
        text: of the file.
        names: from the outermost table to the field; places in arrays as numbers.
    """
    deepest, found = 0, None
    table: list[str] = []
    arrays: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if head := _HEAD.fullmatch(line):
            table = _split(head[2])
            if head[1] == "[[":
                arrays[table[0]] = arrays.get(table[0], -1) + 1
            here = table = [table[0], *([str(arrays[table[0]])] if table[0] in arrays else []), *table[1:]]
        elif key := _TOML_KEY.match(line):
            here = [*table, *_split(key[1])]
        else:
            continue
        common = min(len(here), len(names))
        depth = common if here[:common] == list(names[:common]) else 0
        if depth > deepest:
            deepest, found = depth, number
    return found


def names_of(field: str) -> list[str]:
    """The names that a dotted field consists of, as `line_of` takes them: ``benchmarks[0].name``."""
    return re.findall(r"[\w-]+", field)


def _split(dotted: str) -> list[str]:
    return [name.strip("\"'") for name in re.findall(_NAME, dotted)]


def _parsed(path: Path, advice: str) -> tuple[str, dict[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8")
        table = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        why = "no such file" if isinstance(error, FileNotFoundError) else f"cannot be read: {error}"
        raise BadRecord(path, f"{why}; {advice}") from None
    except tomllib.TOMLDecodeError as error:
        said, _, place = str(error).partition(" (at line ")
        line = int(place.partition(",")[0]) if place[:1].isdigit() else None
        raise BadRecord(path, f"is no TOML: {said}; {advice}", line=line) from None
    except (RecursionError, ValueError) as error:  # nested too deeply, or a number of too many digits
        raise BadRecord(path, f"cannot be read: {error}; {advice}") from None
    return text, _days_as_text(table)


def _days_as_text(value: Any) -> Any:
    """A value in which a day without quotes is the text that it stands for."""
    if isinstance(value, dict):
        return {name: _days_as_text(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_days_as_text(inner) for inner in value]
    return str(value) if isinstance(value, date) else value


def _fitting(path: Path, text: str, within: tuple[str, ...], value: Any, kind: type[T], advice: str) -> T:
    try:
        return convert(value, kind)
    except msgspec.ValidationError as error:
        problem, place = place_of(error)
        place = place or ""
        if unknown := _UNKNOWN.fullmatch(problem):
            known = _fields(msgspec.inspect.type_info(kind), names_of(place))
            close = get_close_matches(unknown[1], known, n=1)
            guess = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}"
            problem, place = f"no key {unknown[1]!r}, {guess}", f"{place}.{unknown[1]}".lstrip(".")
        names = (*within, *names_of(place))
        field = ".".join((*within, *([place] if place else []))) or None
        raise BadRecord(path, f"{problem}; {advice}", line=line_of(text, names), field=field) from None


def _fields(kind: Any, names: Sequence[str]) -> list[str]:
    """The fields of the record that stands at a place inside another."""
    for name in names:
        if isinstance(kind, msgspec.inspect.StructType):
            kind = next(field.type for field in kind.fields if field.encode_name == name)
        else:
            kind = getattr(kind, "item_type", getattr(kind, "value_type", kind))
        if isinstance(kind, msgspec.inspect.UnionType):
            kind = next(kind for kind in kind.types if not isinstance(kind, msgspec.inspect.NoneType))
    return [field.encode_name for field in getattr(kind, "fields", ())]
