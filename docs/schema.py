"""The pages on recorded data and on the Python interface, made from the models' own JSON Schemas and docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic import BaseModel, TypeAdapter

import fuzzer
from docs.markdown import prose, table
from fuzzer.history.records import HISTORY_VERSION, AnyRecord
from fuzzer.night import NIGHT_VERSION
from fuzzer.report.night.sentences import CODES, FAILING
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
    yield from _record("Summary", whole, _holds)
    yield from _definitions(whole, _holds)


def night() -> Iterator[str]:
    """Every record of ``night.json`` with its fields."""
    whole: _Schema = schema("night")
    yield from prose(
        "# night.json",
        f"What a soak's directory holds in `night.json`: version {NIGHT_VERSION}. Changes are additive; "
        "`night_version` grows when a field's meaning changes. All fields are always there. Rates are shares from 0 "
        "to 1, times are seconds, moments are ISO 8601 in UTC.",
        "[Read a night](../read-a-night.md) says what the numbers mean.",
        "The [JSON Schema](../../fuzzer/report/night.schema.json) (draft 2020-12) ships with the package: "
        '`importlib.resources.files("fuzzer.report") / "night.schema.json"`.',
        "## Reasons",
        "`reasons[].code`. A reason that fails the night wins over all others.",
    )
    yield from table(
        ("code", "fails?", "when"),
        ((f"`{code}`", "yes" if code in FAILING else "no", when) for code, when in CODES.items()),
    )
    yield from _record("Night", whole, _holds)
    yield from _definitions(whole, _holds)


def history() -> Iterator[str]:
    """Every record of ``history.jsonl`` with its fields."""
    whole: _Schema = TypeAdapter(AnyRecord).json_schema()
    kinds = (choice["$ref"].rpartition("/")[2] for choice in whole["anyOf"])
    yield from prose(
        "# history.jsonl",
        f"What was sent and what came back: a JSON object a line, version {HISTORY_VERSION}, appended and never "
        "rewritten. Only the last line can be torn, by a kill; it is then left out. A field at its default may be left "
        "out, too. Times ending in `_ns` are monotonic nanoseconds. `specfuzz judge` needs nothing but this file and "
        "`run.json`.",
        f"`type` says what a line is: {', '.join(f'`{kind.lower()}` ([{kind}](#{kind.lower()}))' for kind in kinds)}.",
    )
    yield from _definitions(whole, _with_default)


def python() -> Iterator[str]:
    """What ``import fuzzer`` offers."""
    yield from prose(
        "# Python",
        "`import fuzzer` offers these names and no others; everything else may change. For property tests there is "
        "also [`fuzzer.prompts.strategies`](../strategies.md).",
    )
    for name in fuzzer.__all__:
        value = getattr(fuzzer, name)
        if name == "Summary":
            yield from prose(f"## {name}", "See [summary.json](summary.md).")
        elif inspect.isclass(value) and issubclass(value, BaseModel):
            yield from _record(name, value.model_json_schema(), _with_default)
        else:
            yield from _described(name, value)
    named: Mapping[str, _Schema] = fuzzer.Plan.model_json_schema()["$defs"]
    for name in sorted(named.keys() - set(fuzzer.__all__)):
        yield from _record(name, named[name], _with_default)


def _described(name: str, value: object) -> Iterator[str]:
    """A function, an error, or a dataclass."""
    yield from prose(f"## {name}")
    if inspect.isfunction(value):
        yield from (
            "```python",
            f"{'await ' * inspect.iscoroutinefunction(value)}{name}({_parameters(value)})",
            "```",
            "",
        )
    yield from prose(*_paragraphs(inspect.getdoc(value) or ""))
    if inspect.isclass(value) and is_dataclass(value):
        yield from table(("field", "holds"), ((f"`{each.name}`", f"`{each.type}`") for each in fields(value)))


def _parameters(function: Callable[..., object]) -> str:
    parameters = inspect.signature(function).parameters.values()
    named = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY]
    return ", ".join(
        (*(each.name for each in parameters if each.name not in named), *(f"{name}=..." for name in named))
    )


def _definitions(whole: _Schema, held: Callable[[_Schema], str]) -> Iterator[str]:
    definitions: Mapping[str, _Schema] = whole["$defs"]
    for name in sorted(definitions):
        if "properties" in definitions[name]:
            yield from _record(name, definitions[name], held)


def _record(name: str, record: _Schema, held: Callable[[_Schema], str]) -> Iterator[str]:
    yield from prose(f"## {name}", *_paragraphs(record.get("description", "")))
    yield from table(("field", "holds"), ((f"`{name}`", held(field)) for name, field in record["properties"].items()))


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in text.replace("``", "`").split("\n\n"):
        yield " ".join(paragraph.split())


def _with_default(field: _Schema) -> str:
    """The type of a field, and its default where that says something."""
    default = field.get("default")
    told = isinstance(default, str | int | float) and default != "" and "const" not in field
    return f"{_holds(field)}; default `{default}`" if told else _holds(field)


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
