"""``run.json``: what a run directory is about, enough to resume or re-judge it on another day."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import secrets
import sys
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fuzzer.errors import HistoryError
from fuzzer.plan import Plan
from fuzzer.summary import EndpointSummary, Preflight, Reason

MANIFEST = "run.json"
HISTORY = "history.jsonl"
FINDINGS = "findings.jsonl"
FUZZ = "fuzz.jsonl"

LIBRARIES = ("httpx", "httpx-aiohttp", "anyio", "pydantic", "scipy", "hypothesis", "datasets")


class Manifest(BaseModel):
    """The plan, the versions and who stood at each end.

    ``not_run`` maps a cell that the budget cut to the reason, ``notes`` a cell that ended undecided; ``stopped`` holds
    what kept the run from starting. ``interrupted`` is true until a proper end, so that a killed run says so.
    ``corpora`` holds a hash of each corpus, to know on resuming whether it changed.
    """

    model_config = ConfigDict(extra="forbid")

    version: int = 1
    run_id: str
    started: str
    tool_version: str
    python: str
    libraries: dict[str, str] = Field(default_factory=dict)
    plan: Plan
    plan_hash: str
    seed: int
    endpoints: tuple[EndpointSummary, ...] = ()
    preflight: Preflight | None = None
    not_run: dict[str, str] = Field(default_factory=dict)
    notes: dict[str, Reason] = Field(default_factory=dict)
    stopped: tuple[Reason, ...] = ()
    interrupted: bool = False
    corpora: dict[str, str] = Field(default_factory=dict)


def new_manifest(plan: Plan, run_id: str | None) -> Manifest:
    """The manifest of a run that begins now; a fresh id if None."""
    return Manifest(
        run_id=run_id or _fresh_id(),
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        tool_version=importlib.metadata.version("specfuzz"),
        python=f"{platform.python_implementation()} {platform.python_version()} {sys.platform}",
        libraries={name: importlib.metadata.version(name) for name in LIBRARIES},
        plan=plan,
        plan_hash=plan.digest,
        seed=plan.seed,
    )


def _fresh_id() -> str:
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"


def write_manifest(directory: Path, manifest: Manifest) -> None:
    """Write ``run.json`` whole or not at all."""
    temporary = directory / f".{MANIFEST}.tmp"
    temporary.write_text(manifest.model_dump_json(indent=2) + "\n", encoding="utf-8")
    os.replace(temporary, directory / MANIFEST)


def read_manifest(directory: Path) -> Manifest:
    """Read ``run.json``; a directory that is no run, or a damaged one, is a HistoryError."""
    path = directory / MANIFEST
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except OSError as error:
        raise HistoryError(f"{path}: no run here ({error.strerror}); name a directory such as reports/RUN-ID") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise HistoryError(f"{path}: not a specfuzz manifest: {where}: {first['msg']}") from None
