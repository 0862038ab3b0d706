"""``specfuzz corpus add``: a corpus is kept under a name, with a card, and goes by that name from then on."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzzer.errors import UsageError
from fuzzer.prompts import corpora
from fuzzer.prompts.corpora.adding import add
from fuzzer.prompts.corpora.known import known
from tests.prompts.corpora.files import MAKERS, rows, write


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", [*MAKERS, "request"])
def test_a_corpus_of_any_format_is_kept_as_it_was(name: str) -> None:
    write(Path("mine.jsonl"), *rows(name))
    added = add("mine.jsonl", "kept")
    assert added.path == Path("corpora/kept.jsonl")
    before, after = corpora.load("mine.jsonl").rows, corpora.load("kept").rows
    assert [(row.messages, row.asks, row.answer, row.spec, row.wants, row.id) for row in after] == [
        (row.messages, row.asks, row.answer, row.spec, row.wants, row.id) for row in before
    ]


def test_what_a_log_holds_beside_the_request_is_not_kept() -> None:
    write(Path("log.jsonl"), {"headers": {"authorization": "sesame"}, "user": "Ada", "body": rows("messages")[0]})
    assert "sesame" not in add("log.jsonl", "kept").path.read_text()


def test_the_card_tells_source_size_formats_and_licence() -> None:
    write(Path("mine.jsonl"), *rows("gsm8k"))
    card = add("mine.jsonl", "few", limit=5, seed=3, licence="CC0").card.read_text()
    for told in ("`mine.jsonl`", "5 of 20 rows, drawn by seed 3", "| gsm8k | - | number | 5 |", "**Licence**: CC0"):
        assert told in card
    write(Path("mine.jsonl"), *rows("gsm8k"))
    card = add("mine.jsonl", "all").card.read_text()
    assert "20 rows." in card
    assert "not stated" in card


def test_nothing_is_written_over() -> None:
    write(Path("mine.jsonl"), *rows("prompt"))
    add("mine.jsonl", "kept")
    before = Path("corpora/kept.jsonl").read_text()
    with pytest.raises(UsageError, match="exists already"):
        add("mine.jsonl", "kept", limit=3)
    assert Path("corpora/kept.jsonl").read_text() == before
    with pytest.raises(UsageError, match="--name"):
        add("mine.jsonl", "../kept")


def test_bad_rows_are_refused_or_left_out_and_counted() -> None:
    image = {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}]}
    write(Path("log.jsonl"), *rows("messages"), image, {"messages": []})
    with pytest.raises(UsageError, match=r"line 21: messages\.0\.content: .*'image_url'"):
        add("log.jsonl", "kept")
    assert not Path("corpora").exists()
    added = add("log.jsonl", "kept", skip_bad=True)
    assert (len(added.corpus.rows), added.left_out) == (20, 2)
    assert "20 rows (2 that could not be asked were left out)" in added.card.read_text()
    write(Path("bad.jsonl"), image)
    with pytest.raises(UsageError, match="no other row can be asked"):
        add("bad.jsonl", "none", skip_bad=True)


def test_the_known_corpora_are_listed_with_what_is_in_them() -> None:
    write(Path("mine.jsonl"), *rows("own"))
    add("mine.jsonl", "mine")
    write(Path("corpora/broken.jsonl"), "nonsense")
    listed = {each.name: each for each in known()}
    assert {"mine", "broken", *corpora.shipped()} == set(listed)
    mine = listed["mine"]
    assert (mine.origin, mine.rows, mine.checkable, mine.checks) == ("added", 20, 20, {"number": 20})
    assert "line 1: not JSON" in listed["broken"].problem
    assert listed["gate"].origin == "shipped"
