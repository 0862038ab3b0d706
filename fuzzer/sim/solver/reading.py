"""Questions about facts that were told: the clause that is most like the question holds the answer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fuzzer.sim.answer import Slot
from fuzzer.sim.solver.chat import Chat
from fuzzer.sim.solver.questions import Inquiry, inquiry, stem, words
from fuzzer.sim.solver.vocabulary import ASKED, LISTED, OPENERS, SMALL_WORDS
from fuzzer.sim.solver.wording import content, listed, maybe, slip

_CLAUSE = re.compile(r"[,;:，；、،]\s+|[，；、،]|\s+(?:and|but|or|then)\s+|\s+-\s+")
_QUOTED = re.compile(r"[“„«»”「『\"]\s*([^“”„«»「」『』\"]{1,40}?)\s*[”“»«」』\"]")
_NAME = re.compile(r"(?<![\w'’-])[A-Z][\w'’-]*(?: (?:of |the )?[A-Z0-9][\w'’-]*)*")
_FIGURE = re.compile(r"(?<![\w.-])\d[\d,]*(?![\w-]|\.\d)")
_CODED = re.compile(
    r"[A-Z]{2} \d{3} [A-Z]{2}\b"
    r"|(?:\b(?:[Cc]lause|[Ff]lat|[Rr]oom|[Pp]latform|[Uu]nit) )?(?<![\w.@/-])[\w/@][\w./@:-]*\d[\w./@:-]*(?<![.:,])"
    r"|(?<![\w.])[\w.]{1,60}@[\w.-]+\w|(?<![\w-])(?:[A-Za-z]{1,30}-){1,2}[A-Za-z]+"
)
_CORRECTS = re.compile(r"\b(?:[Cc]orrect(?:ion|s)|mistake)\b")
_DENIED = re.compile(r"\b(?:not (?:by|from|in)?|no longer|instead of|neither)\s*$")


@dataclass(frozen=True, slots=True)
class _Clause:
    text: str
    sentence: int
    stems: frozenset[str]


def reading(chat: Chat) -> tuple[Slot, ...] | None:
    """The fact that was asked for."""
    asked = inquiry(chat)
    if asked is None or not asked.told:
        return None
    kind = next((kind for kind, pattern in ASKED if pattern.search(asked.question)), "thing")
    own = frozenset(map(stem, words(asked.question)))
    found = _latest(asked, kind, own) or _likeliest(asked, kind, own)
    if not found:
        return None
    if "the list only" in chat.ask and len(found) > 1:
        return (*listed(found), maybe("."))
    return _said(found, asked, kind, own)


def _latest(asked: Inquiry, kind: str, own: frozenset[str]) -> list[str]:
    """What a correction says, or, where it is asked what holds now, what was told last."""
    named = [name for name in words(asked.question) if name[:1].isupper() and name not in OPENERS]
    for sentence in reversed(asked.told):
        if _CORRECTS.search(sentence) and any(name in sentence for name in named[1:]):
            return _candidates(sentence, kind, own)[-1:]
    if not {"now", "then"}.isdisjoint(words(asked.question)):
        return _candidates(asked.told[-1], kind, own)
    return []


def _likeliest(asked: Inquiry, kind: str, own: frozenset[str]) -> list[str]:
    """What stands in the clause that is most like the question, or beside it in its sentence; the best one first."""
    clauses = _clauses(asked.told)
    for place in _ranked(asked, clauses, kind):
        clause = clauses[place]
        if found := _candidates(clause.text, kind, own):
            return _counted(found, clause.text, kind, asked.question)
        sentence = asked.told[clause.sentence]
        if found := _candidates(sentence, kind, own):
            before = _candidates(sentence[: sentence.find(clause.text)], kind, own)
            return [*before[-1:], *found]
    return []


def _clauses(told: Sequence[str]) -> list[_Clause]:
    pieces = ((number, text.strip()) for number, sentence in enumerate(told) for text in _CLAUSE.split(sentence))
    return [_Clause(text, number, _stems(text)) for number, text in pieces if text]


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in _split(text) if word.lower() not in SMALL_WORDS)


def _split(text: str) -> list[str]:
    """Words; in scripts without spaces, single characters."""
    found: list[str] = []
    for word in words(text):
        found += list(word) if ord(word[0]) > 0x0E00 else [word]
    return found


def _ranked(asked: Inquiry, clauses: Sequence[_Clause], kind: str) -> list[int]:
    """The places of clauses that are like the question, the likeliest first.

    Rare words in common count most, and what was told later wins a tie.
    """
    wanted = _stems(asked.question) - {"day", kind}
    often = Counter(word for clause in clauses for word in clause.stems)
    by_sentence: dict[int, set[str]] = {}
    for clause in clauses:
        by_sentence.setdefault(clause.sentence, set()).update(clause.stems)

    def weight(shared: frozenset[str] | set[str]) -> float:
        return sum(1 / often[word] for word in shared)

    def score(place: int) -> tuple[float, int]:
        clause = clauses[place]
        inside = clause.stems & wanted
        around = (by_sentence[clause.sentence] & wanted) - inside
        return round(weight(inside) + 0.6 * weight(around), 6), place

    return sorted((place for place in range(len(clauses)) if score(place)[0] > 0), key=score, reverse=True)


def _candidates(text: str, kind: str, own: frozenset[str]) -> list[str]:
    """What in a text could be the answer: of the kind that is asked for, and not in the question."""
    if quoted := [found for found in _QUOTED.findall(text) if not _within(found, own)]:
        return quoted
    if kind in LISTED:
        return [word for word in words(text) if word.lower() in LISTED[kind] and stem(word) not in own]
    if kind == "figure":
        return [figure for figure in _FIGURE.findall(text) if figure not in own]
    if kind == "coded":
        return [match[0] for match in _CODED.finditer(text) if not _within(match[0], own)]
    if kind == "name":
        return list(_names(text, own))
    return _phrases(text, own)


def _within(found: str, own: frozenset[str]) -> bool:
    return all(stem(word) in own for word in words(found))


def _names(text: str, own: frozenset[str]) -> Iterator[str]:
    for match in _NAME.finditer(text):
        parts = match[0].split()
        while parts and (parts[0] in OPENERS or parts[0].isdecimal()):
            parts = parts[1:]
        name = " ".join(parts).removesuffix(" I")
        if name and not _within(name, own) and not _DENIED.search(text[: match.start()]):
            yield name


def _phrases(text: str, own: frozenset[str]) -> list[str]:
    """Runs of words that carry meaning and are not in the question; the last run first."""
    runs: list[list[str]] = [[]]
    for word in text.split():
        bare = word.strip(".,;:!?\"'()[]")
        if bare and bare.lower() not in SMALL_WORDS and stem(bare) not in own:
            runs[-1].append(bare)
        elif runs[-1]:
            runs.append([])
    return [" ".join(run) for run in runs[::-1] if run]


def _counted(found: list[str], clause: str, kind: str, question: str) -> list[str]:
    """The candidates, a figure beside the thing that is counted first."""
    counted = re.search(r"how many (\w+)", question, re.IGNORECASE) if kind == "figure" else None
    near = counted and re.search(rf"(\d[\d,]*)\s+(?:\w+ )?{re.escape(counted[1])}", clause, re.IGNORECASE)
    return [near[1], *found] if near and near[1] in found else found


def _said(found: Sequence[str], asked: Inquiry, kind: str, own: frozenset[str]) -> tuple[Slot, ...]:
    chosen = found[0]
    others = [*found, *(each for sentence in asked.told for each in _candidates(sentence, kind, own))]
    mistakes = [each for each in others if each != chosen][:2]
    return (maybe("The answer is "), content(chosen, (*mistakes, slip(chosen))), maybe("."))
