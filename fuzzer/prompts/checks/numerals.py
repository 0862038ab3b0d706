"""Numbers written in English words: "eight", "forty-two", "three thousand seven hundred and three"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fuzzer.prompts.reply import Candidate

_BELOW_20 = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_FROM_20 = "twenty thirty forty fifty sixty seventy eighty ninety"
_PLACES = "first second third fourth fifth sixth seventh eighth ninth"
_SMALL = {word: number for number, word in enumerate(_BELOW_20.split())}
_TENS = {word: 10 * number for number, word in enumerate(_FROM_20.split(), 2)}
_SCALES = {"thousand": 1000, "million": 1_000_000, "billion": 1_000_000_000}
_HUNDRED, _AND = "hundred", "and"
_ORDINALS = frozenset(_PLACES.split())
_WORD = re.compile(r"[^\W\d_]+")
_GAPS = (" ", "-")


@dataclass(frozen=True, slots=True)
class Numeral(Candidate):
    """A number in words; ``text`` is its value in digits, ``words`` how many words it takes."""

    words: int


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    start: int
    end: int
    joined: str  # what stands between it and the next word, where that keeps a numeral together, else ""


def numerals(text: str) -> list[Numeral]:
    """All numbers in words in a text, in order. Ordinals ("twenty-first") and compounds ("two-day") are none."""
    words = _words(text)
    return list(_numerals(words))


def _words(text: str) -> list[_Word]:
    found = list(_WORD.finditer(text))
    following = [*(match.start() for match in found), 0][1:]
    words = []
    for match, start in zip(found, following, strict=True):
        gap = text[match.end()] if start == match.end() + 1 else ""
        words.append(_Word(match[0].lower(), match.start(), match.end(), gap if gap in _GAPS else ""))
    return words


def _numerals(words: Sequence[_Word]) -> Iterator[Numeral]:
    at = 0
    while at < len(words):
        reader = _Reader()
        end = reader.read(words, at)
        if end == at:
            at += 1
            continue
        hyphened = at > 0 and words[at - 1].joined == "-"
        if not hyphened and not _goes_on(words, end):
            yield Numeral(str(reader.value), words[at].start, words[end - 1].end, end - at)
        at = end


def _goes_on(words: Sequence[_Word], end: int) -> bool:
    """Whether the numeral is only the beginning of a longer word: "two-day", "twenty first"."""
    joined = words[end - 1].joined
    return joined == "-" or (joined == " " and end < len(words) and words[end].text in _ORDINALS)


class _Reader:
    """Reads one numeral, word by word, as far as it goes."""

    def __init__(self) -> None:
        self._total = 0
        self._group = 0  # what has been said since the last thousand or million
        self._scale = 0  # the last of those, 0 before any
        self._hundreds = False
        self._said = False

    @property
    def value(self) -> int:
        """The number read."""
        return self._total + self._group

    def read(self, words: Sequence[_Word], start: int) -> int:
        """The index after the numeral that begins at ``start``; ``start`` itself if none does."""
        at, before_and = start, None
        while at < len(words):
            word = words[at].text
            if word == _AND:
                if not self._may_add(words, at):
                    break
                before_and = (at, self.value)
            elif not self._take(word):
                if before_and is not None and (word in _SCALES or word == _HUNDRED):
                    at, self._total = before_and
                    self._group = 0
                break
            at += 1
            if not words[at - 1].joined:
                break
        return at if self._said else start

    def _may_add(self, words: Sequence[_Word], at: int) -> bool:
        after = words[at + 1].text if at + 1 < len(words) and words[at].joined == " " else ""
        round_so_far = self._said and self.value > 0 and self._group % 100 == 0
        return round_so_far and (after in _TENS or _SMALL.get(after, 0) > 0)

    def _take(self, word: str) -> bool:
        taken = self._take_small(word) or self._take_large(word)
        self._said = self._said or taken
        return taken

    def _take_small(self, word: str) -> bool:
        small, tens, rest = _SMALL.get(word), _TENS.get(word), self._group % 100
        if small == 0:
            return not self._said
        if small is not None and (rest == 0 or (small < 10 and rest >= 20 and rest % 10 == 0)):
            free = self._free(rest)
            self._group += small if free else 0
            return free
        if tens is not None and rest == 0 and self._free(rest):
            self._group += tens
            return True
        return False

    def _free(self, rest: int) -> bool:
        """Whether a further part may follow: "twelve hundred five" goes on, "zero five" does not."""
        return rest > 0 or not self._said or self._hundreds or (self._scale > 0 and self._group == 0)

    def _take_large(self, word: str) -> bool:
        if word == _HUNDRED and 0 < self._group < 100 and not self._hundreds:
            self._group *= 100
            self._hundreds = True
            return True
        scale = _SCALES.get(word, 0)
        if scale and self._group and (not self._scale or scale < self._scale):
            self._total += self._group * scale
            self._group, self._scale, self._hundreds = 0, scale, False
            return True
        return False
