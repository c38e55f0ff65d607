"""Problem packages in Kattis' format: their tests, and submissions whose verdict the authors state.

The format: https://www.kattis.com/problem-package-format/spec/legacy.html (``problem.yaml``, ``data/sample``,
``data/secret``, ``submissions/VERDICT/``).
"""

from __future__ import annotations

import ast
import hashlib
import posixpath
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from bench.snapshots import Snapshot

Verdicts = {
    "accepted": "accepted",
    "wrong_answer": "wrong answer or error",
    "run_time_error": "wrong answer or error",
    "runtime_error": "wrong answer or error",
    "rejected": "wrong answer or error",
    "time_limit_exceeded": "time limit",
    "partially_accepted": "partial",
}
"""Folder of a submission, to what is asked of a grader that is given all tests."""
LABELS = {"accepted": "right", "wrong answer or error": "wrong", "time limit": "wrong", "partial": "wrong"}


@dataclass(frozen=True, kw_only=True)
class Submission:
    """A Python program and what its authors say of it."""

    path: str
    verdict: str
    """Name of its folder below ``submissions``; empty where it lies beside those."""
    code: str

    @property
    def asked(self) -> str:
        """A value of `Verdicts`."""
        return Verdicts[self.verdict]


@dataclass(frozen=True, kw_only=True)
class Package:
    """A problem of a repository."""

    id: str
    """Repository and folder, ``icpc-problems/brickwork``."""
    folder: str
    validation: str
    flags: str
    """Of the default output validator."""
    submissions: tuple[Submission, ...]
    sample: tuple[str, ...]
    secret: tuple[str, ...]
    """Paths of tests without ``.in`` and ``.ans``."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Reason to the number of Python submissions."""


def packages(snapshot: Snapshot, repository: str) -> Iterator[Package]:
    """Every package that has Python submissions."""
    paths = snapshot.paths
    folders = [posixpath.dirname(path) for path in paths if posixpath.basename(path) == "problem.yaml"]
    # A package may hold others, as examples of its tools: a path is that of the innermost.
    own: dict[str, list[str]] = {folder: [] for folder in folders}
    for path in paths:
        folder = posixpath.dirname(path)
        while folder and folder not in own:
            folder = posixpath.dirname(folder)
        if folder in own:
            own[folder].append(path)
    for folder, inside in sorted(own.items()):
        programs = [path for path in inside if path.startswith(f"{folder}/submissions/") and path.endswith(".py")]
        if programs:
            yield _package(snapshot, f"{repository}/{folder}", folder, inside, programs)


def _package(snapshot: Snapshot, identity: str, folder: str, paths: list[str], programs: list[str]) -> Package:
    settings = snapshot.text(f"{folder}/problem.yaml") or ""
    left_out: Counter[str] = Counter()
    submissions = []
    for path in programs:
        where = path.removeprefix(f"{folder}/submissions/").split("/")
        code = snapshot.text(path)
        verdict = where[0] if len(where) > 1 else ""
        if verdict not in Verdicts:
            left_out["authors state no single verdict"] += 1
        elif code is None or len(where) > 2:
            left_out["not a single file"] += 1
        elif not is_python_3(code):
            left_out["Python 2"] += 1
        else:
            submissions.append(Submission(path=path, verdict=verdict, code=code))
    inputs = {path.removesuffix(".in") for path in paths if path.endswith(".in")}
    stems = {path.rpartition(".")[0] for path in paths if path.endswith(".ans")} & inputs
    sample, secret = (
        tuple(sorted(stem for stem in stems if stem.startswith(f"{folder}/data/{kind}/")))
        for kind in ("sample", "secret")
    )
    return Package(
        id=identity,
        folder=folder,
        validation=_setting(settings, "validation") or "default",
        flags=_setting(settings, "validator_flags"),
        submissions=tuple(submissions),
        sample=sample,
        secret=secret,
        left_out=left_out,
    )


def _setting(settings: str, name: str) -> str:
    """A top-level scalar of YAML; empty where it is not set."""
    found = re.search(rf"^{name}:[ \t]*(.*?)[ \t]*(#.*)?$", settings, re.MULTILINE)
    return found[1].strip("'\"") if found else ""


def is_python_3(code: str) -> bool:
    """Whether this interpreter can parse it; what has a print statement, it cannot."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(code)
    except (SyntaxError, ValueError):
        return False
    return "xrange(" not in code and "raw_input(" not in code


def row_of(package: Package, snapshot: Snapshot, *, samples_only: bool) -> dict[str, Any] | None:
    """The problem as a row for `truegrade.benchmarks.own_rows`; None where a test is absent from the snapshot."""
    tests = []
    for stem in package.sample + (() if samples_only else package.secret):
        given, wanted = snapshot.text(f"{stem}.in"), snapshot.text(f"{stem}.ans")
        if given is None or wanted is None:
            return None
        tests.append({"input": given, "output": wanted})
    right = [each.code for each in package.submissions if each.asked == "accepted"]
    return {
        "id": package.id,
        "prompt": _statement(package, snapshot),
        "tests": tests,
        **({"reference": right[0]} if right else {}),
        "tags": {"source": package.id.partition("/")[0]},
    }


def _statement(package: Package, snapshot: Snapshot) -> str:
    """The problem in words, in TeX; English where there is a choice."""
    for name in ("problem.en.tex", "problem.tex", "problem.sv.tex"):
        text = snapshot.text(f"{package.folder}/problem_statement/{name}")
        if text and text.strip():
            return text
    return f"Solve the problem {package.id}."


def unreadable(package: Package) -> str:
    """Why this package's submissions cannot be graded by comparing texts; empty where they can."""
    words = package.validation.split()
    if "interactive" in words:
        return "interactive"
    if "custom" in words:
        return "custom output validator"
    return "" if package.secret else "no secret tests"


def without_copies(found: list[tuple[Package, Snapshot]]) -> tuple[list[tuple[Package, Snapshot]], int]:
    """Packages whose submissions were not seen before for the same tests, and how many were."""
    seen: set[str] = set()
    kept, copies = [], 0
    for package, snapshot in found:
        tests = hashlib.sha256()
        for stem in package.sample + package.secret:
            tests.update(snapshot.read(f"{stem}.in") or b"")
            tests.update(b"\0")
        fresh = []
        for each in package.submissions:
            key = hashlib.sha256(tests.digest() + each.verdict.encode() + each.code.encode()).hexdigest()
            if key not in seen:
                fresh.append(each)
            seen.add(key)
        copies += len(package.submissions) - len(fresh)
        if fresh:
            kept.append((replace(package, submissions=tuple(fresh)), snapshot))
    return kept, copies


# ------------------------------------------------------------------------------------ Kattis' comparison


def same_tokens(got: str, wanted: str, flags: str = "") -> bool:
    """Whether two outputs are the same to the default output validator of the legacy format.

    Words are compared, upper and lower case alike unless ``case_sensitive``, with any white space between them
    unless ``space_change_sensitive``; with ``float_tolerance E``, ``float_relative_tolerance E`` or
    ``float_absolute_tolerance E`` a number may be off by so much.
    """
    words = flags.split()
    values = {name: float(value) for name, value in pairwise(words) if "toleranc" in name}
    both = values.get("float_tolerance")
    relative, absolute = (values.get(f"float_{kind}_tolerance", both) for kind in ("relative", "absolute"))
    if "case_sensitive" not in words:
        got, wanted = got.lower(), wanted.lower()
    if "space_change_sensitive" in words:
        return got == wanted
    ours, theirs = got.split(), wanted.split()
    if len(ours) != len(theirs):
        return False
    return all(
        one == other or _near(one, other, relative, absolute) for one, other in zip(ours, theirs, strict=True)
    )


def _near(got: str, wanted: str, relative: float | None, absolute: float | None) -> bool:
    if relative is None and absolute is None:
        return False
    try:
        one, other = float(got), float(wanted)
    except ValueError:
        return False
    off = abs(one - other)
    return (absolute is not None and off <= absolute) or (relative is not None and off <= relative * abs(other))
