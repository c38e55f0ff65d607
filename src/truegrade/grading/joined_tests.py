"""Whether the tests that a harness puts behind a program are still what they are alone.

Where program and tests are one source, the end of the program can take the beginning of the tests: a decorator in
the last line becomes one of ``def check``, ``if 0: \\`` a condition of the first assertion, ``async \\`` makes a
coroutine of it that nothing awaits. A pass then rests on tests that the reply changed.
"""

from __future__ import annotations

import ast

import msgspec

from truegrade.extraction.parsing import Fault, compiles, parse_module, unix_newlines
from truegrade.grading.judgement import Judgement
from truegrade.grading.marks import JOINED_TESTS


def with_joined(judged: Judgement, source: str, tests: str) -> Judgement:
    """The judgement, with the mark `JOINED_TESTS` where it is a pass and the program's end changed its tests.

    Args:
        judged: how the source ended.
        source: program and tests, as the harness runs them.
        tests: those that stand behind the program.
    """
    if not judged.passed or stand_apart(source, tests):
        return judged
    return msgspec.structs.replace(judged, marks=(*judged.marks, JOINED_TESTS))


def stand_apart(source: str, tests: str) -> bool:
    """Whether tests are the same statements behind a program as alone: at the top level, whole, not decorated.

    They are where the text in front of them is a module by itself and its last line has an end: there a parser is
    between two statements, as at the beginning of a file. So tests, which may have megabytes, are parsed only
    where that is not so, and the trees compared.

    Args:
        source: of program and tests; that Python compiles it is taken for granted.
        tests: as they stand in it, white space around them apart; where they do not, nothing joins them.
    """
    before = unix_newlines(source.rpartition(tests.strip())[0] if tests.strip() else "")
    if not before or (before.endswith("\n") and compiles(before)):
        return True
    alone, whole = parse_module(tests), parse_module(source)
    if isinstance(alone, Fault) or isinstance(whole, Fault):
        return False
    try:
        pairs = zip(alone.body[::-1], whole.body[::-1], strict=False)
        return len(alone.body) <= len(whole.body) and all(ast.dump(one) == ast.dump(other) for one, other in pairs)
    except RecursionError:
        return False
