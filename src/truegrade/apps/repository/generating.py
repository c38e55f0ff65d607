"""Calls that stand in no file: near recorded ones, within what these have in common."""

from __future__ import annotations

import ast
import doctest
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

from truegrade.builders.shapes import DictShape, ListShape, NumberShape, Shape, ShapeDrawer, TextShape, shape_of
from truegrade.datasets.executions import RecordedCase
from truegrade.datasets.literal_text import literal_text
from truegrade.extraction.parsing import evaluate, is_literal, quietly

_TRIES = 12
"""Calls tried for one that is wanted."""
_RECOMBINED, _REDRAWN = 0.4, 0.7
"""Shares of changes: an argument of another recorded call; up to here a drawn value, else a changed one."""

_MOST_CHARS = 4000
_MOST_OF_A_TABLE, _MOST_ARGUMENTS = 200, 6

Place = int | str


class NearDrawer(ShapeDrawer):
    """Draws values of shapes that were read from known values."""

    def _count(self, shape: ListShape | DictShape) -> int:
        return self._random.randint(shape.shortest, max(shape.shortest, min(shape.longest, shape.shortest + 6)))

    def _number(self, shape: NumberShape) -> Any:
        if shape.known and self._random.random() < 0.5:  # next to a known one
            value = self._random.choice(shape.known) + self._random.choice((-2, -1, 1, 2))
        else:
            known = [abs(value) for value in shape.known]
            reach = max([*known, 1])
            value = self._random.randint(
                -int(min(reach, 10**9)) if shape.low < 0 else 0, int(min(reach, 10**9)) + 1
            )
        if shape.kind is float:
            return float(value) + self._random.choice((0.0, 0.25, 0.5))
        return int(value)

    def _text(self, shape: TextShape) -> Any:
        if shape.kind is bytes or not shape.alphabet:
            return self._random.choice(shape.known or ("",))
        base = self._random.choice(shape.known or ("",))
        begin, end = sorted(self._random.randrange(len(base) + 1) for _ in range(2))
        letters = "".join(self._random.choice(shape.alphabet) for _ in range(self._random.randrange(1, 4)))
        middle = self._random.choice(("", letters, base[begin:end] * 2, base[begin:end][::-1]))
        return (base[:begin] + middle + base[end:])[: max(shape.longest, 1)]


def generate_cases(recorded: Sequence[RecordedCase], wanted: int, random: Random) -> list[RecordedCase]:
    """Calls near recorded ones, each different from all others and from these; fewer where no more are found."""
    shapes = _shapes(recorded)
    drawer = NearDrawer(random)
    seen = {_key(case) for case in recorded}
    found: list[RecordedCase] = []
    bases = [case for case in recorded if case.args or case.kwargs]
    for _ in range(_TRIES * wanted if bases else 0):
        case = _changed(random.choice(bases), recorded, shapes, drawer, random)
        if case is not None and (key := _key(case)) is not None and key not in seen:
            seen.add(key)
            found.append(case)
            if len(found) == wanted:
                break
    return found


def _key(case: RecordedCase) -> str | None:
    return literal_text((case.args, case.kwargs), _MOST_CHARS)


def _shapes(recorded: Sequence[RecordedCase]) -> Mapping[Place, Shape]:
    """What the values at each place have in common."""
    values: dict[Place, list[Any]] = {}
    for case in recorded:
        for place, value in _places(case):
            values.setdefault(place, []).append(value)
    return {place: shape_of(held) for place, held in values.items()}


def _places(case: RecordedCase) -> Iterator[tuple[Place, Any]]:
    yield from enumerate(case.args)
    yield from case.kwargs.items()


def _changed(
    case: RecordedCase, recorded: Sequence[RecordedCase], shapes: Mapping[Place, Shape], drawer: NearDrawer,
    random: Random,
) -> RecordedCase | None:  # fmt: skip
    """A call with one argument changed, now and then two; None where a value would leave what is known."""
    args, kwargs = list(case.args), dict(case.kwargs)
    for _ in range(random.choice((1, 1, 2))):
        place = random.choice([place for place, _ in _places(case)])
        holder: Any = kwargs if isinstance(place, str) else args
        chance = random.random()
        if chance < _RECOMBINED:
            others = [value for other in recorded for at, value in _places(other) if at == place]
            value = random.choice(others)
        elif chance < _REDRAWN:
            value = drawer.value(shapes[place])
        else:
            value = _with_a_part_changed(holder[place], shapes[place], drawer, random)
        if not shapes[place].fits(value):
            return None
        holder[place] = value
    return RecordedCase(tuple(args), kwargs)


def _with_a_part_changed(value: Any, shape: Shape, drawer: NearDrawer, random: Random) -> Any:
    """A list or tuple with an item left out, doubled, moved or redrawn; of anything else one of its shape."""
    if type(value) not in (list, tuple) or not value:
        return drawer.value(shape)
    items = list(value)
    at = random.randrange(len(items))
    kind = random.randrange(4)
    if kind == 0:
        items.pop(at)
    elif kind == 1:
        items.insert(random.randrange(len(items) + 1), items[at])
    elif kind == 2:
        items.insert(random.randrange(len(items)), items.pop(at))
    else:
        items[at] = _with_a_part_changed(items[at], shape_of([*items]), drawer, random)
    return type(value)(items)


# ------------------------------------------- What stands in the files of a tree, as far as it is literal.


class TreeLiterals:
    """All literals of a tree's Python files and of the examples in its texts.

    Args:
        files: contents by path.
    """

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._groups: set[tuple[str, ...]] = set()
        """Texts that stand side by side, as arguments or at the beginning of a list or tuple, in order."""
        self._singles: set[str] = set()
        """Texts of the items of lists and tuples."""
        self._calls: set[tuple[str, str]] = set()
        """Names that are called with one argument, and that."""
        for path, content in files.items():
            if path.endswith((".py", ".md", ".rst", ".txt", ".pyi")):
                self._read(content.decode("utf-8", "replace"), is_python=path.endswith((".py", ".pyi")))

    def hold(self, name: str, case: RecordedCase) -> bool:
        """Whether the arguments of a call of a function stand in a file, as those of a call or in a table."""
        texts = [literal_text(value, _MOST_CHARS) or "" for value in (*case.args, *case.kwargs.values())]
        if len(texts) == 1:
            return texts[0] in self._singles or (name, texts[0]) in self._calls
        return tuple(sorted(texts)) in self._groups

    def _read(self, text: str, *, is_python: bool) -> None:
        if is_python:
            self._take(text)
            if ">>>" not in text:
                return
        for line in _examples(text):
            self._take(line)

    def _take(self, source: str) -> None:
        try:
            with quietly():
                nodes = [*ast.walk(ast.parse(source))]
        except (SyntaxError, ValueError, RecursionError):
            return
        for node in nodes:
            if isinstance(node, ast.Call):
                texts = [_text(one) for one in (*node.args, *(keyword.value for keyword in node.keywords))]
                name = ast.unparse(node.func).rpartition(".")[2]
                self._calls.update((name, text) for text in texts if text is not None and len(texts) == 1)
                self._group(texts)
            elif isinstance(node, ast.Tuple | ast.List):
                texts = [_text(one) for one in node.elts[:_MOST_OF_A_TABLE]]
                self._singles.update(text for text in texts if text is not None)
                for count in range(2, min(len(texts), _MOST_ARGUMENTS) + 1):
                    self._group(texts[:count])

    def _group(self, texts: Sequence[str | None]) -> None:
        if None not in texts:
            self._groups.add(tuple(sorted(text for text in texts if text is not None)))


def _text(node: ast.expr) -> str | None:
    if not is_literal(node):
        return None
    try:
        return literal_text(evaluate(node), _MOST_CHARS)
    except (ValueError, TypeError, RecursionError):
        return None


def _examples(text: str) -> list[str]:
    """The code of the doctest examples in any text."""
    try:
        return [example.source for example in doctest.DocTestParser().get_examples(text)]
    except ValueError:  # an indentation that it takes for an error: line by line then
        lines = [line.strip() for line in text.splitlines()]
        return [line.removeprefix(">>>").strip() for line in lines if line.startswith(">>>")]
