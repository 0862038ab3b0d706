"""c8-wrong-answer: four or five things to be put in the one order that all conditions allow."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks.corpora.rows import Row, names, row, said

DISTINCT = 150
_NUMBERS = {4: "four", 5: "five"}
_ONLY = "Reply with the {count} names only, separated by commas."
_RESTATE = (
    'First repeat the conditions, one a line. Then write a last line that begins with "Answer:" and gives the {count} '
    "names in that order, separated by commas."
)


@dataclass(frozen=True)
class Theme:
    """What is ordered, and how its conditions are worded; a stands before b in the order asked for."""

    name: str
    opening: str
    before: tuple[str, ...]
    next: tuple[str, ...]
    not_first: str
    not_last: str
    ask: str


THEMES = (
    Theme(
        "boats", "{Count} boats came into the harbour one after another: {items}.",
        ("{a} came in before {b}.", "{b} came in later than {a}."),
        ("{b} came in directly after {a}.",),
        "{a} did not come in first.", "{a} did not come in last.",
        "List the {count} boats in the order in which they came in, from first to last.",
    ),
    Theme(
        "crates", "{Count} crates stand side by side on the quay: {items}.",
        ("{a} stands somewhere to the left of {b}.", "{b} stands somewhere to the right of {a}."),
        ("{a} stands directly to the left of {b}.", "{b} stands directly to the right of {a}."),
        "{a} does not stand first from the left.", "{a} does not stand last from the left.",
        "List the {count} crates from left to right.",
    ),
    Theme(
        "speakers", "{Count} people will speak at the meeting: {items}.",
        ("{a} speaks earlier than {b}.", "{b} speaks some time after {a}."),
        ("{b} speaks directly after {a}.", "{a} speaks directly before {b}."),
        "{a} is not the first to speak.", "{a} is not the last to speak.",
        "List the {count} people in the order in which they speak, from first to last.",
    ),
    Theme(
        "hills", "{Count} hills can be seen from the tower: {items}. No two are equally high.",
        ("{a} is higher than {b}.", "{b} is lower than {a}."),
        ("{a} is higher than {b}, and no hill is between the two in height.",),
        "{a} is not the highest.", "{a} is not the lowest.",
        "List the {count} hills from the highest to the lowest.",
    ),
    Theme(
        "tenants", "{Count} people live one above the other in a narrow house: {items}.",
        ("{a} lives above {b}.", "{b} lives below {a}."),
        ("{a} lives directly above {b}.", "{b} lives directly below {a}."),
        "{a} does not live at the top.", "{a} does not live at the bottom.",
        "List the {count} people from top to bottom.",
    ),
    Theme(
        "sacks", "{Count} sacks were weighed, and no two weigh the same: {items}.",
        ("{a} is heavier than {b}.", "{b} is lighter than {a}."),
        ("{a} is heavier than {b}, and no sack is between the two in weight.",),
        "{a} is not the heaviest.", "{a} is not the lightest.",
        "List the {count} sacks from the heaviest to the lightest.",
    ),
    Theme(
        "runners", "{Count} runners finished the race, no two at the same time: {items}.",
        ("{a} finished ahead of {b}.", "{b} finished behind {a}."),
        ("{b} finished directly behind {a}.", "{a} finished directly ahead of {b}."),
        "{a} did not finish first.", "{a} did not finish last.",
        "List the {count} runners in the order in which they finished, from first to last.",
    ),
    Theme(
        "letters", "{Count} letters were written on different days: {items}.",
        ("{a} is older than {b}.", "{b} is younger than {a}."),
        ("{b} was written directly after {a}.", "{a} was written directly before {b}."),
        "{a} is not the oldest.", "{a} is not the youngest.",
        "List the {count} letters from the oldest to the youngest.",
    ),
)  # fmt: skip

_Order = tuple[str, ...]
_Holds = Callable[[_Order], bool]


def rows() -> list[Row]:
    """The fixed row, and the distinct ones: a third each of chains in order, shuffled chains, and mixed conditions."""
    made = [_row(place, THEMES[place % len(THEMES)]) for place in range(DISTINCT)]
    return [_fixed(), *made]


def _fixed() -> Row:
    rng = random.Random("c8/fixed")
    return _pose("c8-000", "fixed", rng, THEMES[0], tuple(names(0, 4)), "hard", restate=True)


def _row(place: int, theme: Theme) -> Row:
    rng = random.Random(f"c8/{place}")
    level = ("easy", "medium", "hard", "hard")[place // len(THEMES) % 4]
    drawn = names(10 + 6 * place, 6)
    count = 5 if level == "hard" and place % 3 == 0 else 4
    return _pose(f"c8-{place + 1:03d}", theme.name, rng, theme, tuple(drawn[:count]), level, restate=place % 3 == 1)


def _pose(
    identity: str, family: str, rng: random.Random, theme: Theme, order: _Order, level: str, *, restate: bool
) -> Row:
    conditions = _mixed(rng, theme, order) if level == "hard" else _chain(rng, theme, order)
    if level != "easy":
        rng.shuffle(conditions)
    count = _NUMBERS[len(order)]
    listed = "\n".join(f"{number}. {text}" for number, text in enumerate(conditions, 1))
    opening = theme.opening.format(Count=count.capitalize(), items=", ".join(rng.sample(order, len(order))))
    closing = (_RESTATE if restate else _ONLY).format(count=count)
    ask = f"{opening}\nConditions:\n{listed}\n{theme.ask.format(count=count)} {closing}"
    return row(identity, family, level, [said("user", ask)], ", ".join(order), "list")


def _chain(rng: random.Random, theme: Theme, order: _Order) -> list[str]:
    return [rng.choice(theme.before).format(a=a, b=b) for a, b in itertools.pairwise(order)]


def _mixed(rng: random.Random, theme: Theme, order: _Order) -> list[str]:
    """Conditions that leave the one order, none of which can be left out."""
    chosen = list(_true(rng, theme, order))
    rng.shuffle(chosen)
    for condition in tuple(chosen):
        fewer = [other for other in chosen if other is not condition]
        if _solutions(order, fewer) == 1:
            chosen = fewer
    return [text for text, _ in chosen]


def _true(rng: random.Random, theme: Theme, order: _Order) -> Iterator[tuple[str, _Holds]]:
    for (i, a), (j, b) in itertools.combinations(enumerate(order), 2):
        yield rng.choice(theme.before).format(a=a, b=b), _before(a, b)
        if j == i + 1:
            yield rng.choice(theme.next).format(a=a, b=b), _next(a, b)
    for name in order[1:]:
        yield theme.not_first.format(a=name), _not_at(name, 0)
    for name in order[:-1]:
        yield theme.not_last.format(a=name), _not_at(name, -1)


def _before(a: str, b: str) -> _Holds:
    return lambda order: order.index(a) < order.index(b)


def _next(a: str, b: str) -> _Holds:
    return lambda order: order.index(a) + 1 == order.index(b)


def _not_at(name: str, place: int) -> _Holds:
    return lambda order: order[place] != name


def _solutions(order: _Order, conditions: list[tuple[str, _Holds]]) -> int:
    return sum(all(holds(each) for _, holds in conditions) for each in itertools.permutations(order))
