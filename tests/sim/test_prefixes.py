from __future__ import annotations

from fuzzer.sim.prefixes import PrefixCache


def test_full_leading_blocks_are_cached() -> None:
    cache = PrefixCache()
    assert cache.lookup(range(40), "").tokens == 0
    assert cache.lookup(range(40), "").tokens == 32
    assert cache.lookup([*range(16), *range(50, 80)], "").tokens == 16


def test_a_block_counts_only_behind_the_same_beginning() -> None:
    cache = PrefixCache()
    cache.lookup(range(32), "")
    assert cache.lookup([99, *range(1, 32)], "").tokens == 0


def test_at_least_one_token_is_computed() -> None:
    cache = PrefixCache()
    cache.lookup(range(32), "")
    assert cache.lookup(range(32), "").tokens == 31


def test_a_salt_keeps_prompts_apart() -> None:
    cache = PrefixCache()
    cache.lookup(range(32), "one")
    assert cache.lookup(range(32), "two").tokens == 0
    assert cache.lookup(range(32), "one").tokens == 31


def test_old_blocks_are_forgotten() -> None:
    cache = PrefixCache(capacity=2)
    cache.lookup(range(32), "")
    cache.lookup(range(100, 132), "")
    assert cache.lookup(range(32), "").tokens == 0
