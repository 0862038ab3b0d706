"""Answers that are JSON under a schema: every key and value as asked for, and of its own type."""

from __future__ import annotations

from typing import Any

from fuzzer.history.records import Prompt
from fuzzer.prompts.checks.found import Found, decoys, fold, foreign, missing, right, wrong
from fuzzer.prompts.checks.objects import Object, objects
from fuzzer.prompts.reply import Reply, last_cue


def schema_object(prompt: Prompt, reply: Reply) -> Found:
    """The answer is the object ``spec["value"]``, keys in whatever order; it must be JSON to the letter.

    A type that the schema forbids, a key too few and a key too many are dropped constraints.
    """
    value: Any = prompt.spec["value"]
    found = [each for each in objects(reply.text) if set(map(fold, each.value)) & set(value)]
    if not found:
        return missing(prompt, reply)
    chosen = _settled(found, reply.text)
    if chosen.strict and same(chosen.value, value):
        return right(Reply.of(f"{reply.text[: chosen.start]}\n{reply.text[chosen.end :]}").only([]))
    return wrong(_kind(chosen, value, prompt), reply.text[chosen.start : chosen.end], value)


def same(said: Any, wanted: Any) -> bool:
    """Whether two JSON values are equal, types included (but 7.0 is 7)."""
    if isinstance(said, dict) and isinstance(wanted, dict):
        return said.keys() == wanted.keys() and all(same(said[key], wanted[key]) for key in wanted)
    if isinstance(said, list) and isinstance(wanted, list):
        return len(said) == len(wanted) and all(map(same, said, wanted))
    if isinstance(said, bool) or isinstance(wanted, bool):
        return said is wanted
    if isinstance(said, int | float) and isinstance(wanted, int | float):
        return said == wanted
    return type(said) is type(wanted) and bool(said == wanted)


def loosely(value: Any) -> Any:
    """The value with numbers and truth values as they read, whatever their type."""
    if isinstance(value, dict):
        return {str(key): loosely(part) for key, part in value.items()}
    if isinstance(value, list):
        return [loosely(part) for part in value]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return fold(str(value)) if isinstance(value, bool | int | float | str) else value


def _settled(found: list[Object], said: str) -> Object:
    """The first object after the last "answer" cue, or the last; another one right behind it takes its place."""
    cue = last_cue(said)
    after = [each for each in found if each.start >= cue] if cue is not None else found[-1:]
    chosen, *later = after or found[-1:]
    for each in later:
        if any(map(str.isalnum, said[chosen.end : each.start])):
            break
        chosen = each
    return chosen


def _kind(chosen: Object, value: dict[str, Any], prompt: Prompt) -> str:
    said = chosen.value
    if any(same(said, each.value) for decoy in decoys(prompt) for each in objects(decoy)):
        return "wrong-last-message"
    if foreign(prompt, Reply.of(_texts(said))):
        return "another-question"
    if loosely(said) == loosely(value) or _keys_differ(said, value):
        return "dropped-constraint"
    return "wrong-value"


def _texts(value: Any) -> str:
    """All strings of a value, a line each."""
    level, found = [value], list[str]()
    while level:
        found += [each for each in level if isinstance(each, str)]
        level = [part for each in level for part in _parts(each)]
    return "\n".join(found)


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value.values()]
    return value if isinstance(value, list) else []


def _keys_differ(said: Any, wanted: Any) -> bool:
    """Whether keys or items are missing or added, anywhere, while all that both have is the same."""
    if isinstance(said, dict) and isinstance(wanted, dict):
        both = said.keys() & wanted.keys()
        pairs = [(said[key], wanted[key]) for key in both]
        differ = said.keys() != wanted.keys()
    elif isinstance(said, list) and isinstance(wanted, list):
        pairs, differ = list(zip(said, wanted, strict=False)), len(said) != len(wanted)
    else:
        return False
    wrong = [pair for pair in pairs if not same(*pair)]
    return all(_keys_differ(*pair) for pair in wrong) and (differ or bool(wrong))
