"""The head of a GGUF file: metadata and tensor types, without the ``gguf`` package and without the data.

The format: magic, version, counts, then key-value pairs, then one entry a tensor (ggml-org/ggml, docs/gguf.md). Types
of tensors: ``enum ggml_type`` in ggml/include/ggml.h.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from fuzzer.checkpoint.files import damaged, open_file

MAGIC = b"GGUF"
TYPES = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 6: "Q5_0", 7: "Q5_1", 8: "Q8_0", 9: "Q8_1", 10: "Q2_K", 11: "Q3_K",
    12: "Q4_K", 13: "Q5_K", 14: "Q6_K", 15: "Q8_K", 16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S",
    20: "IQ4_NL", 21: "IQ3_S", 22: "IQ2_S", 23: "IQ4_XS", 24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64",
    29: "IQ1_M", 30: "BF16", 34: "TQ1_0", 35: "TQ2_0", 39: "MXFP4", 40: "NVFP4", 41: "Q1_0",
}  # fmt: skip

_VERSIONS = (2, 3)  # 1 had counts of 32 bits and is long gone
_HEAD_BYTES = 64 * 2**20  # the largest vocabularies with their merges take some 20
_PAIRS, _TENSORS, _STRINGS, _DIMENSIONS, _NESTING = 2**16, 2**20, 2**22, 8, 2
_STRING, _ARRAY = 8, 9
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_KEPT = 200  # characters of a string value


@dataclass(frozen=True, slots=True)
class GgufHead:
    """Scalar and string metadata by key, and tensor types by name."""

    metadata: dict[str, int | float | str]
    tensors: dict[str, str]


def is_gguf(path: Path) -> bool:
    """Whether a file begins like a GGUF file."""
    with open_file(path) as file:
        return file.read(4) == MAGIC


def read_gguf(path: Path) -> GgufHead:
    """The head of a GGUF file of version 2 or 3; UsageError says what is wrong with it."""
    with open_file(path) as file:
        return _Reader(file, path).head()


class _Reader:
    """Reads on from where it is, and never more than the bound."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file, self._path = file, path
        self._left = _HEAD_BYTES

    def head(self) -> GgufHead:
        if self._take(4) != MAGIC:
            raise damaged(self._path, "it does not begin with GGUF")
        version = self._number("I")
        if version not in _VERSIONS:
            raise damaged(self._path, f"GGUF version {version} is not known (or its byte order is big-endian)")
        tensors, pairs = self._count("tensors", _TENSORS), self._count("metadata pairs", _PAIRS)
        metadata: dict[str, int | float | str] = {}
        for _ in range(pairs):
            key = self._string()
            value = self._value(int(self._number("I")), _NESTING)
            if value is not None:
                metadata[key] = value
        return GgufHead(metadata, dict(self._tensor() for _ in range(tensors)))

    def _tensor(self) -> tuple[str, str]:
        name = self._string()
        dimensions = self._number("I")
        if dimensions > _DIMENSIONS:
            raise damaged(self._path, f"tensor {name!r} has {dimensions} dimensions")
        self._take(8 * int(dimensions))
        kind = int(self._number("I"))
        self._take(8)
        return name, TYPES.get(kind, f"type {kind}")

    def _value(self, kind: int, nesting: int) -> int | float | str | None:
        """A value; None for an array, which is passed over."""
        if kind in _SCALARS:
            return self._number(_SCALARS[kind])
        if kind == _STRING:
            return self._string()
        if kind != _ARRAY or nesting == 0:
            raise damaged(self._path, f"a metadata value has the unknown type {kind}")
        element = int(self._number("I"))
        count = self._count("array elements", _HEAD_BYTES)
        if element in _SCALARS:
            self._take(count * struct.calcsize("<" + _SCALARS[element]))
            return None
        if count > _STRINGS:
            raise damaged(self._path, f"an array of {count} strings")
        for _ in range(count):
            self._value(element, nesting - 1)
        return None

    def _count(self, what: str, most: int) -> int:
        count = int(self._number("Q"))
        if count > most:
            raise damaged(self._path, f"it claims {count} {what}")
        return count

    def _number(self, code: str) -> int | float:
        (value,) = struct.unpack("<" + code, self._take(struct.calcsize("<" + code)))
        return float(value) if code in "fd" else int(value)

    def _string(self) -> str:
        return self._take(int(self._number("Q"))).decode("utf-8", "replace")[:_KEPT]

    def _take(self, size: int) -> bytes:
        self._left -= size
        if self._left < 0:
            raise damaged(self._path, f"its head is longer than {_HEAD_BYTES >> 20} MiB")
        data = self._file.read(size)
        if len(data) < size:
            raise damaged(self._path, "cut off inside its head")
        return data
