"""The families of questions, by name."""

from __future__ import annotations

from fuzzer.prompts.families.base import Family
from fuzzer.prompts.families.codes import code_word, last_message_wins, lookup
from fuzzer.prompts.families.data import echo, keyed_json
from fuzzer.prompts.families.lists import ordering, reverse, sort
from fuzzer.prompts.families.numbers import arithmetic, count_on

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family("code-word", "say a code word that was given", "another request's code, miscopied tokens", code_word),
        Family("echo", "repeat an opaque text", "miscopied tokens, another request's text", echo),
        Family("ordering", "order four names by constraints", "right constraints but another answer", ordering),
        Family("sort", "sort names alphabetically", "items of another request, lost or doubled items", sort),
        Family("reverse", "write names in reverse order", "items of another request, lost or doubled items", reverse),
        Family("arithmetic", "a sum or a story in numbers", "wrong values that look right", arithmetic),
        Family("keyed-json", "write keys and values as JSON", "broken structure, another request's values", keyed_json),
        Family("lookup", "find one entry among several", "the wrong row, another request's table", lookup),
        Family("count-on", "continue a count as far as asked", "skipped or repeated tokens", count_on),
        Family("last-message-wins", "answer the last of several questions", "an earlier turn's answer", last_message_wins),
    )
}

__all__ = ["FAMILIES", "Family"]
