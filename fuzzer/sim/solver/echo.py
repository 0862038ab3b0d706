"""What is answered to a message that nothing here understands: its key sentence, said back."""

from __future__ import annotations

import re

from fuzzer.sim.answer import Slot

_WORDS = 24
_END = re.compile(r"[.!?\n]+")


def echo(message: str) -> tuple[Slot, ...]:
    """The last sentence of a message, at most 24 words of it; each word could be mistaken for its neighbour."""
    sentences = [sentence.split() for sentence in _END.split(message) if any(map(str.isalnum, sentence))]
    words = sentences[-1][:_WORDS] if sentences else []
    if not words:
        return (Slot("I"), Slot(" see", (" understand",)), Slot("."))
    slots = [Slot("You", ("Your message",)), Slot(" said", (" wrote", " told me")), Slot(":")]
    for place, word in enumerate(words):
        other = words[place - 1]
        slots.append(Slot(f" {word}", (f" {other}",) if other != word else (), content=True))
    return (*slots, Slot("."))
