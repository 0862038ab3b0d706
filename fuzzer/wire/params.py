"""What varies from request to request; everything else about sampling is fixed (greedy and neutral)."""

from __future__ import annotations

from dataclasses import dataclass

from fuzzer.history.records import PLAIN, CacheClass, Wants
from fuzzer.history.schedule import AS_PLANNED, Overrides
from fuzzer.plan import Thinking


@dataclass(frozen=True, slots=True)
class Params:
    """One request's parameters.

    ``max_tokens`` is at least 1. ``logprobs`` is the number of alternatives asked for at each position, 0 for no
    log-probabilities at all. ``salt`` keeps prefix caches apart where the engine knows salts ("" for none).
    ``thinking`` "auto" sends no switch. ``request_id`` goes out as ``X-Request-Id``, "" for none. ``wants`` is what the
    prompt itself asks for (structured output, tools). Of ``overrides``, the sampling parameters, stop strings, number
    of choices and slot are taken; the rest has fields here.
    """

    max_tokens: int
    stream: bool = True
    logprobs: int = 0
    cache: CacheClass = "warm"
    salt: str = ""
    seed: int = 0
    thinking: Thinking = "auto"
    request_id: str = ""
    wants: Wants = PLAIN
    overrides: Overrides = AS_PLANNED
