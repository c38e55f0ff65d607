"""Read rows of execution reasoning from any file that holds them: ours and the published sets.

Shapes (akshsgaur/code-reasoning-repro@6c43fa8): DSL-List and LeetCode rows, which are `ExecutionRow` as they are,
also as concatenated pretty-printed objects; LLM-List rows, which hold ``header``, ``inputs`` and ``outputs``; and
CRUXEval's (facebookresearch/cruxeval ``data/cruxeval.jsonl``), which do not name their function, ``f``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

from truegrade.datasets.content import read_content, sha256
from truegrade.datasets.executions import ExecutionRow
from truegrade.datasets.rows import Rows, parse_rows
from truegrade.extraction import literals

Rendering = Literal["stored", "repr"]
"""How the argument texts of an LLM-List row are written into the call: ``stored`` joins them as they are
(src/models/bedrock_claude_llm_list), ``repr`` writes each literal as Python does
(src/models/llm_list/gpt_oss_llm_list_final.ipynb)."""

_CRUXEVAL = "f"
_DEFINED = re.compile(r"^(?:async\s+)?def\s+(\w+)", re.MULTILINE)
_HEADER = re.compile(r"\s*(?:async\s+)?def\s+(\w+)")


def read_executions(path: Path, rendering: Rendering = "stored") -> Rows[ExecutionRow]:
    """The rows of a file, in its order.

    Raises:
        UserError: the file cannot be read.
        BadRecord: a row has neither schema; names line and field.
    """
    content = read_content(path)
    rows = parse_rows(path, content, ExecutionRow, lambda value: as_execution_row(value, rendering))
    return Rows(rows=rows, dataset_sha256=sha256(content), source=str(path))


def as_execution_row(value: Any, rendering: Rendering = "stored") -> Any:
    """The fields of an `ExecutionRow` out of a decoded row of LLM-List or CRUXEval; any other value as it is."""
    if not isinstance(value, dict):
        return value
    if not {"header", "inputs"} <= value.keys():
        name = None if "function_name" in value else _one_function(str(value.get("code")))
        return {**value, "function_name": name} if name else value
    named = _HEADER.match(str(value["header"]))
    fields = {key: item for key, item in value.items() if key not in {"header", "inputs", "outputs"}}
    if "outputs" in value:
        fields["output"] = value["outputs"]
    if named is None:
        return fields
    calls = [_call(named[1], arguments, rendering) for arguments in _listed(value["inputs"])]
    return {**fields, "function_name": named[1], "input": calls}


def _one_function(code: str) -> str | None:
    """The function that a program is about, where it defines one of that name or only one."""
    names = _DEFINED.findall(code)
    return _CRUXEVAL if _CRUXEVAL in names else names[0] if len(names) == 1 else None


def _call(function: str, arguments: Any, rendering: Rendering) -> str:
    texts = [_written(str(text), rendering) for text in _listed(arguments)]
    return f"{function}({', '.join(texts)})"


def _written(text: str, rendering: Rendering) -> str:
    if rendering == "stored":
        return text
    literal = literals.parse_literal(text)
    return repr(literal.value) if isinstance(literal, literals.Literal) else text.strip()


def _listed(value: Any) -> list[Any]:
    """A list as it is; one text counts as a list of one."""
    return value if isinstance(value, list) else [value]
