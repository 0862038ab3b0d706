"""Who else uses a server: somebody whose requests run, and generate, while this run has none in flight.

What this run has left without its end may run on (a leak is a finding of its own), until the server says that nothing
runs any more.
"""

from __future__ import annotations

from collections import Counter

from fuzzer.history.records import Arm, Exchange, Stage
from fuzzer.oracles.service import unended

End = tuple[Arm, str]


class Company:
    """At which endpoints somebody else's requests were seen to run, in which cells, and how many at most (``seen``)."""

    def __init__(self) -> None:
        self.seen: dict[End, Counter[str]] = {}
        self._left: set[End] = set()
        self._fresh: set[End] = set()

    def exchange(self, exchange: Exchange) -> None:
        """One has ended in some way, or was lost with the process that sent it."""
        if unended(exchange):
            (self._fresh if exchange.done else self._left).add((exchange.sent.arm, exchange.sent.endpoint))

    def stage(self, stage: Stage) -> int:
        """How many requests of somebody else's ran when a stage, whose exchanges are known, began; 0 for none."""
        end, others = (stage.arm, stage.endpoint), stage.deviations.others
        if stage.before is not None and stage.before.running == 0:
            self._left.discard(end)
        if end in self._left:
            others = 0
        if end in self._fresh:
            self._left.add(end)
            self._fresh.discard(end)
        if stage.after is not None and stage.after.running == 0:
            self._left.discard(end)
        if others:
            cells = self.seen.setdefault(end, Counter())
            cells[stage.cell] = max(cells[stage.cell], others)
        return others
