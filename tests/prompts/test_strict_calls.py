"""Calls of a function in whatever layout are right, and calls that are subtly wrong are not."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from fuzzer.history.records import Level, ToolCall
from fuzzer.prompts import canonical, check
from tests.prompts.strategies import CALLING, make

Arguments = dict[str, Any]

LAYOUTS: dict[str, Callable[[Arguments], str]] = {
    "plain": json.dumps,
    "indented": lambda value: json.dumps(value, indent=2),
    "tight": lambda value: json.dumps(value, separators=(",", ":")),
    "reordered": lambda value: json.dumps(dict(reversed(value.items()))),
    "numbers as text": lambda value: json.dumps({key: str(part) for key, part in value.items()}),
}


def _changed(value: Arguments, other: Arguments, kind: type) -> Arguments:
    """The arguments with the first of a type taken from the other call, whatever its name there."""
    key = next(key for key, part in value.items() if type(part) is kind)
    theirs = next(part for part in other.values() if type(part) is kind and part != value[key])
    return {**value, key: theirs}


def _letter_off(value: Arguments, _: Arguments) -> Arguments:
    key = next(key for key, part in value.items() if type(part) is str)
    said = value[key]
    return {**value, key: said[:2] + ("x" if said[2] != "x" else "y") + said[3:]}


def _digit_off(value: Arguments, _: Arguments) -> Arguments:
    return {key: part + 1 if type(part) is int else part for key, part in value.items()}


def _swapped_keys(value: Arguments, _: Arguments) -> Arguments:
    keys = list(value)
    return dict(zip([keys[1], keys[0], *keys[2:]], value.values(), strict=True))


SPOILS: dict[str, Callable[[Arguments, Arguments], Arguments]] = {
    "another's": lambda _, other: other,
    "another's text": lambda value, other: _changed(value, other, str),
    "another's number": lambda value, other: _changed(value, other, int),
    "letter off": _letter_off,
    "digit off": _digit_off,
    "keys swapped": _swapped_keys,
    "one dropped": lambda value, _: dict(list(value.items())[1:]),
    "one added": lambda value, _: {**value, "note": "none"},
    "none": lambda *_: {},
}

TEXTS = ("", "Sure, I will do that now.", "I have called the function as you asked.")


def wanted(kind: tuple[str, Level], seed: int) -> tuple[str, Arguments]:
    _, (call,) = canonical(make(*kind, seed))
    return call.name, json.loads(call.arguments)


@pytest.mark.parametrize("kind", CALLING, ids="/".join)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_right_call_is_right_in_whatever_layout(kind: tuple[str, Level], layout: str) -> None:
    for seed in range(5):
        prompt, (name, arguments) = make(*kind, seed), wanted(kind, seed)
        call = ToolCall(name=name, arguments=LAYOUTS[layout](arguments), id="call_1")
        for text in TEXTS:
            assert check(prompt, text, calls=[call], finish_reason="tool_calls").passed


@pytest.mark.parametrize("kind", CALLING, ids="/".join)
@pytest.mark.parametrize("spoil", SPOILS)
def test_a_subtly_wrong_call_is_not_right(kind: tuple[str, Level], spoil: str) -> None:
    for seed in range(5):
        prompt, (name, arguments), (_, other) = make(*kind, seed), wanted(kind, seed), wanted(kind, seed + 100)
        spoilt = SPOILS[spoil](arguments, other)
        for layout in LAYOUTS.values():
            call = ToolCall(name=name, arguments=layout(spoilt), id="call_1")
            for text in TEXTS:
                assert not check(prompt, text, calls=[call], finish_reason="tool_calls").passed


@pytest.mark.parametrize("kind", CALLING, ids="/".join)
def test_a_second_call_another_function_and_words_alone_are_not_right(kind: tuple[str, Level]) -> None:
    prompt, other = make(*kind, 1), make(*kind, 2)
    _, (call,) = canonical(prompt)
    _, (strange,) = canonical(other)
    for calls in ((call, strange), (strange, call), (call.model_copy(update={"name": "delete_everything"}),)):
        assert not check(prompt, "", calls=calls).passed
    for text in (call.arguments, f"{call.name}({call.arguments})", f"```json\n{call.model_dump_json()}\n```"):
        assert not check(prompt, text).passed
    for broken in (call.arguments[:-1], "", "null", "[]", "[" * 5000, call.arguments * 2):
        assert not check(prompt, "", calls=[call.model_copy(update={"arguments": broken})]).passed
