"""Which characters hide, move or turn text round where it is shown, and JSON that holds none of them as they are."""

from __future__ import annotations

import re
from typing import Final

_BLANKS = (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0)  # printable by category, yet show nothing
_SELECTORS = (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))
_INVISIBLE: Final = frozenset(map(chr, (*_BLANKS, *_SELECTORS)))
_UNUSUAL: Final = re.compile(r"[^\x20-\x7e\n]")


def visible(char: str) -> bool:
    """Whether the character shows itself and nothing else: no control, override, blank or selector."""
    return char.isprintable() and char not in _INVISIBLE


def inert_json(text: str) -> str:
    r"""JSON text with every character that is not `visible` as its ``\uXXXX`` escape: the same data, safe to print."""
    return _UNUSUAL.sub(lambda found: found.group() if visible(found.group()) else _escaped(found.group()), text)


def _escaped(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
