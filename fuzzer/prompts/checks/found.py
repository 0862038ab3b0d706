"""What stands in a reply in place of the right answer: whose it is, as far as one can tell."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue
from rapidfuzz.distance import Levenshtein

from fuzzer.history.records import Prompt
from fuzzer.prompts import canary, names
from fuzzer.prompts.reply import Reply

MISCOPY = 3  # edits: two random codes are further apart than this 9,999 times in 10,000
SHORT = 25  # words: a longer reply without anything like an answer is no answer
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Found:
    """The outcome of an extraction. ``sub_kind`` tells wrong answers and missing ones apart, as in a Grade.

    ``guessed`` marks a "wrong" that rests on nothing extracted: any better explanation goes first.
    """

    value: Literal["right", "verbose", "wrong", "none"]
    sub_kind: str = ""
    note: str = ""
    guessed: bool = False

    @property
    def good(self) -> bool:
        """Whether the right answer was found."""
        return self.value in ("right", "verbose")


def right(alone: bool) -> Found:
    """The right answer, alone or amid other words."""
    return Found("right" if alone else "verbose")


def wrong(sub_kind: str, said: object, wanted: object) -> Found:
    """A wrong answer, with a line that says what was said."""
    return Found("wrong", sub_kind, f"said {_short(said)}, not {_short(wanted)}")


def missing(prompt: Prompt, reply: Reply) -> Found:
    """What stands where nothing of the right shape does: an earlier answer, strange content, a bad try, or nothing."""
    if earlier := earlier_answer(prompt, reply):
        return Found("wrong", "wrong-last-message", f"said an earlier turn's answer, {_short(earlier)}")
    if strange := foreign(prompt, reply):
        return Found("wrong", "another-question", f"speaks of {_short(strange)}, which this prompt does not")
    if reply.words <= SHORT and any(map(str.isalnum, reply.bare)):
        return Found("wrong", "wrong-value", f"said {_short(reply.bare.strip())}", guessed=True)
    return Found("none", "no-answer", f"nothing like an answer in {_short(reply.bare.strip())}")


def earlier_answer(prompt: Prompt, reply: Reply) -> str:
    """The answer of an earlier turn that the reply gives as its own, or ""."""
    said = fold(reply.bare)
    for decoy in decoys(prompt):
        if canary.occurs(fold(decoy), said):
            return decoy
    return ""


def foreign(prompt: Prompt, reply: Reply) -> str:
    """A name, code or mark in the reply that could only come from another prompt, or ""."""
    own = fold(prompt.text)
    for start, end in names.spans(reply.bare):
        if not _shares_a_part(reply.bare[start:end], own):
            return reply.bare[start:end]
    for pattern in (canary.CODE, canary.MARK):
        for match in pattern.finditer(reply.bare):
            if canary.deliberate(match[0]) and is_foreign(match[0], prompt):
                return match[0]
    return ""


def _shares_a_part(name: str, own: str) -> bool:
    """Whether a name is the prompt's own, or a miscopy that kept one of its two parts."""
    return any(part in own for part in fold(name).split())


def is_own(item: str, prompt: Prompt) -> bool:
    """Whether the prompt itself has this item, or one that it is a miscopy of."""
    return _shares_a_part(item, fold(prompt.text))


def is_foreign(token: str, prompt: Prompt) -> bool:
    """Whether a code or mark is neither the prompt's own nor a miscopy of one of its own."""
    return not any(_miscopied(token.casefold(), each.text.casefold()) for each in prompt.canaries)


def _miscopied(token: str, own: str) -> bool:
    kept_a_group = not set(token.split("-")).isdisjoint(own.split("-"))
    return kept_a_group or Levenshtein.distance(token, own, score_cutoff=MISCOPY) <= MISCOPY


def decoys(prompt: Prompt) -> list[str]:
    """The answers of the earlier turns."""
    return strings(prompt.spec.get("decoys"))


def strings(value: JsonValue) -> list[str]:
    """A spec's list as strings, [] for what is no list."""
    return [str(each) for each in value] if isinstance(value, list) else []


def fold(text: str) -> str:
    """The text in one case with single spaces."""
    return _SPACE.sub(" ", text).strip().casefold()


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else f"{shown[:77]}..."
