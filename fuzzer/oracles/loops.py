"""Repetition in a text: loops, one-token runs and doubled syllables. Linear in the length of the text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fuzzer.oracles.flaws import Flaw, Reply

_PROBE = 12  # characters that must come again within a period for a loop to be looked into
_STEP = _PROBE - 1  # from one probe to the next: the end of every unit, whatever its own pattern, lies inside a probe
_PERIOD = 600  # characters of the longest repeated unit
_RUN = 40  # characters of one repeated character, or of one or two
_DECORATION = frozenset("-=_*#~.|+: \t\r\n·•─━═│┃┌┐└┘├┤┬┴┼")  # rules and tables
_DECORATED = 400
_WORD = re.compile(r"[a-z0-9]{4,40}")
_DOUBLED = re.compile(r"(?=([a-z]{2,19}|[a-z0-9]{3,19})\1)")


def repetition(reply: Reply) -> Iterator[Flaw]:
    """The first loop: a unit that comes again and again without a break."""
    text = reply.text
    start = 0
    while start + _PROBE < len(text):
        period, length = _periodic(text, start)
        if period and _is_loop(text[start : start + period], length) and not _given(text, start, period, reply.prompt):
            run = period <= 2
            words = f"repeats {'a token' if run else f'{period} characters'} {length // period} times"
            yield Flaw("one-token-run" if run else "loop", "likely", start, min(length, 4 * period), words)
            return
        start += _STEP


def doubled_syllables(reply: Reply) -> Iterator[Flaw]:
    """A word or code of the prompt that came back with a piece of it twice, such as "harbourbour" or "QX7KX7K"."""
    known = set(_WORD.findall(reply.prompt.lower()))
    text = reply.text.lower()
    for word in sorted(set(_WORD.findall(text)) - known):
        for doubled in _DOUBLED.finditer(word):
            if word[: doubled.start()] + word[doubled.end(1) :] in known:
                yield Flaw(
                    "doubled-syllable", "likely", text.find(word), len(word), "doubles a piece of a word of the prompt"
                )
                return


def _periodic(text: str, start: int) -> tuple[int, int]:
    """The period with which the text goes on from ``start``, and for how many characters; (0, 0) if it does not."""
    again = text.find(text[start : start + _PROBE], start + 1, start + _PROBE + _PERIOD)
    if again < 0:
        return 0, 0
    period = again - start
    return period, period + _common(text, start, again)


def _common(text: str, left: int, right: int) -> int:
    """How many characters are the same from ``left`` and from ``right`` on."""
    low, size = 0, 64
    while right + low < len(text) and text[left + low : left + low + size] == text[right + low : right + low + size]:
        low, size = low + size, 2 * size
    high = min(low + size, len(text) - right)
    while low < high:
        middle = (low + high + 1) // 2
        if text[left + low : left + middle] == text[right + low : right + middle]:
            low = middle
        else:
            high = middle - 1
    return min(low, len(text) - right)


def _is_loop(unit: str, length: int) -> bool:
    if _DECORATION.issuperset(unit):
        return length >= _DECORATED
    if len(unit) <= 2:
        return length >= _RUN
    repeats = length / len(unit)
    return (repeats >= 4 and length >= 200) or (repeats >= 8 and length >= 80)


def _given(text: str, start: int, period: int, prompt: str) -> bool:
    """Whether the prompt holds such a loop itself."""
    return text[start : start + max(3 * period, _PROBE)] in prompt
