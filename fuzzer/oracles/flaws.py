"""What a corruption detector returns, and the text it looks at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from fuzzer.finding import Certainty


class Flaw(NamedTuple):
    """A corrupted place in a text; ``words`` says what is wrong with it, ``detail`` sets its kind apart in keys."""

    sub_kind: str
    certainty: Certainty
    start: int
    length: int
    words: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """One channel of a reply with what it takes to judge it.

    ``prompt`` is all that the model was given: what stands there may come back. ``whole`` is false where the text was
    cut (by its limit or by a failure), ``stopped`` true where the engine says that it ended by itself. ``parsed``:
    this endpoint gives reasoning a channel of its own, so that its markers have no business in the others; ``calls``:
    it takes calls of functions out of the text.
    """

    text: str
    prompt: str
    whole: bool = True
    stopped: bool = True
    parsed: bool = False
    calls: bool = False
