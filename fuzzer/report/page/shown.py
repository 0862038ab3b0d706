"""A finding as the page lays it out: both answers in pieces, the tokens' strip, the triage in words, the timeline."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import JsonValue

from fuzzer.finding import Control, Finding
from fuzzer.history.records import Prompt
from fuzzer.report.page.evidence import Case, Evidence, First, Side, clip
from fuzzer.report.page.replay import Replays
from fuzzer.report.page.timeline import Drawing, draw
from fuzzer.report.sentences import marks, seen_at
from fuzzer.report.words import listed
from fuzzer.summary import FindingGroup, Summary

_DIFF: Final = 2_000  # characters that are compared; what comes after stands unmarked
_SPANS: Final = 64  # of them that are looked for
_BETWEEN: Final = 3  # characters of punctuation that two of them may have between them
_LEAST: Final = 8  # characters of a donor's answer that no reply holds by chance
_CONTROLS: Final[dict[Control, str]] = {
    "alone": "this end asked alone",
    "other-order": "this end among other neighbours",
    "reference": "the reference at the same place",
    "reference-itself": "the reference against itself",
}
Mark = Literal["", "differs", "span"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a text: as it is, or unlike the other side's, or what bled."""

    text: str
    mark: Mark


@dataclass(frozen=True, slots=True)
class Said:
    """A message of a prompt, or its right answer, in pieces."""

    role: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """A case as the page lays it out; ``same``: both ends said the same, ``first``: it is the run's first failure."""

    case: Case
    said: tuple[Piece, ...]
    other: tuple[Piece, ...]
    same: bool
    prompt: tuple[Said, ...]
    donor: tuple[Said, ...]
    timeline: Drawing | None
    strip: tuple[tuple[str, str, str], ...]
    triage: tuple[str, ...]
    first: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """A finding group: ``state`` colours it, ``command`` shows it again."""

    group: FindingGroup
    lead: Finding
    marks: str
    places: str
    state: str
    command: str
    command_note: str
    cases: tuple[Shown, ...]


def shown_group(group: FindingGroup, summary: Summary, evidence: Evidence, replays: Replays) -> Group:
    """The group with its cases; the first of them leads."""
    found = evidence.cases.get(group.key, [])
    lead = found[0].finding if found else group.example
    command, note = replays.command(lead)
    state = "bad" if group.breaks_gate and not group.waived else "calm" if group.waived else "unsure"
    return Group(
        group,
        lead,
        marks(group),
        seen_at(group, summary),
        state,
        command,
        note,
        tuple(shown(case, evidence.first) for case in found),
    )


def shown(case: Case, first: First | None = None) -> Shown:
    """Everything about one finding that is drawn or marked."""
    donor = case.finding.donor
    spans = _spans(case)
    said, other = _compared(case.said, case.other)
    return Shown(
        case=case,
        said=tuple(_spanned(said, spans)),
        other=other,
        same=bool(case.said and case.other) and not any(piece.mark for piece in said + other),
        prompt=_messages(case.prompt, ()),
        donor=_messages(case.donor, spans),
        timeline=draw(case.bars, case.finding.exchange or "", donor.exchange if donor else None),
        strip=tuple(_strip(case)),
        triage=tuple(_triage(case.finding)),
        first=first is not None and first.finding == case.finding,
    )


def _spans(case: Case) -> tuple[str, ...]:
    """All of the donor's that the reply holds: what the oracle names, every other match, the donor's whole answer."""
    donor = case.finding.donor
    if donor is None:
        return ()
    told = case.finding.evidence.get("spans")
    pairs = [pair for pair in told if isinstance(pair, list) and len(pair) == 2] if isinstance(told, list) else []
    named = [pair[1] for pair in pairs if isinstance(pair[1], str)]
    whole = [case.donor.answer] if case.donor is not None and len(case.donor.answer or "") >= _LEAST else []
    return tuple(dict.fromkeys(text for text in (donor.span, *named, *whole) if text))


def _messages(prompt: Prompt | None, spans: tuple[str, ...]) -> tuple[Said, ...]:
    if prompt is None:
        return ()
    found: list[tuple[str, str]] = [
        (message.role, message.content or ", ".join(call.arguments for call in message.tool_calls))
        for message in prompt.messages
    ]
    found += [("right answer", prompt.answer)] if prompt.answer else []
    return tuple(Said(role, tuple(_spanned((Piece(clip(text), ""),), spans))) for role, text in found)


def _compared(said: Side | None, other: Side | None) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """Both answers in pieces, word by word where they differ."""
    ours, theirs = (_whole(side) for side in (said, other))
    if said is None or other is None or not ours or not theirs:
        return (Piece(ours, ""),), (Piece(theirs, ""),)
    left, right = _words(ours[:_DIFF]), _words(theirs[:_DIFF])
    matcher = difflib.SequenceMatcher(a=left, b=right, autojunk=False)
    mine: list[Piece] = []
    yours: list[Piece] = []
    for tag, a, b, c, d in matcher.get_opcodes():
        mark: Mark = "" if tag == "equal" else "differs"
        mine.append(Piece("".join(left[a:b]), mark))
        yours.append(Piece("".join(right[c:d]), mark))
    mine.append(Piece(ours[_DIFF:], ""))
    yours.append(Piece(theirs[_DIFF:], ""))
    return tuple(piece for piece in mine if piece.text), tuple(piece for piece in yours if piece.text)


def _whole(side: Side | None) -> str:
    if side is None:
        return ""
    return side.text or side.calls


def _spanned(pieces: Sequence[Piece], spans: Sequence[str]) -> Iterator[Piece]:
    """The pieces with what bled marked, wherever it stands whole in one text; what touches or overlaps is one mark."""
    text = "".join(piece.text for piece in pieces)
    held = _held(text, spans)
    place = 0
    for piece in pieces:
        start, stop = place, place + len(piece.text)
        cuts = sorted({start, stop, *(cut for pair in held for cut in pair if start < cut < stop)})
        for a, b in itertools.pairwise(cuts):
            inside = any(low <= a and b <= high for low, high in held)
            yield Piece(text[a:b], "span" if inside else piece.mark)
        place = stop


def _held(text: str, spans: Sequence[str]) -> list[tuple[int, int]]:
    """Where the spans stand in the text, first to last; those with no more than punctuation between them are joined."""
    found = sorted((at, at + len(span)) for span in spans[:_SPANS] if (at := text.find(span)) >= 0)
    joined: list[tuple[int, int]] = []
    for low, high in found:
        between = text[joined[-1][1] : low] if joined else "none before"
        if len(between) <= _BETWEEN and not any(map(str.isalnum, between)):
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return joined


def _words(text: str) -> list[str]:
    words: list[str] = []
    for char in text:
        if words and char.isalnum() and words[-1][-1:].isalnum():
            words[-1] += char
        else:
            words.append(char)
    return words


def _triage(finding: Finding) -> Iterator[str]:
    """How far apart, by which measure, and which controls show the same."""
    gap, band = _number(finding.evidence.get("gap")), finding.evidence.get("band")
    if gap is not None:
        limits = {name: _number(band.get(name)) for name in ("tie", "material")} if isinstance(band, dict) else {}
        tie, material = limits.get("tie"), limits.get("material")
        near = (
            f" (near-tie to {tie:.2f}, material over {material:.2f})"
            if tie is not None and material is not None
            else ""
        )
        yield f"the two leave each other {gap:.2f} nats apart{near}"
    if finding.also:
        yield f"the same fault shows with {listed([_CONTROLS[name] for name in finding.also])}"
    if finding.spared:
        yield f"it does not show with {listed([_CONTROLS[name] for name in finding.spared])}"


def _number(value: JsonValue) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _regret(token: str, regret: float | None) -> tuple[str, str, str]:
    if regret is None:
        return token, "none", "not scored"
    shade = "wide" if regret <= 0 else "some" if regret < 0.1 else "narrow" if regret < 0.5 else "thin"
    return token, shade, f"{regret:.2f} nats below the reference's best" if regret > 0 else "the reference's best"


def _strip(case: Case) -> Iterable[tuple[str, str, str]]:
    """Token, shade and hint: its regret where the reference scored the answer, else how thin the margin was there."""
    if case.said is not None and case.said.regrets:
        yield from (_regret(token, regret) for token, regret in case.said.regrets)
        return
    for token, margin in case.said.margins if case.said else ():
        if margin is None:
            yield token, "none", "no margin told"
        else:
            shade = "thin" if margin < 0.1 else "narrow" if margin < 0.5 else "some" if margin < 2 else "wide"
            yield token, shade, f"{margin:.2f} nats above the next"
