"""The families of questions, by name."""

from __future__ import annotations

from fuzzer.prompts.checks import listing, single, texts
from fuzzer.prompts.families.base import Family
from fuzzer.prompts.families.codes import code_word, last_message_wins, lookup
from fuzzer.prompts.families.data import echo, keyed_json
from fuzzer.prompts.families.lists import ordering, reverse, sort
from fuzzer.prompts.families.numbers import arithmetic, count_on

_NEIGHBOURS_CODE = "another request's code, miscopied tokens"
_ITEMS = "another request's items, lost or doubled items"

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family("code-word", "say a code word that was given", _NEIGHBOURS_CODE, code_word, single.code, single.code),
        Family("echo", "copy an opaque text", "miscopied tokens, another request's text", echo, texts.text, texts.text),
        Family(
            "ordering", "order four names by constraints", "constraints kept, another question answered",
            ordering, listing.items, listing.items,
        ),
        Family("sort", "sort names alphabetically", _ITEMS, sort, listing.items, listing.items),
        Family("reverse", "write names in reverse order", _ITEMS, reverse, listing.items, listing.items),
        Family(
            "arithmetic", "a sum, or a story in numbers", "wrong values that look right",
            arithmetic, single.number, single.number,
        ),
        Family(
            "keyed-json", "write keys and values as JSON", "broken structure, another request's values",
            keyed_json, texts.json_object, texts.json_object,
        ),
        Family(
            "lookup", "find one entry among several", "the wrong row, another request's table",
            lookup, single.code, listing.pair,
        ),
        Family(
            "count-on", "continue a count as far as asked", "skipped or repeated tokens, runaway",
            count_on, listing.count, listing.count,
        ),
        Family(
            "last-message-wins", "answer the last of several questions", "an earlier turn's answer",
            last_message_wins, single.code, single.code,
        ),
    )
}  # fmt: skip

__all__ = ["FAMILIES", "Family"]
