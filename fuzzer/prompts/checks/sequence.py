"""Long answers whose every entry is known: where the first one is wrong, and how."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from fuzzer.history.records import Prompt
from fuzzer.prompts import canary
from fuzzer.prompts.checks.found import Found, foreign, missing, right, strings, wrong
from fuzzer.prompts.reply import Candidate, Reply

_PIECE = re.compile(r"(?<![\w.])[0-9]{1,3}(?:,[0-9]{3}){1,9}(?=,?\s|[.;|]|$)|[0-9]{1,30}|[^\W\d_]+")
_NUMBERING = re.compile(r"(?:^|(?<=\n))[ \t|]{0,8}[0-9]{1,3}[.):|](?=[ \t])")
_GAP = re.compile(r"(?!\s*\n\s*\n)[^\w:=(]{0,12}")
_STARTS = 2_000  # places that are tried
_LEAD = 3  # entries that must be right at first for a try to be the answer that went wrong


@dataclass(frozen=True, slots=True)
class _Try:
    """Where the sequence begins in a reply, and for how many pieces it is right."""

    start: int
    good: int


def sequence(prompt: Prompt, reply: Reply) -> Found:
    """The answer is the entries of ``value`` in order, under the code in ``head``.

    Separators and numbered lines may differ. The note tells the place of the first entry that is wrong; what ends too
    early or too late, or has no head, dropped a constraint.
    """
    value, body = strings(prompt.spec["value"]), reply.body
    wanted = [each.text for each in _pieces(", ".join(value))]
    counted = len(wanted) == len(value)
    text = _NUMBERING.sub(lambda match: " " * len(match[0]), body) if counted else body
    said = _pieces(text)
    best = _settled(wanted, said)
    if strange := foreign(prompt, reply):
        return wrong("another-question", strange, value[0])
    if best is None:
        return missing(prompt, reply)
    if best.good < len(wanted):
        return _broken(best, wanted, value, said, text)
    end = best.start + best.good
    if _follows(said, end, text, wanted[0]):
        return Found("wrong", "dropped-constraint", f"goes on after {value[-1]!r} with {said[end].text!r}")
    return _headed(prompt, reply, (said[best.start].start, said[end - 1].end))


def _pieces(text: str) -> list[Candidate]:
    """The words and numbers of a text, in small letters and without thousands separators; "and" is none."""
    found = (Candidate(match[0].replace(",", "").casefold(), *match.span()) for match in _PIECE.finditer(text))
    return [each for each in found if each.text != "and"]


def _settled(wanted: Sequence[str], said: Sequence[Candidate]) -> _Try | None:
    """The last whole sequence; or else the first that begins well, or the one that is right for longest."""
    starts = [place for place, each in enumerate(said) if each.text == wanted[0]][:_STARTS]
    tries = [_Try(place, _good(wanted, said, place)) for place in starts]
    whole = [each for each in tries if each.good == len(wanted)]
    if whole:
        return whole[-1]
    well = [each for each in tries if each.good >= _LEAD]
    return well[0] if well else max(tries, key=lambda each: each.good, default=None)


def _good(wanted: Sequence[str], said: Sequence[Candidate], start: int) -> int:
    good = 0
    while good < len(wanted) and start + good < len(said) and said[start + good].text == wanted[good]:
        good += 1
    return good


def _follows(said: Sequence[Candidate], end: int, text: str, like: str) -> bool:
    """Whether the sequence goes on at ``end``, with a piece of the same sort as ``like``."""
    if end >= len(said) or said[end].text.isdigit() != like.isdigit():
        return False
    return _GAP.fullmatch(text, said[end - 1].end, said[end].start) is not None


def _broken(best: _Try, wanted: Sequence[str], value: Sequence[str], said: Sequence[Candidate], text: str) -> Found:
    """A sequence that ends early or goes wrong."""
    place, end = best.good * len(value) // len(wanted), best.start + best.good
    if best.good < _LEAD and 2 * len(said) >= len(wanted):
        return Found("wrong", "wrong-value", f"nothing that begins with {value[0]!r}, {value[1]!r}")
    if not _follows(said, end, text, wanted[best.good]):
        return Found("wrong", "dropped-constraint", f"ends after {place} of {len(value)} entries")
    note = f"goes wrong at entry {place + 1} of {len(value)}: {said[end].text[:40]!r} where {value[place]!r} belongs"
    return Found("wrong", "wrong-value", note)


def _headed(prompt: Prompt, reply: Reply, span: tuple[int, int]) -> Found:
    head = str(prompt.spec["head"])
    if not canary.occurs(head, reply.bare):
        return Found("wrong", "dropped-constraint", f"right, but without {head}")
    at = reply.body.upper().find(head)
    return right(at >= 0 and reply.only([span, (at, at + len(head))]))
