"""The frame that every family's question is set in: system message, earlier turns, ticket, closing line.

Easy and medium prompts are short, so that a model of 135 million parameters can answer some. Hard ones have a long
shared system message and ask for three lines: a mark from the system message or the history, the answer, and the
ticket; so an answer tells which channel it was taken from. An answer that cannot stand in three lines (code, JSON under
a schema, a call of a function) is asked for bare, under the same system message.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from pydantic import JsonValue

from fuzzer.history.records import PLAIN, Canary, Channel, Level, Message, Prompt, ToolCall, Wants
from fuzzer.prompts import canary

GUIDE = (
    "You are a careful assistant. Every conversation carries a session tag, and some carry a case number. Answer only "
    "the last question of the conversation. Use the names, numbers and codes exactly as they are given. Do not explain "
    "the answer, do not repeat the question, and do not add anything that was not asked for."
)
_CLOSING = "Answer in three lines: the {first}, then the answer, then the ticket. Write nothing else."
TAG_FIRST = _CLOSING.format(first="session tag from the system message")
CASE_FIRST = _CLOSING.format(first="case number from my first message")


@dataclass(frozen=True, slots=True)
class Used:
    """An earlier turn in which a function was called: what was asked, the call, its result, and what was then said."""

    question: str
    call: ToolCall
    result: str
    answer: str


@dataclass(frozen=True, slots=True)
class Task:
    """A question and its right answer, before they are framed.

    ``earlier`` are (question, answer) pairs of earlier turns, and ``used`` turns with calls that come after those;
    ``system`` is what the system message says besides; ``codes`` are the canaries in the question, with their channels.
    ``framed`` is false where a hard answer cannot stand between two marks.
    """

    ask: str
    answer: str
    spec: dict[str, JsonValue]
    items: tuple[str, ...] = ()
    earlier: tuple[tuple[str, str], ...] = ()
    system: str = ""
    codes: tuple[Canary, ...] = ()
    elicits: tuple[Channel, ...] = ()
    attributable: bool = True
    wants: Wants = PLAIN
    used: tuple[Used, ...] = ()
    framed: bool = True


@dataclass(slots=True)
class _Sheet:
    messages: list[Message] = field(default_factory=list)
    canaries: list[Canary] = field(default_factory=list)

    def mark(self, rng: random.Random, channel: Channel) -> str:
        text = canary.mark(rng)
        self.canaries.append(Canary(channel=channel, text=text))
        return text

    def turn(self, question: str, answer: str) -> None:
        self.messages.append(Message(role="user", content=question))
        self.messages.append(Message(role="assistant", content=answer))

    def used(self, question: str, turn: Used) -> None:
        self.messages += (
            Message(role="user", content=question),
            Message(role="assistant", content="", tool_calls=(turn.call,)),
            Message(role="tool", content=turn.result, tool_call_id=turn.call.id),
            Message(role="assistant", content=turn.answer),
        )

    def history(self, rng: random.Random, task: Task, head: str = "") -> None:
        """All earlier turns, each with a ticket of its own, the first one under ``head``."""
        for question, answer in task.earlier:
            self.turn(f"{head}Ticket: {self.mark(rng, 'history')}\n{question}", answer)
            head = ""
        for turn in task.used:
            self.used(f"{head}Ticket: {self.mark(rng, 'history')}\n{turn.question}", turn)
            head = ""


def frame(family: str, rng: random.Random, prompt_id: str, level: Level, task: Task) -> Prompt:
    """The whole prompt for a task, with fresh canaries in every channel."""
    if level == "hard" and task.framed:
        return _framed(family, rng, prompt_id, task)
    return _bare(family, rng, prompt_id, level, task)


def cohort(prompt: Prompt, group: str) -> Prompt:
    """The prompt with its cohort's canary at the head of the system message."""
    system, *rest = prompt.messages
    headed = Message(role="system", content=f"Group {group}. {system.content}")
    mark = Canary(channel="system", text=group, cohort=True)
    return prompt.model_copy(update={"messages": (headed, *rest), "canaries": (mark, *prompt.canaries)})


def _bare(family: str, rng: random.Random, prompt_id: str, level: Level, task: Task) -> Prompt:
    sheet = _Sheet()
    marked = any(code.channel == "system" for code in task.codes)
    tag = "" if marked else f"Session tag: {sheet.mark(rng, 'system')}."
    told = " ".join(filter(None, (GUIDE if level == "hard" else "Be brief.", task.system, tag)))
    sheet.messages.append(Message(role="system", content=told))
    sheet.history(rng, task)
    ask = f"Ticket: {sheet.mark(rng, 'user')}\n{task.ask}"
    sheet.messages.append(Message(role="user", content=ask))
    return _prompt(family, level, prompt_id, task, sheet, answer=task.answer, frame=(), elicits=task.elicits)


def _framed(family: str, rng: random.Random, prompt_id: str, task: Task) -> Prompt:
    sheet = _Sheet()
    tag = sheet.mark(rng, "system")
    told = " ".join(filter(None, (GUIDE, task.system, f"Session tag: {tag}.")))
    sheet.messages.append(Message(role="system", content=told))
    by_case = rng.random() < 0.5
    case = sheet.mark(rng, "history") if by_case else ""
    if by_case and not (task.earlier or task.used):
        sheet.turn(f"Case number: {case}\nI have one question. Are you ready?", "Yes.")
    sheet.history(rng, task, f"Case number: {case}\n" if by_case else "")
    ticket = sheet.mark(rng, "user")
    closing = CASE_FIRST if by_case else TAG_FIRST
    sheet.messages.append(Message(role="user", content=f"Ticket: {ticket}\n{task.ask}\n{closing}"))
    first = case if by_case else tag
    channel: Channel = "history" if by_case else "system"
    elicits = tuple(dict.fromkeys((channel, "user", *task.elicits)))
    answer = f"{first}\n{task.answer}\n{ticket}"
    return _prompt(family, "hard", prompt_id, task, sheet, answer=answer, frame=(first, ticket), elicits=elicits)


def _prompt(
    family: str, level: Level, prompt_id: str, task: Task, sheet: _Sheet,
    *, answer: str, frame: tuple[str, ...], elicits: tuple[Channel, ...],
) -> Prompt:  # fmt: skip
    return Prompt(
        id=prompt_id,
        family=family,
        level=level,
        messages=tuple(sheet.messages),
        answer=answer,
        items=task.items,
        canaries=(*sheet.canaries, *task.codes),
        elicits=elicits,
        spec={**task.spec, "frame": list(frame), "decoys": _decoys(task)},
        attributable=task.attributable,
        wants=task.wants,
    )


def _decoys(task: Task) -> list[JsonValue]:
    """What a wrong last message would be answered with: the earlier answers, and the arguments of earlier calls."""
    return [*(answer for _, answer in task.earlier), *(turn.call.arguments for turn in task.used)]
