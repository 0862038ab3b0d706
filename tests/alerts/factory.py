"""Alerts, legs and a way out that remembers, for the tests of this folder."""

from __future__ import annotations

from dataclasses import dataclass, field

import anyio
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from fuzzer.alerts.alert import Alert, AlertKind, Severity
from fuzzer.alerts.hooks import UndeliveredError
from fuzzer.alerts.metrics import NightMetrics
from fuzzer.events import ExchangeDone, ExchangeSent
from fuzzer.history.records import Arm
from fuzzer.night import CellCount, Leg
from fuzzer.plan import Cell

CELL = Cell(candidate="candidate", lm_head="nvfp4", concurrency=8, schedule="closed-loop", role="gated")
LABELS = {"candidate": "candidate", "lm_head": "nvfp4", "concurrency": "8", "schedule": "closed-loop"}


def alert(
    key: str = "drift/anchors",
    *,
    kind: AlertKind = "drift",
    title: str = "Drift",
    text: str = "answers fail more often later in this boot",
    severity: Severity = "warning",
) -> Alert:
    return Alert(kind=kind, key=key, title=title, text=text, night="n1", leg=3, severity=severity)


def counts(k: int, n: int, *, acceptance: float | None = 3.5, speed: float | None = 120.0) -> CellCount:
    return CellCount(
        key=CELL.key, role="gated", candidate="candidate", lm_head="nvfp4", concurrency=8, schedule="closed-loop",
        counted=True, k=k, n=n, acceptance=acceptance, tokens_per_second=speed, reference_tokens_per_second=60.0,
    )  # fmt: skip


def leg(*cells: CellCount) -> Leg:
    return Leg(
        number=3, run_id="r", purpose="sweep", why="rotation", schedule="closed-loop", concurrency=8, seed=1, boot=1,
        started="2026-11-30T00:00:00Z", ended="2026-11-30T00:05:00Z", active=300, first_request=0, verdict="pass",
        exit_status=0, cells=cells,
    )  # fmt: skip


def values(metrics: NightMetrics, name: str) -> dict[tuple[tuple[str, str], ...], float]:
    """What is exposed under a name, by its labels in alphabetical order."""
    page = generate_latest(metrics.registry).decode()
    samples = [sample for family in text_string_to_metric_families(page) for sample in family.samples]
    return {tuple(sorted(sample.labels.items())): sample.value for sample in samples if sample.name == name}


def value(metrics: NightMetrics, name: str, **labels: str) -> float:
    return values(metrics, name)[tuple(sorted(labels.items()))]


def exchange_ends(metrics: NightMetrics, arm: Arm = "candidate", outcome: str = "ok") -> None:
    metrics(ExchangeSent(arm, "measure"))
    metrics(ExchangeDone(arm, "measure", outcome))


@dataclass
class Remembering:
    """A way out that keeps what comes; it fails with ``why``, or waits until ``gate`` is set, if there is one."""

    why: str = ""
    gate: anyio.Event | None = None
    got: list[Alert] = field(default_factory=list)
    began: anyio.Event = field(default_factory=anyio.Event)
    name: str = "a channel"

    def wants(self, alert: Alert) -> bool:
        return True

    async def deliver(self, alert: Alert) -> None:
        self.began.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.why:
            raise UndeliveredError(self.why)
        self.got.append(alert)
