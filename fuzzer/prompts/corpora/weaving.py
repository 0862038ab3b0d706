"""A row made a prompt, with canaries woven in or as it is; and what an answer to it is worth."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue

from fuzzer.history.records import Canary, Channel, Message, Prompt, ToolCall
from fuzzer.prompts import canary
from fuzzer.prompts.checks import entry_point, ifeval, listing, single, texts
from fuzzer.prompts.checks.found import Found
from fuzzer.prompts.checks.judge import judge
from fuzzer.prompts.corpora.rows import Row
from fuzzer.prompts.grade import Grade
from fuzzer.prompts.reply import Reply

PREFIX = "corpus/"  # what the family of a corpus prompt begins with

_CHECKS: Mapping[str, Callable[[Prompt, Reply], Found]] = {
    "exact": texts.exact,
    "number": single.number,
    "list": listing.items,
    "ifeval": ifeval.extract,
    "entry-point": entry_point.extract,
}
_SHORT_ANSWER = 80  # characters: an assistant's message up to this length is an earlier turn's answer


def prompt(name: str, row: Row, rng: random.Random, prompt_id: str, *, weave: bool = True) -> Prompt:
    """A row as a prompt; where it may be asked at several turns, one is drawn.

    Woven in are a ticket as the first line of each of the user's messages and a session tag as the last line of the
    system message (one is put first where there is none); they do not change the task. Without ``weave`` the messages
    are the data's own, byte for byte, and nothing in them tells whose they are.
    """
    end = rng.choice(row.asks) if len(row.asks) > 1 else row.asks[0]
    messages, canaries = _woven(row.messages[: end + 1], rng) if weave else (row.messages[: end + 1], ())
    return Prompt(
        id=prompt_id,
        family=f"{PREFIX}{name}",
        level=row.level,
        messages=messages,
        answer=row.answer,
        canaries=canaries,
        spec={**row.spec, "check": row.check, "frame": [], "decoys": _decoys(row), "row": _place(row)},
        attributable=False,
        checkable=row.checkable,
        wants=row.wants,
    )


def check(prompt: Prompt, text: str, finish_reason: str | None = None, calls: Sequence[ToolCall] = ()) -> Grade:
    """What an answer to a corpus prompt is worth, judged from the prompt alone; never right where none is known."""
    return judge(prompt, text, finish_reason, _extract, calls)


def _extract(prompt: Prompt, reply: Reply) -> Found:
    check = _CHECKS.get(str(prompt.spec.get("check")))
    return check(prompt, reply) if check else Found("none", "no-answer", "no right answer is known")


def _woven(messages: Sequence[Message], rng: random.Random) -> tuple[tuple[Message, ...], tuple[Canary, ...]]:
    canaries: list[Canary] = []

    def mark(channel: Channel) -> str:
        canaries.append(Canary(channel=channel, text=canary.mark(rng)))
        return canaries[-1].text

    tag = f"Session tag: {mark('system')}."
    asked = max(at for at, message in enumerate(messages) if message.role == "user")
    woven: list[Message] = []
    tagged = False
    for at, message in enumerate(messages):
        if message.role == "user":
            ticket = mark("user" if at == asked else "history")
            message = message.model_copy(update={"content": f"Ticket: {ticket}\n{message.content}"})
        elif message.role == "system" and not tagged:
            tagged = True
            message = message.model_copy(update={"content": f"{message.content}\n{tag}".lstrip("\n")})
        woven.append(message)
    head = () if tagged else (Message(role="system", content=tag),)
    return (*head, *woven), tuple(canaries)


def _decoys(row: Row) -> list[JsonValue]:
    """Earlier turns' answers, by which a reply to the wrong message is known."""
    earlier = [message.content for message in row.messages if message.role == "assistant"]
    return [text for text in earlier if 0 < len(text) <= _SHORT_ANSWER and text.casefold() != row.answer.casefold()]


def _place(row: Row) -> str:
    return f"{Path(row.where.source).name} {row.where.number}" if row.where.number else ""
