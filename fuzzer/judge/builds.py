"""What a server calls itself in its replies: whoever changes that in mid-run is another server than the one measured.

vLLM's ``system_fingerprint`` holds version and configuration, llama.cpp's its build; other engines give the model only.
"""

from __future__ import annotations

from fuzzer.history.records import Arm, Exchange, Stage

End = tuple[Arm, str]


class Builds:
    """The first model, fingerprint and version of each endpoint, and what has changed since it was last asked for."""

    def __init__(self) -> None:
        self._first: dict[tuple[End, str], str] = {}
        self._changed: dict[End, str] = {}

    def reply(self, exchange: Exchange) -> None:
        """Look at one reply; those that earlier runs got tell nothing of this one's server."""
        received = exchange.received
        if received is None or received.outcome != "ok" or exchange.sent.recalled:
            return
        end = (exchange.sent.arm, exchange.sent.endpoint)
        self._look(end, "model", received.model)
        self._look(end, "system_fingerprint", received.fingerprint)

    def stage(self, stage: Stage) -> None:
        """Look at what the server said of itself at a stage's end."""
        self._look((stage.arm, stage.endpoint), "version", stage.version)

    def take_change(self, end: End) -> str:
        """What has changed at this end since the last call, in words; "" for nothing."""
        return self._changed.pop(end, "")

    def _look(self, end: End, name: str, told: str | None) -> None:
        if told is None:
            return
        first = self._first.setdefault((end, name), told)
        if told != first:
            self._first[end, name] = told
            self._changed.setdefault(end, f"{name} was {first!r} and became {told!r}")
