"""Invented two-part names, such as "Silverbrook Hazelgate": nobody's, easy to copy, and rarely drawn twice."""

from __future__ import annotations

import re

_FIRSTS = (
    "ancient apollo apple arrow atlas august autumn bailey baker basil beacon bear beaver berry bishop bridge "
    "bronze brown butter button canyon captain carter castle cave cedar cherry circle clay cloud coffee comet cooper "
    "copper coral corner cotton crow crystal daisy dawn dawson deer delta desert diamond dragon duck eagle early "
    "evening falcon fern flint forest fox frost galaxy garden gentle ginger glass golden gray guitar hammer happy "
    "harbor harvest hawk holly honey hunter iron jupiter king knight lamp leaf lemon letter lily lion "
    "lower magnet maple marble market mason mercury miller mint mirror modern moon morning moss mountain music "
    "neptune night noble north oak ocean olive orange owl palm paper pearl pepper phoenix piano pilot pine pioneer "
    "planet pocket prairie prince queen quiet rabbit raven ribbon river robin rocket rose royal ruby sage "
    "saturn shadow silk silver spider spring steel storm sugar summer swan temple thunder tiger timber tower "
    "train turtle upper valley velvet venus violet wheel willow window winter wolf wool"
)
_SECONDS = (
    "band beam bell berry block board boat born bourne box branch bridge brook burn camp castle center chain clear "
    "cloud coast coat craft cross dale door dream drive edge face fall farm field fire flight flower ford fruit gate "
    "glass grass green ground hall hand haven head hill hold home horn house lake land leaf light line lock mail mark "
    "master mill mind moon mount page park path piece place plant point pool port post power rail ridge ring rise "
    "river road rock room root stage star station stick stone store storm stream street string style town view walk "
    "wall water wave way well wheel wind window wing wood word work worth yard"
)

_FIRST = _FIRSTS.split()
_SECOND = _SECONDS.split()
PARTS = frozenset(first + second for first in _FIRST for second in _SECOND)
LONG_PARTS = tuple(sorted(part.capitalize() for part in PARTS if len(part) >= 7))
"""What names are made of, in the form in which they are written."""
_WORD = re.compile(r"[^\W\d_]+")
_GAP = re.compile(r"\s{1,4}")


def spans(text: str) -> list[tuple[int, int]]:
    """Where names of this kind stand in a text, in whatever case: (start, end) offsets, in order, not overlapping."""
    words = [(match.start(), match.end()) for match in _WORD.finditer(text)]
    known = [text[start:end].lower() in PARTS for start, end in words]
    found: list[tuple[int, int]] = []
    index = 0
    while index + 1 < len(words):
        (start, middle), (resume, end) = words[index], words[index + 1]
        if known[index] and known[index + 1] and _GAP.fullmatch(text, middle, resume):
            found.append((start, end))
            index += 1
        index += 1
    return found
