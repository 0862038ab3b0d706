"""The rule for keeping a reduction, and the book that a stopped shrinking goes on from."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from fuzzer.errors import HistoryError
from fuzzer.repro.acceptance import WARM, Baseline, Book, Budget, Decided, decide, shares_of
from fuzzer.repro.alike import kind_of, same_kind
from fuzzer.repro.sentence import sentence
from tests.repro.factory import bundle, cohort, pair


def _decide(share: float, rate: float, seed: int) -> tuple[str, int]:
    rng, failures, replays = random.Random(seed), 0, 0
    state = "open"
    while state == "open":
        replays += 1
        failures += rng.random() < rate
        state = decide(failures, replays, (share,))
    return state, replays


@pytest.mark.parametrize("rate", [0.07, 0.3, 1.0])
def test_a_rate_that_has_not_fallen_is_kept_and_none_at_all_is_not(rate: float) -> None:
    kept = [_decide(rate, rate, seed) for seed in range(100)]
    gone = [_decide(rate, 0.0, seed) for seed in range(3)]
    assert sum(state == "fail" for state, _ in kept) >= 85
    assert {state for state, _ in gone} == {"pass"}
    assert max(replays for _, replays in gone) < 6 / rate + WARM


def test_replays_that_are_sent_together_do_not_pass_the_budget() -> None:
    budget = Budget(replays=10)
    assert [budget.together(spent, 4) for spent in (0, 6, 7, 9, 10)] == [4, 4, 3, 1, 1]
    assert Budget(requests=10).together(100, 4) == 4


def test_requests_that_fail_alike_share_one_rate_and_one_that_stands_out_has_its_own() -> None:
    alike = shares_of([1, 0, 1, 2, 0, 1, 0, 1], 10)
    assert set(alike) == {0.075}
    first, *others = shares_of([9, 0, 0, 0, 0, 0, 0, 0], 10)
    assert first > 0.75
    assert max(others) < 0.05
    assert shares_of([5], 10) == (0.5,)
    assert max(shares_of([10, 10], 10)) < 1


def test_nothing_is_dropped_before_state_can_have_built_up() -> None:
    assert decide(0, WARM - 1, (0.99,) * 8) == "open"
    assert decide(0, WARM, (0.99,) * 8) == "pass"


def test_a_book_gives_back_what_was_decided_up_to_where_it_was_torn(tmp_path: Path) -> None:
    path = tmp_path / "book"
    book = Book(path)
    book.begin(Baseline(5, 6, 1, (0, 1), (0.5, 0.25)), 6, 60)
    book.add("one", Decided(True, 2, 3), 9, 90)
    with path.open("a", encoding="utf-8") as file:
        file.write('{"cohort": "two", "decided": {"kept": tr')
    again = Book(path)
    assert again.baseline == Baseline(5, 6, 1, (0, 1), (0.5, 0.25))
    assert again.known("one") == Decided(True, 2, 3)
    assert again.known("two") is None
    assert (again.replays, again.requests) == (9, 90)
    again.add("three", Decided(False, 0, 5), 14, 140)
    assert Book(path).known("three") == Decided(False, 0, 5)  # nothing is appended to a torn line
    again.close()
    assert not path.exists()


def test_what_was_decided_of_another_bundle_or_server_counts_for_nothing(tmp_path: Path) -> None:
    path = tmp_path / "book"
    book = Book(path, "a bundle at one server")
    book.begin(Baseline(5, 6, 1, (0, 1), (0.5, 0.25)), 6, 60)
    assert Book(path, "a bundle at one server").baseline is not None
    other = Book(path, "a bundle at another server")
    assert (other.baseline, other.replays) == (None, 0)
    assert not path.read_bytes()


@pytest.mark.parametrize(
    "line", ["[" * 5000, '{"replays": "many", "requests": 0}', "null", '{"replays": 1, "requests": 2, "baseline": {}}']
)
def test_a_book_that_was_written_by_hand_is_begun_anew(tmp_path: Path, line: str) -> None:
    (tmp_path / "book").write_text(f"{line}\n", encoding="utf-8")
    assert Book(tmp_path / "book").baseline is None


def test_a_book_that_is_none_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "book").mkdir()
    with pytest.raises(HistoryError, match="remove it"):
        Book(tmp_path / "book")


def test_a_budget_ends_by_replays_requests_or_time() -> None:
    assert not Budget(replays=3).allows(3, 0, 1)
    assert not Budget(requests=10).allows(0, 8, 3)
    assert Budget(requests=10).allows(0, 8, 2)
    assert not Budget(seconds=0).allows(0, 0, 1)
    assert Budget().allows(10**6, 10**6, 1)


def test_kinds_are_as_coarse_as_a_maintainer_would_have_them() -> None:
    bleed = bundle().finding
    stale = bleed.model_copy(update={"sub_kind": "stale", "key": "bleed/stale/answer@candidate"})
    doubtful = stale.model_copy(update={"certainty": "possible"})
    wrong = bleed.model_copy(update={"kind": "wrong-answer", "sub_kind": "wrong-value"})
    empty = wrong.model_copy(update={"sub_kind": "empty"})
    assert same_kind(bleed, stale)
    assert not same_kind(bleed, doubtful)
    assert not same_kind(bleed, wrong)
    assert kind_of(empty) != kind_of(wrong)
    hang, error, broken = (
        wrong.model_copy(update={"kind": "service", "sub_kind": name})
        for name in ("hang", "server-error", "disconnect")
    )
    assert kind_of(error) == kind_of(broken) != kind_of(hang)


def test_the_sentence_counts_neighbours_and_says_when() -> None:
    assert sentence(pair(), any_content=True, window_ms=10) == "needs 1 neighbour, any content, all sent within 10 ms"
    alone = pair().only(set())
    assert alone is not None
    assert "no neighbours" in sentence(alone, any_content=False, window_ms=None)
    two = cohort([[[send]] for send in pair().sends])
    assert "one request at a time" in sentence(two, any_content=False, window_ms=None)
