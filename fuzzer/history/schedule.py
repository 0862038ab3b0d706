"""A schedule as data: who is sent when, how it differs from the run's usual requests, and what follows on its slot.

A schedule is journalled before its first request goes out, so that a recorded run can be replayed exactly. What stands
at its default is left out of the file.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from fuzzer.history.messages import Record, Wants

Role = Literal["victim", "neighbour"]
CacheTag = Literal["cold", "warm"]
Milliseconds = Annotated[float, Field(ge=0, le=3_600_000)]


class Sparse(Record):
    """A record that is written without what stands at its default."""

    @model_serializer(mode="wrap")
    def _sparse(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = write(self)
        known = type(self).model_fields
        return {name: value for name, value in fields.items() if getattr(self, name) != known[name].default}


class Overrides(Sparse):
    """What one request asks for otherwise than the run does; None (or empty) means as in the run.

    ``temperature`` and ``seed`` "absent" send none at all, so that the server's own default rules. ``logprobs`` is the
    number of alternatives asked for. ``pad`` words are set before everything else in the prompt, the same ones for the
    same ``pad_key``; with ``pad_cycle`` the first so many come again and again. ``salt`` keeps the engine's prefix
    cache of requests with different salts apart, where it knows salts. ``slot`` pins the request to a slot of the
    engine (llama.cpp). ``ignore_eos`` makes it run to its limit, where the engine can.
    """

    temperature: float | Literal["absent"] | None = None
    seed: int | Literal["absent"] | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    repetition_penalty: float | None = None
    logit_bias: dict[str, float] | None = None
    logprobs: Annotated[int, Field(ge=1, le=20)] | None = None
    n: Annotated[int, Field(ge=1)] = 1
    stop: tuple[str, ...] = ()
    stream: bool | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    ignore_eos: bool = False
    wants: Wants | None = None
    pad: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    pad_key: str = ""
    pad_cycle: Annotated[int, Field(ge=0, le=1_000)] = 0
    salt: str = ""
    slot: int | None = None

    @property
    def greedy(self) -> bool:
        """Whether every token is still the most likely one of the model's own distribution."""
        weighed = (self.presence_penalty, self.frequency_penalty, self.repetition_penalty, self.logit_bias)
        return self.temperature in (None, 0) and all(value is None for value in weighed)

    @property
    def altered(self) -> bool:
        """Whether the right answer, or the way to it, may differ from that of the same prompt as the run sends it."""
        cut = self.max_tokens is not None or bool(self.stop) or self.ignore_eos
        return not self.greedy or cut or self.n > 1 or self.wants is not None or self.pad > 0


AS_PLANNED = Overrides()

# Words that the usual vocabularies hold as one token each, with the space before them.
_TEXT = (
    "the of and to in is it you that he was for on are with as his they be at one have this from or had by hot but "
    "some what there we can out other were all your when up use word how said an each she which do their time if will "
    "way about many then them would write like so these her long make thing see him two has look more day could go"
)
_WORDS = _TEXT.split()


def padding(key: str, words: int, cycle: int = 0) -> str:
    """So many common words, about one token each, that begin alike for the same key; no sense is to be found in them.

    With ``cycle`` the first so many are repeated. The choice goes by a linear congruential generator from the key's
    CRC-32, so that any program can make the same.
    """
    state = zlib.crc32(key.encode())
    chosen = []
    for _ in range(min(words, cycle or words)):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        chosen.append(_WORDS[(state >> 33) % len(_WORDS)])
    return " ".join(itertools.islice(itertools.cycle(chosen), words))


class Send(Sparse):
    """One request of a schedule.

    ``at_ms`` counts from the start of the release, for a follow-up from the end of what its slot sent before. ``turn``
    sends only so many of the prompt's messages (None: all). ``cancel_ms`` and ``cancel_tokens`` break the request off
    after so many milliseconds, or so many tokens of the reply, whichever comes first. ``tag`` says what the engine's
    prefix cache should hold of it. A victim is judged: it is greedy, and neither cancelled nor sent again.
    """

    prompt: str
    role: Role = "victim"
    at_ms: Milliseconds = 0.0
    turn: int | None = None
    cancel_ms: Milliseconds | None = None
    cancel_tokens: Annotated[int, Field(ge=1)] | None = None
    overrides: Overrides = AS_PLANNED
    tag: CacheTag | None = None

    @property
    def cancelled(self) -> bool:
        """Whether it is to be broken off."""
        return self.cancel_ms is not None or self.cancel_tokens is not None

    @model_validator(mode="after")
    def _victims_are_judged(self) -> Self:
        if self.role == "victim" and (self.cancelled or not self.overrides.greedy or self.overrides.n > 1):
            raise ValueError(f"the victim {self.prompt} must be greedy, one choice, and never cancelled")
        if self.role == "victim" and self.turn is not None:
            raise ValueError(f"the victim {self.prompt} must be sent whole")
        return self


class Release(Sparse):
    """Requests let go together: one chain a slot, each chain's requests one after another.

    ``width`` is the in-flight profile: never more are in flight, and exactly so many when all slots are taken. With
    ``keep_full`` exactly ``width`` are in flight until the last victim has ended: chains that find no free slot wait
    for one, filler stands in where there is nothing left, and the rest of a chain without victims is not sent any more.
    Otherwise every chain has a slot of its own, and the release drains before the next one.
    """

    width: Annotated[int, Field(ge=1)]
    chains: tuple[tuple[Send, ...], ...]
    keep_full: bool = False

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if not all(self.chains):
            raise ValueError("a slot without a request")
        if sum(chain[0].at_ms > 0 for chain in self.chains) > self.width:
            raise ValueError(f"more than {self.width} requests that have times of their own")
        if not self.victims:
            raise ValueError("a release that judges nothing")
        if not self.keep_full and len(self.chains) > self.width:
            raise ValueError(f"a barrier of {self.width} cannot release {len(self.chains)} requests at once")
        if self.keep_full and any(send.at_ms for chain in self.chains for send in chain[1:]):
            raise ValueError("a slot that is to be kept full cannot pause between two requests")
        return self

    @property
    def sends(self) -> Iterator[Send]:
        """All requests, slot by slot; their order numbers them."""
        for chain in self.chains:
            yield from chain

    @property
    def victims(self) -> tuple[str, ...]:
        """The prompts that are judged."""
        return tuple(send.prompt for send in self.sends if send.role == "victim")


class Scheduled(Record):
    """What a stage is going to send, written before it sends anything; ``key`` is the stage's."""

    type: Literal["scheduled"] = "scheduled"
    key: str
    cell: str
    block: int
    releases: tuple[Release, ...]


class Deviations(Sparse):
    """Where a stage departed from its schedule, and what it cost to keep to it.

    ``late_sends`` left more than a millisecond after their time, the latest ``worst_late_ms`` after it. ``cancelled``
    were broken off as planned; ``late_cancels`` had ended before. ``early_ends`` counts neighbours' slots that had
    nothing more to send while victims were still to come (filler stood in), ``unsent`` planned neighbours that were not
    needed. ``refused`` neighbours were refused by the engine for what they ask. ``reused`` requests went over a
    connection that had served another. ``still_running`` requests ran on at the engine two seconds after the last one
    had ended or had been broken off. ``others`` are requests of somebody else's: they ran, and the engine generated,
    before the first of the stage was sent.
    """

    late_sends: int = 0
    worst_late_ms: float = 0.0
    cancelled: int = 0
    late_cancels: int = 0
    early_ends: int = 0
    unsent: int = 0
    refused: int = 0
    reused: int = 0
    still_running: int = 0
    others: int = 0


NO_DEVIATIONS = Deviations()
