"""Answers that are one call of a function."""

from __future__ import annotations

import json
from typing import Any

from fuzzer.history.records import Prompt, ToolCall
from fuzzer.prompts.checks.found import Found, decoys, fold, foreign, missing, wrong
from fuzzer.prompts.checks.objects import objects
from fuzzer.prompts.checks.schemas import loosely, same
from fuzzer.prompts.reply import Reply

_LONGEST = 20_000  # characters of arguments that are read


def call(prompt: Prompt, reply: Reply) -> Found:
    """The answer is one call, of the function and with the arguments in ``spec["call"]``; words beside it are verbose.

    A call that is written in the text instead is a dropped constraint, one of another function "wrong-tool", and words
    without a call "missing-call". Numbers may come as text: nothing but the description tells the type.
    """
    wanted: Any = prompt.spec["call"]
    if not reply.calls:
        return _uncalled(wanted, prompt, reply)
    wrong_ones = [each for each in reply.calls if not _right(each, wanted)]
    if wrong_ones:
        return wrong(_kind(wrong_ones[0], wanted, prompt), _shown(wrong_ones[0]), wanted)
    if len(reply.calls) > 1:
        return wrong("wrong-value", f"the call {len(reply.calls)} times", wanted)
    exact = same(_arguments(reply.calls[0]), wanted["arguments"])
    return Found("right" if exact and not reply.text.strip() else "verbose")


def _right(said: ToolCall, wanted: dict[str, Any]) -> bool:
    arguments = _arguments(said)
    if said.name != wanted["name"] or not isinstance(arguments, dict):
        return False
    if arguments.keys() != wanted["arguments"].keys():
        return False
    return all(_alike(arguments[key], part) for key, part in wanted["arguments"].items())


def _alike(said: Any, wanted: Any) -> bool:
    """Whether an argument is the one asked for; text must be the same to the letter."""
    if isinstance(said, str) and isinstance(wanted, str):
        return said.strip() == wanted
    return same(said, wanted) or (type(said) is str and loosely(said) == loosely(wanted))


def _arguments(said: ToolCall) -> Any:
    """The arguments as a value; None where they are no JSON."""
    if len(said.arguments) > _LONGEST:
        return None
    try:
        return json.loads(said.arguments)
    except (ValueError, RecursionError):
        return None


def _kind(said: ToolCall, wanted: dict[str, Any], prompt: Prompt) -> str:
    arguments = _arguments(said)
    if any(same(arguments, json.loads(decoy)) for decoy in decoys(prompt) if decoy.startswith("{")):
        return "wrong-last-message"
    if foreign(prompt, Reply.of(f"{said.name}\n{said.arguments[:_LONGEST]}")):
        return "another-question"
    if said.name != wanted["name"]:
        return "wrong-tool"
    if not isinstance(arguments, dict):
        return "wrong-value"
    asked = wanted["arguments"]
    fewer = len(arguments) < len(asked) and all(
        key in asked and _alike(part, asked[key]) for key, part in arguments.items()
    )
    return "dropped-constraint" if fewer else "wrong-value"


def _uncalled(wanted: dict[str, Any], prompt: Prompt, reply: Reply) -> Found:
    """What words without a call are worth: the call written out, another prompt's content, or nothing of the kind."""
    arguments = wanted["arguments"]
    values = [fold(part) for part in arguments.values() if isinstance(part, str)]
    said = fold(reply.bare)
    written = any(set(map(fold, each.value)) & {*arguments, "arguments", "parameters"} for each in objects(reply.text))
    if all(value in said for value in values) and (written or f"{wanted['name']}(" in reply.text):
        return Found("wrong", "dropped-constraint", "the call is written in the text, and none is made")
    found = missing(prompt, reply)
    if found.guessed or found.value == "none":
        return Found("wrong", "missing-call", f"no call is made; {found.note}", guessed=True)
    return found


def _shown(said: ToolCall) -> str:
    return f"{said.name}({said.arguments[:_LONGEST]})"
