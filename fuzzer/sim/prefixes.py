"""A simple prefix cache: which leading blocks of a prompt were computed before."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

BLOCK = 16  # tokens


class Hit(NamedTuple):
    """What a prompt found in the cache: leading tokens that were there, and the last of their blocks (0: none).

    ``blocks`` are the names of all full blocks of the prompt, found or not.
    """

    tokens: int
    last: int
    blocks: tuple[int, ...]


class PrefixCache:
    """Remembers the latest blocks by the hash of all that stands before them; ``salt`` keeps prompts apart."""

    def __init__(self, capacity: int = 65536, block: int = BLOCK) -> None:
        self._blocks: OrderedDict[int, None] = OrderedDict()
        self._capacity = capacity
        self._block = block

    def lookup(self, ids: Sequence[int], salt: str) -> Hit:
        """How many leading tokens were cached; all full blocks of the prompt are cached from now on."""
        blocks = self.names(ids, salt)
        found = 0
        while found < len(blocks) and blocks[found] in self._blocks:
            found += 1
        self._keep(blocks)
        return Hit(min(found * self._block, len(ids) - 1), blocks[found - 1] if found else 0, blocks)

    def store(self, ids: Sequence[int], salt: str) -> tuple[int, ...]:
        """Cache the full blocks of a whole exchange, so that a conversation can go on from its end; their names."""
        blocks = self.names(ids, salt)
        self._keep(blocks)
        return blocks

    def names(self, ids: Sequence[int], salt: str) -> tuple[int, ...]:
        """The name of each full block: a hash of it and of all that stands before it."""
        chain, names = hash(tuple(salt.encode("utf-8", "surrogatepass"))), []
        for start in range(0, len(ids) - self._block + 1, self._block):
            chain = hash((chain, *ids[start : start + self._block]))
            names.append(chain)
        return tuple(names)

    def _keep(self, blocks: Sequence[int]) -> None:
        for name in blocks:
            self._blocks[name] = None
            self._blocks.move_to_end(name)
        while len(self._blocks) > self._capacity:
            self._blocks.popitem(last=False)
