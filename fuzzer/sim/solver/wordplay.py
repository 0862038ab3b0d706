"""Given words changed: capitals, first letters, turned round, one left out or replaced, or said as they are."""

from __future__ import annotations

import re
from collections.abc import Callable

from fuzzer.sim.answer import Slot
from fuzzer.sim.solver.chat import Chat
from fuzzer.sim.solver.wording import content, maybe, slip

_BRACKETS = re.compile(r"[:：]\s?\[([^\[\]\n]{1,400})\]")
_PLAYS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"Write the words? (.+?) in capital letters"), lambda asked: asked[1].upper()),
    (re.compile(r"Copy these \w+ words: (.+?)\."), lambda asked: asked[1]),
    (re.compile(r"Copy the (\w+) line\b.{0,400}?\b\1 line: (.+?)\.", re.IGNORECASE), lambda asked: asked[2]),
    (re.compile(r"Join the words (\w+) and (\w+) to one word"), lambda asked: asked[1] + asked[2]),
    (
        re.compile(r"in reverse order, with spaces between: (.+?)\."),
        lambda asked: " ".join(asked[1].split()[::-1]),
    ),
    (re.compile(r"Write the word (\w+) backwards"), lambda asked: asked[1][::-1]),
    (
        re.compile(r"first letters of these words as one word in capital letters: (.+?)\."),
        lambda asked: "".join(word[0] for word in asked[1].split()).upper(),
    ),
    (
        re.compile(r"Replace the word (\w+) by the word (\w+): (.+?)\."),
        lambda asked: " ".join(asked[2] if word == asked[1] else word for word in asked[3].split()),
    ),
    (
        re.compile(r"Leave out the word (\w+): (.+?)\."),
        lambda asked: " ".join(word for word in asked[2].split() if word != asked[1]),
    ),
)


def word_play(chat: Chat) -> tuple[Slot, ...] | None:
    """The words as they are asked for."""
    for pattern, play in _PLAYS:
        if (asked := pattern.search(chat.ask)) and (changed := play(asked)):
            return (maybe("The answer is "), content(changed, (slip(changed),)), maybe("."))
    return None


def bracketed(chat: Chat) -> tuple[Slot, ...] | None:
    """The text between brackets, where the message, in whatever language, asks no question beside it."""
    found = _BRACKETS.findall(chat.ask)
    if len(found) != 1 or re.search(r"[?？؟{]", chat.ask):
        return None
    return (content(found[0], (slip(found[0]),)), maybe("."))
