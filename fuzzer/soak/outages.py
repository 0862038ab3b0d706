"""The times in which an end could not be measured, in the ledger and for those who listen."""

from __future__ import annotations

from collections.abc import Callable

from fuzzer.night import NightReason, Outage
from fuzzer.soak.events import OutageSeen, Tell
from fuzzer.soak.ledger import Away, Ledger, moment
from fuzzer.soak.liveness import Standstill


class Outages:
    """``active`` tells how long the soak has been at work, in seconds. An outage of an earlier process goes on."""

    def __init__(self, ledger: Ledger, tell: Tell, active: Callable[[], float]) -> None:
        self._ledger = ledger
        self._tell = tell
        self._active = active
        self._now = ledger.state.away
        self._from = active() - (self._now.seconds if self._now is not None else 0.0)

    def away(self, end: str, why: str, since: str, active: float) -> None:
        """An end is away, since then at the latest, in moments of the clock and in seconds at work."""
        first = self._now is None
        if self._now is None:
            self._from = active
            self._now = Outage(end=end, since=since, seconds=0.0, why=why)
        self._note(self._now.model_copy(update={"end": end, "why": why}), self._active())
        if first:
            self._tell(OutageSeen(self._now, over=False))

    def missed(self, end: str, why: str, ended: str, still: Standstill | None) -> None:
        """An end was not there in a leg that has ended; if it stood still, it may have come back in it."""
        if still is None:
            self.away(end, why, ended, self._active())
        elif still.over:
            outage = Outage(end=end, since=moment(still.since), seconds=round(still.seconds, 1), why=why)
            self._ledger.write(Away(outage=outage, over=True))
            for over in (False, True):
                self._tell(OutageSeen(outage, over=over))
        else:
            self.away(end, why, moment(still.since), self._active() - still.seconds)

    def back(self, active: float) -> None:
        """Both ends could be measured ``active`` seconds into the soak."""
        if self._now is not None:
            self._note(self._now, active, over=True)
            self._tell(OutageSeen(self._now, over=True))
            self._now = None

    @property
    def reason(self) -> NightReason | None:
        """What there is to say if the soak ends now."""
        if self._now is None:
            return None
        text = f"{self._now.end} could not be measured when the soak ended: {self._now.why}"
        return NightReason(code="outage", message=text)

    def _note(self, outage: Outage, until: float, *, over: bool = False) -> None:
        self._now = outage.model_copy(update={"seconds": round(max(until - self._from, 0.0), 1)})
        self._ledger.write(Away(outage=self._now, over=over))
