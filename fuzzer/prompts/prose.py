"""Filler: plain sentences that say nothing of importance, unlike in every prompt, and quick to make in any length."""

from __future__ import annotations

import random
from collections.abc import Iterator

_WORDS = {
    "p": (
        "boy carpenter child clerk cook cousin dancer doctor driver farmer father friend girl grocer guard guest "
        "guide judge lawyer maid mayor mother neighbour nurse painter pianist poet porter pupil sailor scholar "
        "shepherd singer sister soldier stranger student tailor teacher tourist trader tutor visitor waiter "
        "widow writer"
    ),
    "t": (
        "bag ball barrel basin basket blanket book bottle bowl broom bucket candle chair clock coin cup curtain "
        "drum fence flag fork hammer hat jar jug key kettle ladder lantern letter map mirror nail needle "
        "notebook parcel pencil pillow plate pot purse ribbon rope saddle shirt shovel spoon stool suitcase "
        "table teapot towel tray trunk vase violin wagon whistle"
    ),
    "q": (
        "ancient bare bent blue bright broad broken brown calm cheap clean cold cracked curious damp dark deep "
        "dull dusty empty faded fine flat gentle golden green grey heavy hollow large light little lonely long "
        "loose narrow new odd old pale patient plain polished quiet red rough round rusty sharp short silent "
        "simple small smooth soft square sturdy tall thick thin tidy tiny warm wet white wide yellow young"
    ),
    "d": (
        "admired borrowed bought brought carried chose cleaned closed counted covered described drew dropped "
        "emptied examined fetched filled folded forgot found gathered gave guarded hid held kept lent lifted "
        "lost measured mended moved noticed opened ordered packed painted praised promised pulled pushed "
        "repaired sold showed sketched stored tied touched traded turned washed watched weighed wrapped"
    ),
    "n": ("two three four five six seven eight nine ten eleven twelve thirteen fifteen sixteen eighteen twenty"),
}
_PHRASES = {
    "l": (
        "at the bakery;at the corner;at the gate;at the market;at the museum;at the school;behind the barn;"
        "behind the church;behind the curtain;beside the canal;beside the fountain;beside the oven;"
        "beside the road;by the lake;by the stairs;by the window;in the attic;in the cellar;in the garden;"
        "in the hall;in the kitchen;in the library;in the meadow;in the orchard;in the square;in the tower;"
        "in the valley;in the village;near the beach;near the bridge;near the cabin;near the forest;"
        "near the harbour;near the station;on the balcony;on the bench;on the hill;on the island;on the path;"
        "on the porch;on the roof;on the shore;outside the inn;outside the mill;outside the theatre;"
        "outside the town;under the arch;under the lamp;under the oak;under the table"
    ),
    "m": (
        "after breakfast;after dark;after lunch;after the concert;after the rain;after the storm;all afternoon;"
        "at dawn;at midnight;at noon;at sunset;before dinner;before sunrise;before the holidays;"
        "during the winter;early in the week;every other day;in April;in August;in March;in October;"
        "in the autumn;in the evening;in the morning;in the spring;last Friday;last month;last Sunday;"
        "late at night;long ago;on Monday;on Saturday;on the first day;on Thursday;on Tuesday;once a year;"
        "one summer;that week;two years ago;without delay"
    ),
}
_FORMS = (
    "The {q} {p} {d} the {q} {t} {l}.",
    "{m}, a {p} {d} {n} {q} {t}s {l}.",
    "The {p} and the {p} {d} a {t} {l}.",
    "{l}, the {p} {d} the {q} {t}, and the {p} {d} a {t}.",
    "Nobody knew why the {p} {d} the {t} {m}.",
    "{m}, the {q} {t} was still {l}, where the {p} {d} it.",
    "One {q} {t} and {n} {t}s stood {l} when the {p} came.",
    "The {p} said that the {t} was {q}, but the {p} {d} it {m}.",
)
_LISTS = {
    **{slot: words.split() for slot, words in _WORDS.items()},
    **{slot: phrases.split(";") for slot, phrases in _PHRASES.items()},
}
_TOKENS_A_WORD = 1.16  # of common models, the punctuation counted in


def sentences(rng: random.Random, tokens: int) -> list[str]:
    """Sentences of about so many tokens together; at least one."""
    found: list[str] = []
    words = 0
    while not found or words * _TOKENS_A_WORD < tokens:
        found.append(_sentence(rng))
        words += found[-1].count(" ") + 1
    return found


def _sentence(rng: random.Random) -> str:
    text = "".join(_filled(rng, rng.choice(_FORMS)))
    return text[0].upper() + text[1:]


def _filled(rng: random.Random, form: str) -> Iterator[str]:
    plain, *slots = form.split("{")
    yield plain
    for slot in slots:
        yield rng.choice(_LISTS[slot[0]])
        yield slot[2:]
