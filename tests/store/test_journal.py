import msgspec
import pytest

from truegrade.errors import BadRecord
from truegrade.store import Journal, read_journal


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
