"""What an earlier process of the same run has already sent: the driver's memory when a run is resumed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from fuzzer.history.records import AnyRecord, Block, Done, Exchange, Prompt, Recalled, Sent, Stage

PROBES = 1_000_000  # filler from this index on is preflight's and warm-up's


@dataclass(slots=True)
class Memo:
    """Exchanges of the blocks that are still open (closed ones need no memory), and what must not be used again.

    ``exposures`` counts (arm, endpoint) x prompt. An exchange without ``done`` is lost: it is returned, never re-sent.
    """

    exchanges: dict[str, Exchange] = field(default_factory=dict)
    stages: set[str] = field(default_factory=set)
    prompts: set[str] = field(default_factory=set)
    fillers: int = 0
    exposures: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)

    def add(self, record: AnyRecord) -> None:
        """Take in one line of the history, in file order."""
        if isinstance(record, Prompt):
            self.prompts.add(record.id)
            if record.id.startswith("f") and int(record.id[1:]) < PROBES:
                self.fillers = max(self.fillers, int(record.id[1:]) + 1)
        elif isinstance(record, Sent):
            self.exchanges[record.key] = Exchange(sent=record, done=None)
            self.exposures.setdefault((record.arm, record.endpoint), Counter())[record.prompt] += 1
        elif isinstance(record, Done):
            self.exchanges[record.key] = Exchange(sent=self.exchanges[record.key].sent, done=record)
        elif isinstance(record, Recalled):
            self.exchanges[record.sent.key] = record.exchange
        elif isinstance(record, Stage):
            self.stages.add(record.key)
        elif isinstance(record, Block):
            self._forget(record)

    def _forget(self, block: Block) -> None:
        closed = [
            key
            for key, exchange in self.exchanges.items()
            if exchange.sent.cell == block.cell and exchange.sent.block == block.block
        ]
        for key in closed:
            del self.exchanges[key]
