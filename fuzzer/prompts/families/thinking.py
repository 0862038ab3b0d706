"""Questions with the model's thinking switched off or on: thinking."""

from __future__ import annotations

from fuzzer.history.records import Canary, Level, Wants
from fuzzer.prompts import canary
from fuzzer.prompts.checks import single
from fuzzer.prompts.draws import Draws
from fuzzer.prompts.families.base import Family
from fuzzer.prompts.frame import Task

_ROOM_TO_THINK = 4096  # tokens


def thinking(rng: Draws, level: Level) -> Task:
    """Say who holds a code after swaps: after one, with thinking switched off (easy), or after four among four people,
    with thinking on and room for it (hard).

    The switch is the request's own: a batch then mixes rows that think and rows that do not, and a row that took its
    neighbour's mode, or reasoning that leaks into the answer, shows. Reasoning is kept apart and scanned like any text.
    """
    people, swaps = (2, 1) if level == "easy" else (4, 4)
    names = rng.names(people)
    codes = [canary.code(rng) for _ in names]
    facts = [f"{name} holds the code {code}." for name, code in zip(names, codes, strict=True)]
    held = dict(zip(names, codes, strict=True))
    for _ in range(swaps):
        one, other = rng.sample(names, 2)
        held[one], held[other] = held[other], held[one]
        facts.append(f"{one} and {other} swap codes.")
    asked = rng.choice(names)
    return Task(
        ask=f"{' '.join(facts)} Which code does {asked} hold now? Reply with the code only.",
        answer=held[asked],
        spec={"value": held[asked], "about": asked},
        items=tuple(names),
        codes=tuple(Canary(channel="user", text=code) for code in codes),
        elicits=("user",),
        wants=Wants(thinking="off") if level == "easy" else Wants(thinking="on", max_tokens=_ROOM_TO_THINK),
    )


FAMILIES = (
    Family(
        "thinking", "answer with thinking switched off or on", "reasoning in the answer, a neighbour's mode",
        thinking, single.code, {"easy": 0, "hard": 0},
    ),
)  # fmt: skip
