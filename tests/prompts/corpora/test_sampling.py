"""Large corpora are sampled by seed: the same seed takes the same rows, every row has the same chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from fuzzer.prompts import PromptPool, corpora
from fuzzer.prompts.corpora.sampling import sample
from tests.prompts.corpora.files import write


class Counting:
    """A batch that counts how many of its items were made."""

    made = 0

    def __init__(self, start: int, size: int) -> None:
        self._start, self._size = start, size

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, place: int, /) -> int:
        Counting.made += 1
        return self._start + place


def batches(total: int, size: int = 1000) -> Iterator[Counting]:
    return (Counting(start, min(size, total - start)) for start in range(0, total, size))


def test_a_short_stream_is_taken_whole_and_in_order() -> None:
    assert sample(batches(30, 7), 30, "seed").items == list(range(30))
    assert sample(batches(0), 5, "seed") == sample([], 5, "seed")


def test_of_a_long_stream_few_items_are_made() -> None:
    Counting.made = 0
    drawn = sample(batches(1_000_000), 500, "seed")
    assert (len(set(drawn.items)), drawn.total) == (500, 1_000_000)
    assert drawn.items == sorted(drawn.items)
    assert Counting.made < 10_000
    assert drawn == sample(batches(1_000_000, 999), 500, "seed")
    assert drawn != sample(batches(1_000_000), 500, "another")


def test_every_item_has_the_same_chance() -> None:
    counts = Counter(item for seed in range(2000) for item in sample(batches(40, 9), 10, str(seed)).items)
    assert set(counts) == set(range(40))
    assert all(400 < count < 600 for count in counts.values())  # 500 expected, a standard deviation is 19


@pytest.fixture
def many(tmp_path: Path) -> Path:
    return write(tmp_path / "many.jsonl", *({"prompt": f"Question {at}"} for at in range(1200)), "not a row")


def test_rows_beyond_the_limit_are_sampled_and_the_note_says_so(many: Path) -> None:
    loaded = corpora.load(str(many), seed=1, limit=100)
    assert (len(loaded.rows), loaded.total) == (100, 1201)
    assert "100 of 1,201 rows, drawn by seed; only these were validated" in loaded.note
    assert loaded == corpora.load(str(many), seed=1, limit=100)
    other = corpora.load(str(many), seed=2, limit=100)
    assert {row.where for row in other.rows} != {row.where for row in loaded.rows}


def test_a_small_corpus_is_validated_whole(tmp_path: Path) -> None:
    path = write(tmp_path / "few.jsonl", *({"prompt": f"Question {at}"} for at in range(9)))
    assert "9 rows, all of them valid" in corpora.load(str(path)).note


def test_a_pools_seed_draws_its_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(write(tmp_path / "mine.jsonl", *({"prompt": f"Question {at}"} for at in range(300))))
    monkeypatch.setattr(corpora.loading, "LIMIT", 10)

    def asked(seed: int) -> list[str]:
        pool = PromptPool(seed, families=["echo"], corpora=[path])
        return [pool.prompt(2 * index).messages[-1].content.partition("\n")[2] for index in range(10)]

    assert asked(1) == asked(1)
    assert set(asked(1)) != set(asked(2))
