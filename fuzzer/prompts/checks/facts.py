"""Answers that are a fact that the prompt planted: a name, a code, or both."""

from __future__ import annotations

import re

from fuzzer.history.records import Prompt
from fuzzer.prompts import canary, names
from fuzzer.prompts.checks import listing, single
from fuzzer.prompts.checks.found import Found, decoys, earlier_answer, fold, foreign, is_own, missing, right, wrong
from fuzzer.prompts.reply import DENIED, Candidate, Reply, hedged, last_cue

_LOOK_BACK = 50  # characters before a name in which a sentence says what it is the name of
_RUNS_ON = re.compile(r"[ \t]{1,4}(?!Ticket|Session|Case)[A-Z][a-z]|[ \t]{0,4}/")


def fact(prompt: Prompt, reply: Reply) -> Found:
    """The answer is the fact in ``value``: a pair of a name and a code, a code, or a name."""
    value = prompt.spec["value"]
    check = listing.pair if isinstance(value, list) else single.code if canary.CODE.fullmatch(str(value)) else name
    found = check(prompt, reply)
    if not found.good and (earlier := earlier_answer(prompt, reply)):
        return wrong("wrong-last-message", earlier, value)
    if found.value != "none" and (strange := foreign(prompt, reply)):
        return wrong("another-question", strange, value)
    return found


def name(prompt: Prompt, reply: Reply) -> Found:
    """The answer is one name; other names of the prompt's may be told beside it."""
    value, body = fold(str(prompt.spec["value"])), reply.body
    said = [Candidate(fold(body[start:end]), start, end) for start, end in names.spans(body)]
    standing = [each for each in said if not DENIED.search(body[max(0, each.start - 40) : each.start])] or said
    if not standing:
        return missing(prompt, reply)
    chosen = _settled(standing, value, prompt, body)
    if chosen.text == value and not _RUNS_ON.match(body, chosen.end) and not hedged(chosen, said, body):
        return right(reply.only([(each.start, each.end) for each in said if each.text == value]))
    if chosen.text in map(fold, decoys(prompt)):
        return wrong("wrong-last-message", chosen.text, value)
    return wrong("wrong-value" if is_own(chosen.text, prompt) else "another-question", chosen.text, value)


def _settled(standing: list[Candidate], value: str, prompt: Prompt, body: str) -> Candidate:
    """The first name after an "answer" cue; else the first, if it is told to be what was asked for; else the last."""
    cue = last_cue(body)
    after = [each for each in standing if cue is not None and each.start >= cue]
    if after:
        return after[0]
    first = standing[0]
    before = body[max(0, first.start - _LOOK_BACK) : first.start]
    told = fold(str(prompt.spec.get("about", ""))) in fold(before) or not any(map(str.isalnum, body[: first.start]))
    return first if told and first.text == value else standing[-1]
