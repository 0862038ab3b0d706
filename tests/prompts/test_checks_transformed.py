"""Replies as models give them, to questions whose answer is the given text in another form."""

from __future__ import annotations

import pytest

from fuzzer.history.records import Level, Prompt
from tests.prompts.strategies import make
from tests.prompts.test_checks_single import verdict


def of_way(way: str, level: Level = "medium") -> Prompt:
    """A prompt that asks for this way of writing."""
    return next(prompt for seed in range(60) if (prompt := make("transform", level, seed)).spec["way"] == way)


def plain(prompt: Prompt) -> str:
    """The answer without the marks around it."""
    return str(prompt.spec["value"])


SMALL = of_way("small", "easy")
NAME = str(SMALL.spec["given"])
OTHER = make("transform", "easy", "other").answer


@pytest.mark.parametrize(
    ("want", "said"),
    [
        ("right", NAME.lower()),
        ("right", f"**{NAME.lower()}**"),
        ("right", f"```\n{NAME.lower()}\n```"),
        ("right", f"„{NAME.lower()}“."),
        ("right", f"- {NAME.lower()}"),
        ("right", f"Answer: {NAME.lower()}"),
        ("verbose", f"{NAME} → {NAME.lower()}"),
        ("verbose", f"In small letters it is {NAME.lower()}."),
        ("verbose", f"{NAME.lower()}\n\nI wrote {NAME} in small letters."),
        ("verbose", f"Write in small letters: {NAME}\n{NAME.lower()}"),
        ("dropped-constraint", NAME),
        ("dropped-constraint", f"In small letters: {NAME}"),
        ("wrong-value", NAME.upper()),
        ("wrong-value", f"{NAME[0]}{NAME[1:].lower()}"),
        ("wrong-value", NAME.lower()[:-1]),
        ("wrong-value", NAME.lower().split()[0]),
        ("wrong-value", f"{NAME.lower()} oakbridge"),
        ("wrong-value", f"{NAME.lower()} or {NAME.upper()}"),
        ("another-question", OTHER),
        ("another-question", f"{NAME.lower()}\n{OTHER}"),
        ("wrong-last-message", "bluebird redwood"),
        ("refusal", "I'm sorry, but I can't do that."),
    ],
)
def test_a_name_in_small_letters(want: str, said: str) -> None:
    assert verdict(SMALL, said) == want


CAPITALS = of_way("capitals")
FIRST, SECOND = CAPITALS.answer.split(", ")


@pytest.mark.parametrize(
    ("want", "said"),
    [
        ("right", f"{FIRST}\n{SECOND}"),
        ("right", f"1. {FIRST}\n2. {SECOND}"),
        ("right", f"{FIRST}; {SECOND}."),
        ("right", f'["{FIRST}", "{SECOND}"]'),
        ("verbose", f"The names are {FIRST} and {SECOND}."),
        ("dropped-constraint", str(CAPITALS.spec["given"])),
        ("wrong-value", f"{FIRST}, {SECOND.title()}"),
        ("wrong-value", f"{SECOND}, {FIRST}"),
        ("wrong-value", FIRST),
        ("wrong-value", f"{FIRST}, {FIRST}, {SECOND}"),
        ("wrong-value", f"{FIRST}, {SECOND}, {SECOND}"),
        ("another-question", f"{FIRST}, {make('echo', 'easy', 1).answer.upper()}"),
    ],
)
def test_names_in_capitals(want: str, said: str) -> None:
    assert verdict(CAPITALS, said) == want


TURNED = of_way("turned")
W, X, Y, Z = TURNED.answer.split()


@pytest.mark.parametrize(
    ("want", "said"),
    [
        ("right", f"{W}, {X}, {Y}, {Z}"),
        ("right", f"{W}\n{X}\n{Y}\n{Z}"),
        ("right", f"1. {W}\n2. {X}\n3. {Y}\n4. {Z}"),
        ("verbose", TURNED.answer.lower()),
        ("verbose", f"{Z} {Y} {X} {W} -> {W} {X} {Y} {Z}"),
        ("verbose", f"In reverse order: {W}, {X}, {Y} and {Z}."),
        ("dropped-constraint", f"{Z} {Y} {X} {W}"),
        ("wrong-value", f"{X} {W} {Y} {Z}"),
        ("wrong-value", f"{W} {X} {Y}"),
        ("wrong-value", f"{W} {X} {Y} {Z} {W}"),
        ("wrong-value", f"{Y} {Z} {W} {X}"),
        ("another-question", "Fernstone Bearboat"),
    ],
)
def test_words_from_the_last_to_the_first(want: str, said: str) -> None:
    assert verdict(TURNED, said) == want


INITIALS = of_way("initials")
LETTERS = INITIALS.answer


@pytest.mark.parametrize(
    ("want", "said"),
    [
        ("right", f"**{LETTERS}**"),
        ("verbose", LETTERS.lower()),
        ("verbose", ".".join(LETTERS)),
        ("verbose", " ".join(LETTERS)),
        ("verbose", "-".join(LETTERS)),
        ("verbose", f"The first letters give {LETTERS}."),
        ("verbose", f"{', '.join(str(INITIALS.spec['given']).split())}: {LETTERS}"),
        ("wrong-value", LETTERS[:-1]),
        ("wrong-value", LETTERS[1:] + LETTERS[0] if len(set(LETTERS)) > 1 else "X"),
        ("wrong-value", LETTERS + "S"),
        ("wrong-value", f"{LETTERS} or {LETTERS[::-1]}X"),
        ("wrong-value", f"{LETTERS}\nXQXQXQXQ"),
        ("wrong-value", "the first letters"),
    ],
)
def test_initials(want: str, said: str) -> None:
    assert verdict(INITIALS, said) == want


def test_letters_backwards() -> None:
    prompt = of_way("backwards", "hard")
    tag, turned, ticket = prompt.answer.split("\n")
    given = str(prompt.spec["given"])
    stranger = " ".join(word[::-1] for word in make("echo", "easy", 5).answer.split())
    for want, said in (
        ("right", turned),
        ("verbose", turned.title()),
        ("verbose", turned.lower()),
        ("verbose", f"{given} → {turned}"),
        ("dropped-constraint", given),
        ("wrong-value", turned[1:]),
        ("wrong-value", f"{turned[1]}{turned[0]}{turned[2:]}"),
        ("wrong-value", " ".join(reversed(turned.split()))),
        ("another-question", stranger),
    ):
        assert verdict(prompt, f"{tag}\n{said}\n{ticket}") == want
    assert verdict(prompt, turned) == "dropped-constraint"


def test_six_words_turned_and_in_capitals() -> None:
    prompt = of_way("turned capitals", "hard")
    tag, turned, ticket = prompt.answer.split("\n")
    for want, said in (
        ("right", turned.replace(" ", ", ")),
        ("wrong-value", turned.lower()),
        ("wrong-value", str(prompt.spec["given"]).upper()),
        ("dropped-constraint", str(prompt.spec["given"])),
        ("wrong-value", " ".join(turned.split()[:-1])),
    ):
        assert verdict(prompt, f"{tag}\n{said}\n{ticket}") == want


def test_every_way_is_asked_for() -> None:
    levels: tuple[Level, ...] = ("easy", "medium", "hard")
    ways = {str(make("transform", level, seed).spec["way"]) for level in levels for seed in range(30)}
    assert ways == {"small", "capitals", "turned", "turned capitals", "backwards", "initials"}
