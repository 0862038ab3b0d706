"""Replies as models give them, to questions whose answer is JSON under a schema."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from fuzzer.history.records import Prompt
from fuzzer.prompts import check
from tests.prompts.strategies import KINDS, make

EASY = make("schema-json", "easy", 1)
HARD = make("schema-json", "hard", 1)
OTHER = make("schema-json", "hard", 2)
VALUE: Any = HARD.spec["value"]


def verdict(prompt: Prompt, text: str, finish_reason: str | None = None) -> str:
    grade = check(prompt, text, finish_reason=finish_reason)
    return grade.sub_kind or grade.value


def changed(*path: str | int, to: object) -> str:
    """The right answer with another value at a path."""
    value = copy.deepcopy(VALUE)
    *inner, last = path
    at = value
    for step in inner:
        at = at[step]
    at[last] = to
    return json.dumps(value)


def without(*path: str | int) -> str:
    """The right answer without what stands at a path."""
    value = copy.deepcopy(VALUE)
    *inner, last = path
    at = value
    for step in inner:
        at = at[step]
    del at[last]
    return json.dumps(value)


@pytest.mark.parametrize(
    "said",
    [
        json.dumps(VALUE, indent=2),
        json.dumps(VALUE, separators=(",", ":")),
        json.dumps(dict(reversed(VALUE.items()))),
        f"```json\n{HARD.answer}\n```",
        f"```\n{json.dumps(VALUE, indent=4)}\n```\n",
        f"  {HARD.answer}\n\n",
        changed("boxes", 0, "weight", to=float(VALUE["boxes"][0]["weight"])),
    ],
)
def test_another_layout_of_the_same_is_right(said: str) -> None:
    assert verdict(HARD, said) == "right"


@pytest.mark.parametrize(
    "form",
    [
        "Here is the JSON object:\n\n```json\n{}\n```\n\nLet me know if you need more.",
        "{}\n\nThis object has three keys.",
        "Sure! {}",
    ],
)
def test_words_around_it_are_verbose(form: str) -> None:
    assert verdict(HARD, form.format(HARD.answer)) == "verbose"


@pytest.mark.parametrize(
    ("want", "said"),
    [
        ("wrong-value", changed("boxes", 1, "weight", to=VALUE["boxes"][1]["weight"] + 1)),
        ("wrong-value", changed("boxes", 1, "weight", to=VALUE["boxes"][2]["weight"])),
        ("wrong-value", changed("open", to=not VALUE["open"])),
        ("wrong-value", changed("owner", "towns", to=VALUE["owner"]["towns"][::-1])),
        ("wrong-value", changed("owner", "name", to=VALUE["owner"]["name"][:-1])),
        ("wrong-value", changed("owner", "name", to="")),
        ("dropped-constraint", changed("boxes", 1, "weight", to=str(VALUE["boxes"][1]["weight"]))),
        ("dropped-constraint", changed("open", to=str(VALUE["open"]).lower())),
        ("wrong-value", changed("open", to=int(VALUE["open"]))),
        ("dropped-constraint", without("owner", "code")),
        ("dropped-constraint", without("boxes", 2)),
        ("dropped-constraint", without("open")),
        ("dropped-constraint", changed("extra", to=1)),
        ("dropped-constraint", changed("boxes", to=[*VALUE["boxes"], VALUE["boxes"][0]])),
        ("dropped-constraint", HARD.answer.replace('"', "'").replace("true", "True").replace("false", "False")),
        ("another-question", OTHER.answer),
        ("another-question", f"{HARD.answer}\n{OTHER.answer}"),
        ("another-question", f"The answer is:\n{HARD.answer}\n{OTHER.answer}"),
        ("another-question", changed("owner", "name", to=OTHER.items[0])),
        ("another-question", changed("owner", "code", to="QX7K-M2PD")),
        ("no-answer", HARD.answer[:-1]),
        ("no-answer", "{}"),
        ("wrong-value", "null"),
        ("refusal", "I'm sorry, but I cannot do that."),
        ("no-answer", "A JSON object has keys and values. " * 10),
    ],
)
def test_what_is_wrong_with_an_object_is_told(want: str, said: str) -> None:
    assert verdict(HARD, said) == want


def test_a_truth_value_is_no_number() -> None:
    assert verdict(EASY, json.dumps({"owner": {"name": EASY.items[0]}, "size": True})) == "wrong-value"


def test_a_worked_examples_object_is_an_earlier_turns_answer() -> None:
    assert verdict(EASY, EASY.messages[2].content) == "wrong-last-message"
    assert verdict(EASY, json.dumps(json.loads(EASY.messages[4].content), indent=2)) == "wrong-last-message"


def test_an_object_that_was_cut_off_is_a_runaway() -> None:
    assert verdict(HARD, HARD.answer[:-10], "length") == "runaway"


@pytest.mark.parametrize("unit", ['{"owner": ', '{"owner": {"name": "x"}}', '{"owner": [', "{", '"open": true, '])
def test_a_megabyte_of_anything_is_read(unit: str) -> None:
    assert not check(HARD, unit * (1_000_000 // len(unit))).passed


def test_the_answer_holds_to_its_schema_and_nothing_with_a_key_less_does() -> None:
    for kind in [kind for kind in KINDS if kind[0] == "schema-json"]:
        for seed in range(20):
            prompt = make(*kind, seed)
            assert prompt.wants.json_schema is not None
            schema = Draft202012Validator(prompt.wants.json_schema)
            value = json.loads(prompt.answer)
            assert schema.is_valid(value)
            for key in value:
                assert not schema.is_valid({name: part for name, part in value.items() if name != key})
            assert not schema.is_valid(value | {"extra": 1})
