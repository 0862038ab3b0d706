"""Long prompts and long answers: needles in unique text, counts and cycles that tell where they go wrong."""

from __future__ import annotations

from itertools import pairwise, takewhile

import pytest

from fuzzer.history.records import Level, Prompt
from fuzzer.prompts import FAMILIES, PromptPool, check
from fuzzer.prompts.draws import Draws
from tests.prompts.strategies import make
from tests.prompts.test_checks_single import verdict

LEVELS: tuple[Level, ...] = ("easy", "medium", "hard")


def question(prompt: Prompt) -> str:
    return prompt.messages[-1].content


def test_a_needle_comes_after_unique_text_and_before_nothing_but_the_question() -> None:
    asked = [make("needle", level, seed) for level in LEVELS for seed in range(15)]
    for prompt in asked:
        text, _, last = question(prompt).partition("\n\n")
        assert last.startswith(f"What is the code of {prompt.spec['about']}?")
        assert f"The code of {prompt.spec['about']} is {prompt.spec['value']}." in text
    texts = sorted(question(prompt).partition("\n")[2] for prompt in asked)
    shared = [
        sum(1 for _ in takewhile(lambda each: each[0] == each[1], zip(*pair, strict=False))) for pair in pairwise(texts)
    ]
    assert max(shared) < 120


def test_a_pad_decides_the_length_at_every_level() -> None:
    for pad in (300, 30_000):
        for level in LEVELS:
            prompt = FAMILIES["needle"].generate(Draws(3, "p", 1, pad=pad), "p1", level)
            assert pad / 1.3 <= len(question(prompt).split()) <= pad + 120
            assert check(prompt, prompt.answer).value == "right"
    defaults = [len(question(make("needle", level, 1)).split()) for level in LEVELS]
    assert [130 < defaults[0] < 180, 500 < defaults[1] < 650, 1700 < defaults[2] < 2100] == [True] * 3


NEEDLE = make("needle", "hard", 1)
TAG, CODE, TICKET = NEEDLE.answer.split("\n")
TEXT = question(NEEDLE).split("\n")[1]
OTHER = next(each.text for each in NEEDLE.canaries if len(each.text) == 9 and each.text != CODE)


@pytest.mark.parametrize(
    ("want", "said"),
    [
        ("right", f"**{CODE}**"),
        ("verbose", f"The code of {NEEDLE.spec['about']} is {CODE}."),
        ("verbose", f"It says: {TEXT[:300]} and so on. The code is {CODE}."),
        ("verbose", f"{TEXT}\nSo it is {CODE}"),
        ("wrong-value", OTHER),
        ("wrong-value", CODE[:-1]),
        ("wrong-value", f"{TEXT}\nSo it is {OTHER}"),
        ("another-question", make("needle", "hard", 2).answer.split("\n")[1]),
    ],
)
def test_a_needle_is_found_or_not(want: str, said: str) -> None:
    assert verdict(NEEDLE, f"{TAG}\n{said}\n{TICKET}") == want


def test_the_text_said_back_is_no_answer() -> None:
    prompt = make("needle", "easy", 3)
    text = question(prompt).split("\n")[1]
    assert verdict(prompt, f"Here is the text. {text}", "length") == "runaway"
    assert not check(prompt, text).passed


COUNT = make("long-count", "hard", 1)
HEAD, LINE = COUNT.answer.split("\n")
NUMBERS = LINE.split(", ")
STEP = int(NUMBERS[1]) - int(NUMBERS[0])


@pytest.mark.parametrize(
    ("want", "said"),
    [
        ("right", f"{HEAD}\n{','.join(NUMBERS)}"),
        ("right", f"{HEAD}\n{' '.join(NUMBERS)}"),
        ("right", HEAD + "\n" + "\n".join(f"{place}. {each}" for place, each in enumerate(NUMBERS, 1))),
        ("right", f"{HEAD}\n" + ", ".join(f"{int(each):,}" for each in NUMBERS)),
        ("right", f"```\n{COUNT.answer}\n```"),
        ("right", f"**{HEAD}**\n{', '.join(NUMBERS[:-1])}, and {NUMBERS[-1]}."),
        ("right", f"{HEAD}\n{', '.join(NUMBERS[:60])},\n{', '.join(NUMBERS[60:])}"),
        ("verbose", f"Here are the numbers from {NUMBERS[0]} to {NUMBERS[-1]}:\n{COUNT.answer}"),
        ("verbose", f"{COUNT.answer}\n\nThese are 120 numbers in steps of {STEP}."),
        ("verbose", f"{COUNT.answer}\n\n120 numbers in all."),
        ("dropped-constraint", LINE),
        ("dropped-constraint", f"{HEAD}\n{', '.join(NUMBERS[:-1])}"),
        ("dropped-constraint", f"{COUNT.answer}, {int(NUMBERS[-1]) + STEP}"),
        ("wrong-value", f"{HEAD}\n{', '.join(NUMBERS[:56] + NUMBERS[57:])}"),
        ("wrong-value", f"{HEAD}\n{', '.join([*NUMBERS[:56], '17', *NUMBERS[56:]])}"),
        ("wrong-value", f"{HEAD}\n{', '.join(NUMBERS[::-1])}"),
        ("another-question", make("long-count", "hard", 2).answer),
        ("another-question", f"{COUNT.answer}\n\n{make('long-count', 'hard', 2).answer}"),
        ("another-question", f"{make('long-count', 'hard', 2).spec['head']}\n{LINE}"),
    ],
)
def test_a_long_count(want: str, said: str) -> None:
    assert verdict(COUNT, said) == want


def test_the_note_tells_where_a_long_answer_goes_wrong() -> None:
    for family in ("long-count", "alphabet-cycle"):
        for level in ("medium", "hard"):
            prompt = make(family, level, 1)
            head, line = prompt.answer.split("\n")
            entries = line.split(", ")
            place = len(entries) - 7
            broken = [*entries[:place], entries[place][:-1] + "?x", *entries[place + 1 :]]
            grade = check(prompt, f"{head}\n{', '.join(broken)}")
            assert grade.sub_kind == "wrong-value"
            assert f"entry {place + 1} of {len(entries)}" in grade.note
            assert entries[place] in grade.note
            grade = check(prompt, f"{head}\n{', '.join(entries[:place])}")
            assert (grade.sub_kind, grade.note) == (
                "dropped-constraint",
                f"ends after {place} of {len(entries)} entries",
            )
            assert verdict(prompt, f"{head}\n{', '.join(entries[:place])}", "length") == "runaway"


LETTERS = make("alphabet-cycle", "medium", 1)
TOP, ENTRIES = LETTERS.answer.split("\n")
EACH = ENTRIES.split(", ")


@pytest.mark.parametrize(
    ("want", "said"),
    [
        ("right", f"{TOP}\n" + "\n".join(EACH)),
        ("right", f"{TOP}\n{ENTRIES.upper()}"),
        ("right", f"{TOP}\n" + "\n".join(each.replace(" ", ". ") for each in EACH)),
        ("right", f"{TOP}\n" + ", ".join(each.replace(" ", "") for each in EACH)),
        ("verbose", f"It begins like this: {', '.join(EACH[:4])}\n{LETTERS.answer}"),
        ("dropped-constraint", f"{LETTERS.answer}, 61 a"),
        ("wrong-value", f"{TOP}\n{', '.join([*EACH[:30], EACH[31], EACH[30], *EACH[32:]])}"),
        ("wrong-value", f"{TOP}\n{', '.join(EACH[:30])}, {', '.join(EACH[:30])}"),
        ("another-question", make("alphabet-cycle", "medium", 2).answer),
    ],
)
def test_a_cycle_of_letters(want: str, said: str) -> None:
    assert verdict(LETTERS, said) == want


def test_long_answers_have_room_enough() -> None:
    for family in ("long-count", "alphabet-cycle"):
        for level in ("medium", "hard"):
            prompt = make(family, level, 1)
            assert prompt.wants.max_tokens is not None
            assert prompt.wants.max_tokens > 1.2 * (prompt.answer.count(" ") + sum(map(str.isdigit, prompt.answer)))


def test_hard_needles_are_asked_for_by_name_only() -> None:
    assert all(prompt.level != "hard" for prompt in map(PromptPool(4).prompt, range(400)) if prompt.family == "needle")
    by_name = PromptPool(4, families=["needle"])
    assert {by_name.prompt(index).level for index in range(60)} == {"easy", "medium", "hard"}
