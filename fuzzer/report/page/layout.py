"""What every page is made of: the templates' surroundings, the style and script, and a table's shape."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from fuzzer.report.text import clean

if TYPE_CHECKING:
    from jinja2 import Environment


LONGEST: Final = 60_000  # characters of a line
FOLDED: Final = 16  # lines of a table that still lies open


@dataclass(frozen=True, slots=True)
class Table:
    """A table that can be sorted, filtered and saved as CSV; ``states`` colours a row."""

    name: str
    title: str
    columns: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    states: tuple[str, ...] = ()
    note: str = ""

    @property
    def folded(self) -> bool:
        """Whether it is long enough to be folded away until it is asked for."""
        return len(self.lines) > FOLDED


def environment() -> Environment:
    """Jinja over this package's templates: all text is escaped and `plain`, a name that is not there is a mistake."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    def put(value: object) -> object:
        return plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    surroundings = Environment(
        loader=FunctionLoader(_text), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        finalize=put,
    )  # fmt: skip
    surroundings.filters["clean"] = clean
    return surroundings


def plain(text: str) -> str:
    """A text that keeps its lines and tabs; whatever else moves, hides or turns text round is spelled out."""
    return "\n".join("\t".join(clean(part, LONGEST) for part in line.split("\t")) for line in text.split("\n"))


def furniture() -> dict[str, str]:
    """The style and the script, which are our own and go into the page as they are."""
    return {"style": _text("page.css"), "script": _text("page.js")}


def _text(name: str) -> str:
    return files("fuzzer.report.page").joinpath(name).read_text(encoding="utf-8")
