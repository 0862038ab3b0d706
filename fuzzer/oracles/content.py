"""Whose text is this? An index of every prompt's canaries, item names and answers, looked up in replies.

Texts are compared as sequences of words (runs of letters and digits, in lower case), so that a match lies at token
boundaries whatever the punctuation. A look-up costs one pass over the reply, however many prompts are known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Literal, NamedTuple

from fuzzer.history.records import Channel, Prompt

Source = Channel | Literal["items", "answer", "cohort"]

MIN_LENGTH = 8  # characters of an item name or answer, below which it may well be somebody else's too
_MAX_WORDS = 64  # a longer answer is looked up by its first words


class Hit(NamedTuple):
    """A known text in a reply: which part of its owners' prompts it is, and the prompts that own it."""

    source: Source
    span: str
    words: str
    owners: Collection[str]


class ContentIndex:
    """Prompts are registered as they appear; then any text can be asked whose content it holds."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._owners: dict[tuple[str, str], dict[str, str]] = {}
        self._sources: dict[str, tuple[Source, ...]] = {}
        self._lengths: dict[str, tuple[int, ...]] = {}

    def register(self, prompt: Prompt) -> None:
        """Make a prompt's content known; a second time changes nothing."""
        if prompt.id in self._known:
            return
        self._known.add(prompt.id)
        for source, text in _content(prompt):
            self._add(source, text, prompt.id)

    def scan(self, text: str) -> Iterator[Hit]:
        """Every known text in ``text``, each once."""
        words = words_of(text)
        seen: set[str] = set()
        for place, word in enumerate(words):
            for length in self._lengths.get(word, ()):
                key = word if length == 1 else " ".join(words[place : place + length])
                if key in self._sources and key not in seen:
                    seen.add(key)
                    yield from self._hits(key)

    def _hits(self, key: str) -> Iterator[Hit]:
        for source in self._sources[key]:
            owners = self._owners[(source, key)]
            yield Hit(source, next(iter(owners.values())), key, owners.keys())

    def _add(self, source: Source, text: str, owner: str) -> None:
        words = words_of(text)[:_MAX_WORDS]
        if not words:
            return
        key = " ".join(words)
        self._owners.setdefault((source, key), {})[owner] = text
        sources = self._sources.get(key, ())
        if source not in sources:
            self._sources[key] = (*sources, source)
        lengths = self._lengths.get(words[0], ())
        if len(words) not in lengths:
            self._lengths[words[0]] = (*lengths, len(words))


def words_of(text: str) -> list[str]:
    """The words of a text: its runs of letters and digits, in lower case."""
    return text.lower().translate(_SPACED).split()


def holds(text: str, words: str) -> bool:
    """Whether a text holds these words (joined by single spaces) in this order, at word boundaries."""
    return f" {words} " in f" {' '.join(words_of(text))} "


def _content(prompt: Prompt) -> Iterator[tuple[Source, str]]:
    for canary in prompt.canaries:
        yield "cohort" if canary.cohort else canary.channel, canary.text
    for item in prompt.items:
        if len(item) >= MIN_LENGTH:
            yield "items", item
    if prompt.attributable and len(prompt.answer) >= MIN_LENGTH:
        yield "answer", prompt.answer


class _Spaced(dict[int, str]):
    """A translation that turns all but letters and digits into spaces, learnt character by character.

    Invisible characters vanish: models set them inside of words.
    """

    def __init__(self) -> None:
        super().__init__(dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad"), ""))

    def __missing__(self, code: int) -> str:
        character = chr(code)
        self[code] = translated = character if character.isalnum() else " "
        return translated


_SPACED = _Spaced()
