"""The table of skips at the end of a run names what makes the tests run."""

import pytest

from support import skipped


@pytest.mark.parametrize(
    ("reason", "way"),
    [
        ("peers not present: set TRUEGRADE_PEERS", "make parity"),
        ("trainers not present: set TRUEGRADE_PEERS", "make trainers"),
        ("the extra [inspect] is not installed", "make integrations"),
        ("training needs the extra [train]: torch, safetensors, tokenizers", "make train-check"),
        ("torch is not installed", "pip install -e '.[local]'"),
        ("benchmark data not present: set TRUEGRADE_DATA", "TRUEGRADE_DATA"),
        ("level 2 has no other number here", "truegrade doctor"),
        ("they stay as they are", "see the reason"),
    ],
)
def test_a_reason_leads_to_a_way(reason, way):
    assert way in skipped.way_of(reason)


def test_each_way_and_below_it_each_reason_the_most_frequent_first():
    missing = "peers not present: set TRUEGRADE_PEERS"
    assert skipped.table(
        ["torch is not installed", missing, "peft is not installed", "torch is not installed"]
    ) == [
        "    3  pip install -e '.[local]'",
        "           2  torch is not installed",
        "           1  peft is not installed",
        "    1  make parity PEERS=folder DATA=folder (their checkouts)",
        f"           1  {missing}",
    ]
