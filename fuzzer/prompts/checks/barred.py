"""Answers that must not hold a given word."""

from __future__ import annotations

import re

from fuzzer.history.records import Prompt
from fuzzer.prompts.checks import chosen, texts
from fuzzer.prompts.checks.found import Found, fold, strings, wrong
from fuzzer.prompts.reply import Reply

_MENTIONED = re.compile(r"\b(?:words?|without|instead of|in place of)[\s\"'“”„«»‘’「」:]{1,4}$", re.IGNORECASE)
_LOOK_BACK = 24  # characters before a word in which it may be said that it is only spoken of
_TRIES = 200  # occurrences that are looked at


def without_words(prompt: Prompt, reply: Reply) -> Found:
    """A choice of names or a line of text, without the words in ``barred``.

    A word that is only spoken of ("without the word red") breaks no rule.
    """
    found = (chosen.choice if "count" in prompt.spec else texts.text)(prompt, reply)
    if not found.good and found.sub_kind != "wrong-value":
        return found
    for word in strings(prompt.spec["barred"]):
        if _written(word, reply.body):
            return wrong("dropped-constraint", f"{reply.body.strip()[:60]} with {word} in it", prompt.spec["value"])
    return found


def _written(word: str, body: str) -> bool:
    spaced = r"\s{1,4}".join(map(re.escape, fold(word).split()))
    pattern = re.compile(rf"(?<![^\W_]){spaced}(?![^\W_])", re.IGNORECASE)
    for tried, match in enumerate(pattern.finditer(body)):
        if tried >= _TRIES or not _MENTIONED.search(body[max(0, match.start() - _LOOK_BACK) : match.start()]):
            return True
    return False
