"""Those who hear of a soak while it runs: the screen, the metrics, the alerts, ``status.json`` of each leg."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from fuzzer.alerts.alert import Alert, Severity
from fuzzer.alerts.dispatch import Alerts
from fuzzer.alerts.exposition import serving, textfile
from fuzzer.alerts.metrics import NightMetrics
from fuzzer.alerts.opening import channels
from fuzzer.events import Event, Listener
from fuzzer.night import Leg, Night
from fuzzer.report.night.screen import NightScreen
from fuzzer.report.pipes import forgiving
from fuzzer.report.status import StatusFile
from fuzzer.soak.events import (
    BootSeen,
    BulkDropped,
    LegBegan,
    LegOver,
    NightJudged,
    OutageSeen,
    SoakEvent,
    SoakStarted,
)
from fuzzer.soak.options import Telling

QUIET_CODES = ("passed", "interrupted", "bound-open", "leg-undecided", "certain-finding")


@asynccontextmanager
async def watching(telling: Telling, seed: int, *, quiet: bool, painted: bool) -> AsyncIterator[Watchers]:
    """All of them, as long as the soak lasts. Raises UsageError for a port, file, command or address of no use."""
    metrics = NightMetrics()
    async with AsyncExitStack() as stack:
        alerts = Alerts(channels(telling.on_finding, telling.webhook, seed), _say)
        if telling.textfile is not None:
            await stack.enter_async_context(textfile(metrics, telling.textfile))
        if telling.metrics_port is not None:
            url = await stack.enter_async_context(serving(metrics, telling.metrics_port))
            if not quiet:
                _say(f"metrics at {url}")
        await stack.enter_async_context(alerts)
        watchers = Watchers(metrics, alerts, quiet=quiet, painted=painted)
        try:
            yield watchers
        finally:
            watchers.close()


def _say(line: str) -> None:
    with forgiving():
        print(line, file=sys.stderr, flush=True)


@dataclass(slots=True)
class Watchers:
    """Hears the events of legs (`listen`) and of the soak (`tell`), and passes them on."""

    metrics: NightMetrics
    alerts: Alerts
    quiet: bool
    painted: bool
    status: StatusFile = field(default_factory=StatusFile)
    screen: NightScreen | None = None
    night: str = ""
    redacted: bool = False
    _left: float | None = None
    _finding: Listener | None = None

    def listen(self, event: Event) -> None:
        """Take one event of the leg that is running."""
        self.metrics(event)
        self.status(event)
        if self._finding is not None:
            self._finding(event)
        if self.screen is not None:
            with forgiving():
                self.screen(event)

    def tell(self, event: SoakEvent) -> None:
        """Take one event of the soak."""
        match event:
            case SoakStarted(soak):
                self.night, self.redacted = soak.night_id, soak.plan.redact_content
                if self.painted:
                    self.screen = NightScreen(lambda: self._left, event.legs, quiet=self.quiet)
                if not self.quiet:
                    _say(f"{'going on with' if event.resumed else 'soak'} {event.directory}")
            case LegBegan(began):
                self._left = event.left
                self.metrics.leg_begun(began.number, began.purpose, began.schedule, began.concurrency)
                self._finding = self.alerts.listener(self.night, began.number, redacted=self.redacted)
            case LegOver(leg, night):
                self._over(leg, night)
            case BootSeen(boot):
                self.metrics.boot(boot.number)
                if boot.number > 1:
                    self._alert("boot", f"boot/{boot.number}", f"boot {boot.number} of the candidate", boot.why)
            case OutageSeen(outage, over):
                self.metrics.outage(outage.end, not over)
                title = f"{outage.end} {'can be measured again' if over else 'cannot be measured'}"
                self._alert("outage", f"outage/{outage.end}/{outage.since}/{over}", title, outage.why, "warning")
            case BulkDropped(leg):
                self._alert("disk", "disk", "the disk limit is reached", f"the bulk of leg {leg.number} is gone")
            case NightJudged(night):
                self._judged(night)

    def close(self) -> None:
        """Give the terminal back."""
        if self.screen is not None:
            self.screen.close()
        self.status.close()

    def _over(self, leg: Leg, night: Night) -> None:
        self.metrics.leg_ended(leg)
        self.metrics.disk(night.bytes_kept)
        if self.screen is not None:
            with forgiving():
                self.screen.ended(leg)
        self._broken(night)

    def _broken(self, night: Night) -> None:
        """What breaks the night by its sum, at once: findings have alerts of their own."""
        for reason in night.reasons if night.verdict == "fail" else ():
            if reason.code not in QUIET_CODES:
                key = f"{reason.code}/{reason.cell}"
                kind = "drift" if reason.code == "drift" else "finding"
                self._alert(kind, key, f"{reason.code} {reason.cell}".strip(), reason.message, "critical")

    def _judged(self, night: Night) -> None:
        self.metrics.verdict(night.verdict)
        self.metrics.disk(night.bytes_kept)
        first = night.reasons[0].message if night.reasons else ""
        severity: Severity = "info" if night.verdict == "pass" else "critical" if night.verdict == "fail" else "warning"
        self._alert("verdict", "verdict", f"the night's verdict: {night.verdict}", first, severity)

    def _alert(self, kind: str, key: str, title: str, text: str, severity: Severity = "info") -> None:
        alert = {"kind": kind, "key": key, "title": title, "text": text, "night": self.night, "severity": severity}
        self.alerts.offer(Alert.model_validate(alert))
