import json
from zlib import crc32

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegrade.errors import BadRecord
from truegrade.files.json_text import checksum_fits, decode, encode, with_checksum
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
    assert str(len(torn)) in notices[-1]


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
        (b'{"a":1,"b":"caf\xe9"}\n', ("line 2", "utf-8", "0xe9")),
        (b'{"a":1,"c":' + b"[" * 100_000 + b"\n", ("line 2",)),
        (b"\x00\x00\x00\n", ("line 2", "damaged")),
    ],
)
def test_a_line_of_an_earlier_version_that_is_no_record_is_missing_and_named(tmp_path, line, words):
    path = tmp_path / "j.jsonl"
    path.write_bytes(b'{"a":1}\n' + line + b'{"a":3}\n')
    notices = []
    assert lines(path, notice=notices.append) == [Line(1), Line(3)]
    assert all(word in notices[0] for word in (str(path), *words))
    assert notices[1:] == [f"{path}: 2 lines of an earlier version hold no checksum, so they are read unchecked"]


def test_a_line_that_is_as_it_was_written_and_no_record_is_refused_by_line_and_field(tmp_path):
    path = tmp_path / "j.jsonl"
    path.write_bytes(with_checksum(b'{"a":1}') + with_checksum(b'{"a":"x"}'))
    with pytest.raises(BadRecord, match=r"line 2, field 'a'.*newer version"):
        lines(path)


def test_lines_are_plain_json_whose_last_field_is_a_checksum(tmp_path):
    path = tmp_path / "j.jsonl"
    with Journal(path) as journal:
        journal.append(Line(1, "x"))
    assert path.read_bytes() == b'{"a":1,"b":"x","crc32":"%08x"}\n' % crc32(b'{"a":1,"b":"x",')
    assert [checksum_fits(line) for line in (with_checksum(b"{}"), b"{}\n", b"\n", b"")] == [
        True,
        None,
        None,
        None,
    ]


WRITTEN = [Line(1, "def f():\n    return 1\n"), Line(22, "é \ud800"), Line(3)]


@pytest.fixture(name="whole")
def fixture_whole(tmp_path):
    with Journal(tmp_path / "whole.jsonl") as journal:
        for record in WRITTEN:
            journal.append(record)
    return (tmp_path / "whole.jsonl").read_bytes()


def test_no_bit_that_flips_changes_a_record_silently(tmp_path, whole):
    path = tmp_path / "j.jsonl"
    for place in range(len(whole)):
        for bit in range(8):
            changed = bytearray(whole)
            changed[place] ^= 1 << bit
            path.write_bytes(changed)
            notices = []
            found = lines(path, notice=notices.append)
            assert found == [one for one in WRITTEN if one in found]
            assert notices, (place, bit)
            assert len(found) >= len(WRITTEN) - 2


def test_no_cut_changes_a_record_silently(tmp_path, whole):
    path = tmp_path / "j.jsonl"
    ends = [place + 1 for place, byte in enumerate(whole) if byte == ord("\n")]
    first = ends[0]
    for start in range(len(whole)):
        path.write_bytes(whole[:start])  # the end is lost; between two lines nothing is damaged
        notices = []
        found = lines(path, notice=notices.append)
        assert found == WRITTEN[: len(found)]
        assert notices or start in (0, *ends)
    for start in range(first, len(whole), 3):
        for end in range(start + 1, len(whole) + 1, 3):
            path.write_bytes(whole[:start] + whole[end:])  # a piece of the middle is lost
            notices = []
            found = lines(path, notice=notices.append)
            assert found == [one for one in WRITTEN if one in found]
            assert notices or set((whole[:start] + whole[end:]).splitlines()) <= set(whole.splitlines())


def test_lines_without_a_checksum_are_of_an_earlier_version_only_at_the_beginning(tmp_path):
    path = tmp_path / "j.jsonl"
    path.write_bytes(b'{"a":1}\n{"a":2}\n' + with_checksum(b'{"a":3}') + b'{"a":4}\n')
    notices = []
    assert lines(path, notice=notices.append) == [Line(1), Line(2), Line(3)]
    assert "line 4: damaged" in notices[0] and "2 lines of an earlier version" in notices[1]


def test_many_damaged_lines_are_counted(tmp_path):
    path = tmp_path / "j.jsonl"
    path.write_bytes(with_checksum(b'{"a":1}') + b"x\n" * 10)
    notices = []
    assert lines(path, notice=notices.append) == [Line(1)]
    assert len(notices) == 4 and notices[-1].endswith("10 lines are damaged; the first 3 are named")


def test_a_missing_journal_is_empty(tmp_path):
    assert lines(tmp_path / "none.jsonl") == []


def test_half_a_surrogate_pair_is_written_and_read_again(tmp_path):
    path = tmp_path / "j.jsonl"
    records = [Line(1, "\ud800"), Line(2, "a\udc80\U0001f600é\n"), Line(3, "\ud83d")]
    with Journal(path) as journal:
        for record in records:
            journal.append(record)
    assert lines(path) == records
    assert path.read_bytes().startswith(b'{"a":1,"b":"\\ud800",')


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
