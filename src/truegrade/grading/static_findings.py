"""What a program's text shows: findings of flake8 and bandit, and whether it reads what tests are made of."""

from __future__ import annotations

import ast
import io
import logging
import re
import threading
from typing import Any

import msgspec

from truegrade.extraction.parsing import parse_module, quietly
from truegrade.files import syntax
from truegrade.files.extras import require
from truegrade.patterns import pattern

# ----------------------- Static findings about a program: what flake8 and bandit say, without starting either.
# Starting flake8 takes a quarter of a second and reads setup.cfg, tox.ini and .flake8 of the working folder. Its
# two checkers, pycodestyle and pyflakes, are called directly with flake8's defaults; bandit is called through its
# manager with its default profile. No configuration file of a project is read. The text is parsed, never
# executed.
#
# What is checked was written by the model that is scored, so nothing in it may lower the score's cost: comments
# that waive findings (``noqa``, ``flake8: noqa``, ``nosec``) and declared encodings are ignored, and a
# linter that fails on a program is `UNSCANNED`, which is never better than findings.

_BOM = "\ufeff"
UNSCANNED = "UNSCANNED"
"""In place of a code or a severity: a linter gave up on the program (size, nesting, tokens that only ``ast``
reads)."""

MAX_CHARS, MAX_LINE = 10_000, 1_000
"""A program that is longer, or has a longer line, is not read: pycodestyle needs 10 s for 20,000 blanks in a line.
QuixBugs' longest program has 3,288 characters."""

_LINE_END = pattern(r"[\r\n]")
_WAIVER = pattern(r"# no(?=(?:qa|pep8)\b)", re.IGNORECASE)
"""How pycodestyle itself, unlike flake8, is told to look away."""
_NOT_TOKENIZED = frozenset({"E901", "E902"})
"""Behind these pycodestyle reads no further."""

_EVERY_OPERATOR = """
a + b - c * d / e // f % g @ h ** i << j >> k | l & m ^ n
a and b or not ~-+c
a == b != c < d <= e > f >= g is h is not i in j not in k
a = b
del a
"""


class Findings(msgspec.Struct, frozen=True):
    """What the linters found."""

    style: tuple[str, ...]
    """flake8's codes, one a line of its report, in the order of the lines."""
    security: tuple[str, ...]
    """Severities of bandit's issues: ``LOW``, ``MEDIUM``, ``HIGH``."""

    @property
    def complete(self) -> bool:
        """Whether both linters read all of the program."""
        return UNSCANNED not in (*self.style, *self.security)


def require_linters() -> None:
    """Refuse, before any other work, where a linter is not installed; raises UserError."""
    require("evolve", "scoring style and security", "flake8", "pycodestyle", "pyflakes", "bandit")


class Linter:
    """flake8 and bandit, loaded once; one program at a time, whatever the number of threads.

    Raises:
        UserError: they are not installed.
    """

    def __init__(self) -> None:
        require_linters()
        with quietly():  # bandit's plug-in loader warns about itself
            self._style, self._security = _Style(), _Security()
        self._lock = threading.Lock()

    def check(self, tree: ast.Module, code: str) -> Findings:
        """Findings about a program.

        Args:
            tree: what ``ast.parse`` makes of the code.
            code: as it is to be checked, to its last newline.
        """
        if len(code) > MAX_CHARS or max(map(len, _LINE_END.split(code))) > MAX_LINE:
            return Findings((UNSCANNED,), (UNSCANNED,))
        with self._lock, quietly():
            return Findings(self._style.codes(tree, code), self._security.severities(code))


class _Style:
    """pycodestyle and pyflakes with flake8's defaults (PyCQA/flake8@7.5.0 src/flake8/defaults.py)."""

    def __init__(self) -> None:
        import pycodestyle
        import pyflakes.checker
        from flake8 import defaults
        from flake8.plugins.pyflakes import FLAKE8_PYFLAKES_CODES

        self._pyflakes_codes: dict[str, str] = FLAKE8_PYFLAKES_CODES
        self._flakes, self._pycodestyle = pyflakes.checker.Checker, pycodestyle.Checker
        # Everything that a user's own pycodestyle file could set is said here.
        self._options = pycodestyle.StyleGuide(
            ignore=defaults.IGNORE,
            select=(),
            max_line_length=defaults.MAX_LINE_LENGTH,
            max_doc_length=None,
            indent_size=defaults.INDENT_SIZE,
            hang_closing=False,
            verbose=0,
            quiet=1,
        ).options

    def codes(self, tree: ast.Module, code: str) -> tuple[str, ...]:
        """Codes of what ``flake8 --disable-noqa`` would report."""
        text = _WAIVER.sub("# --", code.removeprefix(_BOM))
        lines = io.StringIO(text, newline=None).readlines()
        try:
            found = sorted({*self._from_pycodestyle(lines), *self._from_pyflakes(tree)})
        except Exception:  # whatever a linter fails with, the program made it
            return (UNSCANNED,)
        codes = tuple([name for _, _, name, _ in found])
        return codes if _NOT_TOKENIZED.isdisjoint(codes) else (UNSCANNED,)

    def _from_pycodestyle(self, lines: list[str]) -> list[tuple[int, int, str, str]]:
        report = _Report(self._options)
        self._pycodestyle(None, lines=lines, options=self._options, report=report).check_all()
        return report.found

    def _from_pyflakes(self, tree: ast.Module) -> list[tuple[int, int, str, str]]:
        messages = self._flakes(tree, filename="candidate.py").messages
        return [
            (message.lineno, message.col, self._pyflakes_codes.get(type(message).__name__, "F999"), str(message))
            for message in messages
        ]


class _Report:
    """Collects what pycodestyle finds; the part of its BaseReport that a Checker calls."""

    def __init__(self, options: Any) -> None:
        self._ignored = options.ignore_code
        self.counters: dict[str, int] = {}
        self.found: list[tuple[int, int, str, str]] = []

    def init_file(self, *_: object) -> None:
        """Nothing is kept of a file."""

    def increment_logical_line(self) -> None:
        """Lines are not counted."""

    def get_file_results(self) -> int:
        """How many there are."""
        return len(self.found)

    def error(self, line_number: int, offset: int, text: str, check: object) -> str | None:
        """Keep one, unless its code is ignored."""
        code = text[:4]
        if self._ignored(code):
            return None
        self.found.append((line_number, offset, code, text))
        return code


class _Security:
    """bandit with its default profile, as ``--ignore-nosec`` has it."""

    def __init__(self) -> None:
        from bandit.core.config import BanditConfig
        from bandit.core.manager import BanditManager

        logging.getLogger("bandit").addHandler(logging.NullHandler())  # what it fails on is a finding, no message
        self._manager, self._config = BanditManager, BanditConfig()
        kinds = ast.expr_context | ast.boolop | ast.operator | ast.unaryop | ast.cmpop
        self._shared = [node for node in ast.walk(syntax.parse(_EVERY_OPERATOR)) if isinstance(node, kinds)]

    def severities(self, code: str) -> tuple[str, ...]:
        """Severity of each issue, of whatever confidence."""
        # With `debug` a check that raises ends the scan; without it, the check finds nothing.
        manager = self._manager(self._config, "file", debug=True, quiet=True, ignore_nosec=True)
        name = "/candidate.py"  # bandit looks for a package around a relative name
        # An encoding that the first two lines declare would let bandit read another program than Python runs.
        source = f"\n\n{code.removeprefix(_BOM)}".encode("utf-8", "replace")
        # The manager's own loop over files reads them from disk; this is its body.
        try:
            manager._parse_file(name, io.BytesIO(source), [name])
        finally:
            self._unmark_shared_nodes()
        if manager.skipped:
            return (UNSCANNED,)
        return tuple(sorted(issue.severity for issue in manager.results))

    def _unmark_shared_nodes(self) -> None:
        """Every tree of a process shares its operators and contexts, and bandit hangs each tree on them.

        Left there, a copy of any later tree copies the whole program that was scanned last, however deep.
        """
        for node in self._shared:
            vars(node).clear()


# ---- Whether a program's text reads what its tests are made of: frames, code objects, `gc`, modules of tests.
# A program that shares a process with its tests can take expected values from there. So one that passes there and
# reads such things is marked (`truegrade.grading.marks.READS_TESTS`). The text alone is looked at, nothing is
# run. Access by names that are not in the text (``getattr(x, name)``, ``exec(text)``, ``__import__(name)``)
# counts as well, and so does another function or class in the place of an attribute of what a program imports: its
# tests may use that. What is not found is a program that is obfuscated further, by pickles for instance.

_WORDS = pattern(
    r"_getframe|_current_(?:frames|exceptions)|currentframe|get(?:frameinfo|outerframes|innerframes|closurevars)"
    r"|getsource(?:lines|file)?|findsource|(?:extract|walk|format|print)_stack|walk_tb|settrace|setprofile"
    r"|addaudithook|meta_path|path_hooks|f_(?:back|builtins|code|globals|locals|trace)|tb_frame"
    r"|(?:gi|cr|ag)_(?:frame|code)|co_(?:code|consts|names|varnames|freevars|cellvars|filename|positions)|CodeType"
    r"|__(?:code|closure|globals|builtins|self|subclasses|getattribute|main)__|cell_contents"
    r"|get_(?:objects|referrers|referents)|builtins|_?ctypes|_pytest|pluggy|/proc/"
)
"""Names for which a program that does not look at its tests has hardly a use, not even in a text."""
_MODULES = pattern(
    r"__main__|_ctypes|_pytest|bdb|builtins|cffi|code|codeop|ctypes|dis|doctest|gc|iniconfig|linecache|marshal"
    r"|mock|opcode|pdb|pluggy|pytest|trace|tracemalloc|unittest"
)
_INSPECT = pattern(r"is[a-z]+|signature|Signature|Parameter|BoundArguments|getfullargspec|getdoc|cleandoc")
"""What of `inspect` shows no source, frame or member."""
_RUNS = frozenset({"exec", "eval", "compile"})
_IMPORTS = frozenset({"__import__", "import_module"})
_GETTERS = frozenset({"getattr", "attrgetter", "methodcaller"})
_NAMESPACES = frozenset({"vars", "globals", "locals"})
_WHOLE = frozenset({"sys", "inspect", "importlib"})
"""Modules of which single attributes are looked at, so that they may not be handed on."""
_ALONE = _RUNS | _IMPORTS | _GETTERS | _NAMESPACES | _WHOLE
"""Names that are found wherever their use is not understood."""
_STREAMS = frozenset({"stdin", "stdout", "stderr"})
"""What programs replace of `sys` to read their own output."""
_CALLED = frozenset({"modules", "__dict__"})
"""Attributes that are methods where they are called, such as the layers of a network."""


_RENAMING = frozenset({"setattr", "__setattr__", "runpy", "importlib"})
"""By which a program could have its main blocks run where it is imported."""


def reads_tests(program: str, reference: str = "", *, imported: bool = False) -> bool:
    """Whether a program names what its tests are made of, or reaches for something that it does not name.

    Args:
        program: source; one that is too long or too deep to be looked at counts as well.
        reference: the data set's own program: what that does, the problem asks for.
        imported: whether main blocks are not run, and so not looked at.
    """
    found = _read(program, imported=imported)
    return bool(found) and not found <= _read(reference, imported=imported)


def _read(program: str, *, imported: bool = False) -> set[str]:
    """What of it a program reads, by name; a call or a star where there is no name."""
    tree = parse_module(program)
    search = _Search()
    try:
        if isinstance(tree, ast.Module):
            search.visit(_part_imported(tree) if imported else tree)
        else:
            search.found.add("sys")
    except RecursionError:
        search.found.add("sys")
    # A name may be put together of parts, from the front or from the back.
    spelt = "".join(search.texts)
    return search.found.union(_WORDS.findall(spelt), _WORDS.findall(spelt[::-1]))


def _part_imported(tree: ast.Module) -> ast.Module:
    """A program without its main blocks; all of it where the rest might set ``__name__``, so that they run."""
    body: list[ast.stmt] = []
    for node in tree.body:
        body += node.orelse if isinstance(node, ast.If) and _is_name_main(node.test) else [node]
    part = ast.Module(body, [])
    return tree if any(map(_may_rename, ast.walk(part))) else part


def _is_name_main(test: ast.expr) -> bool:
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq)):
        return False
    due = ast.Name("__name__", ast.Load()), ast.Constant("__main__")
    return {*map(ast.dump, (test.left, *test.comparators))} == {*map(ast.dump, due)}


def _may_rename(node: ast.AST) -> bool:
    """Whether it binds ``__name__``, of whatever, or has a name of `_RENAMING`."""
    read = isinstance(node, ast.Constant) or isinstance(getattr(node, "ctx", None), ast.Load)
    held = [each for _, value in ast.iter_fields(node) for each in (value if isinstance(value, list) else [value])]
    names = [each for each in held if isinstance(each, str)]
    return ("__name__" in names and not read) or any(name.partition(".")[0] in _RENAMING for name in names)


class _Search(ast.NodeVisitor):
    """Looks through a syntax tree."""

    def __init__(self) -> None:
        self.found: set[str] = set()
        self.texts: list[str] = []
        self._imported: set[str] = set()
        """Names of what is imported, or is an attribute of that."""

    def visit_Expr(self, node: ast.Expr) -> None:
        """Docstrings are words for people; ``exec(f.__doc__)`` is found as such."""
        if not isinstance(node.value, ast.Constant):
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Also where it replaces an attribute of what is imported, but by a constant."""
        for target in (part for each in node.targets for part in ast.walk(each)):
            if isinstance(target, ast.Name) and self._is_imported(node.value):
                self._imported.add(target.id)
            if isinstance(target, ast.Attribute) and isinstance(target.ctx, ast.Store):
                own = isinstance(node.value, ast.Constant) or target.attr in _STREAMS
                self._if(self._is_imported(target.value) and not own, ast.unparse(target))
        self.generic_visit(node)

    def _is_imported(self, node: ast.expr) -> bool:
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id in self._imported

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
            self._imported.add(alias.asname or alias.name.partition(".")[0])
            self._module(alias.name, "import")
            self._if(alias.asname is not None and alias.name in _WHOLE, alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self._module(node.module or "", "import")
        for alias in node.names:
            self._imported.add(alias.asname or alias.name)
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
        elif name in ("setattr", "__setattr__") and node.args and self._is_imported(node.args[0]):
            self.found.add(ast.unparse(node))
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
