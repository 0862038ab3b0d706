"""Questions with a rule that an answer may keep or break: exactly-k, forbidden-word and system-fact."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import JsonValue

from fuzzer.history.records import Canary, Level
from fuzzer.prompts import canary
from fuzzer.prompts.checks import barred, chosen, facts
from fuzzer.prompts.draws import Draws
from fuzzer.prompts.families.base import Family
from fuzzer.prompts.frame import Task

_SHOWN = (
    ("Bluebird Redwood", "Blackboard Greenhouse", "Whitefish Goldring"),
    ("Graystone Brownfield", "Silverfish Redbridge", "Greenland Blackwell"),
)
_SIDES = ("north", "south", "east", "west")
_WORDS = ("red", "old", "tall", "quiet", "green", "small", "round", "brave")
_WITHOUT = (("Bluebird Redwood", "old"), ("Blackboard Greenhouse", "tall"))
_SWAPS = (("lantern", "candle"), ("basket", "bottle"), ("ladder", "carpet"), ("kettle", "blanket"), ("drum", "flute"))
_PLACES = ("ship", "station", "garden", "bridge")


def exactly_k(rng: Draws, level: Level) -> Task:
    """List so many names: two of three after worked examples (easy), three of six (medium), or the four of twelve that
    live on one side of a town (hard).

    The number is the rule: an answer whose tail was lost, doubled or taken from another row breaks it even where every
    name in it is the prompt's own.
    """
    if level == "hard":
        return _on_one_side(rng)
    count, drawn = (2, rng.names(3)) if level == "easy" else (3, rng.names(6))
    if level == "easy":
        earlier = tuple((_ask_two(shown), ", ".join(shown[:2])) for shown in _SHOWN)
        return _choice(_ask_two(drawn), drawn[:count], drawn, count, drawn, earlier)
    ask = f"Write exactly three of these six names, whichever you like, separated by commas: {', '.join(drawn)}"
    return _choice(ask, drawn[:count], drawn, count, drawn)


def _ask_two(drawn: list[str] | tuple[str, ...]) -> str:
    return f"Write exactly two of these names: {', '.join(drawn)}"


def _on_one_side(rng: Draws) -> Task:
    drawn, asked = rng.names(12), rng.choice(_SIDES)
    others = [side for side in _SIDES if side != asked]
    places = [asked] * 4 + [rng.choice(others) for _ in range(8)]
    rng.shuffle(places)
    rows = "\n".join(f"{name}: {place}" for name, place in zip(drawn, places, strict=True))
    wanted = [name for name, place in zip(drawn, places, strict=True) if place == asked]
    ask = f"{rows}\nExactly four of these people live in the {asked}. List exactly those four, separated by commas."
    return _choice(ask, wanted, wanted, 4, drawn)


def _choice(
    ask: str, answer: list[str], among: list[str], count: int, given: list[str],
    earlier: tuple[tuple[str, str], ...] = (), shunned: tuple[str, ...] = (),
) -> Task:  # fmt: skip
    spec: dict[str, JsonValue] = {
        "value": list(answer), "among": list(among), "count": count, "given": list(given), "barred": list(shunned),
        "ordered": bool(shunned),
    }  # fmt: skip
    return Task(ask=ask, answer=", ".join(answer), spec=spec, items=tuple(given), earlier=earlier)


def forbidden_word(rng: Draws, level: Level) -> Task:
    """Write something and never a given word: a name without the word beside it (easy), the other names of a list or
    the other name of a person (medium), or a line with another word in its place (hard).

    What is forbidden stands in the prompt and is what a copying model says first: a draft that copies it must be
    rejected by every verification, and one that slips through breaks the rule in plain sight.
    """
    if level == "easy":
        name, word = rng.name(), rng.choice(_WORDS)
        earlier = tuple((_ask_without(*shown), shown[0]) for shown in _WITHOUT)
        spec: dict[str, JsonValue] = {"value": name, "barred": [word]}
        return Task(_ask_without(name, word), name, spec, items=(name,), earlier=earlier)
    if level == "hard":
        return _line_without(rng)
    return _others(rng) if rng.random() < 0.5 else _other_name(rng)


def _ask_without(name: str, word: str) -> str:
    return f"Write this without the word {word}: {name} {word}"


def _others(rng: Draws) -> Task:
    drawn = rng.names(4)
    shunned = rng.choice(drawn)
    kept = [name for name in drawn if name != shunned]
    ask = f"Copy the other three names in the same order and never write {shunned}: {', '.join(drawn)}"
    return _choice(ask, kept, kept, 3, drawn, shunned=(shunned,))


def _other_name(rng: Draws) -> Task:
    shunned, kept = rng.names(2)
    ask = (
        f"The captain of the ship is {shunned}. The other name of the captain is {kept}. Never write {shunned}. "
        "Who is the captain?"
    )
    return _choice(ask, [kept], [kept], 1, [shunned, kept], shunned=(shunned,))


def _line_without(rng: Draws) -> Task:
    first, second, third = rng.names(3)
    code = canary.code(rng)
    shunned, other = rng.choice(_SWAPS)
    line = f"{first} carried the {{0}} with the code {code} to {second} and the {{0}} stayed with {third}"
    value = line.format(other)
    ask = (
        f"Write this line again with {other} in place of {shunned}, and never write {shunned}:\n{line.format(shunned)}"
    )
    spec: dict[str, JsonValue] = {"value": value, "barred": [shunned]}
    codes = (Canary(channel="user", text=code),)
    return Task(ask, value, spec, items=(first, second, third), codes=codes)


def system_fact(rng: Draws, level: Level) -> Task:
    """Say what the system message told, and the last message asks for: its one fact (easy), one of four, after a turn
    about another (medium), or the name and a code out of six facts (hard).

    The answer stands in no message of the user's. A request that was given another one's prefix, or whose system
    message was lost, answers with a neighbour's fact or none; the code in it says whose.
    """
    known = _facts(rng)
    if level == "easy":
        asked = known[0] if rng.random() < 0.2 else rng.choice(known[2:])
        return _about(asked, [asked], ())
    if level == "medium":
        told = [known[0], known[1], *rng.sample(known[2:], 2)]
        other, asked = told[rng.randrange(2)], rng.choice(told[2:])
        rng.shuffle(told)
        return _about(asked, told, ((f"What is the {other.what}?", other.value),))
    return _about_two(rng, known)


@dataclass(frozen=True, slots=True)
class _Fact:
    what: str
    value: str

    @property
    def told(self) -> str:
        """The sentence that plants it."""
        return f"The {self.what} is {self.value}."


def _facts(rng: Draws) -> list[_Fact]:
    assistant, town = rng.names(2)
    codes = [_Fact(f"name of this {place}", canary.code(rng)) for place in _PLACES]
    return [_Fact("name of this assistant", assistant), _Fact("name of this town", town), *codes]


def _about(asked: _Fact, told: list[_Fact], earlier: tuple[tuple[str, str], ...]) -> Task:
    return _told(
        told,
        f"What is the {asked.what}? Reply with the {asked.what} only.",
        asked.value,
        {"value": asked.value, "about": asked.what},
        earlier,
    )


def _about_two(rng: Draws, known: list[_Fact]) -> Task:
    assistant, other, asked = known[0], known[1], rng.choice(known[2:])
    told = rng.sample(known, len(known))
    ask = f"What are the {assistant.what} and the {asked.what}? Separate them by a comma."
    earlier = ((f"What is the {other.what}?", other.value),)
    spec: dict[str, JsonValue] = {"value": [assistant.value, asked.value], "about": ""}
    return _told(told, ask, f"{assistant.value}, {asked.value}", spec, earlier)


def _told(
    told: list[_Fact], ask: str, answer: str, spec: dict[str, JsonValue], earlier: tuple[tuple[str, str], ...]
) -> Task:
    texts = [fact.value for fact in told]
    codes = [text for text in texts if canary.CODE.fullmatch(text)]
    return Task(
        ask=ask,
        answer=answer,
        spec=spec,
        items=tuple(text for text in texts if text not in codes),
        earlier=earlier,
        system=" ".join(fact.told for fact in told),
        codes=tuple(Canary(channel="system", text=code) for code in codes),
        elicits=("system",) if any(code in answer for code in codes) else (),
    )


FAMILIES = (
    Family(
        "exactly-k", "list exactly so many names", "a lost or doubled item, another request's items",
        exactly_k, chosen.choice, {"easy": 2, "medium": 1, "hard": 1},
    ),
    Family(
        "forbidden-word", "answer without a given word", "a draft that copies what is forbidden",
        forbidden_word, barred.without_words, {"easy": 2, "medium": 1, "hard": 1},
    ),
    Family(
        "system-fact", "say what the system message told", "a lost or foreign system message",
        system_fact, facts.fact, {"easy": 5, "medium": 3, "hard": 2},
    ),
)  # fmt: skip
