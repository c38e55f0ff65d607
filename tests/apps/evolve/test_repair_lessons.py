"""What a repair problem holds, and when two programs are one."""

import ast

import pytest

from truegrade.apps.evolve.roles import repair_of
from truegrade.datasets.identity import notes_of, program_identity, without_notes
from truegrade.errors import UserError
from truegrade.records import OutputTask, Problem


def test_every_problem_of_quixbugs_is_a_repair_and_loses_its_notes_only(quixbugs):
    with_notes = 0
    for name, problem in quixbugs.items():
        repair = repair_of(problem)
        assert repair.name == name and len(repair.programs) == 2
        names = {node.name for node in ast.parse(repair.reference).body if isinstance(node, ast.FunctionDef)}
        tree = ast.parse(repair.solution)
        assert {node.name for node in tree.body if isinstance(node, ast.FunctionDef)} == names
        assert not any(isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) for node in tree.body)
        assert notes_of(repair.buggy), name  # the specification
        with_notes += bool(notes_of(repair.reference))
    assert with_notes == 15 + 4  # of the 31 with JSON tests, and of the 9 without


def test_a_wrong_alternative_is_no_part_of_the_solution(quixbugs):
    sieve = repair_of(quixbugs["sieve"])
    assert "not any" in sieve.reference and "not any" not in sieve.solution
    assert sieve.solution.startswith("def sieve") and sieve.solution.endswith("return primes")


def test_notes_are_strings_at_module_level_and_nothing_else():
    source = '\n"""first"""\nX = """kept"""\ndef f():\n    """kept"""\n    return 1\n\n"""two\nlines"""\n'
    assert without_notes(source) == 'X = """kept"""\ndef f():\n    """kept"""\n    return 1'
    assert notes_of(source) == '"""first"""\n\n"""two\nlines"""'
    assert without_notes("no ( program") == "no ( program" and notes_of("no ( program") == ""


def test_names_layout_and_notes_make_no_other_program():
    one = program_identity("def f(a):\n    b = a + 1\n    return b\n")
    assert one == program_identity('\ndef g(x):\n\n    y = x+1  # more\n    return y\n"""note"""')
    assert one != program_identity("def f(a):\n    b = a - 1\n    return b\n")
    assert program_identity("no ( program") == program_identity("no ( program\n")


def test_what_is_no_repair_is_refused(repair):
    task = OutputTask(program="def f(): return 1", function="f", arguments="", expected="1")
    other = Problem(id="x/1", benchmark="x", dataset_sha256="0", cluster="1", task=task)
    with pytest.raises(UserError, match="problem x/1 holds no program to repair"):
        repair_of(other)
    with pytest.raises(UserError, match="no program to repair"):
        repair_of(repair("f", "def f(): pass", buggy=""))
