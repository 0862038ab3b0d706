"""A chat as told sentences and one question, in whatever language."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fuzzer.sim.solver.chat import Chat

_SENTENCE = re.compile(r"(?<=[.!?؟।])\s+|(?<=[。？！])|\n+|(?<=\.”)\s+|(?<=[α-ώ];)\s+")
_QUESTION = re.compile(r"[?？؟]\s*$")
_ORDER = re.compile(r"^(?:Reply|Answer|Be brief|Ticket:|Session tag:|Case number:|Group \d)")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_ENDINGS = re.compile(r"(?:'s|’s|ing|ed|es|s|e)$")


@dataclass(frozen=True, slots=True)
class Inquiry:
    """``told`` are the sentences that state something, oldest first; ``question`` is the last one that asks."""

    told: tuple[str, ...]
    question: str


def inquiry(chat: Chat) -> Inquiry | None:
    """The last question of a chat and all that was told, or None where the last message asks nothing."""
    told = [
        sentence
        for role, text in chat.turns
        if role != "assistant"
        for sentence in sentences(text)
        if not asks(sentence)
    ]
    own = sentences(chat.ask)
    asked = [sentence for sentence in own if asks(sentence)]
    if not asked:
        return None
    told += [sentence for sentence in own[: own.index(asked[-1])] if not asks(sentence)]
    told += sentences(chat.after)
    return Inquiry(tuple(told), asked[-1])


def sentences(text: str) -> list[str]:
    """The sentences of a text without orders on how to answer."""
    found = [sentence.strip() for sentence in _SENTENCE.split(text)]
    return [sentence for sentence in found if sentence and not _ORDER.match(sentence)]


def asks(sentence: str) -> bool:
    """Whether a sentence ends with a question mark; in Greek that is a semicolon."""
    return _QUESTION.search(sentence) is not None or (sentence.endswith(";") and not sentence.isascii())


def words(text: str) -> list[str]:
    """The words of a text, hyphens and apostrophes inside them kept."""
    return _WORD.findall(text)


def stem(word: str) -> str:
    """A word without its commonest English endings, in small letters."""
    small = word.lower()
    return _ENDINGS.sub("", small) if len(small) > 4 else small
