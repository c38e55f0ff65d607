"""An adapter is not tested on what it learned from: such problems are refused, or left out where that is asked."""

import ast
import json

import msgspec
import pytest
from msgspec import UNSET

from truegrade.apps.evolve.training.lessons import _prompt, learned_from_lessons, lessons_of
from truegrade.benchmarks import load_benchmark
from truegrade.datasets.identity import name_free_identity, program_identity
from truegrade.datasets.learned import (
    FILE,
    REASON,
    AdapterPast,
    learned_from,
    past_of,
    programs_in,
    read_learned,
    write_learned,
)
from truegrade.errors import UserError
from truegrade.profiles import open_profile
from truegrade.records import FunctionTask, Problem


@pytest.fixture(scope="module")
def problems():
    return load_benchmark("micro-repair", args={"size": "6"}).problems


def problem_of(program, name="Elsewhere/1"):
    task = FunctionTask(prompt="", entry_point="f", tests="", reference=program)
    return Problem(id=name, benchmark="elsewhere", dataset_sha256="0" * 64, cluster=name, task=task)


class Renamed(ast.NodeTransformer):
    """Every function, parameter and variable under another name."""

    def __init__(self, tree):
        self.names = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        self.names |= {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}

    def visit_FunctionDef(self, node):
        node.name = "copied"
        return self.generic_visit(node)

    def visit_arg(self, node):
        return ast.arg(arg=f"copied_{node.arg}")

    def visit_Name(self, node):
        return ast.Name(id=f"copied_{node.id}" if node.id in self.names else node.id, ctx=node.ctx)


def renamed(program):
    tree = ast.parse(program)
    return ast.unparse(Renamed(tree).visit(tree))


def test_what_was_learned_is_refused_by_name_or_left_out(tmp_path, problems):
    write_learned(tmp_path, "micro-repair", problems[:5])
    with pytest.raises(UserError) as refused:
        past_of("some/model", tmp_path, problems, exclude_seen=False)
    names = ", ".join(problem.id for problem in problems[:3])
    assert f"was trained on {names}, and 2 more ({FILE})" in str(refused.value)
    assert "these 5 of 6 out with `exclude_seen=True`" in str(refused.value) and "\n" not in str(refused.value)
    past = past_of("some/model", tmp_path, problems, exclude_seen=True)
    assert past == ({problem.id: REASON for problem in problems[:5]}, "recorded")
    assert past_of("some/model", tmp_path, problems[5:], exclude_seen=False) == ({}, "recorded")
    with pytest.raises(UserError, match="which is all that is asked"):
        past_of("some/model", tmp_path, problems[:3], exclude_seen=True)


def test_a_renamed_copy_of_a_trained_program_is_refused_too(tmp_path, problems):
    write_learned(tmp_path, "micro-repair", problems[:2])
    for source in (problems[0].task.reference, problems[1].task.buggy):
        copy = renamed(source)
        assert "copied_" in copy and not {*source.split()} >= {*copy.split()}
        with pytest.raises(UserError, match=r"CONTAMINATION: .* Elsewhere/1"):
            past_of(None, tmp_path, [problem_of(copy), problems[3]], exclude_seen=False)


CLASS = """
class Account:
    def __init__(self, start):
        self.balance = start

    def pay(self, amount):
        try:
            self.balance -= int(amount)
        except ValueError as wrong:
            raise RuntimeError(str(wrong))
        return self.balance
"""


def test_the_name_free_form_sees_through_attributes_and_caught_exceptions():
    copy = (
        CLASS.replace("balance", "left").replace("wrong", "error").replace("Account", "Purse").replace("pay", "p")
    )
    assert program_identity(copy) != program_identity(CLASS)
    assert name_free_identity(copy) == name_free_identity(CLASS)
    for old, new in (
        ("-=", "+="),
        ("int(", "float("),
        ("ValueError", "TypeError"),
        ("self.balance -= int", "start"),
    ):
        assert name_free_identity(CLASS.replace(old, new)) != name_free_identity(CLASS)
    assert name_free_identity("not a program (") == program_identity("not a program (")


def test_three_kinds_of_hashes_are_kept_and_each_decides(tmp_path, problems):
    learned = learned_from("micro-repair", problems[:1])
    assert [len(kind) for kind in (learned.exact, learned.programs, learned.name_free)] == [2, 2, 2]
    assert not {*learned.exact} & {*learned.programs} and not {*learned.programs} & {*learned.name_free}
    for kind in ("exact", "programs", "name_free"):
        alone = msgspec.structs.replace(
            learned, **{k: () for k in ("exact", "programs", "name_free") if k != kind}
        )
        assert alone.has(problems[0]) and not alone.has(problems[1])


def test_further_programs_and_earlier_records_are_kept(tmp_path, problems):
    reply = problems[4].task.reference
    earlier = learned_from("other", problems[2:3])
    write_learned(tmp_path, "micro-repair", problems[:1], more_programs=[reply], earlier=[earlier, None])
    kept = read_learned(tmp_path)
    assert [problem.id for problem in problems if kept.has(problem)] == [problems[n].id for n in (0, 2, 4)]
    assert kept.problems == (problems[0].id, problems[2].id) and kept.benchmark == "micro-repair"


def test_lessons_tell_the_programs_in_them(problems):
    learned = learned_from_lessons(lessons_of(problems[:2], open_profile("strict")))
    assert learned.programs == learned_from("micro-repair", problems[:2]).programs
    assert learned.problems == (problems[0].id, problems[1].id)
    assert learned_from_lessons([]).programs == ()
    seeds = _prompt("Repair it.", "def f(x):\n    return x").messages[0].content
    assert list(programs_in(seeds)) == ["def f(x):\n    return x"]
    assert list(programs_in("return it")) == list(programs_in("x = 1")) == []


def test_adapters_of_other_trainers_are_unknown_and_a_damaged_file_is_named(tmp_path, problems):
    assert past_of(None, tmp_path, problems, exclude_seen=False) == ({}, "unknown")
    assert past_of("some/model", None, problems, exclude_seen=False) == AdapterPast({}, UNSET)
    (tmp_path / FILE).write_text(json.dumps({"benchmark": 3}))
    with pytest.raises(UserError, match=FILE):
        past_of(None, tmp_path, problems, exclude_seen=False)


def test_a_model_whose_own_folder_has_a_record_is_refused_as_its_adapter_would_be(tmp_path, problems):
    write_learned(tmp_path, "micro-repair", problems[:1])
    for model in (f"hf/{tmp_path}", f"embedded/{tmp_path}"):
        with pytest.raises(UserError, match=problems[0].id):
            past_of(model, None, problems, exclude_seen=False)
        assert past_of(model, None, problems, exclude_seen=True).seen == {problems[0].id: REASON}
