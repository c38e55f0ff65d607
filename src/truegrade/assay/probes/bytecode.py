"""When two programs are surely the same: equal byte code after the compiler's own folding.

Equal byte code proves equivalence, unequal proves nothing (Trivial Compiler Equivalence, Papadakis et al., ICSE
2015: a third to a half of all equivalent mutants are found so, in C).
"""

from __future__ import annotations

import ast
import dis
from types import CodeType
from typing import Any

from truegrade.extraction.parsing import quietly
from truegrade.records import sha256_json


def fingerprint(code: str) -> str | None:
    """A hash of what a program compiles to, without places in the source and docstrings; None if it does not.

    All nodes are given one line, so that the compiler drops what it keeps for debuggers alone (``pass``).
    """
    try:
        with quietly():
            tree = ast.parse(code)
            for node in ast.walk(tree):
                if hasattr(node, "lineno"):
                    node.lineno = node.end_lineno = 1  # type: ignore[attr-defined]  # the branch asks for it
                    node.col_offset = node.end_col_offset = 0  # type: ignore[attr-defined]
            return sha256_json(_shape(compile(tree, "<program>", "exec", dont_inherit=True, optimize=0)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _shape(code: CodeType) -> list[Any]:
    """Everything of a code object that decides what it does."""
    return [
        code.co_name,
        [code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags],
        [code.co_varnames, code.co_freevars, code.co_cellvars],
        code.co_exceptiontable.hex(),
        [
            [step.opname, step.arg if step.argval is None else _key(step.argval)]
            for step in dis.get_instructions(code)
        ],
    ]


def _key(value: Any) -> Any:
    """A constant with its type: 1, 1.0 and True are three constants."""
    if isinstance(value, CodeType):
        return _shape(value)
    if isinstance(value, tuple):
        return ["tuple", [_key(item) for item in value]]
    if isinstance(value, frozenset):
        return ["frozenset", sorted(f"{type(item).__name__} {item!r}" for item in value)]
    return [type(value).__name__, repr(value)]
