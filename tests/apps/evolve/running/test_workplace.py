"""Problems and lessons of an evolution, and what must never be tested."""

import re
import shutil

import msgspec
import pytest
from click.testing import CliRunner

from truegrade.apps.evolve.evaluation import Evaluator, Job
from truegrade.apps.evolve.folder import Unwatched
from truegrade.apps.evolve.roles import Contamination
from truegrade.apps.evolve.running import evolve
from truegrade.apps.evolve.settings import RoleSizes, Search, read_settings
from truegrade.apps.evolve.subject import prepare
from truegrade.cli import main
from truegrade.datasets.learned import FILE as LEARNED
from truegrade.datasets.learned import write_learned
from truegrade.errors import UserError


@pytest.mark.parametrize(
    ("config", "absent", "said"),
    [("micro-quick", "bandit", r"scoring style and security needs bandit, .*truegrade\[evolve\]"),
     ("smollm2", "peft", r"a model in this process needs .*peft.*, not installed here: .*truegrade\[local\]")],
)  # fmt: skip
def test_a_package_that_is_missing_is_named_before_problems_are_drawn(monkeypatch, tmp_path, config, absent, said):
    def has_package(name):
        return name != absent

    class Watcher(Unwatched):
        def stage(self, sentence):
            raise AssertionError(sentence)

    monkeypatch.setattr("truegrade.files.extras.has_package", has_package)
    with pytest.raises(UserError, match=said):
        evolve(read_settings(config), out=tmp_path / "out", watcher=Watcher())


FILE = """
import hashlib
from truegrade.benchmarks.base import Benchmark, BenchmarkSpec
from truegrade.records import FunctionTask, Problem

ROWS = {rows!r}

def load(data, args):
    problems = tuple(
        Problem(
            id=f"mine/{{name}}", benchmark="mine", dataset_sha256="0" * 64, cluster=name,
            tags={{"role": role}},
            task=FunctionTask(
                prompt="", entry_point=name, tests=f"assert {{name}}(2) == {{2 + number}}",
                reference=f"def {{name}}(x):\\n    return x + {{number}}",
                buggy=f"def {{name}}(x):\\n    return x - {{number}}",
            ),
        )
        for name, number, role in ROWS
    )
    return Benchmark(name="mine", problems=problems, dataset_sha256="0" * 64, source="here")

BENCHMARK = BenchmarkSpec(
    name="mine", summary="x", tasks="function", size=None, licence="x", citation="x", load=load
)
"""
ROWS = [("one", 1, "train"), ("two", 2, "train"), ("three", 3, "selection"), ("four", 4, "final")]


def own_settings(tmp_path, rows):
    benchmark = tmp_path / "mine.py"
    benchmark.write_text(FILE.format(rows=rows))
    return msgspec.structs.replace(
        read_settings("micro-quick"), search=Search(searcher="random"), task=str(benchmark)
    )


def test_a_benchmark_file_with_roles(tmp_path):
    made = prepare(own_settings(tmp_path, ROWS))
    assert [p.id for p in made.roles.train] == ["mine/one", "mine/two"]
    assert [p.id for p in made.roles.selection] == ["mine/three"] and not made.roles.forgetting
    assert [lesson.problem for lesson in made.lessons] == ["mine/one", "mine/two"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([*ROWS, ("five", 1, "final")], "CRITICAL: Training/test overlap detected"),
        ([*ROWS, ("one", 9, "selection")], r"CRITICAL: Training/test overlap detected: \{'one'\}"),
        ([*ROWS, ("five", 3, "final")], "CONTAMINATION"),
    ],
)
def test_contamination_is_refused_before_anything_is_trained(tmp_path, rows, message):
    settings = own_settings(tmp_path, rows)
    with pytest.raises(Contamination, match=message):
        prepare(settings)
    config = tmp_path / "own.toml"
    config.write_text(
        f'name = "own"\ntask = {settings.task!r}\n[search]\nsearcher = "random"\n[objectives]\n'
        'names = ["solved"]\nreference = { solved = 0.0 }\nchoose = "solved"\n'
    )
    out = tmp_path / "out"
    refused = CliRunner().invoke(main, ["evolve", str(config), "--out", str(out)])
    assert refused.exit_code == 2 and not out.exists()
    assert re.search(message, refused.output)


def test_a_training_problem_is_never_scored(tmp_path):
    made = prepare(own_settings(tmp_path, ROWS), allow_unsafe=True)
    evaluator = Evaluator(made)
    try:
        evaluator._workplace = _Smuggled(made)
        with pytest.raises(Contamination, match="CONTAMINATION: one is training problem"):
            evaluator.evaluate(Job(seed=0))
    finally:
        evaluator.close()


class _Smuggled:
    """A workplace whose selection is its training set: no `Roles` can be made so."""

    def __init__(self, workplace):
        self.settings, self.lessons, self.roles = workplace.settings, workplace.lessons, _Roles(workplace.roles)


class _Roles:
    def __init__(self, roles):
        self.check, self.selection, self.pool = roles.check, roles.train, ()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([*ROWS, ("five", 5, "exam")], r"mine/five: its tag 'role' is 'exam'; give it one of train, selection"),
        (ROWS[:3], "no problem has the role 'final'"),
    ],
)
def test_roles_that_are_missing(tmp_path, rows, message):
    with pytest.raises(UserError, match=message):
        prepare(own_settings(tmp_path, rows))


def test_unknown_tasks():
    with pytest.raises(UserError, match=r"task .humaneval. cannot be evolved on"):
        prepare(
            msgspec.structs.replace(
                read_settings("micro-quick"), search=Search(searcher="random"), task="humaneval"
            )
        )


@pytest.mark.slow
def test_the_workplace_of_coralx(data_dir):
    made = prepare(read_settings("coralx-quixbugs"), data=data_dir, allow_unsafe=True)
    assert (len(made.roles.train), len(made.roles.selection), len(made.lessons)) == (24, 8, 96)
    assert {lesson.prompt.messages[0].content[:16] for lesson in made.lessons} == {"### Instruction:"}
    assert len(made.roles.final) > 8


def test_a_base_that_learned_from_problems_to_be_tested_is_refused_or_they_are_left_out(llama_folder, tmp_path):
    """Whatever the role that they have, and with the names that the record of the base's folder does not hold."""
    base = shutil.copytree(llama_folder, tmp_path / "base")
    sizes = RoleSizes(train=2, selection=3, final=4, forgetting=2)
    settings = msgspec.structs.replace(
        read_settings("micro-quick"), search=Search(searcher="random"), model=f"embedded/{base}", roles=sizes
    )
    roles = prepare(settings, allow_unsafe=True).roles
    seen = (roles.selection[0], roles.final[1])
    write_learned(base, "micro-repair", seen)
    with pytest.raises(UserError, match=f"CONTAMINATION: .* was trained on {seen[0].id} "):
        prepare(settings, allow_unsafe=True)
    left = prepare(settings, allow_unsafe=True, exclude_seen=True).roles
    assert (left.train, left.forgetting) == (roles.train, roles.forgetting)
    assert left.selection == roles.selection[1:] and left.final == (roles.final[0], *roles.final[2:])
    assert f"left out of final, because the base learned from them: {seen[1].id}" in left.notes
    (base / LEARNED).unlink()
    (base / "adapter_config.json").write_text("{}")
    assert "an adapter whose training data is unknown" in " ".join(
        prepare(settings, allow_unsafe=True).roles.notes
    )


def test_expert_iteration_needs_problems_to_answer():
    sizes = RoleSizes(train=2, selection=2, final=2, forgetting=2, pool=0)
    settings = msgspec.structs.replace(read_settings("micro-quick"), roles=sizes)
    with pytest.raises(
        UserError, match="expert-iteration learns from problems of the role 'pool', and there is none"
    ):
        prepare(settings)
