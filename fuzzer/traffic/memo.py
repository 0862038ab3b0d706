"""What an earlier process of the same run has already sent: the driver's memory when a run is resumed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from fuzzer.history.records import AnyRecord, Block, Done, Exchange, Prompt, Recalled, Sent, Stage
from fuzzer.history.schedule import Release, Scheduled
from fuzzer.history.scores import Scored
from fuzzer.traffic.setting import NEIGHBOURS

PROBES = 1_000_000  # filler from this index on is preflight's and warm-up's


@dataclass(slots=True)
class Memo:
    """Exchanges of the blocks that are still open (closed ones need no memory), and what must not be used again.

    ``exposures`` counts (arm, endpoint) x prompt. An exchange without ``done`` is lost: it is returned, never re-sent.
    ``neighbours`` is the first planned neighbour that no schedule has used.
    """

    exchanges: dict[str, Exchange] = field(default_factory=dict)
    schedules: dict[str, Scheduled] = field(default_factory=dict)
    stages: set[str] = field(default_factory=set)
    scored: dict[str, Scored] = field(default_factory=dict)
    prompts: set[str] = field(default_factory=set)
    fillers: int = 0
    neighbours: int = NEIGHBOURS
    exposures: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)

    def add(self, record: AnyRecord) -> None:
        """Take in one line of the history, in file order."""
        if isinstance(record, Prompt):
            self.prompts.add(record.id)
            if record.id.startswith("f") and int(record.id[1:]) < PROBES:
                self.fillers = max(self.fillers, int(record.id[1:]) + 1)
        elif isinstance(record, Scheduled):
            self._schedule(record)
        elif isinstance(record, Sent):
            self.exchanges[record.key] = Exchange(sent=record, done=None)
            self.exposures.setdefault((record.arm, record.endpoint), Counter())[record.prompt] += 1
        elif isinstance(record, Done):
            self.exchanges[record.key] = Exchange(sent=self.exchanges[record.key].sent, done=record)
        elif isinstance(record, Recalled):
            self.exchanges[record.sent.key] = record.exchange
        elif isinstance(record, Stage):
            self.stages.add(record.key)
        elif isinstance(record, Scored):
            self.scored[record.key] = record
        elif isinstance(record, Block):
            self._forget(record)

    def releases(self, cell: str, block: int) -> tuple[Release, ...] | None:
        """The schedule of a block that is open: the same on both arms, so whichever was journalled tells."""
        for scheduled in self.schedules.values():
            if (scheduled.cell, scheduled.block) == (cell, block):
                return scheduled.releases
        return None

    def _schedule(self, scheduled: Scheduled) -> None:
        self.schedules[scheduled.key] = scheduled
        for release in scheduled.releases:
            for send in release.sends:
                if send.prompt.startswith("f"):
                    self.neighbours = max(self.neighbours, int(send.prompt[1:]) + 1)

    def _forget(self, block: Block) -> None:
        gone = (block.cell, block.block)
        for key in [key for key, item in self.exchanges.items() if (item.sent.cell, item.sent.block) == gone]:
            del self.exchanges[key]
        for key in [key for key, item in self.schedules.items() if (item.cell, item.block) == gone]:
            del self.schedules[key]
        for key in [key for key, item in self.scored.items() if (item.cell, item.block) == gone]:
            del self.scored[key]
