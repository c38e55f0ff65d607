"""How the judge words a failed test: the statement, what was expected, what the program returned.

The modules imported here are imported when something has failed, never before.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` costs a spawned interpreter 8 ms
if TYPE_CHECKING:
    import ast
    from types import FrameType
    from typing import Any

MAX_STATEMENT = 200


def failing_frame(error: BaseException, file_name: str) -> tuple[FrameType, int] | None:
    """The innermost frame of a source in a traceback, and its line; None if it does not occur there."""
    found = None
    at = error.__traceback__
    while at is not None:
        if at.tb_frame.f_code.co_filename == file_name:
            found = at.tb_frame, at.tb_lineno
        at = at.tb_next
    return found


def cannot_run(error: BaseException, tests: str) -> bool:
    """Whether tests fail in this way whatever a program returns: by an import, or a name that they never bind.

    A name that they bind somewhere depends on the program: a loop over what it returned made no turn. So does all
    that happens in code which they make of a text, since the text may be the program's.
    """
    at = error.__traceback__
    while at is not None:
        if at.tb_frame.f_code.co_filename == "<string>":
            return False
        at = at.tb_next
    if isinstance(error, NameError):
        return error.name is not None and not _binds(tests, error.name)  # UnboundLocalError: None in Python 3.11
    return isinstance(error, ImportError)


def _binds(source: str, name: str) -> bool:
    """Whether any scope of a source gives the name a value."""
    import symtable

    tables = [symtable.symtable(source, "<tests>", "exec")]
    for table in tables:
        tables += table.get_children()
        if name in table.get_identifiers():
            symbol = table.lookup(name)
            if symbol.is_assigned() or symbol.is_imported() or symbol.is_parameter():
                return True
    return False


def statement_at(source: str, line: int) -> tuple[str, ast.stmt | None]:
    """The text of the smallest statement that covers a line, and its tree."""
    import ast

    best: ast.stmt | None = None
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
            best = node if best is None or node.lineno >= best.lineno else best
    # As the parser counts lines; `ast.get_source_segment` would look at every letter, for 30 ms.
    lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    found = lines[line - 1 : line] if best is None else lines[best.lineno - 1 : best.end_lineno]
    if best is not None:
        found[-1] = found[-1].encode()[: best.end_col_offset].decode()
        found[0] = found[0].encode()[best.col_offset :].decode()
    return " ".join(" ".join(found).split())[:MAX_STATEMENT], best


def expected_value(statement: ast.stmt | None, frame: FrameType) -> str:
    """What an ``assert a == b`` expected, where one side is spelled with names; else nothing.

    Only names, constants, subscripts and displays are evaluated: no call, so nothing runs again.
    """
    import ast

    if not (isinstance(statement, ast.Assert) and isinstance(statement.test, ast.Compare)):
        return ""
    compare = statement.test
    if len(compare.ops) != 1 or not isinstance(compare.ops[0], ast.Eq):
        return ""
    plain = (ast.Name, ast.Constant, ast.Subscript, ast.Tuple, ast.List, ast.expr_context)
    for side in (compare.comparators[0], compare.left):
        nodes = list(ast.walk(side))
        if all(isinstance(node, plain) for node in nodes) and any(isinstance(node, ast.Name) for node in nodes):
            code = compile(ast.Expression(side), "<expected>", "eval", dont_inherit=True)
            try:
                return short(eval(code, frame.f_globals, frame.f_locals))
            except Exception:  # the name was bound to something else since
                return ""
    return ""


def short(value: Any) -> str:
    """A value as a person can read it on one line."""
    import reprlib

    shortener = reprlib.Repr()
    shortener.maxlist = shortener.maxtuple = shortener.maxdict = shortener.maxset = 10
    shortener.maxstring = shortener.maxother = shortener.maxlong = 120
    try:
        return shortener.repr(value)
    except ValueError:  # an integer of more digits than Python prints
        return f"<{type(value).__name__} too long to print>"
