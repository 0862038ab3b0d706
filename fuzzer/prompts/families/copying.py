"""Questions whose answer is copied from the prompt, piece by piece: echo-ids."""

from __future__ import annotations

from fuzzer.history.records import Canary, Channel, Level
from fuzzer.prompts import canary
from fuzzer.prompts.checks import several
from fuzzer.prompts.draws import Draws
from fuzzer.prompts.families.base import Family
from fuzzer.prompts.frame import Task

_IDS = {"easy": 2, "medium": 4, "hard": 8}


def echo_ids(rng: Draws, level: Level) -> Task:
    """Copy codes in order: two after examples (easy), four, at times of an earlier message (medium), or eight (hard).

    Every symbol is random, so nothing but the prompt can supply it: a token that was taken from another row, or that a
    verification let pass, shows at once, and two lists in one prompt show whether the right one was read.
    """
    wanted = _codes(rng, _IDS[level])
    if level == "medium" and rng.random() < 0.5:
        return _kept(wanted)
    shown = [_codes(rng, 2), _codes(rng, 2)] if level == "easy" else [_codes(rng, 4)]
    return Task(
        ask=_ask(wanted),
        answer=", ".join(wanted),
        spec={"value": list(wanted)},
        earlier=tuple((_ask(codes), ", ".join(codes)) for codes in shown),
        codes=(*_canaries("history", *(code for codes in shown for code in codes)), *_canaries("user", *wanted)),
        elicits=("user",),
    )


def _kept(wanted: list[str]) -> Task:
    return Task(
        ask="Copy the codes that I gave you to keep, in the same order. Reply with the codes only.",
        answer=", ".join(wanted),
        spec={"value": list(wanted)},
        earlier=((f"Keep these codes: {', '.join(wanted)}", "Kept."),),
        codes=_canaries("history", *wanted),
        elicits=("history",),
    )


def _ask(codes: list[str]) -> str:
    return f"Copy the codes: {', '.join(codes)}"


def _codes(rng: Draws, count: int) -> list[str]:
    return [canary.code(rng) for _ in range(count)]


def _canaries(channel: Channel, *texts: str) -> tuple[Canary, ...]:
    return tuple(Canary(channel=channel, text=text) for text in texts)


FAMILIES = (
    Family(
        "echo-ids", "copy opaque codes in order", "miscopied or swapped tokens, another request's codes",
        echo_ids, several.codes_in_order, {"easy": 4, "medium": 2, "hard": 2},
    ),
)  # fmt: skip
