"""The texts that stand below the attributes of a class, which Python itself throws away."""

from __future__ import annotations

import ast
import importlib
import inspect
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import msgspec


@cache
def classes_of(module: str) -> dict[str, ast.ClassDef]:
    """The classes of a module by name, as trees."""
    found: ModuleType = importlib.import_module(module)
    tree = ast.parse(Path(str(found.__file__)).read_text())
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def attribute_texts(body: list[ast.stmt]) -> dict[str, str]:
    """Name to text, for every assignment that a text follows."""
    texts = {}
    for statement, after in pairwise(body):
        name = _assigned(statement)
        if name and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            texts[name] = inspect.cleandoc(str(after.value.value))
    return texts


def documented(record: type) -> dict[str, str]:
    """Field to text, those of its bases of ours among them."""
    texts: dict[str, str] = {}
    for base in reversed(record.__mro__):
        found = classes_of(base.__module__) if base.__module__.startswith("truegrade.") else {}
        if base.__name__ in found:  # the fields of a class that is made by a call have their texts in the schema
            texts |= attribute_texts(found[base.__name__].body)
    return texts


def parts_of(record: type) -> dict[str, type]:
    """The classes that a record is made of, itself included, under their short and their full names."""
    found: dict[str, type] = {}
    pending: list[object] = [msgspec.inspect.type_info(record)]
    while pending:
        item = pending.pop()
        if isinstance(item, tuple | list):
            pending.extend(item)
        elif isinstance(item, msgspec.Struct):
            made = getattr(item, "cls", None)
            full = f"{made.__module__}.{made.__qualname__}" if made else ""
            if full not in found:
                pending.extend(getattr(item, name) for name in item.__struct_fields__)
            if made:
                found[made.__name__] = found[full] = made
    return found


def _assigned(statement: ast.stmt) -> str | None:
    match statement:
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
            return name
    return None
