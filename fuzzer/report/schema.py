"""The JSON Schema of ``summary.json``, for whoever reads it with other tools.

``summary.schema.json`` beside this module is the shipped copy; write it anew after a change of the summary with
``python -m fuzzer.report.schema > fuzzer/report/summary.schema.json``.
"""

from __future__ import annotations

import json
from importlib.resources import files

from pydantic import JsonValue
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from fuzzer.summary import Summary

SHIPPED = "summary.schema.json"


class _Written(GenerateJsonSchema):
    """What is written holds every field, also those that have a default."""

    def field_is_required(
        self,
        field: core_schema.ModelField | core_schema.DataclassField | core_schema.TypedDictField,
        total: bool,
    ) -> bool:
        return True


def schema() -> dict[str, JsonValue]:
    """The schema (draft 2020-12) of what `summary_json` writes: every field is there, none is unknown."""
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {**dialect, **Summary.model_json_schema(mode="serialization", schema_generator=_Written)}


def schema_text() -> str:
    """The schema as the shipped file holds it."""
    return json.dumps(schema(), indent=2) + "\n"


def shipped() -> str:
    """The text of the shipped file."""
    return files("fuzzer.report").joinpath(SHIPPED).read_text(encoding="utf-8")


if __name__ == "__main__":
    print(schema_text(), end="")
