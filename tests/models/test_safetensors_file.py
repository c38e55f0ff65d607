"""Weight files with headers that nobody wrote: the tensors, or one sentence that names the file."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truegrade.errors import BadRecord
from truegrade.models.micro.micro_adapters import encode_tensors, read_metadata, read_tensors

BODY = np.arange(6, dtype="<f4").tobytes()
GOOD = {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}


def write(path, header, body=BODY, length=None):
    head = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes((len(head) if length is None else length).to_bytes(8, "little") + head + body)
    return path


def refused(path, read=read_tensors):
    with pytest.raises(BadRecord) as caught:
        read(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    "header",
    [
        b'{"t": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"t": ' * 100_000 + b"1" + b"}" * 100_000,
        b"[]",
        b"3",
        b"",
        b"{",
        b'{"t": "\xff"}',
        b'{"t": ' + b"9" * 5000 + b"}",
        b'{"t": NaN}',
    ],
)
@pytest.mark.parametrize("read", [read_tensors, read_metadata])
def test_headers_that_are_none_are_refused(tmp_path, header, read):
    path = write(tmp_path / "m.safetensors", header)
    if read is read_metadata and header.endswith((b"NaN}", b"9}")):
        return  # it says nothing of the metadata
    assert "damaged header" in str(refused(path, read))


@pytest.mark.parametrize("length", [2**64 - 1, 2**63, 100_000_001, 10_000])
def test_a_header_longer_than_the_file_is_refused(tmp_path, length):
    assert "cut while copying" in str(refused(write(tmp_path / "m.safetensors", {"t": GOOD}, length=length)))


@pytest.mark.parametrize(
    "wrong",
    [
        {"dtype": ["F32"]},
        {"dtype": {}},
        {"dtype": None},
        {"dtype": "\ud800"},
        {"dtype": "F128"},
        {"shape": "23"},
        {"shape": [2, "3"]},
        {"shape": [2, 3.0]},
        {"shape": [-2, -3]},
        {"shape": [2**70, 3]},
        {"shape": [2**62] * 100_000},
        {"shape": [6] + [1] * 100},
        {"shape": [0, 2**62]},
        {"shape": [[2, 3]]},
        {"shape": None},
        {"data_offsets": [0]},
        {"data_offsets": [0, 24, 24]},
        {"data_offsets": [24, 0]},
        {"data_offsets": [-24, 0]},
        {"data_offsets": [0, 2**70]},
        {"data_offsets": [0, 23]},
        {"data_offsets": ["0", "24"]},
        {"data_offsets": {"0": 24}},
        {"data_offsets": 24},
    ],
)
def test_entries_that_no_tensor_has_are_refused(tmp_path, wrong):
    refused(write(tmp_path / "m.safetensors", {"t": GOOD | wrong}))


@pytest.mark.parametrize("entry", [None, [], "F32", 3, {}, {"dtype": "F32"}])
def test_an_entry_of_another_kind_is_named(tmp_path, entry):
    assert refused(write(tmp_path / "m.safetensors", {"t": entry})).field == "t"


def test_tensors_that_overlap_or_leave_holes_are_refused(tmp_path):
    half = {"dtype": "F32", "shape": [3], "data_offsets": [0, 12]}
    for begin in (0, 8, 16):
        other = {"dtype": "F32", "shape": [2], "data_offsets": [begin, begin + 8]}
        refused(write(tmp_path / "m.safetensors", {"a": half, "b": other}))


@pytest.mark.parametrize("metadata", [[], "x", {"a": 1}, {"a": None}, {"a": {}}])
def test_metadata_that_are_no_texts_are_refused(tmp_path, metadata):
    path = write(tmp_path / "m.safetensors", {"__metadata__": metadata, "t": GOOD})
    assert refused(path, read_metadata).field == "__metadata__"


@settings(max_examples=100)
@given(st.data())
def test_any_bytes_changed_are_read_or_refused(tmp_path_factory, data):
    tensors = {"a": np.ones((2, 3), np.float32), "b": np.zeros(4, np.float32)}
    content = bytearray(encode_tensors(tensors, {"k": "v"}))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, 180) | st.integers(0, len(content) - 1))
        piece = data.draw(st.sampled_from([b"[", b"{", b'"', b"-", b"99999999999"]) | st.binary(max_size=2))
        content[place : place + data.draw(st.integers(0, 3))] = piece
    path = tmp_path_factory.mktemp("any") / "m.safetensors"
    path.write_bytes(content[: data.draw(st.integers(0, 2 * len(content)))])
    for read in (read_tensors, read_metadata):
        try:
            read(path)
        except BadRecord as error:
            assert str(path) in str(error)
