"""Where a short phrase stands as an answer: alone on its line, after a label, or at the end of the last sentence.

A phrase is made of ordinary words ("north", "the second of May"), so that it may as well stand in an explanation.
"""

from __future__ import annotations

import re

_ASIDE = re.compile(
    r"\n[ \t]{0,8}\n[^\w\n]{0,8}(?:\(|---|(?:explanation|notes?|reasoning|because|since|reason|here(?:'|’)s why|i found"
    r"|i hope|i have used|i used|this is because|let me|please|thank|if you|feel free|hope|have a|is that|is there)\b)",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"(?:thanks?|hope|i hope|let me|have a|is that|is there|please|feel free|if you|you(?:'|’)re welcome|best|cheers"
    r"|note|regards|sincerely|explanation|reason|ticket|session|case)\b",
    re.IGNORECASE,
)
_DRESS = re.compile(r"</?[A-Za-z]{1,12}>|(?:^|(?<=[\s>-]))[0-9]{1,2}[.)](?=\s)")
_LABEL = re.compile(r"[^:\n]{0,40}:")
_TALK = re.compile(
    r"(?:sure|certainly|of course|okay|ok|yes|here|you asked|question|assistant|i have|(?:the|my) (?:text|answer))\b",
    re.IGNORECASE,
)
_SEPARATED = re.compile(r"[,;|/]")
_WORDS = 6  # words of a line that could be another answer
_SHORT = 4  # words of a line that is no talk


def alone(start: int, end: int, body: str) -> bool:
    """Whether a phrase has a line for itself, but for a label, a bullet or number, a tag and punctuation."""
    before, after = _line(start, end, body)
    before = _LABEL.sub("", _DRESS.sub("", before)) if ":" in before else _DRESS.sub("", before)
    return not any(map(str.isalnum, before + _DRESS.sub("", after)))


def last_line(body: str) -> int:
    """Where the last line begins that has words, remarks at the end left out."""
    aside = _ASIDE.search(body)
    said = body[: aside.start()] if aside and any(map(str.isalnum, body[: aside.start()])) else body
    last = next((place for place in range(len(said) - 1, -1, -1) if said[place].isalnum()), 0)
    return said.rfind("\n", 0, last) + 1


def followed(end: int, body: str) -> bool:
    """Whether the line after a phrase's own could be another answer: then the reply settles on neither."""
    rest = body[end : end + 400].partition("\n")[2]
    line = next((text for each in rest.split("\n") if any(map(str.isalnum, text := _DRESS.sub("", each)))), "").strip()
    ended = line.rstrip("\"'’”)]*_ ").endswith(("?", ".", "!", ":"))
    return 0 < len(line.split()) <= _WORDS and not ended and not _CLOSING.search(line)


def tries(body: str) -> bool:
    """Whether a text holds a line that could be meant as an answer: short or a list, and not the usual talk."""
    return any(map(_tries, body.split("\n")))


def _tries(line: str) -> bool:
    said = _LABEL.sub("", line)
    parts = [part.split() for part in _SEPARATED.split(said)]
    short = any(parts[0]) and all(len(words) <= _SHORT for words in parts)
    talk = _CLOSING.search(line) or _TALK.search(line)
    return short and any(map(str.isalnum, said)) and not (talk and not said.strip()) and not (talk and said == line)


def _line(start: int, end: int, body: str) -> tuple[str, str]:
    """What stands before and after a phrase on its line."""
    stop = body.find("\n", end)
    return body[body.rfind("\n", 0, start) + 1 : start], body[end : stop if stop >= 0 else len(body)]
