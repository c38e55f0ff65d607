"""A run over the user's own file is graded again without naming the file, as long as it lies where it was."""

import pytest

import truegrade
from truegrade.errors import UserError


def test_the_file_is_looked_for_where_it_was(execution_rows, tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_bytes(execution_rows.read_bytes())
    run = truegrade.run(
        "execution-prediction", model="baseline/reference", data=rows, limit=3, out=tmp_path / "run"
    )
    again = truegrade.grade(run.path)
    assert again.summary["profiles"] == run.summary["profiles"]
    rows.unlink()
    with pytest.raises(UserError, match="with `data`"):
        truegrade.grade(run.path)
