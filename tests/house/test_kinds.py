"""What a kind of problem means is decided in its file: nothing else goes by the type of a task, or by its name."""

import ast
import re
from pathlib import Path

from truegrade.kinds import KINDS, built_in_kinds, kind_names

ROOT = Path(__file__).parents[2] / "src" / "truegrade"
HOMES = ("records", "kinds", "benchmarks", "profiles")
"""The records, what is decided by them, data sets that are of one kind, and what a harness does otherwise."""
OF_ONE_KIND = {
    "apps/changed/build.py": "it rewrites words, tests and reference of functions together",
}
"""What is made for problems of one type, and refuses all others where it begins."""
ASKED = re.compile(r"problem_kind\(|kind\w*\.name\(|problem\.kind")
"""What gives the name of a kind."""


def test_nothing_else_decides_by_the_type_or_the_name_of_a_kind():
    tasks = {kind.task.__name__ for kind in built_in_kinds()}
    names = {*kind_names(), *KINDS.built_in}
    files = [path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).parts[0] not in HOMES]
    fields = {field for kind in built_in_kinds() for field in kind.task.__struct_fields__}
    texts = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in files}
    found = {name: decisions(text, tasks, names, fields) for name, text in texts.items()}
    assert {name: asked for name, asked in found.items() if asked and name not in OF_ONE_KIND} == {}


def decisions(source, tasks, names, fields):
    """Where a module asks for the type of a task, for a field that some have, or for the name of a kind.

    An assertion that narrows a type decides nothing.
    """
    tree = ast.parse(source)
    narrowed = {id(part) for node in ast.walk(tree) if isinstance(node, ast.Assert) for part in ast.walk(node)}
    found = []
    for node in ast.walk(tree):
        asked = False
        match node:
            case ast.Call(func=ast.Name(id="isinstance"), args=[_, asked_for]) if id(node) not in narrowed:
                asked = bool(tasks & {name.id for name in ast.walk(asked_for) if isinstance(name, ast.Name)})
            case ast.MatchClass(cls=ast.Name(id=name)):
                asked = name in tasks
            case ast.Call(func=ast.Name(id="getattr" | "hasattr"), args=[of, ast.Constant(value=field), *_]):
                asked = ast.unparse(of).rpartition(".")[2] == "task" and field in fields
            case ast.Compare(left=left, comparators=[*right]):
                sides = [left, *right]
                literals = {
                    part.value for side in sides for part in ast.walk(side) if isinstance(part, ast.Constant)
                }
                asked = bool(names & literals) and any(ASKED.search(ast.unparse(side)) for side in sides)
        if asked:
            found.append(f"line {node.lineno}: {ast.unparse(node)}")
    return found


def test_each_form_of_deciding_is_seen():
    forms = (
        "isinstance(task, FunctionTask | None)",
        "match task:\n    case FunctionTask():\n        pass",
        "getattr(problem.task, 'prefix', '')",
        "problem_kind(task) == 'function'",
        "problem_kind(task) in ('oracle', 'function')",
    )
    assert all(decisions(form, {"FunctionTask"}, {"function"}, {"prefix"}) for form in forms)
    assert decisions("assert isinstance(task, FunctionTask)", {"FunctionTask"}, set(), set()) == []


def test_every_kind_has_a_file_a_tag_and_names_of_its_own():
    for tag in KINDS.built_in:
        kind = KINDS.known(tag).value
        assert kind.task.__struct_config__.tag == tag
        assert kind.names and "default" in kind.variants
    names = [name for kind in built_in_kinds() for name in kind.names]
    assert {name: names.count(name) for name in names if names.count(name) > 1} == {"repair": 2}
