"""What the simulated model can do beyond the families' questions: read, reckon, sort and order, in its own examples."""

from __future__ import annotations

import json

import pytest

from benchmarks.corpus_ability import measure
from fuzzer.prompts import corpora
from fuzzer.sim.answer import text_of
from fuzzer.sim.solver import solve


def said(*turns: str, system: str = "") -> str:
    """The answer to the last of the turns, which are the user's and the assistant's by turns."""
    roles = ("user", "assistant")
    messages = [(roles[place % 2], text) for place, text in enumerate(turns)]
    return text_of(solve((("system", system), *messages) if system else tuple(messages)))


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("Nora waters the palms, Emil sweeps the yard. Who sweeps the yard? Reply with the name only.", "Emil"),
        ("The inn is closed on Sunday. The shop is closed on Monday. On which day is the inn closed?", "Sunday"),
        ("The red cart costs 40 crowns, the blue cart costs 75 crowns. How many crowns is the blue cart?", "75"),
        ("Jar JX-77-B holds salt and jar JX-78-B holds lime. Which jar number holds lime?", "JX-78-B"),
        ("Das Pferd heißt „Sturmwind“, die Katze heißt „Nebel“. Wie heißt die Katze? Nur der Name.", "Nebel"),
        ("马叫“追风”，猫叫“雪球”。猫叫什么？", "雪球"),
        ("What is 12 + 30? Reply with the number only.", "42"),
        ("What is 2 * (30 - 7)?", "46"),
        ("What is 90 / 4 * 2?", "45"),
        ("Сколько будет 15 + 16?", "31"),
        ("A jug had 50 cups. 20 were lent out. Then 5 came back. How many cups are there?", "35"),
        ("Four sisters share 24 pears equally. How many pears does each get?", "6"),
        ("A press prints 40 maps a day. How many maps does it print in 3 days?", "120"),
        ("Sort these words in alphabetical order: pond, ash, moor. Reply with the list only.", "ash, moor, pond"),
        ("Sort these numbers from large to small: 3, 30, 12.", "30, 12, 3"),
        ("Which is the longest of these words: tin, copper, lead?", "copper"),
        ("Take the second word of this list: tin, copper, lead.", "copper"),
        ("Write the first three multiples of 4, beginning with 4.", "4, 8, 12"),
        ("Egon came first, then Mia, then Udo. List the three from last to first.", "Udo, Mia, Egon"),
        (
            "Egon has 3 nuts, Mia has 8 and Udo has 5. List the three from the most nuts to the fewest.",
            "Mia, Udo, Egon",
        ),
        ("Write the words blue gate in capital letters.", "BLUE GATE"),
        ("Write the word stop backwards.", "pots"),
        ("Replace the word old by the word new: that old red barn.", "that new red barn"),
        ("Répète le texte entre crochets : [le vieux moulin]. Rien d'autre.", "le vieux moulin"),
        ("Today is Monday. Which day is it in 10 days?", "Thursday"),
        ("Which month comes after December?", "January"),
        ("Egon is taller than Mia, and Udo is taller than Egon. Who is the shortest?", "Mia"),
        ("name;town\nEgon;Elm\nMia;Oakham\nIn which town is Mia?", "Oakham"),
        ('{"cat": "Minka", "age": 4}\nWhat is the value of cat in this object?', "Minka"),
    ],
)
def test_a_question_is_answered(asked: str, answer: str) -> None:
    assert said(asked) == answer


def test_what_was_told_last_holds_now() -> None:
    moved = said(
        "The fair is in Elm. In which town is the fair?", "Elm", "It was moved to Oakham. In which town is it now?"
    )
    assert moved == "Oakham"


def test_the_system_message_is_read() -> None:
    assert said("Who is the guard today?", system="The cook today is Egon. The guard today is Mia.") == "Mia"


PUZZLE = """Three bells hang in a row: Ulla, Gerd, Anna.
Conditions:
1. Gerd hangs directly to the left of Anna.
2. Ulla does not hang first from the left.
List the three bells from {way}. {reply}"""


def test_conditions_are_met() -> None:
    assert said(PUZZLE.format(way="left to right", reply="Reply with the names only.")) == "Gerd, Anna, Ulla"
    assert said(PUZZLE.format(way="right to left", reply="Reply with the names only.")) == "Ulla, Anna, Gerd"


def test_conditions_are_repeated_where_that_is_asked_for() -> None:
    reply = 'First repeat the conditions, one a line. Then write a last line that begins with "Answer:".'
    lines = said(PUZZLE.format(way="left to right", reply=reply)).split("\n")
    assert lines == [
        "Gerd hangs directly to the left of Anna.",
        "Ulla does not hang first from the left.",
        "Answer: Gerd, Anna, Ulla",
    ]


ROWS = [
    {"lot": "L-1", "buyer": "Egon", "price": 40, "state": "paid"},
    {"lot": "L-2", "buyer": "Mia", "price": 25, "state": "due"},
    {"lot": "L-3", "buyer": "Udo", "price": 10, "state": "due"},
]


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("Who is the buyer of lot L-2?", "Mia"),
        ("Which lot has the buyer Udo?", "L-3"),
        ("What is the price of lot L-1 and lot L-3 together?", "50"),
        ("List every buyer whose lot has the state due.", "Mia, Udo"),
        ("What is the phone of the buyer of lot L-2?", "x-77"),
    ],
)
def test_records_of_tools_are_looked_up(asked: str, answer: str) -> None:
    phones = [{"name": "Udo", "phone": "x-12"}, {"name": "Mia", "phone": "x-77"}]
    results = (("tool", json.dumps(ROWS)), ("tool", json.dumps(phones)))
    before = (("user", "Look up the lots."), ("assistant", ""), *results, ("assistant", "Done."))
    assert text_of(solve((*before, ("user", asked)))) == answer


def test_a_result_that_just_came_is_read() -> None:
    asked = ("user", "Look up the lots. Who is the buyer of lot L-3?")
    assert text_of(solve((asked, ("assistant", ""), ("tool", json.dumps(ROWS))))) == "Udo"


@pytest.mark.parametrize("corpus", corpora.shipped())
def test_most_rows_of_the_shipped_corpora_are_answered_right(corpus: str) -> None:
    right, rows = measure(corpus)
    assert right / rows >= (0.8 if corpus in ("gate", "c8-wrong-answer") else 0.5)


@pytest.mark.parametrize(
    "piece", ["Aa ", "a-", "1 + ", "(", "[", "“", ": ", "x; ", "Who? ", "a", "A1 is taller than ", "{"]
)
def test_a_long_message_of_anything_gets_an_answer(piece: str) -> None:
    assert said(piece * (50_000 // len(piece))).strip()
    assert said(piece * (49_000 // len(piece)) + " Who is it now?").strip()
