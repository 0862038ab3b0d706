"""What a check says about an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Value = Literal["right", "verbose", "wrong", "none", "unchecked"]

WRONG_KINDS = ("wrong-last-message", "another-question", "dropped-constraint", "wrong-value")
NONE_KINDS = ("empty", "refusal", "runaway", "no-answer")


@dataclass(frozen=True, slots=True)
class Grade:
    """``right``: the answer alone; ``verbose``: it stands amid other words; ``wrong``; ``none``: no answer was found;
    ``unchecked``: something was said, and nobody knows what is right.

    ``sub_kind`` is one of WRONG_KINDS for "wrong", one of NONE_KINDS for "none", and empty otherwise. ``note`` is one
    line for people; server text in it is repr'd.
    """

    value: Value
    sub_kind: str = ""
    note: str = ""

    @property
    def passed(self) -> bool:
        """Whether the right answer was given, in whatever words."""
        return self.value in ("right", "verbose")
