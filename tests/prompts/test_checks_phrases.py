"""Replies as models give them, to questions whose answer is an ordinary word or phrase: rows of corpora."""

from __future__ import annotations

import pytest

from fuzzer.history.records import Message, Prompt
from fuzzer.prompts import PromptPool, check
from tests.prompts.samples import rng, told
from tests.prompts.spoils import kinds, spoil
from tests.prompts.styles import core, marks, render
from tests.prompts.test_checks_single import verdict

CORPORA = ("agentic", "c8-wrong-answer", "gate", "long-context", "multilingual")
ROWS = 30


def asked(question: str, value: str | list[str], kind: str) -> Prompt:
    return Prompt(
        id="p000000",
        family="corpus/mine",
        level="hard",
        messages=(Message(role="user", content=question),),
        answer=value if isinstance(value, str) else ", ".join(value),
        spec={"check": kind, "value": value, "frame": [], "decoys": []},
        attributable=False,
    )


WIND = asked("The wind was in the south at first, then it went to the north. Where is the wind now?", "north", "exact")
CRATES = asked("Which crates stand left of the door?", ["tin", "salt", "rye"], "list")


@pytest.mark.parametrize(
    ("want", "said"),
    [
        ("right", "North."),
        ("right", "- north"),
        ("right", "**Answer:** north"),
        ("verbose", "<answer>north</answer>"),
        ("verbose", '{"wind": "north"}'),
        ("verbose", "1) north\n\nI found this in the first sentence."),
        ("verbose", "The wind is in the north."),
        ("verbose", "It is in the north now.\n\nExplanation: it was in the south at first."),
        ("verbose", "Sure! Here is the answer:\n\nnorth\n\nLet me know if there is anything else."),
        ("verbose", "It was in the south at first.\nNow it is in the north."),
        ("verbose", "It is not south, it is north."),
        ("wrong-value", "It is not north."),
        ("wrong-value", "It isn't the north."),
        ("wrong-value", "north or south"),
        ("wrong-value", "south or north"),
        ("wrong-value", "north\nsouth"),
        ("wrong-value", "northern"),
        ("wrong-value", "north, south"),
        ("wrong-value", "The wind went north at noon.\nIt is in the south now."),
        ("wrong-value", "The answer is south."),
        ("no-answer", "Where is the wind now?"),
        ("refusal", "I don't know where the wind is."),
    ],
)
def test_a_phrase_is_extracted_before_it_is_compared(want: str, said: str) -> None:
    assert verdict(WIND, said) == want


@pytest.mark.parametrize(
    ("want", "said"),
    [
        ("right", "tin, salt, rye"),
        ("right", "Tin\nSalt\nRye"),
        ("right", "1. tin\n2. salt\n3. rye"),
        ("right", "tin, salt and rye"),
        ("verbose", "From left to right: tin, salt, rye.\n\nThese are all."),
        ("wrong-value", "tin, rye, salt"),
        ("wrong-value", "tin, salt"),
        ("wrong-value", "tin, salt, rye, oats"),
        ("wrong-value", "tin, salt, rye & oats"),
        ("wrong-value", "tin\nsalt\nrye\noats"),
        ("wrong-value", "1. tin\n2. salt\n3. rye\n4. oats"),
        ("wrong-value", "| 1 | tin |\n| 2 | salt |\n| 3 | rye |\n| 4 | oats |"),
        ("wrong-value", "tin, salt, rye or oats"),
        ("wrong-value", "oats or tin, salt, rye"),
        ("wrong-value", "tin, salt, rye\noats, hay, flax"),
    ],
)
def test_a_list_of_ordinary_words(want: str, said: str) -> None:
    assert verdict(CRATES, said) == want


@pytest.mark.parametrize("corpus", CORPORA)
def test_rows_of_the_shipped_corpora_are_judged_in_every_style(corpus: str) -> None:
    pool, source = PromptPool(1, corpora=[corpus]), rng(corpus)
    rows = [row for row in map(pool.prompt, range(ROWS)) if row.spec.get("check") in ("exact", "number", "list")]
    for row, other in zip(rows, rows[1:] + rows[:1], strict=True):
        said = render(row, core(row), marks(row), source)
        assert check(row, said.text).passed, told(row, said)
        kind = source.choice(kinds(row))
        spoilt = spoil(row, other, source, kind) if row.spec["check"] == other.spec["check"] else None
        if spoilt is not None:
            said = render(row, spoilt.core, spoilt.marks, source)
            assert not check(row, said.text).passed, f"{kind}: {told(row, said)}"
