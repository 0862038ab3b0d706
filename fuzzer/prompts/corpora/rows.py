"""What a row of a corpus becomes, whatever its format; and what can be wrong with one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from fuzzer.history.records import PLAIN, Level, Message, Wants

Raw = Mapping[str, object]

_ID_FIELDS = ("key", "question_id", "task_id", "custom_id", "id")


@dataclass(frozen=True, slots=True)
class Where:
    """A place in a source. ``unit`` is "line" where a person can go to it in an editor, else "row" (from 1)."""

    source: str
    unit: str = ""
    number: int = 0

    def __str__(self) -> str:
        return f"{self.source}, {self.unit} {self.number}" if self.unit else self.source


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with a row: where, in which field ("" for all of it), and what."""

    where: Where
    field: str
    reason: str

    def __str__(self) -> str:
        return f"{self.where}: {self.field}: {self.reason}" if self.field else f"{self.where}: {self.reason}"


class RowError(Exception):
    """A row that cannot be asked; ``faults`` are all that is wrong with it, as (field, reason).

    ``format`` is the name of the format that it was read in, "" where none was recognised.
    """

    def __init__(self, *faults: tuple[str, str], format_name: str = "") -> None:
        super().__init__("; ".join(f"{name}: {reason}" if name else reason for name, reason in faults))
        self.faults = faults
        self.format_name = format_name


class SourceError(Exception):
    """A source that cannot be read on; what was read before it stands."""

    def __init__(self, where: Where, reason: str) -> None:
        super().__init__(f"{where}: {reason}")
        self.fault = Fault(where, "", reason)


@dataclass(frozen=True, slots=True)
class Row:
    """One question of a corpus.

    ``asks`` are the places in ``messages`` at which a request may end, one of them drawn by the seed; the last place
    is among them. ``check`` says how the answer is compared, "" where no right answer is known; ``spec`` is what that
    check needs. ``kept`` are the fields of the data that made the row, in their format. ``id`` is the data's own, and
    ``family`` its name for this kind of question; either may be "".
    """

    format: str
    messages: tuple[Message, ...]
    asks: tuple[int, ...]
    level: Level = "hard"
    answer: str = ""
    check: str = ""
    spec: Mapping[str, JsonValue] = field(default_factory=dict)
    wants: Wants = PLAIN
    id: str = ""
    family: str = ""
    kept: Raw = field(default_factory=dict)
    where: Where = Where("")

    @property
    def checkable(self) -> bool:
        """Whether an answer can be right or wrong."""
        return self.check != ""

    @property
    def id_field(self) -> str:
        """The field of the data that the id stands in."""
        return next((name for name in _ID_FIELDS if name in self.kept), "id")

    @property
    def asked(self) -> str:
        """All that is said but the system message: what tells this row from others."""
        return "\n".join(message.content for message in self.messages if message.role != "system")
