"""Writes the generated corpora again: the same bytes each time.

python -m benchmarks.corpora
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.corpora import GENERATED
from benchmarks.corpora.rows import lines

HOME = Path(__file__).resolve().parent.parent.parent / "corpora"


def main() -> None:
    for name, rows in GENERATED.items():
        made = rows()
        (HOME / f"{name}.jsonl").write_text(lines(made), encoding="utf-8")
        print(f"{name}: {len(made)} rows")


if __name__ == "__main__":
    main()
