"""What the model under test can do, by kind of prompt: kinds that it cannot do are not asked for ever."""

from __future__ import annotations

from fuzzer.history.records import Prompt

TRIES = 3  # without one right answer
LATE_TRIES = 8
LATE_SHARE = 0.25


class Ability:
    """Right answers of the calibrating arm, one at a time, by family and level."""

    def __init__(self, counts: dict[tuple[str, str], tuple[int, int]] | None = None) -> None:
        self._counts = dict(counts or {})

    def copy(self) -> Ability:
        """A copy that may learn on its own."""
        return Ability(self._counts)

    def add(self, prompt: Prompt, *, right: bool) -> None:
        """One more answer."""
        tried, hits = self._counts.get((prompt.family, prompt.level), (0, 0))
        self._counts[prompt.family, prompt.level] = (tried + 1, hits + right)

    def hopeless(self, prompt: Prompt) -> bool:
        """Whether its kind has shown to be too hard: none of 3 right, or under a quarter of 8 or more."""
        tried, hits = self._counts.get((prompt.family, prompt.level), (0, 0))
        return (hits == 0 and tried >= TRIES) or (tried >= LATE_TRIES and hits < LATE_SHARE * tried)

    def unproven(self, prompt: Prompt) -> bool:
        """Whether no prompt of its kind came out right yet, though others did: no kind for mere filler."""
        _, hits = self._counts.get((prompt.family, prompt.level), (0, 0))
        return hits == 0 and any(right for _, right in self._counts.values())
