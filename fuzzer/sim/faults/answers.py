"""Damaged answers: what planted faults make a model say."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from fuzzer.sim.answer import Slot, compile_answer
from fuzzer.sim.faults.base import Draw

if TYPE_CHECKING:
    from fuzzer.sim.engine import Request
    from fuzzer.sim.sequence import Script


def own(request: Request, script: Script) -> bool:
    """Whether a script is still the right answer to its request, as far as its words go."""
    return script.nodes is request.reading.nodes


def saying(request: Request, slots: tuple[Slot, ...], script: Script) -> Script:
    """The script with these words in place of its own."""
    key = request.reading.key
    return dataclasses.replace(script, nodes=compile_answer(slots, key), key=key)


def length(request: Request, script: Script) -> int:
    """How many tokens the answer will have, at most."""
    return min(request.sequence.limits.max_tokens, 1 + sum(len(node.options[0]) for node in script.nodes))


def mistaken(slots: tuple[Slot, ...], draw: Draw) -> tuple[Slot, ...]:
    """The answer with one content word taken for another: normal-looking and wrong."""
    places = [place for place, slot in enumerate(slots) if slot.content and any(map(str.strip, slot.alternatives))]
    if not places:
        return slots
    place = places[draw.choose(len(places), 1)]
    others = [text for text in slots[place].alternatives if text.strip()]
    return with_slot(slots, place, others[draw.choose(len(others), 2)])


def with_slot(slots: tuple[Slot, ...], place: int, text: str) -> tuple[Slot, ...]:
    """The answer with other words in one place, and no doubt about them."""
    return (*slots[:place], Slot(text, content=True), *slots[place + 1 :])


def content_places(slots: tuple[Slot, ...]) -> list[int]:
    """Where the answer says something that matters."""
    return [place for place, slot in enumerate(slots) if slot.content and slot.text.strip()]
