"""How much of a reply is ever held or parsed, and the failure that everything a server does wrong turns into."""

from __future__ import annotations

from dataclasses import dataclass

from fuzzer.history.records import Outcome

_CLIP = 300


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on one reply. Bytes are counted as they come over the wire; ``chunks`` counts events of a stream."""

    body_bytes: int = 16 * 2**20
    line_bytes: int = 2**20
    json_depth: int = 64
    chunks: int = 100_000


class BadReplyError(Exception):
    """Internal to the wire: a reply that cannot be used, with the outcome that is recorded for it."""

    def __init__(self, outcome: Outcome, detail: str) -> None:
        super().__init__(detail)
        self.outcome: Outcome = outcome
        self.detail = detail


def quoted(text: object) -> str:
    """A server's own words, made safe for one line of a report: repr'd and clipped to some 300 characters."""
    shown = repr(text if isinstance(text, str) else str(text))
    return shown if len(shown) <= _CLIP else f"{shown[:_CLIP]}..."
