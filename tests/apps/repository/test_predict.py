"""Problems of kind predict: only pure functions, run in the jail alone, by calls that go many ways."""

import textwrap

import pytest

from support.noted_lines import noted_lines
from support.repository_package import write_package
from truegrade.apps.repository.functions import (
    ParsedModule,
    RecordedCall,
    Recording,
    SeenOfFunction,
    list_functions,
)
from truegrade.apps.repository.problems import prediction_row, pure_function
from truegrade.apps.repository.programs import Repository
from truegrade.apps.repository.replaying import TwoJails
from truegrade.apps.repository.source import read_modules, read_tree
from truegrade.builders.mutation.file import check_rows, mutate_rows
from truegrade.builders.mutation.mutants import MutationOptions
from truegrade.builders.mutation.observing import Observer, observe_calls
from truegrade.datasets.executions import NotRecorded, encode_rows
from truegrade.sandbox import Limits, Sandbox

MODULE = '''
"""A module that does harm when it is imported."""
import os, re
from math import gcd as common, pi
open("HARM", "w").close()
LIMIT = 3
STATE = []

def chunks(values: list[int], size: int = 2) -> list[list[int]]:
    """>>> chunks([1, 2, 3])
    [[1, 2], [3]]"""
    size = max(1, abs(size)) % LIMIT + 1  # never zero
    return [values[i:i + size] for i in range(0, len(values), size)]

def reduce_all(values: "list[int]"):
    if not values:
        return chunks([1, 2])
    total = 0
    for value in values:
        total = common(total, value)
    return total

def words(text):
    return [word.upper() for word in re.split("[ ,]+", text.strip()) if word]

def remembers(n: int) -> int:
    STATE.append(n)
    return len(STATE)

def reads_environment(name: str):
    return os.environ[name]

def prints(n: int):
    print(n)

def unordered(text: str):
    return list(set(text + "abcdef"))

def keeps(n: int, seen: list = []):
    seen.append(n)
    return len(seen)

def yields(n: int):
    yield n

def always(n: int):
    return 3

def given_back(n: int):
    return n

@property
def decorated(n: int):
    return n

def mystery(n):
    return n + 1

def several(*values: int):
    return values
'''


@pytest.fixture(scope="module")
def jails():
    limits = Limits(cpu_s=5)
    with Sandbox(limits, allow_unsafe=True) as jail, Sandbox(limits, allow_unsafe=True, hash_seed=1) as witness:
        yield TwoJails(jail, witness)


def looked_at(folder, recording=None):
    """The package of a folder, and its functions by name."""
    tree = read_tree(str(folder))
    modules = [ParsedModule(module) for module in read_modules(tree)[0]]
    stubs = {path: text.decode() for path, text in tree.files.items() if path.endswith(".pyi")}
    return Repository(modules, stubs), {one.name: one for one in list_functions(modules, recording or Recording())}


def made_of(folder, jails, seed=0, recording=None):
    """Rows by function, and why there are no others."""
    repository, functions = looked_at(folder, recording)
    rows, refused = {}, {}
    for name, place in functions.items():
        try:
            rows[name] = prediction_row(place, repository, jails, 3, seed)
        except NotRecorded as refusal:
            refused[name] = str(refusal)
    return rows, refused


@pytest.fixture
def folder(tmp_path):
    return write_package(tmp_path, {"pkg/tools.py": MODULE})


def test_a_pure_function_is_found_with_what_it_needs(folder):
    repository, functions = looked_at(folder)
    found = pure_function(functions["reduce_all"], repository)
    assert found.program == textwrap.dedent("""\
        from math import gcd as common
        LIMIT = 3

        def chunks(values: list[int], size: int=2) -> list[list[int]]:
            size = max(1, abs(size)) % LIMIT + 1
            return [values[i:i + size] for i in range(0, len(values), size)]

        def reduce_all(values: 'list[int]'):
            if not values:
                return chunks([1, 2])
            total = 0
            for value in values:
                total = common(total, value)
            return total
        """)


def test_rows_come_from_the_jail_and_repeat_to_the_byte(folder, jails, tmp_path):
    rows, refused = made_of(folder, jails)
    assert list(rows) == ["chunks", "reduce_all", "words", "keeps", "yields", "mystery", "several"]
    origin = {"source": "truegrade repository", "file": "pkg/tools.py", "line": 9}
    assert {name: rows["chunks"].metadata[name] for name in (*origin, "mutation")}.items() > origin.items()
    assert rows["chunks"].id == "pkg.tools.chunks/predict" and rows["yields"].function_name == "yields_as_list"
    assert all(len(set(row.output)) == 3 for row in rows.values())
    assert "os" in refused["reads_environment"] and "not deterministic" in refused["unordered"]
    assert (
        "one thing" in refused["remembers"]
        and "one thing" in refused["always"]
        and "given" in refused["given_back"]
    )
    assert not (folder / "HARM").exists()
    assert not any(one.differences for one in check_rows(tmp_path, list(rows.values()), jails.first))
    again, _ = made_of(folder, jails)
    assert encode_rows(rows.values()) == encode_rows(again.values())
    other, _ = made_of(folder, jails, seed=1)
    assert other["chunks"].input != rows["chunks"].input


def test_calls_of_the_tests_are_tried_before_drawn_ones(tmp_path, jails):
    """Only a text that begins like the recorded ones gives anything but None, and no drawn text does."""
    code = "def f(text):\n    if text[:9] == 'q'.join('abcde') and len(text) > 9:\n        return text[9:]\n"
    write_package(tmp_path, {"m.py": code})
    assert "one thing" in made_of(tmp_path, jails)[1]["f"]
    calls = tuple(
        RecordedCall(f"({{'text': 'aqbqcqdqe{word}'}}, (), {{}})", "value", repr(word)) for word in ("x", "yz")
    )
    seen = SeenOfFunction(path="m.py", line=1, seen=2, tests=("t",), crossing=2, changes=False, calls=calls)
    rows, _ = made_of(tmp_path, jails, recording=Recording(tests=1, functions=(seen,)))
    assert {*rows["f"].output} - {"None"}


PACKAGE = {
    "pkg/__init__.py": "",
    "pkg/base.py": """
import re as regex
from typing import TypeVar, TYPE_CHECKING
if TYPE_CHECKING:
    from elsewhere import Thing
T = TypeVar("T")
SPLIT = regex.compile("[/:]+")

class Wrong(ValueError):
    pass

def parts(text: str, thing: "Thing | None" = None) -> "list[Thing]":
    if not text:
        raise Wrong(text)
    return SPLIT.split(text)
""",
    "pkg/use.py": """
from .base import parts as pieces
from .base import Wrong

class Namer:
    @staticmethod
    def initials(names):
        return [name[0] for name in names if name]

def safe(text):
    try:
        return pieces(text.strip())
    except Wrong:
        return None

def pairs(values):
    for left, right in zip(values, values[1:]):
        yield left + right
""",
    "pkg/typed.py": "def count(a, b): return [*a].count(b)",
    "pkg/typed.pyi": "def count(a: list[str], b: str) -> int: ...",
    "tests/test_use.py": "def test():\n    assert safe('x/y:z') == ['x', 'y', 'z']",
}


@pytest.fixture(scope="module")
def mined(tmp_path_factory, jails):
    return made_of(write_package(tmp_path_factory.mktemp("repository"), PACKAGE), jails)[0]


def test_names_of_other_modules_become_part_of_the_program(mined):
    assert mined["safe"].code == textwrap.dedent("""\
        import re as regex
        SPLIT = regex.compile('[/:]+')

        class Wrong(ValueError):
            pass

        def parts(text: str, thing=None):
            if not text:
                raise Wrong(text)
            return SPLIT.split(text)
        pieces = parts

        def safe(text):
            try:
                return pieces(text.strip())
            except Wrong:
                return None""")


def test_static_untyped_stubbed_and_yielding_functions_are_mined(mined):
    assert sorted(mined) == ["Namer.initials", "count", "pairs", "parts", "safe"]
    assert mined["pairs"].code.endswith("    return list(pairs(*args, **kwargs))")


def test_calls_are_chosen_that_go_different_ways(mined, jails):
    row = mined["safe"]
    observed = Observer(jails.first, row.input, MutationOptions()).alone(row.code, "lines")
    assert len({case.arcs for case in observed.cases}) == 2  # all there are: with and without a text
    assert "None" in row.output
    (mutated,) = mutate_rows([row], MutationOptions(), jails.first)
    assert mutated.has_mutation


def test_rows_have_mutants_and_values_inside_calls_as_copies_of_both_programs_tell_them(tmp_path, jails):
    rows, _ = made_of(write_package(tmp_path / "package"), jails)
    assert sum(bool(row.has_mutation) for row in rows.values()) >= 7
    assert {"slug", "counts", "steps", "push"} <= {name for name in rows if rows[name].states}
    assert any(state.variable for row in rows.values() for state in row.states)
    for row in rows.values():
        assert len(row.states) <= len(row.input)
        for state in row.states:
            assert state.value not in (row.output[state.case], "None")
            assert state.value == told_by_copy(row.code, row.input[state.case], state)
            if state.mutated is not None:
                assert state.mutated == told_by_copy(row.mutated_code, row.input[state.case], state)


def told_by_copy(code, call, state):
    notes = noted_lines(code, call, {state.line: state.variable})[state.line]
    return notes[state.time - 1] if state.variable else str(len(notes))


def test_a_call_that_ends_its_process_does_not_end_the_others(jails):
    code = "import os\ndef f(n):\n    if n == 1: os._exit(0)\n    while n == 2: pass\n    return n"
    seen = list(
        observe_calls(jails.first, code, ["f(0)", "f(1)", "f(2)", "f(3)"], MutationOptions(max_steps=1000))
    )
    assert [case.kind for case in seen][::3] == ["value", "value"] and seen[2].kind == "endless"
    assert seen[1].kind not in ("value", "endless")
