"""The JSON Schemas of ``summary.json`` and ``night.json``, for whoever reads them with other tools.

``summary.schema.json`` and ``night.schema.json`` beside this module are the shipped copies; write them anew after a
change of what they describe, with ``python -m fuzzer.report.schema > fuzzer/report/summary.schema.json`` and
``python -m fuzzer.report.schema night > fuzzer/report/night.schema.json``.
"""

from __future__ import annotations

import json
import sys
from importlib.resources import files
from typing import Final

from pydantic import BaseModel, JsonValue
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from fuzzer.night import Night
from fuzzer.summary import Summary

DESCRIBED: Final[dict[str, type[BaseModel]]] = {"summary": Summary, "night": Night}
"""What has a schema, by the name of its file."""


class _Written(GenerateJsonSchema):
    """What is written holds every field, also those that have a default."""

    def field_is_required(
        self,
        field: core_schema.ModelField | core_schema.DataclassField | core_schema.TypedDictField,
        total: bool,
    ) -> bool:
        return True


def schema(name: str = "summary") -> dict[str, JsonValue]:
    """The schema (draft 2020-12) of what is written: every field is there, none is unknown."""
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {**dialect, **DESCRIBED[name].model_json_schema(mode="serialization", schema_generator=_Written)}


def schema_text(name: str = "summary") -> str:
    """The schema as the shipped file holds it."""
    return json.dumps(schema(name), indent=2) + "\n"


def shipped(name: str = "summary") -> str:
    """The text of the shipped file."""
    return files("fuzzer.report").joinpath(f"{name}.schema.json").read_text(encoding="utf-8")


if __name__ == "__main__":
    print(schema_text(*sys.argv[1:2]), end="")
