"""Token ids and log-probabilities, as far as a reply gives them and they can be trusted."""

from __future__ import annotations

import math

from pydantic import JsonValue

from fuzzer.history.records import TokenLogprob, Usage
from fuzzer.wire.text import storable

_LARGEST = 2**53


def count(value: JsonValue) -> int | None:
    """A number of tokens or a token id: a whole number from 0 to 2**53; None for anything else."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST:
        return value
    return None


class Tokens:
    """Collects ids from ``token_ids`` (vLLM, SGLang) or ``__verbose.tokens`` (llama.cpp), else from log-probabilities.

    Ids that come only with log-probabilities are kept if there is one for every token that usage counts: llama.cpp
    leaves out accepted draft tokens and parts of multi-byte characters when it streams, and the stop token always.
    """

    def __init__(self, *, wanted: bool) -> None:
        self._wanted = wanted
        self._ids: list[int] | None = None
        self._spoilt = False
        self._logprobs: list[TokenLogprob] = []
        self._real = False

    def __len__(self) -> int:
        return len(self._ids) if self._ids is not None else len(self._logprobs)

    def take_ids(self, value: JsonValue) -> bool:
        """Adds ids; false if they are not ids."""
        if value is None:
            return True
        ids = [count(item) for item in value] if isinstance(value, list) else [None]
        good = [item for item in ids if item is not None]
        self._spoilt = self._spoilt or len(good) < len(ids)
        if self._ids is None:
            self._ids = []
        self._ids.extend(good)
        return len(good) == len(ids)

    def take(self, value: JsonValue, text: str) -> bool:
        """Adds one choice's log-probabilities, or a hole for text that came without; false if malformed."""
        if not self._wanted:
            return True
        content = value.get("content") if isinstance(value, dict) else value
        if content is None:
            if text:
                self._logprobs.append(TokenLogprob(token=storable(text)))
            return True
        if not isinstance(content, list):
            return False
        entries = [_entry(item) for item in content]
        good = [entry for entry in entries if entry is not None]
        self._logprobs.extend(good)
        self._real = self._real or bool(good)
        return len(good) == len(entries)

    def ids(self, usage: Usage | None, finish_reason: str | None) -> tuple[int, ...] | None:
        """All ids, or None where they are unknown or cannot be complete."""
        if self._spoilt:
            return None
        if self._ids is not None:
            return tuple(self._ids)
        ids = tuple(entry.id for entry in self._logprobs if entry.id is not None)
        expected = usage.completion_tokens if usage else None
        if not self._real or len(ids) < len(self._logprobs) or expected is None:
            return None
        return ids if len(ids) == expected or (finish_reason == "stop" and len(ids) == expected - 1) else None

    def logprobs(self) -> tuple[TokenLogprob, ...] | None:
        """One entry a token, with ids where they are known; None if there were no log-probabilities at all."""
        if not self._real:
            return None
        if self._ids is None or self._spoilt or len(self._ids) != len(self._logprobs):
            return tuple(self._logprobs)
        return tuple(
            entry if entry.id is not None else entry.model_copy(update={"id": known})
            for entry, known in zip(self._logprobs, self._ids, strict=True)
        )


def _entry(item: JsonValue) -> TokenLogprob | None:
    if not isinstance(item, dict):
        return None
    token, value, top = item.get("token"), item.get("logprob"), item.get("top_logprobs") or []
    if not isinstance(token, str) or not isinstance(top, list):
        return None
    pairs = [_pair(alternative) for alternative in top]
    known = tuple(pair for pair in pairs if pair is not None)
    logprob = number(value)
    if len(known) < len(pairs) or (logprob is None and value is not None):
        return None
    if logprob == 0 and not known:
        logprob = None  # llama.cpp: an accepted draft token, whose probability was never computed
    return TokenLogprob(token=storable(token), id=count(item.get("id")), logprob=logprob, top=known)


def _pair(item: JsonValue) -> tuple[str, float] | None:
    if not isinstance(item, dict):
        return None
    token, value = item.get("token"), number(item.get("logprob"))
    return (storable(token), value) if isinstance(token, str) and value is not None else None


def number(value: JsonValue) -> float | None:
    """A finite number; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
