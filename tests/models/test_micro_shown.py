"""The warning that a data set holds programs that the included model was trained on."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import truegrade
from truegrade.models.micro import pack, unpack, was_shown
from truegrade.records.config import Sampling

HELD_OUT = Path(__file__).parents[2] / "train" / "held_out.txt"
SHOWN = "def f(a1):\n    return list(map(lambda x: x + 1, a1))"
KEPT_OUT = "def f(a1):\n    return a1[1:]"


def test_what_is_packed_is_found_again() -> None:
    identities = [sha256(str(number).encode()).hexdigest() for number in range(60_000)]
    heads = unpack(pack([*identities, identities[0]]))
    assert heads == {int(each[:7], 16) for each in identities}


def test_programs_that_were_kept_out_of_the_training_are_not_taken_for_shown() -> None:
    held_out = HELD_OUT.read_text().split()
    assert sum(map(was_shown, held_out)) <= 10  # by chance, 1 in 2,000


def test_a_run_says_how_many_programs_the_model_has_seen(tmp_path: Path) -> None:
    row = {"function_name": "f", "input": "f([2, 1])"}
    rows = [
        {"id": 0, "code": SHOWN, "output": "[3, 2]", **row},
        {"id": 1, "code": KEPT_OUT, "output": "[1]", **row},
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    for model, said in (("embedded/truegrade-micro", True), ("baseline/lookup", False)):
        run = truegrade.run(
            "execution-prediction", data=path, model=model, sampling=Sampling(max_tokens=2), out=tmp_path / model
        )
        warnings = run.summary["profiles"][0]["warnings"]
        assert any("1 of 2 originals" in sentence for sentence in warnings) == said
