"""What untrusted text becomes in a terminal: every character that hides, moves or colours something is spelled out."""

from __future__ import annotations

import unicodedata

from rich.text import Text

from fuzzer.inert import visible

_LONGEST = 60_000  # characters of a line
_MARKS = 2  # combining marks on one letter; a taller stack would overprint the lines above


def clean(text: str, limit: int = 200) -> str:
    r"""Untrusted text as one harmless line: the first ``limit`` characters, and how many were left off.

    Control characters, escape sequences, line breaks, bidirectional overrides, zero-width and other blank characters
    become their Python escapes (``\x1b``, ``\n``, ``\u202e``); letters of every script stay. A backslash stays as it
    is, since most of what comes here was through ``repr`` already.
    """
    shown: list[str] = []
    length = used = marks = 0
    for char in text:
        marks = marks + 1 if unicodedata.combining(char) else 0
        piece = _visible(char) if marks <= _MARKS else _escape(char)
        if length + len(piece) > limit:
            break
        shown.append(piece)
        length += len(piece)
        used += 1
    left = len(text) - used
    return "".join(shown) + (f"... (+{left:,} characters)" if left else "")


def plain(text: str) -> str:
    """A text that keeps its lines and tabs; whatever else moves, hides or turns text round is spelled out."""
    return "\n".join("\t".join(clean(part, _LONGEST) for part in line.split("\t")) for line in text.split("\n"))


def literal(text: str, limit: int = 200, style: str = "") -> Text:
    """`clean` text that rich shows as it is: no markup, no emoji codes (rich's own ``escape`` is not exact)."""
    return Text(clean(text, limit), style=style)


def _visible(char: str) -> str:
    return char if visible(char) else _escape(char)


def _escape(char: str) -> str:
    escaped = char.encode("unicode_escape").decode("ascii")
    return escaped if escaped != char else f"\\x{ord(char):02x}"
