"""``reproduce.py`` for a bundle: the standalone script with the cohort inside."""

from __future__ import annotations

import importlib.resources
import json
from collections.abc import Callable
from typing import Any

from fuzzer.history.records import Received
from fuzzer.history.schedule import Send
from fuzzer.repro.bundle import Bundle, Tally
from fuzzer.repro.checks import Check, checks

_PLACE = "CASE: dict[str, Any] = {}  # filled in where this file is written for a bundle"
_LEAST, _MOST = 10, 200  # rounds that the script sends unless told otherwise


def reproduce(bundle: Bundle) -> str | None:
    """The script, or None where what was found cannot be told without specfuzz."""
    wanted = checks(bundle.cohort, bundle.finding, victim_reply(bundle))
    if not wanted:
        return None
    source = importlib.resources.files("fuzzer.repro").joinpath("standalone.py").read_text(encoding="utf-8")
    data = json.dumps(_case(bundle, wanted), ensure_ascii=True)
    return source.replace(_PLACE, f"CASE: dict[str, Any] = json.loads({data!r})")


def victim_reply(bundle: Bundle) -> Received | None:
    """The reply that was found to be wrong."""
    return next((item.received for item in bundle.seen if item.key == bundle.finding.exchange), None)


def rounds_wanted(bundle: Bundle) -> int:
    """So many rounds show the bug at least once with 95 %, at the lower end of the rate that was seen."""
    return min(_MOST, max(_LEAST, needed(bundle)))


def needed(bundle: Bundle) -> int:
    """So many replays without a failure rule out, at 95 %, the lower end of the rate that was seen."""
    from fuzzer.stats.planning import requests_needed

    return requests_needed(min(max(_share(bundle, _low), 1e-4), 0.95))


def expected(bundle: Bundle) -> float:
    """The share of replays, from 0 to 1, in which a judged request should fail, by what was recorded."""
    return _share(bundle, _estimate)


def _share(bundle: Bundle, of: Callable[[Tally], float]) -> float:
    if bundle.shrunk is not None:
        return of(bundle.shrunk.final)
    return 1.0 - (1.0 - of(bundle.rate)) ** len(bundle.cohort.judged)


def _low(tally: Tally) -> float:
    return tally.low


def _estimate(tally: Tally) -> float:
    return min(1.0, tally.k / tally.n) if tally.n else 0.0


def _case(bundle: Bundle, wanted: dict[int, Check]) -> dict[str, Any]:
    cohort = bundle.cohort
    places = iter(range(cohort.size))
    releases = [
        [[_request(bundle, next(places), send, wanted) for send in chain] for chain in release.chains]
        for release in cohort.releases
    ]
    model = bundle.bodies[0].get("model")
    needs = (
        bundle.shrunk.sentence if bundle.shrunk else f"{cohort.size} requests, up to {cohort.width} in flight at once"
    )
    return {
        "title": f"{bundle.finding.kind}: {bundle.key}",
        "needs": needs,
        "model": model if isinstance(model, str) else "",
        "times": rounds_wanted(bundle),
        "timeout": cohort.sampling.timeout,
        "releases": releases,
    }


def _request(bundle: Bundle, place: int, send: Send, wanted: dict[int, Check]) -> dict[str, Any]:
    request: dict[str, Any] = {"name": f"{place}-{send.prompt}", "body": bundle.bodies[place]}
    timing = {"at_ms": send.at_ms or None, "cancel_ms": send.cancel_ms, "cancel_tokens": send.cancel_tokens}
    request |= {name: value for name, value in timing.items() if value is not None}
    if send.cancelled:
        request["cancelled"] = True
    if place in wanted:
        request["check"] = wanted[place]
    return request
