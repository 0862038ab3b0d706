"""What the page shows of single findings: prompts, both answers, the donor, and who was in flight; from the history.

A run may hold a hundred thousand exchanges and answers of a megabyte: a few cases a finding group are shown, texts are
clipped, and the history is read line by line, twice.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from fuzzer.finding import Finding
from fuzzer.history.journal import exchanges, read_history
from fuzzer.history.records import AnyRecord, Exchange, Prompt, TokenLogprob
from fuzzer.history.scores import Scored, Scores
from fuzzer.manifest import FINDINGS, HISTORY
from fuzzer.report.sentences import ranked
from fuzzer.summary import FindingGroup, Summary

GROUPS = 40  # finding groups with cases of their own
CASES = 3  # cases a group
BARS = 48  # exchanges in a timeline, the victim's own included
TEXT = 6_000  # characters of a prompt or an answer
TOKENS = 400  # tokens of a margin strip


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
    margins: tuple[tuple[str, float | None], ...]
    regrets: tuple[tuple[str, float | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """One finding with all that the page tells of it; what the history does not hold is None or empty."""

    finding: Finding
    prompt: Prompt | None
    said: Side | None
    other: Side | None
    donor: Prompt | None
    bars: tuple[Bar, ...]


def cases(directory: Path, summary: Summary) -> dict[str, list[Case]]:
    """The cases to show, by the key of their group; empty where texts are not to be shown, or nothing is left."""
    history = directory / HISTORY
    if summary.redacted or not history.exists():
        return {}
    chosen = list(_chosen(directory / FINDINGS, ranked(summary.findings)[:GROUPS]))
    if not chosen:
        return {}
    prompts, known, scored = _first_pass(history, chosen)
    bars = _second_pass(history, [known[key] for finding in chosen if (key := finding.exchange or "") in known])
    shown: dict[str, list[Case]] = {}
    for finding in chosen:
        case = _case(finding, prompts, known, bars)
        shown.setdefault(finding.key, []).append(_with_regrets(case, scored.get(finding.exchange or "")))
    return shown


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
    phases = ("measure", "calibration", "filler")
    return (
        phases.index(finding.phase) if finding.phase in phases else len(phases),
        ("certain", "likely", "possible").index(finding.certainty),
    )


def _first_pass(
    history: Path, chosen: Iterable[Finding]
) -> tuple[dict[str, Prompt], dict[str, Exchange], dict[str, Scores]]:
    """The prompts and exchanges that the findings name, their pairs' too, and what was scored of them."""
    keys = {finding.exchange for finding in chosen if finding.exchange}
    keys |= {pair for key in keys if (pair := pair_key(key))}
    wanted = {name for finding in chosen for name in (finding.prompt, finding.donor and finding.donor.prompt) if name}
    records = read_history(history)
    prompts: dict[str, Prompt] = {}
    scored: dict[str, Scores] = {}

    def noting() -> Iterator[AnyRecord]:
        for record in records:
            if isinstance(record, Prompt) and record.id in wanted:
                prompts[record.id] = record
            elif isinstance(record, Scored) and record.key in keys:
                scored[record.key] = record.scores
            yield record

    known = {exchange.key: exchange for exchange in exchanges(noting()) if exchange.key in keys}
    return prompts, known, scored


def _second_pass(history: Path, victims: list[Exchange]) -> dict[str, list[Bar]]:
    """For each victim the exchanges of its endpoint that were in flight with it, the nearest to its start first."""
    found: dict[str, list[Bar]] = {victim.key: [] for victim in victims}
    by_end: dict[tuple[str, str], list[Exchange]] = {}
    for victim in victims:
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


def _case(finding: Finding, prompts: dict[str, Prompt], known: dict[str, Exchange], bars: dict[str, list[Bar]]) -> Case:
    key = finding.exchange or ""
    pair = known.get(pair_key(key))
    same = pair is not None and key in known and pair.sent.prompt == known[key].sent.prompt
    return Case(
        finding=finding,
        prompt=prompts.get(finding.prompt or ""),
        said=_side(known.get(key)),
        other=_side(pair) if same else None,
        donor=prompts.get((finding.donor and finding.donor.prompt) or ""),
        bars=tuple(bars.get(key, ())),
    )


def _with_regrets(case: Case, scores: Scores | None) -> Case:
    if case.said is None or scores is None:
        return case
    regrets = tuple((score.token, score.regret) for score in scores.tokens[:TOKENS])
    return dataclasses.replace(case, said=dataclasses.replace(case.said, regrets=regrets))


def _side(exchange: Exchange | None) -> Side | None:
    received = exchange.received if exchange else None
    if received is None:
        return None
    return Side(
        text=clip(received.text),
        reasoning=clip(received.reasoning),
        calls=clip("\n".join(f"{call.name}({call.arguments})" for call in received.tool_calls)),
        outcome=received.outcome,
        finish_reason=received.finish_reason or "",
        margins=_margins(received.logprobs or ()),
    )


def _margins(tokens: Iterable[TokenLogprob]) -> tuple[tuple[str, float | None], ...]:
    return tuple((token.token, token.margin) for token, _ in zip(tokens, range(TOKENS), strict=False))


def clip(text: str) -> str:
    """The text, or its start and how much was left off."""
    return text if len(text) <= TEXT else f"{text[:TEXT]}... (+{len(text) - TEXT:,} characters)"
