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
    span = donor.span if donor else ""
    said, other = _compared(case.said, case.other)
    return Shown(
        case=case,
        said=tuple(_spanned(said, span)),
        other=other,
        same=bool(case.said and case.other) and not any(piece.mark for piece in said + other),
        prompt=_messages(case.prompt, ""),
        donor=_messages(case.donor, span),
        timeline=draw(case.bars, case.finding.exchange or "", donor.exchange if donor else None),
        strip=tuple(_strip(case)),
        triage=tuple(_triage(case.finding)),
        first=first is not None and first.finding == case.finding,
    )


def _messages(prompt: Prompt | None, span: str) -> tuple[Said, ...]:
    if prompt is None:
        return ()
    found: list[tuple[str, str]] = [
        (message.role, message.content or ", ".join(call.arguments for call in message.tool_calls))
        for message in prompt.messages
    ]
    found += [("right answer", prompt.answer)] if prompt.answer else []
    return tuple(Said(role, tuple(_spanned((Piece(clip(text), ""),), span))) for role, text in found)


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


def _spanned(pieces: Sequence[Piece], span: str) -> Iterator[Piece]:
    """The pieces with what bled marked, wherever it stands whole in one text."""
    text = "".join(piece.text for piece in pieces)
    at = text.find(span) if span else -1
    if at < 0:
        yield from pieces
        return
    place = 0
    for piece in pieces:
        start, stop = place, place + len(piece.text)
        cuts = sorted({start, stop, *(cut for cut in (at, at + len(span)) if start < cut < stop)})
        for a, b in itertools.pairwise(cuts):
            inside = at <= a and b <= at + len(span)
            yield Piece(text[a:b], "span" if inside else piece.mark)
        place = stop


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
