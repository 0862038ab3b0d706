"""From a recorded run to a cohort: the victim, its donor, everyone in flight with it, and what went before on its slot.

A steady load becomes one release with the recorded times, each slot a chain; a schedule of barriers keeps its releases,
the victim's and those before it, since state that outlives a release is what such schedules look for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fuzzer.finding import Finding
from fuzzer.history.records import Arm, Exchange, Prompt, Received
from fuzzer.history.schedule import Release, Scheduled, Send
from fuzzer.plan import Sampling
from fuzzer.repro.cohort import Cohort, as_victim

MOST = 64  # requests of a slice; what is furthest from the victim is left out
_HAND_OVER_NS = 2_000_000  # a request that is sent so soon after another's end took its slot
_TEXT = 16_384  # characters of a reply that are kept
_TOKENS = 512  # token ids and log-probabilities of a reply that are kept
_JUDGED_PHASES = ("measure", "calibration")

Place = tuple[int, str]  # in the stage, and the prompt


@dataclass(slots=True)
class StageLog:
    """One recorded stage: its schedule and its exchanges by key."""

    scheduled: Scheduled | None = None
    exchanges: dict[str, Exchange] = field(default_factory=dict)

    @property
    def by_place(self) -> dict[Place, Exchange]:
        """The exchanges by their place in the stage."""
        return {(item.sent.index, item.sent.prompt): item for item in self.exchanges.values()}


@dataclass(frozen=True, slots=True)
class Slice:
    """A cohort, and the recorded exchanges that it stands for: the victim's arm first, then the other."""

    cohort: Cohort
    seen: tuple[Exchange, ...]
    notes: tuple[str, ...] = ()


def stage_of(key: str) -> str:
    """The key of the stage that an exchange belongs to."""
    return key.rpartition("/")[0]


def other_arm(stage: str, arm: Arm) -> str:
    """The key of the same stage on the other arm."""
    return f"{stage.removesuffix(arm)}{'reference' if arm == 'candidate' else 'candidate'}"


def cut(
    finding: Finding, log: StageLog, pair: StageLog, prompts: Mapping[str, Prompt], sampling: Sampling
) -> Slice | None:
    """The slice around a finding's exchange; None where it cannot be sent again (a filler that nobody scheduled)."""
    victim = log.exchanges.get(finding.exchange or "")
    if victim is None or victim.done is None:
        return None
    planned = _planned(log.scheduled)
    parts = (
        _barriers(victim, log) if log.scheduled and _drains(victim, log.scheduled) else _steady(victim, finding, log)
    )
    notes = []
    if sum(map(_count, parts)) > MOST:
        parts = _nearest(parts, victim)
        notes.append(f"only the {MOST} requests nearest to the victim are kept")
    donor = finding.donor.prompt if finding.donor else None
    members = [exchange for part in parts for chain in part for exchange in chain]
    releases = [_release(part, victim, planned) for part in parts]
    asked = list(dict.fromkeys(exchange.sent.prompt for exchange in members))
    before = [] if donor is None or donor in asked or donor not in prompts else [donor]
    if before:
        notes.append(f"{donor} was answered earlier in the run; here it is sent before the others")
        releases.insert(0, Release(width=1, chains=((Send(prompt=before[0]),),)))
    partners = pair.by_place
    right = [
        _right(partners.get((item.sent.index, item.sent.prompt)), whole=item.key == victim.key) for item in members
    ]
    sends = [send for release in releases for send in release.sends]
    places = {item.key: place for place, item in enumerate(members, len(before))}
    judged = [
        place for key, place in places.items() if _is_judged(log.exchanges[key]) and sends[place].role == "victim"
    ]
    at = places[victim.key]
    if sends[at].role != "victim":
        return None
    cohort = Cohort(
        releases=tuple(releases),
        prompts=tuple(prompts[name] for name in dict.fromkeys((*before, *asked))),
        victim=at,
        judged=tuple(sorted({at, *judged})),
        right=(*([None] * len(before)), *right),
        sampling=sampling,
        logprobs=victim.sent.logprobs and victim.sent.overrides.logprobs is None,
    )
    others = [partners[place] for item in members if (place := (item.sent.index, item.sent.prompt)) in partners]
    whole = {victim.sent.index} | {
        item.sent.index for item in members if finding.donor and item.key == finding.donor.exchange
    }
    seen = (trimmed(item, whole=item.sent.index in whole) for item in (*members, *others))
    return Slice(cohort, tuple(seen), tuple(notes))


def _count(part: Sequence[Sequence[Exchange]]) -> int:
    return sum(map(len, part))


def _is_judged(exchange: Exchange) -> bool:
    return exchange.sent.phase in _JUDGED_PHASES


def _planned(scheduled: Scheduled | None) -> list[Send]:
    return [send for release in scheduled.releases for send in release.sends] if scheduled else []


def _drains(victim: Exchange, scheduled: Scheduled) -> bool:
    """Whether the victim's release is a barrier."""
    return victim.sent.round is not None and any(not release.keep_full for release in scheduled.releases)


def _barriers(victim: Exchange, log: StageLog) -> list[list[list[Exchange]]]:
    """The victim's release and those before it, chain by chain."""
    parts: list[list[list[Exchange]]] = []
    index = 0
    by_index = {item.sent.index: item for item in log.exchanges.values()}
    for number, release in enumerate(log.scheduled.releases if log.scheduled else ()):
        chains: list[list[Exchange]] = []
        for chain in release.chains:
            members = [by_index[place] for place in range(index, index + len(chain)) if place in by_index]
            index += len(chain)
            if members:
                chains.append(members)
        if chains:
            parts.append(chains)
        if number == victim.sent.round:
            break
    return parts


def _steady(victim: Exchange, finding: Finding, log: StageLog) -> list[list[list[Exchange]]]:
    """Everyone in flight with the victim, what their slots sent before in the same chain, and the donor."""
    start, end = victim.sent.sent_ns, _end(victim)
    members = {key: item for key, item in log.exchanges.items() if item.sent.sent_ns <= end and _end(item) >= start}
    members[victim.key] = victim  # an old history may say that it ended before it was sent
    donor = finding.donor.exchange if finding.donor else None
    if donor is not None and donor in log.exchanges:
        members[donor] = log.exchanges[donor]
    pending = list(members.values())
    while pending:
        before = log.exchanges.get(pending.pop().sent.after)
        if before is not None and before.key not in members:
            members[before.key] = before
            pending.append(before)
    return [_slots(sorted(members.values(), key=lambda item: item.sent.sent_ns))]


def _slots(members: Iterable[Exchange]) -> list[list[Exchange]]:
    """Chains of requests that followed one another on a slot, as far as the record tells."""
    chains: list[list[Exchange]] = []
    for item in members:
        chain = next((chain for chain in chains if chain[-1].key == item.sent.after), None)
        if chain is None and not item.sent.after:
            gaps = [(item.sent.sent_ns - _end(chain[-1]), chain) for chain in chains]
            free = [(gap, place) for place, (gap, _) in enumerate(gaps) if 0 <= gap <= _HAND_OVER_NS]
            chain = gaps[min(free)[1]][1] if free else None
        if chain is None:
            chains.append([item])
        else:
            chain.append(item)
    return chains


def _nearest(parts: list[list[list[Exchange]]], victim: Exchange) -> list[list[list[Exchange]]]:
    """As many as may be kept: whole releases, the latest first, and of a single one the chains nearest in time."""
    kept: list[list[list[Exchange]]] = []
    for part in reversed(parts):
        room = MOST - sum(map(_count, kept))
        if _count(part) <= room:
            kept.insert(0, part)
            continue
        if kept:
            break
        chains: list[list[Exchange]] = []
        for chain in sorted(part, key=lambda chain: _distance(chain, victim)):
            if len(chain) <= room:
                chains.append(chain)
                room -= len(chain)
        kept.append(sorted(chains, key=lambda chain: chain[0].sent.sent_ns))
    return kept


def _distance(chain: Sequence[Exchange], victim: Exchange) -> int:
    if any(item.key == victim.key for item in chain):
        return -1
    return min(abs(item.sent.sent_ns - victim.sent.sent_ns) for item in chain)


def _release(part: Sequence[Sequence[Exchange]], victim: Exchange, planned: Sequence[Send]) -> Release:
    barrier = victim.sent.round is not None
    first = min(chain[0].sent.sent_ns for chain in part)
    made = []
    for chain in part:
        at_ms = (chain[0].sent.sent_ns - first) / 1e6
        head = _send(chain[0], victim, planned, at_ms=None if barrier else at_ms)
        made.append((head, *(_send(item, victim, planned) for item in chain[1:])))
    if not any(send.role == "victim" for chain in made for send in chain):
        made = [tuple(map(as_victim, chain)) for chain in made]
    return Release(width=len(made), chains=tuple(made))


def _send(item: Exchange, victim: Exchange, planned: Sequence[Send], at_ms: float | None = None) -> Send:
    sent = item.sent
    known = (
        planned[sent.index] if 0 <= sent.index < len(planned) and planned[sent.index].prompt == sent.prompt else None
    )
    send = known or Send(prompt=sent.prompt, role="neighbour", overrides=sent.overrides, turn=sent.turn, tag=sent.tag)
    if at_ms is not None:
        send = send.model_copy(update={"at_ms": round(max(0.0, at_ms), 3)})
    return as_victim(send) if item.key == victim.key else send


def _end(item: Exchange) -> int:
    return item.done.received.end_ns if item.done is not None else item.sent.sent_ns


def _right(exchange: Exchange | None, *, whole: bool) -> Received | None:
    return trimmed(exchange, whole=whole).received if exchange is not None and exchange.ok else None


def trimmed(exchange: Exchange, *, whole: bool) -> Exchange:
    """The exchange with its texts cut to what a report needs; tokens and log-probabilities only where ``whole``."""
    if exchange.done is None:
        return exchange
    got = exchange.done.received
    cut_short = {
        "text": got.text[:_TEXT],
        "reasoning": got.reasoning[:_TEXT],
        "tool_arguments": got.tool_arguments[:_TEXT],
        "raw": got.raw[:2048],
        "token_ids": got.token_ids[:_TOKENS] if whole and got.token_ids is not None else None,
        "logprobs": got.logprobs[:_TOKENS] if whole and got.logprobs is not None else None,
    }
    done = exchange.done.model_copy(update={"received": got.model_copy(update=cut_short)})
    return exchange.model_copy(update={"done": done})
