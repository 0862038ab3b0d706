"""Words that the simulated model knows by heart: small words, numerals, and what kinds of things there are."""

from __future__ import annotations

import re


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_COUNTING = "zero one two three four five six seven eight nine ten"
NUMERALS = {word: value for value, word in enumerate(_COUNTING.split())}

SMALL_WORDS = _set(
    "a an the of to in on at by for from with is are was were be been has have had do does did it its he she they "
    "we i you his her their our my your this that these those there here and or but not no so if as who whom "
    "whose which what where when how many much now one then than other all each every only more most first please "
    "still them us me will would can could may might must should into out up down off over under about after "
    "before while until again also"
)
"""Words that tell nothing of what a sentence is about."""

OPENERS = _set(
    "The A An This That These Those There Here It He She They We I You In On At By For From To Of With If When While "
    "Every Each No Two Three Four Five One Both Our My Your Their His Her Its Today Tonight Yesterday Tomorrow Now And "
    "But Or Not Dear Please Sorry Use January February March April May June July August September October November "
    "December Reply"
)
"""Words with a capital letter that name nobody."""

LISTED = {
    "weekday": _set("monday tuesday wednesday thursday friday saturday sunday"),
    "month": _set("january february march april may june july august september october november december"),
    "season": _set("spring summer autumn winter"),
    "direction": _set("north south east west left right"),
    "colour": _set("red green blue yellow white black grey brown turquoise orange purple pink"),
    "ordinal": _set("first second third fourth fifth last"),
    "material": _set("brass iron copper tin linen hemp wood clay bone wool silk gold silver glass stone"),
}
"""Kinds of things whose members are known."""

_CODED = (
    "number|code|password|call sign|address|version|date|path|(?:which|what) (?:parcel|invoice|flight"
    "|ticket|build|cable|bolt|credit note|serial|voucher|clause|flat|platform|room)"
)
_NAMED = (
    "who|whom|whose|called|name|surname|where|(?:which|what) (?:town|mill|station|port|farm|gate|unit|inn|dog|person"
    "|winner|family|pass|village|brother|treasurer|ferryman|pilot|watchman|customs officer|street)"
)
ASKED = (
    ("weekday", re.compile(r"\b(?:which|what) days?\b", re.IGNORECASE)),
    ("month", re.compile(r"\bwhich month\b", re.IGNORECASE)),
    ("season", re.compile(r"\bwhich season\b", re.IGNORECASE)),
    ("direction", re.compile(r"\bwhich direction\b", re.IGNORECASE)),
    ("colour", re.compile(r"\bcolour\b", re.IGNORECASE)),
    ("ordinal", re.compile(r"\bwhich floor\b", re.IGNORECASE)),
    ("material", re.compile(r"^Of what\b|\bmaterial\b", re.IGNORECASE)),
    ("figure", re.compile(r"\b(?:how many|how old|price|stock|fee|which year)\b", re.IGNORECASE)),
    ("coded", re.compile(rf"\b(?:{_CODED})\b", re.IGNORECASE)),
    ("name", re.compile(rf"\b(?:{_NAMED})\b", re.IGNORECASE)),
)
"""Kinds of answers, and the questions that ask for them."""

AHEAD = _set("before earlier left higher above heavier ahead older taller larger longer faster")
BEHIND = _set("after later right lower below lighter behind younger smaller shorter slower")
FIRST = _set("first highest top heaviest oldest tallest largest longest fastest left most")
LAST = _set("last lowest bottom lightest youngest smallest shortest slowest right fewest")

FEWER = _set("lent lends loses lost off sold younger eaten fewer less gone cut")
MORE = _set("on back more gives adds added bought found put puts gets gains older")
