"""Which life of the candidate's process is it? Told by counters that go backwards, or by when the process began."""

from __future__ import annotations

from collections.abc import Callable

from fuzzer.events import Event, StageDone
from fuzzer.history.records import Counters
from fuzzer.night import Boot
from fuzzer.oracles.health import restarted
from fuzzer.soak.ledger import now


class BootWatch:
    """Listens to the stages of all legs, and tells of each new boot of a candidate, the first one too.

    ``counters`` are the last ones of each candidate, from an earlier process of the soak too. An engine without
    counters has one boot for all that can be told. ``answers``: the last stage ended with a candidate that told its
    counters.
    """

    def __init__(self, boots: int, counters: dict[str, Counters], booted: Callable[[Boot], None]) -> None:
        self._boots = boots
        self.counters = counters
        self._booted = booted
        self.answers = False

    def __call__(self, event: Event) -> None:
        """Take one event."""
        if not isinstance(event, StageDone) or event.stage.arm != "candidate":
            return
        if self._boots == 0:
            self._next("the soak began")
        self.answers = event.stage.after is not None
        name = event.stage.endpoint
        for seen in (event.stage.before, event.stage.after):
            if seen is None:
                continue
            last = self.counters.get(name)
            if last is not None and restarted(last, seen):
                self._next(f"{name}: its counters or its process began anew")
            self.counters[name] = seen

    def _next(self, why: str) -> None:
        self._boots += 1
        self._booted(Boot(number=self._boots, since=now(), why=why))
