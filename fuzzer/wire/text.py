"""Strings from strangers, made storable as UTF-8."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import JsonValue

from fuzzer.wire.bounds import BadReplyError, quoted

_LABEL = 200


def string(value: JsonValue, name: str) -> str | None:
    """A string or None; anything else is a reply of the wrong shape."""
    if value is None or isinstance(value, str):
        return value
    raise BadReplyError("bad-shape", f"not a chat completion: {name} is {quoted(value)}")


def storable(text: str) -> str:
    """The same text with U+FFFD for every lone surrogate."""
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def label(value: JsonValue) -> str | None:
    """An identifier (model, id, fingerprint), clipped to 200 characters; None if it is not a string."""
    return storable(value[:_LABEL]) if isinstance(value, str) else None


def joined(parts: Sequence[str]) -> tuple[str, bool, bool]:
    """The parts as one text, whether a surrogate pair was cut in two between parts, and whether a half was alone."""
    text = "".join(parts)
    try:
        text.encode()
    except UnicodeEncodeError:
        stored = storable(text)
        spoilt = stored.count("�") > text.count("�")
        return stored, not spoilt, spoilt
    return text, False, False
