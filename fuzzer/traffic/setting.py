"""What a schedule may know: how many in flight, the engine's sizes, the prompts, and where neighbours come from."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from fuzzer.history.records import Prompt

KV_BLOCK = 16  # tokens: the default of vLLM, and what is assumed where an engine does not tell
POOL_TOKENS = 32_768  # tokens that pool-pressure tries to fill where an engine does not tell the size of its pool
CONTEXT_TOKENS = 4_096  # assumed where an engine does not tell its context length
NEIGHBOURS = 1_200_000  # planned neighbours are filler from this index on, so that they are nobody else's prompts


@dataclass(frozen=True, slots=True)
class Traits:
    """What an endpoint tells of itself; None where it does not.

    ``kv_block`` is the number of tokens in a block of its KV cache, ``kv_tokens`` the number in its whole pool,
    ``context`` the longest request in tokens. ``pins`` says whether requests can be pinned to slots, ``salts`` whether
    the prefix cache can be kept apart by salt or switched off.
    """

    kv_block: int | None = None
    kv_tokens: int | None = None
    context: int | None = None
    pins: bool = False
    salts: bool = False

    def common(self, other: Traits) -> Traits:
        """What holds for both: the smaller context, and this one's own sizes where they are known."""
        contexts = [value for value in (self.context, other.context) if value is not None]
        return Traits(
            kv_block=self.kv_block or other.kv_block,
            kv_tokens=self.kv_tokens or other.kv_tokens,
            context=min(contexts, default=None),
            pins=self.pins and other.pins,
            salts=self.salts and other.salts,
        )


@dataclass(frozen=True, slots=True)
class Setting:
    """All that a block's schedule depends on besides its name and its victims.

    ``neighbour`` gives a fresh prompt of the neighbours' own series at each call, ``prompt`` a victim's by its id.
    ``tokens`` is the length of victims' prompts as the engine counts it, where known. ``before`` is the number of
    victims that the cell's earlier blocks sent, so that sweeps go on where they stopped.
    """

    concurrency: int
    rng: random.Random
    neighbour: Callable[[], Prompt]
    prompt: Callable[[str], Prompt]
    traits: Traits = field(default_factory=Traits)
    tokens: Mapping[str, int] = field(default_factory=dict)
    before: int = 0

    @property
    def kv_block(self) -> int:
        """Tokens in a block of the engine's KV cache, told or assumed."""
        return self.traits.kv_block or KV_BLOCK

    @property
    def context(self) -> int:
        """Tokens that one request may hold, told or assumed."""
        return self.traits.context or CONTEXT_TOKENS

    @property
    def pool(self) -> int:
        """Tokens in the engine's KV pool, told or assumed."""
        return self.traits.kv_tokens or POOL_TOKENS
