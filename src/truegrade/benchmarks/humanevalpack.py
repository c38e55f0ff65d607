"""HumanEvalPack in Python: HumanEval's functions to repair, to write by an instruction, and to explain.

Muennighoff et al., OctoPack: Instruction Tuning Code Large Language Models, arXiv:2308.07124;
bigcode-project/octopack@e17a8f6 ``evaluation/create/humaneval-x/data/python/``. The prompts are those of HumanEval
but for that of task 142.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from truegrade.benchmarks.base import Benchmark, BenchmarkSpec
from truegrade.benchmarks.pinned import ALLOW_MODIFIED, Item, choice, load_pinned, names_only_solution_binds
from truegrade.datasets import SOURCES
from truegrade.records import FunctionTask

FIX, SYNTHESIZE, EXPLAIN = "humanevalfix", "humanevalsynthesize", "humanevalexplain"
DOCS, TESTS = "docs", "tests"

_SOURCE = SOURCES["humanevalpack"]
_FIX_ARGS = {
    "show": "what says what is right: docs (default), the docstring; or tests, and no docstring: only the prompt"
    " of the profile humanevalpack shows them",
    **ALLOW_MODIFIED,
}


class HumanEvalPackRow(msgspec.Struct, frozen=True):
    """A row as upstream stores it, as far as it is read here."""

    task_id: str
    prompt: str
    """Up to the docstring's end."""
    declaration: str
    """Up to the signature's end."""
    canonical_solution: str
    buggy_solution: str
    bug_type: str
    failure_symptoms: str
    entry_point: str
    instruction: str
    docstring: str
    test: str
    """Ends with the call of ``check``."""


def load_fix(data: Path | None, args: Mapping[str, str]) -> Benchmark:
    """Read the 164 functions with a bug.

    Raises:
        UserError: the file is not found or not the pinned one, or an argument is not known.
    """
    shown = choice(args, "show", (DOCS, TESTS))

    def item(row: HumanEvalPackRow) -> Item:
        head = row.prompt if shown == DOCS else row.declaration
        return Item(
            id=_id(row),
            task=FunctionTask(
                prompt=head,
                entry_point=row.entry_point,
                setup=_helpers(row),
                tests=row.test,
                shown_tests=(row.test,) if shown == TESTS else (),
                reference=head + row.canonical_solution,
                buggy=head + row.buggy_solution,
            ),
            tags={"bug_type": row.bug_type, "failure_symptoms": row.failure_symptoms},
        )

    return load_pinned(FIX, _SOURCE, HumanEvalPackRow, item, data, args, known=_FIX_ARGS)


def load_synthesize(data: Path | None, args: Mapping[str, str]) -> Benchmark:
    """Read the 164 instructions.

    Raises:
        UserError: the file is not found or not the pinned one, or an argument is not known.
    """
    return load_pinned(SYNTHESIZE, _SOURCE, HumanEvalPackRow, _instructed, data, args)


def _instructed(row: HumanEvalPackRow) -> Item:
    """The code behind the instruction holds helpers that the tests of 32, 38 and 50 call."""
    return Item(
        id=_id(row),
        task=FunctionTask(
            prompt=f"{row.instruction.strip()}\n\n{row.prompt}".strip(),
            entry_point=row.entry_point,
            prefix=row.prompt,
            tests=row.test,
            reference=row.prompt + row.canonical_solution,
        ),
    )


def load_explain(data: Path | None, args: Mapping[str, str]) -> Benchmark:
    """Read the 164 functions to describe, and to write again from the description alone.

    Raises:
        UserError: the file is not found or not the pinned one, or an argument is not known.
    """
    loaded = load_pinned(EXPLAIN, _SOURCE, HumanEvalPackRow, _explained, data, args)
    return msgspec.structs.replace(loaded, agent="explain")


def _explained(row: HumanEvalPackRow) -> Item:
    """The words are those of bigcode-evaluation-harness@8fc5bae6 ``humanevalpack.py`` HumanEvalExplainDescribe.

    A body follows the head with its docstring, as there, though neither question shows the docstring.
    """
    program = row.declaration + row.canonical_solution
    words = "Provide a concise natural language description of the code using at most {} characters."
    return Item(
        id=_id(row),
        task=FunctionTask(
            prompt=f"{program}\n{words.format(len(row.docstring))}",
            entry_point=row.entry_point,
            prefix=row.prompt,
            tests=row.test,
            reference=program,
        ),
    )


def _helpers(row: HumanEvalPackRow) -> str:
    """What the tests of 32, 38 and 50 call and only the code before the function defines; else nothing."""
    code = row.declaration + row.canonical_solution
    if not names_only_solution_binds(row.task_id, code, row.test, row.entry_point):
        return ""
    return row.declaration[: row.declaration.rindex(f"def {row.entry_point}(")]


def _id(row: HumanEvalPackRow) -> str:
    return row.task_id.replace("Python/", "HumanEvalPack/")


HUMANEVALFIX = BenchmarkSpec(
    name=FIX,
    summary="Repair a Python function with a bug of six types; graded by HumanEval's hidden asserts.",
    tasks="repair",
    size=_SOURCE.size,
    licence=_SOURCE.licence,
    citation=_SOURCE.citation,
    source=_SOURCE.name,
    load=load_fix,
    args=_FIX_ARGS,
)
HUMANEVALSYNTHESIZE = BenchmarkSpec(
    name=SYNTHESIZE,
    summary="Write a Python function by an instruction; HumanEval's tasks, graded by its hidden asserts.",
    tasks="function",
    size=_SOURCE.size,
    licence=_SOURCE.licence,
    citation=_SOURCE.citation,
    source=_SOURCE.name,
    load=load_synthesize,
    args=dict(ALLOW_MODIFIED),
)
HUMANEVALEXPLAIN = BenchmarkSpec(
    name=EXPLAIN,
    summary="Describe a Python function and write it again from that description; the agent explain asks.",
    tasks="function",
    size=_SOURCE.size,
    licence=_SOURCE.licence,
    citation=_SOURCE.citation,
    source=_SOURCE.name,
    load=load_explain,
    args=dict(ALLOW_MODIFIED),
)
