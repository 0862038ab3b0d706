"""Who else uses a server: somebody whose requests run, and generate, while this run has none in flight.

A gauge that stands still is no company: some engines renew it only while they work. Nor are requests that this run has
broken off itself, which may run on (a leak is a finding of its own).
"""

from __future__ import annotations

from fuzzer.history.records import Arm, Counters, Exchange, Stage
from fuzzer.oracles.health import restarted

End = tuple[Arm, str]


class Company:
    """What each endpoint ran before its stages began.

    ``broken`` holds the endpoints at which this run has left a request without its end; ``seen`` those at which
    somebody else's were running, and how many at most.
    """

    def __init__(self) -> None:
        self.broken: set[End] = set()
        self.seen: dict[End, int] = {}
        self._last: dict[End, Counters] = {}

    def exchange(self, exchange: Exchange) -> None:
        """One has ended, or never will; what a server refused leaves nothing behind."""
        received = exchange.received
        if received is None or received.outcome not in ("ok", "refused", "connect"):
            self.broken.add((exchange.sent.arm, exchange.sent.endpoint))

    def stage(self, stage: Stage) -> int:
        """How many requests of somebody else's ran when a stage began; 0 where that cannot be told."""
        end = (stage.arm, stage.endpoint)
        last, before = self._last.get(end), stage.before
        if stage.after is not None:
            self._last[end] = stage.after
        if end in self.broken or last is None or before is None or not before.running or restarted(last, before):
            return 0
        if last.generated_tokens is None or (before.generated_tokens or 0) <= last.generated_tokens:
            return 0
        self.seen[end] = max(self.seen.get(end, 0), int(before.running))
        return int(before.running)
