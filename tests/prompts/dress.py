"""What stands around an answer: its frame's marks, and a whole reply's opening, closing, fence or echo."""

from __future__ import annotations

import random
from collections.abc import Callable

from fuzzer.history.records import Prompt

Style = Callable[[str, Prompt, random.Random], str]


def one_of(*forms: str) -> Style:
    """A style that puts the answer in the place of {} in one of these forms."""
    return lambda said, _, rng: rng.choice(forms).replace("{}", said)


def _lines(first: str, said: str, ticket: str, rng: random.Random) -> str:
    return f"{first}\n{said}\n{ticket}"


def _labelled(first: str, said: str, ticket: str, rng: random.Random) -> str:
    form = rng.choice(
        (
            "Session tag: {}\nAnswer: {}\nTicket: {}",
            "**Session tag:** {}\n**Answer:** {}\n**Ticket:** {}",
            "Case number: {}\n\nAnswer:\n{}\n\nTicket: {}",
            "The mark is {}.\n{}\nThe ticket is {}.",
        )
    )
    return form.format(first, said, ticket)


def _listed(first: str, said: str, ticket: str, rng: random.Random) -> str:
    if "\n" in said:
        return f"{first}\n\n{said}\n\n{ticket}"
    return rng.choice(("1. {}\n2. {}\n3. {}", "- {}\n- {}\n- {}", "* {}\n* {}\n* {}")).format(first, said, ticket)


def _spread(first: str, said: str, ticket: str, rng: random.Random) -> str:
    return f"{first}  \n{said}  \n{ticket}\n"


FRAMES = {"lines": _lines, "labels": _labelled, "list": _listed, "spread": _spread}


def _echo(said: str, prompt: Prompt, rng: random.Random) -> str:
    asked = question(prompt)
    form = rng.choice(
        (
            "{q}\n{a}",
            "{q}\n\n{a}",
            "You asked:\n{q}\n\n{a}",
            '"{q}"\n\nAnswer:\n{a}',
            "> {q}\n\n{a}",
            "Question: {q}\nAnswer: {a}",
            "{r}\n{a}",
            "**{r}**\n\n{a}",
        )
    )
    return form.replace("{r}", request(asked)).replace("{q}", asked).replace("{a}", said)


def question(prompt: Prompt) -> str:
    """The last message of the user's."""
    return [message.content for message in prompt.messages if message.role == "user"][-1]


def request(asked: str) -> str:
    """The question without its ticket."""
    return asked.partition("\n")[2] if asked.startswith("Ticket:") else asked


WHOLE_STYLES: dict[str, Style] = {
    "": lambda said, *_: said,
    "opening": one_of(
        "Sure! Here is the answer:\n\n{}",
        "Certainly. \n{}",
        "Here you go:\n{}",
        "Okay, let me see.\n\n{}",
        "I'd be happy to help!\n\n{}",
        "Assistant: {}",
        "Thank you for your question.\n{}",
        "## Answer\n\n{}",
    ),
    "closing": one_of(
        "{}\n\nI hope that helps.",
        "{}\n\nLet me know if you have any other questions!",
        "{}\n\n---\nIs that all?",
        "{}\n\n(Nothing else was asked for.)",
        "{}\nThank you.",
        "{}\n\n✅",
        "{}\n\nHave a nice day 😊",
    ),
    "explanation": one_of(
        "{}\n\nExplanation: this follows from what the last message says.",
        "{}\n\nNote: I have used the values exactly as they were given.",
        "{}\n\nI found this by reading the question from the start to the end, as was asked.",
        "{}\n\n**Reasoning:** the question was read twice, and no other answer fits.",
    ),
    "fenced": one_of("```\n{}\n```", "```markdown\n{}\n```"),
    "thought": one_of(
        "<think>\nThe user wants an answer. Could it be 17? No.\n</think>\n\n{}",
        "<think></think>{}",
        "<think>\n\n</think>\n\n{}",
    ),
    "echo": _echo,
    "crlf": lambda said, *_: said.replace("\n", "\r\n") + "\r\n",
    "indented": lambda said, *_: "\n".join("    " + line for line in said.split("\n")),
}
"""Styles of the whole reply."""
