from __future__ import annotations

import random

from fuzzer.prompts import names
from fuzzer.prompts.canary import CODE, MARK
from fuzzer.prompts.prose import sentences

RUN = 24  # words


def test_a_text_is_about_as_long_as_asked_for() -> None:
    for tokens in (1, 150, 600, 2000, 30_000):
        words = len(" ".join(sentences(random.Random(tokens), tokens)).split())
        assert tokens / 1.3 <= words <= tokens / 1.1 + 20


def test_a_text_depends_on_the_random_source_alone() -> None:
    assert sentences(random.Random(5), 500) == sentences(random.Random(5), 500)


def test_a_text_looks_like_sentences_and_says_nothing_that_is_looked_for() -> None:
    text = sentences(random.Random(1), 20_000)
    assert all(each[0].isupper() and each.endswith(".") and each.count(" ") >= 5 for each in text)
    whole = " ".join(text)
    assert whole.isascii()
    assert not any(map(str.isdigit, whole))
    assert names.spans(whole) == []
    assert not CODE.search(whole.upper())
    assert not MARK.search(whole)


def test_no_two_texts_share_a_long_run_of_words() -> None:
    seen: dict[tuple[str, ...], int] = {}
    for seed in range(60):
        words = " ".join(sentences(random.Random(f"text/{seed}"), 2_000)).split()
        for place in range(len(words) - RUN):
            assert seen.setdefault(tuple(words[place : place + RUN]), seed) == seed
