"""A text in other letters, or with its words, letters or initials in another order."""

from __future__ import annotations

import re
from collections.abc import Callable

from fuzzer.sim.answer import Slot
from fuzzer.sim.solver.chat import Chat
from fuzzer.sim.solver.wording import content, maybe, slip

_CHANGES: tuple[tuple[re.Pattern[str], Callable[[str], list[str]]], ...] = (
    (re.compile(r"Write in small letters: ([^\n]+)"), lambda text: text.lower().split(" ")),
    (re.compile(r"Write in capital letters: ([^\n]+)"), lambda text: text.upper().split(" ")),
    (re.compile(r"Write these \w+ words in reverse order: ([^\n]+)"), lambda text: text.split()[::-1]),
    (
        re.compile(r"Write these \w+ words in reverse order and in capital letters: ([^\n]+)"),
        lambda text: text.upper().split()[::-1],
    ),
    (
        re.compile(r"Write each of these \w+ words backwards, [^:\n]*: ([^\n]+)"),
        lambda text: [word[::-1] for word in text.split()],
    ),
    (
        re.compile(r"Write the first letters of these \w+ words as one word: ([^\n]+)"),
        lambda text: ["".join(word[0] for word in text.split())],
    ),
)


def transforming(chat: Chat) -> tuple[Slot, ...] | None:
    """The changed text, word by word; each could keep its old place, or lose its last letter's."""
    for pattern, change in _CHANGES:
        if given := pattern.search(chat.ask):
            words = change(given.group(1))
            slots: list[Slot] = [maybe("Here it is: ")]
            for place, word in enumerate(words):
                slots += [Slot(" ")] if place else []
                slots.append(content(word.rstrip(","), (words[place - 1].rstrip(","), slip(word.rstrip(",")))))
                slots += [Slot(",")] if word.endswith(",") else []
            return (*slots, maybe("."))
    return None
