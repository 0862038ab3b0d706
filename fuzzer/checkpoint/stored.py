"""How one module's weights are stored: the names and types of its tensors, before any configuration is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PLAIN = {"F64": "fp64", "F32": "fp32", "F16": "fp16", "BF16": "bf16"}
_FP8 = ("F8_E4M3", "F8_E5M2", "F8_E4M3FN", "F8_E4M3FNUZ")
_COMPANIONS = ("weight_scale", "weight_packed", "qweight", "scales", "SCB")
_INPUT_SCALES = ("input_scale", "input_global_scale")
_BNB = "weight.quant_state.bitsandbytes__"  # bitsandbytes, QuantState.as_dict(packed=True)


@dataclass(frozen=True, slots=True)
class Stored:
    """What the tensors alone say.

    ``precision`` is None where they do not say it all (packed integers without their width). ``plain``: not quantized.
    ``family`` is what a configuration's precision must begin with to agree. ``shown`` lists the tensors.
    """

    precision: str | None
    plain: bool
    family: tuple[str, ...]
    shown: str
    note: str = ""


def stored(tensors: Mapping[str, str]) -> Stored:
    """Read the tensors of one module: the rest of each name after the module's, and its type as spelled in the file."""
    shown = ", ".join(f"{name} {dtype}" for name, dtype in sorted(tensors.items())[:6])
    weight = tensors.get("weight", "")
    if weight in PLAIN and not any(name in tensors for name in _COMPANIONS):
        return Stored(PLAIN[weight], True, (PLAIN[weight],), shown)
    quantized = _four_bit(tensors, weight) or _eight_bit(tensors, weight) or _packed(tensors, weight)
    if quantized is None:
        return Stored(None, False, (), shown, "tensors of these names and types are not known here")
    precision, family, note = quantized
    return Stored(precision, False, family, shown, note)


_Found = tuple[str | None, tuple[str, ...], str]


def _four_bit(tensors: Mapping[str, str], weight: str) -> _Found | None:
    for kind, precision in (("nf4", "nf4"), ("fp4", "fp4-w4a16")):
        if _BNB + kind in tensors:
            return precision, (precision,), ""
    packed, scale = tensors.get("weight_packed", weight), tensors.get("weight_scale", "")
    if packed == "U8" and scale in _FP8:
        told = any(name in tensors for name in _INPUT_SCALES)
        note = "" if told else "no input scale is stored: the activations may not be quantized"
        return "nvfp4", ("nvfp4",), note
    if packed == "U8" and scale in ("U8", "F8_E8M0"):
        return "mxfp4", ("mxfp4",), ""
    if weight == "U8" and scale:
        return None, ("w4a16", "w4a8"), "packed bytes; their width is not in the tensors"
    return None


def _eight_bit(tensors: Mapping[str, str], weight: str) -> _Found | None:
    if weight in _FP8:
        return "fp8", ("fp8", "mxfp8"), ""
    if weight == "I8" and "SCB" in tensors:
        return "int8", ("int8",), ""
    if weight == "I8" and "weight_scale" in tensors:
        return None, ("w8a",), "8-bit integers; whether activations are quantized is not in the tensors"
    return None


def _packed(tensors: Mapping[str, str], weight: str) -> _Found | None:
    integers = tensors.get("qweight") or tensors.get("weight_packed")
    if integers in ("I32", "I16", "I64"):
        return None, ("w",), "packed integers; their width is not in the tensors"
    if weight == "U32" and "scales" in tensors:
        return None, ("w", "mxfp4-", "nvfp4-", "mxfp8-"), "packed integers; their width is not in the tensors"
    return None
