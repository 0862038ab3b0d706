"""Replies as models give them, to questions whose answer is a code or a number."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from fuzzer.history.records import Message, Prompt
from fuzzer.prompts import check
from tests.prompts.strategies import make

WORD = make("code-word", "easy", 1)
CODE = WORD.answer
OTHER = make("code-word", "easy", 2).answer
CHANGED = make("code-word", "hard", 1)
STORY = make("arithmetic", "hard", 1)
SUM = make("arithmetic", "easy", 3)


def verdict(prompt: Prompt, text: str, finish_reason: str | None = None) -> str:
    grade = check(prompt, text, finish_reason=finish_reason)
    return grade.sub_kind or grade.value


@pytest.mark.parametrize(
    ("want", "said"),
    [
        ("right", CODE.lower()),
        ("right", CODE.replace("-", "\u2011")),
        ("right", f"> {CODE}"),
        ("right", f"- {CODE}"),
        ("verbose", f'The code word is "{CODE}".'),
        ("verbose", f"The code word is: **{CODE}**"),
        ("verbose", f'{{"code word given": "{CODE}"}}'),
        ("verbose", f"It is not {OTHER}. It is {CODE}."),
        ("verbose", f"It is {CODE}, not {OTHER}."),
        ("verbose", f"Sorry, the code word is {CODE}."),
        ("verbose", f"<think>could it be {OTHER}?</think>The code word must be {CODE}"),
        ("verbose", f"The code word is well-past {CODE}."),
        ("wrong-value", CODE[:-1]),
        ("wrong-value", CODE + "Z"),
        ("wrong-value", f"{CODE}-AB2"),
        ("wrong-value", "The code word is banana."),
        ("wrong-value", f"The code word is {WORD.canaries[0].text}."),
        ("another-question", f"{CODE} or {OTHER}"),
        ("another-question", f"First I thought {CODE}, but it is {OTHER}"),
        ("another-question", "It is 1234-5678-901234."),
        ("refusal", "I cannot share the code word."),
    ],
)
def test_a_code_word_is_extracted_before_it_is_compared(want: str, said: str) -> None:
    assert verdict(WORD, said) == want


def test_the_code_that_is_given_to_the_name_that_was_asked_about_counts() -> None:
    prompt = make("lookup", "easy", 1)
    owner, code = str(prompt.spec["about"]), prompt.answer
    other = next(item for item in prompt.items if item != owner)
    stray = next(canary.text for canary in prompt.canaries if len(canary.text) == 9 and canary.text != code)
    assert verdict(prompt, f"The code of {owner} is {code}. The code of {other} is {stray}.") == "verbose"
    assert verdict(prompt, f"The code of {other} is {stray}. The code of {owner} is {code}.") == "verbose"
    assert verdict(prompt, f"The code of {owner} is {stray}. The code of {other} is {code}.") == "wrong-value"
    assert (
        verdict(prompt, f"The code of {owner} is {code}. The code of {other} is {stray}. Answer: {stray}")
        == "wrong-value"
    )
    assert verdict(prompt, f"{owner} has {code}, so {other} has {stray}, and that is the answer: {code}") == "verbose"


def test_a_code_that_is_given_to_another_name_is_wrong() -> None:
    prompt = make("lookup", "easy", 1)
    owner, code = str(prompt.spec["about"]), prompt.answer
    other = next(item for item in prompt.items if item != owner)
    stray = next(canary.text for canary in prompt.canaries if len(canary.text) == 9 and canary.text != code)
    assert verdict(prompt, f"The code of {other} is {code}.") == "wrong-value"
    assert verdict(prompt, f"The code of {owner} is {code}.") == "verbose"
    assert verdict(prompt, f"The code of {owner} is {stray}.\n\n{code}") == "verbose"
    assert verdict(prompt, f"The code of {owner} is {code}.\n\n{stray}") == "wrong-value"


def test_a_miscopied_code_is_no_other_prompts() -> None:
    assert verdict(WORD, f"{CODE[5:]}-{CODE}") == "wrong-value"
    assert verdict(WORD, f"ZZZZ{CODE[4:]}") == "wrong-value"


def test_two_codes_in_one_breath_are_wrong_whichever_comes_last() -> None:
    for said in (f"{OTHER} or {CODE}", f"{OTHER}, {CODE}", f"{OTHER}\n{CODE}", f"either {OTHER} or maybe {CODE}"):
        assert check(WORD, said).value == "wrong"


def test_reasoning_that_never_ends_is_no_answer() -> None:
    assert verdict(WORD, f"<think>perhaps {CODE}", "length") == "runaway"
    assert verdict(WORD, f"<think>perhaps {CODE}") == "empty"
    assert verdict(WORD, "The code word is banana", "length") == "runaway"
    assert verdict(WORD, OTHER, "length") == "another-question"


def _changed(template: str) -> str:
    first, ticket = (str(mark) for mark in _list(CHANGED.spec["frame"]))
    codes = [canary.text for canary in CHANGED.canaries if len(canary.text) == 9]
    return template.format(first=first, ticket=ticket, a=codes[0], b=codes[1], now=codes[2])


@pytest.mark.parametrize(
    ("want", "said"),
    [
        ("right", "Session tag: {first}\nCode word: {now}\nTicket: {ticket}"),
        ("right", "{first} | {now} | {ticket}"),
        ("right", "1. {first}\n2. {now}\n3. {ticket}"),
        ("verbose", "{first}\nThe code word is now {now} (changed from {b}).\n{ticket}"),
        ("verbose", "{first}\nAt first it was {a}, then {b}, and now it is {now}.\n{ticket}"),
        ("wrong-value", "{first}\n{b}\n{ticket}"),
        ("wrong-value", "{first}\nIt was changed to {now}, so the answer is {a}.\n{ticket}"),
        ("dropped-constraint", "{first}\n{now}"),
        ("dropped-constraint", "{now}\n{ticket}"),
        ("dropped-constraint", "{first}\n{now}\n1234-5678-901234"),
        ("dropped-constraint", "{first}\n{now}\n1{ticket}"),
        ("dropped-constraint", "{ticket}\n{now}\n{first}"),
        ("dropped-constraint", "{first}\n{ticket}\n{now}"),
        ("dropped-constraint", "Session tag: {first}\nTicket: {ticket}\nCode word: {now}"),
        ("dropped-constraint", "{now}\n{first}\n{ticket}"),
        ("verbose", "The ticket is {ticket} and the tag {first}.\n\n{first}\n{now}\n{ticket}"),
        ("verbose", "{first}\n{now}\n{ticket}\n\nI gave the ticket {ticket} after the tag {first}."),
    ],
)
def test_a_changed_code_word_and_its_marks(want: str, said: str) -> None:
    assert verdict(CHANGED, _changed(said)) == want


def _story(template: str) -> str:
    first, ticket = (str(mark) for mark in _list(STORY.spec["frame"]))
    start, gift, days, lost = (int(str(each)) for each in _list(STORY.spec["given"]))
    gifts, value = gift * days, start + gift * days - lost
    body = template.format(
        v=value, more=value + 3, less=value - 1, start=start, gift=gift, days=days, lost=lost, gifts=gifts,
        both=start + gifts, who=STORY.items[0],
    )  # fmt: skip
    return f"{first}\n{body}\n{ticket}"


@pytest.mark.parametrize(
    ("want", "said"),
    [
        ("right", "{v:,}"),
        ("right", "{v}."),
        ("right", "{v}.0"),
        ("right", "+{v}"),
        ("verbose", "{v} beads"),
        ("verbose", "$\\boxed{{{v}}}$"),
        ("verbose", "{start} + {gift} × {days} - {lost} = {v}"),
        ("verbose", "{start}+{gifts}-{lost}={v}"),
        (
            "verbose",
            "{who} starts with {start} beads. {gift} x {days} = {gifts}. {start} + {gifts} = {both}. "
            "{both} - {lost} = {v}. So {who} has {v} beads now.",
        ),
        ("verbose", "The gifts add up to {gifts}. The final total was {v}."),
        ("verbose", "{v}\n\nExplanation: {gift} x {days} = {gifts}, {start} + {gifts} = {both}."),
        ("verbose", "{who} has {v} beads after {days} days."),
        ("verbose", "The answer is {v}, since {start} + {gifts} is {both}."),
        ("wrong-value", "{v}0"),
        ("wrong-value", "1{v}"),
        ("wrong-value", "{v}.5"),
        ("wrong-value", "-{v}"),
        ("wrong-value", "{v} or {more}"),
        ("wrong-value", "{less} or {v}"),
        ("wrong-value", "{start}"),
        ("wrong-value", "{start} + {gifts} = {both}"),
        ("wrong-value", "The answer is {v}. Wait, no, it is {more}."),
    ],
)
def test_a_number_is_extracted_before_it_is_compared(want: str, said: str) -> None:
    assert verdict(STORY, _story(said)) == want


def test_a_sum() -> None:
    a, b = (int(str(each)) for each in _list(SUM.spec["given"]))
    total = a + b
    for said in (f"{a} + {b} = {total}.", f"The answer is {a} + {b} = {total}.", f"{total} = {a} + {b}",
                 f"{total} ({a}+{b})", f"The sum of {a} and {b} is {total}"):  # fmt: skip
        assert verdict(SUM, said) == "verbose"
    for said in (f"{a} + {b} = {total + 1}", str(a), f"{a} + {b}", f"{total}\n{a}"):
        assert verdict(SUM, said) == "wrong-value"


def test_a_number_in_words() -> None:
    six = SUM.model_copy(update={"spec": {"value": 6}})
    assert verdict(six, "Six.") == "right"
    assert verdict(six, "Sixteen.") == "wrong-value"


def _row(question: str, value: str) -> Prompt:
    """A row of a corpus, whose question says which numbers are given."""
    asked = (Message(role="user", content=f"Ticket: 4821-7730-159268\n{question}"),)
    spec: dict[str, JsonValue] = {"value": value, "check": "number", "frame": [], "decoys": []}
    return WORD.model_copy(update={"family": "corpus/x", "messages": asked, "answer": value, "spec": spec})


CLIPS = _row("Natalia sold 48 clips in April, and half as many in May. How many clips altogether?", "72")
EGGS = _row("Janet's 16 eggs a day: she eats 3 and bakes with 4, and sells the rest for 2 dollars each.", "18")


@pytest.mark.parametrize(
    ("want", "said"),
    [
        ("verbose", "48 / 2 = 24 in May, so 48 + 24 = 72.\n#### 72"),
        ("verbose", "#### 72\nIn May it was 24."),
        ("verbose", "It is $\\boxed{72}$, since May adds 24 to it."),
        ("verbose", "\\boxed{48 + 24 = 72}"),
        ("verbose", "Natalia sold 72 clips (48 in April and 24 in May)."),
        ("verbose", "Natalia sold 72 clips altogether: 48 in April and 24 in May."),
        ("verbose", "That is 48 in April and 24 in May (72 in total)."),
        ("verbose", "Natalia sold 72 clips in all after the 48 in April."),
        ("wrong-value", "#### 73"),
        ("wrong-value", "The sum is 72.\n#### 24"),
        ("wrong-value", "72 clips, or \\boxed{24}"),
        ("wrong-value", "\\boxed{72 or 73}"),
        ("wrong-value", "Natalia sold 71 clips (48 in April and 24 in May)."),
        ("wrong-value", "Natalia sold 72 clips (actually 48 and 25, so 73)."),
        ("wrong-value", "There were 72 clips, so she has 48."),
        ("wrong-value", "Adding 72 up, the answer is 48."),
        ("wrong-value", "24, 48, 72"),
        ("wrong-value", "72%"),
        ("wrong-value", "72 million clips"),
    ],
)
def test_the_number_of_a_worked_question(want: str, said: str) -> None:
    assert verdict(CLIPS, said) == want


def test_the_numbers_of_the_question_are_no_answer_beside_another() -> None:
    assert verdict(EGGS, "She makes 18 dollars by selling 9 eggs for 2 dollars each.") == "verbose"
    assert verdict(EGGS, "She makes 18 dollars at 2 dollars each, from 16 eggs.") == "verbose"
    assert verdict(EGGS, "She makes 17 dollars at 2 dollars each.") == "wrong-value"
    assert verdict(EGGS, "She sells them for 2 dollars.") == "wrong-value"
    assert verdict(_row("What share is 7 of 100, in percent?", "7"), "7%") == "right"


def test_a_number_with_the_separators_of_formulas() -> None:
    long = _row("How much?", "1234")
    for said in ("1{,}234", "$1\\,234$", "\\boxed{1{,}234}", "1,234"):
        assert check(long, said).passed, said
    for said in ("1{,}235", "1{,}234{,}000", "1\\,23"):
        assert not check(long, said).passed, said


def test_a_number_between_letters_of_a_script_without_spaces() -> None:
    many = _row("多少?", "137")
    for said in ("答案是137。", "137です。", "137개입니다", "คำตอบคือ137", "共137人"):
        assert check(many, said).passed, said
    for said in ("答案是138。", "x137", "137x", "137万", "1137です"):
        assert not check(many, said).passed, said


def _list(value: object) -> list[object]:
    assert isinstance(value, list)
    return value
