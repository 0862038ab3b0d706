"""Takes alerts without ever waiting, thins them out, and delivers them beside the run."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self

import anyio

from fuzzer.alerts.alert import Alert, finding_alert
from fuzzer.alerts.hooks import Channel, UndeliveredError
from fuzzer.events import Event, FindingSeen, Listener
from fuzzer.report.text import clean
from fuzzer.report.words import plural

PERIOD: Final = 3600.0  # seconds between two alerts of one key
HOURLY: Final = 20  # alerts an hour in all; half of them may be less than critical
ROOM: Final = 50  # alerts that wait for one way out
GRACE: Final = 3.0  # seconds for what still waits when the soak ends, which itself may take 10
_HOUR: Final = 3600.0

Tell = Callable[[str], None]


@dataclass(slots=True)
class Limits:
    """At most one alert a key and period, and so many an hour in all; ``clock`` gives seconds.

    The night's verdict always passes. What may pass is asked and counted in one: `pass_`.
    """

    period: float = PERIOD
    hourly: int = HOURLY
    clock: Callable[[], float] = time.monotonic
    _last: dict[str, float] = field(default_factory=dict)
    _passed: deque[float] = field(default_factory=deque)

    def pass_(self, alert: Alert) -> bool:
        """Whether this alert may go out now; it then counts."""
        now = self.clock()
        while self._passed and now - self._passed[0] >= _HOUR:
            self._passed.popleft()
        if alert.kind == "verdict":
            return True
        last = self._last.get(alert.key)
        room = self.hourly if alert.severity == "critical" else (self.hourly + 1) // 2
        if (last is not None and now - last < self.period) or len(self._passed) >= room:
            return False
        self._last[alert.key] = now
        self._passed.append(now)
        return True


@dataclass(slots=True)
class Alerts:
    """The way from the run to people: ``async with Alerts(channels, tell) as alerts``.

    Inside the context a task for each channel delivers what is offered. When the context ends, however it ends, they
    get ``grace`` seconds for what still waits. ``tell`` gets a line for what could not be delivered.
    """

    channels: Sequence[Channel]
    tell: Tell
    limits: Limits = field(default_factory=Limits)
    room: int = ROOM
    grace: float = GRACE
    _lanes: list[_Lane] = field(init=False)
    _held: Counter[str] = field(init=False, default_factory=Counter)

    def __post_init__(self) -> None:
        self._lanes = [_Lane(channel, self.tell, self.room) for channel in self.channels]

    def offer(self, alert: Alert) -> None:
        """Take an alert; never waits. What the limits hold back is counted in the next alert that passes."""
        if not self._lanes:
            return
        if not self.limits.pass_(alert):
            self._held[alert.kind] += 1
            return
        merged = alert.model_copy(update={"more": alert.more + self._held.total()})
        self._held.clear()
        for lane in self._lanes:
            lane.put(merged)

    def listener(self, night: str, leg: int, *, redacted: bool = False) -> Listener:
        """A listener for a leg's events that offers an alert for each certain finding.

        Others decide by their rate, if at all: a clean night has some, and must alarm nobody.
        """

        def listen(event: Event) -> None:
            if isinstance(event, FindingSeen) and event.finding.certainty == "certain":
                self.offer(finding_alert(event.finding, night, leg, redacted=redacted))

        return listen

    async def __aenter__(self) -> Self:
        for lane in self._lanes:
            lane.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with anyio.CancelScope(shield=True):
            with anyio.move_on_after(self.grace):
                for lane in self._lanes:
                    await lane.drained()
            for lane in self._lanes:
                await lane.stop()
        if held := self._held.total():
            self.tell(f"alerts: {plural(held, 'more alert')} held back by the limits ({_counted(self._held)})")


def _counted(held: Counter[str]) -> str:
    return ", ".join(f"{kind} {n:,}" for kind, n in held.most_common())


@dataclass(slots=True)
class _Lane:
    """What waits for one channel, in order."""

    channel: Channel
    tell: Tell
    room: int
    _waiting: deque[Alert] = field(default_factory=deque)
    _sending: bool = False
    _lost: int = 0
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _idle: asyncio.Event = field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None

    def put(self, alert: Alert) -> None:
        """Let an alert wait; where there is no room, it is merged into the last one that waits."""
        if not self.channel.wants(alert):
            return
        if len(self._waiting) >= self.room and alert.kind != "verdict":
            last = self._waiting.pop()
            self._waiting.append(last.model_copy(update={"more": last.more + 1 + alert.more}))
            return
        self._waiting.append(alert)
        self._idle.clear()
        self._changed.set()

    def start(self) -> None:
        """Begin to deliver, in a task of asyncio's own, which no cancelled scope around it takes down."""
        self._task = asyncio.create_task(self._work())

    async def drained(self) -> None:
        """Wait until nothing waits."""
        await self._idle.wait()

    async def stop(self) -> None:
        """Give up what still waits, and say so."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._lost += len(self._waiting) + self._sending
        if self._lost:
            self.tell(f"{self.channel.name}: {plural(self._lost, 'alert')} could not be delivered")

    async def _work(self) -> None:
        while True:
            while self._waiting:
                await self._deliver(self._waiting.popleft())
            self._idle.set()
            self._changed.clear()
            await self._changed.wait()

    async def _deliver(self, alert: Alert) -> None:
        self._sending = True
        try:
            await self.channel.deliver(alert)
        except UndeliveredError as error:
            self._failed(str(error))
        except Exception as error:  # noqa: BLE001  # whatever it is, the run goes on and so do later alerts
            self._failed(type(error).__name__)
        self._sending = False

    def _failed(self, why: str) -> None:
        """Count it, and say it the first time; how many there were is said at the end."""
        self._lost += 1
        if self._lost == 1:
            self.tell(f"{self.channel.name}: an alert could not be delivered: {clean(why, 600)}")
