"""long-context: a long text that no other row shares, and a question about one sentence of it at the end."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.corpora.rows import Row, names, row, said

SENTENCES = (16, 24, 34, 46, 60, 78)  # about 500 to 3,000 tokens
ROUNDS = 5
_NAMES = 2400  # where this corpus' names begin
_CLOSING = "Reply with the {kind} only."


@dataclass(frozen=True)
class Book:
    """A kind of text: how it opens, and its sentences with the questions that they answer.

    In a sentence {a} and {b} are names of its own, {n} is a number, {thing} one of ``things`` and {day} a date.
    """

    name: str
    opening: str
    things: tuple[str, ...]
    sentences: tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...]
    correction: str


BOOKS = (
    Book(
        "log",
        "From the log of the harbour master of {title}, in the year {year}.",
        ("tar", "rope", "salted herring", "oak planks", "lamp oil", "wool", "slate", "barley", "nails", "sailcloth"),
        (
            ("On {day} the brig {a} came in from {b} with {n} barrels of {thing}.",
             (("From which port did the brig {a} come in?", "b", "name"),
              ("How many barrels did the brig {a} bring?", "n", "number"))),
            ("On {day} the pilot {a} refused to take the schooner {b} out, because the wind stood against her.",
             (("Which pilot refused to take the schooner {b} out?", "a", "name"),)),
            ("The sloop {a} left for {b} on {day}; she carries {thing} and {n} letters.",
             (("For which port did the sloop {a} leave?", "b", "name"),
              ("How many letters does the sloop {a} carry?", "n", "number"))),
            ("On {day} the merchant {a} paid {n} crowns for the {thing} that had lain in the shed of {b}.",
             (("In whose shed had the {thing} lain that the merchant {a} paid for?", "b", "name"),
              ("How many crowns did the merchant {a} pay?", "n", "number"))),
            ("The watchman {a} reported on {day} that a lantern was missing from the jetty of {b}.",
             (("Which watchman reported that a lantern was missing from the jetty of {b}?", "a", "name"),)),
            ("Snow fell from noon on {day}, and the crew of the {a} cleared the quay before the house of {b}.",
             (("Before whose house did the crew of the {a} clear the quay?", "b", "name"),)),
            ("The customs officer {a} opened {n} chests of the trader {b} on {day} and found nothing but {thing}.",
             (("Which customs officer opened the chests of the trader {b}?", "a", "name"),
              ("How many chests of the trader {b} were opened?", "n", "number"))),
            ("Two sailors of the barque {a} were locked up on {day} for singing under the windows of {b}.",
             (("Under whose windows did two sailors of the barque {a} sing?", "b", "name"),)),
        ),
        "Correction to an entry above: the brig {a} did not come in from {old}, but from {new}.",
    ),
    Book(
        "minutes",
        "Minutes of the town council of {title}, winter session of the year {year}.",
        ("the new bridge", "the town clock", "the fish market", "the school roof", "the north gate", "the bath house",
         "the old well", "the fire engine", "the lime trees", "the poor house"),
        (
            ("{a} moved to spend {n} crowns on {thing}, and {b} seconded the motion.",
             (("Who seconded the motion of {a}?", "b", "name"),
              ("How many crowns did {a} move to spend?", "n", "number"))),
            ("{a} asked who was to pay for {thing}; the mayor named the family {b}.",
             (("Which family did the mayor name when {a} asked?", "b", "name"),)),
            ("A letter of {a} about {thing} was read out by {b} and laid aside.",
             (("Who read out the letter of {a}?", "b", "name"),)),
            ("On {day} a committee of three under {a} is to look at {thing} and report to {b}.",
             (("To whom is the committee under {a} to report?", "b", "name"),)),
            ("{a} complained that the cart of {b} had stood before {thing} for three days.",
             (("Whose cart did {a} complain about?", "b", "name"),)),
            ("A petition with {n} names against {thing} was handed in by {a}; {b} wished to have it counted again.",
             (("Who wished to have the petition of {a} counted again?", "b", "name"),
              ("How many names had the petition of {a}?", "n", "number"))),
            ("Asked by {a} whether {thing} was insured, the treasurer {b} said that he would look it up.",
             (("Which treasurer did {a} ask?", "b", "name"),)),
            ("The mason {a} offered to mend {thing} for {n} crowns; the council preferred the offer of {b}.",
             (("Whose offer did the council prefer to that of the mason {a}?", "b", "name"),
              ("For how many crowns did the mason {a} offer to mend something?", "n", "number"))),
        ),
        "The clerk corrects the minutes: the motion of {a} was seconded not by {old}, but by {new}.",
    ),
    Book(
        "journey",
        "From the travel diary of {title}, begun in the spring of the year {year}.",
        ("a lame mule", "two guides", "a sack of rice", "a cracked flute", "dried figs", "a compass", "warm bread",
         "a borrowed tent", "an old map", "a grey blanket"),
        (
            ("On {day} we walked {n} miles to {a}, where the innkeeper {b} sold us {thing}.",
             (("Who was the innkeeper in {a}?", "b", "name"),
              ("How many miles did we walk to {a}?", "n", "number"))),
            ("In {a} we met a widow called {b}, who gave us {thing} and would take no money.",
             (("What was the widow called whom we met in {a}?", "b", "name"),)),
            ("The road from {a} was flooded, so we crossed the pass of {b} with {thing} in the cart.",
             (("Which pass did we cross because the road from {a} was flooded?", "b", "name"),)),
            ("A boy in {a} showed us the chapel of {b} and asked for {thing}.",
             (("The chapel of whom did a boy in {a} show us?", "b", "name"),)),
            ("We stayed in {a} for four nights, until the ferryman {b} came back on {day}.",
             (("Which ferryman came back while we stayed in {a}?", "b", "name"),)),
            ("At the market of {a} I traded {thing} for a letter of safe conduct signed by {b}.",
             (("Who had signed the letter of safe conduct from the market of {a}?", "b", "name"),)),
            ("The monks of {a} keep {n} beehives, and brother {b} sang for us on {day}.",
             (("Which brother of the monks of {a} sang for us?", "b", "name"),
              ("How many beehives do the monks of {a} keep?", "n", "number"))),
            ("Near {a} we lost {thing} in a ford and were pulled out by a fisherman called {b}.",
             (("What was the fisherman called who pulled us out near {a}?", "b", "name"),)),
        ),
        "I wrote above that the innkeeper in {a} was {old}; that was a mistake, it was {new}.",
    ),
)  # fmt: skip

_MONTHS = "January February March April May June July August September October November December"


def rows() -> list[Row]:
    """Five rows of each of six lengths; in every fifth a later sentence corrects the one that is asked about."""
    made: list[Row] = []
    used = _NAMES
    for place in range(len(SENTENCES) * ROUNDS):
        length = SENTENCES[place % len(SENTENCES)]
        drawn = iter(names(used, 2 * length + 8))
        used += 2 * length + 8
        made.append(_row(place, length, drawn))
    return made


def _row(place: int, length: int, drawn: Iterator[str]) -> Row:
    rng = random.Random(f"long/{place}")
    book = BOOKS[place % len(BOOKS)]
    corrected = place % 5 == 4
    asked = rng.randrange(length // 4) if place % 3 == 0 else rng.randrange(length)
    title, year = next(drawn), rng.randrange(1740, 1890)
    said_of: list[dict[str, str]] = []
    sentences: list[str] = []
    for number in range(length):
        kind = 0 if corrected and number == asked else rng.randrange(len(book.sentences))
        template, values = book.sentences[kind][0], _values(rng, book, drawn, number, length)
        said_of.append({**values, "kind": str(kind)})
        sentences.append(template.format(**values))
    values = said_of[asked]
    questions = book.sentences[int(values["kind"])][1]
    question, field, kind_name = questions[0] if corrected else rng.choice(questions)
    answer = values[field]
    if corrected:
        old, answer = answer, next(drawn)
        at = rng.randrange(asked + 1, length + 1)
        sentences.insert(at, book.correction.format(a=values["a"], old=old, new=answer))
    text = "\n".join([book.opening.format(title=title, year=year), *_paragraphs(rng, sentences)])
    ask = f"{text}\n\n{question.format(**values)} {_CLOSING.format(kind=kind_name)}"
    check = "number" if field == "n" else "exact"
    level = "easy" if length < 30 and not corrected else "medium" if length < 50 else "hard"
    return row(f"long-{place + 1:03d}", book.name, level, [said("user", ask)], answer, check)


def _values(rng: random.Random, book: Book, drawn: Iterator[str], number: int, length: int) -> dict[str, str]:
    day = 1 + number * 360 // length
    return {
        "a": next(drawn),
        "b": next(drawn),
        "n": str(rng.randrange(13, 980)),
        "thing": rng.choice(book.things),
        "day": f"{day % 30 + 1} {_MONTHS.split()[day // 30 % 12]}",
    }


def _paragraphs(rng: random.Random, sentences: list[str]) -> Iterator[str]:
    at = 0
    while at < len(sentences):
        size = rng.randrange(3, 7)
        yield " ".join(sentences[at : at + size])
        at += size
