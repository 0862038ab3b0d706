"""Tiny checkpoints in every format: real headers, and no more data than they ask for."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I8": 1, "U8": 1, "I32": 4, "U32": 4, "F8_E4M3": 1, "F8_E5M2": 1}
GGUF_TYPES = {"F32": 0, "F16": 1, "Q4_0": 2, "Q8_0": 8, "Q6_K": 14, "BF16": 30, "odd": 99}


def safetensors(path: Path, tensors: Mapping[str, str]) -> Path:
    """A safetensors file with tensors of two elements, by name and type."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, dtype in tensors.items():
        start, end = end, end + 2 * SIZES[dtype]
        header[name] = {"dtype": dtype, "shape": [1, 2], "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(end))
    return path


def sharded(folder: Path, *shards: Mapping[str, str]) -> Path:
    """A sharded checkpoint with its index."""
    weight_map: dict[str, str] = {}
    for number, tensors in enumerate(shards, 1):
        name = f"model-{number:05}-of-{len(shards):05}.safetensors"
        safetensors(folder / name, tensors)
        weight_map |= dict.fromkeys(tensors, name)
    index = {"metadata": {"total_size": 4}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


def gguf(path: Path, tensors: Mapping[str, str], **metadata: int | str | list[str]) -> Path:
    """A GGUF file of version 3: metadata and tensor entries."""
    pairs = {"general.architecture": "llama", **{key.replace("__", "."): value for key, value in metadata.items()}}
    parts = [b"GGUF", struct.pack("<IQQ", 3, len(tensors), len(pairs))]
    for key, value in pairs.items():
        parts += [_string(key), _value(value)]
    for name, kind in tensors.items():
        parts += [_string(name), struct.pack("<IQQIQ", 2, 32, 1, GGUF_TYPES[kind], 0)]
    path.write_bytes(b"".join(parts))
    return path


def _string(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _value(value: int | str | list[str]) -> bytes:
    if isinstance(value, int):
        return struct.pack("<IH", 2, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + _string(value)
    return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(_string, value))
