"""Where a reply repeats the question: such words are nobody's answer, whatever values stand in them.

Only whole sentences count, word for word, and only together with a request ("What is the code word?"): a sentence that
states a fact of the question may be the answer.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

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
_LINKS = frozenset(["a", "and", "are", "as", "for", "in", "is", "it", "of", "the", "then", "this", "to", "with"])
_LONGEST = 200  # words: a longer sentence is no request
_HEAD = 3  # words by which sentences are told apart
_ALIKE = 8  # sentences with the same first words that are tried
_SEVERAL = 3  # sentences that are an echo without a request
_LONG = 25  # words of those, at least
_TIMES = 4  # their length by that of the answer, at least
_HEARD = 300  # words beside an echo that are looked at
_FEW = 5  # words: fewer may be an answer
_SHORT = 3  # letters: words up to this length tell nothing
_EDITS = 2  # between a word and one that is meant to be it


@dataclass(frozen=True, slots=True)
class _Sentence:
    words: list[str]
    asks: bool


@dataclass(frozen=True, slots=True)
class _Question:
    """The sentences of a question, and where those stand that begin with the same words."""

    sentences: list[_Sentence]
    heads: dict[tuple[str, ...], list[int]]

    def starting(self, words: Sequence[str], at: int) -> list[int]:
        """The sentences that could begin at a word of a reply."""
        return [
            index
            for length in range(1, _HEAD + 1)
            for index in self.heads.get(tuple(words[at : at + length]), ())[:_ALIKE]
            if length == _HEAD or len(self.sentences[index].words) == length
        ]


def echoes(prompt: Prompt, answer: str, said: str) -> list[tuple[int, int]]:
    """The spans of a reply that repeat whole sentences of the last message, a request among them.

    So do three sentences or more without one, where they are much longer than the answer could be.
    """
    question = _sentences(_asked(prompt))
    enough = max(_LONG, _TIMES * len(_WORD.findall(answer)))
    heard = list(_WORD.finditer(said))
    words = [match[0].casefold() for match in heard]
    spans: list[tuple[int, int]] = []
    at = 0
    while at < len(words):
        ends = [_on(question.sentences[index:], words, at) for index in question.starting(words, at)]
        end = max((end for run, end in ends if _repeats(run, end - at, enough)), default=at)
        if end > at:
            spans.append((heard[at].start(), heard[end - 1].end()))
        at = max(end, at + 1)
    return spans


def _repeats(run: Sequence[_Sentence], words: int, enough: int) -> bool:
    return any(each.asks for each in run) or (len(run) >= _SEVERAL and words >= enough)


def asks_for_its_own_words(prompt: Prompt, answer: str) -> bool:
    """Whether the question holds the answer in or after its request, as "Copy: X" does: an echo may then be meant."""
    question = _sentences(_asked(prompt)).sentences
    first = next((index for index, each in enumerate(question) if each.asks), len(question))
    words = " ".join(word for each in question[first:] for word in each.words)
    wanted = " ".join(match[0].casefold() for match in _WORD.finditer(answer))
    return f" {wanted} " in f" {words} "


def only_repeats(prompt: Prompt, said: str) -> bool:
    """Whether a text is put together from words of the user's messages, and names nothing."""
    if names.spans(said) or canary.CODE.search(said):
        return False
    words = {match[0].casefold() for match in _WORD.finditer(said)}
    asked = {
        match[0].casefold()
        for message in prompt.messages
        if message.role == "user"
        for match in _WORD.finditer(message.content)
    }
    return len(words) >= _FEW and words <= asked | _LINKS and not any(map(str.isdecimal, words))


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


@lru_cache(maxsize=32)
def _sentences(question: str) -> _Question:
    cuts = [0, *(match.end() for match in _SENTENCE_END.finditer(question)), len(question)]
    texts = [question[start:end].strip() for start, end in itertools.pairwise(cuts)]
    sentences = [each for each in map(_sentence, texts) if each.words]
    heads: dict[tuple[str, ...], list[int]] = {}
    for index, each in enumerate(sentences):
        heads.setdefault(tuple(each.words[:_HEAD]), []).append(index)
    return _Question(sentences, heads)


def _sentence(text: str) -> _Sentence:
    words = [match[0].casefold() for match in _WORD.finditer(text)]
    asks = text.endswith("?") or not _REQUESTS.isdisjoint(words[:1])
    return _Sentence(words, asks and len(words) <= _LONGEST)


def _on(sentences: Sequence[_Sentence], words: Sequence[str], at: int) -> tuple[list[_Sentence], int]:
    """The sentences that stand in a reply one after the other, from the word ``at`` on, and where they end."""
    run = []
    for sentence in sentences:
        end = at + len(sentence.words)
        if words[at:end] != sentence.words:
            break
        run.append(sentence)
        at = end
    return run, at
