"""One run of a repository's tests in the jail, and what was recorded of each of its functions."""

from __future__ import annotations

import ast
import base64
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import msgspec

from truegrade.apps.repository.source import RepositoryFile, SourceTree, import_root, suite_files
from truegrade.datasets.executions import RecordedCase
from truegrade.errors import UserError
from truegrade.extraction.parsing import evaluate, is_literal, parse_expression
from truegrade.sandbox import Sandbox
from truegrade.sandbox.outcome import Outcome

MOST_CALLS = 40
"""Different calls kept of a function."""
MOST_CHARS = 800
"""Characters of a call's arguments, and of what it returns."""
_LOOKED_AT = 200
"""Calls of a function by one test whose arguments are looked at."""
TEST_SECONDS = 20
"""Wall seconds of one test."""


class RecordedCall(msgspec.Struct, frozen=True):
    """A call that a test made, directly or by way of other functions."""

    arguments: str
    """A literal: a dictionary of parameters, a tuple of further arguments, a dictionary of further keywords."""
    kind: str
    """``value``, ``raised``, ``items`` of a generator, or empty where it never came back."""
    result: str | None = None
    """The literal that it returned, where it returned one."""


class SeenOfFunction(msgspec.Struct, frozen=True, kw_only=True):
    """What the run saw of one function."""

    path: str
    line: int
    """Its first, a decorator's included."""
    seen: int
    """Calls."""
    tests: tuple[str, ...]
    """Tests that reach it; at most a hundred."""
    crossing: int
    """Calls looked at whose arguments are plain values."""
    changes: bool
    """Whether a call left its arguments other than it found them."""
    calls: tuple[RecordedCall, ...]
    """Different ones with plain arguments."""


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """What one run of the tests showed."""

    tests: int = 0
    """Tests run."""
    failed: Mapping[str, str] = {}
    """Tests, and files that could not be collected, that failed in the jail, each with its last line."""
    cut: bool = False
    """Time was up before all tests had run."""
    why_none: str = ""
    """Why there is nothing; empty where the run ended."""
    functions: tuple[SeenOfFunction, ...] = ()

    def by_place(self) -> dict[tuple[str, int], SeenOfFunction]:
        """Functions by path and first line."""
        return {(one.path, one.line): one for one in self.functions}


class _Told(msgspec.Struct, frozen=True, kw_only=True):
    """What the recorder writes."""

    exit_code: int
    tests: int
    failed: dict[str, str]
    cut: bool
    functions: tuple[SeenOfFunction, ...]


def record_tests(
    tree: SourceTree, modules: Sequence[RepositoryFile], sandbox: Sandbox, seconds: float
) -> Recording:
    """Run the tests of a tree once, under the recorder; its doctests where it has no others.

    Args:
        tree: laid out in the jail's scratch folder.
        modules: files whose functions are recorded.
        sandbox: whose limits allow pytest and what the tests import.
        seconds: wall time of the whole run.

    Raises:
        SandboxError: the machine failed.
    """
    tests = asked_of_pytest(tree, modules)
    if not tests:
        return Recording(why_none="there are no tests: no test_*.py, *_test.py or doctest")
    given = {
        "files": {path: base64.b85encode(content).decode() for path, content in laid_out(tree).items()},
        "import_root": import_root(tree),
        "modules": [module.path for module in modules],
        "tests": tests,
        "options": {
            "calls": MOST_CALLS,
            "chars": MOST_CHARS,
            "looked_at": _LOOKED_AT,
            "seconds": seconds,
            "test_seconds": TEST_SECONDS,
        },
    }
    outcome = sandbox.script(
        recorder_source(), json.dumps(given), wall_s=seconds + 3 * TEST_SECONDS, cpu_s=seconds
    )
    return _read(outcome)


def asked_of_pytest(tree: SourceTree, modules: Sequence[RepositoryFile]) -> list[str]:
    """The files of a tree's tests; where there are none, what has pytest run its doctests; empty without any."""
    documented = [module.path for module in modules if ">>>" in module.text]
    doctests = ["--doctest-modules", "--doctest-continue-on-failure", *documented] if documented else []
    return suite_files(tree) or doctests


def recorder_source() -> str:
    """The text that runs in the jail."""
    return files("truegrade.apps.repository").joinpath("recorder.py").read_text(encoding="utf-8")


def laid_out(tree: SourceTree) -> dict[str, bytes]:
    """The files of a tree, and the metadata by which `importlib.metadata` finds its version."""
    said = f"Metadata-Version: 2.1\nName: {tree.name}\nVersion: {tree.version or '0'}\n"
    place = f"{import_root(tree)}{tree.name.replace('-', '_')}-{tree.version or '0'}.dist-info/METADATA"
    return {place: said.encode(), **tree.files}


def _read(outcome: Outcome) -> Recording:
    try:
        told = msgspec.json.decode(outcome.stdout, type=_Told)
    except (msgspec.DecodeError, UnicodeEncodeError):
        last = outcome.stderr.strip().rpartition("\n")[2]
        return Recording(why_none=f"the test run did not end: {outcome.status}: {outcome.detail or last}"[:300])
    if not told.tests:
        first = next(
            (f"{name}: {why}" for name, why in told.failed.items()), f"pytest's exit code {told.exit_code}"
        )
        return Recording(failed=told.failed, why_none=f"no test could be run: {first}")
    return Recording(tests=told.tests, failed=told.failed, cut=told.cut, functions=told.functions)


# --------------------------------------------------------------------------- Recorded arguments as calls again.


class CallForm(msgspec.Struct, frozen=True):
    """How a function's arguments are written."""

    first: tuple[str, ...]
    """Parameters given by their place: those without a default, and positional-only ones."""
    places: tuple[str, ...]
    """All that can be given by their place."""
    defaults: Mapping[str, Any]
    """Parameters whose default is a literal, and that."""


def form_of(function: ast.FunctionDef) -> CallForm:
    """How calls of a function are written."""
    arguments = function.args
    places = [*arguments.posonlyargs, *arguments.args]
    missing = len(places) - len(arguments.defaults)
    pairs = [
        *zip(places[missing:], arguments.defaults, strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    first = max(missing, len(arguments.posonlyargs))
    return CallForm(
        first=tuple(one.arg for one in places[:first]),
        places=tuple(one.arg for one in places),
        defaults={one.arg: evaluate(value) for one, value in pairs if value is not None and is_literal(value)},
    )


def case_of(call: RecordedCall, form: CallForm) -> RecordedCase:
    """The arguments of a recorded call as somebody would write them: defaults left out, options by name.

    Raises:
        UserError: the text is no recorded call.
    """
    try:
        named, rest, more = evaluate(parse_expression(call.arguments))  # type: ignore[arg-type]  # or a fault
        first = form.places if rest else form.first
        args = tuple(named[name] for name in first) + tuple(rest)
        kwargs = {
            name: value
            for name, value in named.items()
            if name not in first and not _is_default(name, value, form.defaults)
        }
    except (TypeError, ValueError, KeyError, AttributeError):
        raise UserError(f"a recorded call is not readable: {call.arguments[:80]}") from None
    return RecordedCase(args, {**kwargs, **more})


def _is_default(name: str, value: Any, defaults: Mapping[str, Any]) -> bool:
    return name in defaults and repr(defaults[name]) == repr(value)
