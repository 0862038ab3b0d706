"""Numbers in English words, as models write them: the tests' own, apart from the one that the checkers read with."""

from __future__ import annotations

from typing import Literal

Way = Literal["british", "american", "spaced"]
STYLES: tuple[Way, ...] = ("british", "american", "spaced")

_BELOW_20 = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_FROM_20 = "- - twenty thirty forty fifty sixty seventy eighty ninety"
_SMALL, _TENS = _BELOW_20.split(), _FROM_20.split()


def spell(number: int, way: Way = "british") -> str:
    """A number from 0 to 999,999 in words: "two hundred and forty-one", without the "and", or without the hyphen."""
    if number < 20:
        return _SMALL[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return _TENS[tens] + (("-", " ")[way == "spaced"] + _SMALL[ones] if ones else "")
    size, name = (1000, "thousand") if number >= 1000 else (100, "hundred")
    high, low = divmod(number, size)
    link = " and " if way == "british" and 0 < low < 100 else " "
    return f"{spell(high, way)} {name}" + (link + spell(low, way) if low else "")
