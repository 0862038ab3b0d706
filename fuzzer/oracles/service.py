"""Service faults: requests that got no usable reply, and protocol faults of those that did.

A fault that the paired request was spared is certain; where there is no pair, or both failed, it is likely. An exchange
lost to a crash of this program, or broken off by a schedule, is no fault of the server's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from fuzzer.finding import Certainty, Finding, dedupe_key
from fuzzer.history.records import Arm, Exchange, Outcome, Received, Stage
from fuzzer.oracles.build import excerpt, finding, label, quote
from fuzzer.oracles.context import Batch, Context

LEAK = "still-running"  # of the service faults, the one that is certain by itself
_HANGS: tuple[Outcome, ...] = ("timeout-read", "timeout-total")
_LEFT: tuple[Outcome, ...] = (*_HANGS, "cancelled", "disconnect", "truncated-stream", "too-large")


def judge(batch: Batch, context: Context) -> Iterator[Finding]:
    """A finding for every exchange without a usable reply, and one for every protocol fault of the others."""
    for exchange in batch:
        received = exchange.received
        if received is None:
            continue
        pair = context.pair(exchange)
        if received.outcome != "ok" and not _expected(exchange, received, pair):
            yield _failed(exchange, received, pair)
        for anomaly in dict.fromkeys(received.anomalies):
            yield _anomaly(exchange, received, anomaly, pair)


def _expected(exchange: Exchange, received: Received, pair: Exchange | None) -> bool:
    """What a schedule does itself, or what an engine says to a neighbour that asks for what it does not offer."""
    refused = exchange.sent.phase == "neighbour" and received.outcome == "refused"
    return received.outcome == "cancelled" or (refused and not (pair is not None and pair.ok))


def still_running(stages: Mapping[Arm, Stage], batch: Batch) -> Iterator[Finding]:
    """Servers that go on running what their clients have broken off, or have got the end of.

    Certain where the other arm, sent the same, runs nothing any more, and where no more run on than were left without
    their end: what else runs may be somebody else's. An engine that only counts while it works must have worked since.
    """
    for arm, stage in stages.items():
        count = stage.deviations.still_running
        if not count:
            continue
        where = label(arm, stage.endpoint)
        others = [other for name, other in stages.items() if name != arm]
        spared = bool(others) and not any(other.deviations.still_running for other in others)
        left = _may_run_on(arm, stage, batch)
        yield Finding(
            key=dedupe_key("service", LEAK, where),
            kind="service",
            sub_kind=LEAK,
            certainty="certain" if spared and left else "likely",
            arm=arm,
            endpoint=stage.endpoint,
            cell=stage.cell,
            phase=stage.phase,
            exchange=None,
            prompt=None,
            summary=f"{where}: {count} requests still run two seconds after the last one was over or broken off",
            evidence={"still_running": count, "cancelled": stage.deviations.cancelled},
        )


def unended(exchange: Exchange) -> bool:
    """Whether a request may still run at its server, although nobody waits for it."""
    return exchange.received is None or exchange.received.outcome in _LEFT


def _may_run_on(arm: Arm, stage: Stage, batch: Batch) -> bool:
    """Whether what runs after a stage can be what the stage has left behind, and nothing else."""
    own = [exchange for exchange in batch if exchange.sent.arm == arm]
    left = [exchange for exchange in own if unended(exchange)]
    before = int(stage.before.running or 0) if stage.before is not None else 0
    worked = max((item.received.end_ns for item in own if item.received is not None and item.ok), default=0)
    broken = [
        item.received.end_ns for item in left if item.received is not None and item.received.outcome not in _HANGS
    ]
    return 0 < stage.deviations.still_running - before <= len(left) and worked > max(broken, default=0)


def _failed(exchange: Exchange, received: Received, pair: Exchange | None) -> Finding:
    hang = received.outcome in _HANGS
    certainty: Certainty = "certain" if pair is not None and pair.ok else "likely"
    seconds = (received.end_ns - exchange.sent.sent_ns) / 1e9
    status = f", HTTP {received.http_status}" if received.http_status is not None else ""
    detail = f": {quote(received.detail)}" if received.detail else ""
    return finding(
        exchange,
        "service",
        "hang" if hang else received.outcome,
        certainty,
        f"{label(exchange.sent.arm, exchange.sent.endpoint)}: {exchange.sent.prompt} got no usable reply: "
        f"{received.outcome}{status} after {seconds:.1f} s{detail}",
        detail=received.outcome if hang else "",
        evidence={
            **_evidence(exchange, received, pair),
            "outcome": received.outcome,
            "detail": excerpt(received.detail),
            "raw": excerpt(received.raw),
            "seconds": round(seconds, 3),
        },
    )


def _anomaly(exchange: Exchange, received: Received, anomaly: str, pair: Exchange | None) -> Finding:
    spared = pair is not None and pair.ok and pair.received is not None and anomaly not in pair.received.anomalies
    return finding(
        exchange,
        "service",
        anomaly,
        "certain" if spared else "likely",
        f"{label(exchange.sent.arm, exchange.sent.endpoint)}: protocol fault in the reply to "
        f"{exchange.sent.prompt}: {quote(anomaly)}",
        evidence=_evidence(exchange, received, pair),
    )


def _evidence(exchange: Exchange, received: Received, pair: Exchange | None) -> dict[str, JsonValue]:
    return {
        "http_status": received.http_status,
        "in_flight": exchange.sent.in_flight,
        "before_first_token": received.first_ns is None,
        "request_id": excerpt(received.request_id or ""),
        "pair": pair.received.outcome if pair is not None and pair.received is not None else None,
    }
