"""Scripts and alphabets that do not belong: switches to another script, look-alike letters inside one word."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from fuzzer.oracles.flaws import Flaw, Reply

_BLOCKS: tuple[tuple[int, int, str], ...] = (
    (0x0370, 0x03FF, "Greek"),
    (0x0400, 0x052F, "Cyrillic"),
    (0x0530, 0x058F, "Armenian"),
    (0x0590, 0x05FF, "Hebrew"),
    (0x0600, 0x06FF, "Arabic"),
    (0x0750, 0x077F, "Arabic"),
    (0x08A0, 0x08FF, "Arabic"),
    (0x0900, 0x097F, "Devanagari"),
    (0x0980, 0x09FF, "Bengali"),
    (0x0A00, 0x0A7F, "Gurmukhi"),
    (0x0A80, 0x0AFF, "Gujarati"),
    (0x0B00, 0x0B7F, "Odia"),
    (0x0B80, 0x0BFF, "Tamil"),
    (0x0C00, 0x0C7F, "Telugu"),
    (0x0C80, 0x0CFF, "Kannada"),
    (0x0D00, 0x0D7F, "Malayalam"),
    (0x0D80, 0x0DFF, "Sinhala"),
    (0x0E00, 0x0E7F, "Thai"),
    (0x0E80, 0x0EFF, "Lao"),
    (0x0F00, 0x0FFF, "Tibetan"),
    (0x1000, 0x109F, "Burmese"),
    (0x10A0, 0x10FF, "Georgian"),
    (0x1100, 0x11FF, "Hangul"),
    (0x1200, 0x139F, "Ethiopic"),
    (0x13A0, 0x13FF, "Cherokee"),
    (0x1780, 0x17FF, "Khmer"),
    (0x1800, 0x18AF, "Mongolian"),
    (0x1F00, 0x1FFF, "Greek"),
    (0x3040, 0x30FF, "Kana"),
    (0x3100, 0x312F, "Han"),
    (0x3130, 0x318F, "Hangul"),
    (0x31F0, 0x31FF, "Kana"),
    (0x3400, 0x4DBF, "Han"),
    (0x4E00, 0x9FFF, "Han"),
    (0xAC00, 0xD7FF, "Hangul"),
    (0xF900, 0xFAFF, "Han"),
    (0xFB50, 0xFDFF, "Arabic"),
    (0xFE70, 0xFEFF, "Arabic"),
    (0xFF66, 0xFF9F, "Kana"),
    (0x20000, 0x323AF, "Han"),
)
_STARTS = [block[0] for block in _BLOCKS]
_SYMBOLS = {"Greek": 3}  # letters in a row below which they are symbols (Δ, Σ, kΩ)
_WORD = re.compile(r"[^\W\d_]+")
_LATIN = re.compile(r"[A-Za-z]")
_CYRILLIC = re.compile(r"[Ѐ-ӿ]")
_GREEK_TWINS = re.compile(r"[ΑΒΕΖΗΙΚΜΝΟΡΤΥΧονρικτυχ]")  # only those that pass for Latin letters


def script_switches(reply: Reply) -> Iterator[Flaw]:
    """Letters of a script that neither the prompt nor everyday notation uses; Latin letters are at home everywhere."""
    if reply.text.isascii():
        return
    foreign = _scripts(reply.text) - _scripts(reply.prompt)
    found = [
        (match, script) for script in sorted(foreign) if (match := _pattern(script).search(reply.text)) is not None
    ]
    if found:
        match, script = min(found, key=lambda entry: entry[0].start())
        yield Flaw(
            "script-switch", "likely", match.start(), len(match.group()), f"switches to {script} letters", script
        )


def look_alikes(reply: Reply) -> Iterator[Flaw]:
    """A word of Latin letters with Cyrillic or Greek ones that look the same."""
    if reply.text.isascii() or not _scripts(reply.text) & {"Cyrillic", "Greek"}:
        return
    for match in _WORD.finditer(reply.text):
        word = match.group()
        if not word.isascii() and _mixed(word) and word not in reply.prompt:
            words = "mixes look-alike letters of two alphabets in one word"
            yield Flaw("look-alike", "likely", match.start(), len(word), words)
            return


def _mixed(word: str) -> bool:
    latin = len(_LATIN.findall(word))
    return (latin >= 1 and _CYRILLIC.search(word) is not None) or (latin >= 3 and _GREEK_TWINS.search(word) is not None)


def _scripts(text: str) -> set[str]:
    """The scripts of a text's letters, other than Latin."""
    found = {_script(character) for character in set(text) if character > "\u0370" and character.isalpha()}
    return found - {""}


def _script(character: str) -> str:
    code = ord(character)
    _, end, script = _BLOCKS[max(bisect_right(_STARTS, code) - 1, 0)]
    return script if code <= end else ""


def _pattern(script: str) -> re.Pattern[str]:
    """A run of letters of a script; of an alphabet with Latin look-alikes, only one that is a word by itself."""
    letters = "".join(f"{chr(start)}-{chr(end)}" for start, end, name in _BLOCKS if name == script)
    if script not in ("Greek", "Cyrillic"):
        return re.compile(f"[{letters}]+")
    return re.compile(f"(?<![A-Za-z{letters}])[{letters}]{{{_SYMBOLS.get(script, 1)},}}+(?![A-Za-z])")
