"""Questions that are answered in another language: language."""

from __future__ import annotations

from pydantic import JsonValue

from fuzzer.history.records import Level
from fuzzer.prompts.checks import languages
from fuzzer.prompts.draws import Draws
from fuzzer.prompts.families.base import Family
from fuzzer.prompts.frame import Task
from fuzzer.prompts.lexicon import LANGUAGES, Language

_ALL = tuple(LANGUAGES.values())


def language(rng: Draws, level: Level) -> Task:
    """Say a word in another language: one that is told, after worked examples (easy), one that is not (medium), or
    three, and a name after them (hard).

    Half of the languages have a script of their own, whose letters take several bytes and often several tokens: what
    splits, drops or swaps a token breaks a letter, and a drafter that was trained on English is nearly always wrong
    here.
    """
    asked = rng.choice(_ALL)
    if level == "hard":
        return _three(rng, asked)
    meaning, *others = rng.sample(list(asked.words), 3)
    word = asked.words[meaning][0]
    spec: dict[str, JsonValue] = {"value": word, "language": asked.name, "meanings": [meaning]}
    if level == "medium":
        ask = f"How do you say {meaning} in {asked.name} ({asked.endonym})? Reply with the word only."
        return Task(ask, word, spec, attributable=False)
    earlier = tuple((_told(asked, other), asked.words[other][0]) for other in others)
    return Task(_told(asked, meaning), word, spec, earlier=earlier, attributable=False)


def _told(asked: Language, meaning: str) -> str:
    word = asked.words[meaning][0]
    return f"In {asked.name}, {meaning} is {word}. What is {meaning} in {asked.name}?"


def _three(rng: Draws, asked: Language) -> Task:
    meanings, name = rng.sample(list(asked.words), 3), rng.name()
    value = [*(asked.words[meaning][0] for meaning in meanings), name]
    ask = (
        f"Write in {asked.name} ({asked.endonym}) the words for {meanings[0]}, {meanings[1]} and {meanings[2]}, "
        f"separated by commas, and after them the name {name}."
    )
    spec: dict[str, JsonValue] = {"value": [*value], "language": asked.name, "meanings": [*meanings]}
    return Task(ask, ", ".join(value), spec, items=(name,))


FAMILIES = (
    Family(
        "language", "say words in another language", "broken letters of other scripts, drafts that must be rejected",
        language, languages.in_language, {"easy": 2, "medium": 1, "hard": 1},
    ),
)  # fmt: skip
