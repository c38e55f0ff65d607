"""The records on disk: their JSON Schemas as files, and their fields as tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tools.reference.fields import documented, parts_of
from tools.reference.markdown import code, escaped, table
from tools.reference.markdown import page as as_page
from truegrade.apps.assay.records import CODES
from truegrade.cli.schemas import json_schema, names, record_type

ABOUT = """\
What the files of a run hold ([formats](../formats.md) says how they are written and found again). Each schema is
JSON Schema 2020-12, a file of its own beside this page, and printed by `truegrade schema NAME`; they are generated
from the records that are written. A field without a default is always there."""


def files() -> dict[str, str]:
    """The schemas, by file name."""
    return {f"{name}.schema.json": json.dumps(json_schema(name), indent=2) + "\n" for name in names()}


def page() -> str:
    """A section for each record, with the parts that it is made of, and the codes of an assay's findings."""
    return as_page("Schemas", ABOUT, *map(_section, names()), _codes())


def _codes() -> str:
    rows = [(code(name), escaped(meaning)) for name, meaning in CODES.items()]
    return "## Codes of findings\n\nOf `truegrade assay`, in `findings.jsonl`.\n\n" + table(
        ("code", "meaning"), rows
    )


def _section(name: str) -> str:
    schema = json_schema(name)
    top = schema["$ref"].rpartition("/")[2]
    parts = [top, *(part for part in schema["$defs"] if part != top)]
    classes = parts_of(record_type(name))
    tables = [_table(part, schema["$defs"][part], classes[part]) for part in parts]
    return "\n\n".join([f"## {name}", f"[{name}.schema.json](schemas/{name}.schema.json)", *filter(None, tables)])


def _table(name: str, schema: dict[str, Any], record: type) -> str:
    if "enum" in schema:
        return f"**{name}**: " + ", ".join(code(str(value)) for value in schema["enum"])
    meanings = documented(record)
    rows = [
        (
            code(field),
            escaped(_type(part)),
            _default(field, part, schema),
            escaped(meanings.get(field) or part.get("description", "")),
        )
        for field, part in schema.get("properties", {}).items()
    ]
    return f"**{name}**\n\n" + table(("field", "type", "default", "meaning"), rows)


def _type(part: dict[str, Any]) -> str:
    return " or ".join(dict.fromkeys(_types(part)))


def _types(part: dict[str, Any]) -> Iterator[str]:
    if "anyOf" in part:
        for choice in part["anyOf"]:
            yield from _types(choice)
    elif "$ref" in part:
        yield part["$ref"].rpartition("/")[2]
    elif "enum" in part:
        yield from (json.dumps(value) for value in part["enum"])
    elif part.get("type") == "array":
        yield f"array of {_type(part['items'])}" if part.get("items") else "array"
    elif part.get("type") == "object":
        yield f"object of {_type(part['additionalProperties'])}" if part.get("additionalProperties") else "object"
    else:
        yield str(part.get("type", "any"))


def _default(field: str, part: dict[str, Any], schema: dict[str, Any]) -> str:
    if field in schema.get("required", ()):
        return ""
    return code(json.dumps(part["default"])) if "default" in part else "none"
