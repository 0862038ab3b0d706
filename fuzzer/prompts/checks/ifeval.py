"""The verifiable instructions of IFEval (Zhou et al. 2023, arXiv:2311.07911), by their ids in the public data set.

They say whether the constraints were kept, not whether the question was answered: a reply to another question can
keep them all. Bleed and divergence are for other oracles to tell; who breaks an instruction has dropped a constraint.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import JsonValue

from fuzzer.history.records import Prompt
from fuzzer.prompts.checks.found import Found, earlier_answer, foreign
from fuzzer.prompts.checks.ifeval_counts import COUNTS
from fuzzer.prompts.checks.ifeval_forms import FORMS
from fuzzer.prompts.checks.ifeval_rules import Rule
from fuzzer.prompts.reply import Reply

_RULES: dict[str, Rule] = {**COUNTS, **FORMS}

SUPPORTED: frozenset[str] = frozenset(_RULES)
"""The ids of all instructions that can be checked."""


def validate(instruction_id: str, kwargs: Mapping[str, JsonValue]) -> None:
    """Nothing, if the instruction can be checked with these arguments; otherwise ValueError says why not."""
    try:
        _rule(instruction_id).arguments(kwargs)
    except ValueError as error:
        raise ValueError(f"{instruction_id}: {error}") from error


def verify(instruction_id: str, kwargs: Mapping[str, JsonValue], prompt_text: str, response: str) -> bool:
    """Whether a response, taken as it is, holds to an instruction; a language that cannot be told does not count.

    ValueError as in ``validate``.
    """
    return _holds(instruction_id, kwargs, prompt_text, response) is True


def extract(prompt: Prompt, reply: Reply) -> Found:
    """Right where every instruction of ``spec["instructions"]`` holds, verbose where each does in some loose reading.

    Loose readings, as in the public evaluation, leave out the asterisks, the first line, the last line, or several of
    these. Nothing is found where no instruction is broken, but the language of the reply cannot be told.
    """
    asked = prompt.messages[-1].content if prompt.messages else ""
    loosely, untold = False, ""
    for instruction_id, kwargs in _instructions(prompt):
        held = _holds(instruction_id, kwargs, asked, reply.text)
        if held:
            continue
        loose = [_holds(instruction_id, kwargs, asked, reading) for reading in _readings(reply.text)]
        if not any(loose) and held is False:
            return _broken(instruction_id, prompt, reply)
        loosely = loosely or any(loose)
        untold = untold if any(loose) else instruction_id
    if untold:
        return Found("none", "no-answer", f"cannot tell whether {untold} holds")
    return Found("verbose" if loosely else "right")


def _rule(instruction_id: str) -> Rule:
    if instruction_id not in _RULES:
        (like,) = difflib.get_close_matches(instruction_id, _RULES, n=1, cutoff=0)
        raise ValueError(f"there is no such instruction; the nearest is {like}")
    return _RULES[instruction_id]


def _holds(instruction_id: str, kwargs: Mapping[str, JsonValue], prompt_text: str, response: str) -> bool | None:
    if not response.strip():
        return False
    rule = _rule(instruction_id)
    return rule.holds(rule.arguments(kwargs), prompt_text, response)


def _instructions(prompt: Prompt) -> Iterator[tuple[str, dict[str, JsonValue]]]:
    listed: Any = prompt.spec["instructions"]
    for each in listed:
        yield str(each["id"]), dict(each.get("kwargs") or {})


def _readings(text: str) -> Iterator[str]:
    """The text without its first line, its last line, or both, and each of these without asterisks."""
    rest = text.strip()
    without_first, without_last = rest.partition("\n")[2], rest.rpartition("\n")[0]
    for reading in (rest, without_first, without_last, without_first.rpartition("\n")[0]):
        yield reading.strip()
        yield reading.replace("*", "").strip()


def _broken(instruction_id: str, prompt: Prompt, reply: Reply) -> Found:
    """A broken instruction, or the better explanation: content of an earlier turn or of another prompt."""
    note = f"{instruction_id} does not hold"
    if earlier_answer(prompt, reply):
        return Found("wrong", "wrong-last-message", note)
    return Found("wrong", "another-question" if foreign(prompt, reply) else "dropped-constraint", note)
