"""Wrong answers: measured replies that fail their prompt's own check.

A reply that is no answer at all (empty, a refusal, a runaway) counts unless the paired one could not be judged either.
Where bleed explains the answer, the finding names the donor and is as certain as the bleed.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from fuzzer.finding import Donor, Finding
from fuzzer.history.records import Exchange
from fuzzer.oracles.bleed import Bleed, bleeds
from fuzzer.oracles.build import excerpt, finding, label, quote
from fuzzer.oracles.context import Batch, Context
from fuzzer.oracles.divergence import ALONE
from fuzzer.prompts.grade import Grade

_GOOD = ("right", "verbose")
_SAID: dict[str, str] = {
    "wrong-last-message": "answers another request's last message",
    "another-question": "answers another question",
    "dropped-constraint": "drops a constraint",
    "wrong-value": "gives a wrong answer",
    "wrong-tool": "calls the wrong function",
    "missing-call": "calls no function",
    "runaway": "runs on to its limit without an answer",
    "empty": "says nothing",
    "refusal": "refuses",
    "no-answer": "holds no answer",
}


def judge(batch: Batch, context: Context) -> Iterator[Finding]:
    """A finding for every measured reply that is wrong, on either arm."""
    alone = {
        exchange.sent.prompt
        for exchange in batch
        if _calibrates(exchange) and exchange.sent.pass_index == ALONE and _passed(context.grade(exchange))
    }
    for exchange in batch:
        grade = context.grade(exchange)
        at_n = _calibrates(exchange) and exchange.sent.pass_index != ALONE and exchange.sent.prompt in alone
        if at_n and grade is not None and not grade.passed:
            yield _at_n_only(exchange, grade)
        if exchange.sent.phase != "measure":
            continue
        pair = context.pair(exchange)
        if not exchange.sent.plain and not (pair is not None and _passed(context.grade(pair))):
            continue  # asked otherwise than it was calibrated: only the reference says that it can be answered so
        if grade is not None and _is_wrong(grade, pair, context):
            yield _finding(exchange, grade, context)


def _calibrates(exchange: Exchange) -> bool:
    return exchange.sent.phase == "calibration" and exchange.sent.arm == "reference"


def _passed(grade: Grade | None) -> bool:
    return grade is not None and grade.passed


def _at_n_only(exchange: Exchange, grade: Grade) -> Finding:
    """The reference itself: right alone, wrong in a batch."""
    where = label(exchange.sent.arm, exchange.sent.endpoint)
    level = exchange.sent.concurrency
    summary = f"{where}: {exchange.sent.prompt} is answered right alone and {grade.value} at concurrency {level}"
    return finding(exchange, "wrong-answer", "wrong-at-n", "possible", summary, evidence={"graded_as": grade.sub_kind})


def _is_wrong(grade: Grade, pair: Exchange | None, context: Context) -> bool:
    if grade.value != "none":
        return grade.value == "wrong"
    if pair is None or pair.done is None:
        return True  # the prompt was calibrated: it can be answered
    other = context.grade(pair)
    return other is not None and other.value != "none"


def _finding(exchange: Exchange, grade: Grade, context: Context) -> Finding:
    bleed = next(iter(bleeds(exchange, context)), None)
    sub_kind = _sub_kind(exchange, grade, bleed, context)
    where = label(exchange.sent.arm, exchange.sent.endpoint)
    text = _reply(exchange)
    pair = context.pair(exchange)
    other = context.grade(pair) if pair is not None else None
    prompt = context.prompts[exchange.sent.prompt]
    evidence: dict[str, JsonValue] = {
        "grade": grade.value,
        "graded_as": grade.sub_kind,
        "note": excerpt(grade.note),
        "expected": prompt.answer,
        "got": excerpt(text),
        "family": prompt.family,
        "level": prompt.level,
        "pair": other.value if other is not None else None,
    }
    return finding(
        exchange,
        "wrong-answer",
        sub_kind,
        "certain" if bleed is not None and bleed.certainty == "certain" else "likely",
        f"{where}: the reply to {exchange.sent.prompt} {_SAID.get(sub_kind, sub_kind)}"
        f"{_donor_words(bleed)}: {quote(text)}",
        evidence=evidence,
        donor=_donor(bleed),
    )


def _reply(exchange: Exchange) -> str:
    """What was said, calls of functions included."""
    received = exchange.received
    if received is None:
        return ""
    calls = [f"{call.name}({call.arguments})" for call in received.tool_calls]
    return "\n".join([received.text, *calls] if received.text else calls)


def _sub_kind(exchange: Exchange, grade: Grade, bleed: Bleed | None, context: Context) -> str:
    """The grade's own sub-kind, or whose question was answered where bleed tells."""
    own = grade.sub_kind or ("no-answer" if grade.value == "none" else "wrong-value")
    if bleed is None or grade.value == "none" or own == "wrong-last-message":
        return own
    if bleed.source == "user" and _answers(exchange, bleed.prompt, context):
        return "wrong-last-message"
    return "another-question"


def _answers(exchange: Exchange, donor: str | None, context: Context) -> bool:
    """Whether the reply is a right answer to the donor prompt."""
    prompt = context.prompts.get(donor) if donor is not None else None
    if prompt is None or exchange.received is None:
        return False
    return context.answers(exchange.received, prompt).value in _GOOD


def _donor_words(bleed: Bleed | None) -> str:
    return f" (content of {bleed.prompt or 'other prompts'})" if bleed is not None else ""


def _donor(bleed: Bleed | None) -> Donor | None:
    if bleed is None:
        return None
    return Donor(prompt=bleed.prompt, exchange=bleed.exchange, channel=bleed.source, span=bleed.span, when=bleed.when)
