"""Answers that are a choice of names, in whatever order: so many of those that are allowed, and no other."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fuzzer.history.records import Prompt
from fuzzer.prompts import names
from fuzzer.prompts.checks.found import Found, earlier_answer, fold, foreign, is_own, missing, right, strings, wrong
from fuzzer.prompts.checks.runs import Run, extended, runs
from fuzzer.prompts.reply import ALTERNATIVE, Candidate, Reply, hedged, last_cue

_SET_ASIDE = re.compile(
    r"\b(?:remain|other|rest|left|leav|exclud|omit|without|except|given|original|list of|out of|from|among|instead of"
    r"|rather than|not)\w{0,6}\b[^.\n]{0,30}$",
    re.IGNORECASE,
)
_LOOK_BACK = 60  # characters before a list in which it may be set aside
_ADDED = re.compile(
    r"[ \t\"')]{0,4}(?:[,;→|]|\n[ \t]{0,8}(?:[0-9]{1,2}[.)]|[-+•])|\band\b)[ \t]{1,4}(?:and[ \t]{1,4})?"
    r"([A-Z]\w{2,20}(?:[ \t][A-Z]\w{2,20}){0,2})[ \t\"']{0,4}(?=[.,;\n]|$)"
)


def choice(prompt: Prompt, reply: Reply) -> Found:
    """The answer is ``count`` different names of those in ``among``, in that order if it is ``ordered``.

    Names that stand by themselves in sentences count as a list where there is no other. Too many or too few is a
    dropped constraint; so is one that stands in ``barred``.
    """
    allowed, count = [fold(each) for each in strings(prompt.spec["among"])], int(str(prompt.spec["count"]))
    body = reply.body
    said = [Candidate(fold(body[start:end]), start, end) for start, end in names.spans(body)]
    chosen, found = _settled(said, prompt, count, body)
    if chosen is None:
        return missing(prompt, reply)
    fits = len(chosen.items) == len(set(chosen.texts)) == count and set(chosen.texts) <= set(allowed)
    fits = fits and (chosen.texts == allowed or not prompt.spec.get("ordered"))
    added = _ADDED.match(body, chosen.whole.end) or extended(chosen, body)
    if fits and not added and not _hedged(chosen, found, body):
        if strange := foreign(prompt, reply):
            return wrong("another-question", f"{chosen.whole.text} and {strange}", prompt.spec["value"])
        return right(reply.only([(chosen.whole.start, chosen.whole.end)]))
    return wrong(_kind(chosen, prompt, reply, count), chosen.whole.text, prompt.spec["value"])


def _settled(said: list[Candidate], prompt: Prompt, count: int, body: str) -> tuple[Run | None, list[Run]]:
    """The list that a reply settles on, and all its lists; several names in sentences are one list."""
    given = {fold(each) for each in strings(prompt.spec["given"])}
    found = _joined(runs(said, body), body)
    lists = [run for run in found if len(run.items) >= min(count, 2)]
    standing = [run for run in lists if not _set_aside(run, body)] or lists
    standing = [run for run in standing if set(run.texts) != given] or standing
    cue = last_cue(body)
    after = [run for run in standing if cue is not None and run.items[0].start >= cue]
    if standing:
        return (after[0] if after else standing[-1]), found
    once = {each.text: each for each in said if not _set_aside(Run((each,)), body)}
    return (Run(tuple(sorted(once.values(), key=lambda each: each.start))) if once else None), found


def _joined(found: Sequence[Run], body: str) -> list[Run]:
    """Lists that share no name and have nothing between them but space are one."""
    joined: list[Run] = []
    for run in found:
        last = joined[-1] if joined else None
        if (
            last is not None
            and not body[last.whole.end : run.whole.start].strip(" \t\n,;-+•")
            and set(last.texts).isdisjoint(run.texts)
        ):
            joined[-1] = Run(last.items + run.items)
        else:
            joined.append(run)
    return joined


def _set_aside(run: Run, body: str) -> bool:
    start = run.items[0].start
    return _SET_ASIDE.search(body[max(0, start - _LOOK_BACK) : start]) is not None


def _hedged(chosen: Run, found: Sequence[Run], body: str) -> bool:
    wholes = [each.whole for each in found]
    return any(each.start == chosen.whole.start for each in wholes) and hedged(chosen.whole, wholes, body, ALTERNATIVE)


def _kind(chosen: Run, prompt: Prompt, reply: Reply, count: int) -> str:
    if earlier_answer(prompt, reply):
        return "wrong-last-message"
    strange = [each for each in chosen.texts if not is_own(each, prompt)]
    if 2 * len(strange) >= len(chosen.items):
        return "another-question"
    barred = {fold(each) for each in strings(prompt.spec.get("barred"))}
    other_count = not strange and len(set(chosen.texts)) != count
    return "dropped-constraint" if other_count or barred & set(chosen.texts) else "wrong-value"
