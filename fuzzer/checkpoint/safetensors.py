"""Which tensors a safetensors checkpoint holds, and of what type, from the headers alone.

The format: eight bytes with the header's length (little-endian), then the header, a JSON object of tensor name to
``{dtype, shape, data_offsets}``, with ``__metadata__`` beside (huggingface/safetensors, README, "Format"). A sharded
checkpoint has an index, ``{"weight_map": {tensor: file}}``.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fuzzer.checkpoint.files import JSON_BYTES, damaged, open_file, parse_json, read_json

INDEX = "*.safetensors.index.json"
_DTYPE_LENGTH = 32


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor's type as its file spells it (``BF16``), and the file."""

    dtype: str
    file: str


Tensors = dict[str, Tensor]
Wanted = Callable[[str], bool]


def read_header(path: Path) -> Tensors:
    """All tensors of one file."""
    with open_file(path) as file:
        prefix = file.read(8)
        if len(prefix) < 8:
            raise damaged(path, "shorter than a safetensors header")
        (length,) = struct.unpack("<Q", prefix)
        if length > JSON_BYTES:
            raise damaged(path, f"its header claims {length} bytes; at most {JSON_BYTES} are read")
        header = file.read(length)
    if len(header) < length:
        raise damaged(path, f"cut off inside its header of {length} bytes")
    entries = parse_json(header, path)
    entries.pop("__metadata__", None)
    tensors: Tensors = {}
    for name, entry in entries.items():
        dtype = entry.get("dtype") if isinstance(entry, dict) else None
        if not isinstance(dtype, str) or len(dtype) > _DTYPE_LENGTH:
            raise damaged(path, f"tensor {name[:80]!r} has no dtype")
        tensors[name] = Tensor(dtype, path.name)
    return tensors


def read_sharded(index: Path, wanted: Wanted) -> Tensors:
    """The wanted tensors of a sharded checkpoint; only the files that hold any of them are opened."""
    weight_map = read_json(index).get("weight_map")
    if not isinstance(weight_map, dict):
        raise damaged(index, "it has no weight_map")
    files = {shard for name, shard in weight_map.items() if wanted(name)}
    tensors: Tensors = {}
    for shard in sorted(map(str, files)):
        if Path(shard).name != shard:
            raise damaged(index, f"it names a file outside of its folder: {shard[:80]!r}")
        header = read_header(index.parent / shard)
        tensors |= {name: tensor for name, tensor in header.items() if wanted(name)}
    return tensors
