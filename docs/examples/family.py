"""Questions that are answered by a name: whose code is this?"""

from __future__ import annotations

from fuzzer.history.records import Canary, Level
from fuzzer.prompts import canary
from fuzzer.prompts.checks import named
from fuzzer.prompts.draws import Draws
from fuzzer.prompts.families.base import Family
from fuzzer.prompts.frame import Task

_ROWS = {"easy": 2, "medium": 4, "hard": 12}


def owner_of_code(rng: Draws, level: Level) -> Task:
    """Find the owner of a code among two, four or twelve."""
    owners = rng.names(_ROWS[level])
    codes = [canary.code(rng) for _ in owners]
    wanted = rng.randrange(len(owners))
    facts = "\n".join(f"{owner} has the code {code}." for owner, code in zip(owners, codes, strict=True))
    return Task(
        ask=f"{facts}\nWho has the code {codes[wanted]}? Reply with the name only.",
        answer=owners[wanted],
        spec={"value": owners[wanted]},
        items=tuple(owners),
        codes=tuple(Canary(channel="user", text=code) for code in codes),
    )


FAMILIES = (
    Family(
        name="owner-of-code",
        summary="say whose code it is",
        exposes="the wrong row, another request's names",
        pose=owner_of_code,
        check_reply=named.name,
        weights={"easy": 2, "medium": 2, "hard": 1},
    ),
)
