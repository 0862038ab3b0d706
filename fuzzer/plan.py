"""What to run: endpoints, cells, sampling and policy, validated before anything is sent."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import date
from typing import Annotated, Literal
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from fuzzer.shapes import ScheduleName as ScheduleName

Engine = Literal["auto", "vllm", "sglang", "llamacpp", "mlx", "trtllm", "lmdeploy", "openai"]
Thinking = Literal["auto", "on", "off"]
Role = Literal["control", "gated"]

LADDER = (1, 2, 3, 4, 5, 6, 8, 12, 16, 32)
SEQUENTIAL_CAP = 4  # DESIGN: an open sequential test is cut at four times the clean sample
PROBE_COUNT = 12  # prompts that preflight sends to each end, one at a time


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Endpoint(_Model):
    """One server under test or its reference.

    ``url`` is the base, with or without ``/v1``; ``unix:///run/engine.sock`` is a Unix socket. The API key is read from
    the environment variable ``api_key_env`` when the client is built and is stored nowhere; ``headers`` may hold
    secrets and are never written either. ``lm_head`` is the precision of the output head as the user states it.
    ``ca_file`` holds certificates that are trusted besides the system's.
    """

    name: str
    url: str
    model: str | None = None
    api_key_env: str | None = None
    headers: dict[str, str] = Field(default_factory=dict, exclude=True, repr=False)
    engine: Engine = "auto"
    lm_head: str | None = None
    ca_file: str | None = None

    @field_validator("url")
    @classmethod
    def _http_url(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme == "unix":
            return _socket_url(value)
        try:
            port_ok = parts.port is None or parts.port > 0
        except ValueError:
            port_ok = False
        if parts.scheme not in ("http", "https") or not parts.hostname or not port_ok:
            raise ValueError(f"{value!r} is not an http(s) URL; write for example http://127.0.0.1:8000")
        if parts.username or parts.password:
            raise ValueError("credentials do not belong in a URL; name an environment variable with --api-key-env")
        return value.rstrip("/")

    @property
    def socket(self) -> str | None:
        """The path of the Unix socket at which it listens, if it does."""
        return unquote(urlsplit(self.url).path) if self.url.startswith("unix:") else None

    @property
    def base(self) -> str:
        """The server's root, without a trailing ``/v1``."""
        if self.socket is not None:
            return "http://localhost"
        return self.url[: -len("/v1")] if self.url.endswith("/v1") else self.url


def _socket_url(value: str) -> str:
    parts = urlsplit(value)
    if parts.netloc or len(parts.path) < 2 or parts.query or parts.fragment:
        raise ValueError(f"{value!r} names no Unix socket; write for example unix:///run/engine.sock")
    return value


class Sampling(_Model):
    """How every judged request is sent; greedy always (DESIGN, "Greedy means greedy").

    ``max_tokens`` None means 256, or 4096 where the model thinks. ``timeout`` is the total time for one exchange in
    seconds; ``connect_timeout`` and ``read_timeout`` (nothing comes for that long) never exceed it.
    """

    max_tokens: Annotated[int, Field(ge=1, le=131072)] | None = None
    thinking: Thinking = "auto"
    stream: bool = True
    timeout: Annotated[float, Field(gt=0, le=86400)] = 120.0
    cache: Literal["warm", "cold"] = "warm"
    seed: int = 1234

    @property
    def tokens(self) -> int:
        """The output limit that is sent."""
        return self.max_tokens or (4096 if self.thinking == "on" else 256)


class Policy(_Model):
    """What breaks a gate and how sure one must be. Rates are shares from 0 to 1.

    ``requests`` fixes the judged answers per gated cell and arm; None means the sequential test.
    """

    max_wrong_rate: Annotated[float, Field(gt=0, lt=0.5)] = 0.01
    confidence: Annotated[float, Field(gt=0.5, lt=1)] = 0.95
    alpha: Annotated[float, Field(gt=0, lt=0.5)] = 0.01
    requests: Annotated[int, Field(ge=1)] | None = None
    control_requests: Annotated[int, Field(ge=1)] = 60
    early_stop: bool = True
    require_speculation: bool = True

    @property
    def sequential(self) -> bool:
        """Whether cells stop by the sequential test (a fixed size implies no early stop)."""
        return self.early_stop and self.requests is None


class Cell(_Model):
    """Candidate x lm_head precision x concurrency x schedule."""

    candidate: str
    lm_head: str | None
    concurrency: int
    schedule: ScheduleName
    role: Role

    @property
    def key(self) -> str:
        """Unique in a plan, for instance ``candidate/nvfp4/c8/closed-loop``."""
        return f"{self.candidate}/{self.lm_head or 'unstated'}/c{self.concurrency}/{self.schedule}"


class Waiver(_Model):
    """A known finding (by dedupe key) that does not fail the gate, with a reason, until the ISO date ``expires``."""

    key: str = Field(min_length=1)
    reason: str = Field(min_length=1)
    expires: str

    @field_validator("expires", mode="before")
    @classmethod
    def _date(cls, value: object) -> str:
        try:
            return date.fromisoformat(str(value)).isoformat()
        except ValueError:
            raise ValueError(f"{value!r} is no date such as 2027-01-31") from None


class Plan(_Model):
    """A whole run, as the user asked for it: everything that decides what is sent, and nothing else.

    Two runs with equal plans send the same prompts in the same schedule, byte for byte. ``weave`` puts canaries into
    the rows of corpora, ``pad`` is the length in tokens of padded prompts (None: each form's own), ``fuzz`` the number
    of prompts that Hypothesis draws. ``wait_ready`` is how long a server may take to load its model, in seconds, and
    ``p50_concurrency`` the level that the user runs at most of the time; they change nothing of what is sent, and the
    digest leaves them out. With a ``speed_temperature`` speed and acceptance are measured at it, too, in blocks of
    their own that are judged by nobody.
    """

    candidates: tuple[Endpoint, ...] = Field(min_length=1)
    references: tuple[Endpoint, ...] = ()
    concurrency: tuple[Annotated[int, Field(ge=1, le=1024)], ...] = (1, 8)
    schedules: tuple[ScheduleName, ...] = ("closed-loop", "burst-solo")
    families: tuple[str, ...] = ()
    corpora: tuple[str, ...] = ()
    weave: bool = True
    pad: Annotated[int, Field(ge=1, le=200_000)] | None = None
    fuzz: Annotated[int, Field(ge=0, le=100_000)] = 0
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    sampling: Sampling = Sampling()
    policy: Policy = Policy()
    budget_seconds: Annotated[float, Field(gt=0)] | None = None
    redact_content: bool = False
    waivers: tuple[Waiver, ...] = ()
    wait_ready: Annotated[float, Field(ge=0, le=86400)] = 0.0
    p50_concurrency: Annotated[int, Field(ge=1, le=1024)] | None = None
    speed_temperature: Annotated[float, Field(gt=0, le=2)] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Plan:
        for role, group in (("candidate", self.candidates), ("reference", self.references)):
            names = [endpoint.name for endpoint in group]
            for name in names:
                if names.count(name) > 1:
                    raise ValueError(f"two {role}s are called {name!r}; name them apart: --{role} NAME=URL")
        if len(set(self.concurrency)) != len(self.concurrency):
            raise ValueError("a concurrency is given twice; write for example --concurrency 1,8")
        if len(set(self.schedules)) != len(self.schedules):
            raise ValueError("a schedule is given twice; write for example --schedule closed-loop,burst-solo")
        if self.p50_concurrency is not None and self.p50_concurrency not in (1, *self.concurrency):
            levels = ",".join(map(str, sorted({*self.concurrency, self.p50_concurrency})))
            raise ValueError(
                f"--p50-concurrency {self.p50_concurrency} is not measured; add it: --concurrency {levels}"
            )
        if any(candidate.name == "reference" for candidate in self.candidates):
            raise ValueError("a candidate cannot be called 'reference'; name it otherwise: --candidate NAME=URL")
        for candidate in self.candidates:
            if self.references and self.reference_of(candidate.name) is None:
                raise ValueError(
                    f"candidate {candidate.name!r} has no reference of that name and none is unnamed; "
                    f"add --reference {candidate.name}=URL"
                )
        return self

    def reference_of(self, candidate: str) -> Endpoint | None:
        """The reference that serves this candidate: the one of the same name, else the unnamed one."""
        by_name = {reference.name: reference for reference in self.references}
        return by_name.get(candidate) or by_name.get("reference")

    def endpoint(self, arm: Literal["candidate", "reference"], candidate: str) -> Endpoint:
        """The endpoint that serves an arm of this candidate's cells."""
        if arm == "candidate":
            return next(endpoint for endpoint in self.candidates if endpoint.name == candidate)
        reference = self.reference_of(candidate)
        if reference is None:
            raise KeyError(candidate)
        return reference

    def cells(self) -> tuple[Cell, ...]:
        """All cells, each candidate's control (concurrency 1, always) first; it is gated if 1 is the only level."""
        return tuple(self._cells())

    def _cells(self) -> Iterator[Cell]:
        levels = sorted(set(self.concurrency))
        for candidate in self.candidates:
            role: Role = "gated" if levels == [1] else "control"
            yield Cell(candidate=candidate.name, lm_head=candidate.lm_head, concurrency=1,
                           schedule="closed-loop", role=role)  # fmt: skip
            for level in levels:
                for schedule in self.schedules if level > 1 else ():
                    yield Cell(candidate=candidate.name, lm_head=candidate.lm_head, concurrency=level,
                               schedule=schedule, role="gated")  # fmt: skip

    @property
    def gated(self) -> tuple[Cell, ...]:
        """The cells that the verdict rests on."""
        return tuple(cell for cell in self.cells() if cell.role == "gated")

    @property
    def digest(self) -> str:
        """A short hash of the plan, to tell unlike runs apart."""
        idle = {"wait_ready", "p50_concurrency"} | ({"speed_temperature"} if self.speed_temperature is None else set())
        return hashlib.sha256(self.model_dump_json(exclude=idle).encode()).hexdigest()[:16]
