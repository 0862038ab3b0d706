"""A bundle: all that a maintainer needs of one kind of finding, typed and versioned, as a directory and a zip file.

``bundle.json`` is what specfuzz reads back; ``ISSUE.md`` and ``reproduce.py`` are made from it for people and are never
read again. Whatever is read is untrusted: bounded, checked against its digest, and nothing of it is ever executed or
written to a path that it names.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import stat
import zipfile
import zlib
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue, ValidationError, model_validator

from fuzzer.errors import SpecfuzzError
from fuzzer.finding import Finding
from fuzzer.history.messages import Record
from fuzzer.history.records import Arm, Exchange, Stage
from fuzzer.repro.cohort import Cohort
from fuzzer.summary import EndpointSummary

VERSION: Literal[1] = 1
BUNDLE = "bundle.json"
LARGEST = 32 * 2**20  # bytes of a bundle.json that is still read
_DAMAGED_ZIP = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, NotImplementedError, RuntimeError, ValueError, EOFError
)  # fmt: skip

Count = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]


class BundleError(SpecfuzzError):
    """A bundle that is missing, damaged or was changed by hand."""


class Tally(Record):
    """``k`` failures in ``n``, with the two-sided 95 % Wilson interval; ``unit`` says what was counted."""

    k: Count
    n: Count
    low: Share
    high: Share
    unit: str

    @model_validator(mode="after")
    def _some_of_all(self) -> Self:
        if self.k > self.n:
            raise ValueError(f"{self.k} failures of {self.n}")
        if self.low > self.high:
            raise ValueError(f"an interval from {self.low:g} to {self.high:g}")
        return self

    @classmethod
    def of(cls, k: int, n: int, unit: str) -> Tally:
        """The count with its interval."""
        from fuzzer.stats.intervals import wilson

        low, high = wilson(k, n)
        return cls(k=k, n=n, low=low, high=high, unit=unit)


class Struck(Record):
    """What was taken out before the bundle was written: a kind of secret, and how often."""

    what: str
    count: Count


class Shrunk(Record):
    """How a cohort was reduced: what it was, what each reduction came to, and what it took.

    ``baseline`` counts replays of the whole; where not one failed, ``filled`` counts those with one neighbour in the
    place of all that fills the engine's memory. ``final`` counts fresh replays that no reduction was decided by;
    ``replays`` and ``requests`` are all that was spent. ``sentence`` says what the bug needs. ``finished`` is false
    where the budget ended it.
    """

    was: Count
    replays: Count
    requests: Count
    baseline: Tally
    filled: Tally | None = None
    final: Tally
    steps: tuple[str, ...]
    rule: str
    sentence: str
    finished: bool = True


class Environment(Record):
    """What is known of the machines and programs; ``launch_command`` is the user's own words."""

    specfuzz: str
    python: str
    libraries: dict[str, str] = Field(default_factory=dict)
    endpoints: tuple[EndpointSummary, ...] = ()
    launch_command: str = ""


class Bundle(Record):
    """One kind of finding of one run.

    ``rate`` counts the candidate's answers with this finding in the cell where the example was seen. ``bodies`` are
    the exact requests of the cohort, in its order, as they go over the wire. ``seen`` are the exchanges of both arms
    as recorded, ``stages`` the engine's counters around them. ``notes`` say what was left out and why.
    """

    version: Literal[1] = VERSION
    run: str
    started: str
    finding: Finding
    schedule: str
    concurrency: Annotated[int, Field(ge=1)]
    rate: Tally
    cohort: Cohort
    bodies: tuple[dict[str, JsonValue], ...]
    seen: tuple[Exchange, ...] = ()
    stages: tuple[Stage, ...] = ()
    environment: Environment
    scope: str
    notes: tuple[str, ...] = ()
    struck: tuple[Struck, ...] = ()
    shrunk: Shrunk | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        name = self.finding.endpoint
        if not (name and name.isprintable()):  # it names requests, in a header
            raise ValueError(f"{name[:40]!r} names no endpoint")
        if len(self.bodies) != self.cohort.size:
            raise ValueError(f"{len(self.bodies)} bodies of {self.cohort.size} requests")
        return self

    @property
    def key(self) -> str:
        """The dedupe key of the finding."""
        return self.finding.key

    @property
    def arm(self) -> Arm:
        """Whose finding it is."""
        return self.finding.arm

    @property
    def url(self) -> str:
        """Where it was seen."""
        for end in self.environment.endpoints:
            if (end.role, end.name) == (self.finding.arm, self.finding.endpoint):
                return end.url
        return ""


def encoded(bundle: Bundle) -> bytes:
    """``bundle.json``: the bundle, and the digest of what it says."""
    said = _plain(bundle.model_dump(mode="json"))
    return (json.dumps({"digest": _digest(said), "bundle": said}, indent=1, ensure_ascii=True) + "\n").encode()


def _plain(value: object) -> object:
    """JSON data that is read back as it was written: no half surrogates."""
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def _digest(said: object) -> str:
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def name_of(bundle: Bundle) -> str:
    """A file name for the bundle's key."""
    plain = "".join(char if char.isascii() and (char.isalnum() or char in "-_.") else "-" for char in bundle.key)
    mark = hashlib.sha256(bundle.key.encode("utf-8", "replace")).hexdigest()[:6]
    return f"{plain.strip('.-')[:80]}-{mark}"


def write_files(directory: Path, files: dict[str, bytes]) -> Path:
    """Write a bundle's files into ``directory`` and the same into ``directory.zip``; the directory.

    Raises BundleError where that cannot be.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            draft = directory / f".{name}.{os.getpid()}"
            draft.write_bytes(content)
            draft.replace(directory / name)
        archive = directory.with_name(f"{directory.name}.zip")
        draft = archive.with_name(f".{archive.name}.{os.getpid()}")
        with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as zipped:
            for name, content in files.items():
                zipped.writestr(zipfile.ZipInfo(f"{directory.name}/{name}", (1980, 1, 1, 0, 0, 0)), content)
        draft.replace(archive)
    except OSError as error:
        raise BundleError(f"cannot write the bundle {directory}: {error.strerror or error}") from None
    return directory


def read_bundle(path: Path) -> Bundle:
    """Read a bundle from its directory, its zip file or its ``bundle.json``.

    Raises BundleError, in one line, for what is no bundle, is damaged, or is not as specfuzz wrote it.
    """
    data = _from_zip(path) if path.suffix == ".zip" else _from_directory(path)
    try:
        outer = json.loads(data)
    except (ValueError, RecursionError):
        raise BundleError(f"{path}: {BUNDLE} is damaged: it is not JSON; take a fresh copy of the bundle") from None
    if not isinstance(outer, dict) or not isinstance(outer.get("bundle"), dict):
        raise BundleError(f"{path}: {BUNDLE} is no bundle of specfuzz")
    said = outer["bundle"]
    version = said.get("version")
    if version != VERSION:
        raise BundleError(f"{path}: the bundle has version {version!r}; this specfuzz reads version {VERSION}")
    try:
        if outer.get("digest") != _digest(said):
            raise BundleError(f"{path}: {BUNDLE} was changed after specfuzz wrote it; take a fresh copy of the bundle")
        return Bundle.model_validate_json(json.dumps(said))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        told = ": ".join(filter(None, (where, first["msg"].removeprefix("Value error, "))))
        raise BundleError(f"{path}: {BUNDLE} is damaged: {told}"[:300]) from None
    except (UnicodeError, RecursionError):
        raise BundleError(f"{path}: {BUNDLE} is damaged: a text in it is none") from None


def _from_directory(path: Path) -> bytes:
    file = path / BUNDLE if path.is_dir() else path
    if file.name != BUNDLE:
        raise BundleError(f"{path}: no bundle here; name a directory such as reports/RUN-ID/bundles/NAME, or its .zip")
    try:
        found = file.lstat()
        if not stat.S_ISREG(found.st_mode):
            raise BundleError(f"{file}: is no regular file, so it is not read")
        if found.st_size > LARGEST:
            raise BundleError(f"{file}: has more than {LARGEST} bytes, so it is no bundle")
        return file.read_bytes()
    except OSError as error:
        raise BundleError(f"{file}: cannot read the bundle: {error.strerror}") from None


def _from_zip(path: Path) -> bytes:
    """The bundle inside a zip file; nothing is unpacked, and a file that would leave its directory is refused."""
    try:
        with zipfile.ZipFile(path) as zipped:
            for entry in zipped.infolist():
                if _escapes(entry):
                    raise BundleError(
                        f"{path}: holds {entry.filename[:80]!r}, a path outside its own directory; refused"
                    )
            named = [entry for entry in zipped.infolist() if PurePosixPath(entry.filename).name == BUNDLE]
            if len(named) != 1:
                raise BundleError(f"{path}: holds {len(named)} files {BUNDLE}; a bundle has one")
            if named[0].file_size > LARGEST:
                raise BundleError(f"{path}: {BUNDLE} has more than {LARGEST} bytes, so it is no bundle")
            with zipped.open(named[0]) as file:
                return file.read(LARGEST + 1)[:LARGEST]
    except OSError as error:
        raise BundleError(f"{path}: cannot read the bundle: {error.strerror or error}") from None
    except _DAMAGED_ZIP:
        raise BundleError(f"{path}: is not a zip file that can be read; take a fresh copy of the bundle") from None


def _escapes(entry: zipfile.ZipInfo) -> bool:
    name = entry.filename
    linked = stat.S_ISLNK(entry.external_attr >> 16)
    windows = PureWindowsPath(name)
    rooted = name.startswith("/") or bool(windows.drive) or bool(windows.root)
    return linked or rooted or ".." in windows.parts or ".." in PurePosixPath(name).parts
