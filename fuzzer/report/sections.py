"""Parts of a Markdown report that may be cut from the end where there is no room for all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from fuzzer.report.mdtext import line, prose

LIMIT: Final = 60_000
"""Characters of a report; GitHub refuses a comment of more than 65,536."""

_SPARE: Final = 200  # for the line that says how much was left off


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report whose items may be cut from the end when there is no room for all."""

    head: str
    items: list[str]
    tail: str = ""
    between: str = "\n"

    def within(self, room: int, rest: str) -> str:
        """The section in at most ``room`` characters: all of it, or as many items as fit, or nothing.

        ``rest`` names the file that holds what was cut.
        """
        for kept in range(len(self.items), -1, -1):
            left = len(self.items) - kept
            more = f"\n\n... and {left:,} more: see {rest}" if left else ""
            text = f"{self.head}{self.between.join(self.items[:kept])}{more}{self.tail}\n"
            if len(text) <= room:
                return text
        return ""


def fitted(sections: Iterable[Section], rest: str) -> str:
    """The sections below each other in under 60,000 characters; ``rest`` names the file that holds what was cut."""
    parts: list[str] = []
    room = LIMIT
    for section in sections:
        text = section.within(room - _SPARE, rest)
        parts.append(text)
        room -= len(text) + 1
    return "\n".join(filter(None, parts))


def cells(texts: tuple[str, ...], *, strong: bool = False) -> str:
    """A line of a table."""
    mark = "**" if strong else ""
    return f"|{'|'.join(f'{mark}{prose(text)}{mark}' for text in texts)}|"


def listing(title: str, lines: Iterable[str]) -> Iterable[Section]:
    """A titled list, or nothing where it is empty."""
    items = [f"- {line(text, 1500)}" for text in lines]
    if items:
        yield Section(f"{title}\n\n", items)


def table(title: str, columns: str, lines: Iterable[str], key: str) -> Section:
    """A table: ``columns`` with a pipe between their names, ``key`` explains them below it."""
    width = columns.count("|") + 1
    head = f"{title}\n\n" if title else ""
    return Section(f"{head}|{columns}|\n{'|---' * width}|\n", list(lines), f"\n\n{key}")


def fold(section: Section, title: str) -> Section:
    """The section folded away under its title."""
    head = f"<details><summary>{title}</summary>\n\n{section.head}"
    return Section(head, section.items, f"{section.tail}\n\n</details>", section.between)
