"""Questions that are answered by two codes of a list, the later one first."""

from __future__ import annotations

from fuzzer.history.records import Canary, Level
from fuzzer.prompts import canary
from fuzzer.prompts.checks import several
from fuzzer.prompts.draws import Draws
from fuzzer.prompts.families.base import Family
from fuzzer.prompts.frame import Task

_ROWS = {"easy": 3, "medium": 5, "hard": 12}


def two_codes(rng: Draws, level: Level) -> Task:
    """Find two codes among three, five or twelve, and give them in another order than they stand in.

    The other order matters: a reply that only repeats the list, and is cut off there, must not seem to be right.
    """
    owners = rng.names(_ROWS[level])
    codes = [canary.code(rng) for _ in owners]
    earlier, later = sorted(rng.sample(range(len(owners)), 2))
    facts = "\n".join(f"{owner}: {code}" for owner, code in zip(owners, codes, strict=True))
    wanted = [codes[later], codes[earlier]]
    return Task(
        ask=f"{facts}\nWhat is the code of {owners[later]}, and that of {owners[earlier]}? Reply with the two codes.",
        answer=", ".join(wanted),
        spec={"value": [*wanted]},
        items=tuple(owners),
        codes=tuple(Canary(channel="user", text=code) for code in codes),
        elicits=("user",),
    )


FAMILIES = (
    Family(
        name="two-codes",
        summary="find two codes of a list",
        exposes="the wrong row, another request's list",
        pose=two_codes,
        check_reply=several.codes_in_order,
        weights={"easy": 2, "medium": 2, "hard": 1},
    ),
)
