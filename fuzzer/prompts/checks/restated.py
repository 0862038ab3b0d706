"""Where a reply repeats the question: such words are nobody's answer, whatever values stand in them.

Only whole sentences count, word for word, and only together with a request ("What is the code word?"): a sentence that
states a fact of the question may be the answer.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from rapidfuzz.distance import Levenshtein

from fuzzer.history.records import Prompt
from fuzzer.prompts import canary, names

_WORD = re.compile(r"[^\W_]+")
_SENTENCE_END = re.compile(r"\n|(?<=[.?!])[ \t]")
_VERBS = (
    "answer begin complete copy count echo finish give list order print put repeat reply reverse say select sort "
    "translate type write"
)
_REQUESTS = frozenset(_VERBS.split())
_LONGEST = 200  # words: a longer sentence is no request
_LAST = 60  # sentences at the end of a question that are looked at
_HEARD = 300  # words beside an echo that are looked at
_FEW = 5  # words: fewer may be an answer
_SHORT = 3  # letters: words up to this length tell nothing
_EDITS = 2  # between a word and one that is meant to be it


@dataclass(frozen=True, slots=True)
class _Sentence:
    words: list[str]
    asks: bool


def echoes(prompt: Prompt, said: str) -> list[tuple[int, int]]:
    """The spans of a reply that repeat a request of the last message, with the sentences around it."""
    question = _sentences(_asked(prompt))
    requests = [index for index, each in enumerate(question) if each.asks and len(each.words) <= _LONGEST]
    if not requests:
        return []
    heard = list(_WORD.finditer(said))
    words = [match[0].casefold() for match in heard]
    firsts = {question[index].words[0] for index in requests}
    spans: list[tuple[int, int]] = []
    at = floor = 0
    while at < len(words):
        index = (
            next((each for each in requests if _stands(question[each], words, at)), None)
            if (words[at] in firsts)
            else None
        )
        if index is None:
            at += 1
            continue
        start = _back(question[:index], words, at, floor)
        at = floor = _on(question[index:], words, at)
        spans.append((heard[start].start(), heard[at - 1].end()))
    return spans


def asks_for_its_own_words(prompt: Prompt, answer: str) -> bool:
    """Whether the question holds the answer in or after its request, as "Copy: X" does: an echo may then be meant."""
    question = _sentences(_asked(prompt))
    first = next((index for index, each in enumerate(question) if each.asks), len(question))
    words = " ".join(word for each in question[first:] for word in each.words)
    wanted = " ".join(match[0].casefold() for match in _WORD.finditer(answer))
    return f" {wanted} " in f" {words} "


def only_repeats(prompt: Prompt, said: str) -> bool:
    """Whether a text is put together from the question's own words, some of them, and names nothing."""
    if names.spans(said) or canary.CODE.search(said):
        return False
    words = {match[0].casefold() for match in _WORD.finditer(said)}
    asked = {match[0].casefold() for match in _WORD.finditer(_asked(prompt))}
    return len(words) >= _FEW and words <= asked and not any(map(str.isdecimal, words))


def resembles(answer: str, said: str) -> bool:
    """Whether something in a text could be meant as the answer: a word much like one of its, or a code or name."""
    if names.spans(said) or canary.CODE.search(said):
        return True
    wanted = {match[0].casefold() for match in _WORD.finditer(answer) if len(match[0]) > _SHORT}
    heard = {match[0].casefold() for match in itertools.islice(_WORD.finditer(said), _HEARD) if len(match[0]) > _SHORT}
    return any(Levenshtein.distance(a, b, score_cutoff=_EDITS) <= _EDITS for a in wanted for b in heard)


def _asked(prompt: Prompt) -> str:
    """The last message of the user's."""
    return next((message.content for message in reversed(prompt.messages) if message.role == "user"), "")


def _sentences(question: str) -> list[_Sentence]:
    cuts = [0, *(match.end() for match in _SENTENCE_END.finditer(question)), len(question)]
    texts = [question[start:end].strip() for start, end in itertools.pairwise(cuts)]
    sentences = [_sentence(text) for text in texts[-_LAST:]]
    return [each for each in sentences if each.words]


def _sentence(text: str) -> _Sentence:
    words = [match[0].casefold() for match in _WORD.finditer(text)]
    return _Sentence(words, text.endswith("?") or not _REQUESTS.isdisjoint(words[:1]))


def _stands(sentence: _Sentence, words: Sequence[str], at: int) -> bool:
    return words[at : at + len(sentence.words)] == sentence.words


def _back(before: Sequence[_Sentence], words: Sequence[str], at: int, floor: int) -> int:
    """Where an echo begins that leads up to the word ``at``, not before the word ``floor``."""
    for sentence in reversed(before):
        start = at - len(sentence.words)
        if start < floor or not _stands(sentence, words, start):
            break
        at = start
    return at


def _on(sentences: Sequence[_Sentence], words: Sequence[str], at: int) -> int:
    """Where an echo of these sentences, from the word ``at`` on, ends."""
    for sentence in sentences:
        if not _stands(sentence, words, at):
            break
        at += len(sentence.words)
    return at
