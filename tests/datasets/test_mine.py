"""Own code: only what is pure is taken, nothing of it runs outside the jail, and a seed gives the same bytes."""

import ast
import re
import textwrap
from random import Random

import pytest

from truegrade.builders.mine_inputs import MineOptions, build, discover, literal_calls
from truegrade.builders.mine_shapes import (
    ANY,
    BYTES,
    INT,
    NONE,
    STR,
    Drawer,
    parameters_of,
    shape_of,
    vocabulary_of,
)
from truegrade.builders.mutation.file import mutate_rows
from truegrade.builders.mutation.mutants import MutationOptions
from truegrade.builders.mutation.observing import Observer, observe_calls
from truegrade.builders.recheck import check_rows
from truegrade.builders.shapes import DictShape, ExactShape, ListShape, NumberShape, RecordShape, UnionShape
from truegrade.datasets.executions import NotRecorded, RecordedCase, Refused, encode_rows
from truegrade.errors import UserError
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

def same_words(words_):
    return [w.upper() for w in re.split("[ ,]+", words_.strip()) if w]
'''


@pytest.fixture
def repository(tmp_path):
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "tools.py").write_text(MODULE)
    (tmp_path / "broken.py").write_text("def f(:")
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "hidden.py").write_text("def hidden(n: int): return n + 1")
    return tmp_path


@pytest.fixture(scope="module")
def jails():
    limits = Limits(cpu_s=5)
    with Sandbox(limits, allow_unsafe=True) as jail, Sandbox(limits, allow_unsafe=True, hash_seed=1) as witness:
        yield jail, witness


def test_pure_functions_are_found_with_what_they_need(repository):
    found = {one.function: one for one in discover(repository) if not isinstance(one, Refused)}
    assert list(found) == [
        "chunks",
        "reduce_all",
        "words",
        "remembers",
        "prints",
        "unordered",
        "keeps",
        "yields",
        "always",
        "given_back",
        "decorated",
        "mystery",
        "several",
        "same_words",
    ]
    assert found["reduce_all"].program == textwrap.dedent("""\
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
    assert found["chunks"].file == "pkg/tools.py" and found["chunks"].line == 9


def test_what_is_not_pure_is_refused_with_a_reason(repository):
    refused = {one.name.split(" ")[-1]: one.why for one in discover(repository) if isinstance(one, Refused)}
    for name, why in {
        "reads_environment": "os",
        "broken.py": "cannot be read",
    }.items():
        assert why in refused[name]


def test_rows_come_from_the_jail_and_repeat_to_the_byte(repository, jails, tmp_path):
    made = list(build(repository, MineOptions(), *jails, workers=2))
    rows = [one for one in made if not isinstance(one, Refused)]
    refused = {one.name.split(" ")[-1]: one.why for one in made if isinstance(one, Refused)}
    assert [row.function_name for row in rows] == [
        "chunks", "reduce_all", "words", "keeps", "yields_as_list", "mystery", "several"
    ]  # fmt: skip
    assert rows[0].metadata == {"source": "truegrade mine", "file": "pkg/tools.py", "line": 9}
    assert all(len(set(row.output)) == 3 for row in rows)
    assert "not deterministic" in refused["unordered"] and "one thing" in refused["remembers"]
    assert (
        "one thing" in refused["always"]
        and "given" in refused["given_back"]
        and "same program" in refused["same_words"]
    )
    assert not (repository / "HARM").exists()
    assert not any(one.differences for one in check_rows(tmp_path, rows, jails[0]))
    again = [one for one in build(repository, MineOptions(), *jails, workers=1) if not isinstance(one, Refused)]
    assert encode_rows(rows) == encode_rows(again)
    other = [one for one in build(repository, MineOptions(seed=1, size=1), *jails) if not isinstance(one, Refused)]
    assert len(other) == 1 and other[0].input != rows[0].input


def test_nothing_at_the_path(tmp_path, jails):
    with pytest.raises(UserError, match="no such file"):
        list(build(tmp_path / "nowhere", MineOptions(), *jails))


@pytest.mark.parametrize(
    ("annotation", "shape"),
    [
        ("int", INT),
        ("List[str]", ListShape(list, STR)),
        ("typing.Sequence[tuple[int, str]]", ListShape(list, RecordShape(tuple, (INT, STR)))),
        ("tuple[int, ...]", ListShape(tuple, INT)),
        ("'dict[str, list]'", DictShape(STR, ListShape(list, INT))),
        ("int | None", UnionShape((INT, NONE))),
        ("Optional[bool]", UnionShape((NumberShape(bool), NONE))),
        ("Literal['a', 2]", ExactShape(("a", 2))),
        ("set[int]", ListShape(set, INT)),
        ("dict[list[int], int]", None),
        ("Path", None),
        ("list[Path]", None),
        ("Callable[[int], int]", None),
        ("'not python at'", None),
    ],
)
def test_annotations(annotation, shape):
    assert shape_of(ast.parse(annotation, mode="eval").body) == shape


def shapes(code):
    return [(one.name, one.shape) for one in parameters_of(ast.parse(code).body[0])]


def test_parameters_without_annotation():
    code = "def f(a, b, c, d=2, e='x'):\n a.split(); b.append(1); c.items(); return d"
    assert [shape for _, shape in shapes(code)] == [
        STR, ListShape(list, INT), DictShape(STR, INT), INT, STR
    ]  # fmt: skip
    assert shapes("def f(a): return a") == [("a", ANY)]
    assert shapes("def f(a): return a * 2 - 1") == [("a", INT)]
    assert shapes("def f(a, key=None): return a < 'x'") == [("a", STR), ("key", None)]
    assert shapes("def f(*a): return a") == [("a", ANY)]
    with pytest.raises(NotRecorded, match="takes no argument"):
        shapes("def f(): return 1")
    with pytest.raises(NotRecorded, match="no literal can be: a: Path"):
        shapes("def f(a: Path): return 1")


def test_a_stub_and_aliases_tell_types():
    function = ast.parse("def f(a, *, b=None): pass").body[0]
    stub = ast.parse("def f(a: Names, *, b: int | None = ...) -> int: ...").body[0]
    aliases = {
        "Names": ast.parse("list[Name]").body[0].value,
        "Name": ast.parse("NewType('N', str)").body[0].value,
    }
    a, b = parameters_of(function, stub, aliases)
    assert a.shape == ListShape(list, STR)
    assert b.keyword and b.optional and b.shape == UnionShape((INT, NONE))


@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        (INT, int),
        (NumberShape(float), float),
        (NumberShape(complex), complex),
        (NumberShape(bool), bool),
        (STR, str),
        (BYTES, bytes),
        (NONE, type(None)),
        (ListShape(list, INT), list),
        (RecordShape(tuple, (INT, STR)), tuple),
        (ListShape(tuple, INT), tuple),
        (ListShape(set, INT), set),
        (DictShape(STR, INT), dict),
        (UnionShape((INT, INT)), int),
    ],
)
def test_what_is_drawn_is_of_its_shape(shape, kind):
    drawer = Drawer(Random(3), vocabulary_of(""))
    assert all(type(drawer.value(shape)) is kind for _ in range(20))


def test_texts_are_drawn_from_the_constants_and_patterns_of_the_program():
    program = "def f(t):\n if t == 'abracadabra': raise V('message')\n return re.match(r'(?:v|=)[0-9]{3}!\\d', t)"
    vocabulary = vocabulary_of(program)
    assert vocabulary.texts == ("abracadabra",) and len(vocabulary.patterns) == 1
    drawer = Drawer(Random(0), vocabulary)
    texts = [drawer.value(STR) for _ in range(400)]
    assert any("abracadabra" in text for text in texts)
    assert any(re.fullmatch(r"[v=]\d{3}!\d", text) for text in texts)
    assert set("/:=@&#") <= set("".join(texts))  # marks that drawn texts once never held


def test_a_foreign_pattern_is_read_and_never_matched():
    drawer = Drawer(Random(0), vocabulary_of(r"p = r'(?:a+)+(?:b{999999999}|\w*)*$'"))
    assert all(len(drawer.value(STR)) < 10_000 for _ in range(50))


CALLS = """
import pytest
from tools import wrap, Tool

@pytest.mark.parametrize("text, width", [("a b", 1), ("", 2), (str(), 3)])
def test_wrap(text, width):
    assert wrap(text, width=width)

def test_more():
    '''
    >>> words = ["x", "y"]
    >>> wrap(words, 5)
    '''
    lines = iter(range(3))
    for given, expected in [("p", 1), ("q", 2)]:
        assert Tool.wrap(given) == expected
    wrap(lines), wrap(unknown), wrap(*lines), other(1)
"""


def test_calls_are_read_from_doctests_tests_and_callers():
    assert literal_calls([ast.parse(CALLS)], {"wrap"}) == {
        "wrap": [
            RecordedCase((["x", "y"], 5)),
            RecordedCase(("a b",), {"width": 1}),
            RecordedCase(("",), {"width": 2}),
            RecordedCase(("p",)),
            RecordedCase(("q",)),
            RecordedCase(([0, 1, 2],)),
        ]
    }


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
    root = tmp_path_factory.mktemp("repository")
    for name, text in PACKAGE.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    made = list(build(root, MineOptions(), *jails, workers=2))
    return {row.function_name: row for row in made if not isinstance(row, Refused)}


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
                return None
        """)


def test_static_untyped_stubbed_and_yielding_functions_are_mined(mined):
    assert sorted(mined) == ["count", "initials", "pairs_as_list", "parts", "safe"]
    assert mined["pairs_as_list"].code.endswith("    return list(pairs(*args, **kwargs))\n")


def test_calls_are_chosen_that_go_different_ways(mined, jails):
    row = mined["safe"]
    observed = Observer(jails[0], row.input, MutationOptions()).alone(row.code, "lines")
    assert len({case.arcs for case in observed.cases}) == 2  # all there are: with and without a text
    assert "None" in row.output
    (mutated,) = mutate_rows([row], MutationOptions(), jails[0])
    assert mutated.has_mutation


def test_a_call_that_ends_its_process_does_not_end_the_others(jails):
    code = "import os\ndef f(n):\n    if n == 1: os._exit(0)\n    while n == 2: pass\n    return n"
    seen = list(observe_calls(jails[0], code, ["f(0)", "f(1)", "f(2)", "f(3)"], MutationOptions(max_steps=1000)))
    assert [case.kind for case in seen][::3] == ["value", "value"] and seen[2].kind == "endless"
    assert seen[1].kind not in ("value", "endless")
