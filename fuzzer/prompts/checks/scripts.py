"""Scripts without spaces between words: there a letter beside an answer is the next word, not a part of it."""

from __future__ import annotations

import re

UNSPACED = (
    "\u0e00-\u0e4f\u0e5a-\u0eff\u1000-\u103f\u1100-\u11ff\u1780-\u17df\u3005-\u3007\u3040-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uffdc\U00020000-\U0002fa1f"
)
"""Thai, Lao, Burmese, Khmer, Chinese, Japanese and Korean letters, for a character class."""

_UNSPACED = re.compile(f"[{UNSPACED}]")
_PARTICLE = re.compile("[\u3040-\u309f是]")


def glued(neighbour: str, value: str) -> bool:
    """Whether the character beside a value makes it part of a longer word. One letter alone is easily part of one."""
    if not neighbour.isalnum():
        return False
    return (_PARTICLE if len(value) == 1 else _UNSPACED).match(neighbour) is None
