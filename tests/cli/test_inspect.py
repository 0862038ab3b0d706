from __future__ import annotations

import json
from pathlib import Path

from tests.checkpoint.makers import gguf, safetensors
from tests.cli.conftest import specfuzz


def test_a_known_precision_is_told_with_where_it_was_read(tmp_path: Path) -> None:
    path = gguf(tmp_path / "m.gguf", {"output.weight": "Q6_K"})
    result = specfuzz("inspect", "--checkpoint", str(path))
    assert result.status == 0
    assert result.out.splitlines()[0] == "lm_head: q6_k"
    assert "m.gguf: output.weight is Q6_K" in result.out
    assert "--lm-head NAME=q6_k" in result.out


def test_an_unknown_precision_exits_3_and_says_why(tmp_path: Path) -> None:
    safetensors(tmp_path / "model.safetensors", {"lm_head.qweight": "I32"})
    result = specfuzz("inspect", "--checkpoint", str(tmp_path), "--json")
    assert result.status == 3
    head = json.loads(result.out)["lm_head"]
    assert head["precision"] == "unknown"
    assert "width is not in the tensors" in head["reasons"][-1]


def test_a_file_that_is_no_checkpoint_exits_2_with_one_line(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"nonsense")
    result = specfuzz("inspect", "--checkpoint", str(tmp_path))
    assert (result.status, result.out) == (2, "")
    assert result.err.count("\n") == 1
    assert "model.safetensors is damaged" in result.err
