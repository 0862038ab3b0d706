"""What an oracle may look at besides the exchanges it judges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from fuzzer import prompts as families
from fuzzer.history.overlap import OverlapIndex
from fuzzer.history.records import Exchange, Prompt, Received, ToolCall
from fuzzer.history.scores import Scores
from fuzzer.oracles.build import label
from fuzzer.oracles.content import ContentIndex
from fuzzer.prompts.grade import Grade

__all__ = ["Batch", "ContentIndex", "Context"]

Batch: TypeAlias = tuple[Exchange, ...]
"""The exchanges of one closed block of one cell: both arms, all phases, filler too."""

_Place = tuple[str, int, str, int, str, int, str]


class Checker(Protocol):
    """The check of an answer by its prompt's family."""

    def __call__(
        self, prompt: Prompt, text: str, /, *,
        finish_reason: str | None = None, calls: Sequence[ToolCall] = (), reasoning: str = "",
    ) -> Grade:  # fmt: skip
        """Grade a text as the answer to a prompt."""


def _nothing(_: Exchange) -> Scores | None:
    return None


@dataclass(slots=True)
class Context:
    """The prompts of the run, who was in flight with whom, whose content is whose, and the block's grades and pairs.

    ``lm_heads`` maps an endpoint's name to the precision of its output head as the user stated it; the entry
    ``reference:NAME`` is the reference's where a candidate has the same name. ``so_far`` holds what
    oracles that judge a rate have counted in the cell's earlier blocks. ``told`` gives what the reference thinks of an
    exchange's output, where it was asked to score it.
    """

    prompts: Mapping[str, Prompt]
    overlap: OverlapIndex
    content: ContentIndex
    lm_heads: Mapping[str, str | None]
    batch: Batch
    check: Checker = families.check
    so_far: Counter[str] = field(default_factory=Counter)
    told: Callable[[Exchange], Scores | None] = _nothing
    _grades: dict[str, Grade | None] = field(default_factory=dict)
    _places: dict[_Place, Exchange] | None = None
    _replies: dict[str, str] | None = None

    def prompt(self, exchange: Exchange) -> Prompt | None:
        """The prompt of an exchange, or None if the history does not hold it."""
        return self.prompts.get(exchange.sent.prompt)

    def grade(self, exchange: Exchange) -> Grade | None:
        """How the exchange's answer was graded, or None where no usable reply came. Each is checked once."""
        if exchange.key not in self._grades:
            self._grades[exchange.key] = self._graded(exchange)
        return self._grades[exchange.key]

    def pair(self, exchange: Exchange) -> Exchange | None:
        """The other arm's exchange of the same cell, block, phase, pass, place and prompt, if there is one."""
        if self._places is None:
            self._places = _by_place(self.batch)
        other = "reference" if exchange.sent.arm == "candidate" else "candidate"
        return self._places.get(_place(exchange, other))

    def reference_reply(self, prompt: str) -> str | None:
        """What the reference answered to this prompt somewhere in the block, if it did."""
        if self._replies is None:
            self._replies = {
                exchange.sent.prompt: exchange.received.text
                for exchange in self.batch
                if exchange.sent.arm == "reference"
                and exchange.sent.plain
                and exchange.ok
                and exchange.received is not None
            }
        return self._replies.get(prompt)

    def lm_head(self, exchange: Exchange) -> str | None:
        """The stated precision of the output head of the endpoint that answered."""
        sent = exchange.sent
        named = label(sent.arm, sent.endpoint)
        return self.lm_heads[named] if named in self.lm_heads else self.lm_heads.get(sent.endpoint)

    def _graded(self, exchange: Exchange) -> Grade | None:
        received, prompt = exchange.received, self.prompt(exchange)
        if received is None or received.outcome != "ok" or prompt is None:
            return None
        return self.answers(received, prompt)

    def answers(self, received: Received, prompt: Prompt) -> Grade:
        """How a reply is graded as the answer to a prompt, whether it was asked that or not."""
        return self.check(
            prompt,
            received.text,
            finish_reason=received.finish_reason,
            calls=received.tool_calls,
            reasoning=received.reasoning,
        )


def _by_place(batch: Iterable[Exchange]) -> dict[_Place, Exchange]:
    return {_place(exchange, exchange.sent.arm): exchange for exchange in batch}


def _place(exchange: Exchange, arm: str) -> _Place:
    sent = exchange.sent
    planned = sent.phase in ("measure", "neighbour")
    index = sent.index if planned else 0  # elsewhere a prompt comes once, and not always at one place
    return (sent.cell, sent.block, sent.phase, sent.pass_index, arm, index, sent.prompt)
