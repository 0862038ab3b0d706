"""Foreign text inside GitHub-flavoured Markdown: shown, never obeyed."""

from __future__ import annotations

import re
from typing import Final

from fuzzer.report.text import clean

_ENTITIES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", "$": "<span>$</span>", "\u200b": "&#8203;"}
_BACKSLASHED: Final = {mark: f"\\{mark}" for mark in "\\`*~[]"}
_TABLE: Final = str.maketrans({**_ENTITIES, **_BACKSLASHED})
_UNDERSCORE: Final = re.compile(r"(?<![^\W_])_|_(?![^\W_])")  # inside a word it is no markup: lm_head
_BREAK: Final = "\u200b"  # an invisible space: no link, mention or issue number is recognised across it
_ACTIVE: Final = re.compile(r"@|#(?=\d)|GH(?=-\d)|www(?=\.)|:(?=//)", re.IGNORECASE)


_START: Final = re.compile(r"^(?=[#+=-])|^(\d+)(?=[.)])")  # what would begin a heading, a list or a rule


def line(text: str, limit: int = 500) -> str:
    """`prose` that stands at the start of a line or of a list item, where more characters are markup."""
    return _START.sub(r"\1\\", prose(text.strip(), limit))


def prose(text: str, limit: int = 500) -> str:
    """Text that reads as a sentence, also in a table cell: no markup, HTML, link, mention or issue number works."""
    broken = _ACTIVE.sub(lambda found: found.group() + _BREAK, clean(text, limit))
    return _UNDERSCORE.sub(r"\\_", broken.translate(_TABLE))


def code(text: str, limit: int = 300) -> str:
    r"""Text as a code span, also in a table cell; a pipe is written ``\x7c``, since tables split at every other one."""
    shown = clean(text, limit).replace("|", "\\x7c") or " "
    fence = "`" * (max((len(run) for run in re.findall("`+", shown)), default=0) + 1)
    pad = " " if "`" in (shown[0], shown[-1]) else ""
    return f"{fence}{pad}{shown}{pad}{fence}"
