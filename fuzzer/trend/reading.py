"""Reads what a finished night left, and tells whether it changed since."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ValidationError

from fuzzer.errors import HistoryError
from fuzzer.manifest import MANIFEST, read_manifest
from fuzzer.night import NIGHT, NIGHT_VERSION, SOAK, Night
from fuzzer.plan import Plan
from fuzzer.report.files import SUMMARY, load_summary
from fuzzer.trend.nights import Sort, TrendNight, of_gate, of_soak
from fuzzer.trend.places import Place

SOURCES: dict[Sort, tuple[str, ...]] = {"soak": (NIGHT,), "gate": (SUMMARY, MANIFEST)}


def stamp(place: Place) -> str:
    """The times and sizes of the files that a row is made from; "" where one of them is not there (yet)."""
    parts = []
    for name in SOURCES[place.sort]:
        try:
            found = (place.path / name).lstat()
        except OSError:
            return ""
        parts.append(f"{found.st_mtime_ns}:{found.st_size}")
    return " ".join(parts)


def read(place: Place, directory: str) -> TrendNight:
    """The row of a night; HistoryError where its files cannot be read."""
    if place.sort == "soak":
        return of_soak(read_night(place.path), _plan(place.path), directory)
    return of_gate(load_summary(place.path), read_manifest(place.path), directory)


def read_night(directory: Path) -> Night:
    """A soak's ``night.json``; HistoryError where it cannot be read."""
    path = directory / NIGHT
    try:
        night = Night.model_validate_json(path.read_bytes())
    except OSError as error:
        raise HistoryError(f"{path}: no verdict of a soak here ({error.strerror or error})") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise HistoryError(f"{path} tells of no soak: {where}: {first['msg']}") from error
    if night.night_version > NIGHT_VERSION:
        raise HistoryError(f"{path}: version {night.night_version} is newer than {NIGHT_VERSION}")
    return night


def _plan(directory: Path) -> Plan | None:
    """The plan in a soak's ``soak.json``, which holds more than is needed here; None where it cannot be read."""
    try:
        return _SoakPlan.model_validate_json((directory / SOAK).read_bytes()).plan
    except (OSError, ValidationError):
        return None


class _SoakPlan(BaseModel):
    plan: Plan
