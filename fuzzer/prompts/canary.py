"""Canaries: tokens of at least 40 random bits that name their owner wherever they turn up.

There are two shapes. A *code* (``QX7K-M2PD``) stands where a prompt asks for it; a *mark* (``4821-7730-159268``) stands
in tickets, session tags, case numbers and groups. They differ so that small models do not mix up the two.
"""

from __future__ import annotations

import random
import re

ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"  # 32 symbols: 5 bits each, none easily taken for another

CODE = re.compile(r"(?<![^\W_])(?<![^\W_]-)[2-9A-HJ-NP-Z]{4}-[2-9A-HJ-NP-Z]{4}(?![^\W_]|-[^\W_])", re.IGNORECASE)
MARK = re.compile(r"(?<![^\W_])(?<![^\W_]-)[0-9]{4}-[0-9]{4}-[0-9]{6}(?![^\W_]|-[^\W_])")

_DASHES = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d"), "-")
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad"), None)
_PLAIN: dict[int, str | None] = {**_DASHES, **_INVISIBLE}


def code(rng: random.Random) -> str:
    """A code of 40 random bits, for instance ``QX7K-M2PD``."""
    symbols = "".join(rng.choice(ALPHABET) for _ in range(8))
    return f"{symbols[:4]}-{symbols[4:]}"


def mark(rng: random.Random) -> str:
    """A mark of 46 random bits, for instance ``4821-7730-159268``."""
    return f"{rng.randrange(1000, 10_000)}-{rng.randrange(1000, 10_000)}-{rng.randrange(100_000, 1_000_000)}"


def deliberate(token: str) -> bool:
    """Whether a token in the shape of a code is meant as one: "WELL-PAST" and "a2b3-c4d5" are, "well-past" is not."""
    return token.isupper() or any(map(str.isdigit, token))


def plain(text: str) -> str:
    """The text with typographic hyphens made plain and invisible characters taken out, as models like to set them."""
    return text.translate(_PLAIN)


def occurs(canary: str, text: str) -> bool:
    """Whether the canary stands in the text as a token of its own (not inside a longer one), in whatever case."""
    haystack, needle = plain(text).casefold(), plain(canary).casefold()
    at = haystack.find(needle)
    while at >= 0:
        if _alone(haystack, at, at + len(needle)):
            return True
        at = haystack.find(needle, at + 1)
    return False


def _alone(text: str, start: int, end: int) -> bool:
    """Whether neither a letter or digit nor a further hyphened group touches the span."""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    touched = before[-1:].isalnum() or after[:1].isalnum()
    chained = (before[-1:] == "-" and before[:1].isalnum()) or (after[:1] == "-" and after[1:].isalnum())
    return not touched and not chained
