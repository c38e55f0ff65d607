"""The table of skips at the end of a run names what makes the tests run."""

import pytest

from support import skipped


@pytest.mark.parametrize(
    ("reason", "way"),
    [
        ("peers not present: set TRUEGRADE_PEERS", "make parity"),
        ("the extra [inspect] is not installed", "make integrations"),
        ("training needs the extra [train]: torch, safetensors, tokenizers", "make train-check"),
        ("torch is not installed", "pip install -e '.[local]'"),
        ("benchmark data not present: set TRUEGRADE_DATA", "TRUEGRADE_DATA"),
        ("level 2 has no other number here", "truegrade doctor"),
        ("they stay as they are", "see the reason"),
    ],
)
def test_a_reason_leads_to_a_way(reason, way):
    assert skipped.way_of(reason).startswith(way) or way in skipped.way_of(reason)


def test_one_line_for_each_way_the_most_frequent_first():
    lines = skipped.table(
        ["torch is not installed", "peft is not installed", "peers not present: set TRUEGRADE_PEERS"]
    )
    assert [line.split()[0] for line in lines] == ["2", "1"]
    assert "pip install -e '.[local]'" in lines[0] and "make parity" in lines[1]
