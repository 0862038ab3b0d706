"""The lm_head of GGUF files, whole and split, and files that are not what they say."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from benchmarks.heads import variant
from fuzzer.checkpoint import UNKNOWN, inspect
from fuzzer.errors import UsageError
from tests.checkpoint.makers import gguf

EMBED = {"token_embd.weight": "Q8_0"}


@pytest.mark.parametrize(
    ("kind", "precision"), [("F32", "fp32"), ("BF16", "bf16"), ("Q4_0", "q4_0"), ("Q6_K", "q6_k"), ("odd", UNKNOWN)]
)
def test_the_type_of_the_output_tensor_is_the_precision(tmp_path: Path, kind: str, precision: str) -> None:
    path = gguf(tmp_path / "m.gguf", {**EMBED, "output.weight": kind}, tokenizer__ggml__tokens=["a", "b"] * 500)
    head = inspect(path)
    assert (head.precision, head.tied, head.tensor) == (precision, False, "output.weight")
    assert head.reasons[0].startswith("m.gguf: output.weight is ")


def test_without_an_output_tensor_the_embeddings_serve(tmp_path: Path) -> None:
    head = inspect(gguf(tmp_path / "m.gguf", EMBED))
    assert (head.precision, head.tied) == ("q8_0", True)


def test_the_head_of_a_split_model_is_found_in_its_part(tmp_path: Path) -> None:
    first = gguf(tmp_path / "m-00001-of-00002.gguf", EMBED, split__count=2)
    assert inspect(first).precision == UNKNOWN
    gguf(tmp_path / "m-00002-of-00002.gguf", {"output.weight": "F16"}, split__count=2)
    assert inspect(first).precision == inspect(tmp_path).precision == "fp16"


def test_a_folder_of_several_models_asks_for_one(tmp_path: Path) -> None:
    gguf(tmp_path / "a.gguf", EMBED)
    gguf(tmp_path / "b.gguf", EMBED)
    with pytest.raises(UsageError, match=r"2 models; give the path of one \.gguf file"):
        inspect(tmp_path)


def test_a_file_that_the_reference_package_wrote_is_read(tmp_path: Path) -> None:
    package = pytest.importorskip("gguf")
    np = pytest.importorskip("numpy")
    writer = package.GGUFWriter(tmp_path / "m.gguf", "llama")
    writer.add_block_count(1)
    writer.add_array("tokenizer.ggml.tokens", ["a", "b"])
    writer.add_array("tokenizer.ggml.scores", [0.5, 1.5])
    writer.add_bool("tokenizer.ggml.add_bos_token", False)
    writer.add_tensor("token_embd.weight", np.zeros((2, 32), dtype=np.float16))
    writer.add_tensor("output.weight", np.zeros((2, 32), dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    assert inspect(tmp_path).precision == "fp32"


HEAD = b"GGUF" + struct.pack("<IQQ", 3, 1, 1)
DAMAGE = {
    "cut off": b"GGUF\x03",
    "old": b"GGUF" + struct.pack("<IQQ", 1, 0, 0),
    "big-endian": b"GGUF" + struct.pack(">IQQ", 3, 0, 0),
    "many tensors": b"GGUF" + struct.pack("<IQQ", 3, 2**40, 0),
    "many pairs": b"GGUF" + struct.pack("<IQQ", 3, 0, 2**40),
    "long string": HEAD + struct.pack("<Q", 2**62),
    "odd type": HEAD + struct.pack("<Q", 1) + b"k" + struct.pack("<I", 77),
    "many strings": HEAD + struct.pack("<Q", 1) + b"k" + struct.pack("<IIQ", 9, 8, 2**25),
    "nested arrays": HEAD + struct.pack("<Q", 1) + b"k" + struct.pack("<IIQ", 9, 9, 1) * 3,
    "long array": HEAD + struct.pack("<Q", 1) + b"k" + struct.pack("<IIQ", 9, 12, 2**26),
    "many dimensions": b"GGUF" + struct.pack("<IQQQ", 3, 1, 0, 1) + b"t" + struct.pack("<I", 2**31),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_file_is_one_clear_line(tmp_path: Path, name: str) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(DAMAGE[name])
    with pytest.raises(UsageError, match=r"^--checkpoint: m\.gguf is damaged"):
        inspect(path)


@pytest.mark.parametrize(
    ("head", "precision"),
    [("F32", "fp32"), ("F16", "fp16"), ("BF16", "bf16"), ("Q8_0", "q8_0"), ("Q5_0", "q5_0"), ("Q4_0", "q4_0")],
)
def test_variants_that_differ_only_in_the_head_are_told_apart(tmp_path: Path, head: str, precision: str) -> None:
    package, np = pytest.importorskip("gguf"), pytest.importorskip("numpy")
    kind = package.GGMLQuantizationType.Q8_0
    writer = package.GGUFWriter(tmp_path / "m.gguf", "llama")
    writer.add_array("tokenizer.ggml.tokens", ["a", "b"])
    values = np.linspace(-1, 1, 128, dtype=np.float32).reshape(2, 64)
    writer.add_tensor("token_embd.weight", package.quantize(values, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    made = variant(tmp_path / "m.gguf", head, tmp_path)
    found = inspect(made)
    assert (found.precision, found.tied) == (precision, False)
    reader = package.GGUFReader(made)
    assert reader.fields["tokenizer.ggml.tokens"].contents() == ["a", "b"]
    assert [tensor.name for tensor in reader.tensors] == ["token_embd.weight", "output.weight"]
    assert variant(tmp_path / "m.gguf", head, tmp_path) == made
