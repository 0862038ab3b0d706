"""Rows of a corpus as they stand in its file."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterable
from typing import Any

Row = dict[str, Any]

_STARTS = "Bar Cor Dan Fer Gil Hel Jor Kel Lor Mar Nor Pel Quin Ros Sel Tor Ulm Var Wen Yar Zel Bran Dros Fal Gren"
_MIDDLES = "a be da di e go la li mo na ne ra ri sa ta to va ve"
_ENDS = "bert dane fast gard hild kund land mere nock pold quist rick stan thorn vane wick wold zand"
_PARTS = itertools.product(_STARTS.split(), _MIDDLES.split(), _ENDS.split())
_NAMES = sorted(name for name in map("".join, _PARTS) if len(name) >= 8)
random.Random("names").shuffle(_NAMES)


def names(place: int, count: int) -> list[str]:
    """A slice of all invented names: they are used once over all corpora, so each corpus has places of its own."""
    return _NAMES[place : place + count]


def row(identity: str, family: str, level: str, messages: list[Row], answer: str, check: str, **more: Any) -> Row:
    """One row, its keys in the order in which they are written."""
    return {
        "id": identity,
        "family": family,
        "level": level,
        "messages": messages,
        "answer": answer,
        "check": check,
        **more,
    }


def said(role: str, content: str, **more: Any) -> Row:
    """One message."""
    return {"role": role, "content": content, **more}


def lines(rows: Iterable[Row]) -> str:
    """The rows as JSON lines."""
    return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in rows)
