"""From what was found in a reply to its grade."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from fuzzer.history.records import Prompt, ToolCall
from fuzzer.prompts import canary
from fuzzer.prompts.checks.found import Found, right, strings
from fuzzer.prompts.checks.phrases import tries
from fuzzer.prompts.checks.restated import asks_for_its_own_words, echoes, only_repeats, resembles
from fuzzer.prompts.grade import Grade
from fuzzer.prompts.reply import Reply, last_cue

Extract = Callable[[Prompt, Reply], Found]

_LABEL = re.compile(r"(?:session tag|case number|ticket|[0-9]{1,2}[.)])", re.IGNORECASE)
_TELLING = ("wrong-last-message", "another-question")  # these say more than that the reply never ended


def judge(
    prompt: Prompt,
    text: str,
    finish_reason: str | None,
    extract: Extract,
    calls: Sequence[ToolCall] = (),
    reasoning: str = "",
) -> Grade:
    """Grade a reply with the family's own extraction; never raises for anything that a server sends."""
    reply = Reply.of(text, calls)
    leak = leaked(text, reasoning) if prompt.wants.thinking and finish_reason != "length" else ""
    if reply.empty and not leak:
        return Grade("none", "runaway" if finish_reason == "length" else "empty", "nothing was said")
    found = _found(prompt, reply, extract)
    if leak and (found.good or reply.empty):
        return Grade("wrong", "dropped-constraint", leak)
    if found.good:
        return Grade(found.value)
    if finish_reason == "length" and found.sub_kind not in _TELLING:
        return Grade("none", "runaway", f"cut off before a right answer; {found.note}")
    if reply.refuses and (found.guessed or found.value == "none"):
        return Grade("none", "refusal", found.note)
    return Grade(found.value, found.sub_kind, found.note)


def leaked(text: str, reasoning: str) -> str:
    """What certainly is reasoning in an answer that should hold none, in words; "" where nothing is certain.

    A server without a reasoning channel leaves closed reasoning in the answer: that is its way, and no leak.
    """
    opened, closed = "<think>" in text, "</think>" in text
    if reasoning and (opened or closed):
        return "a thinking mark stands in the answer, beside reasoning that was kept apart"
    if text.lstrip().startswith("<think>") and not closed:
        return "reasoning was opened in the answer and never closed"
    return ""


def _found(prompt: Prompt, reply: Reply, extract: Extract) -> Found:
    """What was found; a reply that only repeats words of the question is no answer."""
    found = _beside_echoes(prompt, reply, extract)
    if found.guessed and not _states_a_mark(prompt, reply) and only_repeats(prompt, reply.body):
        return Found("none", "no-answer", "only repeats words of the question")
    return found


def _states_a_mark(prompt: Prompt, reply: Reply) -> bool:
    """Whether a mark is given as the answer: any, where none is asked for, or one after "the answer is"."""
    marked = canary.MARK.search(reply.bare) is not None
    return marked and (not strings(prompt.spec.get("frame")) or last_cue(reply.body) is not None)


def _beside_echoes(prompt: Prompt, reply: Reply, extract: Extract) -> Found:
    """What was found beside any echo of the question; an echo alone is no answer, unless the question holds it."""
    spans = echoes(prompt, _core(prompt), reply.text)
    if not spans or "instructions" in prompt.spec:  # IFEval's count words, or ask for the question again
        return _framed(prompt, reply, extract(prompt, reply))
    beside = read = reply.without(spans)
    found = extract(prompt, beside)
    if not found.good and not beside.calls:
        tried = tries(beside.body) or resembles(_core(prompt), beside.body)
        if not tried and asks_for_its_own_words(prompt, _core(prompt)):
            found, read = extract(prompt, reply), reply
        elif beside.only([]):
            found = Found("none", "no-answer", "only repeats the question")
    return _framed(prompt, beside, right(alone=False) if found.good else found, read)


def _core(prompt: Prompt) -> str:
    """The right answer without the marks around it."""
    marks = strings(prompt.spec.get("frame"))
    return "\n".join(line for line in prompt.answer.split("\n") if line not in marks)


def _framed(prompt: Prompt, reply: Reply, found: Found, read: Reply | None = None) -> Found:
    """A right answer without the marks that the prompt asked for, or not between them, has dropped a constraint.

    ``read`` is where the answer was found, if that is more than ``reply``.
    """
    if not found.good:
        return found
    left_out = [mark for mark in strings(prompt.spec.get("frame")) if not canary.occurs(mark, reply.bare)]
    if left_out:
        return Found("wrong", "dropped-constraint", f"right, but without {', '.join(left_out)}")
    if not _in_order(prompt, (read or reply).bare):
        return Found("wrong", "dropped-constraint", "right, but not between its marks in the order that was asked for")
    return found


def _in_order(prompt: Prompt, bare: str) -> bool:
    """Whether something stands somewhere between the first mark and the ticket after it; no marks are in order."""
    frame = strings(prompt.spec.get("frame"))
    if len(frame) != 2:
        return True
    first, ticket = (mark.casefold() for mark in frame)
    opened: int | None = None
    for match in canary.MARK.finditer(bare):
        if match[0].casefold() == first:
            opened = match.end()
        elif match[0].casefold() == ticket and opened is not None:
            if _says(bare[opened : match.start()]):
                return True
            opened = None
    return False


def _says(between: str) -> bool:
    """Whether there is more between two marks than the label of the second."""
    return any(map(str.isalnum, _LABEL.sub("", between)))
