"""Replies as models give them, to questions that are answered in another language."""

from __future__ import annotations

import json
import unicodedata
from functools import cache

import pytest

from fuzzer.history.records import Level, Prompt
from fuzzer.oracles.flaws import Reply
from fuzzer.oracles.scripts import look_alikes, script_switches
from fuzzer.prompts import check
from fuzzer.prompts.lexicon import LANGUAGES
from tests.prompts.strategies import make
from tests.prompts.test_checks_single import verdict


@cache
def asked(level: Level) -> tuple[Prompt, ...]:
    return tuple(make("language", level, seed) for seed in range(2_000))


def asking(language: str, meaning: str = "", level: Level = "medium") -> Prompt:
    """A prompt for a word of this language, and of this meaning if one is given."""
    for prompt in asked(level):
        if prompt.spec["language"] == language and meaning in ("", *map(str, _list(prompt.spec["meanings"]))):
            return prompt
    raise AssertionError((language, meaning, level))


def _list(value: object) -> list[object]:
    assert isinstance(value, list)
    return value


@pytest.mark.parametrize(
    ("language", "meaning", "want", "said"),
    [
        ("Spanish", "red", "right", "Rojo"),
        ("Spanish", "red", "right", "**roja**"),
        ("Spanish", "red", "right", "«rojo»."),
        ("Spanish", "red", "verbose", "The Spanish word for red is rojo."),
        ("Spanish", "red", "verbose", "rojo (or roja for the feminine form)"),
        ("Spanish", "red", "verbose", "In Spanish it is rojo; in French it is rouge."),
        ("Spanish", "red", "dropped-constraint", "rouge"),
        ("Spanish", "red", "wrong-value", "red"),
        ("Spanish", "red", "wrong-value", "azul"),
        ("Spanish", "red", "wrong-value", "rojo or azul"),
        ("Spanish", "red", "wrong-value", "rojo\n\nazul"),
        ("Spanish", "red", "wrong-value", "rojjo"),
        ("Spanish", "red", "refusal", "I'm sorry, I cannot translate that."),
        ("Spanish", "Saturday", "right", "sábado"),
        ("Spanish", "Saturday", "verbose", "sabado"),
        ("Spanish", "Saturday", "verbose", "El sábado."),
        ("Spanish", "Saturday", "dropped-constraint", "samedi"),
        ("French", "water", "verbose", "L'eau"),
        ("French", "white", "right", "blanche"),
        ("French", "white", "right", "blanc, blanche"),
        ("German", "green", "right", "grün"),
        ("German", "green", "verbose", "grun"),
        ("German", "green", "right", "gruen"),
        ("German", "white", "right", "weiss"),
        ("German", "Saturday", "right", "Sonnabend"),
        ("German", "five", "wrong-value", "vier"),
        ("German", "five", "wrong-value", "5"),
        ("Russian", "yellow", "right", "жёлтый"),
        ("Russian", "yellow", "verbose", "желтый"),
        ("Russian", "yellow", "right", "„жёлтая“"),
        ("Russian", "yellow", "verbose", "жёлтый (zhyolty)"),
        ("Russian", "yellow", "wrong-value", "zhyolty"),
        ("Russian", "yellow", "wrong-value", "жёлты"),
        ("Russian", "two", "right", "ДВЕ"),
        ("Greek", "red", "right", "κόκκινος"),
        ("Greek", "red", "verbose", "κοκκινο"),
        ("Greek", "red", "right", "ΚΌΚΚΙΝΟ"),
        ("Greek", "Sunday", "verbose", "Η Κυριακή."),
        ("Japanese", "red", "right", "赤"),
        ("Japanese", "red", "right", "「赤い」"),
        ("Japanese", "red", "right", "あか"),
        ("Japanese", "red", "verbose", "赤です。"),
        ("Japanese", "red", "verbose", "赤 (aka)"),
        ("Japanese", "red", "wrong-value", "青"),
        ("Japanese", "red", "wrong-value", "aka"),
        ("Japanese", "yellow", "right", "黄色い"),
        ("Arabic", "red", "right", "أحمر"),
        ("Arabic", "red", "verbose", "احمر"),
        ("Arabic", "red", "right", "الأحمر"),
        ("Arabic", "red", "verbose", "أَحْمَر"),
        ("Arabic", "Monday", "verbose", "يوم الاثنين"),
        ("Arabic", "Monday", "verbose", "الإثنين"),
        ("Arabic", "red", "wrong-value", "أزرق"),
        ("Hindi", "white", "right", "सफ़ेद"),
        ("Hindi", "white", "right", "सफेद"),
        ("Hindi", "five", "right", "पांच"),
        ("Hindi", "blue", "right", "नीली"),
        ("Hindi", "blue", "wrong-value", "नील"),
        ("Hindi", "blue", "wrong-value", "लाल"),
    ],
)
def test_a_word_is_known_in_all_its_usual_forms(language: str, meaning: str, want: str, said: str) -> None:
    assert verdict(asking(language, meaning), said) == want


def test_unicode_forms_do_not_matter() -> None:
    for language in LANGUAGES:
        prompt = asking(language)
        for form in ("NFC", "NFD"):
            assert check(prompt, unicodedata.normalize(form, prompt.answer)).value == "right"


def test_a_word_that_was_told_is_said_again() -> None:
    prompt = asking("Russian", "house", "easy")
    assert "house is дом" in prompt.messages[-1].content
    assert verdict(prompt, "дом") == "right"
    assert verdict(prompt, "In Russian, house is дом.") == "verbose"
    assert verdict(prompt, prompt.messages[2].content) == "wrong-last-message"


THREE = asking("Greek", level="hard")
TAG, LIST, TICKET = THREE.answer.split("\n")
A, B, C, NAME = LIST.split(", ")
FOREIGN = next(
    variants[0]
    for meaning, variants in LANGUAGES["Greek"].words.items()
    if meaning not in _list(THREE.spec["meanings"])
)


@pytest.mark.parametrize(
    ("want", "said"),
    [
        ("right", f"{A}\n{B}\n{C}\n{NAME}"),
        ("right", f"1. {A}\n2. {B}\n3. {C}\n4. {NAME}"),
        ("right", f'["{A}", "{B}", "{C}", "{NAME}"]'),
        ("right", json.dumps([A, B, C, NAME])),
        ("verbose", f"The words are {A}, {B} and {C}, and the name is {NAME}."),
        ("verbose", f"{_list(THREE.spec['meanings'])[0]}: {A}, then: {B}, {C}, {NAME}"),
        ("wrong-value", f"{B}, {A}, {C}, {NAME}"),
        ("wrong-value", f"{A}, {B}, {NAME}"),
        ("wrong-value", f"{A}, {B}, {C}, {FOREIGN}, {NAME}"),
        ("wrong-value", f"{A}, {FOREIGN}, {C}, {NAME}"),
        ("dropped-constraint", f"{A}, {B}, {C}"),
        ("another-question", f"{A}, {B}, {C}, {make('echo', 'easy', 3).answer}"),
        ("another-question", make("language", "hard", "other").answer.split("\n")[1]),
    ],
)
def test_three_words_and_a_name(want: str, said: str) -> None:
    assert verdict(THREE, f"{TAG}\n{said}\n{TICKET}") == want


def test_no_right_answer_looks_corrupted() -> None:
    levels: tuple[Level, ...] = ("easy", "medium", "hard")
    for language, entry in LANGUAGES.items():
        for level in levels:
            prompt = asking(language, level=level)
            for meaning in map(str, _list(prompt.spec["meanings"])):
                for said in entry.words[meaning]:
                    reply = Reply(said, prompt.text, whole=True, stopped=True, parsed=False)
                    if level != "easy" or said == prompt.answer:
                        assert [*script_switches(reply), *look_alikes(reply)] == []


def test_no_word_is_another_cut_short_and_none_has_two_meanings() -> None:
    for entry in LANGUAGES.values():
        seen: dict[str, str] = {}
        for meaning, variants in entry.words.items():
            assert not any(variants[0][:length] in variants for length in range(1, len(variants[0])))
            assert all(seen.setdefault(each, meaning) == meaning for each in variants)


def test_all_languages_are_asked_for() -> None:
    levels: tuple[Level, ...] = ("easy", "medium", "hard")
    met = {(level, str(prompt.spec["language"])) for level in levels for prompt in asked(level)[:120]}
    assert len(met) == 3 * len(LANGUAGES)
