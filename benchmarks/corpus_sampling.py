"""Seconds and memory that it takes to draw a few rows of a large corpus, against loading all of it.

    python -m benchmarks.corpus_sampling [--rows 1000000] [--take 500]

Makes a traffic log, writes it as JSON lines, as one JSON array, as CSV and as Parquet, and reads each in processes of
their own, so that the peak of memory is that of the one reading (a process inherits its parent's: this one is small).
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

WORDS = ("river", "stone", "lamp", "copper", "silver", "window", "market", "letter", "garden", "winter", "bridge")
SUFFIXES = (".jsonl", ".json", ".csv", ".parquet")
CHUNK = 50_000


def rows(count: int) -> Iterator[dict[str, Any]]:
    """Rows of about 60 words."""
    rng = random.Random(0)
    for at in range(count):
        yield {"id": at, "prompt": f"Row {at}: {' '.join(rng.choices(WORDS, k=60))}"}


def make(folder: Path, count: int) -> int:
    """The same rows in every kind of file."""
    import datasets

    lines = folder / "log.jsonl"
    with lines.open("w", encoding="utf-8") as file, (folder / "log.json").open("w", encoding="utf-8") as array:
        for at, row in enumerate(rows(count)):
            line = json.dumps(row)
            file.write(line + "\n")
            array.write(("[" if at == 0 else ",\n") + line)
        array.write("]\n")
    datasets.disable_progress_bars()
    table = datasets.Dataset.from_json(str(lines), cache_dir=str(folder / "cache"))
    table.to_csv(str(folder / "log.csv"), index=False)
    table.to_parquet(str(folder / "log.parquet"), batch_size=CHUNK)
    return count


def sample(path: Path, take: int) -> int:
    """Draw the rows as a run does."""
    from fuzzer.prompts import corpora

    return len(corpora.load(str(path), seed=1, limit=take).rows)


def whole(path: Path, _: int) -> int:
    """Load the file as a program would that thinks nothing of it, and make rows of all of it."""
    import datasets

    if path.suffix in (".jsonl", ".json"):
        text = path.read_text(encoding="utf-8")
        loaded = json.loads(text) if path.suffix == ".json" else [json.loads(line) for line in text.splitlines()]
    else:
        datasets.disable_progress_bars()
        reader = datasets.Dataset.from_csv if path.suffix == ".csv" else datasets.Dataset.from_parquet
        with tempfile.TemporaryDirectory() as cache:
            loaded = list(reader(str(path), cache_dir=cache))
    return len(loaded)


WAYS: dict[str, Callable[[Path, int], int]] = {"make": make, "sample": sample, "whole": whole}


def measure(way: str, path: Path, count: int) -> tuple[float, float]:
    """Seconds and peak MiB of a fresh process, its start included."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.corpus_sampling",
        "--way",
        way,
        "--file",
        str(path),
        "--take",
        str(count),
    ]
    started = time.monotonic()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return time.monotonic() - started, float(done.stdout.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--take", type=int, default=500)
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        count = WAYS[options.way](options.file, options.take)
        print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        return
    with tempfile.TemporaryDirectory(prefix="specfuzz-benchmark-") as name:
        measure("make", Path(name), options.rows)
        print(f"{options.take:,} of {options.rows:,} rows, against all of them")
        print("file           MiB  sample s  peak MiB   whole s  peak MiB  times s  times MiB")
        for suffix in SUFFIXES:
            path = Path(name) / f"log{suffix}"
            size = path.stat().st_size / 2**20
            few, all_ = measure("sample", path, options.take), measure("whole", path, options.take)
            figures = f"{size:8.0f}{few[0]:10.1f}{few[1]:10.0f}{all_[0]:10.1f}{all_[1]:10.0f}"
            print(f"{suffix:10}{figures}{all_[0] / few[0]:9.1f}{all_[1] / few[1]:11.1f}", flush=True)


if __name__ == "__main__":
    main()
