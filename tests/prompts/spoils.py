"""Answers that are subtly wrong: in the right format, and off by one thing."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass

from fuzzer.history.records import Prompt
from fuzzer.prompts import canary
from tests.prompts.dress import question
from tests.prompts.styles import Shape, core, marks, shape

Spoil = Callable[[str, Prompt, Prompt, random.Random], str]
_Change = Callable[[list[str], list[str], random.Random], list[str]]


@dataclass(frozen=True, slots=True)
class Spoiled:
    """A wrong core or wrong marks, and what is wrong about them."""

    kind: str
    core: str
    marks: tuple[str, ...]


def _other_core(_: str, __: Prompt, other: Prompt, rng: random.Random) -> str:
    return core(other)


def _digit_off(said: str, _: Prompt, __: Prompt, rng: random.Random) -> str:
    places = [index for index, char in enumerate(said) if char.isdigit()]
    if not places:
        return said
    at = rng.choice(places)
    digit = rng.choice(
        [each for each in "0123456789" if each != said[at] and (each != "0" or at not in _leading(said))]
    )
    return said[:at] + digit + said[at + 1 :]


def _leading(said: str) -> set[int]:
    return {
        index for index, char in enumerate(said) if char.isdigit() and not said[max(0, index - 1) : index].isdigit()
    }


def _symbol_off(said: str, _: Prompt, __: Prompt, rng: random.Random) -> str:
    places = [index for index, char in enumerate(said) if char != "-"]
    at = rng.choice(places)
    return said[:at] + rng.choice([each for each in canary.ALPHABET if each != said[at].upper()]) + said[at + 1 :]


def _letter_off(said: str, _: Prompt, __: Prompt, rng: random.Random) -> str:
    places = [index for index, char in enumerate(said) if char.isalpha()]
    if not places:
        return said
    at = rng.choice(places)
    letter = rng.choice([each for each in "abcdefghijklmnoprstuw" if each != said[at].lower()])
    return said[:at] + (letter.upper() if said[at].isupper() else letter) + said[at + 1 :]


def _letter_lost(said: str, _: Prompt, __: Prompt, rng: random.Random) -> str:
    at = rng.choice([index for index, char in enumerate(said) if char.isalnum()])
    return said[:at] + said[at + 1 :]


def _end_lost(said: str, _: Prompt, __: Prompt, rng: random.Random) -> str:
    return said[:-1]


def _own_other(said: str, prompt: Prompt, __: Prompt, rng: random.Random) -> str:
    """A code of the prompt's own that is not the answer: the wrong row, an old value, an earlier turn's."""
    codes = [each.text for each in prompt.canaries if canary.CODE.fullmatch(each.text) and each.text not in said]
    return rng.choice(codes) if codes else said


def _either(said: str, _: Prompt, other: Prompt, rng: random.Random) -> str:
    return rng.choice(("{} or {}", "{1} or {0}", "{} / {}")).format(said, core(other))


def _then_other(said: str, _: Prompt, other: Prompt, rng: random.Random) -> str:
    return f"{said}\n{core(other)}"


def _parts(change: _Change) -> Spoil:
    return lambda said, _, other, rng: ", ".join(change(said.split(", "), core(other).split(", "), rng))


def _swapped(own: list[str], _: list[str], rng: random.Random) -> list[str]:
    at = rng.randrange(len(own) - 1)
    return [*own[:at], own[at + 1], own[at], *own[at + 2 :]]


def _replaced(own: list[str], other: list[str], rng: random.Random) -> list[str]:
    at = rng.randrange(len(own))
    return [*own[:at], rng.choice(other), *own[at + 1 :]]


def _dropped(own: list[str], _: list[str], rng: random.Random) -> list[str]:
    at = rng.randrange(len(own))
    return own[:at] + own[at + 1 :]


def _doubled(own: list[str], _: list[str], rng: random.Random) -> list[str]:
    at = rng.randrange(len(own))
    return [*own[: at + 1], *own[at:]]


def _added(own: list[str], other: list[str], rng: random.Random) -> list[str]:
    return [*own, rng.choice(other)]


def _reversed(own: list[str], _: list[str], rng: random.Random) -> list[str]:
    return own[::-1]


def _off_by_one(said: str, _: Prompt, __: Prompt, rng: random.Random) -> str:
    parts = said.split(", ")
    at = rng.randrange(len(parts))
    parts[at] = str(max(0, int(parts[at]) + rng.choice((-1, 1))))
    return ", ".join(parts)


def _operand(said: str, prompt: Prompt, __: Prompt, rng: random.Random) -> str:
    given = prompt.spec.get("given")
    return str(rng.choice(given)) if isinstance(given, list) and given else said


def _tenfold(said: str, _: Prompt, __: Prompt, rng: random.Random) -> str:
    return rng.choice((f"{said}0", f"1{said}", f"-{said}", f"{said}.5"))


def _half_pair(said: str, _: Prompt, other: Prompt, rng: random.Random) -> str:
    town, code = said.split(", ")
    other_town, other_code = core(other).split(", ")
    return rng.choice((f"{town}, {other_code}", f"{other_town}, {code}", town, code))


def _wrong_row(said: str, prompt: Prompt, __: Prompt, rng: random.Random) -> str:
    town, code = said.split(", ")
    rows = [line.split(" | ") for line in question(prompt).split("\n") if line.count(" | ") == 2]
    others = [each for each in rows if each[1] != town and each[0] != "Name"]
    if not others:
        return said
    row = rng.choice(others)
    return rng.choice((f"{row[1]}, {row[2]}", f"{town}, {row[2]}", f"{row[1]}, {code}"))


def _key_dropped(said: str, _: Prompt, __: Prompt, rng: random.Random) -> str:
    value = json.loads(said)
    del value[rng.choice(list(value))]
    return json.dumps(value)


def _key_added(said: str, _: Prompt, __: Prompt, rng: random.Random) -> str:
    return json.dumps({**json.loads(said), "note": "none"})


def _key_renamed(said: str, _: Prompt, __: Prompt, rng: random.Random) -> str:
    value = json.loads(said)
    key = rng.choice(list(value))
    return json.dumps({(key + "s" if each == key else each): part for each, part in value.items()})


def _value_swapped(said: str, _: Prompt, other: Prompt, rng: random.Random) -> str:
    value, theirs = json.loads(said), json.loads(core(other))
    keys = [key for key in value if theirs.get(key, value[key]) != value[key]]
    return json.dumps({**value, (key := rng.choice(keys)): theirs[key]}) if keys else said


def _piece_swapped(said: str, _: Prompt, other: Prompt, rng: random.Random) -> str:
    own, theirs = said.split("; "), core(other).split("; ")
    at = rng.randrange(len(own))
    return "; ".join([*own[:at], theirs[at % len(theirs)], *own[at + 1 :]])


def _piece_lost(said: str, _: Prompt, __: Prompt, rng: random.Random) -> str:
    pieces = said.split("; ")
    at = rng.randrange(len(pieces))
    return "; ".join(pieces[:at] + pieces[at + 1 :]) or said


def _word_lost(said: str, _: Prompt, __: Prompt, rng: random.Random) -> str:
    words = said.split(" ")
    at = rng.randrange(len(words))
    return " ".join(words[:at] + words[at + 1 :]) or said


SPOILS: dict[str, tuple[tuple[Shape, ...], Spoil]] = {
    "another prompt's": ((), _other_core),
    "digit off": ((), _digit_off),
    "letter off": (("names", "text", "pair", "lines", "object"), _letter_off),
    "letter lost": (("word", "names", "text", "pair", "lines", "object"), _letter_lost),
    "end lost": (("word", "names", "text", "pair", "object", "numbers"), _end_lost),
    "symbol off": (("word",), _symbol_off),
    "own other": (("word",), _own_other),
    "either": (("word", "number", "names", "text"), _either),
    "then another's": (("word", "number", "names", "text", "object", "lines"), _then_other),
    "swapped": (("names", "numbers"), _parts(_swapped)),
    "replaced": (("names", "numbers"), _parts(_replaced)),
    "item dropped": (("names", "numbers"), _parts(_dropped)),
    "item doubled": (("names", "numbers"), _parts(_doubled)),
    "item added": (("names", "numbers"), _parts(_added)),
    "reversed": (("names", "numbers"), _parts(_reversed)),
    "off by one": (("number", "numbers"), _off_by_one),
    "operand": (("number",), _operand),
    "tenfold": (("number",), _tenfold),
    "half a pair": (("pair",), _half_pair),
    "wrong row": (("pair",), _wrong_row),
    "key dropped": (("object",), _key_dropped),
    "key added": (("object",), _key_added),
    "key renamed": (("object",), _key_renamed),
    "value swapped": (("object",), _value_swapped),
    "piece swapped": (("text",), _piece_swapped),
    "piece lost": (("text",), _piece_lost),
    "word lost": (("text",), _word_lost),
}
"""What can be wrong with a core, by its shape (none: any)."""

FRAME_SPOILS = ("first dropped", "ticket dropped", "first another's", "ticket another's", "mark off", "marks swapped")

_ANY_ORDER = frozenset({"exactly-k"})

NOT_FOR: dict[str, frozenset[str]] = {"swapped": _ANY_ORDER, "reversed": _ANY_ORDER}
"""Changes that leave an answer of these families right."""

ECHO_IS_AN_ANSWER = frozenset({"echo", "echo-ids"})
"""Families whose question says all that the answer must: to repeat it is to answer."""


def spoil(prompt: Prompt, other: Prompt, rng: random.Random, kind: str) -> Spoiled | None:
    """The right answer of ``prompt`` with one thing wrong; None where that changes nothing.

    ``other`` is another prompt of the same family and level: some kinds take a value from it.
    """
    own, frame = core(prompt), marks(prompt)
    if kind in FRAME_SPOILS:
        wrong = _spoilt_frame(kind, frame, marks(other), rng)
        return Spoiled(kind, own, wrong) if wrong != frame else None
    if own == core(other):
        return None
    said = SPOILS[kind][1](own, prompt, other, rng)
    return None if said == own else Spoiled(kind, said, frame)


def kinds(prompt: Prompt) -> list[str]:
    """What can go wrong with an answer to this prompt."""
    own = shape(core(prompt))
    found = [
        kind
        for kind, (shapes, _) in SPOILS.items()
        if (not shapes or own in shapes) and prompt.family not in NOT_FOR.get(kind, ())
    ]
    return [*found, *FRAME_SPOILS] if marks(prompt) else found


def _spoilt_frame(kind: str, own: tuple[str, ...], other: tuple[str, ...], rng: random.Random) -> tuple[str, ...]:
    first, ticket = own
    if kind == "mark off":
        at = rng.randrange(2)
        off = _digit_off(own[at], NOBODY, NOBODY, rng)
        return (off, ticket) if at == 0 else (first, off)
    changed = {
        "first dropped": ("", ticket),
        "ticket dropped": (first, ""),
        "first another's": (other[0], ticket),
        "ticket another's": (first, other[1]),
        "marks swapped": other,
    }
    return changed[kind]


NOBODY = Prompt(id="nobody", family="", level="easy", messages=(), answer="")
