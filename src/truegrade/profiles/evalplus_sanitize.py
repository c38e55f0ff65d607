"""EvalPlus' sanitizer: imports and the definitions that the entry point reaches, out of a reply.

evalplus/evalplus@26d6d00 ``evalplus/sanitize.py``. It walks a tree-sitter tree; this walks Python's own, in which
the same statements and names are found wherever the chosen span parses, which all spans of two lines or more do.
One difference remains: a reply of one line that does not parse is left as it is, where tree-sitter may mend it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from truegrade.extraction.parsing import SourceText, quietly
from truegrade.profiles.evalplus_span import longest_span
from truegrade.records import Answer, Reason

_DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def sanitize(reply: str, entry_point: str) -> str:
    """What EvalPlus grades of a reply: the kept statements, or the whole span where none is kept.

    Raises:
        ExtractionLimitError: as `longest_span`.
    """
    span = longest_span(reply)
    return kept_statements(span, entry_point).strip() or span


def sanitized_answer(kept: str) -> Answer:
    """What a sanitizer kept of a reply, as an answer; none where it kept nothing."""
    if not kept.strip():
        return Answer(value=None, found="the sanitizer left nothing", reason=Reason.NO_CODE)
    return Answer(value=kept, found="sanitized")


def kept_statements(span: str, entry_point: str, *, returning: bool = True) -> str:
    """All imports, then the definitions that are reached, each as it is written; empty if it does not parse.

    Args:
        span: Python.
        entry_point: where the reaching begins.
        returning: whether functions without a ``return`` are left out.
    """
    try:
        with quietly():
            tree = ast.parse(span)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return ""
    imports = [node for node in tree.body if _is_import(node)]
    definitions = _definitions(tree, returning)
    reached = _reached(entry_point, definitions)
    kept = [*imports, *(node for name, node in definitions.items() if name in reached)]
    source = SourceText(span)
    return "\n".join(
        source.text_with_comments(node) if isinstance(node, _DEFINITIONS) else source.text_of(node)
        for node in kept
    )


def _is_import(node: ast.stmt) -> bool:
    """An import, but not ``from __future__``: tree-sitter has a node type of its own for that."""
    return isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and node.module != "__future__")


def _definitions(tree: ast.Module, returning: bool) -> dict[str, ast.stmt]:
    """Top-level classes, functions and assignments by name; of two with one name the first."""
    found: dict[str, ast.stmt] = {}
    for node in tree.body:
        name = _name(node, returning)
        if name is not None:
            found.setdefault(name, node)
    return found


def _name(node: ast.stmt, returning: bool) -> str | None:
    """The name a statement is kept under; None if it is not kept at all.

    Decorated definitions are not, nor, where that is asked, functions without a ``return`` in them.
    """
    match node:
        case ast.ClassDef(decorator_list=[]):
            return node.name
        case ast.FunctionDef(decorator_list=[]) | ast.AsyncFunctionDef(decorator_list=[]):
            returns = not returning or any(isinstance(part, ast.Return) for part in ast.walk(node))
            return node.name if returns else None
        case ast.Assign(targets=[target]):
            return _bare_name(node, target) or _bare_name(node, node.value)
        case ast.Assign(targets=[target, *_]):
            return _bare_name(node, target)
        case ast.AnnAssign(target=target, value=value):
            return _bare_name(node, target) or (_bare_name(node, value) if value is not None else None)
        case _:
            return None


def _bare_name(statement: ast.stmt, side: ast.expr) -> str | None:
    """The name that one side of an assignment is, unless it is in brackets.

    EvalPlus takes the first name that is a child of the assignment: of ``table["k"] = total`` that is ``total``.
    """
    if not isinstance(side, ast.Name):
        return None
    starts = (side.lineno, side.col_offset) == (statement.lineno, statement.col_offset)
    ends = (side.end_lineno, side.end_col_offset) == (statement.end_lineno, statement.end_col_offset)
    return side.id if starts or ends else None


def _reached(entry_point: str, definitions: dict[str, ast.stmt]) -> set[str]:
    """The names that the entry point leads to, by whatever use of a name."""
    reached, waiting = {entry_point}, [entry_point]
    while waiting:
        name = waiting.pop()
        for used in _identifiers(definitions[name]) if name in definitions else ():
            if used not in reached:
                reached.add(used)
                waiting.append(used)
    return reached


def _identifiers(tree: ast.AST) -> Iterator[str]:
    """Every identifier in the text of a node: variables, attributes, parameters, keywords, imported names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            continue
        for _, value in ast.iter_fields(node):
            if isinstance(value, str):
                yield from value.split(".")
            elif isinstance(value, list):  # `global a, b`; keywords of a class pattern
                yield from (item for item in value if isinstance(item, str))
