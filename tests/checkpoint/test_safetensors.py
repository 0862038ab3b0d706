"""The lm_head of safetensors checkpoints: what is stored, what the configuration says, and what nobody says."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from fuzzer.checkpoint import UNKNOWN, Head, inspect
from fuzzer.errors import UsageError
from fuzzer.oracles.heads import head_class
from tests.checkpoint.makers import safetensors, sharded

EMBED = {"model.embed_tokens.weight": "BF16"}
BF16 = {**EMBED, "lm_head.weight": "BF16"}
NVFP4 = {
    **EMBED,
    "lm_head.weight_packed": "U8",
    "lm_head.weight_scale": "F8_E4M3",
    "lm_head.weight_global_scale": "F32",
    "lm_head.input_global_scale": "F32",
}
MODELOPT = {
    **EMBED,
    "lm_head.weight": "U8",
    "lm_head.weight_scale": "F8_E4M3",
    "lm_head.weight_scale_2": "F32",
    "lm_head.input_scale": "F32",
}
PACKED = {**EMBED, "lm_head.qweight": "I32", "lm_head.qzeros": "I32", "lm_head.scales": "F16"}
NF4 = {**EMBED, "lm_head.weight": "U8", "lm_head.weight.absmax": "F32",
       "lm_head.weight.quant_state.bitsandbytes__nf4": "U8"}  # fmt: skip


def groups(bits: int, kind: str, activations: int | None, **more: Any) -> dict[str, Any]:
    """The configuration that llm-compressor writes."""
    inputs = None if activations is None else {"num_bits": activations, "type": kind, "dynamic": True}
    weights = {"num_bits": bits, "type": kind, "strategy": "group", "group_size": 16}
    group = {"targets": ["Linear"], "weights": weights, "input_activations": inputs}
    return {"quant_method": "compressed-tensors", "config_groups": {"group_0": group}, "ignore": [], **more}


def look(folder: Path, tensors: dict[str, str], quantized: dict[str, Any] | None = None, /, **config: Any) -> Head:
    safetensors(folder / "model.safetensors", tensors)
    if quantized is not None:
        config["quantization_config"] = quantized
    (folder / "config.json").write_text(json.dumps(config))
    return inspect(folder)


@pytest.mark.parametrize(
    ("tensors", "quantization", "precision"),
    [
        (BF16, None, "bf16"),
        ({**EMBED, "lm_head.weight": "F16"}, None, "fp16"),
        ({**EMBED, "lm_head.weight": "F32"}, None, "fp32"),
        (BF16, groups(4, "float", 4, ignore=["lm_head"]), "bf16"),
        (BF16, groups(4, "float", 4, ignore=["re:.*lm_head"]), "bf16"),
        (NVFP4, groups(4, "float", 4), "nvfp4"),
        (NVFP4, groups(4, "float", None), "nvfp4-w4a16"),
        ({**EMBED, "lm_head.weight_packed": "I32", "lm_head.weight_scale": "BF16"}, groups(4, "int", None), "w4a16"),
        ({**EMBED, "lm_head.weight": "I8", "lm_head.weight_scale": "BF16"}, groups(8, "int", 8), "w8a8"),
        ({**EMBED, "lm_head.weight": "F8_E4M3", "lm_head.weight_scale": "F32"}, groups(8, "float", 8), "fp8"),
        ({**EMBED, "lm_head.weight": "F8_E4M3", "lm_head.weight_scale": "F32"}, groups(8, "float", None), "fp8-w8a16"),
        (MODELOPT, {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": []}, "nvfp4"),
        (BF16, {"quant_method": "fp8", "weight_block_size": [128, 128]}, "bf16"),
        (BF16, {"quant_method": "fp8", "modules_to_not_convert": ["lm_head"]}, "bf16"),
        ({**EMBED, "lm_head.weight": "F8_E4M3"}, {"quant_method": "fp8"}, "fp8"),
        (BF16, {"quant_method": "gptq", "bits": 4, "lm_head": False}, "bf16"),
        (PACKED, {"quant_method": "gptq", "bits": 4, "lm_head": True}, "w4a16"),
        (PACKED, {"quant_method": "gptq", "bits": 4, "lm_head": True, "dynamic": {"+:lm_head": {"bits": 8}}}, "w8a16"),
        (BF16, {"quant_method": "awq", "bits": 4, "modules_to_not_convert": None}, "bf16"),
        (PACKED, {"quant_method": "awq", "bits": 4}, "w4a16"),
        (NF4, {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4",
               "llm_int8_skip_modules": []}, "nf4"),
        (BF16, {"quant_method": "bitsandbytes", "load_in_4bit": True, "llm_int8_skip_modules": ["lm_head"]}, "bf16"),
        (BF16, {"quant_method": "bitsandbytes", "load_in_8bit": True, "llm_int8_skip_modules": None}, "bf16"),
        (BF16, {"quant_method": "mxfp4", "modules_to_not_convert": ["model.embed_tokens", "lm_head"]}, "bf16"),
    ],
)  # fmt: skip
def test_the_precision_is_what_tensors_and_configuration_agree_on(
    tmp_path: Path, tensors: dict[str, str], quantization: dict[str, Any] | None, precision: str
) -> None:
    head = look(tmp_path, tensors, quantization, tie_word_embeddings=False)
    assert (head.precision, head.tied) == (precision, False)
    assert any("model.safetensors: lm_head" in reason for reason in head.reasons)
    if quantization is not None and precision != "fp8":
        assert any("config.json: quantization_config" in reason for reason in head.reasons)


@pytest.mark.parametrize(
    ("tensors", "quantization", "why"),
    [
        (BF16, groups(4, "float", 4), "would quantize the head, but it is stored as bf16"),
        (NVFP4, groups(4, "float", 4, ignore=["lm_head"]), "but the head is stored quantized"),
        (PACKED, None, "their width is not in the tensors"),
        (PACKED, {"quant_method": "gptq", "bits": 4}, "without lm_head: true leaves the head out"),
        (BF16, {"quant_method": "bitsandbytes", "load_in_4bit": True, "llm_int8_skip_modules": ["x"]}, "at load"),
        (BF16, {"quant_method": "torchao"}, "'torchao' is not known here"),
        ({**EMBED, "lm_head.weight": "U8"}, None, "not known here"),
        ({**EMBED, "lm_head.weight": "F8_E4M3"}, groups(4, "int", None), "that is not what is stored"),
    ],
)
def test_what_is_contradicted_or_not_said_is_unknown_with_the_reason(
    tmp_path: Path, tensors: dict[str, str], quantization: dict[str, Any] | None, why: str
) -> None:
    head = look(tmp_path, tensors, quantization)
    assert head.precision == UNKNOWN
    assert any(why in reason for reason in head.reasons)


def test_a_pattern_that_could_take_for_ever_is_not_evaluated(tmp_path: Path) -> None:
    head = look(tmp_path, BF16, groups(4, "float", 4, ignore=["re:(a|a?)+head"]))
    assert head.precision == "bf16"
    assert "a pattern that is not evaluated here; stored plainly" in head.reasons[-1]


def test_tied_embeddings_are_the_head(tmp_path: Path) -> None:
    head = look(tmp_path, EMBED, tie_word_embeddings=True)
    assert (head.precision, head.tied, head.tensor) == ("bf16", True, "model.embed_tokens")
    assert "tie_word_embeddings true" in head.reasons[0]
    quantized = look(tmp_path, EMBED, groups(4, "float", 4, ignore=["lm_head"]), tie_word_embeddings=True)
    assert quantized.precision == "bf16"


def test_tied_embeddings_win_over_a_stored_head(tmp_path: Path) -> None:
    head = look(tmp_path, {**EMBED, "lm_head.weight": "F32"}, text_config={"tie_word_embeddings": True})
    assert (head.precision, head.tied) == ("bf16", True)


def test_without_a_word_on_tying_the_embeddings_serve_where_no_head_is_stored(tmp_path: Path) -> None:
    assert look(tmp_path, EMBED).reasons[0] == "no output head is stored, so the embeddings serve as one"
    head = look(tmp_path, EMBED, tie_word_embeddings=False)
    assert head.precision == UNKNOWN
    assert "no output head was found" in head.reasons[0]


def test_the_head_of_a_multimodal_model_is_found(tmp_path: Path) -> None:
    tensors = {"language_model.model.embed_tokens.weight": "BF16", "language_model.lm_head.weight": "F32"}
    head = look(tmp_path, tensors, groups(4, "float", 4, ignore=["language_model.lm_head"]))
    assert (head.precision, head.tensor) == ("fp32", "language_model.lm_head")


@pytest.mark.parametrize(
    ("tensors", "section", "precision"),
    [
        (BF16, {"quant_algo": "NVFP4", "exclude_modules": ["lm_head"]}, "bf16"),
        (BF16, {"quant_algo": "FP8", "exclude_modules": ["*lm_head*"]}, "bf16"),
        (MODELOPT, {"quant_algo": "NVFP4", "exclude_modules": []}, "nvfp4"),
        (MODELOPT, {"quant_algo": "W4A16_NVFP4", "exclude_modules": []}, "nvfp4-w4a16"),
        (MODELOPT, {"quant_algo": "MIXED_PRECISION", "quantized_layers": {"lm_head": {"quant_algo": "NVFP4"}}},
         "nvfp4"),
        (BF16, {"quant_algo": "MIXED_PRECISION", "quantized_layers": {"model.x": {"quant_algo": "NVFP4"}}}, "bf16"),
    ],
)  # fmt: skip
def test_model_optimizer_says_it_in_a_file_of_its_own(
    tmp_path: Path, tensors: dict[str, str], section: dict[str, Any], precision: str
) -> None:
    text = json.dumps({"producer": {"name": "modelopt", "version": "0.39"}, "quantization": section})
    (tmp_path / "hf_quant_config.json").write_text(text)
    head = look(tmp_path, tensors)
    assert head.precision == precision
    assert "hf_quant_config.json" in head.reasons[-1]


@pytest.mark.parametrize(("override", "precision"), [(None, "w4a16"), ({"bits": 6}, "w6a16")])
def test_mlx_says_the_bits_by_module(tmp_path: Path, override: dict[str, int] | None, precision: str) -> None:
    tensors = {**EMBED, "lm_head.weight": "U32", "lm_head.scales": "BF16", "lm_head.biases": "BF16"}
    quantization: dict[str, Any] = {"group_size": 64, "bits": 4} | ({"lm_head": override} if override else {})
    assert look(tmp_path, tensors, quantization=quantization).precision == precision


def test_only_the_shards_that_hold_the_head_are_opened(tmp_path: Path) -> None:
    sharded(tmp_path, EMBED, {"model.layers.0.mlp.up_proj.weight": "BF16"}, {"lm_head.weight": "F32"})
    (tmp_path / "model-00002-of-00003.safetensors").unlink()
    head = inspect(tmp_path)
    assert head.precision == "fp32"
    assert "model-00003-of-00003.safetensors" in head.reasons[0]


def test_one_shard_alone_is_not_taken_for_the_whole(tmp_path: Path) -> None:
    sharded(tmp_path, EMBED, {"lm_head.weight": "F32"})
    assert inspect(tmp_path / "model-00001-of-00002.safetensors").precision == "fp32"
    (tmp_path / "model.safetensors.index.json").unlink()
    head = inspect(tmp_path / "model-00001-of-00002.safetensors")
    assert head.precision == UNKNOWN
    assert "give the folder" in head.reasons[0]
    assert inspect(tmp_path).precision == "fp32"


def test_an_override_of_the_heads_type_is_told(tmp_path: Path) -> None:
    assert "head_dtype float32" in look(tmp_path, BF16, head_dtype="float32").reasons[-1]


def test_precisions_are_known_to_the_triage_of_divergence(tmp_path: Path) -> None:
    assert head_class("nvfp4-w4a16") == head_class("w4a16") == head_class("q8_0") == head_class("nf4") == "weight-only"
    assert head_class("fp8") == head_class("w8a8") == head_class("mxfp8") == "fp8"
    assert head_class("nvfp4") == head_class("mxfp4") == "w4a4"
    assert head_class(UNKNOWN) == "unknown"


def test_pickled_weights_are_not_opened(tmp_path: Path) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    head = inspect(tmp_path)
    assert head.precision == UNKNOWN
    assert "could run code" in head.reasons[0]


DAMAGE = {
    "empty": b"",
    "short": b"\x01\x02",
    "claims much": struct.pack("<Q", 2**60),
    "cut off": struct.pack("<Q", 100) + b"{",
    "not JSON": struct.pack("<Q", 4) + b"\xff\xfe{}",
    "deep": struct.pack("<Q", 200_000) + b"[" * 200_000,
    "a list": struct.pack("<Q", 2) + b"[]",
    "no dtype": struct.pack("<Q", 22) + b'{"lm_head.weight": {} }',
    "numbers": struct.pack("<Q", 21) + b'{"lm_head.weight": 1}',
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_file_is_one_clear_line(tmp_path: Path, name: str) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(DAMAGE[name])
    with pytest.raises(UsageError, match=r"^--checkpoint: model\.safetensors is damaged"):
        inspect(path)


def test_an_index_leads_nowhere_else(tmp_path: Path) -> None:
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"lm_head.weight": "../../secret.safetensors"}}))
    with pytest.raises(UsageError, match="outside of its folder"):
        inspect(tmp_path)
    index.write_text(json.dumps({"weight_map": {"lm_head.weight": "missing.safetensors"}}))
    with pytest.raises(UsageError, match=r"missing\.safetensors is not a file"):
        inspect(tmp_path)


def test_what_is_no_checkpoint_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no \.safetensors and no \.gguf"):
        inspect(tmp_path)
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(UsageError, match="neither a folder nor"):
        inspect(tmp_path / "notes.txt")
    with pytest.raises(UsageError, match="not a file"):
        inspect(tmp_path / "absent")
