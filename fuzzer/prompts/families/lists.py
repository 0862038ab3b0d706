"""Questions whose answer is a list of names: ordering, sort and reverse."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from fuzzer.history.records import Level
from fuzzer.prompts.checks import listing
from fuzzer.prompts.draws import Draws
from fuzzer.prompts.families.base import Family
from fuzzer.prompts.frame import Task

_PLACES = ("first", "second", "third", "last")
_SHOWN = (("Bluebird Redwood", "Blackboard Greenhouse"), ("Whitefish Goldring", "Graystone Brownfield"))
_Order = tuple[str, ...]
_Rule = tuple[str, Callable[[_Order], bool]]


def ordering(rng: Draws, level: Level) -> Task:
    """Four names in the one order that all constraints allow: a chain (easy), or mixed constraints (hard)."""
    order = tuple(rng.names(4))
    rules = _chain(order) if level == "easy" else _mixed(rng, order)
    rng.shuffle(rules)
    listed = _mixed_up(rng, order)
    ask = (
        f"Four riders reached the goal: {', '.join(listed)}.\n"
        f"{' '.join(text for text, _ in rules)}\n"
        "List the four riders from first to last, separated by commas."
    )
    return _list_task(ask, order)


def _chain(order: _Order) -> list[_Rule]:
    return [_before(a, b) for a, b in itertools.pairwise(order)]


def _mixed(rng: Draws, order: _Order) -> list[_Rule]:
    rules = [rule for rule in _true_rules(order) if rule[1](order)]
    rng.shuffle(rules)
    chosen: list[_Rule] = []
    for rule in rules:
        chosen.append(rule)
        if _solutions(order, chosen) == 1:
            break
    for rule in tuple(chosen):
        fewer = [other for other in chosen if other is not rule]
        if _solutions(order, fewer) == 1:
            chosen = fewer
    return chosen


def _true_rules(order: _Order) -> list[_Rule]:
    pairs = list(itertools.permutations(order, 2))
    return [
        *(_before(a, b) for a, b in pairs),
        *(_directly_after(a, b) for a, b in pairs),
        *(_not_at(rider, place) for rider in order for place in range(4)),
    ]


def _before(a: str, b: str) -> _Rule:
    return f"{a} came before {b}.", lambda order: order.index(a) < order.index(b)


def _directly_after(a: str, b: str) -> _Rule:
    return f"{a} came directly after {b}.", lambda order: order.index(a) == order.index(b) + 1


def _not_at(rider: str, place: int) -> _Rule:
    return f"{rider} did not come {_PLACES[place]}.", lambda order: order[place] != rider


def _solutions(riders: _Order, rules: Sequence[_Rule]) -> int:
    return sum(all(holds(order) for _, holds in rules) for order in itertools.permutations(riders))


def sort(rng: Draws, level: Level) -> Task:
    """Four names in alphabetical order (easy), or eight in reverse alphabetical order (hard)."""
    wanted = tuple(sorted(rng.names(4 if level == "easy" else 8), reverse=level == "hard"))
    way = "alphabetical order" if level == "easy" else "reverse alphabetical order"
    return _list_task(f"Sort these names in {way}, separated by commas: {', '.join(_mixed_up(rng, wanted))}", wanted)


def _mixed_up(rng: Draws, order: _Order) -> list[str]:
    """The names in any other order, so that to repeat them is no answer."""
    while (mixed := rng.sample(order, len(order))) == list(order):
        pass
    return mixed


def reverse(rng: Draws, level: Level) -> Task:
    """Names in reverse order: two after two worked examples (easy), or eight (hard)."""
    if level == "easy":
        drawn = rng.names(2)
        earlier = tuple((f"Reverse: {a}, {b}", f"{b}, {a}") for a, b in _SHOWN)
        return _list_task(f"Reverse: {', '.join(drawn)}", tuple(reversed(drawn)), earlier)
    drawn = rng.names(8)
    ask = f"Write these names in reverse order, separated by commas: {', '.join(drawn)}"
    return _list_task(ask, tuple(reversed(drawn)))


def _list_task(ask: str, order: _Order, earlier: tuple[tuple[str, str], ...] = ()) -> Task:
    return Task(ask=ask, answer=", ".join(order), spec={"value": list(order)}, items=order, earlier=earlier)


_ITEMS = "another request's items, lost or doubled items"

FAMILIES = (
    Family(
        "ordering", "order four names by constraints", "constraints kept, another question answered",
        ordering, listing.items, {"easy": 1, "hard": 2},
    ),
    Family("sort", "sort names alphabetically", _ITEMS, sort, listing.items, {"easy": 1, "hard": 2}),
    Family("reverse", "write names in reverse order", _ITEMS, reverse, listing.items, {"easy": 2, "hard": 2}),
)  # fmt: skip
