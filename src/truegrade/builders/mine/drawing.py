"""Values of a shape, drawn from a seed: small, fit to be read, and made of what the program itself speaks of.

The same seed draws the same values on every machine. Patterns of the program are read, never matched against
anything: matching a foreign pattern can take for ever.
"""

from __future__ import annotations

import ast
import re
import re._constants as regex  # type: ignore[import-not-found]
import re._parser as regex_parser  # type: ignore[import-not-found]
import sys
from random import Random
from typing import Any

import msgspec

from truegrade.builders.mine.shapes import ANY, BYTES, INT, NONE, STR, Parameter
from truegrade.builders.shapes import DictShape, ListShape, NumberShape, Shape, ShapeDrawer, TextShape
from truegrade.datasets.executions import RecordedCase
from truegrade.extraction.parsing import quietly

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
    tree = ast.parse(program)
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
