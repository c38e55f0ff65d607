"""An adapter is not tested on what it learned from: such problems are left out, or the run is refused."""

import json

import pytest

from truegrade.benchmarks import load_benchmark
from truegrade.datasets.learned import FILE, leave_out_learned, write_learned
from truegrade.errors import UserError
from truegrade.records import FunctionTask, Problem


@pytest.fixture(scope="module")
def problems():
    return load_benchmark("micro-repair", args={"size": "6"}).problems


def test_problems_whose_programs_were_learned_are_named_whatever_their_ids(tmp_path, problems):
    write_learned(tmp_path, "micro-repair", problems[:2])
    left_out = leave_out_learned(tmp_path, problems)
    assert left_out == {problem.id: "the adapter learned from this program" for problem in problems[:2]}
    task = problems[0].task
    renamed = task.reference.replace(task.entry_point, "other_name")
    elsewhere = FunctionTask(prompt="", entry_point="other_name", tests="", reference=renamed)
    other = Problem(id="Elsewhere/1", benchmark="elsewhere", dataset_sha256="0" * 64, cluster="1", task=elsewhere)
    assert list(leave_out_learned(tmp_path, [other, problems[3]])) == ["Elsewhere/1"]


def test_a_run_over_nothing_else_is_refused(tmp_path, problems):
    write_learned(tmp_path, "micro-repair", problems)
    with pytest.raises(UserError, match=f"CONTAMINATION: {problems[0].id} is training problem"):
        leave_out_learned(tmp_path, problems[:3])


def test_adapters_of_other_trainers_leave_nothing_out_and_a_damaged_file_is_named(tmp_path, problems):
    assert leave_out_learned(tmp_path, problems) == {}
    (tmp_path / FILE).write_text(json.dumps({"benchmark": "micro-repair"}))
    with pytest.raises(UserError, match=FILE):
        leave_out_learned(tmp_path, problems)
