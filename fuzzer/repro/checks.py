"""What ``reproduce.py`` can tell without specfuzz: whose text a reply holds, and whether it holds the right answer.

A check is kept only if it condemns the reply that was found and acquits the reference's; where none does, the script
compares with the reference's reply word by word.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fuzzer.finding import Finding
from fuzzer.history.records import Prompt, Received
from fuzzer.oracles.content import MIN_LENGTH, holds, words_of
from fuzzer.repro.cohort import Cohort
from fuzzer.repro.standalone import verdict

Check = dict[str, Any]

MARKS = ("<|im_end|>", "<|im_start|>", "<|endoftext|>", "<|eot_id|>", "</s>", "<think>", "</think>", "<tool_call>")
_SPANS = 64  # foreign texts that are looked for


def checks(cohort: Cohort, finding: Finding, found: Received | None) -> dict[int, Check]:
    """A check for each judged request, by its place; none where nothing can be decided without specfuzz."""
    made = {place: check for place in cohort.judged if (check := _check(cohort, finding, place, found)) is not None}
    return made if cohort.victim in made else {}


def said(received: Received) -> dict[str, str]:
    """A reply as the script sees it."""
    parts = [received.reasoning, received.text]
    parts += [text for call in received.tool_calls for text in (call.name, call.arguments)]
    return {"text": "".join(parts), "error": "" if received.outcome == "ok" else received.detail or received.outcome}


def _check(cohort: Cohort, finding: Finding, place: int, found: Received | None) -> Check | None:
    right = cohort.right[place]
    for check in _possible(cohort, finding, place):
        if right is not None and verdict(check, said(right)):
            continue
        if place == cohort.victim and found is not None and not verdict(check, said(found)):
            continue
        return check
    return None


def _possible(cohort: Cohort, finding: Finding, place: int) -> Iterator[Check]:
    """The checks that fit the kind of finding, the most telling first."""
    prompt = cohort.asked[cohort.sends[place].prompt]
    right = cohort.right[place]
    answers = [text for text in (prompt.answer, right.text if right is not None else "") if words_of(text)]
    if finding.kind == "service":
        yield {"service": True}
        return
    if finding.kind == "bleed":
        if spans := list(_foreign(cohort, prompt))[:_SPANS]:
            yield {"foreign": spans}
        if finding.donor is not None and not holds(prompt.text, " ".join(words_of(finding.donor.span))):
            yield {"foreign": [finding.donor.span]}
    if finding.kind == "corruption":
        yield {"marks": [mark for mark in MARKS if mark not in prompt.text]}
    if prompt.checkable and answers and not prompt.wants.tools:
        yield {"answers": answers}
    if right is not None:
        yield {"same": said(right)["text"]}


def _foreign(cohort: Cohort, prompt: Prompt) -> Iterator[str]:
    """Texts that stand in other prompts of the cohort and nowhere in this one: canaries, then answers."""
    others = [other for other in cohort.prompts if other.id != prompt.id]
    texts = [canary.text for other in others for canary in other.canaries if not canary.cohort]
    texts += [other.answer for other in others if other.attributable and len(other.answer) >= MIN_LENGTH]
    for text in dict.fromkeys(texts):
        key = " ".join(words_of(text))
        if key and not holds(prompt.text, key) and not holds(prompt.answer, key):
            yield text
