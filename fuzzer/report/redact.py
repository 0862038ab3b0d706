"""What may be shared when prompts and answers may not: every text that came from one is taken out."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from fuzzer.finding import Finding
from fuzzer.report.text import clean
from fuzzer.summary import Reason, Summary

REDACTED = "[redacted]"
_SHORTEST = 4  # a shorter piece of an answer is found in any sentence, and tells nothing


def redact(summary: Summary) -> Summary:
    """The same summary without a word of a prompt or an answer; keys, counts, ids and numbers stay.

    Finding examples lose their line, their evidence and the donor's span; a reason or note that quotes one of those
    loses the quotation.
    """
    quotes = sorted(set(_quotes(summary)), key=len, reverse=True)
    return summary.model_copy(
        update={
            "redacted": True,
            "findings": tuple(
                group.model_copy(update={"example": redacted_finding(group.example)}) for group in summary.findings
            ),
            "reasons": tuple(_reason(reason, quotes) for reason in summary.reasons),
            "cells": tuple(
                cell.model_copy(update={"reasons": tuple(_strike(text, quotes) for text in cell.reasons)})
                for cell in summary.cells
            ),
            "vacuity": tuple(_strike(text, quotes) for text in summary.vacuity),
        }
    )


def shareable(summary: Summary) -> Summary:
    """The summary as it may be shown: redacted if the run asked for that."""
    return redact(summary) if summary.redacted else summary


def redacted_finding(finding: Finding) -> Finding:
    """The finding without any text of a prompt or a reply; keys, ids and counts stay."""
    donor = finding.donor and finding.donor.model_copy(update={"span": REDACTED})
    return finding.model_copy(update={"summary": REDACTED, "evidence": {}, "donor": donor})


def _reason(reason: Reason, quotes: list[str]) -> Reason:
    return reason.model_copy(update={"message": _strike(reason.message, quotes)})


def _strike(text: str, quotes: list[str]) -> str:
    for quote in quotes:
        text = text.replace(quote, REDACTED)
    return text


def _quotes(summary: Summary) -> Iterator[str]:
    """The texts of all examples as they may be quoted: as they are, through ``repr``, and cleaned."""
    public = _vocabulary(summary)
    for example in (group.example for group in summary.findings):
        spans = (example.donor.span,) if example.donor else ()
        for text in (example.summary, *spans, *_strings(example.evidence)):
            if len(text) >= _SHORTEST and text not in public:
                yield from (text, repr(text)[1:-1], clean(text, len(text) * 10))


def _vocabulary(summary: Summary) -> set[str | None]:
    """Words and ids that evidence may hold and that tell nothing of a prompt or an answer."""
    words: set[str | None] = {REDACTED, "candidate", "reference"}
    words |= {name for family in summary.calibration for name in (family.family, family.level)}
    for example in (group.example for group in summary.findings):
        words |= {example.key, example.kind, example.sub_kind, example.certainty, example.phase, example.cell}
        words |= {example.endpoint, example.exchange, example.prompt}
        if example.donor:
            words |= {example.donor.prompt, example.donor.exchange, example.donor.channel, example.donor.when}
    return words


def _strings(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
