"""The Python interface, from signatures and docstrings."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from tools.reference.fields import attribute_texts
from tools.reference.markdown import code, escaped, table
from tools.reference.markdown import page as as_page
from truegrade.settings import Silent

MODULES = (
    "truegrade.api",
    "truegrade.records",
    "truegrade.records.config",
    "truegrade.sandbox",
    "truegrade.errors",
)
ABOUT = """\
Signatures and contracts; [the guide](../python.md) shows them at work. `truegrade.run`, `generate`, `grade`,
`load`, `compare` and `export` are the functions of `truegrade.api`. What is not on this page may change without
notice."""

HEADINGS = ("Args", "Raises", "Returns", "Yields")


def page() -> str:
    """A section for each module, an entry for each public name."""
    return as_page("Python interface", ABOUT, *(_module(importlib.import_module(name)) for name in MODULES))


def _module(module: ModuleType) -> str:
    entries = [_entry(node, getattr(module, node.name)) for node in _public(module)]
    return "\n\n".join([f"## {module.__name__}", _prose(inspect.getdoc(module) or ""), *entries])


def _public(module: ModuleType) -> list[ast.ClassDef | ast.FunctionDef]:
    """Definitions of the module, or, where it only hands on names, those behind ``__all__``."""
    names = getattr(module, "__all__", None)
    if names is None:
        return [node for node in _definitions(module) if not node.name.startswith("_")]
    objects = [(name, getattr(module, name)) for name in names]
    homes = [(name, importlib.import_module(found.__module__)) for name, found in objects if callable(found)]
    return [node for name, home in homes for node in _definitions(home) if node.name == name]


def _definitions(module: ModuleType) -> list[ast.ClassDef | ast.FunctionDef]:
    tree = ast.parse(Path(str(module.__file__)).read_text())
    return [node for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)]


def _entry(node: ast.ClassDef | ast.FunctionDef, made: Any) -> str:
    """A class or function, as it is written; of one that takes settings, the keywords that they give it."""
    if isinstance(node, ast.FunctionDef):
        shown, text = _signature(node), _doc(node)
        if hasattr(made, "__wrapped__"):
            shown, text = _with_settings(node, made), inspect.getdoc(made) or ""
        return "\n\n".join([f"### {node.name}", f"```text\n{shown}\n```", _prose(text)])
    members = [part for part in node.body if isinstance(part, ast.FunctionDef) and not part.name.startswith("_")]
    made = [part for part in node.body if isinstance(part, ast.FunctionDef) and part.name == "__init__"]
    parts = [f"### {node.name}", *(f"```text\n{_signature(part, node.name)}\n```" for part in made)]
    return "\n\n".join([*parts, _prose(_doc(node)), *_fields(node), *_methods(members)])


def _fields(node: ast.ClassDef) -> list[str]:
    texts = attribute_texts(node.body)
    rows = []
    for part in node.body:
        match part:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value):
                default = "" if value is None else code(ast.unparse(value))
                meaning = texts.get(name, "")
                match annotation:  # the option of a setting says what it does
                    case ast.Subscript(slice=ast.Tuple([annotation, ast.Call(args=[_, text, *_])])):
                        meaning = meaning or ast.literal_eval(text)
                rows.append((code(name), code(ast.unparse(annotation)), default, escaped(meaning)))
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant() as value):
                rows.append((code(name), "", code(ast.unparse(value)), escaped(texts.get(name, ""))))
    return [table(("field", "type", "default", "meaning"), rows)] if rows else []


def _methods(members: list[ast.FunctionDef]) -> list[str]:
    return [
        f"```text\n{_signature(member, property_='property' in map(ast.unparse, member.decorator_list))}\n```\n\n"
        + _prose(_doc(member))
        for member in members
    ]


def _signature(node: ast.FunctionDef, name: str | None = None, *, property_: bool = False) -> str:
    """The call, one parameter a line where it is long; without ``self`` and without defaults' modules."""
    arguments = [part for part in _parameters(node.args) if part not in ("self", "cls")]
    returns = f" -> {ast.unparse(node.returns)}" if node.returns and name is None else ""
    shown = name or node.name
    if property_:
        return f"{shown}{returns.replace(' ->', ':')}"
    line = f"{shown}({', '.join(arguments)}){returns}"
    return line if len(line) <= 100 else f"{shown}(\n    " + ",\n    ".join(arguments) + f",\n){returns}"


def _with_settings(node: ast.FunctionDef, made: Any) -> str:
    """The call of a function whose keywords are settings, one a line."""
    first, *settings = inspect.signature(made).parameters.values()
    lines = [f"{first.name}: {first.annotation}", "*"]
    for each in settings:
        default = each.default
        if isinstance(default, msgspec.Struct | Silent):
            shown = f"{type(default).__name__}()"
        else:
            shown = default.__name__ if callable(default) else repr(default)
        lines.append(f"{each.name}: {each.annotation}={shown}")
    returns = ast.unparse(node.returns) if node.returns else "None"
    return f"{node.name}(\n    " + ",\n    ".join(lines) + f",\n) -> {returns}"


def _parameters(given: ast.arguments) -> list[str]:
    """Each parameter as written, ``*`` and ``/`` among them."""
    text = ast.unparse(given)
    cuts, depth = [0], 0
    for position, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            cuts.append(position + 1)
    return [
        text[start:end].strip().rstrip(",")
        for start, end in zip(cuts, [*cuts[1:], len(text)], strict=True)
        if text
    ]


def _doc(node: ast.ClassDef | ast.FunctionDef) -> str:
    return ast.get_docstring(node) or ""


def _prose(text: str) -> str:
    """Paragraphs; sections of arguments and errors become lists, indented text blocks."""
    return "\n\n".join(filter(None, map(_paragraph, _paragraphs(text))))


def _paragraphs(text: str) -> list[str]:
    return [part for part in re.split(r"\n\s*\n", text) if part.strip()]


def _paragraph(text: str) -> str:
    heading, _, rest = text.partition("\n")
    if heading.rstrip(":") in HEADINGS and heading.endswith(":"):
        items = re.split(r"\n(?=    \S)", "\n" + rest)[1:]
        return f"{heading}\n\n" + "\n".join(f"- {_item(item)}" for item in items)
    if text.startswith("    ") or re.match(r"\d ", text):
        return f"```text\n{inspect.cleandoc(text)}\n```"
    return escaped(text)


def _item(text: str) -> str:
    name, colon, meaning = " ".join(text.split()).partition(": ")
    return f"{code(name)}: {escaped(meaning)}" if colon else escaped(name)
