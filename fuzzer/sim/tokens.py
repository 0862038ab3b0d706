"""The simulated tokenizer: words, numbers and punctuation, with stable ids.

The vocabulary is open; an id is a checksum of the token's text, so that equal texts have equal ids in every server.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from functools import lru_cache

EOS = "<|im_end|>"
EOS_ID = 151645

_PIECE = re.compile(r" ?[^\W_]{1,12}| ?[^\w\s]{1,3}|_+|\s")
_ID_MASK = 0x3FFFFFFF  # 30 bits: far above any real vocabulary, still a plain JSON integer


def tokenize(text: str) -> list[str]:
    """Token texts whose concatenation is the text."""
    return _PIECE.findall(text)


@lru_cache(maxsize=65536)
def token_id(token: str) -> int:
    """The id of a token text."""
    if token == EOS:
        return EOS_ID
    return zlib.crc32(token.encode("utf-8", "surrogatepass")) & _ID_MASK


def prompt_ids(messages: Iterable[tuple[str, str]]) -> list[int]:
    """The rendered chat prompt as ids: a ChatML-like template around each (role, content)."""
    ids: list[int] = []
    for role, content in messages:
        ids += (token_id("<|im_start|>"), token_id(role), token_id("\n"))
        ids += map(token_id, tokenize(content))
        ids += (EOS_ID, token_id("\n"))
    ids += (token_id("<|im_start|>"), token_id("assistant"), token_id("\n"))
    return ids
