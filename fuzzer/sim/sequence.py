"""One request inside the engine: the walk through its answer's decisions, token by token."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, field

from fuzzer.sim.answer import Node
from fuzzer.sim.draws import stream
from fuzzer.sim.logits import Batch, Head, score
from fuzzer.sim.sampling import GREEDY, Chooser, Sampling
from fuzzer.sim.tokens import EOS, token_id

# What else a model would give some probability; listed below the real candidates where log-probabilities are asked for.
_FILLERS = (
    " the", " a", ",", ".", "\n", " and", " of", " to", " is", "The", " in", ":", " -", " that", " with", "I", " for",
    "-", " it", " as", "!", " at", " or", " by",
)  # fmt: skip

_Candidates = list[tuple[str, float]]

_ACCEPT, _FILLER, _CHATTER = 1, 2, 4  # purposes, so that draws for one position are independent
_SURE = 20.0  # the logit of a token that has no rival


@dataclass(slots=True)
class Emission:
    """One emitted token. ``top`` holds (token, log-probability) best first, only where they were asked for."""

    token: str
    content: bool = False
    logprob: float = 0.0
    top: list[tuple[str, float]] = field(default_factory=list)

    @property
    def id(self) -> int:
        """The token's id."""
        return token_id(self.token)

    def replace(self, token: str) -> None:
        """Put another token in this one's place; the log-probabilities stay those of the row."""
        self.token = token
        self.explain(self.top)

    def explain(self, top: list[tuple[str, float]]) -> None:
        """Take these for the log-probabilities of this place, whatever token stands there."""
        self.top = top
        if top:
            self.logprob = dict(top).get(self.token, top[-1][1] - 4.0)


@dataclass(frozen=True, slots=True)
class Limits:
    """How a request wants its answer: length, stop strings, sampling, and whether log-probabilities are wanted.

    ``runs_on``: the end token ends nothing, the answer goes on to its length.
    """

    max_tokens: int
    stop: tuple[str, ...] = ()
    sampling: Sampling = GREEDY
    logprobs: bool = False
    runs_on: bool = False


@dataclass(frozen=True, slots=True)
class Script:
    """What a sequence will say: decisions, then ``loop`` for ever if it is not empty, else the end token.

    ``key`` is the prompt's fingerprint. The rest is planted: ``drifts`` says whether batched verification drifts,
    ``wear`` is noise on every logit (nats), a draft token up to ``loose`` nats below the best is accepted. A ``silent``
    one never says anything. ``deliver`` cuts what the client gets (tokens). ``break_at``: the connection breaks after
    so many tokens. ``lose`` and ``repeat`` are the places of deliveries that get lost or come twice. ``stops_late``:
    stop strings are looked for once a step, and cut nothing.
    """

    nodes: tuple[Node, ...]
    key: bytes
    loop: tuple[str, ...] = ()
    drifts: bool = False
    wear: float = 0.0
    loose: float = 0.0
    silent: bool = False
    deliver: int | None = None
    break_at: int | None = None
    lose: int | None = None
    repeat: int | None = None
    stops_late: bool = False


class Sequence:
    """A request in the batch. The scheduler calls ``draft`` and ``commit``; the server takes from the outbox.

    ``prefill`` is the number of prompt tokens that are still to be computed before it can decode, ``slot`` its place in
    the engine's table while it is in the batch.
    """

    def __init__(
        self, limits: Limits, prompt_tokens: int = 0, cached_tokens: int = 0, news: asyncio.Event | None = None
    ) -> None:
        self.limits = limits
        self.prompt_tokens = prompt_tokens
        self.cached_tokens = cached_tokens
        self.script = Script((), b"")
        self.emitted: list[Emission] = []
        self.contents = 0
        self.text = ""
        self.finish_reason: str | None = None
        self.stop_reason: str | None = None
        self.broken = False
        self.gone = False
        self.begun = False
        self.slot = -1
        self.pages: list[int] = []
        self.prefill = 0
        self.news = news or asyncio.Event()
        self._chooser = Chooser(limits.sampling)
        self._delivered = 0
        self._deliveries = 0
        self._released = 0
        self._node = 0
        self._tail: list[tuple[str, bool]] = []
        self._hold = max(map(len, limits.stop), default=1) - 1

    @property
    def over(self) -> bool:
        """Whether the client will get no further token."""
        return self.finish_reason is not None or self.broken or self.gone

    @property
    def context(self) -> int:
        """Tokens whose keys and values it holds itself: what the prefix cache gave is shared."""
        return self.prompt_tokens - self.cached_tokens + len(self.emitted)

    # --- the scheduler's side

    def begin(self, script: Script) -> None:
        """Join the batch with this to say."""
        self.script = script
        self.begun = True

    def divert(self, script: Script) -> None:
        """Say something else from here on: what it reads is no longer its own."""
        self.script = script
        self._node = 0
        self._tail = []

    def accepted(self, acceptance: float, k: int) -> int:
        """How many of ``k`` draft tokens the target accepts at this position."""
        draws = stream(self.script.key, _ACCEPT, len(self.emitted))
        count = 0
        while count < k and next(draws) < acceptance:
            count += 1
        return count

    def draft(self, batch: Batch, index: int, rows: int, head: Head) -> list[Emission]:
        """The tokens of this step, one a row, ending early with the answer or the limit."""
        fresh: list[Emission] = []
        room = min(rows, self.limits.max_tokens - len(self.emitted))
        while len(fresh) < room:
            row, position = index * batch.rows + len(fresh), len(self.emitted) + len(fresh)
            emission = self._next(batch, row, head, position, drafted=len(fresh) < rows - 1)
            fresh.append(emission)
            if emission.token == EOS:
                break
        return fresh

    def commit(self, fresh: list[Emission]) -> None:
        """Make the step's tokens the sequence's own and wake the server."""
        for emission in fresh:
            self.emitted.append(emission)
            self.contents += emission.content
            if emission.token == EOS:
                self.finish_reason = "stop"
                break
            if not self._undelivered():
                self.text += emission.token
            if self.limits.stop and not self.script.stops_late and self._stopped(cut=True):
                break
            if len(self.emitted) >= self.limits.max_tokens:
                self.finish_reason = "length"
        if self.limits.stop and self.script.stops_late:
            self._stopped(cut=False)
        if self.script.break_at is not None and len(self.emitted) >= self.script.break_at:
            self.broken = True
        if self.script.deliver is not None and self.finish_reason:
            self.finish_reason = "stop"
        self.news.set()

    def break_off(self) -> None:
        """End without a reply: the connection breaks."""
        self.broken = True
        self.news.set()

    def _undelivered(self) -> bool:
        return self.script.deliver is not None and len(self.emitted) > self.script.deliver

    def _stopped(self, *, cut: bool) -> bool:
        for stop in self.limits.stop:
            place = self.text.find(stop, self._released)
            if place >= 0:
                self.text = self.text[:place] if cut else self.text
                self.finish_reason, self.stop_reason = "stop", stop
                return True
        return False

    # --- the model's side

    def _next(self, batch: Batch, row: int, head: Head, position: int, *, drafted: bool) -> Emission:
        """The token of one row. Options that said nothing stay in sight as ``rivals`` of what is said instead."""
        rivals: _Candidates = []
        script = self.script
        while not self._tail and self._node < len(script.nodes):
            node = script.nodes[self._node]
            self._node += 1
            values = self._values(node, batch, row, head)
            tokens = [option[0] if option else self._ahead() for option in node.options]
            chosen = self._chooser.choose(values, tokens, script.key, self._node)
            if script.loose and drafted and not node.content:
                chosen = self._loosely(values, chosen)
            option = node.options[chosen]
            if option:
                self._tail = [(token, node.content) for token in reversed(option[1:])]
                known = list(zip(tokens, values, strict=True))
                return self._emit(tokens[chosen], node.content, known, rivals, position, head)
            rivals += [(token, value - values[chosen]) for token, value in zip(tokens, values, strict=True)]
        if not self._tail and script.loop:
            self._tail = [(token, False) for token in reversed(script.loop)]
        token, content = self._tail.pop() if self._tail else (self._end(position), False)
        return self._emit(token, content, [(token, _SURE)], rivals, position, head)

    def _end(self, position: int) -> str:
        """The end token, or chatter where the answer must go on."""
        if not self.limits.runs_on:
            return EOS
        return _FILLERS[int(next(stream(self.script.key, _CHATTER, position)) * len(_FILLERS))]

    def _values(self, node: Node, batch: Batch, row: int, head: Head) -> list[float]:
        if len(node.options) == 1:
            return [_SURE]
        script = self.script
        drift = math.hypot(batch.drift if script.drifts else 0.0, script.wear)
        return score(node, head, batch.noise, drift, script.key, (self._node, batch.running, row))

    def _loosely(self, values: list[float], chosen: int) -> int:
        """What a lax verification accepts: the drafter's choice, if it is not far below the best."""
        others = [place for place in range(len(values)) if place != chosen]
        close = [place for place in others if values[place] > values[chosen] - self.script.loose]
        return max(close, key=values.__getitem__) if close else chosen

    def _ahead(self) -> str:
        """The token that most likely follows if nothing is said here."""
        options = (node.options[0] for node in self.script.nodes[self._node :])
        return next((option[0] for option in options if option), EOS)

    def _emit(
        self, token: str, content: bool, known: _Candidates, rivals: _Candidates, position: int, head: Head
    ) -> Emission:
        emission = Emission(token, content)
        if not self.limits.sampling.plain:
            value = dict(known)[token]
            emission.token = self._chooser.instead(token, value, self._fillers(value, position, head))
            emission.content = content and emission.token == token
            self._chooser.said[emission.token] += 1
        if self.limits.logprobs:
            top = max(value for _, value in known)
            self._explain(emission, known + [(rival, top + gap) for rival, gap in rivals], position, head)
        return emission

    def _fillers(self, top: float, position: int, head: Head) -> _Candidates:
        """What else a model would consider here, far below the real candidates."""
        draws = stream(self.script.key, _FILLER, position)
        level = top - (4.0 + 4.0 * next(draws)) * head.shrink
        first = int(next(draws) * len(_FILLERS))
        found: _Candidates = []
        for filler in _FILLERS[first:] + _FILLERS[:first]:
            found.append((filler, level))
            level -= 0.5 * next(draws)
        return found

    def _explain(self, emission: Emission, candidates: _Candidates, position: int, head: Head) -> None:
        """Log-probabilities over the candidates and the fillers, as the model gave them (before any penalty)."""
        known = dict(reversed(candidates))
        for filler, level in self._fillers(max(known.values()), position, head):
            known.setdefault(filler, level)
        top = max(known.values())
        total = top + math.log(sum(math.exp(value - top) for value in known.values()))
        ranked = sorted(known.items(), key=lambda pair: (-pair[1], token_id(pair[0])))
        emission.top = [(token, value - total) for token, value in ranked]
        emission.logprob = next(value for token, value in emission.top if token == emission.token)

    # --- the server's side

    def take(self) -> tuple[str, list[Emission]]:
        """The text and tokens that may be delivered and were not yet."""
        end = len(self.emitted) if self.script.deliver is None else min(len(self.emitted), self.script.deliver)
        upto = len(self.text) if self.over else max(self._released, len(self.text) - self._hold)
        first, start = self._delivered, self._released
        self._delivered, self._released = end, upto
        if upto > start:
            self._deliveries += 1
            if self._deliveries == self.script.lose:
                first, start = end, upto
            elif self._deliveries == self.script.repeat:
                return 2 * self.text[start:upto], 2 * self.emitted[first:end]
        return self.text[start:upto], self.emitted[first:end]
