"""Byte-level BPE against what the tokenizers library encodes, and the files it must refuse."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import tiny_llama
from truegrade.errors import BadRecord
from truegrade.models.micro.tokenizer import read_tokenizer

GOLDEN = json.loads(Path(__file__).with_name("golden_llama.json").read_text())


@pytest.fixture(scope="module")
def write(tmp_path_factory):
    """Write a tokenizer.json, changed by a function, and return its path."""

    def write(pre_tokenizer=None, change=lambda document: None):
        document = tiny_llama.tokenizer_document(pre_tokenizer)
        change(document)
        path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
        path.write_text(json.dumps(document))
        return path

    return write


@pytest.fixture(scope="module")
def tokenizer(write):
    return read_tokenizer(write())


@pytest.mark.parametrize("encoding", GOLDEN["encodings"], ids=["gpt2", "split", "digits"])
def test_the_same_ids_as_the_tokenizers_library(write, encoding):
    tokenizer = read_tokenizer(write(encoding["pre_tokenizer"]))
    assert [tokenizer.encode(text) for text in GOLDEN["texts"]] == encoding["ids"]


@given(st.text())
def test_decoding_undoes_encoding(tokenizer, text):
    assert tokenizer.decode(tokenizer.encode(text)) == text


@given(st.text(alphabet=st.sampled_from("d'sll ve\n\t\u00a0²é9Ⅷ½\u093ca🙂_-.\x1c"), max_size=12))
def test_any_mixture_of_kinds_splits_as_the_library_does(both, text):
    ours, library = both
    assert ours.encode(text) == library.encode(text).ids


@pytest.fixture(scope="module")
def both(write):
    """The same file, read by us and by the library."""
    library = pytest.importorskip("tokenizers", reason="the tokenizers wheel is not installed")
    path = write()
    return read_tokenizer(path), library.Tokenizer.from_file(str(path))


def test_a_special_token_in_a_text_is_text(tokenizer):
    (end,) = [tokenizer.special["<|end|>"]]
    ids = tokenizer.encode("before<|end|>after")
    assert end not in ids
    assert tokenizer.decode(ids) == "before<|end|>after"
    assert tokenizer.decode([*tokenizer.encode("a"), end]) == "a"


def test_the_longest_whole_string_wins(tokenizer):
    assert len(tokenizer.encode("```python\n")) == 1
    assert tokenizer.encode("```python") == [*tokenizer.encode("```"), *tokenizer.encode("python")]


def test_a_cut_character_is_replaced(tokenizer):
    assert tokenizer.decode(tokenizer.encode("é")[:1]) == "\ufffd"


def _lose_a_byte(document):
    del document["model"]["vocab"]["Ã"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(normalizer={"type": "NFC"}), "'normalizer': is .*not reproduced"),
        (lambda d: d["model"].update(type="Unigram"), "'model.type'"),
        (lambda d: d["model"].update(ignore_merges=True), "'model.ignore_merges'"),
        (lambda d: d["added_tokens"][-1].update(lstrip=True), "'added_tokens'"),
        (lambda d: d.update(pre_tokenizer={"type": "Metaspace"}), "'pre_tokenizer'"),
        (_lose_a_byte, "lacks 'Ã'"),
        (lambda d: d.pop("model"), "no tokenizer of this kind"),
    ],
)
def test_what_is_not_reproduced_is_refused(write, change, message):
    with pytest.raises(BadRecord, match=message):
        read_tokenizer(write(change=change))


def test_files_that_are_none(tmp_path):
    with pytest.raises(BadRecord, match="cannot be read"):
        read_tokenizer(tmp_path / "tokenizer.json")
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(BadRecord, match="is not JSON"):
        read_tokenizer(tmp_path / "tokenizer.json")
