"""agentic: a clerk with tools, whose calls and results stand in the history, is asked one thing more."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.corpora.rows import Row, names, row, said

ROUNDS = 2  # rows of each kind for each desk
_NAMES = 1000  # where this corpus' names begin
_PER_ROW = 14
_SYSTEM = (
    "You are the clerk of {desk}. Look things up with your tools. If the results that you have hold the answer, do not "
    "call a tool again. Answer the last question only."
)
_NAME = "Reply with the name only."
_CODE = "Reply with the code only."
_NUMBER = "Reply with the number only."
_LIST = "Reply with the list only, separated by commas."


@dataclass(frozen=True)
class Desk:
    """A place of work: its tool, and what a record of its results looks like."""

    name: str
    tool: str
    does: str
    argument: str
    key: str
    code: str
    person: str
    place: str
    amount: str


DESKS = (
    Desk("a carrier", "find_orders", "Finds the orders of a customer.", "customer", "order", "KB-{:04}",
         "driver", "depot", "crates"),
    Desk("a railway station", "find_trains", "Finds the trains to a town.", "town", "train", "R-{:04}",
         "conductor", "terminus", "seats"),
    Desk("a caretaker's office", "list_repairs", "Lists the repairs in a building.", "building", "ticket", "T{:05}",
         "technician", "workshop", "hours"),
    Desk("a library", "search_catalogue", "Finds the books of an author.", "author", "shelfmark", "Q17.{:04}",
         "reader", "publisher", "pages"),
    Desk("a harbour office", "list_berths", "Lists the berths of a quay.", "quay", "berth", "D{:03}-N",
         "captain", "origin", "tonnes"),
)  # fmt: skip


class _Sheet:
    """One row in the making: its records, its messages, and the names that are left for it."""

    def __init__(self, desk: Desk, place: int) -> None:
        self.desk = desk
        self.rng = random.Random(f"agentic/{place}")
        self.messages = [said("system", _SYSTEM.format(desk=desk.name))]
        self._names = iter(names(_NAMES + _PER_ROW * place, _PER_ROW))
        self._calls = 0
        self.records = [self._record() for _ in range(4)]
        self.subject = next(self._names)

    def name(self) -> str:
        """A name that nothing else has."""
        return next(self._names)

    def _record(self) -> Row:
        desk = self.desk
        return {
            desk.key: desk.code.format(self.rng.randrange(100, 1000) * 9 + 8),
            desk.person: next(self._names),
            desk.place: next(self._names),
            desk.amount: self.rng.randrange(120, 900),
            "state": "open",
        }

    def ask(self, text: str) -> None:
        """What the user says."""
        self.messages.append(said("user", text))

    def call(self, tool: str, arguments: Row, result: Any) -> None:
        """A call and what it gave."""
        self._calls += 1
        identity = f"call_{self._calls}"
        function = {"name": tool, "arguments": json.dumps(arguments)}
        made = [{"id": identity, "type": "function", "function": function}]
        self.messages.append(said("assistant", "", tool_calls=made))
        self.messages.append(said("tool", json.dumps(result), tool_call_id=identity))

    def look_up(self, subject: str, records: list[Row]) -> None:
        """A call of the desk's own tool."""
        self.call(self.desk.tool, {self.desk.argument: subject}, records)

    def reply(self, text: str) -> None:
        """What the assistant says."""
        self.messages.append(said("assistant", text))

    def opening(self) -> None:
        """A question about the first record, with its look-up and answer."""
        first = self.records[0]
        self.ask(f"Please look up {self.desk.argument} {self.subject}. {self.who(first)}")
        self.look_up(self.subject, self.records)
        self.reply(str(first[self.desk.person]))

    def who(self, record: Row) -> str:
        """The question for a record's person."""
        return f"Who is the {self.desk.person} of {self.desk.key} {record[self.desk.key]}?"


_Answer = tuple[str, str]


def _result(sheet: _Sheet) -> _Answer:
    """The call has just come back, and the turn is the model's."""
    wanted, desk = sheet.rng.choice(sheet.records), sheet.desk
    sheet.ask(f"Please look up {desk.argument} {sheet.subject}. {sheet.who(wanted)} {_NAME}")
    sheet.look_up(sheet.subject, sheet.records)
    return str(wanted[desk.person]), "exact"


def _follow_up(sheet: _Sheet) -> _Answer:
    sheet.opening()
    wanted, desk = sheet.rng.choice(sheet.records[1:]), sheet.desk
    sheet.ask(f"What is the {desk.place} of {desk.key} {wanted[desk.key]}? {_NAME}")
    return str(wanted[desk.place]), "exact"


def _arguments(sheet: _Sheet) -> _Answer:
    desk, second = sheet.desk, sheet.name()
    sheet.opening()
    sheet.ask(f"Look up {desk.argument} {second} as well. How many records are there?")
    sheet.look_up(second, sheet.records[2:])
    sheet.reply("2")
    which, subject = sheet.rng.choice((("first", sheet.subject), ("second", second)))
    sheet.ask(f"Which value had the argument {desk.argument} in your {which} call of {desk.tool}? {_NAME}")
    return subject, "exact"


def _correction(sheet: _Sheet) -> _Answer:
    sheet.opening()
    meant, desk = sheet.rng.choice(sheet.records[1:]), sheet.desk
    sheet.ask(f"Sorry, I gave you the wrong {desk.key}. I meant {meant[desk.key]}. {sheet.who(meant)} {_NAME}")
    return str(meant[desk.person]), "exact"


def _join(sheet: _Sheet) -> _Answer:
    desk, wanted = sheet.desk, sheet.rng.choice(sheet.records[1:])
    sheet.opening()
    lines = {str(each[desk.person]): f"ext-{sheet.rng.randrange(1000, 10_000)}" for each in sheet.records}
    sheet.ask("Now look up the phone lines of all of them. How many lines are there?")
    sheet.call("phone_lines", {"names": list(lines)}, [{"name": name, "line": line} for name, line in lines.items()])
    sheet.reply("4")
    sheet.ask(f"What is the line of the {desk.person} of {desk.key} {wanted[desk.key]}? {_CODE}")
    return lines[str(wanted[desk.person])], "exact"


def _reverse(sheet: _Sheet) -> _Answer:
    desk, wanted = sheet.desk, sheet.rng.choice(sheet.records[1:])
    sheet.opening()
    sheet.ask(f"Which {desk.key} has the {desk.person} {wanted[desk.person]}? {_CODE}")
    return str(wanted[desk.key]), "exact"


def _latest(sheet: _Sheet) -> _Answer:
    desk, wanted = sheet.desk, sheet.rng.choice(sheet.records[1:])
    sheet.opening()
    renewed = [{**each, desk.person: sheet.name() if each is wanted else each[desk.person]} for each in sheet.records]
    sheet.ask(f"Look up {desk.argument} {sheet.subject} again, please. Has anything changed?")
    sheet.look_up(sheet.subject, renewed)
    sheet.reply("Yes.")
    sheet.ask(f"{sheet.who(wanted)[:-1]} now? {_NAME}")
    return str(renewed[sheet.records.index(wanted)][desk.person]), "exact"


def _sum(sheet: _Sheet) -> _Answer:
    desk = sheet.desk
    sheet.opening()
    one, other = sheet.rng.sample(sheet.records, 2)
    both = f"{desk.key} {one[desk.key]} and {desk.key} {other[desk.key]}"
    sheet.ask(f"How many {desk.amount} have {both} together? {_NUMBER}")
    return str(one[desk.amount] + other[desk.amount]), "number"


def _open(sheet: _Sheet) -> _Answer:
    desk = sheet.desk
    sheet.records[sheet.rng.randrange(4)]["state"] = "closed"
    sheet.opening()
    sheet.ask(f"List every {desk.person} whose {desk.key} has the state open, in the order of the result. {_LIST}")
    return ", ".join(str(each[desk.person]) for each in sheet.records if each["state"] == "open"), "list"


_KINDS: dict[str, tuple[str, Callable[[_Sheet], _Answer]]] = {
    "result": ("easy", _result),
    "follow-up": ("easy", _follow_up),
    "correction": ("easy", _correction),
    "reverse": ("medium", _reverse),
    "arguments": ("medium", _arguments),
    "latest": ("medium", _latest),
    "join": ("hard", _join),
    "sum": ("hard", _sum),
    "open": ("hard", _open),
}


def rows() -> list[Row]:
    """Two rows of each kind for each desk."""
    kinds = [(kind, desk) for _ in range(ROUNDS) for desk in DESKS for kind in _KINDS]
    return [_row(place, kind, desk) for place, (kind, desk) in enumerate(kinds)]


def _row(place: int, kind: str, desk: Desk) -> Row:
    level, pose = _KINDS[kind]
    sheet = _Sheet(desk, place)
    answer, check = pose(sheet)
    tools = list(_tools(desk, kind))
    return row(f"agentic-{place + 1:03d}", kind, level, sheet.messages, answer, check, tools=tools)


def _tools(desk: Desk, kind: str) -> Iterator[Row]:
    yield _tool(desk.tool, desk.does, desk.argument, {"type": "string"})
    if kind == "join":
        yield _tool(
            "phone_lines", "Finds the phone lines of people.", "names", {"type": "array", "items": {"type": "string"}}
        )


def _tool(name: str, does: str, argument: str, kind: Row) -> Row:
    parameters = {"type": "object", "properties": {argument: kind}, "required": [argument]}
    return {"type": "function", "function": {"name": name, "description": does, "parameters": parameters}}
