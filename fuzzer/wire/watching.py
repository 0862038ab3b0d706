"""What a server's own counters show while preflight keeps it busy: are they alive, does it draft, how many run?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from fuzzer.history.records import Counters, Received
from fuzzer.summary import Check
from fuzzer.wire.probing import tokens

ENOUGH_TOKENS = 64  # generated before counters that stand still mean anything
ENOUGH_SAMPLES = 5
APART_SECONDS = 30.0  # that two clocks may be apart


def standing_still(
    end: str, before: Counters | None, after: Counters | None, replies: Sequence[Received], *, speculates: bool
) -> Iterator[Check]:
    """At most one check, a warning: counters that do not move while the server generates."""
    if before is None or after is None or sum(tokens(reply) for reply in replies) < ENOUGH_TOKENS:
        return
    produced, drafted = _moved(before.generated_tokens, after.generated_tokens), _moved(before.drafts, after.drafts)
    if drafted is None:
        drafted = _moved(before.draft_tokens, after.draft_tokens)
    if produced is False:
        yield Check(
            code="stale-counters",
            severity="warning",
            end=end,
            message="its metrics do not move while it answers: neither drafting nor the batch can be seen by them",
            change="let the address reach the very server that answers, not a gateway or another replica",
        )
    elif speculates and drafted is False and not any(reply.draft and reply.draft.drafted for reply in replies):
        yield Check(
            code="no-drafting",
            severity="warning",
            end=end,
            message="it says that it speculates, but it has not drafted one token for all of preflight's questions",
            change="see that the drafter is loaded, and that it drafts on short answers",
        )


def _moved(before: float | None, after: float | None) -> bool | None:
    return None if before is None or after is None else after != before


def limited(end: str, replies: Sequence[Received], width: int) -> Iterator[Check]:
    """At most one check, blocking: requests are refused by number (HTTP 429), with ``width`` of them at once at most.

    What a limit refuses on one side only would look like that server's failure.
    """
    refused = [reply for reply in replies if reply.rate_limited]
    if refused:
        yield Check(
            code="rate-limited",
            severity="blocking",
            end=end,
            message=f"{len(refused)} of {len(replies)} requests were refused with {width} at once: {refused[0].detail}",
            change="raise the limit, go round the gateway that sets it, or lower --concurrency",
        )


def clock_seconds(ahead: float | None, replies: Sequence[Received]) -> float | None:
    """How far a server's clock is ahead of ours, in seconds.

    ``ahead`` is what the Date of a page shows; without one, ``created`` of the replies does, to a second or two.
    """
    made = [reply.created - reply.end_ns / 1e9 for reply in replies if reply.created is not None]
    return ahead if ahead is not None else median(made) if made else None


def clock(end: str, ahead: float | None, replies: Sequence[Received]) -> Iterator[Check]:
    """At most one check, a warning: a clock that is far from ours."""
    apart = clock_seconds(ahead, replies)
    if apart is not None and abs(apart) > APART_SECONDS:
        how = "ahead of" if apart > 0 else "behind"
        yield Check(
            code="clock",
            severity="warning",
            end=end,
            message=f"its clock is {abs(apart):.0f} s {how} ours: times in its logs are not those of the history",
            change="set the clocks; if they are right, look for a gateway that answers from a cache",
        )


def narrow(end: str, samples: Sequence[Counters], width: int) -> Iterator[Check]:
    """At most one check: with ``width`` requests sent at once, some always waited while fewer ran, always as many.

    Blocking, for the batch can then never fill. A server that is only slow to admit requests shows varying numbers.
    """
    full = [sample.running for sample in samples if sample.waiting and sample.running]
    most = max((sample.running for sample in samples if sample.running is not None), default=0.0)
    if len(full) < ENOUGH_SAMPLES or min(full) < most or most >= width:
        return
    yield Check(
        code="slots",
        severity="blocking",
        end=end,
        message=f"it runs {most:.0f} at once and lets the others of {width} wait: no concurrency of {width} is reached",
        change="raise its batch limit (--max-num-seqs, --parallel), or lower --concurrency",
    )
