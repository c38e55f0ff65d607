"""Which values a parameter takes, as far as its program tells, and values drawn of them."""

import ast
import re
from random import Random

import pytest

from support.repository_package import write_package
from truegrade.apps.repository.drawing import (
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
from truegrade.apps.repository.functions import ParsedModule
from truegrade.apps.repository.programs import Repository
from truegrade.apps.repository.source import read_modules, read_tree
from truegrade.builders.shapes import DictShape, ExactShape, ListShape, NumberShape, RecordShape, UnionShape
from truegrade.datasets.executions import NotRecorded


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


def test_aliases_of_other_modules_tell_types(tmp_path):
    files = {
        "pkg/__init__.py": "",
        "pkg/_types.py": "from typing import Union\nText = str\nStrOrBytes = Union[Text, bytes]\n",
        "pkg/m.py": "from pkg._types import StrOrBytes as Given\n\n\ndef f(text: Given):\n    return text\n",
    }
    modules, _ = read_modules(read_tree(str(write_package(tmp_path, files))))
    repository = Repository([*map(ParsedModule, modules)], {})
    module = repository.modules["pkg/m.py"]
    function = ast.parse("def f(text: Given): pass").body[0]
    with pytest.raises(NotRecorded):
        parameters_of(function, None, module.aliases)
    [text] = parameters_of(function, None, repository.aliases(module))
    assert text.shape == UnionShape((STR, BYTES))


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
