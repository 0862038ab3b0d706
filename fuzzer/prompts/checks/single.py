"""Answers of one value: a code, or a number."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise

from fuzzer.history.records import Prompt
from fuzzer.prompts import canary, names
from fuzzer.prompts.checks.found import SHORT, Found, decoys, fold, is_foreign, missing, right, strings, wrong
from fuzzer.prompts.reply import SUPERSEDED, Candidate, Reply, final, hedged, last_cue

NUMBER = re.compile(
    r"(?<![\w.])(?<![0-9][,\-])[-+]?(?:[0-9]{1,3}(?:[,'’\u00a0\u202f\u2009][0-9]{3}){1,9}|[0-9]{1,30})(?:\.[0-9]{1,30})?"
    r"(?![\w]|[-,'’][0-9]|\.[0-9])"
)
_SEPARATORS = re.compile("[,'’\u00a0\u202f\u2009]")
_NEAR = 30  # characters between a name and the code that a sentence gives to it
_OPERATORS = "+*/×÷·^"
_ASIDE = re.compile(r"\b(?:because|since|explanation|reasoning|here(?:'|’)s how|calculation)\b", re.IGNORECASE)
_SPELT = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
)
_WORDS = {word: number for number, word in enumerate(_SPELT.split())}
_WORD = re.compile(r"\b(?:" + "|".join(sorted(_WORDS, key=len, reverse=True)) + r")\b", re.IGNORECASE)


def code(prompt: Prompt, reply: Reply) -> Found:
    """The answer is one code of the prompt's."""
    value = str(prompt.spec["value"])
    candidates = codes(prompt, reply)
    chosen = settled(prompt, candidates, reply.body)
    if chosen is None:
        return missing(prompt, reply)
    if chosen.text == value and not hedged(chosen, candidates, reply.body):
        return right(reply.only([(each.start, each.end) for each in candidates if each.text == value]))
    return wrong(_code_kind(chosen.text, prompt), chosen.text, value)


def settled(prompt: Prompt, candidates: Sequence[Candidate], body: str) -> Candidate | None:
    """The code that a reply settles on: where it names the one that was asked about, the code that it gives to that."""
    about = fold(str(prompt.spec.get("about", "")))
    if about and len(candidates) > 1 and last_cue(body) is None:
        found = [Candidate(fold(body[start:end]), start, end) for start, end in names.spans(body)]
        marked = sorted([*found, *candidates], key=lambda each: each.start)
        own = [
            code for name, code in pairwise(marked) if name.text == about and code in candidates and _near(name, code)
        ]
        if own:
            return own[-1]
    return final(candidates, body, SUPERSEDED)


def _near(name: Candidate, code: Candidate) -> bool:
    return code.start - name.end <= _NEAR


def codes(prompt: Prompt, reply: Reply) -> list[Candidate]:
    """All codes in a reply, in upper case."""
    own = {each.text for each in prompt.canaries}
    found = [Candidate(match[0], *match.span()) for match in canary.CODE.finditer(reply.body)]
    return [
        Candidate(each.text.upper(), each.start, each.end)
        for each in found
        if canary.deliberate(each.text) or each.text.upper() in own
    ]


def _code_kind(said: str, prompt: Prompt) -> str:
    if said in decoys(prompt):
        return "wrong-last-message"
    return "another-question" if is_foreign(said, prompt) else "wrong-value"


def number(prompt: Prompt, reply: Reply) -> Found:
    """The answer is one number; those that the question gives do not count while there are others."""
    value = Decimal(str(prompt.spec["value"]))
    candidates = numbers(reply.body) or (_number_words(reply.body) if reply.words <= SHORT else [])
    given = {Decimal(each) for each in strings(prompt.spec.get("given"))}
    results = [each for each in candidates if not _operand(each, reply.body)] or candidates
    results = [each for each in results if Decimal(each.text) not in given or _own_line(each, reply.body)] or results
    if (aside := _ASIDE.search(reply.body)) and candidates and results[0] is candidates[0]:
        results = [each for each in results if each.end <= aside.start()] or results
    chosen = final(results, reply.body)
    if chosen is None:
        return missing(prompt, reply)
    if Decimal(chosen.text) == value and not hedged(chosen, results, reply.body):
        spans = [(each.start, each.end) for each in candidates if Decimal(each.text) == value]
        return right(reply.only(spans))
    return wrong("wrong-value", chosen.text, str(value))


def numbers(text: str) -> list[Candidate]:
    """All numbers in a text, thousands separators taken out."""
    return [Candidate(_SEPARATORS.sub("", match[0]), *match.span()) for match in NUMBER.finditer(text)]


def _number_words(text: str) -> Sequence[Candidate]:
    return [Candidate(str(_WORDS[match[0].lower()]), *match.span()) for match in _WORD.finditer(text)]


def _own_line(each: Candidate, text: str) -> bool:
    return text[max(0, each.start - 1) : each.start] in ("", "\n") and text[each.end : each.end + 1] in ("", "\n")


def _operand(each: Candidate, text: str) -> bool:
    before = text[max(0, each.start - 4) : each.start].rstrip()[-1:]
    after = text[each.end : each.end + 4].lstrip()[:1]
    minus = text[each.end : each.end + 3] == " - " or text[max(0, each.start - 3) : each.start] == " - "
    return minus or (after != "" and after in _OPERATORS + "=") or (before != "" and before in _OPERATORS)
