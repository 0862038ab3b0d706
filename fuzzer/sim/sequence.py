"""One request inside the engine: the walk through its answer's decisions, token by token."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, field

from fuzzer.sim.answer import Node
from fuzzer.sim.draws import stream, uniforms
from fuzzer.sim.logits import Batch, Head, score
from fuzzer.sim.tokens import EOS, token_id

# What else a model would give some probability; listed below the real candidates where log-probabilities are asked for.
_FILLERS = (
    " the", " a", ",", ".", "\n", " and", " of", " to", " is", "The", " in", ":", " -", " that", " with", "I", " for",
    "-", " it", " as", "!", " at", " or", " by",
)  # fmt: skip

_Candidates = list[tuple[str, float]]

_ACCEPT, _FILLER, _SAMPLE = 1, 2, 3  # purposes, so that draws for one position are independent


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
        known = dict(self.top)
        if self.top:
            self.logprob = known.get(token, self.top[-1][1] - 4.0)
        self.token = token


@dataclass(frozen=True, slots=True)
class Limits:
    """How a request wants its answer: length, stop strings, sampling, and whether log-probabilities are wanted."""

    max_tokens: int
    stop: tuple[str, ...] = ()
    temperature: float = 0.0
    sampling_seed: int = 0
    logprobs: bool = False


@dataclass(frozen=True, slots=True)
class Script:
    """What a sequence will say: decisions, then ``loop`` for ever if it is not empty, else the end token.

    ``key`` is the prompt's fingerprint. ``drifts`` and ``collapses`` say whether the planted drift of verification and
    collapse of acceptance concern it; a ``silent`` one never says anything. ``swap_at``: from this content token on,
    take a neighbour's at the first chance. ``deliver`` cuts what the client gets (tokens). ``break_at``: the connection
    breaks after so many tokens.
    """

    nodes: tuple[Node, ...]
    key: bytes
    loop: tuple[str, ...] = ()
    drifts: bool = False
    collapses: bool = False
    silent: bool = False
    swap_at: int | None = None
    deliver: int | None = None
    break_at: int | None = None


class Sequence:
    """A request in the batch. The scheduler calls ``draft`` and ``commit``; the server takes from the outbox."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.script = Script((), b"")
        self.swap_at: int | None = None
        self.emitted: list[Emission] = []
        self.text = ""
        self.finish_reason: str | None = None
        self.stop_reason: str | None = None
        self.broken = False
        self.gone = False
        self.news = asyncio.Event()
        self._delivered = 0
        self._released = 0
        self._node = 0
        self._tail: list[tuple[str, bool]] = []
        self._contents = 0
        self._hold = max(map(len, limits.stop), default=1) - 1

    @property
    def over(self) -> bool:
        """Whether no further token will come."""
        return self.finish_reason is not None or self.broken or self.gone

    # --- the scheduler's side

    def begin(self, script: Script) -> None:
        """Join the batch with this to say."""
        self.script = script
        self.swap_at = script.swap_at

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
            emission = self._next(batch, index * batch.rows + len(fresh), head, len(self.emitted) + len(fresh))
            fresh.append(emission)
            if emission.token == EOS:
                break
        return fresh

    def wants_swap(self, fresh: list[Emission]) -> Emission | None:
        """The token of this step that a planted row swap would replace."""
        if self.swap_at is None:
            return None
        contents = self._contents
        for emission in fresh:
            contents += emission.content
            if emission.content and contents > self.swap_at:
                return emission
        return None

    def commit(self, fresh: list[Emission]) -> None:
        """Make the step's tokens the sequence's own and wake the server."""
        for emission in fresh:
            self.emitted.append(emission)
            self._contents += emission.content
            if emission.token == EOS:
                self.finish_reason = "stop"
                break
            if not self._undelivered():
                self.text += emission.token
            if self.limits.stop and self._stopped():
                break
            if len(self.emitted) >= self.limits.max_tokens:
                self.finish_reason = "length"
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

    def _stopped(self) -> bool:
        for stop in self.limits.stop:
            place = self.text.find(stop, self._released)
            if place >= 0:
                self.text, self.finish_reason, self.stop_reason = self.text[:place], "stop", stop
                return True
        return False

    def _next(self, batch: Batch, row: int, head: Head, position: int) -> Emission:
        """The token of one row. Options that said nothing stay in sight as ``rivals`` of what is said instead."""
        rivals: _Candidates = []
        while not self._tail and self._node < len(self.script.nodes):
            node = self.script.nodes[self._node]
            self._node += 1
            drift = batch.drift if self.script.drifts else 0.0
            place = (self._node, batch.running, row)
            values = score(node, head, batch.noise, drift, self.script.key, place) if len(node.options) > 1 else [20.0]
            tokens = [option[0] if option else self._ahead() for option in node.options]
            chosen = self._choose(values, tokens)
            option = node.options[chosen]
            if option:
                self._tail = [(token, node.content) for token in reversed(option[1:])]
                known = list(zip(tokens, values, strict=True))
                return self._emit(tokens[chosen], node.content, known, rivals, position, head)
            rivals += [(token, value - values[chosen]) for token, value in zip(tokens, values, strict=True)]
        if not self._tail and self.script.loop:
            self._tail = [(token, False) for token in reversed(self.script.loop)]
        token, content = self._tail.pop() if self._tail else (EOS, False)
        return self._emit(token, content, [(token, 20.0)], rivals, position, head)

    def _ahead(self) -> str:
        """The token that most likely follows if nothing is said here."""
        options = (node.options[0] for node in self.script.nodes[self._node :])
        return next((option[0] for option in options if option), EOS)

    def _choose(self, values: list[float], tokens: list[str]) -> int:
        places = range(len(values))
        if self.limits.temperature > 0:
            draws = uniforms(self.script.key, _SAMPLE, self.limits.sampling_seed, self._node)
            warm = [
                value / self.limits.temperature - math.log(-math.log(draw or 1e-300))
                for value, draw in zip(values, draws, strict=False)
            ]
            return max(places, key=warm.__getitem__)
        return max(places, key=lambda place: (values[place], -token_id(tokens[place])))

    def _emit(
        self, token: str, content: bool, known: _Candidates, rivals: _Candidates, position: int, head: Head
    ) -> Emission:
        emission = Emission(token, content)
        if self.limits.logprobs:
            top = max(value for _, value in known)
            self._explain(emission, known + [(rival, top + gap) for rival, gap in rivals], position, head)
        return emission

    def _explain(self, emission: Emission, candidates: _Candidates, position: int, head: Head) -> None:
        """Log-probabilities over the candidates and what else a model would consider, far below them."""
        known = list(dict(reversed(candidates)).items())
        draws = stream(self.script.key, _FILLER, position)
        level = max(value for _, value in known) - (4.0 + 4.0 * next(draws)) * head.shrink
        tokens = {token for token, _ in known}
        first = int(next(draws) * len(_FILLERS))
        for filler in _FILLERS[first:] + _FILLERS[:first]:
            if filler not in tokens:
                known.append((filler, level))
                level -= 0.5 * next(draws)
        top = max(value for _, value in known)
        total = top + math.log(sum(math.exp(value - top) for _, value in known))
        ranked = sorted(known, key=lambda pair: (-pair[1], token_id(pair[0])))
        emission.top = [(token, value - total) for token, value in ranked]
        emission.logprob = next(value for token, value in emission.top if token == emission.token)

    # --- the server's side

    def take(self) -> tuple[str, list[Emission]]:
        """The text and tokens that may be delivered and were not yet."""
        end = len(self.emitted) if self.script.deliver is None else min(len(self.emitted), self.script.deliver)
        fresh = self.emitted[self._delivered : end]
        self._delivered = end
        upto = len(self.text) if self.over else max(self._released, len(self.text) - self._hold)
        text = self.text[self._released : upto]
        self._released = upto
        return text, fresh
