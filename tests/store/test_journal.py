import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegrade.errors import BadRecord
from truegrade.files.json_text import decode, encode
from truegrade.store import Journal, read_journal

SURROGATES = st.characters(codec=None)


class Line(msgspec.Struct, frozen=True):
    a: int
    b: str = ""


def lines(path, **options):
    return list(read_journal(path, Line, **options))


def test_what_is_appended_is_read_in_order(tmp_path):
    path = tmp_path / "j.jsonl"
    with Journal(path) as journal:
        for number in range(100):
            journal.append(Line(number, "é\n"))
    assert lines(path) == [Line(number, "é\n") for number in range(100)]


def test_two_writers_of_one_file_do_not_overwrite_each_other(tmp_path):
    path = tmp_path / "j.jsonl"
    with Journal(path) as first, Journal(path) as second:
        first.append(Line(1))
        second.append(Line(2))
        first.append(Line(3))
    assert [line.a for line in lines(path)] == [1, 2, 3]


@pytest.mark.parametrize("torn", [b'{"a": 7', b'{"a": 7}', b"x" * 200_000])
def test_a_torn_last_line_is_dropped_with_a_notice_and_cut_before_appending(tmp_path, torn):
    path = tmp_path / "j.jsonl"
    path.write_bytes(b'{"a":1,"b":""}\n' + torn)
    notices = []
    assert lines(path, notice=notices.append) == [Line(1)]
    assert "line 2" in notices[0]
    with Journal(path, notice=notices.append) as journal:
        journal.append(Line(2))
    assert lines(path) == [Line(1), Line(2)]
    assert str(len(torn)) in notices[1]


def test_a_file_that_is_one_torn_line_becomes_empty(tmp_path):
    path = tmp_path / "j.jsonl"
    path.write_bytes(b'{"a":')
    Journal(path).close()
    assert path.read_bytes() == b""


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b'{"a":"x"}\n', ("line 2", "field 'a'", "int")),
        (b'{"b":"x"}\n', ("line 2", "a")),
        (b"[1]\n", ("line 2",)),
        (b"{not json}\n", ("line 2", "JSON")),
    ],
)
def test_a_whole_line_that_is_wrong_is_refused_by_line_and_field(tmp_path, line, words):
    path = tmp_path / "j.jsonl"
    path.write_bytes(b'{"a":1}\n' + line + b'{"a":3}\n')
    with pytest.raises(BadRecord) as caught:
        lines(path)
    assert all(word in str(caught.value) for word in (str(path), *words))


def test_a_missing_journal_is_empty(tmp_path):
    assert lines(tmp_path / "none.jsonl") == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b'{"a":1,"b":"caf\xe9"}\n', ("line 2", "utf-8", "0xe9")),
        (b'{"a":1,"c":' + b"[" * 100_000 + b"\n", ("line 2", "nested", "depth")),
        (b"\x00\x00\x00\n", ("line 2", "not a JSON record")),
    ],
)
def test_a_line_that_no_reader_takes_is_named(tmp_path, line, words):
    path = tmp_path / "j.jsonl"
    path.write_bytes(b'{"a":1}\n' + line + b'{"a":3}\n')
    with pytest.raises(BadRecord) as caught:
        lines(path)
    assert str(path) in str(caught.value)
    assert any(word in str(caught.value) for word in words[1:])
    assert caught.value.line == 2


def test_half_a_surrogate_pair_is_written_and_read_again(tmp_path):
    path = tmp_path / "j.jsonl"
    records = [Line(1, "\ud800"), Line(2, "a\udc80\U0001f600é\n"), Line(3, "\ud83d")]
    with Journal(path) as journal:
        for record in records:
            journal.append(record)
    assert lines(path) == records
    assert path.read_bytes().startswith(b'{"a":1,"b":"\\ud800"}\n')


def test_numbers_that_json_lacks_are_written_alike_with_and_without_half_a_pair(tmp_path):
    assert encode({"a": float("nan"), "b": "\ud800"}) == encode({"a": float("nan"), "b": "x"}).replace(
        b"x", b"\\ud800"
    )
    assert encode({"b": "\ud800", "a": 1}, order="sorted") == rb'{"a":1,"b":"\ud800"}'
    assert encode(["\ud800"], indent=2) == b'[\n  "\\ud800"\n]'


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(SURROGATES), st.lists))
def test_any_text_survives_the_journal(value):
    stored = decode(encode(value), msgspec.json.Decoder())
    assert json.loads(json.dumps(value)) == stored  # two halves that follow each other are one character in JSON
    assert decode(encode(stored), msgspec.json.Decoder()) == stored
