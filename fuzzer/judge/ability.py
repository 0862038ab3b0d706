"""What the model under test can do, by kind of prompt: the hardest form of a family that it passes reliably is asked.

A form that it cannot do is not asked for ever, and an easier form is left out once a harder one is shown to be
reliable: a hard prompt has more tokens at which a fault can show.
"""

from __future__ import annotations

from fuzzer.history.records import Level, Prompt
from fuzzer.prompts.corpora import PREFIX as CORPUS

TRIES = 3  # without one right answer
CORPUS_TRIES = 24  # the same for a corpus: its rows are not of one kind
LATE_TRIES = 8
LATE_SHARE = 0.25
RELIABLE = 0.9  # of LATE_TRIES or more
UNSURE = 0.7  # below that a form is left out where an easier one is reliable

LEVELS: tuple[Level, ...] = ("easy", "medium", "hard")


class Ability:
    """Right answers of the calibrating arm, one at a time, by family and level."""

    def __init__(self, counts: dict[tuple[str, str], tuple[int, int]] | None = None) -> None:
        self._counts = dict(counts or {})

    def copy(self) -> Ability:
        """A copy that may learn on its own."""
        return Ability(self._counts)

    def add(self, prompt: Prompt, *, right: bool) -> None:
        """One more answer."""
        tried, hits = self.counts(prompt.family, prompt.level)
        self._counts[prompt.family, prompt.level] = (tried + 1, hits + right)

    def counts(self, family: str, level: str) -> tuple[int, int]:
        """How often a form was tried alone, and how often it came out right."""
        return self._counts.get((family, level), (0, 0))

    def left_out(self, family: str, level: str) -> str:
        """Why a form is no longer asked for, with its counts; "" while it is."""
        tried, hits = self.counts(family, level)
        if self._too_hard(family, level):
            return f"too hard: {hits} of {tried} right alone"
        if family.startswith(CORPUS) or level not in LEVELS:
            return ""
        at = LEVELS.index(level)
        if harder := next((other for other in LEVELS[at + 1 :] if self._reliable(family, other)), None):
            return f"not needed: {harder} is reliable"
        if tried >= LATE_TRIES and hits < UNSURE * tried and any(self._reliable(family, o) for o in LEVELS[:at]):
            return f"unreliable: {hits} of {tried} right alone"
        return ""

    def hopeless(self, prompt: Prompt) -> bool:
        """Whether its kind has shown to be too hard: none of 3 right, or under a quarter of 8 or more."""
        return self._too_hard(prompt.family, prompt.level)

    def unwanted(self, prompt: Prompt) -> bool:
        """Whether the prompt is of a form that is left out."""
        return self.left_out(prompt.family, prompt.level) != ""

    def unproven(self, prompt: Prompt) -> bool:
        """Whether no prompt of its kind came out right yet, though others did: no kind for mere filler."""
        _, hits = self.counts(prompt.family, prompt.level)
        return hits == 0 and any(right for _, right in self._counts.values())

    def _reliable(self, family: str, level: str) -> bool:
        tried, hits = self.counts(family, level)
        return tried >= LATE_TRIES and hits >= RELIABLE * tried

    def _too_hard(self, family: str, level: str) -> bool:
        tried, hits = self.counts(family, level)
        if family.startswith(CORPUS):
            return hits == 0 and tried >= CORPUS_TRIES
        return (hits == 0 and tried >= TRIES) or (tried >= LATE_TRIES and hits < LATE_SHARE * tried)
