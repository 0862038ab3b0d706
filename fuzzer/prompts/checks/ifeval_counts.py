"""Instructions that count something in a response: words, sentences, letters, brackets, list items."""

from __future__ import annotations

import re

from fuzzer.prompts.checks.ifeval_rules import Arguments, Rule

_RUN = re.compile(r"\w+")
_LETTERS = re.compile(r"[^\W\d_]+")
_STOP = re.compile(r"(?<![.!?…۔])[.!?…۔]++[\"'”’)\]*_]{0,4}+(?=\s|$)|[。！？।]+")
_ABBREVIATION = re.compile(
    r"(?:\b(?:[a-z]|mr|mrs|ms|dr|prof|st|vs|etc|no|e\.g|i\.e|inc|jr|sr)|^\s{0,4}\d{1,3})$", re.IGNORECASE
)
_LOOK_BACK = 12  # characters before a full stop in which an abbreviation would stand
_PLACEHOLDER = re.compile(r"\[[^\[\]\n]+\]")
_BULLET = re.compile(r"^[ \t]*(?:[*+•](?!\*)|-(?!-))[ \t]*\S", re.MULTILINE)
_PLAIN_BULLET = re.compile(r"^[ \t]*[-*+•][ \t]+(?![-*_])\S", re.MULTILINE)
_HIGHLIGHT = re.compile(r"\*[^\n*]+\*")
_DIVIDER = re.compile(r"\*{3,}")
_DIVIDER_LINE = re.compile(r"^[ \t]*\*{3,}[ \t]*$", re.MULTILINE)


def _words(given: Arguments, _: str, response: str) -> bool:
    runs, spaced = len(_RUN.findall(response)), len(response.split())
    return given.allows("relation", "num_words", min(runs, spaced), max(runs, spaced))


def _sentences(given: Arguments, _: str, response: str) -> bool:
    least, most = sentences(response)
    return given.allows("relation", "num_sentences", least, most)


def sentences(text: str) -> tuple[int, int]:
    """How many sentences a text has at least and at most: abbreviations, headings and list items can go either way."""
    sure = likely = 0
    for line in text.split("\n"):
        if not any(map(str.isalnum, line)):
            continue
        ends = list(_STOP.finditer(line))
        before = [line[max(0, end.start() - _LOOK_BACK) : end.start()] for end in ends]
        sure += sum(1 for words in before if not _ABBREVIATION.search(words))
        goes_on = not ends or any(map(str.isalnum, line[ends[-1].end() :]))
        likely += len(ends) + goes_on
    return max(sure, min(likely, 1)), likely


def _keyword_times(given: Arguments, _: str, response: str) -> bool:
    keyword = given.text("keyword")
    inside = response.casefold().count(keyword.casefold())
    return given.allows("relation", "frequency", min(inside, _alone(keyword, response)), inside)


def _alone(word: str, text: str) -> int:
    return len(re.findall(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE))


def _keywords(given: Arguments, _: str, response: str) -> bool:
    said = response.casefold()
    return all(keyword.casefold() in said for keyword in given.texts("keywords"))


def _forbidden(given: Arguments, _: str, response: str) -> bool:
    return not any(_alone(word, response) for word in given.texts("forbidden_words"))


def _letter_times(given: Arguments, _: str, response: str) -> bool:
    times = response.casefold().count(given.text("letter").casefold())
    return given.allows("let_relation", "let_frequency", times, times)


def _capital_words(given: Arguments, _: str, response: str) -> bool:
    whole = sum(1 for word in response.split() if word.isupper())
    parts = sum(1 for part in _LETTERS.findall(response) if part.isupper())
    return given.allows("capital_relation", "capital_frequency", min(whole, parts), max(whole, parts))


def _placeholders(given: Arguments, _: str, response: str) -> bool:
    return len(_PLACEHOLDER.findall(response)) >= given.number("num_placeholders")


def _bullets(given: Arguments, _: str, response: str) -> bool:
    counts = (len(_PLAIN_BULLET.findall(response)), len(_BULLET.findall(response)))
    return min(counts) <= given.number("num_bullets") <= max(counts)


def _highlights(given: Arguments, _: str, response: str) -> bool:
    return len(_HIGHLIGHT.findall(response)) >= given.number("num_highlights")


def _sections(given: Arguments, _: str, response: str) -> bool:
    heading = re.compile(rf"\b{re.escape(given.text('section_spliter'))}\s?\d", re.IGNORECASE)
    return len(heading.findall(response)) >= given.number("num_sections")


def _paragraphs(given: Arguments, _: str, response: str) -> bool:
    wanted = given.number("num_paragraphs")
    return any(_parts(divider.split(response)) == wanted for divider in (_DIVIDER_LINE, _DIVIDER))


def _parts(pieces: list[str]) -> int | None:
    """How many parts there are, or None where one between two others is empty."""
    if not all(piece.strip() for piece in pieces[1:-1]):
        return None
    return sum(1 for piece in pieces if piece.strip())


COUNTS = {
    "length_constraints:number_words": Rule(_words, {"num_words": "count", "relation": "relation"}),
    "length_constraints:number_sentences": Rule(_sentences, {"num_sentences": "count", "relation": "relation"}),
    "length_constraints:number_paragraphs": Rule(_paragraphs, {"num_paragraphs": "count"}),
    "keywords:existence": Rule(_keywords, {"keywords": "texts"}),
    "keywords:frequency": Rule(_keyword_times, {"keyword": "text", "frequency": "count", "relation": "relation"}),
    "keywords:forbidden_words": Rule(_forbidden, {"forbidden_words": "texts"}),
    "keywords:letter_frequency": Rule(
        _letter_times, {"letter": "letter", "let_frequency": "count", "let_relation": "relation"}
    ),
    "change_case:capital_word_frequency": Rule(
        _capital_words, {"capital_frequency": "count", "capital_relation": "relation"}
    ),
    "detectable_content:number_placeholders": Rule(_placeholders, {"num_placeholders": "count"}),
    "detectable_format:number_bullet_lists": Rule(_bullets, {"num_bullets": "count"}),
    "detectable_format:number_highlighted_sections": Rule(_highlights, {"num_highlights": "count"}),
    "detectable_format:multiple_sections": Rule(_sections, {"section_spliter": "text", "num_sections": "count"}),
}
"""The instructions that count, by id."""
