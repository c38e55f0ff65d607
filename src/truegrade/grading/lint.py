"""Static findings about a program: what flake8 and bandit say, without starting either.

Starting flake8 takes a quarter of a second and reads setup.cfg, tox.ini and .flake8 of the working folder. Its
two checkers, pycodestyle and pyflakes, are called directly with flake8's defaults; bandit is called through its
manager with its default profile. No configuration file of a project is read. The text is parsed, never executed.

What is checked was written by the model that is scored, so nothing in it may lower the score's cost: comments that
waive findings (``# noqa``, ``# flake8: noqa``, ``# nosec``) and declared encodings are ignored, and a linter that
fails on a program is `UNSCANNED`, which is never better than findings.
"""

from __future__ import annotations

import ast
import io
import logging
import re
import threading
from typing import Any

import msgspec

from truegrade.errors import UserError
from truegrade.extraction.parsing import quietly

_BOM = "\ufeff"
UNSCANNED = "UNSCANNED"
"""In place of a code or a severity: a linter gave up on the program (size, nesting, tokens that only ``ast``
reads)."""

MAX_CHARS, MAX_LINE = 10_000, 1_000
"""A program that is longer, or has a longer line, is not read: pycodestyle needs 10 s for 20,000 blanks in a line.
QuixBugs' longest program has 3,288 characters."""

_LINE_END = re.compile(r"[\r\n]")
_WAIVER = re.compile(r"# no(?=(?:qa|pep8)\b)", re.IGNORECASE)
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


class Linter:
    """flake8 and bandit, loaded once; one program at a time, whatever the number of threads.

    Raises:
        UserError: they are not installed.
    """

    def __init__(self) -> None:
        try:
            with quietly():  # bandit's plug-in loader warns about itself
                self._style, self._security = _Style(), _Security()
        except ImportError as error:
            raise UserError(
                f"scoring style and security needs flake8 and bandit ({error.name} is not installed);"
                ' install them with: pip install "truegrade[evolve]"'
            ) from None
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
        self._shared = [node for node in ast.walk(ast.parse(_EVERY_OPERATOR)) if isinstance(node, kinds)]

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
