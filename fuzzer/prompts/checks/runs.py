"""Lists in a reply: items that follow one another with nothing but separators between them.

Between two items of a *run* stand only separators, enumeration, a gloss in brackets and a few small words ("and",
"then", "second"). A restated question or a remark makes a run of its own, and the final run is the answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from fuzzer.prompts.checks.phrases import followed
from fuzzer.prompts.reply import Candidate, last_cue

_GAP_LIMIT = 100  # characters between two items of a list, glosses included
_GLOSS = re.compile(r"\([^()\n]{0,60}\)")
_STEP = re.compile(r"\n[ \t]{0,8}(?:[0-9]{1,2}[.):]|\+[ \t])")
_SMALL = re.compile(
    r"\b(?:and|then|next|finally|lastly|last|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh"
    r"|twelfth|followed by|[0-9]{1,2}(?:st|nd|rd|th)?)\b",
    re.IGNORECASE,
)
_NO_GAP = re.compile(r"[^\W_]|[.=+?!×*/]")
_ARROW = re.compile(r"->|=>|[→⇒➔➜›>]")
_PASSED_OVER = re.compile(
    r"\b(?:original|given|unsorted|input|from|not|instead of|rather than)\b[^.\n]{0,30}$", re.IGNORECASE
)
_AFTER = re.compile(
    r"[^\w\n,;→⇒<>/|&]{0,6}(?:[,;→⇒>/|&]|->|\band\b)[^\w\n]{0,6}(?:and[^\S\n]{1,4})?([^\n,;→⇒>/|&.]{1,60})"
)
_NEXT_LINE = re.compile(
    r"[^\w\n]{0,8}\n[^\S\n]{0,8}(?:[0-9]{1,2}[.)]|[-•+]|\|[^\w\n]{0,4}[0-9]{1,2}[^\w\n]{0,4}\|)[^\S\n]{1,4}([^\n,;|]{1,60})"
)
_BEFORE = re.compile(r"(?:^|[:.\n])[ \t]{0,4}([^:.,;\n]{1,60})[,;][ \t]{0,4}$")
_AFTER_IS = re.compile(r"\b(?:is|are)[ \t]{1,4}([^:.,;\n]{1,40})[,;][ \t]{0,4}$")
_LINE_BEFORE = re.compile(
    r"(?:^|\n)[ \t]{0,8}(?:[0-9]{1,2}[.)]|[-•+])[ \t]{1,4}([^\n,;|:]{1,60})\n"
    r"[^\w\n]{0,8}(?:[0-9]{1,2}[.)][ \t]{1,4})?[^\w\n]{0,8}\Z"
)
_OR_AFTER = re.compile(r"[^\w\n]{0,6}\b(?:or|alternatively)\b", re.IGNORECASE)
_OR_BEFORE = re.compile(r"\bor[^\w\n]{1,6}\Z", re.IGNORECASE)
_BLANK_LINE = re.compile(r"[^\n]{0,40}\n[^\w\n]{0,40}\n")
_LINE_AFTER = re.compile(r"[^\w\n]{0,8}\n[^\w\n]{0,8}([^\n]{1,400})")
_SEPARATOR = re.compile(r"[,;→⇒>|/]|\band\b", re.IGNORECASE)
_SMALL_WORDS = (
    "a according all also and as based because both by each for from hence here hope i if in is it my not note of on "
    "per please respectively since so that the therefore these they this those thus to using was we were when where "
    "which who with you your"
)
_PROSE = frozenset(_SMALL_WORDS.split())
_EXTRA_WORDS = 3  # an item that was added to a list is no longer than this

_SLASH = re.compile(r"[ \t]{1,4}/[ \t]{1,4}")

_Kind = Literal["", "comma", "arrow", "slash", "line"]
_COARSE: tuple[_Kind, ...] = ("line", "slash", "arrow")


@dataclass(frozen=True, slots=True)
class Run:
    """Items that follow one another in a reply."""

    items: tuple[Candidate, ...]

    @property
    def texts(self) -> list[str]:
        """The items as they are compared."""
        return [each.text for each in self.items]

    @property
    def whole(self) -> Candidate:
        """The run as one candidate."""
        return Candidate(", ".join(self.texts), self.items[0].start, self.items[-1].end)


def runs(items: Sequence[Candidate], body: str) -> list[Run]:
    """All runs of two items or more, in order."""
    found: list[Run] = []
    for chain, kinds in _chains(items, body):
        found.extend(_split(chain, kinds))
    return found


def _chains(items: Sequence[Candidate], body: str) -> Iterable[tuple[list[Candidate], list[_Kind]]]:
    chain: list[Candidate] = []
    kinds: list[_Kind] = []
    for item in items:
        kind = _gap(body, chain[-1].end, item.start) if chain else ""
        if chain and not kind:
            yield chain, kinds
            chain, kinds = [], []
        if chain:
            kinds.append(kind)
        chain.append(item)
    if chain:
        yield chain, kinds


def _gap(body: str, start: int, end: int) -> _Kind:
    if end - start > _GAP_LIMIT:
        return ""
    gap = body[start:end]
    if _SLASH.fullmatch(gap):
        return "slash"
    rest = _SMALL.sub("", _STEP.sub("\n", _GLOSS.sub("", gap)))
    if gap.strip() == ":" or _NO_GAP.search(rest):
        return ""
    if "," in gap or ";" in gap:
        return "comma"
    if _ARROW.search(gap):
        return "arrow"
    return "line" if "\n" in gap else "comma"


def _split(chain: list[Candidate], kinds: list[_Kind]) -> Iterable[Run]:
    """Cut a chain that mixes separators at the coarsest of them: "B, A -> A, B" is two lists."""
    for coarse in _COARSE:
        if coarse in kinds and set(kinds) != {coarse}:
            for part, inner in _parts(chain, kinds, coarse):
                yield from _split(part, inner)
            return
    if len(chain) > 1:
        yield Run(tuple(chain))


def _parts(chain: list[Candidate], kinds: list[_Kind], coarse: _Kind) -> Iterable[tuple[list[Candidate], list[_Kind]]]:
    """The pieces between coarse separators; items that stand alone between two of them are one list together."""
    alone: list[Candidate] = []
    at = 0
    for index, kind in enumerate([*kinds, coarse]):
        if kind != coarse:
            continue
        if index == at:
            alone.append(chain[at])
        else:
            yield alone, [coarse] * (len(alone) - 1)
            alone = []
            yield chain[at : index + 1], kinds[at:index]
        at = index + 1
    yield alone, [coarse] * (len(alone) - 1)


def final_run(found: Sequence[Run], length: int, body: str) -> Run | None:
    """The list that a reply settles on, given how long the right one is."""
    fitting = [run for run in found if len(run.items) >= max(2, length - 1)]
    if not fitting:
        longest = max((len(run.items) for run in found), default=0)
        fitting = [run for run in found if len(run.items) == longest]
    fitting = _standing(fitting, body)
    cue = last_cue(body)
    if cue is not None:
        for run in fitting:
            if run.items[0].start >= cue:
                return run
    return fitting[-1] if fitting else None


def _standing(found: list[Run], body: str) -> list[Run]:
    def passed_over(run: Run) -> bool:
        start = run.items[0].start
        return _PASSED_OVER.search(body[max(0, start - 50) : start]) is not None

    return [run for run in found if not passed_over(run)] or found


def alternated(run: Run, body: str) -> bool:
    """Whether something else is offered in place of the list, in words or on the next line, recognised or not."""
    start, end = run.items[0].start, run.items[-1].end
    if _OR_AFTER.match(body, end) or _OR_BEFORE.search(body, max(0, start - 12), start):
        return True
    breaks = body.count("\n", run.items[0].end, run.items[1].start)
    if breaks:
        return followed(end, body) and (breaks > 1 or not _BLANK_LINE.match(body, end))
    line = _LINE_AFTER.match(body, end)
    parts = [part.split() for part in _SEPARATOR.split(line[1])] if line else []
    return len(parts) >= max(2, len(run.items) - 1) and all(1 <= len(words) <= _EXTRA_WORDS for words in parts)


def doubled(run: Run, found: Sequence[Run], body: str) -> bool:
    """Whether another list, as long or nearly, follows at once: then the reply settles on neither."""
    for other in found:
        between = body[run.items[-1].end : other.items[0].start]
        if other.items[0].start > run.items[-1].end and len(other.items) >= max(2, len(run.items) - 1):
            return other.texts != run.texts and len(between) <= _GAP_LIMIT and not any(map(str.isalnum, between))
    return False


def extended(run: Run, body: str) -> bool:
    """Whether the list goes on beyond its run, before or after it, with something that was not recognised."""
    start, end = run.items[0].start, run.items[-1].end
    after = body[end : end + 120]
    before = body[max(0, start - 80) : start]
    return (
        _item(_AFTER.match(after), _addition)
        or _item(_NEXT_LINE.match(after), _addition)
        or _item(_BEFORE.search(before), _capitalised)
        or _item(_AFTER_IS.search(before), _capitalised)
        or _item(_LINE_BEFORE.search(before), _addition)
    )


def _item(match: re.Match[str] | None, test: Callable[[list[str]], bool]) -> bool:
    return match is not None and test(match[1].split())


def _addition(words: list[str]) -> bool:
    return 1 <= len(words) <= _EXTRA_WORDS and words[0].lower() not in _PROSE and any(map(str.isalnum, words[0]))


def _capitalised(words: list[str]) -> bool:
    return 2 <= len(words) <= _EXTRA_WORDS and all(word[0].isupper() for word in words)
