"""Instructions about a response's form: how it begins and ends, its parts, its letters' case, its language."""

from __future__ import annotations

import json
import re

from fuzzer.prompts import canary
from fuzzer.prompts.checks.found import fold
from fuzzer.prompts.checks.ifeval_language import is_in
from fuzzer.prompts.checks.ifeval_rules import Arguments, Rule

_FENCE = re.compile(r"\A```[A-Za-z]{0,12}|```\Z")
_OPTION = re.compile(r"\bmy answer is (yes|no|maybe)\b", re.IGNORECASE)
_TITLE = re.compile(r"<<[^\n<>]*[^\W_][^\n<>]*>>")
_DIVIDER = re.compile(r"\*{6,}")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_EDGES = "\"'“”‘’«»*_#>.,:;!?()[] \t"
_QUOTES = (('"', '"'), ("“", "”"), ("„", "“"), ("„", "”"), ("«", "»"))
_POSTSCRIPTS = {
    "ps": re.compile(r"(?<![\w.])p\.?\s?s\b", re.IGNORECASE),
    "pps": re.compile(r"(?<![\w.])p\.?\s?p\.?\s?s\b", re.IGNORECASE),
}


def _language(given: Arguments, _: str, response: str) -> bool | None:
    return is_in(response, given.text("language"))


def _capital(_: Arguments, __: str, response: str) -> bool:
    return response.isupper() and is_in(response, "en") is not False


def _lowercase(_: Arguments, __: str, response: str) -> bool:
    return response.islower() and is_in(response, "en") is not False


def _no_comma(_: Arguments, __: str, response: str) -> bool:
    return "," not in response


def _quoted(_: Arguments, __: str, response: str) -> bool:
    said = response.strip()
    return len(said) > 1 and (said[0], said[-1]) in _QUOTES


def _ends(given: Arguments, _: str, response: str) -> bool:
    return fold(response).rstrip(_EDGES).endswith(fold(given.text("end_phrase")).rstrip(_EDGES))


def _postscript(given: Arguments, _: str, response: str) -> bool:
    marker = given.text("postscript_marker")
    pattern = _POSTSCRIPTS.get(marker.replace(".", "").lower()) or re.compile(re.escape(marker), re.IGNORECASE)
    return pattern.search(response) is not None


def _title(_: Arguments, __: str, response: str) -> bool:
    return _TITLE.search(response) is not None


def _json(_: Arguments, __: str, response: str) -> bool:
    try:
        json.loads(_FENCE.sub("", response.strip()))
    except (ValueError, RecursionError):
        return False
    return True


def _option(_: Arguments, __: str, response: str) -> bool:
    return len({match[1].lower() for match in _OPTION.finditer(response)}) == 1


def _first_word(given: Arguments, _: str, response: str) -> bool:
    paragraphs = [part for part in _BLANK_LINE.split(response) if part.strip()]
    place = given.number("nth_paragraph")
    if len(paragraphs) != given.number("num_paragraphs") or not 1 <= place <= len(paragraphs):
        return False
    words = paragraphs[place - 1].lstrip(_EDGES + "\n").split(maxsplit=1)
    wanted = given.text("first_word").casefold()
    return bool(words) and words[0].casefold().strip(_EDGES) == wanted.strip(_EDGES)


def _two(_: Arguments, __: str, response: str) -> bool:
    pieces = [piece.strip() for piece in _DIVIDER.split(response)]
    said = [piece for piece in pieces if piece]
    return all(pieces[1:-1]) and len(said) == 2 and said[0] != said[1]


def _repeated(given: Arguments, prompt: str, response: str) -> bool:
    wanted = fold(canary.plain(given.text("prompt_to_repeat", prompt)))
    return fold(canary.plain(response)).lstrip(_EDGES).startswith(wanted.lstrip(_EDGES))


FORMS = {
    "language:response_language": Rule(_language, {"language": "language"}),
    "change_case:english_capital": Rule(_capital),
    "change_case:english_lowercase": Rule(_lowercase),
    "punctuation:no_comma": Rule(_no_comma),
    "startend:quotation": Rule(_quoted),
    "startend:end_checker": Rule(_ends, {"end_phrase": "text"}),
    "detectable_content:postscript": Rule(_postscript, {"postscript_marker": "text"}),
    "detectable_format:title": Rule(_title),
    "detectable_format:json_format": Rule(_json),
    "detectable_format:constrained_response": Rule(_option),
    "length_constraints:nth_paragraph_first_word": Rule(
        _first_word, {"num_paragraphs": "count", "nth_paragraph": "count", "first_word": "text"}
    ),
    "combination:two_responses": Rule(_two),
    "combination:repeat_prompt": Rule(
        _repeated, {"prompt_to_repeat": "text"}, optional=frozenset({"prompt_to_repeat"})
    ),
}
"""The instructions about form, by id."""
