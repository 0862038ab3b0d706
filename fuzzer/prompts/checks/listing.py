"""Answers that are lists: of names or other items, of numbers, or a pair of a name and a code."""

from __future__ import annotations

import re
from decimal import Decimal

from fuzzer.history.records import Prompt
from fuzzer.prompts import names
from fuzzer.prompts.checks.found import Found, decoys, fold, foreign, is_own, missing, right, strings, wrong
from fuzzer.prompts.checks.numerals import numerals
from fuzzer.prompts.checks.phrases import alone
from fuzzer.prompts.checks.runs import Run, alternated, doubled, extended, final_run, runs
from fuzzer.prompts.checks.single import codes, settled
from fuzzer.prompts.reply import ALTERNATIVE, Candidate, Reply, final, hedged

_NUMBER = re.compile(
    r"(?<![\w.])(?:[0-9]{1,3}(?:,[0-9]{3}){1,9}(?=,?\s|[.;]|$)|[0-9]{1,30})(?:\.0{1,9})?(?![\w]|\.[0-9])"
)
_NUMBERING = re.compile(
    r"(?:^|(?<=\n))[ \t]{0,8}[0-9]{1,2}[.):](?=[ \t])"
    r"|(?:^|(?<=\n))[ \t]{0,8}\|[ \t]{0,8}[0-9]{1,2}[ \t]{0,8}(?=\|[^|\n]{1,40}\|[^\w\n|]{0,8}(?:\n|$))"
    r"|(?<=[ \t])[0-9]{1,2}\)(?=[ \t])"
)
"""The numbers of the items of a list: at the start of a line, in the first of two columns, or before a bracket."""
_BELOW = 1000  # characters below a list in which a stranger's name is looked for


def items(prompt: Prompt, reply: Reply) -> Found:
    """The answer is a list of names (or of a corpus row's items) in one order."""
    value = [fold(each) for each in strings(prompt.spec["value"])]
    if all(each.isdecimal() for each in value):
        return count(prompt, reply)
    found = runs(_items(value, reply.body), reply.body)
    run = final_run(found, len(value), reply.body)
    if run is None:
        return missing(prompt, reply)
    whole = run.whole
    if stranger := _stranger_below(whole.end, prompt, reply.body):
        return wrong("another-question", stranger, ", ".join(value))
    if run.texts == value and not extended(run, reply.body) and not _hedged(run, found, reply.body):
        return right(reply.only([(whole.start, whole.end)]))
    return wrong(_items_kind(run, value, prompt), whole.text, ", ".join(value))


def _items(value: list[str], body: str) -> list[Candidate]:
    spans = names.spans(body)
    taken = {start for start, _ in spans}
    own = "|".join(r"\s{1,4}".join(map(re.escape, each.split())) for each in sorted(value, key=len, reverse=True))
    for match in re.finditer(rf"(?<![^\W_])(?:{own})(?![^\W_])", body, re.IGNORECASE):
        if match.start() not in taken:
            spans.append(match.span())
    return [Candidate(fold(body[start:end]), start, end) for start, end in sorted(spans)]


def _stranger_below(end: int, prompt: Prompt, body: str) -> str:
    """A name on a line of its own below the list that is not the prompt's, or ""."""
    for line in body[end : end + _BELOW].split("\n")[1:]:
        for start, stop in names.spans(line):
            if alone(start, stop, line) and not is_own(line[start:stop], prompt):
                return line[start:stop]
    return ""


def _hedged(run: Run, found: list[Run], body: str) -> bool:
    offered = hedged(run.whole, [each.whole for each in found], body, ALTERNATIVE) or alternated(run, body)
    return offered or doubled(run, found, body)


def _items_kind(run: Run, value: list[str], prompt: Prompt) -> str:
    if run.whole.text in map(fold, decoys(prompt)):
        return "wrong-last-message"
    strange = [each for each in run.texts if each not in value and not is_own(each, prompt)]
    return "another-question" if 2 * len(strange) >= len(run.items) else "wrong-value"


def count(prompt: Prompt, reply: Reply) -> Found:
    """The answer is a run of numbers; the numbers that the question gave may stand before it."""
    value, given = strings(prompt.spec["value"]), strings(prompt.spec.get("given"))
    body = _NUMBERING.sub(lambda match: " " * len(match[0]), reply.body)
    found = runs(_counted(body), body)
    run = final_run([each for each in found if each.texts != given] or found, len(value), body)
    if run is None:
        return missing(prompt, reply)
    said = _without(given, run.texts)
    if said == value and not extended(run, body) and not _hedged(run, found, body):
        return right(said == run.texts and reply.only([(run.whole.start, run.whole.end)]))
    if run.whole.text in decoys(prompt):
        return wrong("wrong-last-message", run.whole.text, ", ".join(value))
    other_length = bool(said) and len(run.items) != len(value)
    broken_off = other_length and (said == value[: len(said)] or said[: len(value)] == value)
    return wrong("dropped-constraint" if broken_off else "wrong-value", run.whole.text, ", ".join(value))


def _counted(body: str) -> list[Candidate]:
    digits = [_plain(match) for match in _NUMBER.finditer(body)]
    return sorted([*digits, *numerals(body)], key=lambda each: each.start)


def _plain(match: re.Match[str]) -> Candidate:
    return Candidate(str(int(Decimal(match[0].replace(",", "")))), *match.span())


def _without(given: list[str], said: list[str]) -> list[str]:
    """What was said after as much of the end of the given numbers as it starts with."""
    for length in range(min(len(given), len(said)), 0, -1):
        if said[:length] == given[-length:]:
            return said[length:]
    return said


def pair(prompt: Prompt, reply: Reply) -> Found:
    """The answer is a name and a code, in whatever sentence; the name that was asked about does not count."""
    town, code = strings(prompt.spec["value"])
    about = fold(str(prompt.spec.get("about", "")))
    body = reply.body
    found = [Candidate(fold(body[start:end]), start, end) for start, end in names.spans(body)]
    towns = [each for each in found if each.text != about]
    said_codes = codes(prompt, reply)
    said_town, said_code = final(towns, body), settled(prompt, said_codes, body)
    if said_town is None and said_code is None:
        return missing(prompt, reply)
    town_ok = said_town is not None and said_town.text == fold(town)
    code_ok = said_code is not None and said_code.text == code and not hedged(said_code, said_codes, body)
    if town_ok and code_ok:
        return right(reply.only([(each.start, each.end) for each in (said_town, said_code) if each is not None]))
    said = ", ".join(each.text for each in (said_town, said_code) if each is not None)
    if (town_ok and said_code is None) or (code_ok and said_town is None):
        return wrong("dropped-constraint", said, prompt.spec["value"])
    if fold(said) in map(fold, decoys(prompt)):
        return wrong("wrong-last-message", said, prompt.spec["value"])
    strange = foreign(prompt, reply)
    return wrong("another-question" if strange else "wrong-value", said, prompt.spec["value"])
