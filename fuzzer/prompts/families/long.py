"""Questions after a long text, and questions with a long answer: needle, alphabet-cycle and long-count."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase

from pydantic import JsonValue

from fuzzer.history.records import Canary, Level, Wants
from fuzzer.prompts import canary
from fuzzer.prompts.checks import sequence, single
from fuzzer.prompts.draws import Draws
from fuzzer.prompts.families.base import Family
from fuzzer.prompts.frame import Task
from fuzzer.prompts.prose import sentences

_PADS = {"easy": 150, "medium": 600, "hard": 2000}
_NEEDLES = {"easy": 1, "medium": 3, "hard": 6}
_ENTRIES = {"medium": 60, "hard": 48}
_COUNTS = {"medium": 60, "hard": 120}
_ROOM = {"medium": 640, "hard": 1280}  # tokens; a digit may be one of its own


def needle(rng: Draws, level: Level) -> Task:
    """Find one code in a long text that no other prompt has: one is in it (easy), three (medium), or six (hard).

    The text comes first and the question last, so every block of the prompt's cache is its own, and long prefills meet
    short decodes: a block that was mapped to another request, or a chunk of the prefill that was lost, takes the one
    sentence that matters with it.
    """
    owners = rng.names(_NEEDLES[level])
    codes = [canary.code(rng) for _ in owners]
    lines = sentences(rng, rng.pad or _PADS[level])
    for owner, code in zip(owners, codes, strict=True):
        lines.insert(rng.randrange(len(lines) + 1), f"The code of {owner} is {code}.")
    wanted = rng.randrange(len(owners))
    return Task(
        ask=f"{' '.join(lines)}\n\nWhat is the code of {owners[wanted]}? Reply with the code only.",
        answer=codes[wanted],
        spec={"value": codes[wanted], "about": owners[wanted]},
        items=tuple(owners),
        codes=tuple(Canary(channel="user", text=code) for code in codes),
        elicits=("user",),
    )


def alphabet_cycle(rng: Draws, level: Level) -> Task:
    """Go on with a cycle, entry by entry: sixty letters of the alphabet (medium), or three names in turn (hard).

    What comes next is known at every place and hardly any of it is hard, so the first entry that is wrong tells where
    a long answer went astray: late corruption, a neighbour's row after hundreds of good tokens, a loop.
    """
    count = _ENTRIES[level]
    if level == "medium":
        first = rng.randrange(26)
        cycle: Sequence[str] = ascii_lowercase[first:] + ascii_lowercase[:first]
        what = f"the letters of the alphabet in order, from {cycle[0]} on, and again from a after z"
    else:
        cycle = rng.names(3)
        what = f"these three names in turn, over and over: {', '.join(cycle)}"
    entries = [f"{place + 1} {cycle[place % len(cycle)]}" for place in range(count)]
    ask = (
        f"Number {what}. Write {count} entries on one line, separated by commas. It begins like this: "
        f"{', '.join(entries[:4])}"
    )
    return _long(rng, level, ask, entries, tuple(cycle) if level == "hard" else ())


def long_count(rng: Draws, level: Level) -> Task:
    """Count on for a long time: sixty numbers (medium), or a hundred and twenty in steps (hard).

    Every number follows from the one before it, so a skipped, doubled or foreign token shows at its place, however late
    it comes; a runaway shows as numbers beyond the last.
    """
    count = _COUNTS[level]
    step = 1 if level == "medium" else rng.randrange(3, 10)
    start = rng.randrange(1000, 8000)
    numbers = [str(start + step * place) for place in range(count)]
    ask = f"Write the numbers from {numbers[0]} to {numbers[-1]} in steps of {step} on one line, separated by commas."
    return _long(rng, level, ask, numbers)


def _long(rng: Draws, level: Level, ask: str, entries: list[str], items: tuple[str, ...] = ()) -> Task:
    """A long line of entries, under a code that tells whose it is."""
    head = canary.code(rng)
    value: list[JsonValue] = [*entries]
    return Task(
        ask=f"Write the code {head} on the first line. Then do this on the second line and write nothing else.\n{ask}",
        answer=f"{head}\n{', '.join(entries)}",
        spec={"value": value, "head": head},
        items=items,
        codes=(Canary(channel="user", text=head),),
        elicits=("user",),
        wants=Wants(max_tokens=_ROOM[level]),
        framed=False,
    )


FAMILIES = (
    Family(
        "needle", "find one code in a long text", "lost or foreign blocks of a long prompt",
        needle, single.code, {"easy": 2, "medium": 1, "hard": 0},
    ),
    Family(
        "alphabet-cycle", "go on with a cycle for long", "late corruption, loops",
        alphabet_cycle, sequence.sequence, {"medium": 1, "hard": 0},
    ),
    Family(
        "long-count", "count on for long", "late corruption, skipped tokens, runaway",
        long_count, sequence.sequence, {"medium": 1, "hard": 0},
    ),
)  # fmt: skip
