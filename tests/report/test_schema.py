from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from fuzzer.report.files import summary_json
from fuzzer.report.schema import schema, schema_text, shipped
from fuzzer.summary import Summary

from . import factory


def test_the_shipped_schema_is_the_generated_one() -> None:
    assert shipped() == schema_text()


def test_the_schema_is_sound_and_needs_no_other() -> None:
    Draft202012Validator.check_schema(schema())
    text = schema_text()
    assert '"$id"' not in text
    references = {line.split('"')[3] for line in text.splitlines() if '"$ref"' in line}
    assert all(reference.startswith("#/$defs/") for reference in references)
    assert schema()["title"] == "Summary"


@pytest.mark.parametrize("summary", factory.everything(), ids=lambda summary: summary.verdict)
def test_every_summary_that_is_written_fits_it(summary: Summary) -> None:
    Draft202012Validator(schema()).validate(json.loads(summary_json(summary)))


@pytest.mark.parametrize("missing", ["verdict", "exit_status", "cells", "schema_version", "reasons"])
def test_a_summary_without_a_field_does_not_fit(missing: str) -> None:
    data = json.loads(summary_json(factory.passing()))
    del data[missing]
    assert not Draft202012Validator(schema()).is_valid(data)
