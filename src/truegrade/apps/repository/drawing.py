"""Which values a parameter takes, read from what stands in a program, and values drawn of them."""

from __future__ import annotations

import ast
import re
import re._constants as regex  # type: ignore[import-not-found]
import re._parser as regex_parser  # type: ignore[import-not-found]
import sys
from collections.abc import Mapping
from random import Random
from typing import Any

import msgspec

from truegrade.builders.shapes import (
    DictShape,
    ExactShape,
    ListShape,
    NumberShape,
    RecordShape,
    Shape,
    ShapeDrawer,
    TextShape,
    UnionShape,
)
from truegrade.datasets.executions import NotRecorded, RecordedCase
from truegrade.extraction.parsing import Fault, evaluate, is_literal, parse_expression, quietly
from truegrade.grading.programs import statements

_LISTS = {"list", "sequence", "iterable", "iterator", "collection", "mutablesequence", "reversible", "container"}
_SETS = {"set", "abstractset", "frozenset"}
_MAPPINGS = {"dict", "mapping", "mutablemapping"}
ANY, INT, STR, NONE = UnionShape(()), NumberShape(int), TextShape(), ExactShape((None,))
BYTES = TextShape(kind=bytes)
_SIMPLE: dict[str, Shape] = {
    **{kind.__name__: NumberShape(kind) for kind in (int, float, complex, bool)}, "str": STR, "bytes": BYTES,
}  # fmt: skip
_SERIES = UnionShape((ListShape(list, INT), STR, ListShape(list, STR), ListShape(list, ListShape(list, INT))))
_OPEN: dict[str, Shape] = {
    "Any": ANY, "object": ANY, "Hashable": ANY, "AnyStr": STR, "LiteralString": STR, "StrPath": STR,
    "PathLike": STR, "SupportsInt": INT, "SupportsIndex": INT, "Number": INT, "Sized": _SERIES,
}  # fmt: skip
"""Annotations that name no type of literals, and are filled with some."""
_TYPE_VARIABLE = re.compile(r"_?[A-Z]{1,2}\d?(_co|_contra)?")
_LIKE_A_SERIES = re.compile(r"Iter|Sized|GetItem|Sequence|Reversible")
_MAX_ALIASES = 5


class Parameter(msgspec.Struct, frozen=True):
    """A parameter of a function, and what may be given for it."""

    name: str
    shape: Shape | None
    """None: nothing is given, its default value stands."""
    optional: bool = False
    keyword: bool = False
    """It is given by its name only."""
    many: bool = False
    """It takes any number of arguments, ``*name``."""


Aliases = Mapping[str, ast.expr]


def parameters_of(
    function: ast.FunctionDef, stub: ast.FunctionDef | None = None, aliases: Aliases | None = None
) -> tuple[Parameter, ...]:
    """The parameters that arguments can be drawn for, in their order.

    Args:
        function: as it stands in the module.
        stub: as it stands in the ``.pyi`` beside it; its annotations count where the function has none.
        aliases: what the module's names for types stand for.

    Raises:
        NotRecorded: the function takes no argument, or needs one that no literal can fill.
    """
    arguments = function.args
    annotations = _annotations(stub) | _annotations(function)
    positional = [*arguments.posonlyargs, *arguments.args]
    missing = len(positional) - len(arguments.defaults)
    defaults = [None] * missing + arguments.defaults
    found = []
    for argument, default in [
        *zip(positional, defaults, strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
        *([(arguments.vararg, None)] if arguments.vararg else []),
    ]:
        many = argument is arguments.vararg
        annotation = annotations.get(argument.arg)
        shape = _shape(function, argument.arg, annotation, default, aliases or {})
        if shape is None and default is None and not many:
            needed = "" if annotation is None else f": {argument.arg}: {ast.unparse(annotation)}"
            raise NotRecorded(f"it needs an argument that no literal can be{needed}")
        keyword = argument in arguments.kwonlyargs
        found.append(Parameter(argument.arg, shape, optional=default is not None, keyword=keyword, many=many))
    if all(parameter.shape is None for parameter in found):
        raise NotRecorded("it takes no argument that a literal could be")
    return tuple(found)


def _annotations(function: ast.FunctionDef | None) -> dict[str, ast.expr]:
    nodes = ast.walk(function.args) if function is not None else ()
    return {node.arg: node.annotation for node in nodes if isinstance(node, ast.arg) and node.annotation}


def _shape(
    function: ast.FunctionDef, name: str, annotation: ast.expr | None, default: ast.expr | None, aliases: Aliases
) -> Shape | None:
    if annotation is not None:
        return shape_of(annotation, aliases)
    if function.args.vararg is not None and function.args.vararg.arg == name:
        return ANY
    if default is not None:
        return _of_default(default) or _of_use(function, name)
    return _of_use(function, name) or ANY


def shape_of(annotation: ast.expr, aliases: Aliases | None = None, depth: int = _MAX_ALIASES) -> Shape | None:
    """The shape that an annotation names; None for one that literals cannot fill."""
    shape: Shape | None = None
    known = aliases or {}
    match annotation:
        case ast.Constant(value=None):
            shape = NONE
        case ast.Constant(value=str(text)):
            quoted = parse_expression(text)
            shape = None if isinstance(quoted, Fault) else shape_of(quoted, known, depth)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            shape = _bare(name)
            if shape is None and name in known and depth:
                shape = shape_of(known[name], known, depth - 1)
        case ast.Call(func=ast.Name(id="NewType") | ast.Attribute(attr="NewType"), args=[_, base]):
            shape = shape_of(base, known, depth)
        case ast.Call(func=ast.Name(id="TypeVar") | ast.Attribute(attr="TypeVar"), args=[_, *choices]):
            shape = _either(choices, known, depth) if choices else ANY
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            shape = _either([left, right], known, depth)
        case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=inside):
            shape = _generic(name, inside.elts if isinstance(inside, ast.Tuple) else [inside], known, depth)
    return shape


def _bare(name: str) -> Shape | None:
    plain = name.lower()  # `List` of typing, `Sequence` of either module
    if name in _SIMPLE:
        return _SIMPLE[name]
    if plain in _LISTS | _SETS:
        return ListShape(list if plain in _LISTS else set, INT)
    if plain in _MAPPINGS:
        return DictShape(STR, INT)
    return _OPEN.get(name) or (ANY if _TYPE_VARIABLE.fullmatch(name) else None)


def _generic(name: str, inside: list[ast.expr], aliases: Aliases, depth: int) -> Shape | None:
    if name == "Literal":
        return ExactShape(tuple(map(evaluate, inside))) if all(map(is_literal, inside)) else None
    if name == "Union":
        return _either(inside, aliases, depth)
    if name == "Optional":
        return _either([*inside, ast.Constant(value=None)], aliases, depth)
    if name == "PathLike":
        return STR
    endless = name.lower() == "tuple" and len(inside) == 2 and isinstance(inside[1], ast.Constant)
    shapes = [shape_of(each, aliases, depth) for each in inside[: 1 if endless else None]]
    known = [shape for shape in shapes if shape is not None]
    if endless and known:
        return ListShape(tuple, known[0])
    return _container(name, known) if len(known) == len(shapes) else _series(name, known)


def _container(name: str, inside: list[Shape]) -> Shape | None:
    plain = name.lower()
    if plain == "tuple":
        return RecordShape(tuple, tuple(inside))
    if plain in _LISTS and len(inside) == 1:
        return ListShape(list, inside[0])
    if plain in _SETS and len(inside) == 1 and _is_hashable(inside[0]):
        return ListShape(set, inside[0])
    if plain in _MAPPINGS and len(inside) == 2 and _is_hashable(inside[0]):
        return DictShape(inside[0], inside[1])
    return _series(name, inside)


def _is_hashable(shape: Shape) -> bool:
    """Whether values drawn from it may be items of a set."""
    return isinstance(shape, RecordShape | ExactShape) or shape in (ANY, INT, STR, NumberShape(bool))


def _series(name: str, inside: list[Shape]) -> Shape | None:
    """A protocol by whose name a list fits it; what it holds is named last."""
    return ListShape(list, inside[-1]) if inside and _LIKE_A_SERIES.search(name) else None


def _either(choices: list[ast.expr], aliases: Aliases, depth: int) -> Shape | None:
    """The members of a union that literals can fill."""
    shapes = [shape_of(choice, aliases, depth) for choice in choices]
    known = tuple(shape for shape in shapes if shape is not None)
    return UnionShape(known) if known else None


def _of_default(default: ast.expr) -> Shape | None:
    """The type of a default value other than None."""
    if not is_literal(default):
        return None
    value = evaluate(default)
    return _bare(type(value).__name__) if value is not None else None


def _of_use(function: ast.FunctionDef, name: str) -> Shape | None:
    """What has every method called on the parameter, else what is done with it: counted, walked, compared."""
    nodes = list(ast.walk(function))
    used = {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name
    }
    fitting = [kind for kind in (str, list, dict, int, set) if used and used <= set(dir(kind))]
    if used:
        shapes = tuple(shape for kind in fitting if (shape := _bare(kind.__name__)) is not None)
        return UnionShape(shapes) if len(shapes) > 1 else next(iter(shapes), None)
    hints = [hint for node in nodes if (hint := _hint(node, name)) is not None]
    return max(hints, key=hints.count) if hints else None


def _hint(node: ast.AST, name: str) -> Shape | None:
    """What one expression says of a parameter."""

    def mentioned(tree: ast.AST) -> bool:
        return isinstance(tree, ast.Name) and tree.id == name

    match node:
        case ast.BinOp(left=left, right=right, op=op) if mentioned(left) or mentioned(right):
            other = right if mentioned(left) else left
            text = isinstance(other, ast.Constant) and isinstance(other.value, str)
            unclear = text or (isinstance(op, ast.Add | ast.Mod) and not is_literal(other))
            return None if unclear else INT
        case ast.Compare(left=left, comparators=[other]) if mentioned(left) and is_literal(other):
            value = evaluate(other)
            return _bare(type(value).__name__) if type(value) in {int, float, str} else None
        case ast.Call(func=ast.Name(id="range" | "abs" | "bin" | "chr"), args=args) if any(map(mentioned, args)):
            return INT
        case ast.Call(
            func=ast.Name(id="len" | "sorted" | "enumerate" | "iter" | "zip" | "list" | "tuple"), args=args
        ):
            return _SERIES if any(map(mentioned, args)) else None
        case ast.For(iter=each) | ast.comprehension(iter=each) | ast.Subscript(value=each) if mentioned(each):
            return _SERIES
    return None


# ----------------------------------------------------------------------------------------------------------------
# Values of a shape, drawn from a seed: small, fit to be read, and made of what the program itself speaks of.
# The same seed draws the same values on every machine. Patterns of the program are read, never matched against
# anything: matching a foreign pattern can take for ever.

_WORDS = "abcdefghijXYZ019"
_MARKS = " _-.,:;/=@&#%+*()[]{}<>'\"\\|!?~^$\n\téßΩ"
_MAX_CONSTANT = 30
"""Characters of a constant that is drawn as a whole."""
_MAX_PATTERN = 2000
_MAX_REPEATS = 3
_MAX_NUMBER = 100_000
_LIKE_A_PATTERN = re.compile(r"\(\?|\\[dswbDSW]|\][+*?{]")
_ANYTHING: tuple[Shape, ...] = (
    INT, STR, ListShape(list, INT), ListShape(list, STR), ListShape(list, ListShape(list, INT)), BYTES,
    DictShape(STR, INT), NONE,
)  # fmt: skip
_ANY_ITEM: tuple[Shape, ...] = (INT, STR)
_ITEMS = (0, 1, 2, 3, 4, 5, 6)


class Vocabulary(msgspec.Struct, frozen=True):
    """The constants of a program."""

    texts: tuple[str, ...] = ()
    numbers: tuple[int | float, ...] = ()
    patterns: tuple[Any, ...] = ()
    """Parsed."""


def vocabulary_of(program: str) -> Vocabulary:
    """The constants that a program holds, but for those of its error messages."""
    tree = ast.Module(statements(program), [])
    silent = {id(part) for node in ast.walk(tree) if isinstance(node, ast.Raise) for part in ast.walk(node)}
    values = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in silent]
    written = [value.decode("latin-1") if isinstance(value, bytes) else value for value in values]
    texts = list(dict.fromkeys(text for text in written if isinstance(text, str) and text))
    counted = (value for value in values if isinstance(value, int | float) and not isinstance(value, bool))
    numbers = list(dict.fromkeys(value for value in counted if abs(value) <= _MAX_NUMBER))
    patterns = [parsed for text in texts if (parsed := _pattern(text)) is not None]
    texts += [chr(value) for value in numbers if type(value) is int and _is_letter_code(value)]
    plain = [text for text in texts if len(text) <= _MAX_CONSTANT and not _LIKE_A_PATTERN.search(text)]
    return Vocabulary(tuple(plain), tuple(numbers), tuple(patterns))


def _is_letter_code(value: int) -> bool:
    """Whether an integer is likely to stand for a character."""
    return 0x80 <= value < sys.maxunicode and not 0xD800 <= value < 0xE000


def _pattern(text: str) -> Any:
    if len(text) > _MAX_PATTERN or not _LIKE_A_PATTERN.search(text):
        return None
    try:
        with quietly():
            return regex_parser.parse(text, re.VERBOSE if "\n" in text else 0)
    except (re.error, OverflowError, RecursionError, ValueError):
        return None


class Drawer(ShapeDrawer):
    """Draws for one program.

    Args:
        random: where chance comes from.
        vocabulary: the program's constants.
    """

    def __init__(self, random: Random, vocabulary: Vocabulary) -> None:
        super().__init__(random)
        self._vocabulary = vocabulary
        self._numbers: list[int | float] = []
        self._pieces: list[str] = []
        self._kinds: list[Shape] = []

    def case(self, parameters: tuple[Parameter, ...]) -> RecordedCase:
        """Arguments of one call; what is optional is left out now and then."""
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        by_name = False
        self._numbers, self._pieces, self._kinds = [], [], []  # what an argument is, a later one may be too
        for parameter in parameters:
            if parameter.many and not by_name and parameter.shape is not None:
                args += [self.value(parameter.shape) for _ in range(self._random.randrange(4))]
            elif parameter.many or parameter.shape is None or (parameter.optional and self._random.random() < 0.4):
                by_name = by_name or not parameter.keyword
            elif parameter.keyword or by_name:
                kwargs[parameter.name] = self.value(parameter.shape)
            else:
                args.append(self.value(parameter.shape))
        return RecordedCase(tuple(args), kwargs)

    def varied(self, case: RecordedCase, parameters: tuple[Parameter, ...]) -> RecordedCase:
        """A call in which one argument is another: redrawn, or the same with a part cut out, doubled or put in."""
        args, kwargs = list(case.args), dict(case.kwargs)
        place: Any = self._random.choice([*range(len(args)), *kwargs])
        holder: Any = kwargs if isinstance(place, str) else args
        shape = next((each.shape for index, each in enumerate(parameters) if place in (index, each.name)), None)
        if self._random.random() < 0.3 and shape is not None:
            holder[place] = self.value(shape)
        else:
            holder[place] = self._changed(holder[place])
        return RecordedCase(tuple(args), kwargs)

    def _changed(self, value: Any) -> Any:
        if type(value) is int:
            return value + self._random.choice((-2, -1, 1, 2))
        if not isinstance(value, str | list | tuple):
            return value
        begin, end = sorted(self._random.randrange(len(value) + 1) for _ in range(2))
        series: Any = value  # parts of a text, a list or a tuple are joined alike
        part = series[begin:end]
        if isinstance(value, str):
            part = self._random.choice([part, self._piece()])
            if value and self._random.random() < 0.3:  # another character in one's place
                return value[:begin] + self._random.choice(self._piece()) + value[begin + 1 :]
        return self._random.choice([series[:begin] + series[end:], series[:end] + part + series[end:]])

    def value(self, shape: Shape) -> Any:
        """A value of a shape."""
        if shape == ANY:
            again = self._kinds and self._random.random() < 0.5
            self._kinds.append(self._random.choice(self._kinds if again else _ANYTHING))
            shape = self._kinds[-1]
        return super().value(shape)

    def _items(self, shape: ListShape, items: Shape | None) -> list[Any]:
        made = super()._items(shape, items)
        if shape.kind is set and not made and items is not None:  # an empty one would be no literal
            return [self.value(self._item(items))]
        return made

    def _item(self, shape: Shape) -> Shape:
        """Items of a container are all of one kind."""
        return self._random.choice(_ANY_ITEM) if shape == ANY else shape

    def _count(self, shape: ListShape | DictShape) -> int:
        return self._random.choice(_ITEMS) if isinstance(shape, ListShape) else self._random.randrange(5)

    def _number(self, shape: NumberShape) -> Any:
        if shape.kind is int:
            return int(self._any_number())
        if shape.kind is float:
            fresh = self._random.random() >= 0.5
            return self._random.randint(-40, 80) / 4 if fresh else float(self._any_number())
        if shape.kind is complex:
            return complex(self._any_number(), self._any_number())
        return self._random.random() < 0.5

    def _text(self, shape: TextShape) -> Any:
        text = self._any_text()
        return text if shape.kind is str else text.encode()

    def _any_number(self) -> int | float:
        if self._numbers and self._random.random() < 0.25:
            return self._random.choice(self._numbers)
        self._numbers.append(self._fresh_number())
        return self._numbers[-1]

    def _fresh_number(self) -> int | float:
        if self._vocabulary.numbers and self._random.random() < 0.3:
            return self._random.choice(self._vocabulary.numbers) + self._random.choice((-1, 0, 0, 1))
        return self._random.randint(*self._random.choice(((0, 5), (-5, 12), (-20, 100))))

    def _any_text(self) -> str:
        if self._vocabulary.patterns and self._random.random() < 0.5:
            made = self._matching(self._random.choice(self._vocabulary.patterns), 0)
            return made if self._random.random() < 0.7 else self._piece() + made + self._piece()
        return "".join(self._piece() for _ in range(self._random.choice((0, 1, 1, 2, 3, 4, 5))))

    def _piece(self) -> str:
        """A part that this call has had already, or a new one."""
        if self._pieces and self._random.random() < 0.25:
            return self._random.choice(self._pieces)
        self._pieces.append(self._fresh_piece())
        return self._pieces[-1]

    def _fresh_piece(self) -> str:
        """A constant of the program or one of its characters, a word, a mark."""
        kind = self._random.random()
        if kind < 0.45 and self._vocabulary.texts:
            text = self._random.choice(self._vocabulary.texts)
            return text if self._random.random() < 0.6 else self._random.choice(text)
        if kind < 0.8:
            return "".join(self._random.choice(_WORDS) for _ in range(self._random.randint(1, 3)))
        return self._random.choice(_MARKS)

    def _matching(self, pattern: Any, depth: int) -> str:
        """A text much like those that a parsed pattern matches; conditions on what stands around are ignored."""
        return "".join(self._token(code, argument, depth) for code, argument in pattern)

    def _token(self, code: Any, argument: Any, depth: int) -> str:
        if code is regex.LITERAL:
            return chr(argument)
        if code is regex.IN:
            return self._one_of(argument)
        if code is regex.BRANCH:
            return self._matching(self._random.choice(argument[1]), depth)
        if code is regex.SUBPATTERN:
            return self._matching(argument[3], depth)
        if code in (regex.MAX_REPEAT, regex.MIN_REPEAT, regex.POSSESSIVE_REPEAT):
            least, most, inner = argument
            least = min(least, _MAX_CONSTANT)
            times = self._random.randint(least, max(least, min(most, least + _MAX_REPEATS - 1)))
            return "".join(
                self._matching(inner, depth + 1) for _ in range(times if depth < _MAX_REPEATS else least)
            )
        return self._random.choice(_WORDS) if code in (regex.ANY, regex.NOT_LITERAL) else ""

    def _one_of(self, choices: Any) -> str:
        if choices[0][0] is regex.NEGATE:
            return self._random.choice(_WORDS)
        code, argument = self._random.choice(choices)
        if code is regex.RANGE:
            return chr(self._random.randint(*argument))
        if code is regex.CATEGORY:
            return self._random.choice(
                {regex.CATEGORY_DIGIT: "0123456789", regex.CATEGORY_SPACE: " "}.get(argument, _WORDS)
            )
        return chr(argument)
