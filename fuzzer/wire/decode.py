"""JSON from strangers: strict UTF-8, strict JSON, bounded nesting, and never another exception than ours."""

from __future__ import annotations

import json
import re

from pydantic import JsonValue

from fuzzer.wire.bounds import BadReplyError, Limits

_STRINGS = re.compile(rb'"[^"]*"?')
_OPEN = ord("[")
_ONE_KIND = bytes.maketrans(b"{}", b"[]")
_NOT_STRUCTURE = bytes(byte for byte in range(256) if byte not in b'[]{}"')


class _NotFiniteError(ValueError):
    """NaN or Infinity, which Python reads but JSON does not have."""


def _refuse(constant: str) -> float:
    raise _NotFiniteError(constant)


_STRICT = json.JSONDecoder(parse_constant=_refuse)
_LENIENT = json.JSONDecoder(parse_constant=lambda _: None)


def decode(data: bytes, limits: Limits) -> JsonValue:
    """The JSON value in these bytes, or ``BadReplyError`` with the outcome that says what is wrong with them."""
    if _too_deep(data, limits.json_depth):
        raise BadReplyError("too-large", f"JSON nested deeper than {limits.json_depth} levels")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadReplyError("bad-encoding", f"not UTF-8: {error.reason} at byte {error.start}") from None
    try:
        value: JsonValue = _STRICT.decode(text)
    except json.JSONDecodeError as error:
        raise BadReplyError("bad-json", f"not JSON: {error.msg} at character {error.pos}") from None
    except _NotFiniteError as error:
        raise BadReplyError("bad-json", f"not JSON: {error} stands for a number") from None
    except ValueError:
        raise BadReplyError("bad-json", "a number with too many digits") from None
    return value


def decode_leniently(data: bytes) -> JsonValue:
    """What can be read of bytes that ``decode`` refused for NaN or Infinity (null in their place), else None."""
    try:
        value: JsonValue = _LENIENT.decode(data.decode("utf-8"))
    except ValueError:
        return None
    return value


def _too_deep(data: bytes, limit: int) -> bool:
    if data.count(b"{") + data.count(b"[") <= limit:
        return False
    unescaped = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    depth = 0
    for bracket in _STRINGS.sub(b"", unescaped.translate(_ONE_KIND, _NOT_STRUCTURE)):
        depth += 1 if bracket == _OPEN else -1
        if depth > limit:
            return True
    return False
