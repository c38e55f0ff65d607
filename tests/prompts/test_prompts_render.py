from __future__ import annotations

import hashlib
import json
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegrade.errors import UnknownName, UserError
from truegrade.prompts import PROMPTS, load, render

HASHES = {
    name.removesuffix(".txt"): digest
    for digest, name in (
        line.split() for line in Path(__file__).with_name("texts.sha256").read_text().splitlines()
    )
}
"""Of each text's exact bytes, as ``sha256sum`` writes and checks them."""
TEXT_FILES = {
    entry.name.removesuffix(".txt"): entry.read_bytes()
    for entry in files("truegrade.prompts").iterdir()
    if entry.name.endswith(".txt")
}


@pytest.mark.parametrize("prompt_id", sorted(TEXT_FILES))
def test_texts_have_the_bytes_that_they_were_taken_with(prompt_id: str) -> None:
    content = TEXT_FILES[prompt_id]
    assert hashlib.sha256(content).hexdigest() == HASHES[prompt_id] == load(prompt_id).sha256
    assert load(prompt_id).text.encode() == content
    assert PROMPTS[prompt_id].source


def test_texts_are_those_of_the_published_list() -> None:
    """The list that the texts were collected in, where it lies beside the repository."""
    listed = Path(__file__).parents[3] / "shared" / "specs" / "prompts.json"
    if not listed.is_file():
        pytest.skip("the list of collected prompts is not beside the repository")
    published = json.loads(listed.read_text())
    common = sorted(PROMPTS.keys() & published.keys())
    assert {name for name in PROMPTS if name.startswith(("exec.", "cruxeval.", "lcb."))} <= set(common)
    for name in common:
        assert HASHES[name] == published[name]["sha256"], name
        placeholders = {f"<{placeholder}>" for placeholder in load(name).placeholders}
        assert placeholders == set(published[name]["placeholders"]), name


def test_index_and_files_agree() -> None:
    assert set(TEXT_FILES) == set(PROMPTS) == set(HASHES)
    assert list(PROMPTS) == sorted(PROMPTS)


@pytest.mark.parametrize("prompt_id", sorted(PROMPTS))
def test_every_placeholder_stands_in_its_text_and_is_replaced(prompt_id: str) -> None:
    template = load(prompt_id)
    for name in template.placeholders:
        assert f"<{name}>" in template.text
    rendered = render(prompt_id, **{name: f"[{name}!]" for name in template.placeholders})
    assert not any(f"<{name}>" in rendered for name in template.placeholders)
    assert all(f"[{name}!]" in rendered for name in template.placeholders)


def test_the_prompt_of_seed_regex_word_for_word() -> None:
    rendered = render("exec.prediction.zero_shot", program="def f(x):\n    return x", fn="f", args="'a<b>'")
    assert rendered.endswith("[PYTHON]\ndef f(x):\n    return x\nassert f('a<b>') == ??\n[/PYTHON]")
    assert rendered.startswith(
        "You are given a Python program and an assertion containing an input to a function."
    )


def test_git_keeps_the_bytes() -> None:
    assert files("truegrade.prompts").joinpath(".gitattributes").read_text() == "*.txt -text\n"


def test_strict_prompts_ask_for_one_fenced_answer() -> None:
    assert "```python\ndef f(): ...\n```" in render("strict.function.user", prompt="def f(): ...")
    described = render("strict.description.user", prompt="Add.", tests="assert add(1, 2) == 3")
    assert described.startswith("Add.\n")
    assert "assert add(1, 2) == 3" in described


@given(prompt=st.text(), tests=st.text(), code=st.text())
def test_inserted_text_is_never_searched_again(prompt: str, tests: str, code: str) -> None:
    text = load("mbpp.paper").text
    values = {"prompt": f"<tests>{prompt}<code>", "tests": f"<prompt>{tests}", "code": f"{code}<tests>"}
    head, rest = text.split("<prompt>")
    middle, rest = rest.split("<tests>")
    between, tail = rest.split("<code>")
    expected = head + values["prompt"] + middle + values["tests"] + between + values["code"] + tail
    assert render("mbpp.paper", **values) == expected


def test_backslashes_are_inserted_as_they_are() -> None:
    assert r"\1\n\g<0>" in render("strict.function.user", prompt=r"\1\n\g<0>")


def test_missing_and_unknown_placeholders_are_errors() -> None:
    with pytest.raises(UserError, match=r"'mbpp.paper' lacks a value for tests, code; it takes"):
        render("mbpp.paper", prompt="x")
    with pytest.raises(UserError, match="has no place for shots; it takes nothing"):
        render("cruxeval.system.openai", shots="x")


def test_unknown_prompt_offers_the_closest() -> None:
    with pytest.raises(UnknownName, match=r"did you mean mbpp\.paper"):
        load("mbpp.papr")
