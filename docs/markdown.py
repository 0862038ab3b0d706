"""The pieces that generated pages are made of."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

WIDTH = 120  # columns of a page's source


def prose(*paragraphs: str) -> Iterator[str]:
    """Paragraphs, wrapped, with an empty line after each."""
    for paragraph in paragraphs:
        yield from textwrap.wrap(paragraph, WIDTH, break_long_words=False, break_on_hyphens=False)
        yield ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table; a cell holds no line break and no bar."""
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', '/').replace('<', '&lt;') for cell in row)} |"
    yield ""
