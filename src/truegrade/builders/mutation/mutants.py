"""All mutants of a program, each one change under a stable id; what may be asked of the engine."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Literal

import msgspec

from truegrade.builders.mutation.operators import (
    OPERATORS,
    WIDER_OPERATORS,
    MutationSite,
    changed,
    keyword,
    logical,
    number,
    sites,
)
from truegrade.builders.mutation.preserving import REWRITINGS
from truegrade.datasets.executions import ExecutionRow, Texts
from truegrade.errors import UnknownName, UserError
from truegrade.extraction.parsing import MAX_SOURCE_CHARS, Fault, Parser, parse_expression, quietly
from truegrade.files import syntax
from truegrade.records import sha256_json

# ------------------------------------------------------------------- What may be asked of the mutation engine.

PUBLISHED = "published"
"""Instead of names of operators: the table of the published tool."""


class MutationOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How mutants are made, kept and chosen; equal options and rows give equal bytes.

    Raises:
        UnknownName: no operator, selection or rewriting of that name.
        UserError: a number is out of range, or no operator is named.
    """

    operators: tuple[str, ...] = tuple(OPERATORS)
    """Names of `OPERATORS` and `WIDER_OPERATORS`, tried in this order; ``("published",)`` is the published tool's
    own table."""
    select: Literal["coverage", "first", "all"] = "coverage"
    """The mutant that runs most like the original; the first valid one, as the published tool; every valid one."""
    differ: Literal["any", "all"] = "any"
    """On which cases the outputs must differ."""
    preserve: tuple[str, ...] = ()
    """Names of `REWRITINGS`: semantics-preserving variants to add."""
    raw: bool = False
    """Keep the original's layout and change only the mutated span, which gives the mutant away."""
    seed: int = 0
    """Seed of the choice between equally good mutants, and of the changes that are tried."""
    most: int | None = None
    """Changes of a program that are tried, drawn by the seed where there are more, those in functions before those
    of tables beside them; None for all."""
    cpu_s: float = 2.0
    """CPU seconds of one mutant on all cases; the backstop behind ``max_steps``."""
    max_steps: int = 100_000
    """Executed lines of one case after which a program counts as endless: the same on every machine."""
    max_chars: int = 1000
    """Longest ``repr`` of an output."""
    preamble: str = ""
    """Source that is run before each program and shown to nobody: imports that its authors took for granted. Those
    that LeetCode makes unseen are made anyway, where a program reads their names."""

    def __post_init__(self) -> None:
        known = [*OPERATORS, *WIDER_OPERATORS, PUBLISHED]
        _check_names("operator", self.operators, known)
        _check_names("rewriting", self.preserve, REWRITINGS)
        _check_names("selection", [self.select], ["coverage", "first", "all"])
        _check_names("rule of difference", [self.differ], ["any", "all"])
        if not self.operators:
            raise UserError(f"no mutation operator is named; choose from {', '.join(known)}")
        if PUBLISHED in self.operators and len(self.operators) > 1:
            raise UserError(f"`operators`: {PUBLISHED!r} is a table of its own and must stand alone")
        if self.cpu_s <= 0 or self.max_steps < 1 or self.max_chars < 1:
            raise UserError("cpu_s, max_steps and max_chars must be positive")


def _check_names(kind: str, names: Iterable[str], known: Iterable[str]) -> None:
    for name in names:
        if name not in (listed := tuple(known)):
            raise UnknownName(kind, name, listed)


# ---------- Program text as the engine handles it: normalised, and cut at the byte offsets that `ast` reports.


Span = tuple[int, int, int, int]
"""Line, column, end line, end column; lines from 1, columns in bytes from 0."""

_MOST_ROUNDS = 3


class NotAProgram(Exception):
    """Text that does not parse, or that `ast.unparse` cannot write stably; the message says which."""


def parse(code: str) -> ast.Module:
    """The tree of a program.

    Raises:
        NotAProgram: it does not compile.
    """
    tree = Parser(MAX_SOURCE_CHARS + 1).module(code)
    if isinstance(tree, Fault):
        raise NotAProgram(f"the program does not compile (its line {tree.line})")
    return tree


def normalised(code: str) -> str:
    """The program as `ast.unparse` writes it: without comments, in one layout. Normalising again changes nothing.

    Raises:
        NotAProgram: it does not compile, or has no stable form.
    """
    text = ast.unparse(parse(code))
    for _ in range(_MOST_ROUNDS):
        again = ast.unparse(parse(text))
        if again == text:
            return text
        text = again
    raise NotAProgram("the program has no stable form under ast.unparse")


def is_normalised(code: str) -> bool:
    """Whether `normalised` would leave the text as it is."""
    try:
        with quietly():
            return ast.unparse(syntax.parse(code)) == code
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


class Text:
    """A source in UTF-8, addressed by `ast`'s lines and columns."""

    def __init__(self, source: str) -> None:
        self.data = source.encode()
        self._starts = [0]
        for line in self.data.split(b"\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)

    def offset(self, line: int, column: int) -> int:
        """Byte offset of a place."""
        return self._starts[line - 1] + column

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of a byte offset."""
        line = self.data.count(b"\n", 0, offset) + 1
        return line, offset - self._starts[line - 1]

    def bounds(self, node: ast.AST) -> tuple[int, int]:
        """Byte offsets at which a node begins and ends."""
        begin, end = begin_of(node), end_of(node)
        return self.offset(*begin), self.offset(*end)

    def span(self, begin: int, end: int) -> Span:
        """Lines and columns of a range of bytes."""
        return (*self.place(begin), *self.place(end))


def begin_of(node: ast.AST) -> tuple[int, int]:
    """Line and column at which a node begins."""
    return node.lineno, node.col_offset  # type: ignore[attr-defined]  # every node that is mutated has them


def end_of(node: ast.AST) -> tuple[int, int]:
    """Line and column after a node's last byte."""
    return node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]


# ------------------------------------------------------------------------ Whether a row can be mutated at all.


class Flaw(msgspec.Struct, frozen=True):
    """What is wrong with a row, and in which field."""

    field: str
    problem: str


def flaw_of(row: ExecutionRow) -> Flaw | None:
    """The first thing that is wrong with a row; None if its program can be run on its cases."""
    try:
        tree = parse(row.code)
    except NotAProgram as error:
        return Flaw("code", f"{error}; correct it or leave the row out")
    if not _defines(tree, row.function_name):
        return Flaw("function_name", f"the program does not define {row.function_name!r}")
    inputs, outputs = texts(row.input), texts(row.output)
    if not inputs:
        return Flaw("input", "there is no case; give at least one call")
    if len(inputs) != len(outputs):
        return Flaw("output", f"there are {len(inputs)} inputs but {len(outputs)} outputs")
    for call in calls_of(row):
        if isinstance(parse_expression(call), Fault):
            return Flaw("input", f"{call[:80]!r} is no call")
    return None


def texts(value: Texts) -> tuple[str, ...]:
    """One text per case."""
    return (value,) if isinstance(value, str) else value


def like(model: Texts, values: tuple[str, ...]) -> Texts:
    """Values in the form of another field: one text where that is one text."""
    return values[0] if isinstance(model, str) else values


def calls_of(row: ExecutionRow) -> tuple[str, ...]:
    """The call of each case, also where only its arguments are stored."""
    opening = f"{row.function_name}("
    return tuple(
        text if text.startswith(opening) and text.endswith(")") else f"{opening}{text})"
        for text in texts(row.input)
    )


def _defines(tree: ast.Module, name: str) -> bool:
    """Whether a name is bound somewhere in the program: by ``def``, ``class``, assignment or import."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=bound) | ast.AsyncFunctionDef(name=bound) | ast.ClassDef(name=bound):
                found = bound
            case ast.Name(id=bound, ctx=ast.Store()):
                found = bound
            case ast.alias():
                found = node.asname or node.name
            case _:
                continue
        if found in {name, "*"}:
            return True
    return False


# ------------------------------------------ The mutants of the published tool, with its order and its defects.
# Rules: akshsgaur/code-reasoning-repro@6561a25 ``src/datasets/leetcode/simple_mutator.py``. Five categories in a
# fixed order, at most 100 mutants in each, numbered as they are met; a number grows by one where its place is
# even and shrinks where it is odd; a bool counts as a number too, so that ``True`` becomes 2. The copy for
# DSL-List turns ``*`` into ``/``, not into ``//`` as here. Left out, unlike there: annotations and f-strings.


CATEGORIES = ("arithmetic", "relational", "logical", "keyword", "number")
MOST_OF_A_CATEGORY = 100

_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
}
_RELATIONAL: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}


def published_changes(tree: ast.Module) -> Iterator[tuple[str, MutationSite, ast.AST]]:
    """Category, site and new node of each mutant, in the order in which the tool tries them."""
    for category in CATEGORIES:
        for site, new in islice(_numbered(category, tree), MOST_OF_A_CATEGORY):
            yield category, site, new


def _numbered(category: str, tree: ast.Module) -> Iterator[tuple[MutationSite, ast.AST]]:
    place = 0
    for site in sites(tree):
        for new in _changes(category, site, place):
            place += 1
            yield site, new


def _changes(category: str, site: MutationSite, place: int) -> Iterator[ast.AST]:
    """What the tool makes of a node that is the ``place``-th of its category."""
    match category, site.node:
        case "arithmetic", ast.BinOp(op=op) if type(op) in _ARITHMETIC:
            yield changed(site.node, op=_ARITHMETIC[type(op)]())
        case "relational", ast.Compare(ops=ops):
            for index, compared in enumerate(ops):
                if type(compared) in _RELATIONAL:
                    new = _RELATIONAL[type(compared)]()
                    yield changed(site.node, ops=[*ops[:index], new, *ops[index + 1 :]])
        case "logical", ast.BoolOp():
            yield from logical(site)
        case "keyword", _:
            yield from keyword(site)
        case "number", ast.Constant(value=int() | float() as value):
            yield number(value + 1 if place % 2 == 0 else value - 1)


_ID_CHARS = 12
ProgramChange = tuple[str, MutationSite, ast.AST]
"""Operator, site, and the node that takes its place."""


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A program that differs from the original in one span."""

    id: str
    """Hash of operator, span and replacement: the same source gives the same id."""
    operator: str
    code: str
    span: Span
    """Of the text that was replaced, in the original."""
    new_end: tuple[int, int]
    """Line and column after the replacement, in the mutant."""
    before: str
    after: str


def mutants_of(code: str, options: MutationOptions) -> list[Mutant]:
    """Every mutant of a program by the operators asked for, without doubles, in the order of the operators.

    Args:
        code: the program: its normal form (`sources.normalised`), or any text if ``options.raw``.

    Raises:
        NotAProgram: the code does not compile.
    """
    tree, text = parse(code), Text(code)
    make = _patched if options.raw else rewritten
    found: dict[str, Mutant] = {}
    for operator, site, new in _drawn(list(changes_of(tree, options)), tree, code, options):
        mutant = make(tree, text, operator, site, new)
        if mutant is not None and mutant.code != code:
            found.setdefault(mutant.code, mutant)
    return list(found.values())


def _drawn(
    changes: list[ProgramChange], tree: ast.Module, code: str, options: MutationOptions
) -> Iterable[ProgramChange]:
    if options.most is None or len(changes) <= options.most:
        return changes
    functions = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for line in range(node.lineno, (node.end_lineno or 0) + 1)
    }
    random = Random(sha256_json([options.seed, code]))
    mixed = random.sample(range(len(changes)), len(changes))
    mixed.sort(key=lambda number: getattr(changes[number][1].node, "lineno", 0) not in functions)
    return (changes[number] for number in sorted(mixed[: options.most]))


def changes_of(tree: ast.Module, options: MutationOptions) -> Iterable[ProgramChange]:
    """Every change to a program by the operators asked for, in their order; what it makes is not yet written."""
    if options.operators == (PUBLISHED,):
        return published_changes(tree)
    places, known = list(sites(tree)), OPERATORS | WIDER_OPERATORS
    return ((name, site, new) for name in options.operators for site in places for new in known[name](site))


def rewritten(tree: ast.Module, text: Text, operator: str, site: MutationSite, new: ast.AST) -> Mutant | None:
    """The mutant of a normal form, in normal form; None if it has none."""
    with site.holding(new):
        code = ast.unparse(tree)
    if not is_normalised(code):
        return None
    data = code.encode()
    # A change may shed or gain the brackets around it, `(not a) + b` -> `a + b`: then they are part of the span.
    for begin, end in _with_brackets(text, *text.bounds(site.node)):
        tail = len(text.data) - end
        if data[:begin] == text.data[:begin] and data[len(data) - tail :] == text.data[end:]:
            return _mutant(operator, text, begin, end, data[begin : len(data) - tail])
    return None


def _with_brackets(text: Text, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """A range, and the ranges that also take in the brackets directly around it."""
    yield begin, end
    while text.data[begin - 1 : begin] == b"(" and text.data[end : end + 1] == b")":
        begin, end = begin - 1, end + 1
        yield begin, end


def _patched(tree: ast.Module, text: Text, operator: str, site: MutationSite, new: ast.AST) -> Mutant | None:
    """The original's text with one span replaced; None if no replacement in place has the meaning wanted."""
    with site.holding(new):
        wanted = ast.dump(tree)
    written = ast.unparse(new)
    begin, end = text.bounds(site.node)
    for after in (written, f"({written})"):
        mutant = _mutant(operator, text, begin, end, after.encode())
        try:
            with quietly():
                meant = ast.dump(syntax.parse(mutant.code)) == wanted
        except SyntaxError:
            continue
        if meant and not _same_program(mutant.code, text.data.decode()):
            return mutant
    return None


def _same_program(one: str, other: str) -> bool:
    try:
        return normalised(one) == normalised(other)
    except NotAProgram:
        return True


def _mutant(operator: str, text: Text, begin: int, end: int, replacement: bytes) -> Mutant:
    span = text.span(begin, end)
    code = (text.data[:begin] + replacement + text.data[end:]).decode()
    after = replacement.decode()
    return Mutant(
        id=sha256_json([operator, span, after])[:_ID_CHARS],
        operator=operator,
        code=code,
        span=span,
        new_end=Text(code).place(begin + len(replacement)),
        before=text.data[begin:end].decode(),
        after=after,
    )
