"""What is measured: modules whose description shows ``python -m bench NAME`` are commands."""

from __future__ import annotations

import ast
from pathlib import Path

FOLDER = Path(__file__).parent


def commands() -> dict[str, str]:
    """The description of every command, by name."""
    found = {}
    for script in sorted(FOLDER.glob("*.py")):
        text = ast.get_docstring(ast.parse(script.read_text())) or ""
        if f"    python -m bench {script.stem}" in text:
            found[script.stem] = text
    return found
