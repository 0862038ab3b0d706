"""Questions whose answer is the given text in another form: transform."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import JsonValue

from fuzzer.history.records import Level
from fuzzer.prompts.checks import transformed
from fuzzer.prompts.draws import Draws
from fuzzer.prompts.families.base import Family
from fuzzer.prompts.frame import Task

_SHOWN = ("Bluebird Redwood", "Blackboard Greenhouse")
_SMALL = "Write in small letters: {}"


def transform(rng: Draws, level: Level) -> Task:
    """Write names in another form: a name in small letters after worked examples (easy); names in capitals, their words
    from the last to the first, or their initials (medium); names backwards letter by letter, or more of the above
    (hard).

    The answer stands nowhere in the prompt: a drafter that only copies is rejected at every token, so the target's own
    rows decide, and a wrong row cannot hide behind a draft that happens to be right.
    """
    if level == "easy":
        earlier = tuple((_SMALL.format(shown), shown.lower()) for shown in _SHOWN)
        return _task("small", _SMALL, rng.name(), str.lower, earlier)
    return rng.choice(_MEDIUM if level == "medium" else _HARD)(rng)


def _capitals(rng: Draws) -> Task:
    return _task("capitals", "Write in capital letters: {}", ", ".join(rng.names(2)), str.upper)


def _turned(rng: Draws) -> Task:
    return _task("turned", "Write these four words in reverse order: {}", " ".join(rng.names(2)), _turn)


def _turned_capitals(rng: Draws) -> Task:
    ask = "Write these six words in reverse order and in capital letters: {}"
    return _task("turned capitals", ask, " ".join(rng.names(3)), lambda text: _turn(text).upper())


def _backwards(rng: Draws) -> Task:
    ask = "Write each of these two words backwards, letter by letter, and keep the order of the words: {}"
    return _task("backwards", ask, rng.name(), lambda text: " ".join(word[::-1] for word in text.split()))


def _eight_initials(rng: Draws) -> Task:
    ask = "Write the first letters of these eight words as one word: {}"
    return _task("initials", ask, " ".join(rng.names(4)), _initials)


def _twelve_initials(rng: Draws) -> Task:
    ask = "Write the first letters of these twelve words as one word: {}"
    return _task("initials", ask, " ".join(rng.names(6)), _initials)


def _turn(text: str) -> str:
    return " ".join(reversed(text.split()))


def _initials(text: str) -> str:
    return "".join(word[0] for word in text.split())


def _task(
    way: str, ask: str, given: str, change: Callable[[str], str], earlier: tuple[tuple[str, str], ...] = ()
) -> Task:
    value = change(given)
    spec: dict[str, JsonValue] = {"value": value, "way": way, "given": given}
    words = given.replace(",", "").split()
    items = tuple(f"{a} {b}" for a, b in zip(words[::2], words[1::2], strict=True))
    return Task(ask.format(given), value, spec, items=items, earlier=earlier, attributable=way != "initials")


_MEDIUM = (_capitals, _turned, _eight_initials)
_HARD = (_turned_capitals, _backwards, _twelve_initials)

FAMILIES = (
    Family(
        "transform", "write a text in another form", "rows that only a copied draft kept right",
        transform, transformed.transformed, {"easy": 3, "medium": 2, "hard": 1},
    ),
)  # fmt: skip
