"""Questions of which the last of many counts: conversation."""

from __future__ import annotations

from dataclasses import dataclass, field

from fuzzer.history.records import Level
from fuzzer.prompts.checks import named
from fuzzer.prompts.draws import Draws
from fuzzer.prompts.families.base import Family
from fuzzer.prompts.frame import Task

_ORDINALS = ("first", "second", "third", "fourth", "fifth")
_SIZE = {"medium": 4, "hard": 5}
_TURNS = {"medium": (5, 7), "hard": (8, 12)}
_OTHER = {"red": "blue", "blue": "red"}


def conversation(rng: Draws, level: Level) -> Task:
    """Correct a name in the last of 3 turns (easy), or ask for names of two lists, turn by turn, and change the list in
    the last one: 5 to 7 turns, names corrected too (medium), or 8 to 12, the wanted name itself corrected (hard).

    An engine that loses a turn, takes one from a neighbour or reuses the cache of a shorter history answers with what
    was right a turn ago: every earlier answer is another name of the same prompt.
    """
    if level == "easy":
        return _corrected(rng)
    talk = _Talk.begin(rng, level)
    turns = rng.randint(*_TURNS[level])
    corrected = rng.randrange(1, turns - 1) if level == "hard" else 0
    for index in range(1, turns - 1):
        talk.turn(rng, correct_wanted=index == corrected, last_but_one=index == turns - 2)
    ask = f"No, use the {talk.wanted[0]} list instead. {talk.question(talk.wanted[1])}"
    answer = talk.lists[talk.wanted[0]][talk.wanted[1]]
    return Task(ask=ask, answer=answer, spec={"value": answer}, items=tuple(talk.names), earlier=tuple(talk.earlier))


def _corrected(rng: Draws) -> Task:
    red, blue, new = rng.names(3)
    return Task(
        ask=f"No, {_ask_easy('blue', new)}",
        answer=new,
        spec={"value": new},
        items=(red, blue, new),
        earlier=tuple((_capitalised(_ask_easy(*each)), each[1]) for each in (("red", red), ("blue", blue))),
    )


def _ask_easy(colour: str, name: str) -> str:
    return f"the {colour} name is {name}. What is the {colour} name?"


def _capitalised(text: str) -> str:
    return text[0].upper() + text[1:]


@dataclass(slots=True)
class _Talk:
    """Two lists, the one in use, and what was said so far; ``wanted`` (list, place) is kept for the last question."""

    lists: dict[str, list[str]]
    wanted: tuple[str, int]
    using: str
    names: list[str]
    earlier: list[tuple[str, str]] = field(default_factory=list)

    @classmethod
    def begin(cls, rng: Draws, level: Level) -> _Talk:
        size = _SIZE[level]
        names = rng.names(2 * size)
        lists = {"red": names[:size], "blue": names[size:]}
        wanted = (rng.choice(tuple(lists)), rng.randrange(size))
        talk = cls(lists, wanted, _OTHER[wanted[0]], names)
        shown = "\n".join(f"{colour.capitalize()} list: {', '.join(listed)}" for colour, listed in lists.items())
        talk._ask(rng, f"{shown}\nUse the {talk.using} list.")
        return talk

    def turn(self, rng: Draws, *, correct_wanted: bool, last_but_one: bool) -> None:
        """One more question and its answer; the last but one leaves the list in use that is not wanted."""
        head = ""
        if correct_wanted:
            head = self._correct(rng, *self.wanted)
        elif rng.random() < 0.25:
            head = self._correct(rng, rng.choice(tuple(self.lists)), rng.randrange(len(self.lists["red"])))
        back = last_but_one and self.using == self.wanted[0]
        if back or (not last_but_one and rng.random() < 0.4):
            self.using = _OTHER[self.using]
            head = f"{head} No, use the {self.using} list instead.".strip()
        self._ask(rng, head)

    def _correct(self, rng: Draws, colour: str, place: int) -> str:
        new, old = rng.name(), self.lists[colour][place]
        self.lists[colour][place] = new
        self.names.append(new)
        return f"Correction: {old} is now {new}."

    def _ask(self, rng: Draws, head: str) -> None:
        listed = self.lists[self.using]
        place = rng.choice([place for place in range(len(listed)) if (self.using, place) != self.wanted])
        self.earlier.append((f"{head} {self.question(place)}".strip(), listed[place]))

    @staticmethod
    def question(place: int) -> str:
        """The question for a place of the list in use."""
        return f"Which name comes {_ORDINALS[place]}?"


FAMILIES = (
    Family(
        "conversation", "answer the last question of a long talk", "a lost or foreign turn, an earlier turn's answer",
        conversation, named.name, {"easy": 3, "medium": 2, "hard": 1},
    ),
)  # fmt: skip
