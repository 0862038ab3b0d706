"""A simple prefix cache: which leading blocks of a prompt were computed before."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

BLOCK = 16  # tokens


class PrefixCache:
    """Remembers the latest blocks by the hash of all that stands before them; ``salt`` keeps prompts apart."""

    def __init__(self, capacity: int = 65536) -> None:
        self._blocks: OrderedDict[int, None] = OrderedDict()
        self._capacity = capacity

    def lookup(self, ids: Sequence[int], salt: str) -> int:
        """How many leading tokens were cached; all full blocks of the prompt are cached from now on."""
        cached, hit = 0, True
        chain = hash(tuple(salt.encode("utf-8", "surrogatepass")))
        for start in range(0, len(ids) - BLOCK + 1, BLOCK):
            chain = hash((chain, *ids[start : start + BLOCK]))
            hit = hit and chain in self._blocks
            cached += BLOCK if hit else 0
            self._blocks[chain] = None
            self._blocks.move_to_end(chain)
        while len(self._blocks) > self._capacity:
            self._blocks.popitem(last=False)
        return min(cached, len(ids) - 1)
