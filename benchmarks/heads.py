"""Variants of one GGUF model that differ in nothing but the lm_head: an ``output.weight`` of the asked precision.

SmolLM2 ties its head to the embeddings (Q8_0). Every variant gets a head of its own, made from the same numbers: the
embeddings' values in full precision, then quantized. So the F32 head holds exactly what the Q8_0 head holds, and the
coarser ones what is left of it. Needs the extra ``llamacpp``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

HEADS = ("F32", "F16", "BF16", "Q8_0", "Q5_0", "Q4_0")
"""From the finest to the coarsest: below, llama.cpp's types take rows of 256, and SmolLM2's have 576."""

_EMBEDDINGS, _HEAD = "token_embd.weight", "output.weight"


def variant(source: Path, head: str, folder: Path) -> Path:
    """The variant in a folder, written there unless it is there already."""
    path = folder / f"{source.stem}-head-{head}.gguf"
    if not path.is_file():
        partial = path.with_suffix(".partial")
        _write(source, head, partial)
        partial.replace(path)
    return path


def _write(source: Path, head: str, path: Path) -> None:
    import gguf

    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(path, str(reader.fields["general.architecture"].contents()))
    for field in reader.fields.values():
        if not field.name.startswith("GGUF.") and field.name != "general.architecture":
            kind = field.types[0]
            sub = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(field.name, field.contents(), kind, sub)
    for tensor in reader.tensors:
        if tensor.name != _HEAD:
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.add_tensor(_HEAD, *_head(gguf, reader, head))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _head(gguf: Any, reader: Any, head: str) -> tuple[Any, None, Any]:
    """The data of the head, and its type."""
    embeddings = next(tensor for tensor in reader.tensors if tensor.name == _EMBEDDINGS)
    kind = gguf.GGMLQuantizationType[head]
    values = gguf.dequantize(embeddings.data, embeddings.tensor_type)
    return gguf.quantize(values, kind), None, kind
