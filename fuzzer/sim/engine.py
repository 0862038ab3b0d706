"""The simulated engine: from a chat request to running sequences, with the faults it was told to have."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from fuzzer.sim.answer import Node, Slot, compile_answer
from fuzzer.sim.config import SimConfig
from fuzzer.sim.draws import fingerprint
from fuzzer.sim.faults import FAULTS, Draw, draw_faults, strikes_server
from fuzzer.sim.faults.base import Planted
from fuzzer.sim.prefixes import Hit, PrefixCache
from fuzzer.sim.request import ChatRequest
from fuzzer.sim.scheduler import Scheduler
from fuzzer.sim.sequence import Limits, Script, Sequence
from fuzzer.sim.solver import solve
from fuzzer.sim.tokens import prompt_ids

_READINGS = 4096  # prompt texts whose understanding is kept
_PLANTED = 100_000  # harms that are remembered

Messages = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """What the model makes of a prompt text."""

    key: bytes
    ids: tuple[int, ...]
    slots: tuple[Slot, ...]
    nodes: tuple[Node, ...]


@dataclass(eq=False, slots=True)
class Request:
    """A request in the engine, with a sequence for each choice. ``ordinal`` counts how often its text came before.

    Planted: ``overcount`` completion tokens are counted too many, and the reply's parser is ``deaf`` to "calls" or
    "thoughts".
    """

    chat: ChatRequest
    reading: Reading
    draw: Draw
    ordinal: int
    hit: Hit
    sequences: tuple[Sequence, ...]
    id: str = ""
    news: asyncio.Event = field(default_factory=asyncio.Event)
    refused: bool = False
    overcount: int = 0
    deaf: frozenset[str] = frozenset()

    @property
    def over(self) -> bool:
        """Whether the client will get nothing more."""
        return self.broken or all(sequence.over for sequence in self.sequences)

    @property
    def gone(self) -> bool:
        """Whether the client has left."""
        return self.sequence.gone

    @property
    def broken(self) -> bool:
        """Whether the connection breaks."""
        return any(sequence.broken for sequence in self.sequences)

    @property
    def sequence(self) -> Sequence:
        """The sequence of the first choice."""
        return self.sequences[0]

    @property
    def cached_tokens(self) -> int:
        """Leading tokens of the prompt that the prefix cache held."""
        return self.hit.tokens


@dataclass(slots=True)
class RequestCounters:
    """What was asked of the engine since the start."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    finished: Counter[str] = field(default_factory=Counter)


class Engine:
    """Everything behind the HTTP surface."""

    def __init__(self, config: SimConfig) -> None:
        self.config = config
        self.started = time.time()
        self.speculating = config.speculative and not strikes_server(config.faults, "spec-off", config.seed)
        self.counters = RequestCounters()
        self.prefixes = PrefixCache(block=config.block_size)
        self.plants = tuple(FAULTS[name].plant(name, self) for name in FAULTS if config.faults.get(name))
        self.in_flight: dict[Sequence, Request] = {}
        self.planted: deque[Planted] = deque(maxlen=_PLANTED)
        self.scheduler = Scheduler(config, self.speculating, self._admit, self._retire, self.plants)
        self._readings: OrderedDict[Messages, Reading] = OrderedDict()
        self._served: Counter[bytes] = Counter()

    def read(self, messages: Messages) -> Reading:
        """Tokenise and solve a prompt text; texts seen lately are remembered."""
        reading = self._readings.get(messages)
        if reading is None:
            key = fingerprint("\x1e".join(f"{role}\x1f{content}" for role, content in messages))
            slots = solve(messages)
            reading = Reading(key, tuple(prompt_ids(messages)), slots, compile_answer(slots, key))
            self._readings[messages] = reading
            if len(self._readings) > _READINGS:
                self._readings.popitem(last=False)
        return reading

    @property
    def readings(self) -> Iterable[Reading]:
        """What was read lately."""
        return self._readings.values()

    def submit(self, chat: ChatRequest, request_id: str = "") -> Request:
        """Accept a request; its sequences run until they are over or aborted."""
        reading = self.read(chat.messages)
        ordinal = self._served[reading.key]
        self._served[reading.key] += 1
        draw = draw_faults(self.config.faults, self.config.seed, reading.key, ordinal)
        hit = self.prefixes.lookup(reading.ids, chat.cache_salt)
        self.counters.prompt_tokens += len(reading.ids)
        self.counters.cached_tokens += hit.tokens
        request = Request(chat, reading, draw, ordinal, hit, (), request_id)
        request.sequences = self._sequences(request)
        request.deaf = frozenset(deaf for plant in self.plants if (deaf := plant.deaf(request)))
        request.refused = any(plant.refuses(request) for plant in self.plants)
        for sequence in () if request.refused else request.sequences:
            self.in_flight[sequence] = request
            self.scheduler.submit(sequence)
        return request

    def abort(self, request: Request) -> None:
        """Free a request whose client has gone."""
        if not request.refused:
            for sequence in request.sequences:
                self.scheduler.abort(sequence)

    def refuses(self, request: Request) -> bool:
        """Whether a planted error answers this request."""
        return request.refused

    def _sequences(self, request: Request) -> tuple[Sequence, ...]:
        chat, prompt = request.chat, len(request.reading.ids)
        limits = Limits(
            max_tokens=chat.max_tokens or self.config.max_model_len - prompt,
            stop=chat.stop,
            sampling=dataclasses.replace(chat.sampling, seed=request.ordinal if chat.seed is None else chat.seed),
            logprobs=chat.logprobs,
            runs_on=chat.ignore_eos,
        )
        for plant in self.plants:
            limits = plant.limits(request, limits)
        cached, news = request.hit.tokens, request.news
        return tuple(Sequence(_choice(limits, place), prompt, cached, news) for place in range(chat.n))

    def _admit(self, sequence: Sequence) -> None:
        request = self.in_flight[sequence]
        script = Script(request.reading.nodes, request.reading.key)
        for plant in self.plants:
            script = plant.begins(request, script)
        sequence.begin(script)

    def _retire(self, sequence: Sequence) -> None:
        request = self.in_flight.pop(sequence)
        self.counters.finished[sequence.finish_reason or "abort"] += 1
        if sequence.finish_reason == "stop":
            said = tuple(emission.id for emission in sequence.emitted)
            self.prefixes.store((*request.reading.ids, *said), request.chat.cache_salt)


def _choice(limits: Limits, place: int) -> Limits:
    """The limits of one choice: each samples for itself."""
    if place == 0:
        return limits
    return dataclasses.replace(
        limits, sampling=dataclasses.replace(limits.sampling, seed=limits.sampling.seed + 7919 * place)
    )
