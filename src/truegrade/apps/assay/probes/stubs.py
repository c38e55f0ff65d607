"""Programs that solve nothing: a constant, the argument itself, the examples by heart, or no program at all.

Whether one is wrong is for the oracle to say: a constant may be right where a problem asks for a constant. Those
that do not end, or end their process, are wrong by construction.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from textwrap import indent
from types import MappingProxyType
from typing import Any

from truegrade.apps.assay.records import (
    BY_CONSTRUCTION,
    DOES_NOT_END,
    Danger,
    Order,
    Probe,
    ProbeClass,
    Witness,
    make_probe,
)
from truegrade.builders.mutation.mutants import NotAProgram, parse
from truegrade.extraction.definitions import method_owner
from truegrade.files import syntax
from truegrade.grading.problem_tests import ProblemTests, StreamTests
from truegrade.kinds import kind_of
from truegrade.records import Problem

_OF_TYPE: dict[type[Any], tuple[Any, ...]] = {
    bool: (True, False),
    int: (0, 1),
    float: (0.0, 1.0),
    str: ("",),
    bytes: (b"",),
    list: ([],),
    tuple: ((),),
    dict: ({},),
    set: (set(),),
}
"""Constants of each type that a stub returns."""
_ANNOTATED = {kind.__name__: kind for kind in _OF_TYPE} | {"List": list, "Tuple": tuple, "Dict": dict, "Set": set}
_HEAD = "def {}(*arguments, **named):\n"
_MOST_ECHOES = 3
_MOST_ROWS = 20
"""Examples in a table; statements show fewer."""
_MOST_CHARS = 10_000
_MOST_SHOWN = 200
"""Characters of an example's output that stands in the text of everything."""


Example = tuple[tuple[Any, ...], Any]
"""Arguments and value; of a program on stdin the texts of input and output."""


def stubs(problem_id: str, entry_point: str, reference: str, examples: Sequence[Example] = ()) -> list[Probe]:
    """The stubs of a problem.

    Args:
        reference: for the number of parameters and, without examples, the type returned; may be empty.
        examples: those that the statement shows.

    Returns:
        Probes of class ``stub``, each another program, their label undecided.
    """
    made = _functions(entry_point, reference, examples) if entry_point else _scripts(examples)
    codes: dict[str, str] = {}
    for origin, code in made:
        codes.setdefault(code, origin)
    return [make_probe(problem_id, "stub", origin, code) for code, origin in codes.items()]


def _functions(entry_point: str, reference: str, examples: Sequence[Example]) -> Iterator[tuple[str, str]]:
    head = _HEAD.format(entry_point)
    outputs = [output for _, output in examples if is_plain(output)]
    yield "none", f"{head}    return None\n"
    yield DOCUMENTED, _DOCUMENTED.format(entry_point)
    for value in _constants(outputs, _returned_type(reference, entry_point)):
        yield "constant", f"{head}    return {value!r}\n"
    for place in range(min(_MOST_ECHOES, _arity(reference, entry_point, examples))):
        name = "echo" if place == 0 else f"echo-{place + 1}"
        yield name, f"{head}    return arguments[{place}]\n"
    if outputs:
        table = _table([(repr(arguments), output) for arguments, output in examples])
        usual = _usual(outputs)
        yield "table", f"TABLE = {table}\n\n{head}    return TABLE.get(repr(arguments), {usual!r})\n"
    shown = [text for output in outputs if len(text := str(output)) <= _MOST_SHOWN]
    words = " ".join(map(str, ["", *shown, True, False, None, ""]))
    yield (
        "everything",
        f"{head}    return {words!r} + ' '.join(f'{{n}} {{n}}.0 {{n}}.5' for n in range(-100, 1000))\n",
    )
    yield "empty", ""
    yield "not-implemented", not_implemented(entry_point)


def _scripts(examples: Sequence[Example]) -> Iterator[tuple[str, str]]:
    """Programs that read standard input."""
    outputs = [str(output) for _, output in examples]
    yield "empty", ""
    yield "silent", "import sys\nsys.stdin.read()\n"
    yield DOCUMENTED, _DOCUMENTED_SCRIPT
    for value in dict.fromkeys([*([_usual(outputs)] if outputs else []), "0", "1", "Yes", "No", "-1"]):
        yield "constant", f"import sys\nsys.stdin.read()\nprint({value.rstrip(chr(10))!r})\n"
    yield "echo", "import sys\nsys.stdout.write(sys.stdin.read())\n"
    if outputs:
        table = _table([(str(given).strip(), str(output)) for (given,), output in examples])
        found = f"TABLE.get(sys.stdin.read().strip(), {_usual(outputs)!r})"
        yield "table", f"import sys\nTABLE = {table}\nsys.stdout.write({found})\n"
    yield "not-implemented", not_implemented("")


DOCUMENTED, EXPLAINED = "documented", "explained"
STYLES: Mapping[str, str] = MappingProxyType(
    {DOCUMENTED: "its docstring, types and comments", EXPLAINED: "thoughts, steps and length"}
)
"""Origin of a stub with all that may be paid for style in a program, or in a text, to what that is."""
_DOCUMENTED = '''\
def {}(*arguments: object, **named: object) -> object:
    """Return what the problem asks for.

    Args:
        arguments: the values of one case, in their order.
        named: the same by name.

    Returns:
        The value of this case.
    """
    # No case needs a branch of its own.
    result: object = None
    return result  # for every case
'''
_DOCUMENTED_SCRIPT = '''\
"""Read the whole input, and write what the problem asks for."""

import sys

# No case needs a branch of its own.
text: str = sys.stdin.read()  # for every case
'''
_PROSE = (
    "The statement is read once more, and each of its cases is looked at in turn. First come the smallest inputs,"
    " then those at the edges, and last the largest ones, whose time matters. None of them needs a branch of its"
    " own, so one expression is enough for all, and it takes as long as one look at the input. "
)


def explained(stub: Probe) -> Probe:
    """A stub as a reply with all that may be paid for style in a text: thoughts, steps, some 1,900 characters."""
    thoughts, steps = _PROSE * 3, "".join(f"{number}. {_PROSE}\n" for number in (1, 2, 3))
    program = f"```python\n{stub.code}```\n\nIt covers every case."
    text = f"<think>\n{thoughts}\n</think>\n\n## Solution\n\n{steps}\n{program}"
    return make_probe(
        stub.problem_id, "stub", EXPLAINED, text, form="reply", label=stub.label, witness=stub.witness
    )


_LOOP = "while True:\n    pass\n"
_SLEEP = "import time\n\nwhile True:\n    time.sleep(60)\n"
_READ = "import os\n\nos.read(os.pipe()[0], 1)\n"
_WAIT = "import threading\n\nthreading.Event().wait()\n"
_IN_CALL: dict[str, tuple[str, Danger, str]] = {
    "endless": (_LOOP, "h1", DOES_NOT_END),
    "sleeps": (_SLEEP, "h1", DOES_NOT_END),
    "waits-for-input": (_READ, "h1", DOES_NOT_END),
    "endless-iterator": (
        "import time\n\nwhile True:\n    yield None\n    time.sleep(1)\n", "h1", "returns an iterator without end"
    ),
    "exits-with-1": ("import os\n\nos._exit(1)\n", "h1", "ends its process with exit status 1"),
    "killed": ("import os\n\nos.kill(os.getpid(), 9)\n", "h1", "ends its process by a signal"),
    "memory-error": ("raise MemoryError\n", "h0", "raises MemoryError"),
    "endless-recursion": ("return ENTRY(*arguments, **named)\n", "h0", "raises RecursionError"),
}  # fmt: skip
"""Name to what the function does, its danger, and the evidence that it computes nothing."""
_AT_IMPORT: dict[str, tuple[str, Danger, str]] = {
    "endless-at-import": (_LOOP, "h1", DOES_NOT_END),
    "waits-at-import": (_WAIT, "h1", DOES_NOT_END),
}
_STDIN = ("endless", "sleeps", "waits-for-input", "exits-with-1", "killed", "memory-error")
"""Of `_IN_CALL`, those that are programs as they are."""


def unanswering(problem_id: str, entry_point: str, place: int, problems: int) -> list[Probe]:
    """Stubs that give no answer: they do not end, busy or idle, or end their process, in a call or before one.

    A grader spends its whole time limit on one that does not end, so that over the problems each is sent once: the
    problem's place, 0-based, says which are its turn.
    """
    head = _HEAD.format(entry_point)
    made = [(name, f"{head}{indent(body.replace('ENTRY', entry_point), '    ')}", *rest)
            for name, (body, *rest) in _IN_CALL.items()]  # fmt: skip
    made += [(name, f"{body}\n\n{head}    return None\n", *rest) for name, (body, *rest) in _AT_IMPORT.items()]
    if not entry_point:
        made = [(name, *_IN_CALL[name]) for name in _STDIN]
    return [
        make_probe(problem_id, "stub", name, code, label="wrong", danger=danger, witness=_constructed(got))
        for name, code, danger, got in made[place::problems]
    ]


def in_order(problem_id: str, entry_point: str, reference: str) -> list[Probe]:
    """Two conversations with a grader's process, which show whether it judges a program by the one before.

    In the first, a reference goes ahead of each stub; in the second the same stubs go without any, and a reference
    comes last. Stubs define nothing, or something else, or do not compile, so that what the reference left may
    stand in their place; or they begin as the reference does, and are as long.
    """
    made = [
        (
            "none",
            f"{_HEAD.format(entry_point)}    return None\n" if entry_point else "import sys\nsys.stdin.read()\n",
        ),
        ("empty", ""),
        ("comment", "# nothing\n"),
        ("words", "I do not know how to solve this."),
        ("other-name", "def other(*arguments, **named):\n    return None\n"),
        ("broken", f"def {entry_point or 'main'}(:\n"),
        ("raises-at-import", "raise ValueError\n"),
        *(("same-head", code) for code in _same_head(reference, entry_point)),
    ]
    found = list[Probe]()

    def take(kind: ProbeClass, origin: str, code: str, order: Order) -> None:
        right = kind == "ahead"
        found.append(
            make_probe(
                problem_id, kind, origin, code, order, len(found), label="right" if right else "wrong",
                form="reply" if origin == "words" else "program", order=order,
                witness=None if right else _constructed(f"computes nothing: {origin}"),
            )
        )  # fmt: skip

    for origin, code in made:
        take("ahead", "reference", reference, "right-first")
        take("stub", origin, code, "right-first")
    for origin, code in made:
        take("stub", origin, code, "wrong-first")
    take("ahead", "reference", reference, "wrong-first")
    return found


def _same_head(reference: str, entry_point: str) -> Iterator[str]:
    """The reference up to the body of its entry point, which does nothing, with a comment to the same length."""
    try:
        tree = syntax.parse(reference) if entry_point else ast.Module([], [])
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == entry_point:
            first = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
            if not first or first[0].lineno == node.lineno:
                return
            head = "".join(reference.splitlines(keepends=True)[: first[0].lineno - 1])
            code, text = f"{head}{' ' * first[0].col_offset}pass\n# ", reference.rstrip()
            yield f"{code}{'.' * (len(text) - len(code))}{reference[len(text) :]}"


def _constructed(got: str) -> Witness:
    return Witness(call="any call", expected="what the tests expect", got=got, source=BY_CONSTRUCTION)


def not_implemented(entry_point: str) -> str:
    """A program that raises where it is asked; of a program on stdin, whose entry point is empty, at once."""
    head = f"{_HEAD.format(entry_point)}    " if entry_point else ""
    return f"{head}raise NotImplementedError\n"


def as_method(code: str, owner: str, entry_point: str) -> str:
    """A program of a function, with a class of this name that has it as a method; an empty one as it is."""
    return f"{code}\n\nclass {owner}:\n    {entry_point} = staticmethod({entry_point})\n" if code else code


def is_plain(value: object) -> bool:
    """Whether a value can be written as a literal, of moderate length, that is equal to it."""
    text = repr(value)
    try:
        return len(text) <= _MOST_CHARS and bool(syntax.literal_eval(text) == value)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return False


def _constants(outputs: Sequence[Any], annotated: type[Any] | None) -> list[Any]:
    """What the examples return most often, and constants of the types that they return."""
    kinds = list(dict.fromkeys(map(type, outputs))) or ([annotated] if annotated else [])
    usual = [_usual(outputs)] if outputs else []
    found = [*usual, *(value for kind in kinds for value in _OF_TYPE.get(kind, ()))]
    return list({repr(value): value for value in found}.values())


def _usual(outputs: Sequence[Any]) -> Any:
    """The output that stands most often; of several the first."""
    text, _ = Counter(map(repr, outputs)).most_common(1)[0]
    return syntax.literal_eval(text)


def _table(rows: Sequence[tuple[str, Any]]) -> str:
    return repr({given: output for given, output in rows[:_MOST_ROWS] if is_plain(output)})


def _arity(reference: str, entry_point: str, examples: Sequence[Example]) -> int:
    """How many arguments a call has at least."""
    if examples:
        return min(len(arguments) for arguments, _ in examples)
    function = _definition(reference, entry_point)
    return 0 if function is None else len(function.args.args) - len(function.args.defaults)


def _returned_type(reference: str, entry_point: str) -> type[Any] | None:
    """The type that the reference says it returns, where it is one that has a constant here."""
    function = _definition(reference, entry_point)
    match function and function.returns:
        case ast.Name(id=name) | ast.Subscript(value=ast.Name(id=name)):
            return _ANNOTATED.get(name)
    return None


def _definition(reference: str, entry_point: str) -> ast.FunctionDef | None:
    """The function, or the method without its first parameter, that the reference defines."""
    try:
        tree = parse(reference)
    except NotAProgram:
        return None
    owner = method_owner(tree, entry_point)
    for node in (*tree.body, *(owner.body if owner else ())):
        if isinstance(node, ast.FunctionDef) and node.name == entry_point:
            if node not in tree.body:
                del node.args.args[:1]
            return node
    return None


_IS = re.compile(r"\s*(?:#\s*)?(?:={1,3}>?|-{1,2}>|➞|→|returns?|should return|(?:should be )?equal to)\s*")
"""What stands between a call and its value where a statement gives an example in words."""

_MOST_CASES = 3
"""Of a problem that shows no example: so many of its tests, whose values a stub may learn."""


def examples_of(problem: Problem) -> list[Example]:
    """The examples in a problem's statement: its doctests, its shown tests, its public tests.

    A repair shows none; the first of its tests stand for them. Only calls with literals count.
    """
    kind, task = kind_of(problem.task), problem.task
    if kind.buggy(task):
        cases = suite.cases[:_MOST_CASES] if (suite := kind.suite(task)) is not None else ()
        return [(case.arguments, case.expected) for case in cases]
    if (public := kind.public(task)) is not None:
        return list(_public(kind.tests(public)))
    shown, name = kind.shown(task), kind.entry_point(task)
    if not name:
        return []
    calls = [*_in_words(shown.text, name), *(pair for test in shown.tests for pair in _assertion(test))]
    read = (_read(call, value, name) for call, value in calls)
    return [example for example in read if example is not None]


def _in_words(prompt: str, entry_point: str) -> Iterator[tuple[str, str]]:
    """Call and value of each line ``>>> f(1)`` with the value on the next, and of each ``f(1) => 2``."""
    lines = prompt.splitlines()
    for line, following in zip_longest(lines, lines[1:], fillvalue=""):
        begin = line.find(f"{entry_point}(")
        ends = [place + 1 for place, char in enumerate(line) if char == ")" and place > begin >= 0]
        for end in ends:
            call, behind = line[begin:end], line[end:]
            if line[:begin].strip() == ">>>" and not behind.strip():
                yield call, following
            elif found := _IS.match(behind):
                yield call, behind[found.end() :]


def _assertion(test: str) -> Iterator[tuple[str, str]]:
    try:
        body = syntax.parse(test).body
    except (SyntaxError, ValueError):
        return
    match body:
        case [ast.Assert(test=ast.Compare(left=call, ops=[ast.Eq()], comparators=[value]))]:
            yield ast.unparse(call), ast.unparse(value)


def _read(call: str, value: str, entry_point: str) -> Example | None:
    try:
        match syntax.parse(call, mode="eval").body:
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name == entry_point:
                return tuple(syntax.literal_eval(argument) for argument in args), _value(value)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None
    return None


def _value(text: str) -> Any:
    """The literal that a text begins with: up to a comment, a quote of the docstring or the end of its sentence.

    Raises:
        ValueError: it begins with none.
    """
    for end in ("#", '"""', ". ", ";", ", "):
        try:
            return syntax.literal_eval(text.partition(end)[0].strip(" .;"))
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    raise ValueError


def _public(tests: ProblemTests | str) -> Iterator[Example]:
    if not isinstance(tests, StreamTests):
        return
    for given, output in zip(tests.inputs, tests.outputs, strict=True):
        if tests.function is None:
            yield (given,), output
            continue
        try:
            yield tuple(json.loads(line) for line in given.split("\n")), json.loads(output)
        except (ValueError, RecursionError):
            continue
