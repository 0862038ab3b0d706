"""The KV memory of the simulated engine: pages of a fixed number of tokens, taken from and given back to one pool."""

from __future__ import annotations

from collections import deque
from typing import Protocol


class Holder(Protocol):
    """Whoever owns pages."""

    pages: list[int]


class KvPool:
    """``blocks`` pages of ``block_size`` tokens each.

    A page that held generated tokens is reused first, one that held a whole block of a prompt last: such blocks may be
    asked for again.
    """

    def __init__(self, blocks: int, block_size: int) -> None:
        self.blocks = blocks
        self.block_size = block_size
        self._free = deque(range(blocks))

    @property
    def used(self) -> int:
        """Pages that somebody owns."""
        return self.blocks - len(self._free)

    def pages_for(self, tokens: int) -> int:
        """How many pages so many tokens take."""
        return -(-tokens // self.block_size)

    def grow(self, holder: Holder, tokens: int) -> list[int] | None:
        """Give the holder pages for ``tokens`` tokens in all; returns the new ones, None (and gives none) if short."""
        lacks = self.pages_for(tokens) - len(holder.pages)
        if lacks <= 0:
            return []
        if lacks > len(self._free):
            return None
        fresh = [self._free.popleft() for _ in range(lacks)]
        holder.pages.extend(fresh)
        return fresh

    def release(self, holder: Holder, prompt_tokens: int) -> None:
        """Take all pages back; the first ``prompt_tokens`` tokens they held were of the prompt."""
        whole = prompt_tokens // self.block_size
        self._free.extend(holder.pages[:whole])
        self._free.extendleft(reversed(holder.pages[whole:]))
        holder.pages = []
