"""Lists of words or numbers that are given in the question: sorted, turned round, picked from."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from fuzzer.sim.answer import Slot
from fuzzer.sim.solver.chat import Chat
from fuzzer.sim.solver.vocabulary import NUMERALS
from fuzzer.sim.solver.wording import content, listed, maybe, slip

_GIVEN = re.compile(r": ?([^:?\n]+?)[.?](?:\s|$)")
_NAMED = re.compile(r"\b(?:numbers|words|names) ((?:[\w-]+, )+[\w-]+ and [\w-]+)")
_PLACES = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1}
_STEPS = {"ones": 1, "twos": 2, "threes": 3, "fives": 5, "tens": 10, "hundreds": 100}
_MOST = 100  # numbers that are counted out

_Picked = list[str]
_Rule = tuple[re.Pattern[str], Callable[[_Picked, re.Match[str]], _Picked]]


def _amount(item: str) -> int:
    digits = re.search(r"\d{1,18}", item.replace(",", ""))
    return int(digits[0]) if digits else 0


def _by_number(items: _Picked, asked: re.Match[str]) -> _Picked:
    return sorted(items, key=_amount, reverse=asked[1] in ("large", "largest"))


def _rule(pattern: str, pick: Callable[[_Picked, re.Match[str]], Sequence[str]]) -> _Rule:
    return re.compile(pattern), lambda items, asked: list(pick(items, asked))


_MANY: tuple[_Rule, ...] = (
    _rule(r"[Ss]ort .*\bin (reverse )?alphabetical order", lambda items, asked: sorted(items, reverse=bool(asked[1]))),
    _rule(
        r"by the number after them, from (small|large)",
        lambda items, asked: [re.sub(r" \d+$", "", item) for item in _by_number(items, asked)],
    ),
    _rule(r"from (small|large) to (?:large|small)", _by_number),
    _rule(r"the (smallest|largest) first", _by_number),
    _rule(
        r"from the (shortest|longest) to the",
        lambda items, asked: sorted(items, key=len, reverse=asked[1] == "longest"),
    ),
    _rule(r"Write these (?:\w+ )?(?:words|names|numbers) in reverse order", lambda items, _: items[::-1]),
    _rule(r"^Say these", lambda items, _: items),
    _rule(r"begin with the letter (\w)", lambda items, asked: [each for each in items if each[:1] == asked[1]]),
    _rule(r"Leave out the word (\w+) and", lambda items, asked: [each for each in items if each != asked[1]]),
    _rule(r"words in capital letters, in the order", lambda items, _: [each for each in items if each.isupper()]),
    _rule(r"Take the (\w+) and the (\w+) word", lambda items, asked: [*_at(items, asked[1]), *_at(items, asked[2])]),
)
_ONE: tuple[_Rule, ...] = (
    _rule(r"the largest of these", lambda items, _: [max(items, key=_amount)]),
    _rule(r"the smallest of these", lambda items, _: [min(items, key=_amount)]),
    _rule(r"the longest of these", lambda items, _: [max(items, key=len)]),
    _rule(r"the shortest of these", lambda items, _: [min(items, key=len)]),
    _rule(r"Take the (\w+) word of this list", lambda items, asked: _at(items, asked[1])),
    _rule(r"comes first in the alphabet", lambda items, _: [min(items)]),
    _rule(r"comes last in the alphabet", lambda items, _: [max(items)]),
)


def _at(items: _Picked, place: str) -> _Picked:
    where = _PLACES.get(place, len(items))
    return [items[where]] if where < len(items) else []


def word_list(chat: Chat) -> tuple[Slot, ...] | None:
    """The list, or the one item of it, that a question about given words asks for."""
    items = _items(chat)
    if len(items) < 2:
        return None
    for pattern, pick in _MANY:
        if asked := pattern.search(chat.ask):
            picked = pick(items, asked)
            return (*listed(picked), maybe(".")) if len(picked) > 1 else None
    for pattern, pick in _ONE:
        if (asked := pattern.search(chat.ask)) and (picked := pick(items, asked)):
            others = [each for each in items if each != picked[0]]
            return (maybe("The answer is "), content(picked[0], (*others[:2], slip(picked[0]))), maybe("."))
    return None


def _items(chat: Chat) -> _Picked:
    given = _GIVEN.search(chat.ask) or _NAMED.search(chat.ask)
    if not given and "the same words" in chat.ask:
        given = next(filter(None, (_GIVEN.search(text) for role, text in chat.turns[::-1] if role == "user")), None)
    return re.split(r", | and ", given[1]) if given else []


_MULTIPLES = re.compile(r"first (\w+) multiples of (\d{1,6})")
_IN_STEPS = re.compile(r"Count in (\w+) from (\d{1,6}) to (\d{1,6})")
_ADDING = re.compile(r"Write (\d{1,6}), then add (\d{1,6}) (\w+) times")


def series(chat: Chat) -> tuple[Slot, ...] | None:
    """Numbers at equal steps."""
    if found := _MULTIPLES.search(chat.ask):
        step = int(found[2])
        return _numbers([step * place for place in range(1, NUMERALS.get(found[1], 0) + 1)])
    if found := _IN_STEPS.search(chat.ask):
        step = _STEPS.get(found[1], 0)
        return _numbers(range(int(found[2]), int(found[3]) + 1, step)) if step else None
    if found := _ADDING.search(chat.ask):
        times = NUMERALS.get(found[3].removesuffix("s"), 0)
        return _numbers([int(found[1]) + int(found[2]) * place for place in range(times + 1)])
    return None


def _numbers(values: Sequence[int]) -> tuple[Slot, ...] | None:
    return (*listed([str(value) for value in values]), maybe(".")) if 1 < len(values) <= _MOST else None


_AMOUNTS = re.compile(r"\b([A-Z]\w+) (?:\w+ )?(\d{1,9})\b")
_TURN = re.compile(r"[,;:]?\s+then\s+")


def told_order(chat: Chat) -> tuple[Slot, ...] | None:
    """The order in which things were told, or the order of the amounts that were told of them."""
    asked = re.search(r"List the \w+ from (?:the )?(\w+)(?: \w+)? to (?:the )?(\w+)", chat.ask)
    if not asked:
        return None
    if asked[1] in ("most", "fewest"):
        owners = [(int(amount), name) for name, amount in _AMOUNTS.findall(chat.ask)]
        ordered = [name for _, name in sorted(owners, reverse=asked[1] == "most")]
    elif {asked[1], asked[2]} == {"first", "last"}:
        told = next((line for line in re.split(r"\.\s", chat.ask) if " then " in line), "")
        ordered = [_last_word(piece) for piece in _TURN.split(told)] if told else []
        ordered = ordered[::-1] if asked[1] == "last" else ordered
    else:
        return None
    return (*listed(ordered), maybe(".")) if len(ordered) > 1 else None


def _last_word(piece: str) -> str:
    """The thing that a piece of an enumeration is about: its name, else its last word."""
    names = re.findall(r"\b[A-Z][a-z]+\b", piece)
    return names[-1] if names and names[-1] not in ("The", "They") else piece.split()[-1]
