"""Answers of several opaque codes in order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fuzzer.history.records import Prompt
from fuzzer.prompts import canary
from fuzzer.prompts.checks.found import Found, decoys, fold, foreign, is_foreign, missing, right, strings, wrong
from fuzzer.prompts.checks.runs import Run, final_run, runs
from fuzzer.prompts.reply import ALTERNATIVE, DENIED, Candidate, Reply, hedged, last_cue

_LIKE_A_CODE = re.compile(
    r"(?<![^\W_])(?<![^\W_]-)(?:[A-Z0-9]{2,6}-[A-Z0-9]{2,6}|[A-Z0-9]{4,10})(?![^\W_]|-[^\W_])", re.IGNORECASE
)
_LOOK_BACK = 40  # characters before a code in which it may be dismissed


def codes_in_order(prompt: Prompt, reply: Reply) -> Found:
    """The answer is some codes in the given order, as a list or one by one in sentences; a miscopied one counts too."""
    value, body = strings(prompt.spec["value"]), reply.body
    said = list(_like_codes(value, body))
    found = runs(said, body)
    chosen = one_by_one(value, said, body) or final_run(found, len(value), body)
    if chosen is None:
        return missing(prompt, reply)
    if chosen.texts == value and not _hedged(chosen, found, body):
        if strange := foreign(prompt, reply):
            return wrong("another-question", f"{chosen.whole.text} and {strange}", ", ".join(value))
        return right(reply.only([(each.start, each.end) for each in said if each.text in value]))
    return wrong(_kind(chosen, prompt), chosen.whole.text, ", ".join(value))


def _like_codes(value: list[str], body: str) -> Iterator[Candidate]:
    """Codes in upper case, with those that lost a symbol or their hyphen, and halves of right ones."""
    found = list(_LIKE_A_CODE.finditer(body))
    small = any(match[0].islower() and match[0].upper() in value for match in found)
    halves = {half for code in value for half in code.split("-")}
    for match in found:
        text = match[0]
        broken = len(text) >= 6 and any(map(str.isdigit, text)) and any(map(str.isalpha, text))
        hyphened = small or canary.deliberate(text) or text.upper() in value
        if hyphened if "-" in text else broken or text in halves:
            yield Candidate(text.upper(), *match.span())


def one_by_one(value: list[str], said: Sequence[Candidate], body: str) -> Run | None:
    """What was said after the last cue (or at all), if it is right and in order, once or several times over."""
    cue = last_cue(body) or 0
    final = [each for each in said if each.start >= cue] or list(said)
    size = len(value)
    if not final or len(final) % size or any(each.text != value[place % size] for place, each in enumerate(final)):
        return None
    if any(DENIED.search(body[max(0, each.start - _LOOK_BACK) : each.start]) for each in final):
        return None
    return Run(tuple(final[-size:]))


def _hedged(chosen: Run, found: Sequence[Run], body: str) -> bool:
    wholes = [each.whole for each in found]
    return any(each.start == chosen.whole.start for each in wholes) and hedged(chosen.whole, wholes, body, ALTERNATIVE)


def _kind(chosen: Run, prompt: Prompt) -> str:
    if fold(chosen.whole.text) in map(fold, decoys(prompt)):
        return "wrong-last-message"
    strange = [each for each in chosen.texts if is_foreign(each, prompt)]
    return "another-question" if 2 * len(strange) >= len(chosen.items) else "wrong-value"
