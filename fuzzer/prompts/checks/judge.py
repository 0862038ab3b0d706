"""From what was found in a reply to its grade."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fuzzer.history.records import Prompt, ToolCall
from fuzzer.prompts import canary
from fuzzer.prompts.checks.found import Found, strings
from fuzzer.prompts.grade import Grade
from fuzzer.prompts.reply import Reply

_TELLING = ("wrong-last-message", "another-question")  # these say more than that the reply never ended


def judge(
    prompt: Prompt,
    text: str,
    finish_reason: str | None,
    extract: Callable[[Prompt, Reply], Found],
    calls: Sequence[ToolCall] = (),
) -> Grade:
    """Grade a reply with the family's own extraction; never raises for anything that a server sends."""
    reply = Reply.of(text, calls)
    if reply.empty:
        return Grade("none", "runaway" if finish_reason == "length" else "empty", "nothing was said")
    found = _framed(prompt, reply, extract(prompt, reply))
    if found.value in ("right", "verbose"):
        return Grade(found.value)
    if finish_reason == "length" and found.sub_kind not in _TELLING:
        return Grade("none", "runaway", f"cut off before a right answer; {found.note}")
    if reply.refuses and (found.guessed or found.value == "none"):
        return Grade("none", "refusal", found.note)
    return Grade(found.value, found.sub_kind, found.note)


def _framed(prompt: Prompt, reply: Reply, found: Found) -> Found:
    """A right answer without the marks that the prompt asked for has dropped a constraint."""
    if found.value not in ("right", "verbose"):
        return found
    left_out = [mark for mark in strings(prompt.spec.get("frame")) if not canary.occurs(mark, reply.bare)]
    if left_out:
        return Found("wrong", "dropped-constraint", f"right, but without {', '.join(left_out)}")
    return found
