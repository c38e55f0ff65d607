from __future__ import annotations

import gzip
import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegrade.datasets import source
from truegrade.datasets.download import parse_json, read_content, recognised
from truegrade.errors import BadRecord, UserError

PATH = Path("data.jsonl")
OBJECTS = st.lists(
    st.dictionaries(st.text(), st.none() | st.integers() | st.text() | st.lists(st.booleans()), max_size=4),
    max_size=5,
)


def values(text: str) -> list[object]:
    return [value for _, value in parse_json(PATH, text.encode())]


@given(OBJECTS)
def test_the_three_layouts_read_alike(rows: list[dict[str, object]]) -> None:
    assert values("\n".join(map(json.dumps, rows))) == rows
    assert values("\n".join(json.dumps(row, indent=2) for row in rows)) == rows
    assert values(json.dumps(rows, indent=1)) == rows
    assert values(json.dumps(rows)) == rows


@given(OBJECTS)
def test_lines_are_where_the_values_begin(rows: list[dict[str, object]]) -> None:
    texts = [json.dumps(row, indent=2) for row in rows]
    expected, line = [], 2
    for text in texts:
        expected.append(line)
        line += text.count("\n") + 2
    joined = "\n" + "\n\n".join(texts)
    assert [number for number, _ in parse_json(PATH, joined.encode())] == expected
    in_array = "[\n" + ",\n\n".join(texts) + "\n]"
    assert [number for number, _ in parse_json(PATH, in_array.encode())] == expected


def test_infinity_is_read_as_python_writes_it() -> None:
    assert values('{"x": [Infinity, -Infinity, 1e999]}') == [{"x": [float("inf"), float("-inf"), float("inf")]}]


def test_integers_of_any_size_stay_exact() -> None:
    assert values("[-999999999999999999999999999999999]") == [-999999999999999999999999999999999]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('{"a": 1}\n{"a": \n', 3, "is not JSON"),
        ('{"a": 1}\nnot json\n', 2, "is not JSON"),
        ('[{"a": 1},\n{"a": 2}', 2, "closing bracket"),
        ('{"a": 1}\n' + "[" * 100_000, 2, "nested too deeply"),
        ('{"a": 1}\n' + "9" * 5000, 2, "Exceeds the limit"),
    ],
)
def test_bad_json_names_the_line(text: str, line: int, message: str) -> None:
    with pytest.raises(BadRecord, match=message) as caught:
        values(text)
    assert caught.value.line == line


def test_bad_encoding_names_the_line() -> None:
    with pytest.raises(BadRecord, match="line 2: is not UTF-8"):
        list(parse_json(PATH, b'{"a": 1}\n{"a": "\xff"}'))


def test_gzip_is_known_by_content_not_by_name(tmp_path: Path) -> None:
    misnamed = tmp_path / "rows.jsonl"
    misnamed.write_bytes(gzip.compress(b"{}"))
    assert read_content(misnamed) == b"{}"
    misnamed.write_bytes(b"{}")
    assert read_content(misnamed) == b"{}"


def test_damaged_gzip_and_missing_file(tmp_path: Path) -> None:
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(gzip.compress(b"x" * 10_000)[:-12])
    with pytest.raises(BadRecord, match="gzip archive is damaged"):
        read_content(cut)
    with pytest.raises(UserError, match="cannot be read"):
        read_content(tmp_path / "absent")


def test_a_reformatted_json_file_is_recognised_and_a_changed_one_is_not(data_dir: Path) -> None:
    pinned = source("mbpp-sanitized")
    content = (data_dir / pinned.file).read_bytes()
    rows = msgspec.json.decode(content)
    assert recognised(pinned, content)
    assert recognised(pinned, json.dumps(rows, indent=4).encode())
    rows[3]["test_list"][0] += " "
    assert not recognised(pinned, json.dumps(rows).encode())
    assert not recognised(pinned, b"[" * 100_000)
    assert not recognised(source("mbpp"), json.dumps(rows).encode())
