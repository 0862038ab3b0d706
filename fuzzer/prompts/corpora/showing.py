"""Rows of a corpus as they would be sent, for people to look at."""

from __future__ import annotations

from collections.abc import Iterator

from fuzzer.history.records import Message, Prompt
from fuzzer.prompts.corpora.loading import load
from fuzzer.prompts.corpora.rows import Row
from fuzzer.prompts.corpora.weaving import prompt
from fuzzer.prompts.draws import Draws


def shown(corpus: str, count: int, seed: int, *, weave: bool) -> Iterator[str]:
    """The lines of ``count`` rows, drawn by the seed; UsageError as in ``load``."""
    loaded = load(corpus, seed, count)
    for at, row in enumerate(loaded.rows):
        yield from _row(row, prompt(loaded.name, row, Draws(seed, "p", at), f"p{at:06d}", weave=weave))
        yield ""
    yield f"{len(loaded.rows):,} of {loaded.total:,} rows"


def _row(row: Row, asked: Prompt) -> Iterator[str]:
    yield f"{row.where} ({_about(row)})"
    for message in asked.messages:
        yield from _message(message)
    for tool in asked.wants.tools:
        yield f"  may call {tool.name}: {tool.description}"


def _about(row: Row) -> str:
    names = [row.format, row.family, row.id and f"{row.id_field} {row.id}"]
    checked = f"checked by {row.check}" if row.check else "no known answer: serves divergence and bleed"
    answer = f", the answer is {row.answer!r}" if row.answer else ""
    return f"{', '.join(filter(None, names))}; {checked}{answer}"


def _message(message: Message) -> Iterator[str]:
    for line in message.content.splitlines() or [""]:
        yield f"  {message.role}: {line}"
    for call in message.tool_calls:
        yield f"  {message.role} calls {call.name}({call.arguments})"
