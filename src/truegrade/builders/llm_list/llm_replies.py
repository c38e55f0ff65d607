"""What a model proposes, read and checked: headers, programs, inputs. Nothing is run here."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from truegrade.datasets.docstrings import without_docstrings
from truegrade.datasets.free_names import free_names
from truegrade.datasets.recording import NotRecorded, RecordedCase
from truegrade.extraction.fences import fenced_blocks
from truegrade.extraction.literals import Literal, parse_literal
from truegrade.extraction.programs import extract_program
from truegrade.extraction.thinking import Weight, final_channel

MAX_INPUT_CHARS = 300
"""Longer argument lists are not asked about."""

_HEADER = re.compile(r"def\s+([A-Za-z_]\w*)\s*\(([^)]*)\)[^:]*:?\s*")


class Idea(msgspec.Struct, frozen=True):
    """A function that a model thought of."""

    header: str
    """``def name(a, b):``."""
    description: str

    @property
    def name(self) -> str:
        """Name of the function."""
        return self.header[4 : self.header.index("(")]


def read_ideas(reply: str) -> list[Idea]:
    """The headers of a reply that can be used; what cannot be read is left out."""
    for text in _candidates(reply, "["):
        try:
            items = json.loads(text)
        except (ValueError, RecursionError):
            continue
        ideas = [_idea(item) for item in items if isinstance(item, dict)] if isinstance(items, list) else []
        if any(ideas):
            return [idea for idea in ideas if idea is not None]
    return []


def read_program(reply: str, idea: Idea) -> str:
    """The function of a reply, laid out anew without docstrings and comments; ends with a newline.

    Raises:
        NotRecorded: there is none, or it holds more than functions, imports and constants.
    """
    code = extract_program(reply, idea.name).value
    if code is None:
        raise NotRecorded("the reply holds no such function")
    try:
        tree = without_docstrings(ast.parse(code))
        missing = free_names(code)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise NotRecorded(f"the reply holds no Python: {error}") from None
    if missing:
        raise NotRecorded(f"the program reads {', '.join(missing)}, which it does not define")
    allowed = ast.FunctionDef | ast.Import | ast.ImportFrom | ast.Assign
    if not all(isinstance(node, allowed) for node in tree.body):
        raise NotRecorded("the program holds more than functions, imports and constants")
    return ast.unparse(tree) + "\n"


def read_inputs(reply: str, program: str, function: str, wanted: int) -> list[RecordedCase]:
    """The first ``wanted`` argument lists of a reply that fit the function.

    Raises:
        NotRecorded: there are fewer.
    """
    arity = _arities(program, function)
    for text in _candidates(reply, "[("):
        read = parse_literal(text)
        if not isinstance(read, Literal) or not isinstance(read.value, list | tuple):
            continue
        calls = {repr(call): call for call in read.value if isinstance(call, list | tuple) and len(call) in arity}
        short = [RecordedCase(args=tuple(call)) for text, call in calls.items() if len(text) <= MAX_INPUT_CHARS]
        if len(short) >= wanted:
            return short[:wanted]
    raise NotRecorded(f"the reply holds no list of {wanted} different argument lists")


def _candidates(reply: str, opening: str) -> Iterator[str]:
    """Where a bracketed value may stand: fenced blocks, the whole reply, from the first bracket to the last."""
    text = final_channel(
        reply, lambda passage: Weight.ANSWER if any(bracket in passage for bracket in opening) else Weight.NOTHING
    ).text
    yield from (fence.code for fence in reversed(fenced_blocks(text)))
    yield text
    starts = [index for bracket in opening if (index := text.find(bracket)) >= 0]
    if starts:
        yield text[min(starts) : max(text.rfind("]"), text.rfind(")")) + 1]


def _idea(item: dict[str, Any]) -> Idea | None:
    header, description = item.get("header"), item.get("description")
    if not isinstance(header, str) or not isinstance(description, str):
        return None
    found = _HEADER.fullmatch(header.strip())
    if found is None or not found[2].strip():
        return None
    return Idea(f"def {found[1]}({found[2].strip()}):", " ".join(description.split()))


def _arities(program: str, function: str) -> range:
    """How many arguments the function takes."""
    for node in ast.parse(program).body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            arguments = node.args
            if arguments.vararg or arguments.kwonlyargs or not (arguments.args or arguments.posonlyargs):
                break
            most = len(arguments.args) + len(arguments.posonlyargs)
            return range(max(1, most - len(arguments.defaults)), most + 1)
    raise NotRecorded("the function takes other than plain parameters")
