"""What a bug needs, in one sentence."""

from __future__ import annotations

from fuzzer.repro.cohort import Cohort


def sentence(cohort: Cohort, *, any_content: bool, window_ms: float | None) -> str:
    """For instance ``needs 5 neighbours, any content, all sent within 20 ms``."""
    others = cohort.size - 1
    if not others:
        return "needs no neighbours: the request alone fails"
    noun = "neighbour" if others == 1 else "neighbours"
    parts = [f"needs {others} {noun}", "any content" if any_content else "with the content given"]
    if cohort.width == 1:
        parts.append("one request at a time, in this order")
    else:
        parts.append(_timing(cohort, window_ms))
    if len(cohort.rounds) > 1 and cohort.width > 1:
        parts.append(f"in {len(cohort.rounds)} releases, each drained before the next")
    cancelled = sum(send.cancelled for send in cohort.sends)
    hot = sum(not send.overrides.greedy for send in cohort.sends)
    parts += [f"{cancelled} of them broken off"] if cancelled else []
    parts += [f"{hot} of them not greedy"] if hot else []
    padded = [
        send.overrides.pad for place, send in enumerate(cohort.sends) if send.overrides.pad and place != cohort.victim
    ]
    parts += [f"{len(padded)} of them with {min(padded):,} words or more before the question"] if padded else []
    return ", ".join(parts)


def _timing(cohort: Cohort, window_ms: float | None) -> str:
    if window_ms is not None:
        return f"all sent within {window_ms:g} ms"
    latest = max(send.at_ms for send in cohort.sends)
    follow = any(len(chain) > 1 for chain in cohort.chains)
    if not latest:
        return "all sent at one moment" + (", each slot's next when the last has ended" if follow else "")
    return f"sent at the times given, over {latest:.3g} ms"
