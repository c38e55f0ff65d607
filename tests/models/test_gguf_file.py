"""Heads of GGUF files: what is read, and what is refused with one line."""

import struct

import pytest

from support.tiny_gguf import CHAT_TEMPLATE, CONTEXT, write_tiny_gguf
from truegrade.errors import UserError
from truegrade.models.gguf_local import read_head


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    pytest.importorskip("gguf", reason="the writer of GGUF files is not installed")
    return write_tiny_gguf(tmp_path_factory.mktemp("gguf") / "tiny.gguf")


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def head(*entries, version=3, tensors=0):
    parts = [b"GGUF", struct.pack("<IQQ", version, tensors, len(entries))]
    return b"".join([*parts, *(text(key) + struct.pack("<I", kind) + value for key, kind, value in entries)])


def test_what_a_file_says(tiny):
    read = read_head(tiny, "m")
    assert (read.architecture, read.kind, read.context_length) == ("llama", "model", CONTEXT)
    assert read.chat_template == CHAT_TEMPLATE
    assert read.temperature is None and read.top_p is None


def test_an_adapter_and_sampling_defaults(tmp_path):
    (tmp_path / "a").write_bytes(
        head(
            ("general.type", 8, text("adapter")),
            ("skipped", 9, struct.pack("<IQ", 4, 2) + bytes(8)),
            ("skipped too", 9, struct.pack("<IQ", 8, 2) + text("x") + text("")),
            ("general.sampling.temp", 6, struct.pack("<f", 0.5)),
        )
    )
    read = read_head(tmp_path / "a", "m")
    assert (read.kind, read.temperature, read.chat_template) == ("adapter", 0.5, None)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is no GGUF file"),
        (b"hello world", "is no GGUF file"),
        (b"GGUF", "it ends after 4 bytes"),
        (head(version=9), "version 9"),
        (head(("k", 77, b"")), "unknown kind 77"),
        (head(("k", 8, struct.pack("<Q", 2**63))), "it ends after"),
        (head(("k", 9, struct.pack("<IQ", 0, 2**62))), "it ends after"),
        (head(tensors=3), "it ends after"),
    ],
)
def test_a_damaged_file_is_one_line(tmp_path, content, said):
    (tmp_path / "m.gguf").write_bytes(content)
    with pytest.raises(UserError, match=said) as refused:
        read_head(tmp_path / "m.gguf", "gguf/m.gguf")
    assert "gguf/m.gguf" in str(refused.value) and "\n" not in str(refused.value)


def test_a_missing_file(tmp_path):
    with pytest.raises(UserError, match="there is no file"):
        read_head(tmp_path / "m.gguf", "gguf/m")


def test_a_file_cut_before_its_weights(tiny, tmp_path):
    (tmp_path / "cut.gguf").write_bytes(tiny.read_bytes()[:20_000])
    with pytest.raises(UserError, match="damaged: it ends after 20000 bytes"):
        read_head(tmp_path / "cut.gguf", "m")
