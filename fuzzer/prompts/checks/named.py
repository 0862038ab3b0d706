"""Answers of one name."""

from __future__ import annotations

from fuzzer.history.records import Prompt
from fuzzer.prompts import names
from fuzzer.prompts.checks.found import Found, decoys, fold, is_own, missing, right, wrong
from fuzzer.prompts.checks.runs import runs
from fuzzer.prompts.reply import SUPERSEDED, Candidate, Reply, final, hedged


def name(prompt: Prompt, reply: Reply) -> Found:
    """The answer is one name; a list that is said again does not count where a name stands outside of it."""
    value, body = fold(str(prompt.spec["value"])), reply.body
    candidates = [Candidate(fold(body[start:end]), start, end) for start, end in names.spans(body)]
    chosen = final(_single(candidates, body), body, SUPERSEDED)
    if chosen is None:
        return missing(prompt, reply)
    if chosen.text == value and not hedged(chosen, candidates, body):
        return right(reply.only([(each.start, each.end) for each in candidates if each.text == value]))
    return wrong(_kind(chosen.text, prompt), chosen.text, value)


def _single(candidates: list[Candidate], body: str) -> list[Candidate]:
    listed = {each.start for run in runs(candidates, body) for each in run.items}
    return [each for each in candidates if each.start not in listed] or candidates


def _kind(said: str, prompt: Prompt) -> str:
    if said in map(fold, decoys(prompt)):
        return "wrong-last-message"
    return "wrong-value" if is_own(said, prompt) else "another-question"
