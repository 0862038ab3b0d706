"""What a checkpoint's own configuration says of the precision of one module: the lm_head.

Sources of the formats: ``config.json`` with ``quantization_config`` (Transformers, "Quantization"): compressed-tensors
(``config_groups``, ``ignore``), fp8, gptq (``lm_head``, ``dynamic``; vLLM's gptq_utils.py shows how they are read),
awq, bitsandbytes (``llm_int8_skip_modules``), mxfp4 (``modules_to_not_convert``); ``hf_quant_config.json`` of NVIDIA's
Model Optimizer (``quant_algo``, ``exclude_modules``, ``quantized_layers``; vLLM's docs/features/quantization/
modelopt.md lists the algorithms); MLX's ``quantization`` (bits, and overrides by module).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

CONFIG, HF_QUANT = "config.json", "hf_quant_config.json"

_MODELOPT = {
    "FP8": "fp8",
    "FP8_PER_CHANNEL_PER_TOKEN": "fp8",
    "FP8_PB": "fp8",
    "FP8_PB_WO": "fp8-w8a16",
    "MXFP8": "mxfp8",
    "NVFP4": "nvfp4",
    "NVFP4_AWQ": "nvfp4",
    "W4A16_NVFP4": "nvfp4-w4a16",
    "W4A16_AWQ": "w4a16",
    "INT4_AWQ": "w4a16",
    "W8A16": "w8a16",
    "W8A8_SQ_PER_CHANNEL": "w8a8",
    "INT8_SQ": "w8a8",
}
_WILD = re.compile(r"[*+?{]")
_QUANTIFIED_GROUP = re.compile(r"\)[*+?{]")
_MOST_WILD = 4  # quantifiers in a pattern from a file: more could take for ever to match
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Rule:
    """What the configuration says of a module.

    ``covers``: whether it is quantized, None where that cannot be told. ``precision`` is what it then is, None where
    the configuration does not say. ``at_load``: an engine may quantize what is stored plainly. ``where`` names file,
    key and what stands there.
    """

    method: str
    covers: bool | None
    precision: str | None
    where: str
    at_load: bool = False


def rule_for(config: Mapping[str, Any], hf_quant: Mapping[str, Any], module: str) -> Rule | None:
    """What the configuration files say of ``module``; None where they know of no quantization at all."""
    own = _mapping(hf_quant.get("quantization"))
    section = _mapping(config.get("quantization_config")) or _mapping(_text(config).get("quantization_config"))
    method = str(section.get("quant_method", "")).lower().removeprefix("intel/").replace("_", "-")
    if own:
        return _modelopt(own, f"{HF_QUANT}: quantization", module)
    if "quant_algo" in section or method.startswith("modelopt"):
        return _modelopt(section, f"{CONFIG}: quantization_config", module)
    if method in _READERS:
        return _READERS[method](section, f"{CONFIG}: quantization_config", module)
    if not method and isinstance(bits := _mapping(config.get("quantization")).get("bits"), int):
        return _mlx(_mapping(config.get("quantization")), f"{CONFIG}: quantization", module, bits)
    if section:
        where = f"{CONFIG}: quantization_config.quant_method {method[:40] or 'is missing'!r} is not known here"
        return Rule(method or "unknown", None, None, where, at_load=True)
    return None


def _text(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The language model's part of a multimodal configuration."""
    return _mapping(config.get("text_config"))


def tied(config: Mapping[str, Any]) -> bool | None:
    """Whether the configuration ties the head to the embeddings; None where it does not say."""
    for part in (config, _text(config)):
        value = part.get("tie_word_embeddings")
        if isinstance(value, bool):
            return value
    return None


def _modelopt(section: Mapping[str, Any], where: str, module: str) -> Rule:
    algorithm = str(section.get("quant_algo", "")).upper()
    excluded = (
        _names(section, "exclude_modules") + _names(section, "ignore") + _names(section, "modules_to_not_convert")
    )
    entry = next((name for name in excluded if fnmatchcase(module, name) or _same(name, module)), None)
    if entry is not None:
        return Rule("modelopt", False, None, f"{where}: {entry!r} is left out")
    if algorithm == "MIXED_PRECISION":
        layer = _mapping(_mapping(section.get("quantized_layers")).get(module))
        algorithm = str(layer.get("quant_algo", "")).upper()
        if not algorithm:
            return Rule("modelopt", False, None, f"{where}: {module} is not among quantized_layers")
    return Rule("modelopt", True, _MODELOPT.get(algorithm), f"{where}: quant_algo {algorithm[:40] or 'is missing'}")


def _compressed_tensors(section: Mapping[str, Any], where: str, module: str) -> Rule:
    left_out = _listed(_names(section, "ignore"), module)
    if left_out is None:
        return Rule("compressed-tensors", None, None, f"{where}.ignore: a pattern that is not evaluated here")
    if left_out:
        return Rule("compressed-tensors", False, None, f"{where}.ignore has {left_out!r}")
    groups = [_mapping(group) for group in _mapping(section.get("config_groups")).values()]
    by_name = [group for group in groups if _listed(_names(group, "targets"), module)]
    by_class = [group for group in groups if "Linear" in _names(group, "targets")]
    if not by_name and not by_class:
        return Rule("compressed-tensors", False, None, f"{where}.config_groups: no group targets {module} or Linear")
    group = (by_name or by_class)[0]
    return Rule("compressed-tensors", True, _scheme(group), f"{where}.config_groups: {_told(group)}")


def _scheme(group: Mapping[str, Any]) -> str | None:
    weights, inputs = _mapping(group.get("weights")), _mapping(group.get("input_activations"))
    bits, kind = weights.get("num_bits"), weights.get("type")
    activations = inputs.get("num_bits", 16)
    if kind == "float" and bits == 4:
        name = "mxfp4" if weights.get("group_size") == 32 else "nvfp4"
        return name if activations == 4 else f"{name}-w4a{activations}"
    if kind == "float" and bits == 8:
        return "fp8" if activations == 8 else f"fp8-w8a{activations}"
    if kind == "int" and isinstance(bits, int) and isinstance(activations, int):
        return f"w{bits}a{activations}"
    return None


def _told(group: Mapping[str, Any]) -> str:
    weights, inputs = _mapping(group.get("weights")), _mapping(group.get("input_activations"))
    activations = f"{inputs.get('num_bits')}-bit {inputs.get('type')}" if inputs else "not quantized"
    return f"weights {weights.get('num_bits')}-bit {weights.get('type')}, activations {activations}"


def _fp8(section: Mapping[str, Any], where: str, module: str) -> Rule:
    for key in ("modules_to_not_convert", "ignored_layers"):
        if entry := _listed(_names(section, key), module):
            return Rule("fp8", False, None, f"{where}.{key} has {entry!r}")
    # vLLM quantizes linear layers only, and its lm_head is none; Transformers would take it
    return Rule("fp8", None, "fp8", f"{where}: quant_method fp8, {module} not named")


def _gptq(section: Mapping[str, Any], where: str, module: str) -> Rule:
    method = str(section.get("quant_method", "gptq"))[:40]
    for pattern, override in _mapping(section.get("dynamic")).items():
        found = _matches(pattern.removeprefix("-:").removeprefix("+:"), module)
        if found is None:
            return Rule(method, None, None, f"{where}.dynamic: a pattern that is not evaluated here")
        if found and pattern.startswith("-:"):
            return Rule(method, False, None, f"{where}.dynamic leaves it out by {pattern[:80]!r}")
        if found:
            section = {**section, **_mapping(override)}
    if section.get("lm_head") is True:
        return Rule(method, True, _weight_only(section), f"{where}: lm_head true, bits {section.get('bits')}")
    return Rule(method, False, _weight_only(section), f"{where}: {method} without lm_head: true leaves the head out")


def _awq(section: Mapping[str, Any], where: str, module: str) -> Rule:
    if entry := _listed(_names(section, "modules_to_not_convert"), module):
        return Rule("awq", False, None, f"{where}.modules_to_not_convert has {entry!r}")
    return Rule("awq", None, _weight_only(section), f"{where}: quant_method awq, {module} not named")


def _bitsandbytes(section: Mapping[str, Any], where: str, module: str) -> Rule:
    if section.get("load_in_8bit") or section.get("_load_in_8bit"):
        precision = "int8"
    else:
        precision = {"nf4": "nf4", "fp4": "fp4-w4a16"}.get(str(section.get("bnb_4bit_quant_type", "fp4")), "")
    skipped = section.get("llm_int8_skip_modules")
    if entry := _listed(_names(section, "llm_int8_skip_modules"), module):
        return Rule("bitsandbytes", False, None, f"{where}.llm_int8_skip_modules has {entry!r}")
    if skipped is None:  # Transformers, get_keys_to_not_convert: the output head is left out unless a list says else
        return Rule("bitsandbytes", False, None, f"{where}: without llm_int8_skip_modules the head is left out")
    where = f"{where}.llm_int8_skip_modules does not have {module}"
    return Rule("bitsandbytes", None, precision or None, where, at_load=True)


def _mxfp4(section: Mapping[str, Any], where: str, module: str) -> Rule:
    if entry := _listed(_names(section, "modules_to_not_convert"), module):
        return Rule("mxfp4", False, None, f"{where}.modules_to_not_convert has {entry!r}")
    return Rule("mxfp4", None, "mxfp4-w4a16", f"{where}: quant_method mxfp4, {module} not named")


def _mlx(section: Mapping[str, Any], where: str, module: str, bits: int) -> Rule:
    override = section.get(module)
    if override is False:
        return Rule("mlx", False, None, f"{where}.{module} is false")
    own = _mapping(override)
    bits, mode = own.get("bits", bits), own.get("mode", section.get("mode", "affine"))
    precision = f"w{bits}a16" if mode == "affine" else f"{str(mode)[:20]}-w{bits}a16"
    return Rule("mlx", True, precision, f"{where}: {bits} bits, mode {str(mode)[:20]}")


_READERS = {
    "compressed-tensors": _compressed_tensors,
    "fp8": _fp8,
    "gptq": _gptq,
    "gptqmodel": _gptq,
    "auto-round": _gptq,
    "awq": _awq,
    "bitsandbytes": _bitsandbytes,
    "mxfp4": _mxfp4,
}


def _weight_only(section: Mapping[str, Any]) -> str | None:
    bits = section.get("bits", section.get("w_bit"))
    return f"w{bits}a16" if isinstance(bits, int) and not isinstance(bits, bool) else None


def _listed(names: Iterable[str], module: str) -> str | None:
    """The entry of a list that names the module, "" if none does, None if an entry cannot be evaluated safely."""
    doubtful = False
    for name in names:
        if not name.startswith("re:"):
            if _same(name, module):
                return name
            continue
        found = _matches(name[3:], module)
        if found:
            return name
        doubtful |= found is None
    return None if doubtful else ""


def _same(name: str, module: str) -> bool:
    """Whether an entry is the module's name or the end of it (``lm_head`` for ``language_model.lm_head``)."""
    return module == name or module.endswith(f".{name}") or name.endswith(f".{module}")


def _matches(pattern: str, module: str) -> bool | None:
    """Whether a pattern from a file matches from the start; None if it could take for ever, or is no pattern."""
    if len(pattern) > _LONGEST or len(_WILD.findall(pattern)) > _MOST_WILD or _QUANTIFIED_GROUP.search(pattern):
        return None
    try:
        return re.match(pattern, module) is not None
    except re.error:
        return None


def _names(section: Mapping[str, Any], key: str) -> list[str]:
    value = section.get(key)
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
