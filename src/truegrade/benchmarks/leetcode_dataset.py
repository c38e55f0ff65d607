"""LeetCodeDataset: methods of ``class Solution`` for LeetCode's problems, dated, with tests that call them.

Xia et al., arXiv:2504.14655; newfacade/LeetCodeDataset@182cd19 ``data/``. ``split=test`` is v0.3.1, whose field
``estimated_date`` gives the Sunday of a weekly contest; ``split=train`` is v0.2.0, without dates. Files of other
versions are read with ``allow_modified``; those of v0.3.1 are dated.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from types import MappingProxyType

import msgspec

from truegrade.benchmarks.base import (
    ALLOW_MODIFIED,
    Benchmark,
    BenchmarkSpec,
    Item,
    choice,
    in_window,
    load_pinned,
    outside,
)
from truegrade.benchmarks.ground_truths.python_tests import LEETCODE_NAMES
from truegrade.datasets import SOURCES
from truegrade.errors import UserError
from truegrade.extraction.definitions import method_owner
from truegrade.files import syntax
from truegrade.records import FunctionTask
from truegrade.statistics.windows import FILTERS

NAME = "leetcode-dataset"
SOLUTION = "Solution"
PACKAGES = ("sortedcontainers",)
"""What LeetCode installs besides numpy: 18 references use it, and 17 prompts of the test file import it."""
CPU_S: Mapping[str, float] = MappingProxyType(
    {
        "find-the-number-of-subsequences-with-equal-gcd": 120.0,
        "maximum-number-of-moves-to-kill-all-pawns": 60.0,
    }
)
"""CPU seconds of problems whose reference needs more than `strict` allows: 21 and 13."""
ANY_ORDER = frozenset({"word-ladder-ii"})
"""Problems whose reference returns a list in the order of a set of texts, which no two processes share: it is
sorted, as the expected list is."""

_SPLITS = {split: SOURCES[f"{NAME}-{split}"] for split in ("test", "train")}
_ARGS = {
    "split": "test (default: v0.3.1, 228 problems) or train (v0.2.0, 1,890 problems, without dates)",
    **FILTERS,
    **ALLOW_MODIFIED,
}
_METHOD = re.compile(rf"{SOLUTION}\(\)\.(\w+)")
_DATED = {"start", "end", "month"}


class _Meta(msgspec.Struct, frozen=True):
    question_id: int
    difficulty: str


class LeetCodeRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row as upstream stores it, as far as it is read here; what versions up to v0.3.0 hold lies in ``meta``."""

    task_id: str
    """The title as in the address of the problem."""
    prompt: str
    """Imports and helpers that stand before a solution."""
    completion: str
    entry_point: str
    """``Solution().method``."""
    test: str
    """Defines ``check(candidate)``."""
    query: str
    number: int | None = msgspec.field(name="question_id", default=None)
    level: str | None = msgspec.field(name="difficulty", default=None)
    estimated_date: str | None = None
    meta: _Meta | None = None

    def __post_init__(self) -> None:
        if self.meta is None and (self.number is None or self.level is None):
            raise ValueError("neither question_id and difficulty nor meta with both")
        if _METHOD.fullmatch(self.entry_point) is None:
            raise ValueError(f"the entry_point {self.entry_point!r} is no method of {SOLUTION}()")
        if self.parameters is None:
            raise ValueError(f"the completion defines no {self.entry_point}")
        day = self.estimated_date
        if day is not None and date.fromisoformat(day).isoformat() != day:
            raise ValueError(f"the estimated_date {day!r} is no day written YYYY-MM-DD")

    @property
    def question_id(self) -> int:
        """LeetCode's number of the problem; later ones are larger."""
        return self.number or (self.meta.question_id if self.meta else 0)

    @property
    def difficulty(self) -> str:
        """``Easy``, ``Medium`` or ``Hard``."""
        return self.level or (self.meta.difficulty if self.meta else "")

    @property
    def method(self) -> str:
        """Name of the method that the tests call."""
        return self.entry_point.rpartition(".")[2]

    @property
    def parameters(self) -> list[str] | None:
        """Names of the method's parameters, ``self`` left out; None where the completion has no such method."""
        try:
            owner = method_owner(syntax.parse(self.completion), self.method)
        except SyntaxError:
            owner = None
        for node in owner.body if owner is not None and owner.name == SOLUTION else ():
            if isinstance(node, ast.FunctionDef) and node.name == self.method:
                return [argument.arg for argument in node.args.args[1:]]
        return None


def load(data: Path | None, args: Mapping[str, str]) -> Benchmark:
    """Read a split, or those of its problems that lie in a window.

    Raises:
        UserError: the file is not found or not the pinned one, an argument is not known, or nothing is left.
    """
    split = choice(args, "split", tuple(_SPLITS))
    source = _SPLITS[split]
    benchmark = load_pinned(NAME, source, LeetCodeRow, _item, data, args, known=_ARGS)
    asked = sorted(_DATED & args.keys())
    if asked and not any("contest_date" in problem.tags for problem in benchmark.problems):
        raise UserError(
            f"`task_args` {asked[0]}: the problems of {benchmark.source} have no dates; leave it out, or give the"
            f" file LeetCodeDataset-v0.3.1-{split}.jsonl.gz with `data`, and allow_modified=true"
        )
    problems = tuple([msgspec.structs.replace(each, packages=PACKAGES) for each in benchmark.problems])
    kept = in_window(data or Path(source.file), problems, args)
    left_out = outside((each.id for each in kept), benchmark.by_id(), args, FILTERS)
    return msgspec.structs.replace(benchmark, problems=kept, left_out=left_out)


def _item(row: LeetCodeRow) -> Item:
    tags = {"platform": "leetcode", "difficulty": row.difficulty.lower()}
    if row.estimated_date is not None:
        tags["contest_date"] = row.estimated_date
    return Item(id=row.task_id, task=_task(row), tags=tags)


def _task(row: LeetCodeRow) -> FunctionTask:
    """The tests call the method by position, as LeetCode does, and each of an object of its own."""
    name, parameters = row.method, ", ".join(row.parameters or ())
    called = f"{SOLUTION}().{name}({parameters})"
    called = f"sorted({called})" if row.task_id in ANY_ORDER else called
    call = f"def {name}({parameters}):\n    return {called}\n"
    check = "check_candidate" if name == "check" else "check"
    test = row.test.replace("def check(", f"def {check}(", 1).rstrip()
    return FunctionTask(
        prompt=row.query,
        entry_point=name,
        prefix=f"{row.prompt.rstrip()}\n\n",
        tests=f"{call}\n\n{test}\n\n{check}({name})\n",
        reference=f"{row.prompt.rstrip()}\n\n\n{row.completion.rstrip()}\n",
        tests_use=(SOLUTION,),
        plain_arguments=not any(helper in test for helper in LEETCODE_NAMES),
        cpu_s=CPU_S.get(row.task_id),
    )


LEETCODE_DATASET = BenchmarkSpec(
    name=NAME,
    summary="Write a method for a dated problem of LeetCode; graded by asserts, two or three a problem in train.",
    tasks="function",
    size=_SPLITS["test"].size,
    licence=_SPLITS["test"].licence,
    citation=_SPLITS["test"].citation,
    source=_SPLITS["test"].name,
    load=load,
    args=_ARGS,
    filters=tuple(FILTERS),
)
