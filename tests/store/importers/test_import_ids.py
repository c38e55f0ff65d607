from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truegrade.errors import BadRecord
from truegrade.store.importers import index_ids, match_id

HUMANEVAL = [f"HumanEval/{i}" for i in range(164)]
HERE = Path("samples.jsonl")


@pytest.mark.parametrize(
    ("raw", "known", "meant"),
    [
        ("HumanEval/3", HUMANEVAL, "HumanEval/3"),
        ("humaneval/3", HUMANEVAL, "HumanEval/3"),
        (3, HUMANEVAL, "HumanEval/3"),
        ("3", HUMANEVAL, "HumanEval/3"),
        ("Mbpp/11", ["MBPP/11"], "MBPP/11"),
        (11, ["Mbpp/11"], "Mbpp/11"),
        ("sample_0", ["sample_0"], "sample_0"),
        (0, ["sample_0", "sample_10"], "sample_0"),
    ],
)
def test_accepted_spellings(raw, known, meant):
    assert match_id(raw, index_ids(known), path=HERE) == meant


@pytest.mark.parametrize("raw", ["HumanEval/164", 164, "HumanEval/03", "Human", "", " 3", "3.0", "-3", "٣"])
def test_everything_else_is_refused(raw):
    with pytest.raises(BadRecord, match="no problem"):
        match_id(raw, index_ids(HUMANEVAL), path=HERE)


def test_refusal_names_place_and_closest_ids():
    with pytest.raises(BadRecord) as caught:
        match_id("HumanEvl/12", index_ids(HUMANEVAL), path=HERE, line=7, field="task_id")
    assert (caught.value.line, caught.value.field) == (7, "task_id")
    assert "samples.jsonl, line 7, field 'task_id'" in str(caught.value)
    assert "did you mean HumanEval/12" in str(caught.value)


def test_ambiguous_spellings_are_never_guessed():
    index = index_ids(["a/1", "b/1", "Same", "same"])
    for raw in (1, "1", "SAME"):
        with pytest.raises(BadRecord):
            match_id(raw, index, path=HERE)
    assert match_id("same", index, path=HERE) == "same"


@settings(derandomize=True, deadline=None)
@given(st.text(max_size=20) | st.integers(), st.lists(st.text(min_size=1, max_size=8), max_size=6))
def test_gives_a_known_id_or_refuses(raw, known):
    try:
        assert match_id(raw, index_ids(known), path=HERE) in known
    except BadRecord:
        assert raw not in known
