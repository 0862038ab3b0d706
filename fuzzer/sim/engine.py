"""The simulated engine: from a chat request to a running sequence, with the faults it was told to have."""

from __future__ import annotations

import dataclasses
from collections import Counter, OrderedDict
from dataclasses import dataclass, field

from fuzzer.sim.answer import Node, Slot, compile_answer, text_of
from fuzzer.sim.config import SimConfig
from fuzzer.sim.draws import fingerprint
from fuzzer.sim.faults import Draw, collapsed, draw_faults, strikes_server, with_token_noise
from fuzzer.sim.prefixes import PrefixCache
from fuzzer.sim.request import ChatRequest
from fuzzer.sim.scheduler import Scheduler
from fuzzer.sim.sequence import Limits, Script, Sequence
from fuzzer.sim.solver import solve
from fuzzer.sim.tokens import prompt_ids

_READINGS = 4096  # prompt texts whose understanding is kept
_FINISHED = 256  # answers that a stale answer may come from

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
    """A request in the engine. ``ordinal`` counts how often its text was served before."""

    chat: ChatRequest
    reading: Reading
    draw: Draw
    ordinal: int
    cached_tokens: int
    sequence: Sequence


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
        self.speculating = config.speculative and not strikes_server(config.faults, "spec-off", config.seed)
        self.counters = RequestCounters()
        self.scheduler = Scheduler(config, self.speculating, self._admit, self._retire)
        self._prefixes = PrefixCache()
        self._readings: OrderedDict[Messages, Reading] = OrderedDict()
        self._served: Counter[bytes] = Counter()
        self._in_flight: dict[Sequence, Request] = {}
        self._finished: OrderedDict[bytes, str] = OrderedDict()

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

    def submit(self, chat: ChatRequest) -> Request:
        """Accept a request; its sequence runs until it is over or aborted."""
        reading = self.read(chat.messages)
        ordinal = self._served[reading.key]
        self._served[reading.key] += 1
        draw = draw_faults(self.config.faults, self.config.seed, reading.key, ordinal)
        cached = self._prefixes.lookup(reading.ids, chat.cache_salt)
        self.counters.prompt_tokens += len(reading.ids)
        self.counters.cached_tokens += cached
        limits = Limits(
            chat.max_tokens or self.config.max_model_len - len(reading.ids),
            chat.stop,
            chat.temperature,
            ordinal if chat.seed is None else chat.seed,
            chat.logprobs,
        )
        request = Request(chat, reading, draw, ordinal, cached, Sequence(limits))
        if "server-error" not in draw or (chat.stream and self._breaks_off(draw)):
            self._in_flight[request.sequence] = request
            self.scheduler.submit(request.sequence)
        return request

    def refuses(self, request: Request) -> bool:
        """Whether the planted server error answers this request."""
        return request.sequence not in self._in_flight

    def abort(self, request: Request) -> None:
        """Free a request whose client has gone."""
        self.scheduler.abort(request.sequence)

    @staticmethod
    def _breaks_off(draw: Draw) -> bool:
        return draw.choose(3, 4) == 0

    def _admit(self, sequence: Sequence) -> None:
        sequence.begin(self._script(self._in_flight[sequence]))

    def _retire(self, sequence: Sequence) -> None:
        request = self._in_flight.pop(sequence)
        self.counters.finished[sequence.finish_reason or "abort"] += 1
        if sequence.finish_reason == "stop" and sequence.text and "truncate" not in request.draw:
            self._finished[request.reading.key] = sequence.text
            self._finished.move_to_end(request.reading.key)
            if len(self._finished) > _FINISHED:
                self._finished.popitem(last=False)

    # --- planting

    def _script(self, request: Request) -> Script:
        """What this request's sequence will say, faults included; the first fault that replaces the text wins."""
        draw, reading = request.draw, request.reading
        script = self._replaced(request) or self._damaged(request) or Script(reading.nodes, reading.key)
        contents = sum(len(node.options[0]) for node in script.nodes if node.content)
        length = min(request.sequence.limits.max_tokens, 1 + sum(len(node.options[0]) for node in script.nodes))
        return dataclasses.replace(
            script,
            drifts="verify-drift" in draw,
            collapses="acceptance-collapse" in draw,
            silent="hang" in draw,
            swap_at=draw.choose((contents + 1) // 2, 5) if "row-swap" in draw else None,
            deliver=max(1, length // 2) if "truncate" in draw else None,
            break_at=max(1, length // 2) if "server-error" in draw else None,
        )

    def _replaced(self, request: Request) -> Script | None:
        """The answer to something else: another request's last message, or one that is long over."""
        if "last-message-swap" in request.draw and (other := self._neighbour(request)):
            reading = self.read(_with_last_user(request.chat.messages, _last_user(other.chat.messages)))
            return Script(reading.nodes, reading.key)
        if "stale-answer" in request.draw and (text := self._stale(request)):
            key = request.reading.key
            return Script(compile_answer((Slot(text, content=True),), key), key)
        return None

    def _damaged(self, request: Request) -> Script | None:
        reading, draw = request.reading, request.draw
        if "collapse" in draw:
            slots, phrase = collapsed(reading.slots, draw)
            return Script(compile_answer(slots, reading.key), reading.key, loop=phrase)
        if "empty-200" in draw:
            return Script((), reading.key)
        if "token-noise" in draw:
            return Script(compile_answer(with_token_noise(reading.slots, draw), reading.key), reading.key)
        return None

    def _neighbour(self, request: Request) -> Request | None:
        own = _last_user(request.chat.messages)
        others = [other for other in self._in_flight.values() if _last_user(other.chat.messages) not in ("", own)]
        return others[request.draw.choose(len(others), 6)] if own and others else None

    def _stale(self, request: Request) -> str | None:
        busy = {other.reading.key for other in self._in_flight.values()}
        own = text_of(request.reading.slots)
        texts = [text for key, text in self._finished.items() if key not in busy and text != own]
        return texts[request.draw.choose(len(texts), 7)] if texts else None


def _last_user(messages: Messages) -> str:
    return next((content for role, content in reversed(messages) if role == "user"), "")


def _with_last_user(messages: Messages, content: str) -> Messages:
    place = max(place for place, (role, _) in enumerate(messages) if role == "user")
    return (*messages[:place], ("user", content), *messages[place + 1 :])
