"""What every page is made of: the templates' surroundings, the style and script, and a table's shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from fuzzer.report.page.glossary import GLOSSARY, Glossary
from fuzzer.report.text import clean, plain

if TYPE_CHECKING:
    from jinja2 import Environment


FOLDED: Final = 16  # lines of a table that still lies open


@dataclass(frozen=True, slots=True)
class Table:
    """A table that can be sorted, filtered and saved as CSV; ``states`` colours a row's second field, its verdict.

    ``names`` and ``values`` are the columns and lines of the CSV, line for line those of the table; without them it
    holds what the table shows.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    states: tuple[str, ...] = ()
    note: str = ""
    names: tuple[str, ...] = ()
    values: tuple[tuple[str, ...], ...] = ()

    @property
    def folded(self) -> bool:
        """Whether it is long enough to be folded away until it is asked for."""
        return len(self.lines) > FOLDED


def environment(meanings: Mapping[str, str] = GLOSSARY) -> Environment:
    """Jinja over this package's templates: all text is escaped and `plain`, a name that is not there is a mistake.

    The filter ``words`` links the words of ``meanings``.
    """
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    def put(value: object) -> object:
        return plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    surroundings = Environment(
        loader=FunctionLoader(_text), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        finalize=put,
    )  # fmt: skip
    surroundings.filters["clean"] = clean
    surroundings.filters["words"] = Glossary(meanings)
    return surroundings


def furniture(*styles: str) -> dict[str, str]:
    """The style and the script, which are our own and go into the page as they are; ``styles`` are files of more."""
    return {"style": "".join(map(_text, ("page.css", *styles))), "script": _text("page.js")}


def _text(name: str) -> str:
    return files("fuzzer.report.page").joinpath(name).read_text(encoding="utf-8")
