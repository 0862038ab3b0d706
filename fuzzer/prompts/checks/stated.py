"""Numbers as a reply states them: after a final mark, with the parts they are made of, with a unit that scales them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from decimal import Decimal
from math import prod

from fuzzer.prompts.reply import Candidate

_FINAL = re.compile(r"(?:(?<![^\n])[ \t]{0,8}####|\\f?boxed[ \t]{0,4}\{)")
_CURRENCY = re.compile(r"[\s$£€\\]{0,4}")
_IN_BOX = 60  # characters of a box before its number
_TO_CUED = re.compile(r"[\s\"'($£€:]{0,8}")
_SO = re.compile(r"\b(?:so|therefore|thus|hence|leaving|leaves)\b[^.\n0-9]{0,40}\Z", re.IGNORECASE)
_BRACKET = re.compile(r"\(([^()\n]{1,160})\)")
_LISTED = re.compile(r":[ \t]{1,4}([^\n:]{1,160})")
_BY = re.compile(r"\b(?:by|from|since|because|as)\b([^\n]{1,160}?)(?:\.(?=\s|\Z)|\n|\Z)", re.IGNORECASE)
_PARTS = 8  # numbers that one number is said to be made of
_REVISED = re.compile(
    r"\b(?:so|therefore|thus|hence|leav\w{2,3}|total|altogether|in all|actually|wait|or|correct\w{0,4}|not|no)\b|=",
    re.IGNORECASE,
)
_SCALE = re.compile(
    r"[ \t]{0,2}(?:\\?(%)|(percent|per cent)\b|"
    r"(hundred|thousand|million|billion|trillion)\b|([万萬億亿百만억]|千(?![米克瓦])))",
    re.IGNORECASE,
)


def marked(results: Sequence[Candidate], body: str) -> Candidate | None:
    """The number after the last ``####`` or in the last ``\\boxed{}``, whatever follows it."""
    for match in reversed(list(_FINAL.finditer(body))):
        at = bisect_left(results, match.end(), key=lambda each: each.start)
        if at < len(results) and results[at].start <= match.end() + _IN_BOX:
            between = body[match.end() : results[at].start]
            if "\n" not in between and ("}" not in between if "{" in match[0] else _CURRENCY.fullmatch(between)):
                return results[at]
    return None


def concluded(each: Candidate, body: str, cue: int | None) -> bool:
    """Whether a number stands right after "the answer is" or in what follows from the rest: "so she has 9"."""
    if cue is not None and each.start >= cue and _TO_CUED.fullmatch(body, cue, each.start):
        return True
    return _SO.search(body, max(0, each.start - 60), each.start) is not None


def without_parts(
    results: Sequence[Candidate], said: Sequence[Candidate], given: set[Decimal], body: str
) -> Sequence[Candidate]:
    """The results without those that say what the number before them is made of: "72 (48 in April and 24 in May)".

    ``said`` are all numbers of the reply, also those that the question gives.
    """
    parts: set[int] = set()
    for pattern in (_BRACKET, _LISTED, _BY):
        for match in pattern.finditer(body):
            first = bisect_left(said, match.start(), key=lambda each: each.start)
            inside = said[first : bisect_left(said, match.end(), key=lambda each: each.start)]
            if first and not _REVISED.search(match[1]) and _made_of(said[first - 1], inside, given):
                parts.update(each.start for each in inside)
    return [each for each in results if each.start not in parts] or results


def _made_of(whole: Candidate, parts: Sequence[Candidate], given: set[Decimal]) -> bool:
    values, value = [Decimal(each.text) for each in parts], Decimal(whole.text)
    return 1 < len(values) <= _PARTS and (value in (sum(values), prod(values)) or given.issuperset(values))


def scaled(each: Candidate, body: str, asked: str) -> bool:
    """Whether a number is a percentage, or so many thousands, and the question speaks of none."""
    match = _SCALE.match(body, each.end)
    if match is None:
        return False
    asked = asked.lower()
    words = ("%", "percent", "per cent") if match[1] or match[2] else (match[match.lastindex or 0].lower(),)
    return not any(word in asked for word in words)
