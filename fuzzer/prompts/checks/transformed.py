"""Answers that are a given text in another form: other letters, or its words, letters or initials in another order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from fuzzer.history.records import Prompt
from fuzzer.prompts import names
from fuzzer.prompts.checks.found import Found, earlier_answer, foreign, missing, right, wrong
from fuzzer.prompts.reply import Candidate, Reply, last_cue

_WORD = re.compile(r"[^\W_]+")
_NUMBERED = re.compile(r"(?:^|(?<=\n))[ \t|]{0,8}([0-9]{1,2})[ \t]{0,4}[.):|]")
_JOINED = re.compile(r"[^\w:→⇒=>()]{1,30}")
_EITHER_AFTER = re.compile(r"[\s\"'“”«»,]{0,4}(?:/|\bor\b)", re.IGNORECASE)
_EITHER_BEFORE = re.compile(r"(?:/|\bor)[\s\"'“”«»]{0,4}$", re.IGNORECASE)
_MARKED = frozenset({"ticket", "session", "case"})  # what the frame's own lines may begin with
_BETWEEN = re.compile(r"and|then|first|second|third|fourth|fifth|sixth", re.IGNORECASE)
_CAPITALS = re.compile(r"(?<![^\W_])[A-Z]{6,20}(?![^\W_]|:)")
_NEAR = 2  # symbols that initials may have more or less than the right ones and still be meant as the answer

_Same = Callable[[str, str], bool]


def transformed(prompt: Prompt, reply: Reply) -> Found:
    """The answer is the text in ``value``, made in a ``way`` from the one in ``given``.

    The ways are "small", "capitals", "turned" (the words from the last to the first), "turned capitals", "backwards"
    (the letters of each word) and "initials". Where capitals are not what is asked for, other ones are verbose. The
    text unchanged is a dropped constraint.
    """
    way, value = str(prompt.spec["way"]), str(prompt.spec["value"])
    found = (_initials if way == "initials" else _in_words)(prompt, reply)
    if not found.good and (earlier := earlier_answer(prompt, reply)):
        return wrong("wrong-last-message", earlier, value)
    strange = foreign(prompt, reply) or foreign(prompt, _backwards(reply))
    return wrong("another-question", strange, value) if strange else found


def _backwards(reply: Reply) -> Reply:
    text = _WORD.sub(lambda match: match[0][::-1], reply.body)
    return Reply(text=text, bare=text, body=text)


def _in_words(prompt: Prompt, reply: Reply) -> Found:
    value, body = str(prompt.spec["value"]), reply.body
    body = _NUMBERED.sub(lambda match: " " * len(match[0]), body)
    wanted, given = _WORD.findall(value), _WORD.findall(str(prompt.spec["given"]))
    by_case = prompt.spec["way"] in ("small", "capitals", "turned capitals")
    said = _words(body)
    places = list(_occurrences(wanted, said, _exactly if by_case else _alike))
    if not places:
        return _otherwise(prompt, reply, said, wanted, given)
    cue = last_cue(body)
    place = next((each for each in places if cue is not None and said[each].start >= cue), places[-1])
    start, end = said[place].start, said[place + len(wanted) - 1].end
    if _goes_on(said, place, place + len(wanted), body) or _unsettled(prompt, body, start, end):
        return wrong("wrong-value", body[max(0, start - 20) : end + 20].strip(), value)
    as_asked = [each.text for each in said[place : place + len(wanted)]] == wanted
    return right(as_asked and reply.only([(start, end)]))


def _otherwise(prompt: Prompt, reply: Reply, said: list[Candidate], wanted: list[str], given: list[str]) -> Found:
    """What stands in place of the right words: the text as it was given, the right words in other letters, or else."""
    for words, same, kind in ((given, _exactly, "dropped-constraint"), (wanted, _alike, "wrong-value")):
        place = next(_occurrences(words, said, same), None)
        if place is not None:
            end = said[place + len(words) - 1].end
            return wrong(kind, reply.body[said[place].start : end], prompt.spec["value"])
    return missing(prompt, reply)


def _words(body: str) -> list[Candidate]:
    """The words of a text, without "and", "first" and the like."""
    found = (Candidate(match[0], *match.span()) for match in _WORD.finditer(body))
    return [each for each in found if not _BETWEEN.fullmatch(each.text)]


def _exactly(a: str, b: str) -> bool:
    return a == b


def _alike(a: str, b: str) -> bool:
    return a.casefold() == b.casefold()


def _occurrences(wanted: Sequence[str], said: Sequence[Candidate], same: _Same) -> Iterator[int]:
    """Where the wanted words stand in a row."""
    for place in range(len(said) - len(wanted) + 1):
        if all(same(said[place + index].text, each) for index, each in enumerate(wanted)):
            yield place


def _goes_on(said: Sequence[Candidate], start: int, end: int, body: str) -> bool:
    """Whether a part of a name more stands right before or after these words."""
    for index, (left, right_) in ((start - 1, (start - 1, start)), (end, (end - 1, end))):
        if 0 <= index < len(said) and _JOINED.fullmatch(body, said[left].end, said[right_].start):
            word = said[index].text.lower()
            if word not in _MARKED and not names.PARTS.isdisjoint((word, word[::-1])):
                return True
    return False


def _unsettled(prompt: Prompt, body: str, start: int, end: int) -> bool:
    """Whether another answer stands beside this one ("X or Y"), or a strange word of capitals after it."""
    beside = _EITHER_AFTER.match(body, end) or _EITHER_BEFORE.search(body[max(0, start - 8) : start])
    own = f"{prompt.text} {prompt.answer}".upper()
    return beside is not None or any(match[0] not in own for match in _CAPITALS.finditer(body, end))


def _initials(prompt: Prompt, reply: Reply) -> Found:
    """The answer is letters, in one word or with something between them; of those said, the last word of capitals."""
    value, body = str(prompt.spec["value"]), reply.body
    spelt = r"[\s.,·–-]{0,3}".join(value)
    like = rf"[A-Z]{{{len(value) - _NEAR},{len(value) + _NEAR}}}"
    pattern = re.compile(rf"(?<![^\W_])(?:((?i:{spelt}))|{like})(?![^\W_])")
    found = list(pattern.finditer(body))
    if not found:
        return missing(prompt, reply)
    cue = last_cue(body)
    chosen = next((each for each in found if cue is not None and each.start() >= cue), found[-1])
    if chosen[1] is None or _unsettled(prompt, body, *chosen.span()):
        return wrong("wrong-value", chosen[0], value)
    return right(chosen[0] == value and reply.only([chosen.span()]))
