"""The page on ``summary.json``, made from its JSON Schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from docs.markdown import prose, table
from fuzzer.report.schema import schema
from fuzzer.summary import SCHEMA_VERSION

_Schema = Mapping[str, Any]


def summary() -> Iterator[str]:
    """Every record of ``summary.json`` with its fields."""
    whole: _Schema = schema()
    yield from prose(
        "# summary.json",
        f"What a run directory's `summary.json` holds, and `--json` prints: version {SCHEMA_VERSION}. Changes are "
        "additive; `schema_version` grows when a field's meaning changes. All fields are always there. Rates are "
        "shares from 0 to 1, times are seconds, lengths are tokens.",
        "The [JSON Schema](../../fuzzer/report/summary.schema.json) (draft 2020-12) ships with the package: "
        '`importlib.resources.files("fuzzer.report") / "summary.schema.json"`.',
    )
    yield from _record("Summary", whole)
    definitions: Mapping[str, _Schema] = whole["$defs"]
    for name in sorted(definitions):
        if "properties" in definitions[name]:
            yield from _record(name, definitions[name])


def _record(name: str, record: _Schema) -> Iterator[str]:
    said = record.get("description", "").replace("``", "`")
    yield from prose(f"## {name}", *(" ".join(paragraph.split()) for paragraph in said.split("\n\n")))
    yield from table(("field", "holds"), ((f"`{name}`", _holds(field)) for name, field in record["properties"].items()))


def _holds(value: _Schema) -> str:
    """The type of a field in words."""
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return "any JSON" if name == "JsonValue" else f"[{name}](#{name.lower()})"
    if "enum" in value:
        return "one of " + ", ".join(f"`{choice}`" for choice in value["enum"])
    if "const" in value:
        return f"`{value['const']}`"
    if "anyOf" in value:
        return " or ".join(_holds(choice) for choice in value["anyOf"])
    if value.get("type") == "array":
        return f"list of: {_holds(value['items'])}" if "items" in value else "list"
    if value.get("type") == "object":
        more = value.get("additionalProperties")
        return f"object, each value: {_holds(more)}" if isinstance(more, dict) else "object"
    return str(value.get("type", "any JSON"))
