"""Reproducible randomness: every draw is a pure function of what it is drawn for."""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Iterator

_TWO_64 = float(2**64)


def fingerprint(text: str) -> bytes:
    """16 bytes that stand for a text (lone surrogates included)."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def uniforms(key: bytes, *numbers: int) -> tuple[float, ...]:
    """Eight independent draws from [0, 1), for a key and up to any number of integers below 2**63."""
    packed = struct.pack(f"<{len(numbers)}q", *numbers)
    digest = hashlib.blake2b(packed, key=key[:64]).digest()
    return tuple(word / _TWO_64 for word in struct.unpack("<8Q", digest))


def stream(key: bytes, *numbers: int) -> Iterator[float]:
    """As many draws from [0, 1) as the caller takes."""
    block = 0
    while True:
        yield from uniforms(key, *numbers, block)
        block += 1


def normals(draws: tuple[float, ...]) -> list[float]:
    """Standard normal values, one for each uniform draw of an even-sized tuple (Box and Muller)."""
    values: list[float] = []
    for first, second in zip(draws[::2], draws[1::2], strict=True):
        radius = math.sqrt(-2.0 * math.log(1.0 - first))
        values.append(radius * math.cos(2.0 * math.pi * second))
        values.append(radius * math.sin(2.0 * math.pi * second))
    return values
