"""The precision of a checkpoint's lm_head, as far as its files say it; ``unknown`` with the reason, never a guess.

Tensors come first: what is stored is what an engine reads. The configuration fills in what tensors do not say (the
width of packed integers, whether activations are quantized), and where it contradicts them, nothing is claimed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzzer.checkpoint.files import read_json
from fuzzer.checkpoint.gguf import GgufHead, is_gguf, read_gguf
from fuzzer.checkpoint.quantization import CONFIG, HF_QUANT, Rule, rule_for, tied
from fuzzer.checkpoint.safetensors import INDEX, Tensors, read_header, read_sharded
from fuzzer.checkpoint.stored import Stored, stored
from fuzzer.errors import UsageError

UNKNOWN = "unknown"
HEAD_MODULES = (
    "lm_head", "model.lm_head", "language_model.lm_head", "model.language_model.lm_head", "thinker.lm_head",
    "transformer.lm_head", "output", "embed_out", "transformer.output_layer", "head",
)  # fmt: skip
EMBEDDINGS = (
    "model.embed_tokens", "language_model.model.embed_tokens", "model.language_model.embed_tokens",
    "thinker.model.embed_tokens", "transformer.wte", "wte", "model.decoder.embed_tokens", "decoder.embed_tokens",
    "gpt_neox.embed_in", "transformer.word_embeddings", "transformer.embedding.word_embeddings",
    "backbone.embeddings", "backbone.embedding", "tok_embeddings", "embed",
)  # fmt: skip
"""Modules that are the output head or the input embeddings, as architectures name them; the first found counts."""

_SHARD = re.compile(r"(?P<stem>.+)-\d{5}-of-(?P<count>\d{5})\.gguf")
_MOST_FILES = 4096
_GGUF_PLAIN = {"F32": "fp32", "F16": "fp16", "BF16": "bf16", "F64": "fp64"}


@dataclass(frozen=True, slots=True)
class Head:
    """What is known of an lm_head.

    ``precision`` is what ``--lm-head`` would be told, or "unknown". ``tensor`` and ``stored`` are the tensor it was
    read from and its types, "" where there is none. ``tied``: the input embeddings serve as the head. ``reasons`` say
    where each part was read, or why it is unknown.
    """

    precision: str
    tensor: str
    stored: str
    tied: bool
    reasons: tuple[str, ...]


def inspect(path: Path) -> Head:
    """The lm_head of a checkpoint: a folder, a safetensors file or a GGUF file. UsageError if there is none to read."""
    if path.is_dir():
        return _folder(path)
    if path.suffix == ".safetensors":
        return _file(path)
    if is_gguf(path):
        return _gguf(path)
    raise UsageError(
        f"--checkpoint: {path.name} is neither a folder nor a safetensors or GGUF file; give for example "
        "--checkpoint model/ or --checkpoint model.Q4_1.gguf"
    )


def _folder(folder: Path) -> Head:
    names = _entries(folder)
    index = [path for path in names if path.match(INDEX)]
    files = [path for path in names if path.suffix == ".safetensors"]
    models = [path for path in names if path.suffix == ".gguf"]
    if index:
        return _decide(read_sharded(index[0], _wanted), folder, complete=True)
    if files:
        tensors: Tensors = {}
        for path in files:
            tensors |= {name: tensor for name, tensor in read_header(path).items() if _wanted(name)}
        return _decide(tensors, folder, complete=True)
    stems = {match["stem"] if (match := _SHARD.fullmatch(path.name)) else path.name for path in models}
    if len(stems) == 1:
        return _gguf(models[0])
    if models:
        raise UsageError(f"--checkpoint: {folder} holds {len(stems)} models; give the path of one .gguf file")
    if any(path.suffix in (".bin", ".pt", ".pth") for path in names):
        return _unknown(f"{folder.name} holds pickled weights, which are not opened: they could run code")
    raise UsageError(f"--checkpoint: {folder} holds no .safetensors and no .gguf file")


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(entry for entry, _ in zip(folder.iterdir(), range(_MOST_FILES), strict=False))
    except OSError as error:
        raise UsageError(f"--checkpoint: cannot read {folder}: {error.strerror}") from None


def _file(path: Path) -> Head:
    tensors = {name: tensor for name, tensor in read_header(path).items() if _wanted(name)}
    index = sorted(path.parent.glob(INDEX))
    if index and not _module(tensors, HEAD_MODULES):
        tensors = read_sharded(index[0], _wanted)
    return _decide(tensors, path.parent, complete=bool(index) or "-of-" not in path.name)


def _wanted(name: str) -> bool:
    return any(name.startswith(f"{module}.") for module in (*HEAD_MODULES, *EMBEDDINGS))


def _module(tensors: Tensors, modules: tuple[str, ...]) -> str | None:
    """The first of these modules that has weights."""
    weights = ("weight", "qweight", "weight_packed")
    return next((module for module in modules if any(f"{module}.{name}" in tensors for name in weights)), None)


def _decide(tensors: Tensors, folder: Path, *, complete: bool) -> Head:
    config, hf_quant = _optional(folder / CONFIG), _optional(folder / HF_QUANT)
    head, embeddings, told = _module(tensors, HEAD_MODULES), _module(tensors, EMBEDDINGS), tied(config)
    if head is not None and not (told and embeddings):
        return _judge(tensors, head, config, hf_quant)
    if embeddings is None:
        return _unknown("neither an output head nor input embeddings were found under any known name")
    if told is False:
        return _unknown(f"{CONFIG} says tie_word_embeddings: false, but no output head was found")
    if told is None and not complete:
        return _unknown("this file holds no output head; others of the checkpoint may: give the folder")
    why = f"{CONFIG}: tie_word_embeddings true" if told else "no output head is stored, so the embeddings serve as one"
    return _judge(tensors, embeddings, config, hf_quant, why)


def _judge(
    tensors: Tensors, module: str, config: Mapping[str, Any], hf_quant: Mapping[str, Any], tied_by: str = ""
) -> Head:
    own = {name.removeprefix(f"{module}."): tensor for name, tensor in tensors.items() if name.startswith(f"{module}.")}
    found = stored({name: tensor.dtype for name, tensor in own.items()})
    # What is said of the head by name holds for embeddings that serve as one, unless they are quantized themselves
    rule = rule_for(config, hf_quant, HEAD_MODULES[0] if tied_by and found.plain else module)
    precision, reason = _combined(found, rule, bool(tied_by))
    file = next(iter(own.values())).file
    reasons = [tied_by, f"{file}: {module} has {found.shown}", reason]
    if dtype := config.get("head_dtype"):
        reasons.append(f"{CONFIG}: head_dtype {str(dtype)[:40]}; an engine that heeds it computes the head in that")
    return Head(precision, module, found.shown, bool(tied_by), tuple(filter(None, reasons)))


def _combined(found: Stored, rule: Rule | None, is_tied: bool) -> tuple[str, str]:
    """The precision that tensors and configuration agree on, and what the configuration adds."""
    if found.plain and found.precision is not None:
        if rule is None or rule.covers is False:
            return found.precision, rule.where if rule else ""
        if rule.at_load:
            return UNKNOWN, f"{rule.where}; stored plainly, but an engine may quantize it at load"
        if rule.covers and not is_tied:  # a rule for linear layers does not concern embeddings
            return UNKNOWN, f"{rule.where}; that would quantize the head, but it is stored as {found.precision}"
        return found.precision, f"{rule.where}; stored plainly"
    if rule is not None and rule.covers is False:
        return UNKNOWN, f"{rule.where}; but the head is stored quantized"
    told = rule.precision if rule else None
    if told is not None and told.startswith(found.family):
        return told, rule.where if rule else ""
    if told is not None and found.family:
        return UNKNOWN, f"{rule.where if rule else ''}; that is not what is stored"
    if found.precision is not None:
        return found.precision, found.note
    return UNKNOWN, found.note


def _gguf(path: Path) -> Head:
    head = read_gguf(path)
    parts = _parts(path, head)
    types = {name: (dtype, part) for part, other in parts for name, dtype in other.tensors.items()}
    for name, is_tied in (("output.weight", False), ("token_embd.weight", True)):
        if name in types and (not is_tied or len(parts) >= _part_count(head)):
            dtype, part = types[name]
            precision = _GGUF_PLAIN.get(dtype) or (UNKNOWN if dtype.startswith("type ") else dtype.lower())
            reasons = [f"{part}: {name} is {dtype}"]
            if is_tied:
                reasons.insert(0, "no output.weight is stored, so token_embd.weight serves as the head")
            if precision == UNKNOWN:
                reasons.append("a tensor type that is not known here")
            return Head(precision, name, dtype, is_tied, tuple(reasons))
    if len(parts) < _part_count(head):
        return _unknown(f"{path.name} is one of {_part_count(head)} parts, and not all of them lie beside it")
    return _unknown(f"{path.name} has neither output.weight nor token_embd.weight")


def _part_count(head: GgufHead) -> int:
    count = head.metadata.get("split.count", 1)
    return int(count) if isinstance(count, int) else 1


def _parts(path: Path, head: GgufHead) -> list[tuple[str, GgufHead]]:
    """The parts of a split model that are there, by file name."""
    match = _SHARD.fullmatch(path.name)
    if match is None or not 1 < _part_count(head) <= _MOST_FILES:
        return [(path.name, head)]
    count = _part_count(head)
    names = [f"{match['stem']}-{number:05}-of-{count:05}.gguf" for number in range(1, count + 1)]
    return [(name, read_gguf(path.with_name(name))) for name in names if path.with_name(name).is_file()]


def _optional(path: Path) -> dict[str, Any]:
    return read_json(path) if path.is_file() else {}


def _unknown(why: str) -> Head:
    return Head(UNKNOWN, "", "", False, (why,))
