"""Whether a program's text reads what its tests are made of: frames, code objects, `gc`, modules of tests.

A program that shares a process with its tests can take expected values from there. So one that passes there and
reads such things is marked (`truegrade.grading.marks.READS_TESTS`). The text alone is looked at, nothing is run.
Access by names that are not in the text (``getattr(x, name)``, ``exec(text)``, ``__import__(name)``) counts as
well. What is not found is a program that is obfuscated further, by pickles for instance.
"""

from __future__ import annotations

import ast
import re

from truegrade.extraction.parsing import parse_module

_WORDS = re.compile(
    r"_getframe|_current_(?:frames|exceptions)|currentframe|get(?:frameinfo|outerframes|innerframes|closurevars)"
    r"|getsource(?:lines|file)?|findsource|(?:extract|walk|format|print)_stack|walk_tb|settrace|setprofile"
    r"|addaudithook|meta_path|path_hooks|f_(?:back|builtins|code|globals|locals|trace)|tb_frame"
    r"|(?:gi|cr|ag)_(?:frame|code)|co_(?:code|consts|names|varnames|freevars|cellvars|filename|positions)|CodeType"
    r"|__(?:code|closure|globals|builtins|self|subclasses|getattribute|main)__|cell_contents"
    r"|get_(?:objects|referrers|referents)|builtins|_?ctypes|_pytest|/proc/"
)
"""Names for which a program that does not look at its tests has hardly a use, not even in a text."""
_MODULES = re.compile(
    r"__main__|_ctypes|_pytest|bdb|builtins|cffi|code|codeop|ctypes|dis|doctest|gc|linecache|marshal|mock|opcode"
    r"|pdb|pytest|trace|tracemalloc|unittest"
)
_INSPECT = re.compile(r"is[a-z]+|signature|Signature|Parameter|BoundArguments|getfullargspec|getdoc|cleandoc")
"""What of `inspect` shows no source, frame or member."""
_RUNS = frozenset({"exec", "eval", "compile"})
_IMPORTS = frozenset({"__import__", "import_module"})
_GETTERS = frozenset({"getattr", "attrgetter", "methodcaller"})
_NAMESPACES = frozenset({"vars", "globals", "locals"})
_WHOLE = frozenset({"sys", "inspect", "importlib"})
"""Modules of which single attributes are looked at, so that they may not be handed on."""
_ALONE = _RUNS | _IMPORTS | _GETTERS | _NAMESPACES | _WHOLE
"""Names that are found wherever their use is not understood."""
_CALLED = frozenset({"modules", "__dict__"})
"""Attributes that are methods where they are called, such as the layers of a network."""


def reads_tests(program: str, reference: str = "") -> bool:
    """Whether a program names what its tests are made of, or reaches for something that it does not name.

    Args:
        program: source; one that is too long or too deep to be looked at counts as well.
        reference: the data set's own program: what that does, the problem asks for.
    """
    found = _read(program)
    return bool(found) and not found <= _read(reference)


def _read(program: str) -> set[str]:
    """What of it a program reads, by name; a call or a star where there is no name."""
    tree = parse_module(program)
    search = _Search()
    try:
        search.visit(tree if isinstance(tree, ast.Module) else ast.Name("sys", ast.Load()))
    except RecursionError:
        search.found.add("sys")
    # A name may be put together of parts, from the front or from the back.
    spelt = "".join(search.texts)
    return search.found.union(_WORDS.findall(spelt), _WORDS.findall(spelt[::-1]))


class _Search(ast.NodeVisitor):
    """Looks through a syntax tree."""

    def __init__(self) -> None:
        self.found: set[str] = set()
        self.texts: list[str] = []

    def visit_Expr(self, node: ast.Expr) -> None:
        """Docstrings are words for people; ``exec(f.__doc__)`` is found as such."""
        if not isinstance(node.value, ast.Constant):
            self.visit(node.value)

    def visit_Compare(self, node: ast.Compare) -> None:
        """All but ``__name__ == "__main__"``."""
        if not (isinstance(node.left, ast.Name) and node.left.id == "__name__"):
            self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        text = node.value.decode("latin-1") if isinstance(node.value, bytes) else node.value
        if isinstance(text, str):
            self.texts.append(text)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._module(alias.name, "import")
            self._if(alias.asname is not None and alias.name in _WHOLE, alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self._module(node.module or "", "import")
        for alias in node.names:
            self._attribute(node.module, alias.name, "import")
            renamed = alias.asname is not None and alias.name in _ALONE
            self._if(renamed or (alias.name == "*" and node.module in _WHOLE), alias.name)

    def visit_Name(self, node: ast.Name) -> None:
        known = node.id in _ALONE or _is(_WORDS, node.id)
        self._if(known and isinstance(node.ctx, ast.Load), node.id)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        base = node.value.id if isinstance(node.value, ast.Name) else None
        self._attribute(base, node.attr, "")
        whole = node.attr in _IMPORTS | _GETTERS or (node.attr == "__dict__" and base != "self")
        self._if(whole, node.attr)
        if base not in _WHOLE:
            self.visit(node.value)

    def visit_MatchClass(self, node: ast.MatchClass) -> None:
        for name in node.kwd_attrs:
            self._attribute(None, name, "")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = getattr(node.func, "id", None) or getattr(node.func, "attr", "")
        if name in _RUNS and isinstance(node.func, ast.Name):
            text = _text(node, 0)
            self.found |= {f"{name}()"} if text is None else _read(text)
        elif name in _IMPORTS:
            self._module(_text(node, 0), name)
        elif name in _GETTERS:
            self._attribute(None, _text(node, 1 if name == "getattr" else 0), name)
        elif isinstance(node.func, ast.Attribute) and name in _CALLED:
            self.visit(node.func.value)
        else:
            self.visit(node.func)
        for each in (*node.args, *node.keywords):
            self.visit(each)

    def _module(self, name: str | None, how: str) -> None:
        top = f"{how}()" if name is None else name.partition(".")[0]
        self._if(name is None or _is(_MODULES, top), top)

    def _attribute(self, base: str | None, name: str | None, how: str) -> None:
        """Of a value, or of a module by its name."""
        hidden = name is None or name == "modules" or _is(_WORDS, name)
        self._if(hidden or (base == "inspect" and not _is(_INSPECT, name)), name or f"{how}()")

    def _if(self, found: bool, name: str) -> None:
        self.found |= {name} if found else set()


def _is(pattern: re.Pattern[str], name: str | None) -> bool:
    return name is not None and pattern.fullmatch(name) is not None


def _text(call: ast.Call, place: int) -> str | None:
    """The constant text that is an argument; None where it is none."""
    given = call.args[place] if place < len(call.args) else None
    return given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else None
