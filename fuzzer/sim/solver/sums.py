"""Reckoning: expressions, and short stories in which things come and go."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from fuzzer.sim.answer import Slot
from fuzzer.sim.solver.chat import Chat
from fuzzer.sim.solver.questions import inquiry, words
from fuzzer.sim.solver.vocabulary import FEWER, MORE, NUMERALS
from fuzzer.sim.solver.wording import maybe, number

_FIGURE = re.compile(r"(?<![\w.-])\d[\d,]*(?![\w-]|\.\d)")
_EXPRESSION = re.compile(r"\(?\d[\d,]*(?:\)?\s*(?: [-+*/×÷] )\s*\(?\d[\d,]*\)?)+")
_TOKEN = re.compile(r"\d[\d,]*|[-+*/×÷()]")
_LONGEST = 200  # characters of an expression
_STORY = 8  # sentences that a story in numbers has at most
_CLAUSE = re.compile(r"[,;:]\s+|\s+and\s+")
_SHARES = {"half": 2, "third": 3, "quarter": 4}


def calculating(chat: Chat) -> tuple[Slot, ...] | None:
    """The value of an expression such as ``(12 + 5) * 7``."""
    found = _EXPRESSION.search(chat.ask)
    if not found or len(found[0]) > _LONGEST:
        return None
    value = _Reckoner(_TOKEN.findall(found[0])).value()
    return _told(value) if value is not None else None


class _Reckoner:
    """Reads the tokens of an expression from left to right, times and divided-by before plus and minus."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0

    def value(self) -> Fraction | None:
        """The value, or None where the tokens are no expression."""
        try:
            value = self._sum()
        except (IndexError, ValueError, ZeroDivisionError):
            return None
        return value if self._at == len(self._tokens) else None

    def _sum(self) -> Fraction:
        value = self._product()
        while self._peek() in ("+", "-"):
            sign = 1 if self._next() == "+" else -1
            value += sign * self._product()
        return value

    def _product(self) -> Fraction:
        value = self._atom()
        while self._peek() in ("*", "×", "/", "÷"):
            value = value * self._atom() if self._next() in ("*", "×") else value / self._atom()
        return value

    def _atom(self) -> Fraction:
        symbol = self._next()
        if symbol != "(":
            return Fraction(symbol.replace(",", ""))
        value = self._sum()
        if self._next() != ")":
            raise ValueError("no closing bracket")
        return value

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1]


def tale(chat: Chat) -> tuple[Slot, ...] | None:
    """How many there are in the end, once everything that was told is reckoned up."""
    asked = inquiry(chat)
    if (
        asked is None
        or len(asked.told) > _STORY
        or not re.search(r"\bhow (?:many|old)\b", asked.question, re.IGNORECASE)
    ):
        return None
    told = " ".join(asked.told)
    if counted := re.search(r"How many words are in this sentence: (.+)\?", asked.question):
        return _told(Fraction(len(words(counted[1]))))
    value = _rate(told, asked.question) or _shared(told) or _around(told, asked.question) or _ledger(asked.told)
    return _told(value) if value is not None else None


def _rate(told: str, question: str) -> Fraction | None:
    """So many each, and so many of them asked about."""
    given, wanted = _figures(told), _figures(question)
    per = re.search(r"\b(?:a day|an hour|costs?|each|rows of)\b", told)
    if per and len(given) == 1 and len(wanted) == 1:
        return given[0] * wanted[0]
    if per and len(given) == 2 and not wanted and re.search(r"\beach\b|\brows of\b", told):
        return given[0] * given[1]
    return None


def _shared(told: str) -> Fraction | None:
    """A number divided equally, or a part of it."""
    given = _figures(told)
    if len(given) != 1:
        return None
    if "equally" in told:
        heads = next((NUMERALS[word] for word in words(told.lower()) if word in NUMERALS), 0)
        return given[0] / heads if heads else None
    part = next((_SHARES[word] for word in words(told.lower()) if word in _SHARES), 0)
    return given[0] / part if part else None


def _around(told: str, question: str) -> Fraction | None:
    given = _figures(told)
    return 2 * sum(given, Fraction(0)) if "around" in question and len(given) == 2 else None


def _ledger(told: tuple[str, ...]) -> Fraction | None:
    """What is left of the first number after all that came and went."""
    value: Fraction | None = None
    changed = False
    for amount, sign in _changes(told):
        if value is None:
            value = amount
        elif not sign:
            return None
        else:
            value, changed = value + sign * amount, True
    return value if changed else None


def _changes(told: tuple[str, ...]) -> Iterator[tuple[Fraction, int]]:
    for sentence in told:
        for clause in _CLAUSE.split(sentence):
            given = _figures(clause)
            if given:
                amount = given[0] * given[1] if len(given) == 2 and " a day for " in clause else given[0]
                yield amount, _sign(clause) or _sign(sentence)


def _sign(text: str) -> int:
    said = set(words(text.lower()))
    if said & FEWER:
        return -1
    return 1 if said & MORE else 0


def _figures(text: str) -> list[Fraction]:
    return [Fraction(figure.replace(",", "")) for figure in _FIGURE.findall(text) if len(figure) < 30]


def _told(value: Fraction) -> tuple[Slot, ...] | None:
    return (maybe("The answer is "), number(int(value)), maybe(".")) if value.denominator == 1 else None
