"""What the fault gateway can plant: the catalogue, the draw that decides whom it hits, and the changes to a reply."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple


class GatewayFault(NamedTuple):
    """What a fault does, and the share of requests it is drawn for unless the user says otherwise."""

    summary: str
    rate: float


GATEWAY_FAULTS: dict[str, GatewayFault] = {
    "none": GatewayFault("a plain proxy", 0.0),
    "last-message-swap": GatewayFault("the last user message is replaced by that of another request in flight", 0.07),
    "stale-answer": GatewayFault("the reply of an earlier, finished request is served instead", 0.05),
    "wrong-route": GatewayFault("two requests in flight get each other's replies", 0.03),
    "drop-chunk": GatewayFault("one content chunk of the stream is lost", 0.05),
    "duplicate-chunk": GatewayFault("one content chunk of the stream comes twice", 0.05),
    "token-noise": GatewayFault("a look-alike letter or a special token stands in one content chunk", 0.05),
}

LOOK_ALIKES = dict(zip("aceopxyiABCEHKMOPTX", "асеорхуіАВСЕНКМОРТХ", strict=True))  # Latin to Cyrillic
SPECIAL_TOKENS = ("<|im_end|>", "<|endoftext|>", "</s>", "<|eot_id|>")

_EVENT = re.compile(rb".*?(?:\r\n\r\n|\n\n|\Z)", re.DOTALL)
_ID = re.compile(rb'"id"\s*:\s*("(?:[^"\\]|\\.)*")')


class Draw:
    """Decides which requests are hit: by a hash of the seed, the messages and how often these messages came before.

    The order in which requests arrive has no say, so two runs with equal prompts hit the same ones.
    """

    def __init__(self, seed: int, rate: float) -> None:
        self._seed = seed
        self._rate = rate
        self._seen: Counter[bytes] = Counter()

    def __call__(self, key: bytes) -> random.Random | None:
        """The source of all further choices about this request, or None if it is spared."""
        ordinal = self._seen[key]
        self._seen[key] += 1
        rng = random.Random(hashlib.sha256(b"%d/%b/%d" % (self._seed, key, ordinal)).digest())
        return rng if rng.random() < self._rate else None


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole reply: status, headers as they came, and the body cut into server-sent events (or one piece)."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    parts: tuple[bytes, ...]

    @property
    def identity(self) -> bytes | None:
        """The quoted ``id`` that the reply carries first."""
        return next((match[1] for part in self.parts if (match := _ID.search(part))), None)

    def addressed_like(self, own: Reply) -> Reply:
        """This content under the id and headers of ``own``: a misrouted body seldom tells on itself."""
        mine, theirs = self.identity, own.identity
        parts = self.parts if mine is None or theirs is None else tuple(p.replace(mine, theirs) for p in self.parts)
        return replace(self, headers=own.headers, parts=parts)

    def renamed(self, request_id: str) -> Reply:
        """This content with ``request_id`` where the id was."""
        mine = self.identity
        if mine is None:
            return self
        quoted = json.dumps(request_id).encode()
        return replace(self, parts=tuple(part.replace(mine, quoted) for part in self.parts))


def split_events(body: bytes) -> tuple[bytes, ...]:
    """The server-sent events of a stream, each with the blank line that ends it."""
    return tuple(piece for piece in _EVENT.findall(body) if piece)


def drop_chunk(reply: Reply, rng: random.Random) -> Reply:
    """Lose one content chunk of a stream."""
    return _at_content(reply, rng, lambda _part: ())


def duplicate_chunk(reply: Reply, rng: random.Random) -> Reply:
    """Deliver one content chunk of a stream twice."""
    return _at_content(reply, rng, lambda part: (part, part))


def token_noise(reply: Reply, rng: random.Random) -> Reply:
    """Put a look-alike letter, or else a special token, into one content chunk (or into the reply, if not streamed)."""
    targets = [index for index, part in enumerate(reply.parts) if _content(part)]
    if not targets:
        return reply
    index = rng.choice(targets)
    return _spliced(reply, index, (_with_noise(reply.parts[index], rng),))


MANGLERS: dict[str, Callable[[Reply, random.Random], Reply]] = {
    "drop-chunk": drop_chunk,
    "duplicate-chunk": duplicate_chunk,
    "token-noise": token_noise,
}


def _at_content(reply: Reply, rng: random.Random, change: Callable[[bytes], Iterable[bytes]]) -> Reply:
    targets = [index for index, part in enumerate(reply.parts) if part.startswith(b"data:") and _content(part)]
    if not targets:
        return reply
    index = rng.choice(targets)
    return _spliced(reply, index, change(reply.parts[index]))


def _spliced(reply: Reply, index: int, parts: Iterable[bytes]) -> Reply:
    return replace(reply, parts=(*reply.parts[:index], *parts, *reply.parts[index + 1 :]))


def _decoded(part: bytes) -> Any:
    try:
        return json.loads(part.removeprefix(b"data:"))
    except ValueError:
        return None


def _content(part: bytes) -> str:
    """The text that a stream's event or a whole reply holds; empty where there is none."""
    match _decoded(part):
        case {"choices": [{"delta": {"content": str(text)}} | {"message": {"content": str(text)}}, *_]}:
            return text
    return ""


def _with_noise(part: bytes, rng: random.Random) -> bytes:
    data = _decoded(part)
    choice = data["choices"][0]
    holder = choice["delta" if "delta" in choice else "message"]
    holder["content"] = _noisy(holder["content"], rng)
    body = json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()
    return b"data: " + body + b"\n\n" if part.startswith(b"data:") else body


def _noisy(text: str, rng: random.Random) -> str:
    letters = [index for index, letter in enumerate(text) if letter in LOOK_ALIKES]
    if not letters or rng.random() < 0.5:
        return text + rng.choice(SPECIAL_TOKENS)
    index = rng.choice(letters)
    return text[:index] + LOOK_ALIKES[text[index]] + text[index + 1 :]
