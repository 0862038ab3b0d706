"""Finished runs read back to be put beside one another, and whether they may be."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fuzzer.errors import UsageError
from fuzzer.history.journal import read_history
from fuzzer.history.records import Prompt
from fuzzer.judge import Judge
from fuzzer.manifest import HISTORY, Manifest, read_manifest
from fuzzer.summarise import summarise
from fuzzer.summary import Summary

ASKED = ("seed", "families", "corpora", "weave", "pad", "fuzz", "sampling")
"""The fields of a plan that decide which prompts are asked, and how."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """One run: what it was about, how it is judged today, and a hash of each prompt that it asked."""

    directory: Path
    manifest: Manifest
    judge: Judge
    summary: Summary
    asked: dict[str, str]


def read(command: str, directory: Path) -> Recorded:
    """Read a run; one that was interrupted is a UsageError, one that cannot be read a HistoryError."""
    manifest = read_manifest(directory)
    if manifest.interrupted:
        raise UsageError(f"{command}: {directory} was interrupted; finish it first: specfuzz resume {directory}")
    judge = Judge(manifest.plan)
    asked: dict[str, str] = {}
    for record in read_history(directory / HISTORY):
        judge.feed(record)
        if isinstance(record, Prompt):
            asked[record.id] = hashlib.sha256(record.model_dump_json().encode()).hexdigest()
    return Recorded(directory, manifest, judge, summarise(manifest, judge), asked)


def unlike(one: Recorded, other: Recorded, fields: Iterable[str] = ASKED) -> str:
    """Why the two did not ask the same prompts in the same way, or ""."""
    for name in fields:
        was, now = getattr(one.manifest.plan, name), getattr(other.manifest.plan, name)
        if was != now:
            return f"{name} is {was} in the one and {now} in the other"
    common = one.asked.keys() & other.asked.keys()
    differ = sorted(prompt for prompt in common if one.asked[prompt] != other.asked[prompt])
    if differ:
        return f"prompt {differ[0]} (and {len(differ) - 1} more) reads otherwise: another version of specfuzz made it"
    return ""
