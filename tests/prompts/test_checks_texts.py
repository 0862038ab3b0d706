"""Replies as models give them, to questions whose answer is a given text or a JSON object; and hostile replies."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from fuzzer.prompts import check
from tests.prompts.strategies import KINDS, make
from tests.prompts.test_checks_single import verdict

PLAIN = make("echo", "easy", 1)
NAME, OTHER = PLAIN.answer, make("echo", "easy", 2).answer
OPAQUE = make("echo", "hard", 1)
TAG, TEXT, TICKET = OPAQUE.answer.split("\n")
PIECES = TEXT.split("; ")


@pytest.mark.parametrize(
    ("want", "said"),
    [
        ("right", f'"{NAME}"'),
        ("verbose", f"The text is {NAME}."),
        ("verbose", f"Copy: {NAME}"),
        ("wrong-last-message", "Bluebird Redwood"),
        ("another-question", OTHER),
        ("another-question", f"{NAME}\n{OTHER}"),
        ("wrong-value", f"{NAME} Foo"),
        ("wrong-value", f"{NAME}, {NAME[:5]}"),
        ("wrong-value", NAME.replace(" ", "")),
        ("wrong-value", NAME[1:]),
        ("wrong-value", NAME + NAME),
        ("verbose", NAME.lower()),
        ("wrong-value", f"{OTHER} or {NAME}"),
    ],
)
def test_a_name_is_copied(want: str, said: str) -> None:
    assert verdict(PLAIN, said) == want


@pytest.mark.parametrize(
    ("want", "said"),
    [
        ("right", TEXT.replace("; ", ";")),
        ("right", f"`{TEXT}`"),
        ("verbose", f"Copy: {TEXT}"),
        ("wrong-value", "; ".join(PIECES[:4])),
        ("wrong-value", "; ".join(PIECES[::-1])),
        ("wrong-value", f"{TEXT}; 12345"),
        ("wrong-value", f"12345; {TEXT}"),
    ],
)
def test_an_opaque_text_is_copied(want: str, said: str) -> None:
    assert verdict(OPAQUE, f"{TAG}\n{said}\n{TICKET}") == want


OBJECT = make("keyed-json", "hard", 1)
FIRST, LINE, LAST = OBJECT.answer.split("\n")
VALUE: dict[str, Any] = json.loads(LINE)
SIZE = VALUE["size"]


def changed(**parts: object) -> str:
    return json.dumps({**VALUE, **parts})


@pytest.mark.parametrize(
    ("want", "said"),
    [
        ("right", json.dumps(dict(reversed(VALUE.items())))),
        ("right", f"```json\n{json.dumps(VALUE, indent=4)}\n```"),
        ("right", json.dumps(VALUE, separators=(",", ":"))),
        ("right", changed(size=float(SIZE))),
        ("verbose", f"Here is the JSON object:\n```json\n{json.dumps(VALUE, indent=4)}\n```"),
        ("dropped-constraint", changed(size=str(SIZE))),
        ("dropped-constraint", changed(open=str(VALUE["open"]).lower())),
        ("wrong-value", changed(open=int(VALUE["open"]))),
        ("verbose", f"{changed(size=1)}\nCorrected:\n{LINE}"),
        ("wrong-value", f"{LINE}\nCorrected:\n{changed(size=1)}"),
        ("wrong-value", changed(size=SIZE + 1)),
        ("wrong-value", changed(open=not VALUE["open"])),
        ("wrong-value", changed(rooms=VALUE["rooms"][::-1])),
        ("wrong-value", changed(extra=1)),
        ("wrong-value", f'{LINE[:-1]}, "size": 3}}'),
        ("verbose", str(VALUE)),
        ("verbose", LINE.replace('"', "'")),
        ("verbose", LINE.replace('"owner":', "owner:")),
        ("verbose", f"{LINE[:-1]},}}"),
        ("verbose", re.sub('"([^"]*)"', "“\\1”", LINE)),
        ("wrong-value", str({**VALUE, "size": SIZE + 1})),
        ("wrong-value", f"{LINE}\n{changed(size=1)}"),
        ("wrong-value", f"Answer: {LINE}\n{changed(size=1)}"),
        ("wrong-value", LINE[:-1]),
        ("wrong-value", json.dumps({"result": VALUE})),
        ("dropped-constraint", json.dumps({key: part for key, part in VALUE.items() if key != "open"})),
        ("another-question", make("keyed-json", "hard", 2).answer.split("\n")[1]),
    ],
)
def test_an_object_is_extracted_before_it_is_compared(want: str, said: str) -> None:
    assert verdict(OBJECT, f"{FIRST}\n{said}\n{LAST}") == want


def test_an_earlier_turns_object_is_recognised_in_any_layout() -> None:
    prompt = make("keyed-json", "easy", 1)
    assert verdict(prompt, '```\n{"size":17,\n"name":"Blackboard Greenhouse"}\n```') == "wrong-last-message"


def test_an_easy_object_may_have_its_number_in_quotes() -> None:
    prompt = make("keyed-json", "easy", 1)
    value = json.loads(prompt.answer)
    assert verdict(prompt, json.dumps({**value, "size": str(value["size"])})) == "verbose"
    assert verdict(prompt, json.dumps({**value, "size": str(value["size"] + 1)})) == "wrong-value"


HOSTILE = (
    "{", "[", '{"', '{"a":', '{"a":[', "1,", "1.", "1 ", ", ", "; ", "-", "Silverbrook ", "Silverbrook Goldengate\n",
    "QX7K-M2PD, ", "4821-7730-159268 ", "answer is ", "(a", "```", "<think>", "</think>", "\n1. ", "İ", "\u200b",
    "\x00", "\ud800",
)  # fmt: skip
NESTED = (
    "[" * 50_000,
    '{"size":' * 3_000 + "1" + "}" * 3_000,
    '{"size":' + "[" * 900 + "]" * 900 + "}",
    '{"size":' + "9" * 50_000 + "}",
    '{"size":NaN, "name":-1e999}',
    '{"a":[{"a":[' * 300 + "1," * 10_000,
)


@pytest.mark.parametrize("kind", KINDS, ids="/".join)
def test_hostile_replies_are_judged_in_linear_time(kind: tuple[Any, Any]) -> None:
    prompt = make(*kind, 1)
    repeated = [*HOSTILE, prompt.answer, f"{prompt.answer} or ", f"{prompt.spec['value']}, ", prompt.answer[:-1]]
    for text in (*(piece * (20_000 // len(piece)) for piece in filter(None, repeated)), *NESTED):
        assert check(prompt, text, finish_reason="length").value in ("right", "verbose", "wrong", "none")
