"""What every page is made of: the templates' surroundings, the style and script, and a table's shape."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

from fuzzer.report.text import clean

if TYPE_CHECKING:
    from jinja2 import Environment


@dataclass(frozen=True, slots=True)
class Table:
    """A table that can be sorted, filtered and saved as CSV; ``states`` colours a row.

    ``open_`` false folds it away until it is asked for.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    states: tuple[str, ...] = ()
    note: str = ""
    open_: bool = True


def environment() -> Environment:
    """Jinja over this package's templates: everything is escaped, a name that is not there is a mistake."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    surroundings = Environment(
        loader=FunctionLoader(_text), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    surroundings.filters["clean"] = clean
    return surroundings


def furniture() -> dict[str, str]:
    """The style and the script, which are our own and go into the page as they are."""
    return {"style": _text("page.css"), "script": _text("page.js")}


def _text(name: str) -> str:
    return files("fuzzer.report.page").joinpath(name).read_text(encoding="utf-8")
