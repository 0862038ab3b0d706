"""How answers are worded: content with plausible mistakes, and connective text with other wordings of the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fuzzer.sim.answer import Slot

_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"


def maybe(text: str) -> Slot:
    """Something that may as well be left out, and usually is."""
    return Slot("", (text,))


def content(text: str, mistakes: Iterable[str] = ()) -> Slot:
    """A piece that carries the meaning, and what it might be mistaken for."""
    others = dict.fromkeys(mistake for mistake in mistakes if mistake not in ("", text))
    return Slot(text, tuple(others), content=True)


def mark(text: str, others: Iterable[str]) -> Slot:
    """A ticket or tag: its last digit slips, or another mark of the chat is taken."""
    return content(text, (slip(text), *others))


def code(text: str, others: Iterable[str]) -> Slot:
    """A code word: another code of the chat is taken, or its last symbol slips."""
    return content(text, (*others, slip(text)))


def number(value: int) -> Slot:
    """A number that may be off by one or by ten."""
    return content(str(value), (str(value + 1), str(value - 1), str(value + 10)))


def slip(text: str) -> str:
    """The text with its last symbol one place further on."""
    last = text[-1:]
    if last.isdecimal():
        return text[:-1] + str((int(last) + 1) % 10)
    following = _LETTERS[(_LETTERS.find(last.upper()) + 1) % len(_LETTERS)]
    return text[:-1] + (following.lower() if last.islower() else following)


def listed(items: Sequence[str]) -> tuple[Slot, ...]:
    """Items in their order; each could be mistaken for the next or the one before."""
    slots: list[Slot] = []
    for place, item in enumerate(items):
        if place:
            slots += [Slot(","), Slot(" ")] if place < len(items) - 1 else [Slot(",", (", and",)), Slot(" ")]
        around = (items[(place + 1) % len(items)], items[place - 1])
        slots.append(content(item, around))
    return (*slots, maybe("."))
