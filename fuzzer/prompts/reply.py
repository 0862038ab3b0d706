"""A reply made ready for extraction, and the choice of the final one among the answers that stand in it.

All of it runs in time linear in the length of the text: a reply is untrusted and may be a megabyte of anything.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from fuzzer.history.records import ToolCall
from fuzzer.prompts import canary

_FENCE = re.compile(r"```[^\S\n]*[A-Za-z]{0,12}[^\S\n]*(?=\n|$)|```")
_NO_BREAK = re.compile(r"[^\n]")
_MARKUP = re.compile(r"[*`]|(?<!\w)_{1,3}(?=[^\s_])|(?<=[^\s_])_{1,3}(?!\w)")
_LABEL = re.compile(
    r"(?:^|(?<=\n))[ \t>#-]{0,8}"
    r"(?:(?:final )?answer|ticket|session tag|case number|code word|code|result|sorted|reversed|output)[ \t]?:",
    re.IGNORECASE,
)
_ENUMERATION = re.compile(r"(?:^|(?<=\n))[ \t]{0,8}(?:[0-9]{1,2}[.)]|[-+•])(?=[ \t])")
_CUE = re.compile(r"\banswer\b[^.\n:=]{0,40}?(?:[:=]|\bis\b|\bwas\b)", re.IGNORECASE)
_CORRECTION = re.compile(r"\b(?:wait|actually|correction|sorry|oops|mistake|recheck|no,)", re.IGNORECASE)
DENIED = re.compile(r"\b(?:not|instead of|rather than)\b[^.\n]{0,16}$", re.IGNORECASE)
_NEGATED = re.compile(r"(?:\bnot|n['’]t)[^\S\n]{1,4}(?:(?:the|a|be|called)[^\S\n]{1,4}){0,2}[\"'“‘(]?\Z", re.IGNORECASE)
SUPERSEDED = re.compile(
    r"\b(?:(?:not|instead of|rather than|previously|formerly|used to be|was|old|before|replac\w{1,5})\b[^.\n]{0,16}"
    r"|from\s+[\"'(]?)$",
    re.IGNORECASE,
)
CONNECTED = re.compile(
    r"[\s,;|&/\"'()-]*(?:\b(?:or|and|either|possibly|maybe|perhaps)\b[\s,;|&/\"'()-]*){0,2}", re.IGNORECASE
)
ALTERNATIVE = re.compile(
    r"[\s,;\"'()]*(?:/|\b(?:or|alternatively|possibly|maybe|perhaps)\b)[\s,;:\"'()]*", re.IGNORECASE
)
_REFUSAL = re.compile(
    r"\b(?:(?:i['’]?m|i am) (?:sorry|unable|not able)|i apologi[sz]e|as an ai|i won['’]t|i refuse"
    r"|(?:i|we) (?:can(?:['’]t|not| not)|(?:do not|don['’]t) (?:have|know)))\b",
    re.IGNORECASE,
)
_HEAD = 400  # characters of a reply in which a refusal would show
_LOOK_BACK = 40  # characters before a candidate in which it may be dismissed


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something in a reply that could be its answer, at offsets ``start`` to ``end``."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Reply:
    """``text`` is the reply with plain hyphens and without reasoning; ``bare`` also lacks bold, back-ticks and fences.

    ``body`` is ``bare`` with every canary mark blanked out, at equal offsets: the place to look for answers.
    ``calls`` are the functions called.
    """

    text: str
    bare: str
    body: str
    calls: tuple[ToolCall, ...] = ()

    @classmethod
    def of(cls, text: str, calls: Sequence[ToolCall] = ()) -> Reply:
        """Prepare a reply as it came over the wire."""
        plain = canary.plain(text).replace("\r\n", "\n")
        _, closed, tail = plain.rpartition("</think>")
        if closed:
            plain = tail
        elif plain.lstrip().startswith("<think>"):
            plain = ""
        bare = _MARKUP.sub("", _FENCE.sub("", plain))
        return cls(text=plain, bare=bare, body=canary.MARK.sub(_blank, bare), calls=tuple(calls))

    def without(self, spans: Sequence[tuple[int, int]]) -> Reply:
        """The reply with these spans of its text blanked, line breaks kept."""
        pieces, at = [], 0
        for start, end in spans:
            pieces += [self.text[at:start], _NO_BREAK.sub(" ", self.text[start:end])]
            at = end
        return Reply.of("".join((*pieces, self.text[at:])), self.calls)

    @property
    def empty(self) -> bool:
        """Whether there is nothing in it that a person could see."""
        return not self.text.strip() and not self.calls

    @property
    def refuses(self) -> bool:
        """Whether it opens with the usual words of a refusal."""
        return _REFUSAL.search(self.bare[:_HEAD]) is not None

    @property
    def words(self) -> int:
        """How many words the body has."""
        return len(self.body.split())

    def only(self, spans: Sequence[tuple[int, int]]) -> bool:
        """Whether nothing but labels, enumeration and punctuation is left once these spans of the body are cut."""
        pieces, at = [], 0
        for start, end in sorted(spans):
            pieces.append(self.body[at:start])
            at = max(at, end)
        pieces.append(self.body[at:])
        rest = _ENUMERATION.sub("", _LABEL.sub("", "\x00".join(pieces)))
        return not any(map(str.isalnum, rest))


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def final(candidates: Sequence[Candidate], body: str, dismissed: re.Pattern[str] = DENIED) -> Candidate | None:
    """The candidate that a reply settles on, or None where there is none.

    That is the first after the last "answer" cue, or the last of all; one is passed over where the words before it
    match ``dismissed`` and something else is left. "It is not X" alone settles on nothing.
    """
    said = [each for each in candidates if not denied(each.start, body)]
    standing = [each for each in said if not _dismissed(each, body, dismissed)] or said
    if not standing:
        return None
    cue = last_cue(body)
    if cue is not None:
        for each in standing:
            if each.start >= cue:
                return each
    return standing[-1]


def last_cue(body: str) -> int | None:
    """The offset after the last "answer:" or "the answer is", unless the reply corrects itself later on."""
    cue = None
    for match in _CUE.finditer(body):
        cue = match.end()
    if cue is None or _CORRECTION.search(body, cue):
        return None
    return cue


def denied(start: int, body: str) -> bool:
    """Whether what begins at an offset is said not to be it: "It is not X"."""
    return _NEGATED.search(body[max(0, start - _LOOK_BACK) : start]) is not None


def _dismissed(candidate: Candidate, body: str, pattern: re.Pattern[str]) -> bool:
    return pattern.search(body[max(0, candidate.start - _LOOK_BACK) : candidate.start]) is not None


def hedged(
    chosen: Candidate, candidates: Sequence[Candidate], body: str, connector: re.Pattern[str] = CONNECTED
) -> bool:
    """Whether the chosen candidate stands in one breath with another that differs ("X or Y")."""
    at = next(index for index, each in enumerate(candidates) if each.start == chosen.start)
    for left, right in ((at - 1, at), (at, at + 1)):
        if left < 0 or right >= len(candidates) or candidates[left].text == candidates[right].text:
            continue
        between = body[candidates[left].end : candidates[right].start]
        if len(between) <= _LOOK_BACK and connector.fullmatch(between):
            return True
    return False
