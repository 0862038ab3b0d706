"""How a request wants its tokens chosen: temperature, penalties and biases, applied as an engine does."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from fuzzer.sim.draws import uniforms
from fuzzer.sim.tokens import token_id

_SAMPLE = 3  # the purpose of these draws, so that they are independent of others at the same place


@dataclass(frozen=True, slots=True)
class Sampling:
    """Temperature 0 is greedy. Penalties and biases (in nats, by token id) act on the logits before the choice."""

    temperature: float = 0.0
    seed: int = 0
    presence: float = 0.0
    frequency: float = 0.0
    repetition: float = 1.0
    bias: tuple[tuple[int, float], ...] = ()

    @property
    def plain(self) -> bool:
        """Whether the logits stay as the model gave them."""
        return not (self.presence or self.frequency or self.bias) and self.repetition == 1.0

    @property
    def greedy(self) -> bool:
        """Whether the best logit is taken as it is."""
        return self.plain and self.temperature == 0


GREEDY = Sampling()
WARM = Sampling(temperature=1.0)


@dataclass(slots=True)
class Chooser:
    """The choices of one sequence: knows what it has said, which is what penalties are for."""

    sampling: Sampling
    said: Counter[str] = field(default_factory=Counter)

    def adjusted(self, token: str, value: float) -> float:
        """A logit after penalties and bias."""
        sampling, count = self.sampling, self.said[token]
        if count:
            value -= sampling.presence + sampling.frequency * count
            value = value / sampling.repetition if value > 0 else value * sampling.repetition
        return value + dict(sampling.bias).get(token_id(token), 0.0)

    def choose(self, values: Sequence[float], tokens: Sequence[str], key: bytes, place: int) -> int:
        """The place of the token that is said; ``key`` and ``place`` name the draw where it is sampled."""
        if not self.sampling.plain:
            values = [self.adjusted(token, value) for token, value in zip(tokens, values, strict=True)]
        places = range(len(values))
        if self.sampling.temperature > 0:
            draws = uniforms(key, _SAMPLE, self.sampling.seed, place)
            warm = [
                value / self.sampling.temperature - math.log(-math.log(draw or 1e-300))
                for value, draw in zip(values, draws, strict=False)
            ]
            return max(places, key=warm.__getitem__)
        return max(places, key=lambda place: (values[place], -token_id(tokens[place])))

    def instead(self, token: str, value: float, others: Sequence[tuple[str, float]]) -> str:
        """The token that is said where there was no choice: another one if penalties push this one below it."""
        best, most = token, self.adjusted(token, value)
        for other, level in others:
            if (adjusted := self.adjusted(other, level)) > most:
                best, most = other, adjusted
        return best
