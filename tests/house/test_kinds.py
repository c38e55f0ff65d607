"""What a kind of problem means is decided in its file: who else goes by the type of a task is listed here."""

import ast
from pathlib import Path

from truegrade.kinds import KINDS, built_in_kinds

ROOT = Path(__file__).parents[2] / "src" / "truegrade"
HOMES = ("records", "kinds", "benchmarks", "profiles")
"""The records, what is decided by them, data sets that are of one kind, and what a harness does otherwise."""
LEFT = {
    "agents/session.py",
    "analysis/audit/contests.py",
    "analysis/audit/rows_beside_benchmark.py",
    *(f"apps/assay/{name}.py" for name in ("building", "hardening", "hardening_forms", "input_domain")),
    *(f"apps/assay/probes/{name}.py" for name in ("labelled", "must_fail", "stubs")),
    *(f"apps/assay/targets/{name}.py" for name in ("asking", "opening")),
    *("apps/changed/build.py", "apps/evolve/evaluation.py", "apps/evolve/objectives.py", "apps/ray/crew.py"),
    "apps/repository/own_tests.py",
    *("grading/attempts.py", "grading/repairs.py", "grading/tests_forms.py"),
    *("pipeline/importing.py", "pipeline/summary.py", "store/exporters/harness_files.py"),
    *("web/service/execution.py", "web/service/jobs.py"),
}
"""Files that still decide by the type of a task: calls and shapes of tests above all. None joins them."""


def decides(source, tasks):
    """Whether a module asks for the type of a task, by ``isinstance`` or in a ``case``."""
    for node in ast.walk(ast.parse(source)):
        asked = None
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
            asked = node.args[1]
        elif isinstance(node, ast.MatchClass):
            asked = node.cls
        if asked is not None and tasks & {name.id for name in ast.walk(asked) if isinstance(name, ast.Name)}:
            return True
    return False


def test_no_file_but_these_decides_by_the_type_of_a_task():
    tasks = {kind.task.__name__ for kind in built_in_kinds()}
    files = [path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).parts[0] not in HOMES]
    found = {path.relative_to(ROOT).as_posix() for path in files if decides(path.read_text("utf-8"), tasks)}
    assert found == LEFT


def test_every_kind_has_a_file_a_tag_and_names_of_its_own():
    for tag in KINDS.built_in:
        kind = KINDS.known(tag).value
        assert kind.task.__struct_config__.tag == tag
        assert kind.names and "default" in kind.variants
    names = [name for kind in built_in_kinds() for name in kind.names]
    assert {name: names.count(name) for name in names if names.count(name) > 1} == {"repair": 2}
