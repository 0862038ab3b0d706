"""Answers in a given language: words of a small dictionary, alone or several in order."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from fuzzer.history.records import Prompt
from fuzzer.prompts import names
from fuzzer.prompts.checks.found import Found, earlier_answer, fold, foreign, missing, right, strings, wrong
from fuzzer.prompts.checks.runs import doubled, extended, final_run, runs
from fuzzer.prompts.checks.several import one_by_one
from fuzzer.prompts.lexicon import LANGUAGES
from fuzzer.prompts.reply import Candidate, Reply, final, hedged

_MARKS = re.compile("[\u0300-\u036f\u0610-\u061a\u0640\u064b-\u065f\u0670\u093c]")  # accents, vowel points, nuktas
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")  # as JSON has them
_SAME = str.maketrans({"ى": "ي", "ة": "ه", "ँ": "ं", "ς": "σ"})
_LETTER = r"[^\W_]|[\u0900-\u0903\u093a-\u094f]"  # in Devanagari, vowels are marks
_NAMED = re.compile(rf"\b(?:{'|'.join(LANGUAGES)}|English|Italian|Portuguese)\b[^.\n]{{0,30}}$", re.IGNORECASE)
_LOOK_BACK = 50  # characters before a word in which another language may be named


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of the dictionary in a reply; all that mean the same in one language are one candidate."""

    text: str
    at: Candidate
    language: str
    meaning: str


def in_language(prompt: Prompt, reply: Reply) -> Found:
    """The answer is the words for ``meanings`` in ``language``, in order, and then the name in ``value``, if there is.

    Missing accents, and forms of a word for another gender, are verbose or right. The right meaning in another language
    has dropped a constraint.
    """
    language, meanings = str(prompt.spec["language"]), strings(prompt.spec["meanings"])
    told = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), reply.body)
    body = plain(told)
    said = _said(body, language)
    if strange := foreign(prompt, reply):
        return wrong("another-question", strange, prompt.answer)
    if not said:
        earlier = earlier_answer(prompt, reply)
        return wrong("wrong-last-message", earlier, prompt.answer) if earlier else missing(prompt, reply)
    found = (_several if len(meanings) > 1 else _one)(prompt, said, meanings, language, body)
    if not found.good:
        earlier = earlier_answer(prompt, reply)
        return wrong("wrong-last-message", earlier, prompt.answer) if earlier else found
    return right(alone=found.value == "right" and _accented(told, language, meanings))


def plain(text: str) -> str:
    """The text in one case, without accents, vowel points and the like: letters as they are told apart."""
    bare = _MARKS.sub("", unicodedata.normalize("NFD", text)).translate(_SAME)
    return unicodedata.normalize("NFC", bare).casefold().translate(_SAME)


def _one(prompt: Prompt, said: list[_Word], meanings: list[str], language: str, body: str) -> Found:
    """One word: the one that a reply settles on."""
    told = [each for each in said if each.language == language or not _other_named(each, body)] or said
    places = [each.at for each in told]
    at = final(places, body) or places[-1]
    chosen = next(each for each in told if each.at is at)
    if (chosen.language, chosen.meaning) != (language, meanings[0]) or hedged(at, places, body):
        return _otherwise(prompt, chosen, meanings)
    return _alone(body, [each.at for each in told if each.at.text == at.text])


def _several(prompt: Prompt, said: list[_Word], meanings: list[str], language: str, body: str) -> Found:
    """Several words in order and a name after them, in a list or one by one in sentences."""
    value = strings(prompt.spec["value"])
    wanted = [*(f"{meaning} in {language}" for meaning in meanings), fold(value[-1])]
    told = [each.at for each in said if each.language == language or not _other_named(each, body)]
    named = [Candidate(fold(body[start:end]), start, end) for start, end in names.spans(body)]
    items = sorted([*told, *named], key=lambda each: each.start)
    found = runs(items, body)
    chosen = one_by_one(wanted, items, body) or final_run(found, len(wanted), body)
    if chosen is None:
        return _otherwise(prompt, said[-1], meanings)
    if chosen.texts == wanted and not extended(chosen, body) and not doubled(chosen, found, body):
        return _alone(body, chosen.items)
    if chosen.texts == wanted[:-1]:
        return wrong("dropped-constraint", body[chosen.whole.start : chosen.whole.end], ", ".join(value))
    return _otherwise(prompt, said[-1], meanings)


def _otherwise(prompt: Prompt, chosen: _Word, meanings: list[str]) -> Found:
    other_language = chosen.language != prompt.spec["language"] and chosen.meaning in meanings
    return wrong("dropped-constraint" if other_language else "wrong-value", chosen.text, prompt.spec["value"])


def _other_named(each: _Word, body: str) -> bool:
    """Whether a word of another language is only told beside the answer: "in French it is rouge"."""
    return _NAMED.search(body[max(0, each.at.start - _LOOK_BACK) : each.at.start]) is not None


def _alone(body: str, words: Sequence[Candidate]) -> Found:
    return right(Reply(text=body, bare=body, body=body).only([(each.start, each.end) for each in words]))


def _accented(told: str, language: str, meanings: list[str]) -> bool:
    """Whether every word stands in the reply with its accents."""
    body, words = _composed(told), LANGUAGES[language].words
    return all(any(_composed(each) in body for each in words[meaning]) for meaning in meanings)


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


def _said(body: str, language: str) -> list[_Word]:
    """The words of the dictionary in a text: those of the language, and of the others where they are none of its."""
    found = {match.start(): _word(match, language) for match in _pattern(language).finditer(body)}
    taken = {place for each in found.values() for place in range(each.at.start, each.at.end)}
    for other in LANGUAGES:
        if other != language:
            for match in _pattern(other).finditer(body):
                if match.start() not in taken:
                    found[match.start()] = _word(match, other)
    return [found[start] for start in sorted(found)]


def _word(match: re.Match[str], language: str) -> _Word:
    meaning = _meanings(language)[match[1]]
    return _Word(match[0], Candidate(f"{meaning} in {language}", *match.span()), language, meaning)


@lru_cache(maxsize=len(LANGUAGES))
def _meanings(language: str) -> dict[str, str]:
    """What every word of a language means, by the word's letters."""
    return {plain(each): meaning for meaning, variants in LANGUAGES[language].words.items() for each in variants}


@lru_cache(maxsize=len(LANGUAGES))
def _pattern(language: str) -> re.Pattern[str]:
    words = "|".join(map(re.escape, sorted(_meanings(language), key=len, reverse=True)))
    if language == "Japanese":
        return re.compile(f"({words})")
    article = "(?:ال)?" if language == "Arabic" else ""
    return re.compile(rf"(?<!{_LETTER}){article}({words})(?!{_LETTER})")
