"""Faults of state that outlives its request or belongs to another: slots, conversations, the prompts in flight."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fuzzer.sim.answer import Slot, text_of
from fuzzer.sim.faults.answers import own, saying
from fuzzer.sim.faults.base import Fault, Plant, strikes_server

if TYPE_CHECKING:
    from fuzzer.sim.engine import Engine, Messages, Request
    from fuzzer.sim.scheduler import Step
    from fuzzer.sim.sequence import Script
    from fuzzer.sim.sequence import Sequence as Running

_FINISHED = 32  # requests that finished last, whose answers are kept, as so many slots do
_CONVERSATIONS = 64  # finished turns whose slots are kept for the next one
_BURST = 4  # sequences at once, from which a batch is a burst
_LAZY = 3  # requests that join a batch others have left, from which it is steady load
_TURNS = 2  # lone requests and bursts that have taken turns before a slot is kept
_LONES = 2  # lone requests in a row between two bursts: one of a burst may be over before the others come
_RESTORING = 5  # steps that it takes to restore a slot
_ROW = 2  # drains that have gone before
_DRAINED = 3  # sequences left, at which a drain gets stuck
_NOBODYS = (
    "The harbour was rebuilt after the storm, and the lighthouse has stood there since.",
    "Water boils at a lower temperature on a mountain, because the air is thinner there.",
    "Most of the museum is free to enter, but the tower asks for a ticket.",
    "The recipe takes two eggs, a cup of flour and a little patience.",
)


class LastMessageSwap(Plant):
    """Reads the last user message of another request that is in flight."""

    def begins(self, request: Request, script: Script) -> Script:
        """Answer the other's question in one's own frame."""
        if not (self.strikes(request) and own(request, script)):
            return script
        mine = _last_user(request.chat.messages)
        texts = {_last_user(other.chat.messages): other for other in self.engine.in_flight.values()}
        others = [text for text in texts if text not in ("", mine)]
        if not (mine and others):
            return script
        text = others[request.draw.choose(len(others), 6)]
        self.acted(request, texts[text])
        reading = self.engine.read(_with_last_user(request.chat.messages, text))
        return dataclasses.replace(script, nodes=reading.nodes, key=reading.key)


class StaleAnswer(Plant):
    """Says what another request was answered that finished earlier."""

    def __init__(self, name: str, engine: Engine) -> None:
        super().__init__(name, engine)
        self._finished: deque[Request] = deque(maxlen=_FINISHED)

    def begins(self, request: Request, script: Script) -> Script:
        """Say one of the answers that nobody in flight waits for."""
        if not (self.strikes(request) and own(request, script)):
            return script
        busy = {other.reading.key for other in self.engine.in_flight.values()}
        right = text_of(request.reading.slots)
        kept = (other for other in self._finished if other.reading.key not in busy)
        others = [other for other in kept if other.sequence.text != right]
        if not others:
            return script
        other = others[request.draw.choose(len(others), 7)]
        self.acted(request, other)
        return saying(request, (Slot(other.sequence.text, content=True),), script)

    def left(self, sequence: Running) -> None:
        """Remember a whole answer."""
        request = self.engine.in_flight[sequence]
        if sequence.finish_reason == "stop" and sequence.text and "truncate" not in request.draw:
            self._finished.append(request)


class StaleSlot(Plant):
    """Where lone requests and bursts take turns, a lone one's slot is kept for the next; a burst overwrites it unsaid.

    Anything else drops what is kept: bursts of another size, many lone requests in a row, and steady load, where
    requests keep joining a batch that others have left. To restore a slot takes some steps; if another request joins
    meanwhile, it is cleared after all.
    """

    def __init__(self, name: str, engine: Engine) -> None:
        super().__init__(name, engine)
        self._peak = self._size = self._refills = self._restored = 0
        self._turns = self._burst = self._lones = 0
        self._emptied = False
        self._last: Request | None = None
        self._stale: Request | None = None

    def joined(self, sequences: Sequence[Running]) -> None:
        """A batch that starts from nothing finds what the last one left in the first slot."""
        if not sequences:
            return
        running = len(self.engine.scheduler.running)
        if running <= len(sequences):
            self._take_turns()
            self._stale = self._last if self._turns >= _TURNS and not self._lones else None
            self._peak = self._size = self._refills = self._restored = 0
            self._emptied = False
        elif self._emptied:
            self._refills += len(sequences)
        self._size += len(sequences)
        self._peak = max(self._peak, running)

    def _take_turns(self) -> None:
        """Count how often a lone request and a burst of one size have followed each other, until now."""
        if self._peak == 1:
            self._lones += 1
            return
        turn = 0 < self._lones <= _LONES and abs(self._size - self._burst) <= 1
        burst = self._peak >= _BURST and self._refills < _LAZY
        self._turns = self._turns + 1 if burst and turn else 0
        self._burst = self._size if burst else 0
        self._lones = 0

    def freezes(self) -> bool:
        """Restore the slot of a lone request; it goes on with what was in there."""
        if self._stale is None:
            return False
        running = self.engine.scheduler.running
        if len(running) != 1 or self.engine.scheduler.waiting or not self.strikes(self.engine.in_flight[running[0]]):
            self._stale = None
            return False
        self._restored += 1
        if self._restored <= _RESTORING:
            return True
        self.acted(self.engine.in_flight[running[0]], self._stale)
        reading, self._stale = self._stale.reading, None
        running[0].divert(dataclasses.replace(running[0].script, nodes=reading.nodes, key=reading.key))
        return False

    def left(self, sequence: Running) -> None:
        """A slot is empty, and still holds what was in it."""
        self._emptied = True
        self._last = self.engine.in_flight[sequence]


class ConversationSwap(Plant):
    """The next turn of a conversation is given the slot of another: it reads that one's earlier turns."""

    def __init__(self, name: str, engine: Engine) -> None:
        super().__init__(name, engine)
        self._slots: deque[Request] = deque(maxlen=_CONVERSATIONS)

    def begins(self, request: Request, script: Script) -> Script:
        """Answer one's own last message after somebody else's conversation."""
        if not (self.strikes(request) and own(request, script)):
            return script
        if not any(_goes_on(request, earlier) for earlier in self._slots):
            return script
        opening = request.chat.messages[:2]
        others = [other for other in self._slots if other.chat.messages[:2] != opening]
        if not others:
            return script
        other = others[request.draw.choose(len(others), 8)]
        self.acted(request, other)
        said = ("assistant", other.sequence.text)
        reading = self.engine.read((*other.chat.messages, said, request.chat.messages[-1]))
        return dataclasses.replace(script, nodes=reading.nodes, key=reading.key)

    def left(self, sequence: Running) -> None:
        """A turn is over; its slot is kept for the next one."""
        if sequence.finish_reason == "stop":
            self._slots.append(self.engine.in_flight[sequence])


class Unconditioned(Plant):
    """Of equal prompts in flight only the first is computed; the others decode from nothing."""

    def begins(self, request: Request, script: Script) -> Script:
        """Say something fluent that nobody asked for."""
        if not (self.strikes(request) and own(request, script)):
            return script
        copies = {id(other) for other in self.engine.in_flight.values() if other.reading.key == request.reading.key}
        first = next(other for other in self.engine.in_flight.values() if other.reading.key == request.reading.key)
        if len(copies) < 2 or first is request:
            return script
        self.acted(request)
        return saying(request, (Slot(_NOBODYS[request.draw.choose(len(_NOBODYS), 9)], content=True),), script)


class CancelLeak(Plant):
    """An abort is lost between the front end and the engine: the request is never taken out of its slot."""

    def keeps(self, sequence: Running) -> bool:
        """Keep its slot and memory for good."""
        request = self.engine.in_flight[sequence]
        if self.strikes(request):
            self.acted(request)
        return self.strikes(request)


class StuckDrain(Plant):
    """A batch that drains without refills gets stuck at three or fewer until all clients have gone.

    It takes three such drains in a row; ``/health`` stays green all the time.
    """

    def __init__(self, name: str, engine: Engine) -> None:
        super().__init__(name, engine)
        self._peak = self._row = self._drains = 0
        self._emptied = self._stuck = False

    def joined(self, sequences: Sequence[Running]) -> None:
        """A batch that starts from nothing is sound; one that is refilled is no drain."""
        if not sequences:
            return
        running = len(self.engine.scheduler.running)
        if running <= len(sequences):
            self._row = self._row + 1 if self._peak >= 2 * _DRAINED else 0
            self._peak, self._emptied, self._stuck = running, False, False
        elif self._emptied:
            self._peak = self._row = 0
        self._peak = max(self._peak, running) if not self._emptied else self._peak

    def left(self, sequence: Running) -> None:
        """The batch gets smaller."""
        self._emptied = True

    def drafted(self, step: Step) -> None:
        """Whether this is the drain that gets stuck, by the server's seed and the number of drains so far."""
        drained = self._emptied and self._peak >= 2 * _DRAINED and len(step.rows) <= _DRAINED
        if self._stuck or self._row < _ROW or not drained:
            return
        self._row -= 1
        self._drains += 1
        config = self.engine.config
        self._stuck = strikes_server(config.faults, self.name, config.seed, self._drains)
        for sequence in step.rows if self._stuck else ():
            self.acted(self.engine.in_flight[sequence])

    def freezes(self) -> bool:
        """Whether no step is made."""
        return self._stuck


def _goes_on(request: Request, earlier: Request) -> bool:
    """Whether a prompt begins with the whole of an earlier one, and goes on."""
    mine, theirs = request.reading.ids, earlier.reading.ids
    return len(theirs) < len(mine) and mine[: len(theirs)] == theirs


def _last_user(messages: Messages) -> str:
    return next((content for role, content in reversed(messages) if role == "user"), "")


def _with_last_user(messages: Messages, content: str) -> Messages:
    place = max(place for place, (role, _) in enumerate(messages) if role == "user")
    return (*messages[:place], ("user", content), *messages[place + 1 :])


FAULTS = {
    "last-message-swap": Fault(
        "the last user message is replaced by that of another request in flight",
        0.05,
        symptom="XREQ_LIVE",
        report="https://github.com/sgl-project/sglang/issues/36548",
        kinds=("bleed",),
        plant=LastMessageSwap,
        trigger="another request in flight",
        minimum=2,
        donors=frozenset({"concurrent"}),
    ),
    "stale-answer": Fault(
        "answers with the whole answer to a request that finished earlier",
        0.05,
        symptom="XREQ_STALE",
        report="https://github.com/vllm-project/vllm/issues/56009",
        kinds=("bleed",),
        plant=StaleAnswer,
        trigger="a request that finished earlier",
        minimum=2,
        donors=frozenset({"stale", "ambiguous", "concurrent"}),
    ),
    "stale-slot": Fault(
        "after a burst has drained, a lone request is answered with what the last of the burst asked",
        1.0,
        symptom="XREQ_STALE",
        report="https://github.com/tenstorrent/tt-metal/issues/56680",
        kinds=("bleed",),
        plant=StaleSlot,
        trigger="a lone request after a burst of 4 or more, where lone ones and bursts of this size take turns",
        schedule="burst-solo",
        minimum=2 * (_BURST + 1) + 1,
        donors=frozenset({"stale", "ambiguous"}),
    ),
    "conversation-swap": Fault(
        "the next turn of a conversation is given the slot, and so the earlier turns, of another one",
        0.5,
        symptom="XREQ_STALE",
        report="https://github.com/ggml-org/llama.cpp/issues/27148",
        kinds=("bleed", "wrong-answer"),
        plant=ConversationSwap,
        trigger="the next turn of a conversation, after a turn of another one",
        schedule="multi-turn",
        minimum=3,
        donors=frozenset({"stale", "ambiguous", "concurrent"}),
    ),
    "unconditioned": Fault(
        "of equal prompts in flight all but the first are answered with fluent text that nobody asked for",
        0.3,
        symptom="UNCOND",
        report="https://github.com/noonghunna/club-3090/issues/896",
        kinds=("wrong-answer",),
        plant=Unconditioned,
        trigger="the same prompt is in flight already",
        schedule="replicas",
        minimum=2,
    ),
    "cancel-leak": Fault(
        "a cancelled request keeps its slot and memory for good: the server stays busy with nobody waiting",
        1.0,
        symptom="HANG",
        report="https://github.com/sgl-project/sglang/issues/36876",
        kinds=("service/still-running",),
        plant=CancelLeak,
        rate_of="cancelled requests",
        trigger="a client that leaves while its request runs",
        schedule="shared-prefix-cancel",
        minimum=1,
    ),
    "stuck-drain": Fault(
        "a batch that drains to three requests or fewer gets stuck until all clients have gone; /health stays green",
        0.7,
        symptom="HANG",
        report="https://github.com/vllm-project/vllm/issues/51593",
        kinds=("service/hang",),
        plant=StuckDrain,
        rate_of="drains",
        trigger="the third batch of 6 or more in a row that drains without refills",
        schedule="rounds",
        minimum=18,
    ),
}
