"""What the page shows of single findings: prompts, both answers, the donor, and who was in flight; from the history.

A run may hold a hundred thousand exchanges and answers of a megabyte: a few cases a finding group are shown, texts are
clipped, and the history is read line by line, twice.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from html import escape
from itertools import islice
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from fuzzer.finding import CERTAINTIES, Finding
from fuzzer.history.journal import exchanges, read_history
from fuzzer.history.packed import recorded
from fuzzer.history.records import AnyRecord, Exchange, Opened, Prompt, TokenLogprob
from fuzzer.history.scores import Scored, Scores
from fuzzer.manifest import FINDINGS, HISTORY
from fuzzer.report.sentences import ranked
from fuzzer.summary import FindingGroup, Summary

GROUPS: Final = 40  # finding groups with cases of their own
CASES: Final = 3  # cases a group, and the run's first failure beside them
EARLY: Final = 16  # findings, in the order in which they were judged, among which the first failure is looked for
BARS: Final = 48  # exchanges in a timeline, the victim's own included
TEXT: Final = 6_000  # characters of a prompt or an answer
TOKENS: Final = 400  # tokens of a margin strip
BUDGET: Final = 2_000_000  # characters that all cases may take on the page, about; the page stays under 3 MB
_BAR: Final = 400  # characters of a bar as drawn
_TOKEN: Final = 80  # characters of a token as drawn
_PHASES: Final = ("measure", "calibration", "filler")


@dataclass(frozen=True, slots=True)
class Bar:
    """One exchange in a timeline; times in nanoseconds as in the history, None for what never came."""

    key: str
    prompt: str
    phase: str
    outcome: str
    sent_ns: int
    first_ns: int | None
    end_ns: int | None


@dataclass(frozen=True, slots=True)
class Side:
    """One end's reply.

    ``margins`` are (token, top-1 minus top-2 log-probability in nats or None), where asked for; ``regrets`` are (token,
    how far the reference puts it below its best), where it scored the reply.
    """

    text: str
    reasoning: str
    calls: str
    outcome: str
    finish_reason: str
    where: str
    margins: tuple[tuple[str, float | None], ...]
    regrets: tuple[tuple[str, float | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """One finding with all that the page tells of it; what the history does not hold is None or empty.

    ``other`` is what the other end said to the same prompt: at the same place of the plan if it was asked there.
    """

    finding: Finding
    prompt: Prompt | None
    said: Side | None
    other: Side | None
    donor: Prompt | None
    bars: tuple[Bar, ...]

    @property
    def weight(self) -> int:
        """About how many characters the case takes on the page."""
        sides = [side for side in (self.said, self.other) if side is not None]
        texts = [text for side in sides for text in (side.text, side.reasoning, side.calls)]
        texts += [clip(message.content) for one in (self.prompt, self.donor) if one for message in one.messages]
        tokens = sum(len(side.margins) + len(side.regrets) for side in sides[:1])
        return sum(len(escape(text)) for text in texts) + _BAR * len(self.bars) + _TOKEN * tokens


@dataclass(frozen=True, slots=True)
class First:
    """The finding that broke the gate first, by when its request was sent; ``seconds`` into the run."""

    finding: Finding
    seconds: float | None = None


@dataclass(slots=True)
class Evidence:
    """What the histories of a report's runs hold of its findings: cases by the key of their group.

    ``room`` is what is left of the budget; a case that does not fit is not shown.
    """

    cases: dict[str, list[Case]] = field(default_factory=dict)
    first: First | None = None
    room: int = BUDGET


def evidence(directories: Iterable[Path], summary: Summary, room: int = BUDGET) -> Evidence:
    """The evidence to show; empty where texts are not to be shown, or nothing is left."""
    found = Evidence(room=room)
    if summary.redacted:
        return found
    for directory in directories:
        if recorded(directory / HISTORY):
            _gather(directory, summary, found)
    return found


def _gather(directory: Path, summary: Summary, found: Evidence) -> None:
    groups = ranked(summary.findings)
    chosen = list(_chosen(directory / FINDINGS, groups[:GROUPS]))
    keys = accused(groups)
    suspects = {each.exchange: each for each in _findings(directory / FINDINGS) if each.key in keys and each.exchange}
    if not chosen:
        return
    early = list(islice(suspects.values(), EARLY))
    past = _first_pass(directory / HISTORY, [*chosen, *early], suspects)
    leading = [each for each in early if _is_first(each, past)][:1]
    chosen = leading + [each for each in chosen if each not in leading]
    victims = {key: past.known[key] for each in chosen if (key := each.exchange or "") in past.known}
    bars = _second_pass(directory / HISTORY, list(victims.values()))
    for each in chosen:
        case = _with_regrets(_case(each, past, bars), past.scored.get(each.exchange or ""))
        if case.said is not None and case.weight <= found.room:
            found.room -= case.weight
            found.cases.setdefault(each.key, []).append(case)
    if past.earliest is not None and found.first is None:
        sent_ns, key = past.earliest
        found.first = First(suspects[key], (sent_ns - past.began) / 1e9 if past.began else None)


def _is_first(finding: Finding, past: _Past) -> bool:
    return past.earliest is not None and finding.exchange == past.earliest[1]


def accused(groups: Iterable[FindingGroup]) -> frozenset[str]:
    """The keys of what broke the gate by itself; where nothing did, of all that was wrong with the candidate."""
    open_ = [group for group in groups if not group.waived and group.arm == "candidate"]
    breaking = frozenset(group.key for group in open_ if group.breaks_gate)
    return breaking or frozenset(group.key for group in open_ if group.certainty != "possible")


def _chosen(path: Path, groups: list[FindingGroup]) -> Iterator[Finding]:
    """A few findings of each group: measured ones before those of calibration, certain ones before others."""
    best: dict[str, list[Finding]] = {group.key: [group.example] for group in groups}
    for finding in _findings(path):
        if finding.key in best and finding.exchange != best[finding.key][0].exchange:
            best[finding.key] = sorted((*best[finding.key], finding), key=_telling)[:CASES]
    for found in best.values():
        yield from found


def _findings(path: Path) -> Iterator[Finding]:
    if not path.exists():
        return
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            with suppress(ValidationError):
                yield Finding.model_validate_json(line)


def _telling(finding: Finding) -> tuple[int, int]:
    return (
        _PHASES.index(finding.phase) if finding.phase in _PHASES else len(_PHASES),
        CERTAINTIES.index(finding.certainty),
    )


@dataclass(slots=True)
class _Past:
    """What one reading of the history gives: only what the chosen findings name is kept."""

    began: int = 0
    prompts: dict[str, Prompt] = field(default_factory=dict)
    known: dict[str, Exchange] = field(default_factory=dict)
    scored: dict[str, Scores] = field(default_factory=dict)
    elsewhere: dict[tuple[str, str], Exchange] = field(default_factory=dict)
    earliest: tuple[int, str] | None = None


def _first_pass(history: Path, chosen: Iterable[Finding], suspects: dict[str, Finding]) -> _Past:
    """The prompts and exchanges that the findings name, the other end's too, and what was scored of them."""
    past = _Past()
    keys = {finding.exchange for finding in chosen if finding.exchange}
    keys |= {pair for key in keys if (pair := pair_key(key))}
    victims = {finding.prompt for finding in chosen if finding.prompt}
    wanted = victims | {finding.donor.prompt for finding in chosen if finding.donor and finding.donor.prompt}

    def noting() -> Iterator[AnyRecord]:
        for record in read_history(history):
            if isinstance(record, Prompt) and record.id in wanted:
                past.prompts[record.id] = record
            elif isinstance(record, Scored) and record.key in keys:
                past.scored[record.key] = record.scores
            elif isinstance(record, Opened):
                past.began = record.at_ns
            yield record

    for exchange in exchanges(noting()):
        sent = exchange.sent
        if exchange.key in keys:
            past.known[exchange.key] = exchange
        if exchange.key in suspects and (past.earliest is None or sent.sent_ns < past.earliest[0]):
            past.earliest = (sent.sent_ns, exchange.key)
        if sent.prompt in victims:
            best = past.elsewhere.get((sent.arm, sent.prompt))
            if best is None or _worth(exchange) < _worth(best):
                past.elsewhere[sent.arm, sent.prompt] = exchange
    return past


def _worth(exchange: Exchange) -> tuple[int, int]:
    phase = exchange.sent.phase
    return (not exchange.ok, _PHASES.index(phase) if phase in _PHASES else len(_PHASES))


def _second_pass(history: Path, victims: list[Exchange]) -> dict[str, list[Bar]]:
    """For each victim the exchanges of its endpoint that were in flight with it, the nearest to its start first."""
    found: dict[str, list[Bar]] = {victim.key: [] for victim in victims}
    by_end: dict[tuple[str, str], list[Exchange]] = {}
    for victim in {victim.key: victim for victim in victims}.values():
        by_end.setdefault((victim.sent.arm, victim.sent.endpoint), []).append(victim)
    for exchange in exchanges(read_history(history)):
        for victim in by_end.get((exchange.sent.arm, exchange.sent.endpoint), ()):
            if _overlap(victim, exchange):
                found[victim.key].append(_bar(exchange))
    starts = {victim.key: victim.sent.sent_ns for victim in victims}
    return {key: _nearest(key, bars, starts[key]) for key, bars in found.items()}


def _nearest(key: str, bars: list[Bar], start: int) -> list[Bar]:
    bars.sort(key=lambda bar: (bar.key != key, abs(bar.sent_ns - start)))
    return sorted(bars[:BARS], key=lambda bar: bar.sent_ns)


def _overlap(one: Exchange, other: Exchange) -> bool:
    first, second = _bar(one), _bar(other)
    return first.sent_ns <= (second.end_ns or second.sent_ns) and second.sent_ns <= (first.end_ns or first.sent_ns)


def _bar(exchange: Exchange) -> Bar:
    received = exchange.received
    return Bar(
        key=exchange.key,
        prompt=exchange.sent.prompt,
        phase=exchange.sent.phase,
        outcome=received.outcome if received else "lost",
        sent_ns=exchange.sent.sent_ns,
        first_ns=received.first_ns if received else None,
        end_ns=received.end_ns if received else None,
    )


def pair_key(key: str) -> str:
    """The key of the other arm's exchange at the same place of the plan, or "" for a key of another shape."""
    other = {"candidate": "reference", "reference": "candidate"}
    parts = key.rsplit("/", 2)
    return f"{parts[0]}/{other[parts[1]]}/{parts[2]}" if len(parts) == 3 and parts[1] in other else ""


def _case(finding: Finding, past: _Past, bars: dict[str, list[Bar]]) -> Case:
    key = finding.exchange or ""
    pair = past.known.get(pair_key(key))
    if pair is None or key not in past.known or pair.sent.prompt != past.known[key].sent.prompt:
        other = "reference" if finding.arm == "candidate" else "candidate"
        pair = past.elsewhere.get((other, finding.prompt or ""))
    return Case(
        finding=finding,
        prompt=past.prompts.get(finding.prompt or ""),
        said=_side(past.known.get(key)),
        other=_side(pair),
        donor=past.prompts.get((finding.donor and finding.donor.prompt) or ""),
        bars=tuple(bars.get(key, ())),
    )


def _with_regrets(case: Case, scores: Scores | None) -> Case:
    if case.said is None or scores is None:
        return case
    regrets = tuple((score.token, score.regret) for score in scores.tokens[:TOKENS])
    return dataclasses.replace(case, said=dataclasses.replace(case.said, regrets=regrets))


def _side(exchange: Exchange | None) -> Side | None:
    received = exchange.received if exchange else None
    if exchange is None or received is None:
        return None
    return Side(
        text=clip(received.text),
        reasoning=clip(received.reasoning),
        calls=clip("\n".join(f"{call.name}({call.arguments})" for call in received.tool_calls)),
        outcome=received.outcome,
        finish_reason=received.finish_reason or "",
        where=f"{exchange.sent.phase}, concurrency {exchange.sent.concurrency}",
        margins=_margins(received.logprobs or ()),
    )


def _margins(tokens: Iterable[TokenLogprob]) -> tuple[tuple[str, float | None], ...]:
    return tuple((token.token, token.margin) for token, _ in zip(tokens, range(TOKENS), strict=False))


def clip(text: str) -> str:
    """The text, or its start and how much was left off."""
    return text if len(text) <= TEXT else f"{text[:TEXT]}... (+{len(text) - TEXT:,} characters)"
